"""What a run has seen of its program and of candidates, so that nothing is run twice.

The diagnosis watches each test once; a search of the same program under the same tests begins with
what it saw.

A repair that a held-out test refutes sends the search back to its start with one test more. It
asks the same questions again; whatever passed no test that the base fails is no nearer to a repair
with one test more, and need not be run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from agent.core.domain import Solution, TestCase
from agent.repair.facts import Mode, Screened, Trace

MOST = 100_000
"""Candidates that are remembered, some hundred bytes each."""


@dataclass
class SearchCache:
    """How candidates of one program failed; empty at the start of a run, and no more than time
    is lost where a run is taken up without it."""

    _base: str = ""
    _tests: tuple[TestCase, ...] = ()
    _failed: dict[bytes, tuple[Mode, Screened]] = field(default_factory=dict)
    _watched: tuple[str, tuple[TestCase, ...], Trace] | None = None

    def begin(self, base: Solution, tests: Sequence[TestCase]) -> None:
        """Keeps what is known where the tests are those of before and more, else forgets it."""
        if base.id != self._base or (*tests,)[: len(self._tests)] != self._tests:
            self._failed.clear()
        self._base, self._tests = base.id, (*tests,)

    def watched(self, program: Solution, tests: Sequence[TestCase], seen: Trace) -> None:
        """Keeps what one run of each test showed."""
        self._watched = program.id, tuple(tests), seen

    def trace_of(self, program: Solution, tests: Sequence[TestCase]) -> Trace | None:
        """What was seen of just these tests of just this program, if it was the last watched."""
        if self._watched is None or self._watched[:2] != (program.id, tuple(tests)):
            return None
        return self._watched[2]

    def known(self, text: str, mode: Mode) -> Screened | None:
        """How a candidate failed before; `None` where it must be run."""
        before, screened = self._failed.get(_key(text), ("early", None))
        if screened is None or (before == "early" and mode != "early"):
            return None
        fresh = len(self._tests) - len(screened.passed)
        return replace(screened, passed=(*screened.passed, *(None for _ in range(fresh))))

    def note(self, text: str, mode: Mode, screened: Screened) -> None:
        """Remembers a candidate that failed of itself and passed nothing: more steps may change
        the other ends, and what passed some test may be part of a repair."""
        hopeless = screened.ended in ("failed", "syntax", "endless") and not any(screened.passed)
        if hopeless and len(self._failed) < MOST:
            self._failed[_key(text)] = mode, screened


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
