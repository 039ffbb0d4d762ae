"""Tests that contradict each other: no program that answers alike each time passes them all.

Only what is certain is said: two claims about the same call of the program with literal
arguments, in tests that did nothing before but check. Claims that follow other calls in one run
of the program (those of a file) may see it in different states, so there it must keep none.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agent.domain import TestCase
from agent.intake.claims import claimed, passed_call, raised
from agent.intake.effects import may_keep_state
from agent.intake.parsing import (
    BUILTIN_NAMES,
    called_name,
    dotted,
    parsed,
    statements_of,
)
from agent.intake.references import imported, literal, target
from agent.intake.signatures import Signatures, signatures
from agent.literals import spelt

Relation = Literal["==", "!=", "is", "is not", "<", "<=", ">", ">=", "true", "false", "raises"]
_RELATIONS: Mapping[type[ast.cmpop], Relation] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is", ast.IsNot: "is not",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}
_TURNED: Mapping[Relation, Relation] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DENIED: Mapping[Relation, Relation] = {
    "==": "!=", "!=": "==", "is": "is not", "is not": "is", "true": "false", "false": "true",
}
"""Not for `<` and its like: of `nan`, neither that nor the opposite holds."""
_ORDERS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}
_SAYING: Mapping[Relation, frozenset[str]] = {
    **dict.fromkeys(("==", "!="), frozenset({"__eq__", "__ne__"})),
    **dict.fromkeys(("true", "false"), frozenset({"__bool__", "__len__"})),
    **dict.fromkeys(
        ("<", "<=", ">", ">="), frozenset({"__lt__", "__le__", "__gt__", "__ge__"})
    ),
}
"""The methods by which a class says itself whether a relation holds."""
_PLAIN_BASES = BUILTIN_NAMES | {
    "ABC", "Enum", "Flag", "Generic", "IntEnum", "NamedTuple", "Protocol", "StrEnum", "TypedDict",
}
"""Classes of which instances compare as one expects."""
_SINGLETONS = (None, True, False)

Said = tuple[ast.Call, Relation, object]


@dataclass(frozen=True)
class _Claim:
    """What one test says of one call's answer."""

    test: int
    call: str
    relation: Relation
    value: object
    shown: str
    shared: bool
    """Other calls came before it in the same run of the program."""


def contradiction(
    tests: Iterable[TestCase], program: str = "", stem: str = "solution", *,
    with_defaults: bool = False,
) -> tuple[str, str] | None:
    """Two tests in words of which at most one can pass, or `None` where none are known.

    `stem` is the program's module. `with_defaults` takes the program's defaults as given: what is
    found only so can be mended by another default.
    """
    known = signatures(program)
    keeps = may_keep_state(program)
    own = _own_relations(program)
    claims: dict[str, list[_Claim]] = {}
    for number, test in enumerate(tests):
        for claim in _Reading(known, stem, with_defaults).claims(number, test):
            if claim.relation in own or (claim.shared and keeps):
                continue
            before = claims.setdefault(claim.call, [])
            for other in before:
                if other.test != number and _exclude_each_other(other, claim):
                    return other.shown, claim.shown
            before.append(claim)
    return None


def _own_relations(program: str) -> frozenset[Relation]:
    """Relations that a class of the program may decide as it likes: an answer of such a class can
    equal 4 and 5."""
    nodes = [one for node in statements_of(program) for one in ast.walk(node)]
    classes = [one for one in nodes if isinstance(one, ast.ClassDef)]
    plain = _PLAIN_BASES | {one.name for one in classes}
    bases = [base for one in classes for base in one.bases]
    if any(_base_name(base) not in plain for base in bases):
        return frozenset(_SAYING)
    named = {
        one.name if isinstance(one, ast.FunctionDef)
        else one.id if isinstance(one, ast.Name)
        else one.attr if isinstance(one, ast.Attribute)
        else one.value if isinstance(one, ast.Constant) else ""
        for one in nodes
    }
    return frozenset(relation for relation, methods in _SAYING.items() if methods & named)


def _base_name(node: ast.expr) -> str:
    """The last name of a base class; that of `Generic[T]` is `Generic`."""
    inner = node.value if isinstance(node, ast.Subscript) else node
    return dotted(inner).rpartition(".")[2]


def _exclude_each_other(one: _Claim, other: _Claim) -> bool:
    """Whether no answer fits both."""
    return _excludes(one, other) or _excludes(other, one)


def _excludes(one: _Claim, other: _Claim) -> bool:
    """Whether every answer that fits `one` is seen to be refused by `other`."""
    match one.relation, other.relation:
        case "raises", "raises":
            return False  # one exception may be of both kinds
        case "raises", _:
            return True
        case "true", "false":
            return True
        case "is", "is" | "is not":
            return (one.value is other.value) is (other.relation == "is not")
        case "==" | "is", "==" | "is":
            return one.value != other.value
        case "==" | "is", "!=":
            return one.value == other.value
        case "==", "is not":
            return one.value is None and other.value is None
        case "==" | "is", "true":
            return not one.value
        case "==" | "is", "false":
            return bool(one.value)
        case "is", "<" | "<=" | ">" | ">=" if one.value is None:
            return True
        case "==" | "is", "<" | "<=" | ">" | ">=":
            return _misses(one.value, other)
        case "false", "<" | "<=" | ">" | ">=":
            # What is false and can be compared with a number is nought.
            return _misses("" if isinstance(other.value, str) else 0, other)
        case "<" | "<=", ">" | ">=":
            both = one.relation == "<=" and other.relation == ">="
            return _comparable(one.value, other.value) and not (
                _ORDERS["<=" if both else "<"](other.value, one.value)
            )
        case _:
            return False


