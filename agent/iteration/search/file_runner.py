"""Runs the candidates of a single-file program, and caches results for later searches of a run.

A search reuses the traces of the diagnosis. When a held-out test refutes a repair, the search
starts again with one more test; candidates that passed no test are not run again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from agent.core.domain import Report, Solution, Task, TestCase
from agent.iteration.search.driver import SearchLimits, WallTimeExceeded
from agent.search.precheck.cases import split_into_cases
from agent.search.precheck.precheck import Prechecker, open_prechecker
from agent.search.precheck.tracing import hanging, trace
from agent.search.project.suspects import Suspect
from agent.search.syntax import compiles
from agent.search.values import (
    Budget,
    Facts,
    Mode,
    PrecheckRequest,
    PrecheckResult,
    ProbeResult,
    Trace,
)
from sandbox.sandbox import Sandbox

MAX_CACHED = 100_000
"""Limit of cached candidates, which take some hundred bytes each."""


@dataclass
class SearchCache:
    """How candidates of one program failed. It is not saved, so it is empty in a resumed run."""

    _base: str = ""
    _tests: tuple[TestCase, ...] = ()
    _failed: dict[bytes, tuple[Mode, PrecheckResult]] = field(default_factory=dict)
    _traced: tuple[str, tuple[TestCase, ...], Trace] | None = None

    def begin(self, base: Solution, tests: Sequence[TestCase]) -> None:
        """Clears the cache unless the base is the same and tests were only added."""
        if base.id != self._base or (*tests,)[: len(self._tests)] != self._tests:
            self._failed.clear()
        self._base, self._tests = base.id, (*tests,)

    def save_trace(self, program: Solution, tests: Sequence[TestCase], trace: Trace) -> None:
        self._traced = program.id, tuple(tests), trace

    def trace_of(self, program: Solution, tests: Sequence[TestCase]) -> Trace | None:
        """The saved trace, if it is of this program and exactly these tests."""
        if self._traced is None or self._traced[:2] != (program.id, tuple(tests)):
            return None
        return self._traced[2]

    def lookup(self, text: str, mode: Mode) -> PrecheckResult | None:
        """How a candidate failed before; `None` if it must be run."""
        before, result = self._failed.get(_key(text), ("early", None))
        if result is None or (before == "early" and mode != "early"):
            return None
        fresh = len(self._tests) - len(result.passed)
        return replace(result, passed=(*result.passed, *(None for _ in range(fresh))))

    def add(self, text: str, mode: Mode, result: PrecheckResult) -> None:
        """Caches a candidate that failed and passed no test. Others are not cached: more time may
        change how they end, and a candidate that passes a test may be part of a repair."""
        is_cacheable = result.outcome in ("failed", "syntax", "endless") and not any(result.passed)
        if is_cacheable and len(self._failed) < MAX_CACHED:
            self._failed[_key(text)] = mode, result


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass
class FileRunner:
    """Runs tests and changed texts of a program's entry file in shared processes; see `Runner`."""

    task: Task
    base: Solution
    tests: Sequence[TestCase]
    sandbox: Sandbox
    limits: SearchLimits
    cache: SearchCache
    prechecker: Prechecker
    base_trace: Trace | None
    """The trace of the base, if it compiles."""
    further_candidates: int = Budget.further_candidates
    chunk_size: int = Budget.chunk_size

    def __post_init__(self) -> None:
        self.facts = Facts(tests=tuple(test.code for test in self.tests))
        self.files = {self.base.entry: self.base.text}
        self.suspects = (Suspect(self.base.entry, 1.0, {}),)

    async def trace(self, file: str, text: str) -> Trace:
        if text == self.base.text and self.base_trace is not None:
            return self.base_trace
        return await trace(
            self.base.with_text(text), self.tests, self.task, self.sandbox,
            cpu_time=self.limits.cpu_time
        )

    async def probe(self, file: str, texts: Sequence[str], calls: Sequence[str]) -> ProbeResult:
        return await self.prechecker.probe(texts, calls)

    async def precheck(
        self, file: str, request: PrecheckRequest, is_over: Callable[[], bool]
    ) -> Sequence[PrecheckResult | None]:
        results = [self.cache.lookup(text, request.mode) for text in request.candidates]
        fresh = [index for index, result in enumerate(results) if result is None]
        texts = [request.candidates[index] for index in fresh]
        # Results from before the wall-clock limit are kept.
        with suppress(WallTimeExceeded):
            async with self.limits.wall_limited(), aclosing(
                self.prechecker.precheck(
                    texts, mode=request.mode, limit_factor=request.limit_factor
                )
            ) as replies:
                async for index, result in replies:
                    results[fresh[index]] = result
                    if texts[index] != self.base.text:
                        self.cache.add(texts[index], request.mode, result)
                    if is_over():
                        break
        return results


@asynccontextmanager
async def file_runner(
    task: Task, base: Solution, tests: Sequence[TestCase], report: Report, sandbox: Sandbox,
    limits: SearchLimits, *, cache: SearchCache | None = None, order_dependent: bool = False,
) -> AsyncIterator[FileRunner]:
    """Opens a runner for the candidates of a program's entry file.

    Tests that pass when judged but not in the pre-check, because they start processes or take long,
    are left to the judge.

    Args:
        cache: Results of earlier searches of the run.
        order_dependent: Some tests are known to fail only together with others.

    Raises:
        WallTimeExceeded: The wall-clock limit was reached.
    """
    tests, report = split_into_cases(tests, report)
    cache = cache or SearchCache()
    async with AsyncExitStack() as stack:
        while True:
            cache.begin(base, tests)
            hanging_tests = hanging(tests, report)
            async with limits.wall_limited():
                seen = None if not compiles(base.text) else (
                    cache.trace_of(base, tests) or await trace(
                        base, tests, task, sandbox, hanging=hanging_tests, cpu_time=limits.cpu_time,
                        report=report, order_dependent=order_dependent,
                    )
                )
            prechecker = await stack.enter_async_context(open_prechecker(
                task, base, tests, sandbox, hanging=hanging_tests, cpu_time=limits.cpu_time,
                run_together=seen is not None and seen.order_dependent,
            ))
            async with limits.wall_limited():
                baseline = await prechecker.baseline()
            prechecked = [
                test for index, test in enumerate(tests)
                if baseline.is_precheckable(index) or not _is_passed(test, base, report)
            ]
            if len(prechecked) == len(tests):
                break
            await stack.aclose()
            limits.cpu_time.spent_s = 0.0  # the removed tests' time does not count
            tests = prechecked
        yield FileRunner(task, base, tests, sandbox, limits, cache, prechecker, seen)


def _is_passed(test: TestCase, base: Solution, report: Report) -> bool:
    """Whether `base` passes a test; after a refuted repair, `report` is of another program."""
    verdicts = [one for one in report.verdicts if one.test == test.name]
    return report.solution == base.id and bool(verdicts) and all(one.passed for one in verdicts)
