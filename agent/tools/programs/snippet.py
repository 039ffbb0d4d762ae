"""Jailed program: loads a program, and runs a snippet that uses its names."""

from __future__ import annotations

import ast
import linecache
import sys
from typing import Any

from agent.tools.programs.python_command import exit_code, report_error
from agent.verify.programs.loading import EntryFile, begin

NAME = "<snippet>"


def main(jail: Any) -> None:
    """Runs the snippet, and prints the value of a final expression."""
    begin(jail)
    if jail.folder not in sys.path:
        sys.path.insert(0, jail.folder)
    code = 0
    try:
        module = EntryFile(jail.payload, jail.folder).load()
        sys.modules["solution"] = module
        _run(jail.payload["code"], vars(module))
    except SystemExit as error:
        code = exit_code(error.code)
    except BaseException as error:  # noqa: BLE001 - the program may raise anything
        code = 1
        report_error(error, jail)
    raise SystemExit(code)


def _run(code: str, names: dict[str, Any]) -> None:
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    # Not `ast.parse`, whose frame would show on the traceback of a syntax error.
    tree = compile(code, NAME, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    parts = tree.body
    last = parts.pop() if parts and isinstance(parts[-1], ast.Expr) else None
    exec(compile(ast.Module(parts, []), NAME, "exec"), names)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), NAME, "eval"), names)
        if value is not None:
            print(repr(value))
