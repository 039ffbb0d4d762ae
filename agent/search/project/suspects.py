"""Fault localisation in a project: which files and functions are suspicious.

The suspicion of a function is Ochiai's, by the failing and passing tests that entered it. Code at
module level runs once, at import, so no test's coverage includes it: a test counts as having
entered the statement that binds a name if it reads that name, itself or in a function it entered.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.core.trees import nodes_or_empty, parse_or_empty
from agent.search.project.suite import Coverage
from agent.search.values import Trace

MODULE_LEVEL_FACTOR = 0.9
"""A factor of the suspicion of module-level code."""

MAX_STRINGS, LONGEST_STRING = 60, 80
MAX_FIELDS = 12
"""Classes with more fields are left out."""


@dataclass(frozen=True)
class CoveredTest:
    """The coverage of one test, and the names that its own code reads."""

    coverage: Coverage
    reads: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Suspect:
    """A file and its suspicion."""

    file: str
    suspicion: float
    functions: Mapping[int, float]
    """The first line of each function, including decorators, to its suspicion."""


def suspects(
    files: Mapping[str, str], editable: Collection[str], failing: Sequence[CoveredTest],
    passing: Sequence[CoveredTest],
) -> list[Suspect]:
    """The `editable` files with a suspicion, the highest first; `files` has the text of each."""
    reads = {
        file: {
            first_line(node): names_read(ast.walk(node)) for node in nodes_or_empty(files[file])
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        }
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
        bound = {name for node in parse_or_empty(files[file]).body for name, _ in _bound(node)}
        module_suspicion = MODULE_LEVEL_FACTOR * max(
            (_ochiai(name, failed, passed) for name in bound), default=0.0
        )
        suspicion = max([module_suspicion, *functions.values()])
        if suspicion:
            found.append(Suspect(file, suspicion, functions))
    return sorted(found, key=lambda one: (-one.suspicion, one.file))


def _ochiai(
    item: object, failing: Sequence[Collection[object]], passing: Sequence[Collection[object]]
) -> float:
    """The suspicion of an item, given the items of each test."""
    failed = sum(item in one for one in failing)
    passed = sum(item in one for one in passing)
    return failed / math.sqrt(len(failing) * (failed + passed)) if failed else 0.0


def _reached(one: CoveredTest, reads: Mapping[str, Mapping[int, frozenset[str]]]) -> frozenset[str]:
    """Names that a test reads, itself or in functions that it enters."""
    return one.reads.union(*(
        reads[file].get(first, frozenset())
        for file, lines in one.coverage.functions.items() for first in lines
    ))


def first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> int:
    """The first line of a function, including its decorators."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def sibling_fields(texts: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The name of each field to all fields of the classes that have it, also inherited ones."""
    own: dict[str, dict[str, None]] = {}
    bases: dict[str, list[str]] = {}
    for text in texts:
        for owner in (node for node in nodes_or_empty(text) if isinstance(node, ast.ClassDef)):
            bases.setdefault(owner.name, []).extend(sorted(names_read(owner.bases)))
            own.setdefault(owner.name, {}).update(dict.fromkeys(
                node.attr for node in ast.walk(owner) if isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store) and isinstance(node.value, ast.Name)
                and node.value.id == "self"
            ))
    found: dict[str, dict[str, None]] = {}
    for name in own:
        pending, fields, visited = [name], dict[str, None](), set[str]()
        while pending:
            owner_name = pending.pop()
            if owner_name not in visited:
                visited.add(owner_name)
                fields |= own.get(owner_name, {})
                pending += bases.get(owner_name, [])
        for one in fields if len(fields) <= MAX_FIELDS else ():
            found.setdefault(one, {}).update(fields)
    return {name: tuple(fields) for name, fields in found.items()}


def named_statements(text: str) -> dict[str, ast.stmt]:
    """Functions, classes and methods by their names in pytest's node ids, as `TestA::test_b`.

    Empty if the text does not parse.
    """
    pending = [("", statement) for statement in parse_or_empty(text).body]
    found: dict[str, ast.stmt] = {}
    while pending:
        prefix, node = pending.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found[f"{prefix}{node.name}"] = node
            if isinstance(node, ast.ClassDef):
                pending += [(f"{prefix}{node.name}::", statement) for statement in node.body]
    return found


def names_read(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """Names and attributes among these nodes."""
    return frozenset(
        node.id if isinstance(node, ast.Name) else node.attr
        for node in nodes if isinstance(node, ast.Name | ast.Attribute)
    )


def strings_in_tests(codes: Sequence[str], cases: Sequence[str]) -> tuple[str, ...]:
    """Short strings in failing tests.

    Of the strings in decorators, as `parametrize`, those that occur in the id of the test's failing
    case, which is in `cases`, or else all.
    """
    found: dict[str, None] = {}
    for code, case in zip(codes, cases, strict=True):
        test = next(iter(parse_or_empty(code).body), None)
        rows = _strings(*getattr(test, "decorator_list", []))
        # pytest escapes strings in ids.
        used = [row for row in rows if row.encode("unicode_escape").decode("ascii") in case]
        found.update(dict.fromkeys((*(used or rows), *_strings(*getattr(test, "body", [])))))
    return tuple(found)[:MAX_STRINGS]


def _strings(*nodes: ast.AST) -> list[str]:
    return [
        one.value for node in nodes for one in ast.walk(node)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
        and 0 < len(one.value) <= LONGEST_STRING
    ]


def _bound(node: ast.stmt) -> Iterator[tuple[str, range]]:
    """Names that a statement of a module binds, except functions, and the lines of the binding.

    The lines of a class are those before its body.
    """
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
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                yield from _bound(child)


def with_module_level(text: str, trace: Trace, reads: Sequence[Collection[str]]) -> Trace:
    """Adds to each test's covered lines the module-level lines that bind the names it reads.

    `reads` has the names that each test's own code reads.
    """
    bound: dict[str, set[int]] = {}
    for statement in parse_or_empty(text).body:
        for name, lines in _bound(statement):
            bound.setdefault(name, set()).update(lines)
    names_at: dict[int, set[str]] = {}
    for one in nodes_or_empty(text):
        if isinstance(one, ast.Name | ast.Attribute):
            names_at.setdefault(one.lineno, set()).update(names_read([one]))

    def extended(covered: frozenset[int], used: Collection[str]) -> frozenset[int]:
        reached: set[int] = set()
        names = {*used, *(name for line in covered for name in names_at.get(line, ()))}
        pending = [*names]
        while pending:
            lines = bound.get(pending.pop(), set()) - reached
            reached |= lines
            more = {name for line in lines for name in names_at.get(line, ())} - names
            names |= more
            pending += more
        return covered | reached

    return replace(trace, tests=tuple(
        replace(one, covered=extended(one.covered, used))
        for one, used in zip(trace.tests, reads, strict=True)
    ))
