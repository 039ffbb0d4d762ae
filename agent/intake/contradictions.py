"""Tests that contradict each other: no program that answers alike each time passes them all.

Only what is certain is said: two claims about the same call of the program with literal
arguments, each a test of its own that does nothing else. Tests that follow other calls in one run
of the program (those of a file) may see it in different states, so there it must keep none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from agent.domain import TestCase
from agent.intake.effects import keeps_state
from agent.intake.parsing import Definition, is_function, names_in, parsed, toplevel, visible_names
from agent.intake.pytest_files import collected, is_fixture

Relation = Literal["==", "!=", "is", "is not", "true", "false", "raises"]
_RELATIONS: Mapping[type[ast.cmpop], Relation] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Is: "is", ast.IsNot: "is not",
}
_SINGLETONS = (None, True, False)
_PREPARING = ("setup", "teardown", "pytestmark", "pytest_")


@dataclass(frozen=True)
class _Claim:
    """What one test says of one call's answer."""

    call: str
    relation: Relation
    value: object
    shown: str
    shared: bool
    """Other calls came before it in the same run of the program."""


def contradiction(tests: Iterable[TestCase], program: str = "") -> tuple[str, str] | None:
    """Two tests in words of which at most one can pass, or `None` where none are known."""
    names = visible_names(program)
    keeps = _may_keep_state(program)
    claims: dict[str, list[_Claim]] = {}
    for test in tests:
        claim = _claim(test, names)
        if claim is None or (claim.shared and keeps):
            continue
        before = claims.setdefault(claim.call, [])
        for other in before:
            if _excludes(other, claim) or _excludes(claim, other):
                return other.shown, claim.shown
        before.append(claim)
    return None


def _excludes(one: _Claim, other: _Claim) -> bool:
    """Whether every answer that fits `one` is refused by `other`."""
    match one.relation, other.relation:
        case "raises", "raises" | "!=" | "is not":
            return False  # one exception may be of both kinds; the others are looked at reversed
        case "raises", _:
            return True
        case _, "raises":
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
        case _:
            return False


def _claim(test: TestCase, names: frozenset[str]) -> _Claim | None:
    if test.kind == "raises":
        call = _call(_expression(test.call), names)
        shown = f"{test.call} raises {test.exception}"
        return _Claim(call, "raises", test.exception, shown, False) if call else None
    if test.kind == "property":
        return None
    shared = test.kind == "script" and bool(test.node)
    body = _body(test.code, test.node if test.kind == "script" else "", names)
    # A snippet that asks one call twice has its second test make the first call too.
    while len(body) > 1 and isinstance(body[0], ast.Expr) and _call(body[0].value, names):
        body, shared = body[1:], True
    if len(body) != 1 or not isinstance(body[0], ast.Assert):
        return None
    asked = body[0].test
    relation: Relation = "true"
    value: object = None
    match asked:
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            asked, relation = operand, "false"
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _RELATIONS:
            if not isinstance(left, ast.Call):
                left, right = right, left
            known = _literal(right)
            if known is None:
                return None
            asked, relation, value = left, _RELATIONS[type(op)], known[0]
            if relation in ("is", "is not") and not any(value is one for one in _SINGLETONS):
                return None
    call = _call(asked, names)
    return _Claim(call, relation, value, ast.unparse(body[0]), shared) if call else None


def _body(code: str, node: str, names: frozenset[str]) -> Sequence[ast.stmt]:
    """The statements of a test that does nothing but check; none where more surrounds it."""
    try:
        body = parsed(code).body
    except SyntaxError:
        return ()
    if not node:
        return body
    entry = next((one for one in collected(body) if one.node == node), None)
    if entry is None or entry.owner is not None or entry.function.decorator_list:
        return ()
    made = names_in(*(one for one in body if not isinstance(one, ast.ImportFrom))).binds
    prepares = any(
        isinstance(one, Definition) and is_fixture(one) for one in toplevel(body)
    ) or any(name.startswith(_PREPARING) for name in made)
    arguments = entry.function.args
    return () if prepares or made & names or arguments.args else entry.function.body


def _call(node: ast.expr | None, names: frozenset[str]) -> str:
    """A call of the program's own function by the values of its arguments; empty for others."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return ""
    if node.func.id not in names:
        return ""
    values = [_literal(one) for one in node.args]
    named = sorted((one.arg or "", _literal(one.value)) for one in node.keywords)
    if any(value is None for value in (*values, *(value for _, value in named))):
        return ""
    told = [_told(value[0]) for value in values if value is not None]
    told += [f"{name}={_told(value[0])}" for name, value in named if value is not None]
    return f"{node.func.id}({', '.join(told)})"


def _expression(text: str) -> ast.expr | None:
    try:
        body = parsed(text).body
    except SyntaxError:
        return None
    return body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None


def _literal(node: ast.expr) -> tuple[object] | None:
    """A literal's value, alone in a tuple; `None` for what is none."""
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None


def _told(value: object) -> str:
    """A literal in words that tell its type and hide the order of a set."""
    match value:
        case list() | tuple():
            return f"{type(value).__name__}({', '.join(map(_told, value))})"
        case set() | frozenset():
            return f"set({', '.join(sorted(map(_told, value)))})"
        case dict():
            return f"dict({', '.join(f'{_told(k)}: {_told(v)}' for k, v in value.items())})"
        case _:
            return repr(value)


def _may_keep_state(program: str) -> bool:
    """Whether a call may leave something behind for the next, in the program as it is meant."""
    try:
        body = parsed(program).body
    except SyntaxError:
        return True
    definitions = [node for node in toplevel(body) if is_function(node)]
    classes = any(isinstance(node, ast.ClassDef) for node in toplevel(body))
    assigned = (node for node in toplevel(body) if isinstance(node, ast.Assign | ast.AnnAssign))
    values = names_in(*assigned).binds
    mentioned = {name for node in definitions for name in _mentioned(node)}
    return classes or keeps_state(program) or bool(values & mentioned)


def _mentioned(node: ast.AST) -> Iterator[str]:
    return (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
