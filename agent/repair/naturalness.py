"""How unusual the code is that an edit writes, measured by how Python is written elsewhere.

Mistakes are rare and repairs look like other code: of two edits that pass every test, the one
that writes `low + low > size` is less likely meant than the one that writes
`low + step > size`. The measure is the surprise of a statistical model of source code
(naturalness, Hindle et al., 2012), here of syntax trees: how often a kind of node stands at a
place under its parent. `corpus` holds the counts.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections import Counter
from functools import cache, lru_cache

from agent.common_ends import common_ends
from agent.repair.corpus import COUNTS
from agent.trees import parse

SMOOTHING = 20.0
"""So many sightings are worth as much at a place as all of its field together."""
SMALL_NUMBERS = range(11)
MOST_ARGUMENTS = 3
LONGEST = 20_000
"""Characters of statements that are still read for each candidate."""

Place = tuple[str, str]
"""A kind of parent and the field of it."""
Shape = tuple[Place, str]
"""A place and the kind of node that stands there."""

_BUILTINS = frozenset(dir(builtins))
_WORDLESS = ast.expr_context | ast.operator | ast.cmpop | ast.boolop | ast.unaryop


def surprise(before: str, after: str) -> float | None:
    """The negative logarithm of the likelihood of the most unusual shape that `after` has and
    `before` has not, in nats; 0 where there is none. `None` where that is not known: one of the two
    is not Python, or the statements of the module that differ are longer than `LONGEST`."""
    for texts in (_changed(before, after), (before, after)):
        if max(map(len, texts)) > LONGEST:
            break
        try:
            old, new = map(_shapes_of, texts)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue  # the part that differs may begin or end inside a string
        return max((-math.log(_likelihood(shape)) for shape in new - old), default=0.0)
    return None


@lru_cache(16)
def _shapes_of(text: str) -> Counter[Shape]:
    return shapes(parse(text))


def shapes(tree: ast.AST) -> Counter[Shape]:
    """How often each kind of node stands at each place of a tree."""
    found: Counter[Shape] = Counter()
    for node in ast.walk(tree):
        owner = _kind(node)
        for field, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            for number, child in enumerate(children):
                if isinstance(child, ast.AST) and not isinstance(child, _WORDLESS):
                    nth = str(min(number, 1)) if isinstance(node, ast.Call) else ""
                    found[(owner, field + nth), _kind(child)] += 1
        found.update(_together(node))
    return found


def _together(node: ast.AST) -> list[Shape]:
    """What stands on two sides of an operator, and whether two operands, arguments or indices are
    the same."""
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            sides = type(op).__name__
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            sides = type(op).__name__
        case ast.Call(args=[left, right]):
            return [_twins("arguments", left, right)]
        case ast.Subscript(value=ast.Subscript(slice=left), slice=right):
            return [_twins("indices", left, right)]
        case _:
            return []
    return [_twins(sides, left, right), ((_kind(left), sides), _kind(right))]


def _twins(where: str, left: ast.expr, right: ast.expr) -> Shape:
    same = _kind(left) == _kind(right) and ast.dump(left) == ast.dump(right)
    return ("sides", where), "same" if same else "other"


def _kind(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.BinOp(op=op) | ast.UnaryOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op):
            return f"{type(node).__name__}.{type(op).__name__}"
        case ast.Compare(ops=[op]):
            return f"Compare.{type(op).__name__}"
        case ast.Call(func=func, args=args):
            return f"{_called(func)}/{min(MOST_ARGUMENTS, len(args))}"
    return type(node).__name__


def _called(func: ast.expr) -> str:
    match func:
        case ast.Name(id=name) if name in _BUILTINS:
            return name
        case ast.Attribute():
            return "method"
    return "call"


def _constant(value: object) -> str:
    if value is None or isinstance(value, bool):
        return str(value)
    if isinstance(value, int) and value in SMALL_NUMBERS:
        return str(value)
    if isinstance(value, str) and len(value) < 2:
        return {"": "empty", " ": "space"}.get(value, "letter")
    return type(value).__name__


def _likelihood(shape: Shape) -> float:
    """Sightings at the place, smoothed by those in its field, and these by those anywhere."""
    (owner, field), kind = shape
    seen = _seen()
    likely = 1 / (len(seen[()]) + 1)
    for around in ((), (field,), (owner, field)):
        of_kinds = seen.get(around, {})
        whole = of_kinds.get("", 0)
        likely = (of_kinds.get(kind, 0) + SMOOTHING * likely) / (whole + SMOOTHING)
    return likely


@cache
def _seen() -> dict[tuple[str, ...], dict[str, int]]:
    """The counts of each place, of each field and of all; under the empty kind their sums."""
    seen: dict[tuple[str, ...], dict[str, int]] = {}
    for line in COUNTS.strip().splitlines():
        owner, field, *pairs = line.split()
        for kind, count in zip(pairs[::2], map(int, pairs[1::2]), strict=True):
            for around in ((), (field,), (owner, field)):
                kinds = seen.setdefault(around, {})
                kinds[kind] = kinds.get(kind, 0) + count
                kinds[""] = kinds.get("", 0) + count
    return seen


def _changed(before: str, after: str) -> tuple[str, str]:
    """The statements of the module that differ, as far as their text tells."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    first, last = common_ends(old, new)
    while first and not _begins(old, first):
        first -= 1
    while last and not _begins(old, len(old) - last):
        last -= 1
    return "".join(old[first : len(old) - last]), "".join(new[first : len(new) - last])


def _begins(lines: list[str], number: int) -> bool:
    """Whether a line looks like the first of a statement of the module."""
    line = lines[number] if number < len(lines) else "end"
    return line[:1].isalpha() or line[:1] in "@_"
