"""The probability of a piece of syntax in published Python code.

A syntax tree is a list of productions: a node's symbol, given its parent's symbol, the field that
holds it, and the symbol of the node before it there. Counts of productions (`naturalness.bin`)
come from the standard library and from permissively licensed packages; `python -m
evaluation.naturalness` creates the file. It contains only names that many packages use, and no
code. The probability of a production is interpolated between its contexts, from the longest known
to the shortest, with the weights of Witten and Bell (1991).
"""

from __future__ import annotations

import ast
import math
import zlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from importlib.resources import files
from marshal import loads
from typing import NamedTuple

from agent.core.trees import parse_or_empty

NUMBERS = frozenset({*range(-1, 11), 12, 16, 24, 30, 60, 100, 365, 1000, 1024, 3600})
"""Numbers with their own symbol; all others share one."""
LETTERS = frozenset(" ,.-:/_\n")
SMOOTHING = 0.1
"""Added to the count of each symbol."""
_UNCOUNTED = ast.expr_context | ast.operator | ast.unaryop | ast.boolop | ast.cmpop
_LISTS = ("args", "orelse", "body", "elts", "handlers", "keywords")


class Production(NamedTuple):
    """A symbol of a syntax tree in its context."""

    parent: str
    field: str
    before: str
    symbol: str


class Model:
    """Counts of symbols in contexts of increasing length, and the names that have a symbol."""

    def __init__(
        self, names: Collection[str], counts: Mapping[int, Mapping[tuple[str, ...], Counts]]
    ) -> None:
        self.names = frozenset(names)
        self._counts = counts
        self._all = counts[0][()]
        self._total = sum(self._all.values())

    def log_probability(self, one: Production) -> float:
        """The natural logarithm of P(symbol | parent, field, symbol before)."""
        kinds = len(self._all)
        chance = (self._all.get(one.symbol, 0) + SMOOTHING) / (self._total + SMOOTHING * kinds)
        contexts: tuple[tuple[int, tuple[str, ...]], ...] = (
            (1, (one.parent.partition(" ")[0], one.field)), (2, (one.parent, one.field)),
            (3, (one.parent, one.field, one.before)),
        )
        for length, context in contexts:
            seen = self._counts[length].get(context)
            if seen:
                total, different = seen[TOTAL], len(seen)
                chance = (seen.get(one.symbol, 0) + different * chance) / (total + different)
        return math.log(chance)


Counts = Mapping[str, int]
TOTAL = ""
"""The key of a context's total, which includes rare symbols that are not stored."""


@cache
def published() -> Model:
    """The model of published code."""
    packed = files(__package__).joinpath("naturalness.bin").read_bytes()
    stored = loads(zlib.decompress(packed))
    return Model(stored["names"], stored["counts"])


def added(before: str, after: str) -> tuple[float, ...]:
    """Log-probabilities of the productions in new module statements of `after` that `before` lacks.

    Empty if `after` does not parse.
    """
    model = published()
    old, new = (
        {ast.dump(one): one for one in parse_or_empty(text).body} for text in (before, after)
    )
    lost, gained = (
        Counter(
            one for text, node in some.items() if text not in others
            for one in productions(node, model.names)
        ) for some, others in ((old, new), (new, old))
    )
    return tuple(model.log_probability(one) for one in (gained - lost).elements())


def productions(tree: ast.AST, names: Collection[str]) -> Iterator[Production]:
    """All productions of a tree; `$` ends a list."""
    pending = [tree]
    while pending:
        parent = pending.pop()
        own, before = symbol(parent, names), "^"
        for field, value in ast.iter_fields(parent):
            ended = False
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST) or isinstance(child, _UNCOUNTED):
                    continue
                if field == "func" and isinstance(child, ast.Name):
                    continue  # the symbol of a call holds its name
                found = symbol(child, names)
                yield Production(own, field, before, found)
                before, ended = found, True
                pending.append(child)
            if isinstance(value, list) and (ended or field in _LISTS):
                yield Production(own, field, before if ended else "^", "$")


def symbol(node: ast.AST, names: Collection[str]) -> str:
    """The symbol of a node in a production."""
    kind = type(node).__name__
    match node:
        case ast.Name(id=name):
            return name if name in names else kind
        case ast.Attribute(attr=name):
            return f".{name}" if f".{name}" in names else kind
        case ast.Call(func=func):
            return f"Call {symbol(func, names)}"
        case ast.keyword(arg=name):
            return f"keyword {name if f'={name}' in names else ''}"
        case ast.Constant(value=value):
            return _constant(value)
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.UnaryOp(op=op) | ast.AugAssign(op=op):
            return f"{kind} {type(op).__name__}"
        case ast.Compare(ops=ops):
            return " ".join((kind, *(type(op).__name__ for op in ops)))
    return kind


def _constant(value: object) -> str:
    if value is None or isinstance(value, bool) or value is ...:
        return repr(value)
    if isinstance(value, int):
        return repr(value) if value in NUMBERS else "int"
    if isinstance(value, str) and len(value) < 2:
        return repr(value) if not value or value in LETTERS else "character"
    return type(value).__name__
