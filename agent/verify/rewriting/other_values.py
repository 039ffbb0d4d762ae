"""Makes values that have the form of expected ones, but never equal them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

MAX_PARTS = 10_000
OTHER_TEXT = "x7"
FAR = 1009
"""The difference of numbers in approximate comparisons."""
_CONTAINERS = (list, tuple, set, frozenset)

Replacement = tuple[ast.expr, Callable[[str], str]]
"""A node, and the function that changes its source."""


def _refuse(value: Any) -> Any:
    raise TypeError(type(value).__name__)


def unequal_value(value: Any, offset: int = 1, default: Callable[[Any], Any] = _refuse) -> Any:
    """A value of the same form that is not equal; neighbours change by different amounts.

    `default` replaces values that are not plain; by default it raises `TypeError`.
    """
    match value:
        case bool():
            return not value
        case int():
            return value + offset
        case float():
            return value + abs(value) + offset if abs(value) < 1e300 else 0.5
        case complex():
            return value + offset
        case str():
            return value + OTHER_TEXT
        case bytes():
            return value + OTHER_TEXT.encode()
        case None:
            return OTHER_TEXT
        case list() | tuple() | set() | frozenset() if type(value) in _CONTAINERS:
            found = [unequal_value(one, offset + at, default) for at, one in enumerate(value)]
            return type(value)(found or [offset])
        case dict() if type(value) is dict:
            changed = {
                key: unequal_value(one, offset + at, default)
                for at, (key, one) in enumerate(value.items())
            }
            return changed or {OTHER_TEXT: offset}
    return default(value)


def is_literal(node: ast.expr) -> bool:
    """Whether an expression is a literal that can be exchanged."""
    try:
        unequal_value(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return sum(1 for _ in ast.walk(node)) < MAX_PARTS


def parts(node: ast.expr, offset: int = 1) -> Iterator[Replacement]:
    match node:
        case ast.List(elts=elements) | ast.Tuple(elts=elements) | ast.Set(elts=elements) if (
            elements
        ):
            for at, one in enumerate(elements):
                yield from parts(one, offset + at)
        case ast.Dict(values=values) if values:
            for at, one in enumerate(values):
                yield from parts(one, offset + at)
        case ast.Constant(value=str() | bytes()):
            yield node, _longer
        case _:
            new = repr(unequal_value(ast.literal_eval(node), offset))
            yield node, lambda old: new


def _longer(old: str) -> str:
    """The source of a string literal, with `OTHER_TEXT` appended to its value."""
    is_long = old[-3:] in ('"""', "\'\'\'") and len(old.lstrip("rRbBuU")) > 5
    quote = old[-3:] if is_long else old[-1:]
    return f"{old.removesuffix(quote)}{OTHER_TEXT}{quote}"
