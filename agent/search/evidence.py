"""Evaluates conditions over the recorded values of variables, to tell failing from passing runs.

Conditions of a program under repair are never executed. They are translated into functions over
plain values; a condition that could have a side effect is not translated.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

from agent.core.trees import literal_value, parse_expression
from agent.search.values import Snapshot

Values = Mapping[str, Any]
"""Names and plain values; `Any` because a program may hold anything."""
Evaluator = Callable[[Values], Any]
MAX_SNAPSHOTS = 8
"""Number of moments of failing runs, and of passing runs, that are used for one line."""


class Unknown(Exception):
    """The condition cannot be evaluated for these values."""


Vector = tuple[bool | None, ...]
"""A condition's value at each moment; `None` if it is unknown."""


def condition_values(condition: str, moments: Sequence[Snapshot]) -> Vector:
    """The value of a condition at each moment."""
    read = compile_condition(condition)
    if read is None:
        return (None,) * len(moments)
    return tuple(_truth(read, moment) for moment in moments)


def _truth(read: Evaluator, moment: Snapshot) -> bool | None:
    try:
        return bool(read(literal_values(moment)))
    except (Unknown, TypeError, ValueError, ArithmeticError, LookupError):
        return None  # a LookupError also for a name without a plain value


NO_EFFECT_COST, HARMFUL_COST, USEFUL_COST, FULL_USE_COST = 2.0, 0.2, -1.0, -1.3
"""Added to the cost of a changed condition whose value differs: in no failing run; also in a
passing run; only in failing runs; only in failing runs, and at each of their moments."""


def cost_delta(before: Vector, after: Vector, moments: Sequence[Snapshot]) -> float:
    """What a changed condition adds to the cost of its edit, judged by its values."""
    known: dict[bool, list[bool]] = {True: [], False: []}
    for old, new, moment in zip(before, after, moments, strict=True):
        if old is not None and new is not None:
            known[moment.passed].append(old != new)
    if not known[False]:
        return 0.0
    if not any(known[False]):
        return NO_EFFECT_COST
    if any(known[True]):
        return HARMFUL_COST
    return (FULL_USE_COST if all(known[False]) else USEFUL_COST) if known[True] else USEFUL_COST / 4


def values_of_and(first: Vector, second: Vector) -> Vector:
    """`and` at each moment."""
    return tuple(
        False if a is False or b is False else None if a is None or b is None else True
        for a, b in zip(first, second, strict=True)
    )


def values_of_or(first: Vector, second: Vector) -> Vector:
    """`or` at each moment."""
    return tuple(
        True if a or b else None if a is None or b is None else False
        for a, b in zip(first, second, strict=True)
    )


@lru_cache(maxsize=4_000)
def literal_values(moment: Snapshot) -> Values:
    """The values of a moment that are literals."""
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


def sampled_snapshots(moments: Iterable[Snapshot]) -> tuple[Snapshot, ...]:
    """Up to `MAX_SNAPSHOTS` moments of failing and of passing runs, each with different values."""
    kept: dict[bool, dict[tuple[tuple[str, str], ...], Snapshot]] = {True: {}, False: {}}
    for moment in moments:
        if len(kept[moment.passed]) < MAX_SNAPSHOTS:
            kept[moment.passed].setdefault(moment.values, moment)
    return (*kept[False].values(), *kept[True].values())


@lru_cache(maxsize=20_000)
def compile_condition(text: str) -> Evaluator | None:
    """A condition as a function of plain values; `None` if it could have a side effect."""
    try:
        return _compile(parse_expression(text))
    except (Unknown, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _compile(node: ast.expr) -> Evaluator:
    match node:
        case ast.Constant(value=value):
            return lambda values: value
        case ast.Name(id=name):
            return lambda values: values[name]
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            operand = _compile(inner)
            return lambda values: not operand(values)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            number = _compile(inner)
            return lambda values: -_number(number(values))
        case ast.BoolOp(op=op, values=parts):
            evaluators = [_compile(part) for part in parts]
            decide = all if isinstance(op, ast.And) else any
            return lambda values: decide(read(values) for read in evaluators)
        case ast.Compare(left=left, ops=ops, comparators=others):
            return _comparison([_compile(left), *map(_compile, others)], ops)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            first, second, act = _compile(left), _compile(right), _ARITHMETIC[type(op)]
            return lambda values: act(_number(first(values)), _number(second(values)))
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if name in _FUNCTIONS:
            argument, function = _compile(inner), _FUNCTIONS[name]
            return lambda values: function(argument(values))
        case ast.Call(func=ast.Attribute(value=inner, attr=name), args=[], keywords=[]) if (
            name in _METHODS
        ):
            owner, method = _compile(inner), _METHODS[name]
            return lambda values: method(_text(owner(values)))
        case ast.Subscript(value=base, slice=place) if not isinstance(place, ast.Slice):
            container, index = _compile(base), _compile(place)
            return lambda values: container(values)[index(values)]
    raise Unknown


def _comparison(evaluators: list[Evaluator], ops: list[ast.cmpop]) -> Evaluator:
    acts = [_COMPARISONS[type(op)] for op in ops]

    def compared(values: Values) -> bool:
        operands = [read(values) for read in evaluators]
        return all(act(a, b) for act, (a, b) in zip(acts, pairwise(operands), strict=True))

    return compared


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
_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "len": len, "abs": abs, "sum": sum, "max": max, "min": min, "any": any, "all": all,
    "set": set, "sorted": sorted, "bool": bool,
}
_METHODS: dict[str, Callable[[str], bool]] = {
    "isdigit": str.isdigit, "isalpha": str.isalpha, "isupper": str.isupper,
    "islower": str.islower, "isspace": str.isspace, "isalnum": str.isalnum,
}
