"""Loads the program as a module, a new copy each time. Runs in the jail."""

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
    """Seeds `random` before any of the program runs."""
    if jail.payload["random_seed"] is not None:
        with jail.trusted_imports:
            import random

        random.seed(jail.payload["random_seed"])


class EntryFile:
    """A program's entry file. Create it after all other modules are loaded."""

    def __init__(self, payload: dict[str, Any], folder: str) -> None:
        self.name: str = payload["name"]
        self.folder = os.path.join(folder, "")
        self._entry: str = payload["entry"]
        self._path = os.path.join(folder, self._entry)
        self._argv = [self._path, *payload["argv"]]
        # Some jails cannot open files, so the text is part of the payload.
        self._text: str = payload["text"]
        self._code: types.CodeType | None = None
        self._last_other_module = next(reversed(sys.modules))
        """The last module loaded before the program's. Reading all the others would copy the
        memory that they share with the parent process."""

    def load(self) -> types.ModuleType:
        """Runs the program's text as a module in a fresh namespace, its imports included."""
        for name in [*takewhile(self._last_other_module.__ne__, reversed(sys.modules))]:
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
        # A program called json.py or sys.py must not replace the module that runs it.
        sys.modules.setdefault(self.name, module)
        try:
            exec(self._code, module.__dict__)
        except SystemExit as end:
            # After a successful `sys.exit(main())` the definitions so far are the program.
            if end.code not in (None, 0):
                raise
        return module


def location(error: BaseException, folder: str, test: str = "") -> str:
    """The innermost line of a traceback in a file of the program's folder, or else in the test.

    `folder` ends with a slash, `test` is the test's file name. Empty if there is none.
    """
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
