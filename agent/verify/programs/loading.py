"""The program as a module, loaded afresh as often as it is asked for."""

from __future__ import annotations

import importlib
import os
import sys
import types
from itertools import takewhile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def begin(jail: Any) -> None:
    """What comes before any of the program runs: chance has its seed."""
    if jail.payload["random_seed"] is not None:
        with jail.undisturbed:
            import random

        random.seed(jail.payload["random_seed"])


class EntryFile:
    """A program's entry file; made once all that is not the program's is loaded."""

    def __init__(self, payload: dict[str, Any], folder: str) -> None:
        self.name: str = payload["name"]
        self.folder = os.path.join(folder, "")
        self._entry: str = payload["entry"]
        self._path = os.path.join(folder, self._entry)
        self._argv = [self._path, *payload["argv"]]
        # Its text came along, since there are jails in which no file can be opened.
        self._text: str = payload["text"]
        self._code: types.CodeType | None = None
        self._before = next(reversed(sys.modules))
        """The last module that was there before the program's: looking at each of the others
        would copy all the memory they share with the interpreter this process came from."""

    def load(self) -> types.ModuleType:
        """Runs the program's text as a module, in a fresh namespace, and all its files afresh."""
        for name in [*takewhile(self._before.__ne__, reversed(sys.modules))]:
            file = str(getattr(sys.modules[name], "__file__", None))
            if file.startswith(self.folder) or name in (self.name, "solution"):
                del sys.modules[name]
        sys.argv[:] = self._argv
        if os.path.dirname(self._entry):
            return importlib.import_module(self.name)
        if self._code is None:
            self._code = compile(self._text, self._path, "exec", dont_inherit=True)
        module = types.ModuleType(self.name)
        module.__file__ = self._path
        # A program called json.py or sys.py must not take the place of what runs it.
        sys.modules.setdefault(self.name, module)
        try:
            exec(self._code, module.__dict__)
        except SystemExit as end:
            # `sys.exit(main())` that says all is well: what was defined until then is the program.
            if end.code not in (None, 0):
                raise
        return module


def place(error: BaseException, folder: str, test: str = "") -> str:
    """The last line on the traceback in a file of the program's folder, which ends with a slash;
    else that in the test of this file name; empty where there is none."""
    if isinstance(error, SyntaxError) and str(error.filename).startswith(folder):
        return f"line {error.lineno} ({str(error.filename)[len(folder):]})"
    found, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if name.startswith(folder):
            found = f"line {trace.tb_lineno} ({name[len(folder):]})"
        elif name == test and not found:
            found = f"line {trace.tb_lineno} of the test"
        trace = trace.tb_next
    return found
