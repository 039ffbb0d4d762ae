"""What a search of one file runs its candidates with, and what a run has seen of them.

The diagnosis watches each test once; a search of the same program under the same tests begins with
what it saw. A repair that a held-out test refutes sends the search back to its start with one test
more. It asks the same questions again; whatever passed no test that the base fails is no nearer to
a repair with one test more, and need not be run.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from agent.core.domain import Report, Solution, Task, TestCase
from agent.iteration.search.driver import SearchLimits, TimeIsOver
from agent.search.precheck.cases import by_case
from agent.search.precheck.precheck import Screener, screening
from agent.search.precheck.tracing import hanging, trace
from agent.search.project.suspects import Suspect
from agent.search.syntax import compiles
from agent.search.values import Budget, Facts, Mode, Probed, Screen, Screened, Trace
from sandbox.sandbox import Sandbox

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


@dataclass
class FileRunner:
    """Tests and texts of a program's entry file in processes that both share; see `Runner`."""

    task: Task
    base: Solution
    tests: Sequence[TestCase]
    sandbox: Sandbox
    limits: SearchLimits
    known: SearchCache
    screener: Screener
    seen: Trace | None
    """What each test of the base does, where that compiles."""
    beyond: int = Budget.beyond
    chunk: int = Budget.chunk

    def __post_init__(self) -> None:
        self.facts = Facts(tests=tuple(test.code for test in self.tests))
        self.files = {self.base.entry: self.base.text}
        self.suspects = (Suspect(self.base.entry, 1.0, {}),)

    async def trace(self, file: str, text: str) -> Trace:
        if text == self.base.text and self.seen is not None:
            return self.seen
        return await trace(
            self.base.with_text(text), self.tests, self.task, self.sandbox, work=self.limits.work
        )

    async def probe(self, file: str, texts: Sequence[str], calls: Sequence[str]) -> Probed:
        return await self.screener.probe(texts, calls)

    async def screen(
        self, file: str, question: Screen, over: Callable[[], bool]
    ) -> Sequence[Screened | None]:
        results = [self.known.known(text, question.mode) for text in question.candidates]
        fresh = [place for place, result in enumerate(results) if result is None]
        texts = [question.candidates[place] for place in fresh]
        # What was screened until the time was over still counts.
        with suppress(TimeIsOver):
            async with self.limits.bounding(), aclosing(
                self.screener.screen(texts, mode=question.mode, patience=question.patience)
            ) as replies:
                async for index, screened in replies:
                    results[fresh[index]] = screened
                    if texts[index] != self.base.text:
                        self.known.note(texts[index], question.mode, screened)
                    if over():
                        break
        return results


@asynccontextmanager
async def file_runner(
    task: Task, base: Solution, tests: Sequence[TestCase], report: Report, sandbox: Sandbox,
    limits: SearchLimits, *, known: SearchCache | None = None, together: bool = False,
) -> AsyncIterator[FileRunner]:
    """Runs candidates of a program's entry file. One that does not compile is screened against the
    same tests as any other. `known` is what an earlier search of the run has seen; some tests
    may be known to fail `together` with others alone.

    Tests that the judge saw pass and that cannot pass where candidates are screened, for they start
    processes or take long, are left to the judge. Raises a `TimeIsOver` where that is so.
    """
    tests, report = by_case(tests, report)
    known = known or SearchCache()
    async with AsyncExitStack() as stack:
        while True:
            known.begin(base, tests)
            late = hanging(tests, report)
            async with limits.bounding():
                seen = None if not compiles(base.text) else (
                    known.trace_of(base, tests) or await trace(
                        base, tests, task, sandbox, hanging=late, work=limits.work, report=report,
                        together=together,
                    )
                )
            screener = await stack.enter_async_context(screening(
                task, base, tests, sandbox, hanging=late, work=limits.work,
                together=seen is not None and seen.together,
            ))
            async with limits.bounding():
                baseline = await screener.baseline()
            fit = [
                test for place, test in enumerate(tests)
                if baseline.is_screenable(place) or not _is_passed(test, base, report)
            ]
            if len(fit) == len(tests):
                break
            await stack.aclose()
            limits.work.spent_s = 0.0  # what the others took is not the search's
            tests = fit
        yield FileRunner(task, base, tests, sandbox, limits, known, screener, seen)


def _is_passed(test: TestCase, base: Solution, report: Report) -> bool:
    """Whether the judge saw the program that is repaired pass a test; after a repair that did
    not stand, the report is that one's."""
    verdicts = [one for one in report.verdicts if one.test == test.name]
    return report.solution == base.id and bool(verdicts) and all(one.passed for one in verdicts)
