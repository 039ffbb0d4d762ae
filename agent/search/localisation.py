"""Fault localisation: the suspicion of each line, and the single edits of a text ordered by it."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import TypeVar

from agent.core.common_ends import common_start
from agent.core.domain import SuspiciousLine
from agent.core.trees import nodes_or_empty
from agent.search.edits import Edit, edits_by_cost, unexecuted
from agent.search.edits.forgotten.missing_raise import expected_exceptions
from agent.search.program import Function, Program
from agent.search.program.blocks import deliberate_exits
from agent.search.state import SearchState
from agent.search.values import Crash, Trace

T = TypeVar("T")

WRONG_ANSWERS = frozenset({"AssertionError", ""})
_INTERFACE_ERRORS = frozenset({"NameError", "AttributeError", "ImportError", "TypeError"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.expr)
_LOADED = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass,
)
UNTESTED = {"function": 3.0, "method": 3.0}
"""Added to the costs of these operators in a program without tests."""


def ochiai(trace: Trace) -> dict[int, float]:
    """The suspicion of each line that ran, scaled so that the highest is 1.

    Ochiai, Abreu et al., "On the Accuracy of Spectrum-based Fault Localization", 2007.
    """
    failing = [test for test in trace.tests if not test.passed]
    lines = sorted({line for test in trace.tests for line in test.covered})
    raw: dict[int, float] = {}
    for line in lines:
        failed = sum(line in test.covered for test in failing)
        passed = sum(line in test.covered for test in trace.tests if test.passed)
        raw[line] = failed / math.sqrt(len(failing) * (failed + passed)) if failed else 0.0
    highest = max(raw.values(), default=0.0)
    return {line: value / highest for line, value in raw.items()} if highest else {}


def crash_of(trace: Trace) -> Crash | None:
    """The first exception of a failing test that the program raised and that is no failed assert.

    If there is none, the first one that shows a mismatch between the tests and the program's names.
    """
    failing = [test for test in trace.tests if not test.passed]
    for test in failing:
        own = test.line is not None or test.exception == "TimeoutError"
        if own and test.exception not in WRONG_ANSWERS:
            return Crash(test.exception, test.message, test.line, test.known_names, test.values)
    for test in failing:
        if test.exception in _INTERFACE_ERRORS:
            return Crash(test.exception, test.message, None, test.known_names)
    return None


def suspicious_lines(trace: Trace, text: str, most: int = 5) -> tuple[SuspiciousLine, ...]:
    """The most suspicious lines, with the variables where the first failing test went wrong.

    Asserts outside of definitions are tests and are not suspected.
    """
    own_tests = _own_test_lines(text)
    suspicion = {line: seen for line, seen in ochiai(trace).items() if line not in own_tests}
    lines = text.splitlines()
    failing = [test for test in trace.tests if not test.passed]
    raising = failing[0].line if failing and failing[0].line not in own_tests else None
    declarations, inside = _declarations(text), _function_lines(text)
    ranked = sorted(suspicion, key=lambda line: (
        line != raising, line in declarations, line not in inside, -suspicion[line], line
    ))
    found = []
    for line in ranked[:most]:
        if suspicion[line] <= 0 or not 0 < line <= len(lines):
            continue
        here = line == raising or (raising is None and line == ranked[0])
        values = failing[0].values if failing and here else ()
        found.append(
            SuspiciousLine(line=line, suspicion=round(suspicion[line], 3),
                       text=lines[line - 1].strip(), values=values)
        )
    return tuple(found)


def _own_test_lines(text: str) -> frozenset[int]:
    """The lines of asserts outside of functions and classes."""
    found, pending = set[int](), [*nodes_or_empty(text)[:1]]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Assert):
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif not isinstance(node, _SCOPES):
            pending += ast.iter_child_nodes(node)
    return frozenset(found)


def _declarations(text: str) -> frozenset[int]:
    """First lines of definitions, imports and docstrings: importing the module runs them."""
    return frozenset(
        node.lineno
        for node in nodes_or_empty(text)
        if isinstance(node, _LOADED)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    )


def _function_lines(text: str) -> frozenset[int]:
    """The lines in bodies of functions; those of the module usually run in every test."""
    return frozenset(
        line for node in nodes_or_empty(text)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for line in range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)
    )


@dataclass(frozen=True)
class Localized:
    """A text and what its traced runs recorded."""

    program: Program
    suspicion: Mapping[int, float]
    protected: tuple[tuple[int, int], ...]
    closed: tuple[Function | ast.stmt, ...]
    """Functions that no failing test entered, and statements that none executed."""

    def edits(self, state: SearchState, within: ast.AST | None = None) -> CachedIterable[Edit]:
        """Single edits, cheapest first: outside of the `closed` nodes, or `within` one of them."""
        found = edits_by_cost(
            self.program, self.suspicion, self.protected, within=within,
            closed=frozenset() if within else frozenset(self.closed), over=state.budget.is_over,
        )
        if state.facts.tests:
            return CachedIterable(found)
        untested = (
            replace(edit, cost=edit.cost + UNTESTED.get(edit.operator, 0.0)) for edit in found
        )
        return CachedIterable(sorted(untested, key=lambda edit: edit.cost))


class CachedIterable(Iterable[T]):
    """The items of an iterator, which is advanced only as far as needed, and only once."""

    def __init__(self, source: Iterable[T]) -> None:
        self._source = iter(source)
        self._known: list[T] = []
        self._yielded = 0

    def __iter__(self) -> Iterator[T]:
        place = 0
        while place < len(self._known) or self.prepare(1):
            self._yielded = max(self._yielded, place + 1)
            yield self._known[place]
            place += 1

    def prepare(self, count: int) -> bool:
        """Takes so many further items from the source; returns whether there was any."""
        before = len(self._known)
        self._known.extend(islice(self._source, count))
        return len(self._known) > before

    @property
    def known(self) -> Sequence[T]:
        """The items taken from the source so far."""
        return tuple(self._known)

    @property
    def count(self) -> int:
        """The number of items that an iteration has yielded so far."""
        return self._yielded


def localise_faults(state: SearchState, text: str, trace: Trace) -> Localized:
    """Localises faults in a text; raises what `ast.parse` raises."""
    program = Program(
        text, types=trace.types, crash=crash_of(trace), moments=trace.snapshots,
        words=state.facts.test_strings, peer_fields=state.facts.sibling_fields,
        together=trace.order_dependent,
        expected=expected_exceptions([
            code for code, test in zip(state.facts.tests, trace.tests, strict=False)
            if not test.passed
        ]),
    )
    protected = _shifted(state.facts.protected, state.source, text)
    if not state.facts.tests:
        protected = (*protected, *deliberate_exits(program))
    suspicion = ochiai(trace)
    return Localized(program, suspicion, protected, tuple(unexecuted(program, suspicion)))


def _shifted(
    protected: tuple[tuple[int, int], ...], source: str, text: str
) -> tuple[tuple[int, int], ...]:
    """The protected lines of the source by their numbers after an edit."""
    if not protected:
        return ()
    old, new = source.splitlines(), text.splitlines()
    same = common_start(old, new)
    shift = len(new) - len(old)
    return tuple(
        (first, last) if last <= same else (first + shift, last + shift)
        for first, last in protected
    )
