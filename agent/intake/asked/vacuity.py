"""Snippets that ask the program nothing, by their text: the judge would believe their passes.

A check that is never reached, or whose failure is caught, the judge sees to be vacuous by itself,
and so does it of all tests of a pytest file.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Mapping, Sequence

from agent.core.domain import TestCase
from agent.core.trees import literal
from agent.intake.parsing import (
    BUILTIN_NAMES,
    Definition,
    checking_helpers,
    checks,
    imports,
    names_in,
    parsed,
    shortened,
    visible_names,
)

_REACHING_MODULES = frozenset({"importlib", "runpy", "subprocess", "sys", "os"})
_REACHING_BUILTINS = frozenset({"__import__", "exec", "eval", "globals", "locals", "vars"})
_APART = (
    sys.stdlib_module_names | {"pytest", "hypothesis", "numpy"}
) - _REACHING_MODULES
"""Modules that neither check by themselves nor lead to the program."""


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
