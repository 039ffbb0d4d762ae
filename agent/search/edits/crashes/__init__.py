"""Edits suggested by the exception that ended a failing run, at the line where it arose."""

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
    (("IndexError",), values.outside),
    (("KeyError",), values.missing_key),
    (("ZeroDivisionError",), values.zero_division),
    (("ValueError",), values.bad_value),
    (("TimeoutError", "MemoryError"), values.endless),
    (("ModuleNotFoundError", "ImportError"), missing.missing_module),
)
"""Which edits an exception suggests."""


def crash(program: Program, node: ast.Module) -> Iterator[Splice]:
    """All edits the crash suggests; nothing where there was none."""
    found = program.crash
    if found is None:
        return
    for exceptions, template in TEMPLATES:
        if found.exception in exceptions:
            yield from template(program, found)
