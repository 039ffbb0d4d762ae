"""Where the fault may be: how suspicious each line is, from what the tests ran, and which values
reach nothing.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from agent.domain import BlamedLine
from agent.repair.facts import Crash, Trace
from agent.repair.program import Program
from agent.trees import nodes_of

WRONG_ANSWERS = frozenset({"AssertionError", ""})
_AT_THE_DOOR = frozenset({"NameError", "AttributeError", "ImportError", "TypeError"})
_LOADED = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass,
)
Assigned = ast.Assign | ast.AnnAssign | ast.AugAssign
LARGE = 4_000
"""Nodes of a long text."""
_ACTS = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)
"""What may do more than give a value."""
_SEES_ALL = frozenset({"locals", "vars", "globals", "eval", "exec", "dir"})


def ochiai(trace: Trace) -> dict[int, float]:
    """Suspicion of each line that ran, 0 to 1, the most suspicious being 1.

    Ochiai, Abreu et al., "On the Accuracy of Spectrum-based Fault Localization", 2007.
    """
    failing = [test for test in trace.tests if not test.passed]
    lines = sorted({line for test in trace.tests for line in test.covered})
    raw: dict[int, float] = {}
    for line in lines:
        failed = sum(line in test.covered for test in failing)
        passed = sum(line in test.covered for test in trace.tests if test.passed)
        raw[line] = failed / math.sqrt(len(failing) * (failed + passed)) if failed else 0.0
    most = max(raw.values(), default=0.0)
    return {line: value / most for line, value in raw.items()} if most else {}


def crash_of(trace: Trace) -> Crash | None:
    """The first failing test's exception, if it was the program's own and no wrong answer."""
    for test in trace.tests:
        own = test.line is not None or test.exception == "TimeoutError"
        if not test.passed and own and test.exception not in WRONG_ANSWERS:
            return Crash(test.exception, test.message, test.line, test.members)
    # A name or a call of the tests that the program does not answer has no line in it.
    for test in trace.tests:
        if not test.passed and test.exception in _AT_THE_DOOR:
            return Crash(test.exception, test.message, None, test.members)
    return None


def blamed(trace: Trace, text: str, most: int = 5) -> tuple[BlamedLine, ...]:
    """The most suspicious lines, with the values seen where the first failing test went wrong."""
    suspicion = ochiai(trace)
    lines = text.splitlines()
    failing = [test for test in trace.tests if not test.passed]
    raising = failing[0].line if failing else None
    headers = _headers(text)
    ranked = sorted(
        suspicion,
        key=lambda line: (line != raising, line in headers, -suspicion[line], line),
    )
    found = []
    for line in ranked[:most]:
        if suspicion[line] <= 0 or not 0 < line <= len(lines):
            continue
        here = line == raising or (raising is None and line == ranked[0])
        values = failing[0].values if failing and here else ()
        found.append(
            BlamedLine(line=line, suspicion=round(suspicion[line], 3),
                       text=lines[line - 1].strip(), values=values)
        )
    return tuple(found)


def _headers(text: str) -> frozenset[int]:
    """Lines that every test runs when the module is loaded, and that compute nothing: where a
    definition begins, imports and docstrings."""
    try:
        nodes = nodes_of(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    return frozenset(
        node.lineno
        for node in nodes
        if isinstance(node, _LOADED)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    )


def idle_nodes(program: Program, outside: frozenset[str] = frozenset()) -> frozenset[ast.AST]:
    """All nodes of values given to plain names that no result, condition or call depends on.

    On one long line all statements are alike suspicious, since blame goes by lines; what nothing
    reads can be set apart all the same. In a program of usual length it is rather a sign that
    another value was meant: that is left alone. A name counts as read wherever it is read;
    `outside` are those that the tests mention.
    """
    if len(program.nodes) <= LARGE:
        return frozenset()
    quiet: list[tuple[Assigned, frozenset[str]]] = []
    needed = {*outside}
    pending: list[ast.AST] = [program.tree]
    while pending:
        node = pending.pop()
        is_field = isinstance(program.parents.get(node), ast.ClassDef)
        if isinstance(node, Assigned) and not is_field and (stored := _stored(node)):
            quiet.append((node, stored))
            continue
        match node:
            case ast.Name(id=name, ctx=ast.Load() | ast.Del()):
                if name in _SEES_ALL:
                    return frozenset()
                needed.add(name)
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                needed.update(names)
            case ast.Attribute(attr=name):
                needed.add(name)  # of this module, by its name
            case ast.Constant(value=str(name)):
                needed.add(name)  # of `__all__`, or of a call by name
        pending += ast.iter_child_nodes(node)
    return frozenset(
        inner for node in _left(quiet, needed) if node.value for inner in ast.walk(node.value)
    )


def _stored(node: Assigned) -> frozenset[str]:
    """The names an assignment gives values to, if that is all it does."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if not all(isinstance(target, ast.Name) for target in targets):
        return frozenset()
    if any(isinstance(inner, _ACTS) for inner in ast.walk(node)):
        return frozenset()
    return frozenset(target.id for target in targets if isinstance(target, ast.Name))


def _left(
    quiet: list[tuple[Assigned, frozenset[str]]], needed: set[str]
) -> Iterator[Assigned]:
    """The assignments that nothing needed reads, once those which are read have named theirs."""
    storing: dict[str, list[Assigned]] = {}
    for node, names in quiet:
        for name in names:
            storing.setdefault(name, []).append(node)
    used: set[Assigned] = set()
    asked = [*needed]
    while asked:
        for node in storing.get(asked.pop(), ()):
            if node not in used:
                used.add(node)
                asked += [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
    return (node for node, _ in quiet if node not in used)