def _misses(value: object, bound: _Claim) -> bool:
    """Whether a value lies outside a bound; not where that cannot be told."""
    return _comparable(value, bound.value) and not _ORDERS[bound.relation](value, bound.value)


def _comparable(one: object, other: object) -> bool:
    numbers = isinstance(one, int | float) and isinstance(other, int | float)
    return numbers or (isinstance(one, str) and isinstance(other, str))


class _Reading:
    """Reads the claims of one test."""

    def __init__(self, known: Signatures, stem: str, with_defaults: bool) -> None:
        self._known = known
        self._stem = stem
        self._with_defaults = with_defaults
        self._own: dict[str, str] = {}
        self._foreign = frozenset[str]()

    def claims(self, number: int, test: TestCase) -> Iterator[_Claim]:
        """What must hold of calls for the test to pass, up to where it does anything else."""
        if test.kind == "property":
            return
        if test.kind == "raises":
            call = _expression(test.call)
            if call is not None and self._call(call):
                shown = f"{test.call} raises {test.exception}"
                yield _Claim(number, self._call(call), "raises", test.exception, shown, False)
            return
        if test.kind == "script" and test.node:
            return  # what stands in a pytest file is between its author and pytest
        shared = False
        for node in self._body(test.code):
            said = self._said(node)
            if said is None:
                return
            for call, relation, value in said:
                yield _Claim(
                    number, self._call(call), relation, value, ast.unparse(node), shared
                )
                shared = True
            # A call whose answer nothing is said of comes before the next all the same.
            shared = shared or any(isinstance(one, ast.Call) for one in ast.walk(node))

    def _body(self, code: str) -> Sequence[ast.stmt]:
        """The statements of a test, but for its imports."""
        try:
            body = parsed(code).body
        except SyntaxError:
            return ()
        self._own, self._foreign = imported(
            body, self._stem, self._known.names
        )
        return [one for one in body if not isinstance(one, ast.Import | ast.ImportFrom)]

    def _said(self, node: ast.stmt) -> list[Said] | None:
        """What a statement claims; `None` for one that does more than call and check."""
        match node:
            case ast.Expr(value=ast.Call() as call) if self._call(call):
                return []
            case ast.With(items=[ast.withitem(ast.Call() as check, None)], body=[
                ast.Expr(value=ast.Call() as call)
            ]) if (kind := raised(check)) and not passed_call(check) and self._call(call):
                return [(call, "raises", dotted(kind))]
            case ast.Expr(value=ast.Call() as check) if kind := raised(check):
                inner = passed_call(check)
                if inner is None or not self._call(inner):
                    return None
                return [(inner, "raises", dotted(kind))]
        asked = claimed(node)
        if asked is None or not self._only_asks(asked):
            return None
        return list(self._of(asked))

    def _only_asks(self, node: ast.expr) -> bool:
        """Whether an expression calls nothing but the program, with literals, and builtins."""
        return not any(isinstance(one, ast.NamedExpr) for one in ast.walk(node)) and all(
            self._call(one) or called_name(one) in BUILTIN_NAMES - self._foreign
            for one in ast.walk(node) if isinstance(one, ast.Call)
        )

    def _of(self, node: ast.expr) -> Iterator[Said]:
        """The claims of an expression that must be true."""
        match node:
            case ast.Call() if self._call(node):
                yield node, "true", None
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                said = list(self._of(inner)) if not isinstance(inner, ast.BoolOp) else []
                if len(said) == 1 and said[0][1] in _DENIED:
                    call, relation, value = said[0]
                    yield call, _DENIED[relation], value
            case ast.BoolOp(op=ast.And(), values=values):
                for one in values:
                    yield from self._of(one)
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                for one, kind, other in zip(sides, ops, others, strict=False):
                    yield from self._compared(one, kind, other)

    def _compared(self, left: ast.expr, kind: ast.cmpop, right: ast.expr) -> Iterator[Said]:
        relation = _RELATIONS.get(type(kind))
        if relation is None:
            return
        if not isinstance(left, ast.Call):
            left, right, relation = right, left, _TURNED.get(relation, relation)
        known = literal(right)
        if known is None or not isinstance(left, ast.Call) or not self._call(left):
            return
        if relation in ("is", "is not") and not any(known[0] is one for one in _SINGLETONS):
            return
        yield left, relation, known[0]

    def _call(self, node: ast.expr) -> str:
        """A call of the program's own function by the values of its arguments; empty for others."""
        if not isinstance(node, ast.Call):
            return ""
        if isinstance(node.func, ast.Name) and node.func.id in self._foreign:
            return ""
        name = target(node.func, self._own, self._known.names)
        values = [literal(one) for one in node.args]
        named = {one.arg or "": literal(one.value) for one in node.keywords}
        if not name or None in values or None in named.values() or "" in named:
            return ""
        return self._known.bound(
            name, [spelt(one[0]) for one in values if one],
            {key: spelt(one[0]) for key, one in named.items() if one},
            defaults=self._with_defaults,
        )


def _expression(text: str) -> ast.expr | None:
    try:
        body = parsed(text).body
    except SyntaxError:
        return None
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
