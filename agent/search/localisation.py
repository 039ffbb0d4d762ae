"""Where the fault may be: how suspicious each line is, and all single edits of a text by that."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from agent.core.common_ends import common_start
from agent.core.domain import SuspiciousLine
from agent.core.trees import readable_nodes
from agent.search.edits import Edit, drawn_edits, unreached
from agent.search.program import Function, Program
from agent.search.program.blocks import deliberate_ends
from agent.search.state import SearchState
from agent.search.values import Crash, Trace

T = TypeVar("T")

WRONG_ANSWERS = frozenset({"AssertionError", ""})
_AT_THE_DOOR = frozenset({"NameError", "AttributeError", "ImportError", "TypeError"})
_LOADED = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Pass,
)
UNTESTED = {"function": 3.0, "method": 3.0}
"""What these operators cost more where no test could tell their edits from a repair."""


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
            return Crash(
                test.exception, test.message, test.line, test.members, test.values
            )
    # A name or a call of the tests that the program does not answer has no line in it.
    for test in trace.tests:
        if not test.passed and test.exception in _AT_THE_DOOR:
            return Crash(test.exception, test.message, None, test.members)
    return None


def suspicious_lines(trace: Trace, text: str, most: int = 5) -> tuple[SuspiciousLine, ...]:
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
            SuspiciousLine(line=line, suspicion=round(suspicion[line], 3),
                       text=lines[line - 1].strip(), values=values)
        )
    return tuple(found)


def _headers(text: str) -> frozenset[int]:
    """Lines that every test runs when the module is loaded, and that compute nothing: where a
    definition begins, imports and docstrings."""
    nodes = readable_nodes(text)
    return frozenset(
        node.lineno
        for node in nodes
        if isinstance(node, _LOADED)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    )


@dataclass(frozen=True)
class Localized:
    """A text and what its watched runs recorded."""

    program: Program
    suspicion: Mapping[int, float]
    protected: tuple[tuple[int, int], ...]
    closed: tuple[Function, ...]
    """Functions that no failing test entered."""

    def edits(self, state: SearchState, within: ast.AST | None = None) -> Drawn[Edit]:
        """Single edits, cheapest first: those outside of closed functions, or `within` one."""
        found = drawn_edits(
            self.program, self.suspicion, self.protected, within=within,
            closed=frozenset() if within else frozenset(self.closed), over=state.budget.over,
        )
        if state.facts.tests:
            return Drawn(found)
        dearer = (
            replace(edit, cost=edit.cost + UNTESTED.get(edit.operator, 0.0)) for edit in found
        )
        return Drawn(sorted(dearer, key=lambda edit: edit.cost))


class Drawn(Iterable[T]):
    """What an iterator gives, drawn once and as far as somebody has asked."""

    def __init__(self, source: Iterable[T]) -> None:
        self._source = iter(source)
        self._known: list[T] = []

    def __iter__(self) -> Iterator[T]:
        place = 0
        while True:
            if place == len(self._known):
                try:
                    self._known.append(next(self._source))
                except StopIteration:
                    return
            yield self._known[place]
            place += 1

    @property
    def count(self) -> int:
        """How many were drawn until now."""
        return len(self._known)


def localized(state: SearchState, text: str, trace: Trace) -> Localized:
    """Raises `SyntaxError`, `ValueError` or `RecursionError` where the text does not parse."""
    program = Program(
        text, types=trace.types, crash=crash_of(trace), moments=trace.moments,
        words=state.facts.words, beside=state.facts.beside, together=trace.together,
    )
    protected = _shifted(state.facts.protected, state.source, text)
    if not state.facts.tests:
        protected = (*protected, *deliberate_ends(program))
    suspicion = ochiai(trace)
    return Localized(program, suspicion, protected, tuple(unreached(program, suspicion)))


def _shifted(
    protected: tuple[tuple[int, int], ...], source: str, text: str
) -> tuple[tuple[int, int], ...]:
    """Protected lines of the source where they stand after an edit."""
    if not protected:
        return ()
    old, new = source.splitlines(), text.splitlines()
    same = common_start(old, new)
    shift = len(new) - len(old)
    return tuple(
        (first, last) if last <= same else (first + shift, last + shift)
        for first, last in protected
    )
