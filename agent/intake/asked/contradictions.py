"""Tests that contradict each other: no program that answers alike each time passes them all.

Only what is certain is said: two tests tell what one call of the program with literal arguments
answers, and tell it differently. Nothing is said where a class of the program may decide itself
what its objects equal.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from agent.core.domain import TestCase
from agent.core.trees import expression, literal, literal_source
from agent.intake.asked.calls import imported, signatures, target
from agent.intake.found.effects import may_keep_state
from agent.intake.found.snippets import asserted
from agent.intake.parsing import BUILTIN_NAMES, dotted, is_import, statements_of

_RAISES = object()
"""Stands for the answer of a call that must raise."""


def contradiction(
    tests: Iterable[TestCase], program: str = "", stem: str = "solution"
) -> tuple[str, str] | None:
    """Two tests in words of which at most one can pass, or `None` where none are known. `stem` is
    the program's module."""
    if _classes_decide(program):
        return None
    before: dict[str, tuple[object, str]] = {}
    for test in tests:
        call, answer, shown = _read(test, program, stem)
        other, known = before.setdefault(call, (answer, shown)) if call else (answer, shown)
        if other != answer:
            return known, shown
    return None


def unwritten(tests: Iterable[TestCase]) -> str:
    """What stands for a program that is still to be written: the functions that tests call by
    their bare names. One that is called without arguments may count, and a name with a capital is
    a class, whose objects may equal anything: of those nothing is said."""
    calls = [
        node for test in tests for one in statements_of(test.code) for node in ast.walk(one)
        if isinstance(node, ast.Call)
    ]
    bare = {dotted(node.func) for node in calls if not (node.args or node.keywords)}
    names = {
        node.func.id for node in calls
        if isinstance(node.func, ast.Name) and not node.func.id[0].isupper()
    }
    return "".join(
        f"def {name}(*args, **named): ...\n" for name in sorted(names - bare - BUILTIN_NAMES)
    )


def _classes_decide(program: str) -> bool:
    """Whether a class of the program may say what its objects equal: an answer of such a class
    can equal 4 and 5."""
    classes = [
        one for node in statements_of(program) for one in ast.walk(node)
        if isinstance(one, ast.ClassDef)
    ]
    plain = BUILTIN_NAMES | {one.name for one in classes}
    return "__eq__" in program or any(
        dotted(base) not in plain for one in classes for base in one.bases
    )


def _read(test: TestCase, program: str, stem: str) -> tuple[str, object, str]:
    """The one call of a test that does nothing but compare it, what it must answer, and the test
    in words; no call where a test does more."""
    nothing = "", None, ""
    if test.kind == "property" or (test.kind == "script" and test.node):
        return nothing  # what stands in a pytest file is between its author and pytest
    if test.kind == "raises":
        call = _call(expression(test.call), (), program, stem)
        return call, _RAISES, f"{test.call} raises {test.exception}"
    whole = statements_of(test.code)
    body = [node for node in whole if not is_import(node)]
    # A call before may change what the next one answers, unless the program keeps nothing.
    if not body or (len(body) > 1 and (may_keep_state(program) or not all(
        isinstance(node, ast.Expr) and _call(node.value, whole, program, stem)
        for node in body[:-1]
    ))):
        return nothing
    match asserted(body[-1]):
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            asked, value = (left, right) if isinstance(left, ast.Call) else (right, left)
            known = literal(value)
            if known:
                return _call(asked, whole, program, stem), known[0], ast.unparse(body[-1])
    return nothing


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
