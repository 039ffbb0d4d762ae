"""Jailed program: runs a program as `python FILE` would, and reports how it ended.

Its reports of exceptions are untrusted; only the host's observation of the end counts.
"""

from __future__ import annotations

import os
import sys
import traceback
import types
from typing import Any

from agent.verify.programs.loading import begin
from agent.verify.rewriting.messages import text_of


def main(jail: Any) -> None:
    payload = jail.payload
    begin(jail)
    path = os.path.join(jail.folder, payload["entry"])
    sys.argv[:] = [payload["entry"], *payload["argv"]]
    folder = os.path.dirname(path)
    if folder != jail.folder:
        sys.path.insert(0, folder)
    try:
        code = compile(payload["text"], path, "exec", dont_inherit=True)
        module = types.ModuleType("__main__")
        module.__file__ = path
        sys.modules["__main__"] = module
        exec(code, module.__dict__)
    except SystemExit as error:
        message = error.code if isinstance(error.code, str) else ""
        jail.send({"exited": _exit_code(error.code), "message": message[:4000]})
        if isinstance(error.code, str):
            print(error.code, file=sys.stderr)
        return
    except BaseException as error:  # noqa: BLE001 - the program may raise anything
        jail.send(_raised(error, path, jail.folder))
        return
    jail.send({"completed": True})


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1


def _raised(error: BaseException, path: str, folder: str) -> dict[str, Any]:
    trace = error.__traceback__
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(folder):
        trace = trace.tb_next
    line = error.lineno if isinstance(error, SyntaxError) and trace is None else None
    walk = trace
    while walk is not None:
        if walk.tb_frame.f_code.co_filename == path:
            line = walk.tb_lineno
        walk = walk.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, trace))
    except Exception as again:  # noqa: BLE001 - the exception's own text may raise anything
        text = f"{type(error).__name__} (its text raised {type(again).__name__})"
    shortened = text.replace(folder + os.sep, "")
    # Printed as the interpreter would, as part of the program's output.
    sys.stderr.write(shortened)
    return {
        "raised": type(error).__name__, "message": text_of(error)[:4000], "line": line,
        "traceback": shortened[-8000:],
    }
