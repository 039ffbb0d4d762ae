"""What the variables held while the tests ran, and which conditions tell the failing runs apart.

Conditions of a program under repair are never executed here: they are read into small functions
over plain values, and whatever is not known to be harmless is not read at all.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from agent.core.trees import literal_value, parse_expression
from agent.search.values import Moment

Values = Mapping[str, Any]
"""Names and plain values; `Any` because a program may hold anything."""
Read = Callable[[Values], Any]
PLACES = 8
"""Moments of failing and of passing runs that are looked at for one line, each."""


class Unknown(Exception):
    """The condition is unknown for these values."""


Vector = tuple[bool | None, ...]
"""A condition's value at each moment; `None` if it is unknown."""


def held(condition: str, moments: Sequence[Moment]) -> Vector:
    """What a condition was at each moment."""
    read = reader(condition)
    if read is None:
        return (None,) * len(moments)
    return tuple(_asked(read, moment) for moment in moments)


def _asked(read: Read, moment: Moment) -> bool | None:
    try:
        return bool(read(plain(moment)))
    except (Unknown, TypeError, ValueError, ArithmeticError, LookupError):
        return None


NO_USE, HARM, USE, WHOLE = 2.0, 0.2, -1.0, -1.3
"""What it adds to a cost that a condition changes nothing where tests fail, that it changes
something where they pass, that it tells the two apart, and that it does so at every moment."""


def worth(before: Vector, after: Vector, moments: Sequence[Moment]) -> float:
    """What moments say of a changed condition, as an addition to its cost."""
    failing, passing, whole, known = False, False, True, {True: False, False: False}
    for old, new, moment in zip(before, after, moments, strict=True):
        if old is None or new is None:
            continue
        known[moment.passed] = True
        if old != new:
            passing |= moment.passed
            failing |= not moment.passed
        else:
            whole &= moment.passed
    if not known[False]:
        return 0.0
    if not failing:
        return NO_USE
    if passing:
        return HARM
    return (WHOLE if whole else USE) if known[True] else USE / 4


def both(first: Vector, second: Vector) -> Vector:
    """`and`, moment by moment."""
    return tuple(
        False if a is False or b is False else None if a is None or b is None else True
        for a, b in zip(first, second, strict=True)
    )


def either(first: Vector, second: Vector) -> Vector:
    """`or`, moment by moment."""
    return tuple(
        True if a or b else None if a is None or b is None else False
        for a, b in zip(first, second, strict=True)
    )


@lru_cache(maxsize=4_000)
def plain(moment: Moment) -> Values:
    """A moment's values; those that are not literals are left out."""
    values: dict[str, Any] = {}
    for name, text in moment.values:
        try:
            values[name] = _literal(text)
        except Unknown:
            continue
    return values


@lru_cache(maxsize=20_000)
def _literal(text: str) -> Any:
    try:
        return literal_value(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise Unknown from None


def picked(moments: Iterable[Moment]) -> tuple[Moment, ...]:
    """A few moments of each outcome, no two with the same values."""
    kept: dict[bool, dict[tuple[tuple[str, str], ...], Moment]] = {True: {}, False: {}}
    for moment in moments:
        if len(kept[moment.passed]) < PLACES:
            kept[moment.passed].setdefault(moment.values, moment)
    return (*kept[False].values(), *kept[True].values())


@lru_cache(maxsize=20_000)
def reader(text: str) -> Read | None:
    """A condition as a function of plain values, or nothing if it may do more than look."""
    try:
        return _read(parse_expression(text))
    except (Unknown, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _read(node: ast.expr) -> Read:
    match node:
        case ast.Constant(value=value):
            return lambda values: value
        case ast.Name(id=name):
            return lambda values: _named(values, name)
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            asked = _read(inner)
            return lambda values: not asked(values)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            number = _read(inner)
            return lambda values: -_number(number(values))
        case ast.BoolOp(op=op, values=parts):
            reads = [_read(part) for part in parts]
            decide = all if isinstance(op, ast.And) else any
            return lambda values: decide(read(values) for read in reads)
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _comparison([_read(left), *map(_read, others)], ops)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            first, second, act = _read(left), _read(right), _ARITHMETIC[type(op)]
            return lambda values: act(_number(first(values)), _number(second(values)))
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _LOOKS:
            asked, look = _read(inner), _LOOKS[name]
            return lambda values: look(asked(values))
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[], keywords=[]) if (
            name in _TESTS
        ):
            asked, method = _read(inner), _TESTS[name]
            return lambda values: method(_text(asked(values)))
        case ast.Subscript(value=base, slice=place) if not isinstance(place, ast.Slice):
            whole, index = _read(base), _read(place)
            return lambda values: whole(values)[index(values)]
    raise Unknown


def _comparison(reads: list[Read], ops: list[ast.cmpop]) -> Read:
    acts = [_COMPARISONS[type(op)] for op in ops]

    def compared(values: Values) -> bool:
        found = [read(values) for read in reads]
        return all(
            act(a, b) for act, a, b in zip(acts, found, found[1:], strict=False)
        )

    return compared


def _named(values: Values, name: str) -> Any:
    if name not in values:
        raise Unknown
    return values[name]


def _number(value: Any) -> Any:
    if not isinstance(value, int | float) or abs(value) > 1e15:
        raise Unknown
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise Unknown
    return value


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b, ast.Sub: lambda a, b: a - b, ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b, ast.Mod: lambda a, b: a % b, ast.Div: lambda a, b: a / b,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: lambda a, b: a < b, ast.LtE: lambda a, b: a <= b, ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b, ast.Eq: lambda a, b: a == b, ast.NotEq: lambda a, b: a != b,
    ast.In: lambda a, b: a in b, ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b, ast.IsNot: lambda a, b: a is not b,
}
_LOOKS: dict[str, Callable[[Any], Any]] = {
    "len": len, "abs": abs, "sum": sum, "max": max, "min": min, "any": any, "all": all,
    "set": set, "sorted": sorted, "bool": bool,
}
_TESTS: dict[str, Callable[[str], bool]] = {
    "isdigit": str.isdigit, "isalpha": str.isalpha, "isupper": str.isupper,
    "islower": str.islower, "isspace": str.isspace, "isalnum": str.isalnum,
}
