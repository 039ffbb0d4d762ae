"""Tests that no program can be judged by, seen from their text: contradictory and vacuous ones.

Tests contradict each other where no program that answers alike each time passes them all. Only
what is certain is reported: two tests give different answers of one call of the program with
literal arguments. Nothing is reported where a class of the program may decide itself what its
objects equal.

Snippets that ask the program nothing are vacuous: the judge would believe their passes. A check
that is never reached, or whose failure is caught, the judge sees to be vacuous by itself, and so
does it of all tests of a pytest file.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping, Sequence

from agent.core.domain import TestCase
from agent.core.trees import expression, literal, literal_source
from agent.target.discovery.effects import may_keep_state
from agent.target.discovery.snippets import asserted
from agent.target.parsing import (
    BUILTIN_NAMES,
    Definition,
    checking_helpers,
    checks,
    dotted,
    imports,
    is_import,
    names_in,
    parsed,
    shortened,
    statements_of,
    visible_names,
)
from agent.target.test_analysis.calls import imported, signatures, target

_RAISES = object()
"""Stands for the answer of a call that must raise."""
_REACHING_MODULES = frozenset({"importlib", "runpy", "subprocess", "sys", "os"})
_REACHING_BUILTINS = frozenset({"__import__", "exec", "eval", "globals", "locals", "vars"})
_APART = (
    sys.stdlib_module_names | {"pytest", "hypothesis", "numpy"}
) - _REACHING_MODULES
"""Modules that neither check by themselves nor lead to the program."""


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


def vacuous(
    tests: Sequence[TestCase], program: str = "", stem: str = "solution",
    lines: Mapping[str, int] | None = None,
) -> dict[str, str]:
    """Test name to a sentence saying why it tests nothing, for those that do not.

    `program` is the text under test, `stem` its module's name. `lines` gives, by test name,
    the line of a snippet's check in the text it was taken from; without, lines count in the
    test's own code.
    """
    own = frozenset({stem, "solution"})
    names = visible_names(program) | _REACHING_BUILTINS
    known = lines or {}
    reasons = {
        test.name: _reason(parsed(test.code).body, own, names, known.get(test.name))
        for test in tests if not (test.kind == "script" and test.node)
    }
    return {name: reason for name, reason in reasons.items() if reason}


def _reason(
    body: Sequence[ast.stmt], own: frozenset[str], names: frozenset[str], line: int | None
) -> str:
    """Why these statements test nothing; empty where they may test something. `own` are names of
    the program's module, `names` those by which it is reached without an import."""
    modules = frozenset(one.top for one in imports(*body))
    if modules - _APART - own:
        return ""  # what comes from elsewhere may check, and use the program
    helpers = checking_helpers(body)
    found = [node for node in body if not isinstance(node, Definition) and checks(node, helpers)]
    if not found:
        uncalled = sorted(helpers)
        return (
            f"{uncalled[0]} holds the checks, but nothing calls it" if uncalled
            else "it checks nothing: there is no assert"
        )
    first = found[0]
    shown = f"`{shortened(ast.unparse(first))}` (line {first.lineno if line is None else line})"
    if all(isinstance(node, ast.Assert) and _is_true(node.test) for node in found):
        if isinstance(first, ast.Assert) and isinstance(first.test, ast.Tuple):
            return (
                f"{shown} is always true, since a tuple is; write the message after a comma, "
                "without brackets"
            )
        return f"{shown} is always true"
    used = names_in(*body)
    if modules & own or used.reads - used.binds - (BUILTIN_NAMES - names):
        return ""
    return f"{shown} never uses the program"


def _is_true(node: ast.expr) -> bool:
    """Whether an expression is true by its text alone."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_is_true, values))
    known = literal(node)
    return known is not None and bool(known[0])
