"""Edits suggested by the exception that ended a failing run, at the line where it arose."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from agent.repair.edits.crashes import (
    attributes,
    endless,
    imports,
    kinds,
    names,
    places,
    values,
)
from agent.repair.facts import Crash
from agent.repair.program import Program, Splice

TEMPLATES: tuple[tuple[tuple[str, ...], Callable[[Program, Crash], Iterator[Splice]]], ...] = (
    (("NameError", "UnboundLocalError"), names.unknown_name),
    (("AttributeError",), attributes.unknown_attribute),
    (("TypeError",), kinds.wrong_type),
    (("IndexError",), places.outside),
    (("KeyError",), places.missing_key),
    (("ZeroDivisionError",), values.zero_division),
    (("ValueError",), values.bad_value),
    (("ValueError", "TypeError"), kinds.unpacking),
    (("TimeoutError", "MemoryError"), endless.endless),
    (("RecursionError", "TimeoutError"), endless.endless_recursion),
    (("ModuleNotFoundError", "ImportError"), imports.missing_module),
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
