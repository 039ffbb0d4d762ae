"""Tests that contradict each other: no program that answers alike each time passes them all.

Only what is certain is said: one test tells what a call of the program with literal arguments
answers, and what another asserts of that call is false of such an answer. Nothing is said where a
class of the program may decide itself what its objects equal.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agent.core.domain import TestCase
from agent.core.literals import literal_source
from agent.core.trees import expression, literal
from agent.intake.asked.signatures import imported, signatures, target
from agent.intake.found.effects import may_keep_state
from agent.intake.found.snippets import asserted
from agent.intake.parsing import BUILTIN_NAMES, called_name, dotted, is_import, statements_of

_COMPARING: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}
_DECIDING = ("__eq__", "__ne__", "__bool__", "__len__", "__lt__", "__le__", "__gt__", "__ge__")
"""Methods by which a class says itself what its objects equal."""
_PLAIN_BASES = BUILTIN_NAMES | {
    "ABC", "Enum", "Flag", "Generic", "IntEnum", "NamedTuple", "Protocol", "StrEnum", "TypedDict",
}
"""Classes whose instances compare as one expects."""
_OPEN, _RAISES, _TRUE, _FALSE = (object() for _ in range(4))
"""Answers of which nothing is known, that there is none, and that they are true or false."""


@dataclass(frozen=True)
class _Check:
    """What one test asserts of one call."""

    claim: ast.expr | None
    """What must be true; `None` where the call must raise."""
    shown: str

    @property
    def answer(self) -> object:
        """What the call must answer."""
        match self.claim:
            case None:
                return _RAISES
            case ast.Call():
                return _TRUE
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call()):
                return _FALSE
            case ast.Compare(left=ast.Call(), ops=[ast.Eq() | ast.Is()], comparators=[value]) | (
                ast.Compare(left=value, ops=[ast.Eq() | ast.Is()], comparators=[ast.Call()])
            ):
                known = literal(value)
                return known[0] if known else _OPEN
        return _OPEN

    def refuses(self, answer: object) -> bool:
        """Whether it fails where the call answers so."""
        if answer is _OPEN or self.claim is None:
            return False
        return answer is _RAISES or _truth(_value(self.claim, answer)) is False


def contradiction(
    tests: Iterable[TestCase], program: str = "", stem: str = "solution"
) -> tuple[str, str] | None:
    """Two tests in words of which at most one can pass, or `None` where none are known. `stem` is
    the program's module."""
    if _classes_decide(program):
        return None
    before: dict[str, list[_Check]] = {}
    for test in tests:
        call, check = _read(test, program, stem)
        if check is None:
            continue
        for other in before.setdefault(call, []):
            if check.refuses(other.answer) or other.refuses(check.answer):
                return other.shown, check.shown
        before[call].append(check)
    return None


def _classes_decide(program: str) -> bool:
    """Whether a class of the program may say what its objects equal: an answer of such a class
    can equal 4 and 5."""
    classes = [
        one for node in statements_of(program) for one in ast.walk(node)
        if isinstance(one, ast.ClassDef)
    ]
    plain = _PLAIN_BASES | {one.name for one in classes}
    bases = [
        base.value if isinstance(base, ast.Subscript) else base
        for one in classes for base in one.bases
    ]
    return any(method in program for method in _DECIDING) or any(
        dotted(base).rpartition(".")[2] not in plain for base in bases
    )


def _read(test: TestCase, program: str, stem: str) -> tuple[str, _Check | None]:
    """The one call of a test that does nothing but check it, and the check."""
    if test.kind == "property" or (test.kind == "script" and test.node):
        return "", None  # what stands in a pytest file is between its author and pytest
    if test.kind == "raises":
        call = _call(expression(test.call), (), program, stem)
        shown = f"{test.call} raises {test.exception}"
        return call, _Check(None, shown) if call else None
    whole = statements_of(test.code)
    body = [node for node in whole if not is_import(node)]
    # A call before may change what the next one answers, unless the program keeps nothing.
    if len(body) != 1 and (may_keep_state(program) or not all(
        isinstance(node, ast.Expr) and _call(node.value, whole, program, stem)
        for node in body[:-1]
    )):
        return "", None
    asked: ast.AST | None
    claim: ast.expr | None
    match body[-1:]:
        case [ast.With(items=[ast.withitem(ast.Call() as raising, None)], body=[
            ast.Expr(value=asked)
        ])] if called_name(raising).rpartition(".")[2] == "raises":
            claim = None
        case [node]:
            asked = claim = asserted(node)
        case _:
            return "", None
    calls = [one for one in ast.walk(asked) if isinstance(one, ast.Call)] if asked else []
    call = _call(calls[0], whole, program, stem) if len(calls) == 1 else ""
    return call, _Check(claim, ast.unparse(body[-1])) if call else None


def _call(
    node: ast.expr | None, body: Iterable[ast.stmt], program: str, stem: str
) -> str:
    """A call of the program's own function by the values of its arguments; empty for others."""
    known = signatures(program)
    own, foreign = imported([*body], stem, known.names)
    if not isinstance(node, ast.Call) or dotted(node.func) in foreign:
        return ""
    name = target(node.func, own, known.names)
    values = [literal(one) for one in node.args]
    named = {one.arg or "": literal(one.value) for one in node.keywords}
    if not name or None in values or None in named.values() or "" in named:
        return ""
    return known.bound(
        name, [literal_source(one[0]) for one in values if one],
        {key: literal_source(one[0]) for key, one in named.items() if one}, defaults=False,
    )


def _value(node: ast.expr, answer: object) -> object:
    """What an expression is worth where its one call answers so."""
    match node:
        case ast.Call():
            return answer
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            truth = _truth(_value(inner, answer))
            return _OPEN if truth is None else not truth
        case ast.BoolOp(op=kind, values=values):
            deciding = isinstance(kind, ast.Or)
            truths = [_truth(_value(one, answer)) for one in values]
            if deciding in truths:
                return deciding
            return _OPEN if None in truths else not deciding
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_value(one, answer) for one in (left, *others)]
            found = list(map(_compared, sides, ops, sides[1:]))
            return False if False in found else _OPEN if None in found else True
    known = literal(node)
    return known[0] if known else _OPEN


def _truth(value: object) -> bool | None:
    """Whether a value is true; `None` where that is open."""
    if value is _OPEN:
        return None
    return value is _TRUE or (value is not _FALSE and bool(value))


def _compared(left: object, kind: ast.cmpop, right: object) -> bool | None:
    """Whether a comparison holds; `None` where that is open."""
    if any(one is mark for one in (left, right) for mark in (_OPEN, _TRUE, _FALSE)):
        return None
    if isinstance(kind, ast.Is | ast.IsNot):
        if left == right and right is not None:
            return None  # 1 == True
        return (left == right) is isinstance(kind, ast.Is)
    try:
        return bool(_COMPARING[type(kind)](left, right)) if type(kind) in _COMPARING else None
    except TypeError:
        return None
