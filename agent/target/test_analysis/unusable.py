"""Finds contradictory and vacuous tests by their text.

Two tests contradict each other if no deterministic program passes both. Only certain cases are
reported: different results of the same call with literal arguments. Programs whose classes may
define equality are exempt.

Snippets without a check, or that never use the program, are vacuous. Checks that are never reached
or whose failure is caught, and all tests of pytest files, are examined when they run.
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
    name_usage,
    parsed,
    shortened,
    statements_of,
    toplevel_names,
)
from agent.target.test_analysis.calls import program_references, signatures, target

_RAISES = object()
"""The result of a call that must raise."""
_REACHING_MODULES = frozenset({"importlib", "runpy", "subprocess", "sys", "os"})
_REACHING_BUILTINS = frozenset({"__import__", "exec", "eval", "globals", "locals", "vars"})
_UNRELATED = (sys.stdlib_module_names | {"pytest", "hypothesis", "numpy"}) - _REACHING_MODULES
"""Modules that contain no checks and do not load the program."""


def contradiction(
    tests: Iterable[TestCase], program: str = "", stem: str = "solution"
) -> tuple[str, str] | None:
    """Two tests, as text, of which at most one can pass; `None` if there are none.

    `stem` is the program's module name.
    """
    if _may_define_equality(program):
        return None
    before: dict[str, tuple[object, str]] = {}
    for test in tests:
        call, result, shown = _read(test, program, stem)
        other, known = before.setdefault(call, (result, shown)) if call else (result, shown)
        if other != result:
            return known, shown
    return None


def unwritten(tests: Iterable[TestCase]) -> str:
    """Stubs of an unwritten program: the functions that tests call by their bare names.

    Functions called without arguments are left out, because they may keep state, and so are
    capitalised names, because objects of a class may equal anything.
    """
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


def _may_define_equality(program: str) -> bool:
    """Whether a class of the program may define equality, so that one result can equal 4 and 5."""
    classes = [
        one for node in statements_of(program) for one in ast.walk(node)
        if isinstance(one, ast.ClassDef)
    ]
    plain = BUILTIN_NAMES | {one.name for one in classes}
    return "__eq__" in program or any(
        dotted(base) not in plain for one in classes for base in one.bases
    )


def _read(test: TestCase, program: str, stem: str) -> tuple[str, object, str]:
    """The only call of a test, its expected result, and the test as text.

    The call is empty if the test does more than compare one call.
    """
    nothing = "", None, ""
    if test.kind == "property" or (test.kind == "script" and test.node):
        return nothing  # tests of pytest files are not examined by their text
    if test.kind == "raises":
        call = _call(expression(test.call), (), program, stem)
        return call, _RAISES, f"{test.call} raises {test.exception}"
    whole = statements_of(test.code)
    body = [node for node in whole if not is_import(node)]
    # An earlier call may change the result of the next one, unless the program keeps no state.
    if not body or (len(body) > 1 and (may_keep_state(program) or not all(
        isinstance(node, ast.Expr) and _call(node.value, whole, program, stem)
        for node in body[:-1]
    ))):
        return nothing
    match asserted(body[-1]):
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            called, value = (left, right) if isinstance(left, ast.Call) else (right, left)
            known = literal(value)
            if known:
                return _call(called, whole, program, stem), known[0], ast.unparse(body[-1])
    return nothing


def _call(node: ast.expr | None, body: Iterable[ast.stmt], program: str, stem: str) -> str:
    """A call of a program function with literal arguments, normalised; empty for other nodes."""
    known = signatures(program)
    own, foreign = program_references([*body], stem, known.names)
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
    """The vacuous tests by name, with the reason.

    `program` is the text under test, `stem` its module name. `lines` are the lines of the checks in
    the submitted text; by default lines count in the test's own code.
    """
    own = frozenset({stem, "solution"})
    names = toplevel_names(program) | _REACHING_BUILTINS
    known = lines or {}
    reasons = {
        test.name: _reason(parsed(test.code).body, own, names, known.get(test.name))
        for test in tests if not (test.kind == "script" and test.node)
    }
    return {name: reason for name, reason in reasons.items() if reason}


def _reason(
    body: Sequence[ast.stmt], own: frozenset[str], names: frozenset[str], line: int | None
) -> str:
    """Why these statements test nothing; empty if they may test something.

    `own` are names of the program's module, `names` those that reach it without an import.
    """
    modules = frozenset(one.top for one in imports(*body))
    if modules - _UNRELATED - own:
        return ""  # other modules may contain checks and use the program
    helpers = checking_helpers(body)
    found = [node for node in body if not isinstance(node, Definition) and checks(node, helpers)]
    if not found:
        uncalled = sorted(helpers)
        return (
            f"{uncalled[0]} contains the checks, but nothing calls it" if uncalled
            else "it checks nothing, because there is no assert"
        )
    first = found[0]
    shown = f"`{shortened(ast.unparse(first))}` (line {first.lineno if line is None else line})"
    if all(isinstance(node, ast.Assert) and _is_true(node.test) for node in found):
        if isinstance(first, ast.Assert) and isinstance(first.test, ast.Tuple):
            return (
                f"{shown} is always true, because a tuple is; write the message after a comma, "
                "without brackets"
            )
        return f"{shown} is always true"
    used = name_usage(*body)
    if modules & own or used.reads - used.binds - (BUILTIN_NAMES - names):
        return ""
    return f"{shown} never uses the program"


def _is_true(node: ast.expr) -> bool:
    """Whether an expression is always true, judging by its text."""
    match node:
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return bool(parts)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(map(_is_true, values))
    known = literal(node)
    return known is not None and bool(known[0])
