"""Which files and functions of a project may hold the fault, by what failing and passing tests ran.

Suspicion is Ochiai's, over functions: of the failing tests, how many entered it, against how many
tests entered it in all. Code at the top of a module runs once, when it is imported, and no test is
seen to run it: it is as suspicious as the functions that read the names which it binds.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.core.trees import nodes_of, tree_of
from agent.project.suite import Coverage
from agent.repair.facts import Trace

AT_THE_TOP = 0.9
"""The suspicion of what binds a name, as part of that of the functions that read it."""

MOST_WORDS, LONGEST_WORD = 60, 80


@dataclass(frozen=True)
class Suspect:
    """A file and how likely the fault lies in it."""

    file: str
    suspicion: float
    functions: Mapping[int, float]
    """First line of a function, its decorators included, to its suspicion."""


def suspects(
    files: Mapping[str, str], editable: Collection[str], failing: Collection[Coverage],
    passing: Collection[Coverage], asked: Collection[str] = (),
) -> list[Suspect]:
    """The editable files in which the fault may lie, the likeliest first; `asked` are names that
    the failing tests read themselves."""
    editable = {*editable}
    asked = {*asked}
    functions = {
        file: _functions(file, failing, passing)
        for file in sorted({file for one in failing for file in one.functions})
        if file in editable
    }
    found = {
        file: Suspect(file, max(lines.values(), default=0.0), lines)
        for file, lines in functions.items()
    }
    for file in sorted(editable):
        top = AT_THE_TOP * max(
            (
                suspicion for other, lines in functions.items()
                for first, suspicion in lines.items()
                if _reads(files[other], first) & _binds(files[file])
            ),
            default=0.0,
        )
        if asked & _binds(files[file]):
            top = AT_THE_TOP
        if top:
            own = found.get(file)
            if own is None:
                found[file] = Suspect(file, top, {})
            elif top > own.suspicion:
                found[file] = replace(own, suspicion=top)
    return sorted(found.values(), key=lambda one: (-one.suspicion, one.file))


def _functions(
    file: str, failing: Collection[Coverage], passing: Collection[Coverage]
) -> dict[int, float]:
    found = {}
    for first in {line for one in failing for line in one.functions.get(file, {})}:
        failed = sum(first in one.functions.get(file, {}) for one in failing)
        passed = sum(first in one.functions.get(file, {}) for one in passing)
        found[first] = failed / math.sqrt(len(failing) * (failed + passed))
    return found


def _reads(text: str, first: int) -> frozenset[str]:
    """Names that a function reads, attributes included."""
    for node in nodes_of(text):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            decorators = getattr(node, "decorator_list", [])
            if min([node.lineno, *(one.lineno for one in decorators)]) == first:
                return frozenset(
                    one.id if isinstance(one, ast.Name) else one.attr
                    for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute)
                )
    return frozenset()


def _binds(text: str) -> frozenset[str]:
    """Names that the top of a file, or of a class in it, binds to what is no function or class."""
    try:
        body = tree_of(text).body
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    return frozenset(name for node in body for name, _ in _bound(node))


def names_read(code: str) -> frozenset[str]:
    """Names and attributes in a text; none where it does not parse."""
    try:
        nodes = nodes_of(code)
    except (SyntaxError, ValueError, RecursionError):
        return frozenset()
    return frozenset(
        one.id if isinstance(one, ast.Name) else one.attr
        for one in nodes if isinstance(one, ast.Name | ast.Attribute)
    )


def words_told(codes: Sequence[str], cases: Sequence[str]) -> tuple[str, ...]:
    """Short texts that failing tests write: of a test with many cases those of the failing ones,
    as far as the ids of the cases tell."""
    found: dict[str, None] = {}
    for code, case in zip(codes, cases, strict=True):
        try:
            test = tree_of(code).body[0]
        except (SyntaxError, ValueError, RecursionError, IndexError):
            continue
        given = [
            _texts(one) for one in getattr(test, "decorator_list", [])
        ]
        body = _texts(*getattr(test, "body", []))
        rows = [one for texts in given for one in texts]
        shown = [one for one in rows if _as_in_an_id(one) in case] if case else rows
        found.update(dict.fromkeys((*(shown or rows), *body)))
    return tuple(found)[:MOST_WORDS]


def _texts(*nodes: ast.AST) -> list[str]:
    return [
        one.value for node in nodes for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
        and 0 < len(one.value) <= LONGEST_WORD
    ]


def _as_in_an_id(text: str) -> str:
    """As pytest writes it."""
    return text.encode("unicode_escape").decode("ascii")


def _bound(node: ast.stmt) -> Iterator[tuple[str, range]]:
    """Names that a statement at the top binds, but for functions, with the lines that do so: of a
    class those before its body."""
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for target in targets:
            for one in ast.walk(target):
                if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                    yield one.id, lines
    elif isinstance(node, ast.ClassDef):
        yield node.name, range(node.lineno, max(node.lineno + 1, node.body[0].lineno))
        for inner in node.body:
            yield from _bound(inner)
    elif isinstance(node, ast.If | ast.Try | ast.For | ast.With):
        for below in ast.iter_child_nodes(node):
            if isinstance(below, ast.stmt):
                yield from _bound(below)


def with_top(text: str, trace: Trace, asked: Sequence[Collection[str]]) -> Trace:
    """The trace, with those lines at the top of the module which bind what a test's functions read:
    they ran when the module was imported, which no test was seen to do.

    `asked` are the names that each test reads itself.
    """
    try:
        module = tree_of(text)
    except (SyntaxError, ValueError, RecursionError):
        return trace
    bound: dict[str, set[int]] = {}
    for statement in module.body:
        for name, lines in _bound(statement):
            bound.setdefault(name, set()).update(lines)
    names_at: dict[int, set[str]] = {}
    for one in nodes_of(text):
        if isinstance(one, ast.Name | ast.Attribute):
            names_at.setdefault(one.lineno, set()).add(
                one.id if isinstance(one, ast.Name) else one.attr
            )

    def widened(covered: frozenset[int], own: Collection[str]) -> frozenset[int]:
        reached: set[int] = set()
        names = {*own, *(name for line in covered for name in names_at.get(line, ()))}
        waiting = [*names]
        while waiting:
            fresh = bound.get(waiting.pop(), set()) - reached
            reached |= fresh
            more = {name for line in fresh for name in names_at.get(line, ())} - names
            names |= more
            waiting += more
        return covered | reached

    return replace(trace, tests=tuple(
        replace(one, covered=widened(one.covered, own))
        for one, own in zip(trace.tests, asked, strict=True)
    ))
