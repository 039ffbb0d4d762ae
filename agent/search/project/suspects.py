"""Which files and functions of a project may hold the fault, by what failing and passing tests ran.

Suspicion is Ochiai's, over functions: of the failing tests, how many entered it, against how many
tests entered it in all. Code at the top of a module runs once, when it is imported, and no test is
seen to run it: a test counts as having entered it that reads a name which it binds, itself or in a
function that it enters.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.core.trees import readable, readable_nodes
from agent.search.project.suite import Coverage
from agent.search.values import Trace

AT_THE_TOP = 0.9
"""The suspicion of what binds a name, as part of what its readers tell of it."""

MAX_WORDS, LONGEST_WORD = 60, 80
MAX_FIELDS = 12
"""A class with more needs fewer than all of their names."""


@dataclass(frozen=True)
class SeenTest:
    """What one test ran, and the names that it reads itself."""

    coverage: Coverage
    asked: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Suspect:
    """A file and how likely the fault lies in it."""

    file: str
    suspicion: float
    functions: Mapping[int, float]
    """First line of a function, its decorators included, to its suspicion."""


def suspects(
    files: Mapping[str, str], editable: Collection[str], failing: Sequence[SeenTest],
    passing: Sequence[SeenTest],
) -> list[Suspect]:
    """The editable files in which the fault may lie, the likeliest first."""
    reads = {
        file: _reads(files[file])
        for file in {file for one in (*failing, *passing) for file in one.coverage.functions}
    }
    failed, passed = ([_reached(one, reads) for one in some] for some in (failing, passing))
    found = []
    for file in sorted(editable):
        functions = {
            first: _ochiai(first, [one.coverage.functions.get(file, {}) for one in failing],
                           [one.coverage.functions.get(file, {}) for one in passing])
            for first in {line for one in failing for line in one.coverage.functions.get(file, {})}
        }
        at_the_top = AT_THE_TOP * max(
            (_ochiai(name, failed, passed) for name in _binds(files[file])), default=0.0
        )
        suspicion = max([at_the_top, *functions.values()])
        if suspicion:
            found.append(Suspect(file, suspicion, functions))
    return sorted(found, key=lambda one: (-one.suspicion, one.file))


def _ochiai(
    wanted: object, failing: Sequence[Collection[object]], passing: Sequence[Collection[object]]
) -> float:
    """The suspicion of what some tests ran or read."""
    failed = sum(wanted in one for one in failing)
    passed = sum(wanted in one for one in passing)
    return failed / math.sqrt(len(failing) * (failed + passed)) if failed else 0.0


def _reached(one: SeenTest, reads: Mapping[str, Mapping[int, frozenset[str]]]) -> frozenset[str]:
    """Names that a test reads, itself or in functions that it enters."""
    return one.asked.union(*(
        reads[file].get(first, frozenset())
        for file, lines in one.coverage.functions.items() for first in lines
    ))


def _reads(text: str) -> dict[int, frozenset[str]]:
    """Names that each function reads, attributes included, by its first line."""
    nodes = readable_nodes(text)
    return {
        min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))]):
            names_read(ast.walk(node))
        for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    }


def _binds(text: str) -> frozenset[str]:
    """Names that the top of a file, or of a class in it, binds to what is no function or class."""
    return frozenset(name for node in readable(text).body for name, _ in _bound(node))


def fields_beside(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """For the name of each field those that classes, and the classes above them, set beside it."""
    own: dict[str, dict[str, None]] = {}
    above: dict[str, list[str]] = {}
    for text in texts:
        for owner in (one for one in readable_nodes(text) if isinstance(one, ast.ClassDef)):
            above.setdefault(owner.name, []).extend(sorted(names_read(owner.bases)))
            own.setdefault(owner.name, {}).update(dict.fromkeys(
                one.attr for one in ast.walk(owner) if isinstance(one, ast.Attribute)
                and isinstance(one.ctx, ast.Store) and isinstance(one.value, ast.Name)
                and one.value.id == "self"
            ))
    found: dict[str, dict[str, None]] = {}
    for name in own:
        waiting, fields, seen = [name], dict[str, None](), set[str]()
        while waiting:
            at = waiting.pop()
            if at not in seen:
                seen.add(at)
                fields |= own.get(at, {})
                waiting += above.get(at, [])
        for one in fields if len(fields) <= MAX_FIELDS else ():
            found.setdefault(one, {}).update(fields)
    return {name: tuple(fields) for name, fields in found.items()}


def named_statements(text: str) -> dict[str, ast.stmt]:
    """Functions and classes at the top and in classes, named as pytest names tests; none where the
    text does not parse."""
    waiting = [("", one) for one in readable(text).body]
    found: dict[str, ast.stmt] = {}
    while waiting:
        above, node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[f"{above}{node.name}"] = node
            if isinstance(node, ast.ClassDef):
                waiting += [(f"{above}{node.name}::", one) for one in node.body]
    return found


def names_read(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names and attributes among these nodes."""
    return frozenset(
        one.id if isinstance(one, ast.Name) else one.attr
        for one in nodes if isinstance(one, ast.Name | ast.Attribute)
    )


def words_told(codes: Sequence[str], cases: Sequence[str]) -> tuple[str, ...]:
    """Short texts that failing tests write: of a test with many cases those of the failing ones,
    as far as the ids of the cases tell."""
    found: dict[str, None] = {}
    for code, case in zip(codes, cases, strict=True):
        test = next(iter(readable(code).body), None)
        given = [_texts(one) for one in getattr(test, "decorator_list", [])]
        body = _texts(*getattr(test, "body", []))
        rows = [one for texts in given for one in texts]
        shown = [one for one in rows if _as_in_an_id(one) in case] if case else rows
        found.update(dict.fromkeys((*(shown or rows), *body)))
    return tuple(found)[:MAX_WORDS]


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
    bound: dict[str, set[int]] = {}
    for statement in readable(text).body:
        for name, lines in _bound(statement):
            bound.setdefault(name, set()).update(lines)
    names_at: dict[int, set[str]] = {}
    for one in readable_nodes(text):
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
