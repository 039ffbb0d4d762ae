"""Edits suggested by the exception that ended a failing run, at the line that raised it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from agent.search.edits.crashes import missing, values
from agent.search.program import Program, Splice
from agent.search.values import Crash

TEMPLATES: tuple[tuple[tuple[str, ...], Callable[[Program, Crash], Iterator[Splice]]], ...] = (
    (("NameError", "UnboundLocalError"), missing.unknown_name),
    (("AttributeError",), missing.unknown_attribute),
    (("TypeError",), values.wrong_type),
    (("IndexError",), values.index_out_of_range),
    (("KeyError",), values.missing_key),
    (("ZeroDivisionError",), values.zero_division),
    (("ValueError",), values.bad_value),
    (("TimeoutError", "MemoryError"), values.endless),
    (("ModuleNotFoundError", "ImportError"), missing.missing_module),
)
"""The edits that exceptions suggest."""


def crash(program: Program, node: ast.Module) -> Iterator[Splice]:
    """All edits that the crash of the failing run suggests, if it crashed."""
    for exceptions, template in TEMPLATES:
        if program.crash is not None and program.crash.exception in exceptions:
            yield from template(program, program.crash)
