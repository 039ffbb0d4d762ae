"""Whole runs: several at once, one that needs a long search, and one met before."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from agent.events import RunFinished, Searched
from agent.session import Session
from evaluation.measures.figure import figure
from evaluation.measures.samples import (
    HEALTHY,
    HEALTHY_TESTS,
    ONE_BUG,
    ONE_BUG_TESTS,
    TWO_BUGS,
    TWO_BUGS_TESTS,
)
from evaluation.measures.sessions import finished, in_session, task_of


def parallel() -> Iterator[str]:
    """Eight runs at once: how many were between their first and last event at one time."""

    async def measure(session: Session) -> tuple[float, float, int]:
        task = task_of(HEALTHY, HEALTHY_TESTS)
        started = time.perf_counter()
        await finished(session, task)
        alone = time.perf_counter() - started
        started = time.perf_counter()
        runs = await asyncio.gather(*(finished(session, task) for _ in range(8)))
        together = time.perf_counter() - started
        spans = [(session.log(run)[0].at, session.log(run)[-1].at) for run in runs]
        return alone, together, max(sum(a <= at <= b for a, b in spans) for at, _ in spans)

    alone, together, most = asyncio.run(in_session(measure))
    yield (
        f"8 runs at once: {most} overlapped, {together:.2f} s in all, "
        f"{together / alone:.1f} x one run alone ({alone:.2f} s)"
    )


def search() -> Iterator[str]:
    """A heal which needs two edits: candidates screened, and how fast."""

    async def measure(session: Session) -> tuple[RunFinished, float]:
        run = await finished(session, task_of(TWO_BUGS, TWO_BUGS_TESTS))
        log = session.log(run)
        last = log[-1].event
        assert isinstance(last, RunFinished)
        spent = [entry.event.wall_s for entry in log if isinstance(entry.event, Searched)]
        return last, max(spent, default=last.seconds)

    last, seconds = asyncio.run(in_session(measure))
    yield (
        f"two-bug heal: {last.outcome} {last.proof or ''}, {last.candidates} candidates in "
        f"{seconds:.2f} s of search, {last.candidates / seconds:.0f} a second, "
        f"{last.seconds:.2f} s in all"
    )


def memory() -> Iterator[str]:
    """The same failure again, and the like of it in other programs, beside the first heal."""
    async def measure(session: Session) -> tuple[float, list[float], list[float]]:
        async def timed(code: str, tests: str, strategy: str) -> float:
            run = await finished(session, task_of(code, tests))
            last = session.log(run)[-1].event
            assert isinstance(last, RunFinished)
            assert (last.outcome, last.strategy) == ("healed", strategy), last.reason
            return last.seconds

        first = await timed(ONE_BUG, ONE_BUG_TESTS, "search")
        again = [await timed(ONE_BUG, ONE_BUG_TESTS, "memory") for _ in range(20)]
        names = [f"mean_{number}" for number in range(20)]
        alike = [
            await timed(
                ONE_BUG.replace("mean_of_positive", name).replace("total", "amount"),
                ONE_BUG_TESTS.replace("mean_of_positive", name), "memory",
            )
            for name in names
        ]
        return first, again, alike

    first, again, alike = asyncio.run(in_session(measure))
    yield figure("the same failure, to its proof", again, "the first heal", [first], unit="ms")
    yield figure("another program's, to its proof", alike, "the first heal", [first], unit="ms")
