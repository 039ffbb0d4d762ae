"""Asserts that test nothing: they pass whatever the program does, so they prove nothing.

Of the tests of a pytest file only the judge says so, which runs them on spoilt answers.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping, Sequence

from agent.domain import TestCase
from agent.intake.claims import claimed
from agent.intake.idle import in_vain
from agent.intake.parsing import (
    BUILTIN_NAMES,
    Definition,
    any_node,
    called_name,
    checking_helpers,
    checks,
    is_definition,
    is_import,
    names_in,
    own_walk,
    parsed,
    shortened,
    toplevel,
    visible_names,
)
from agent.intake.truisms import truth
from agent.trees import is_literal

_REACHING_MODULES = frozenset({"importlib", "runpy", "subprocess", "sys", "os"})
_REACHING_BUILTINS = frozenset({"__import__", "exec", "eval", "globals", "locals", "vars"})
_FRAMEWORKS = frozenset({"pytest", "unittest", "hypothesis", "doctest", "numpy", "math"})


def vacuous(
    tests: Sequence[TestCase],
    program: str = "",
    stem: str = "solution",
    lines: Mapping[str, int] | None = None,
) -> dict[str, str]:
    """Test name to a sentence saying why it tests nothing, for those that do not.

    `program` is the text under test, `stem` its module's name. `lines` gives, by test name,
    the line of a snippet's check in the text it was taken from; without, lines count in the
    test's own code.
    """
    own = visible_names(program) | {"output", stem, "solution"}
    known = lines or {}
    reasons = {
        test.name: _snippet_reason(
            parsed(test.code).body, own, stem, program, known.get(test.name)
        )
        for test in tests if not (test.kind == "script" and test.node)
    }
    return {name: reason for name, reason in reasons.items() if reason}


def _snippet_reason(
    body: Sequence[ast.stmt], own: frozenset[str], stem: str, program: str,
    known: int | None,
) -> str:
    helpers = checking_helpers(body) | _foreign_names(body, stem)
    found = _checks_of([node for node in body if not is_definition(node)], helpers)
    if not found:
        uncalled = sorted(checking_helpers(body))
        if uncalled:
            line = next(
                node.lineno for node in toplevel(body)
                if isinstance(node, Definition) and (
                    node.name == uncalled[0] or isinstance(node, ast.ClassDef)
                )
            )
            line = line if known is None else known
            return f"{uncalled[0]} (line {line}) holds the checks, but nothing calls it"
        return "it checks nothing: there is no assert"
    idle = in_vain(body, program)
    real = [
        check for check in found if id(check) not in idle and not _always_true(check, program)
    ]
    if not real:
        return _why_nothing(found, idle, known)
    # What decides whether a check is reached (`if f(1) != 1: raise …`) is part of it.
    whole = [
        node for node in body if any(inner in real for inner in ast.walk(node))
    ]
    reach = _Reach(body, own, stem)
    if not any(reach.touches([node]) for node in whole):
        return f"{_quoted(real[0], known)} never uses the program"
    return ""


def _always_true(node: ast.stmt, program: str) -> bool:
    """`assert True`, `assert (a, "message")` and their like."""
    test = claimed(node)
    return test is not None and truth(test, program) is True


def _why_nothing(
    found: Sequence[ast.stmt], idle: Mapping[int, str], known: int | None = None
) -> str:
    """Why none of these checks can fail."""
    node = found[0]
    return f"{_quoted(node, known)} {idle[id(node)]}" if id(node) in idle else _truism(found, known)


def _truism(
    checks_found: Sequence[ast.stmt], known: int | None = None
) -> str:
    node = checks_found[0]
    test = claimed(node)
    if isinstance(test, ast.Tuple):
        return (
            f"{_quoted(node, known)} is always true, since a tuple is; write the message after "
            "a comma, without brackets"
        )
    if isinstance(test, ast.Compare) and not is_literal(test.left):
        return f"{_quoted(node, known)} compares a thing with itself"
    return f"{_quoted(node, known)} is always true"


def _quoted(node: ast.stmt, known: int | None) -> str:
    return f"`{shortened(ast.unparse(node))}` (line {node.lineno if known is None else known})"


def _checks_of(body: Sequence[ast.stmt], helpers: frozenset[str]) -> list[ast.stmt]:
    """The innermost statements that check, those of compound statements included."""
    found: list[ast.stmt] = []
    for node in toplevel(body):
        if isinstance(node, ast.Assert) or claimed(node) is not None:
            found.append(node)
        elif isinstance(node, (ast.With, ast.AsyncWith)):
            if any(checks(item.context_expr, helpers) for item in node.items):
                found.append(node)
        elif isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return, ast.Raise)):
            if checks(node, helpers) or _calls(node, helpers):
                found.append(node)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _inner_check(node):
            found.append(node)
        elif isinstance(node, (ast.For, ast.While, ast.If)):
            head = node.iter if isinstance(node, ast.For) else node.test
            if checks(head, helpers):
                found.append(node)
    return found


def _inner_check(node: ast.stmt) -> bool:
    """A function inside a test that checks: a callback, or a property under `given`."""
    return is_definition(node) and any_node(node, lambda part: isinstance(part, ast.Assert))


def _calls(node: ast.AST, names: frozenset[str]) -> bool:
    for inner in own_walk(node):
        if isinstance(inner, ast.Call):
            name = called_name(inner)
            if name.partition(".")[0] in names or name.rpartition(".")[2] in names:
                return True
    return False


def _foreign_names(body: Sequence[ast.stmt], stem: str) -> frozenset[str]:
    """Names from modules that are neither the program nor known not to hold it: what they do
    cannot be seen here, so they count as checking and as using the program."""
    known = _FRAMEWORKS | sys.stdlib_module_names | {stem, "solution"}
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.Import):
            found |= {
                alias.asname or alias.name.partition(".")[0]
                for alias in node.names if alias.name.partition(".")[0] not in known
            }
        elif isinstance(node, ast.ImportFrom):
            top = (node.module or "").partition(".")[0]
            if node.level or top not in known:
                found |= {alias.asname or alias.name for alias in node.names}
    return frozenset(found)


class _Reach:
    """Which names of a test's code lead to the program."""

    def __init__(self, body: Sequence[ast.stmt], own: frozenset[str], stem: str) -> None:
        self.statements = [
            (node, names_in(node)) for node in body if not is_import(node)
        ]
        self.known = {id(node): names.reads for node, names in self.statements}
        imported: set[str] = set()
        reaching: set[str] = set(_REACHING_BUILTINS) | _foreign_names(body, stem)
        arguments: set[str] = set()
        for node in ast.walk(ast.Module(body=list(body), type_ignores=[])):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                arguments |= {argument.arg for argument in node.args.args}
            for name, top in _imported(node):
                imported.add(name)
                if top in _REACHING_MODULES or top in (stem, "solution"):
                    reaching.add(name)
        bound = names_in(*body).binds - reaching
        self.program = reaching | (own - imported - bound)
        # Any other name nobody binds may be the program's after a repair of its spelling.
        self.explained = bound | imported | BUILTIN_NAMES | arguments

    def reads(self, node: ast.AST) -> frozenset[str]:
        if id(node) not in self.known:
            self.known[id(node)] = names_in(node).reads
        return self.known[id(node)]

    def touches(self, nodes: Sequence[ast.AST]) -> bool:
        """Whether one of the names that the nodes depend on is the program's, or could be."""
        needed = self.needed(nodes)
        return bool(needed & self.program) or bool(needed - self.explained)

    def needed(self, nodes: Sequence[ast.AST]) -> frozenset[str]:
        """Names that the nodes read, directly or through statements that bind or use those."""
        needed = {name for node in nodes for name in self.reads(node)} | {
            argument.arg
            for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            for argument in node.args.args
        }
        waiting = list(self.statements)
        changed = True
        while changed:
            changed = False
            for pair in list(waiting):
                node, names = pair
                uses = names.binds if is_definition(node) else names.binds | names.reads
                if uses & (needed - BUILTIN_NAMES):
                    waiting.remove(pair)
                    needed |= names.reads
                    changed = True
        return frozenset(needed)


def _imported(node: ast.AST) -> Iterator[tuple[str, str]]:
    """(name bound, top-level module it comes from) of an import."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            top = alias.name.partition(".")[0]
            yield alias.asname or top, top
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name, (node.module or "").partition(".")[0]
