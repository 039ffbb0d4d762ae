"""How fast candidates are screened."""

from __future__ import annotations

import asyncio
import statistics
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress

from agent.core.domain import Task
from agent.healing.searching import search_repair
from agent.judge import check
from agent.repair.edits import single_edits
from agent.repair.program import Program, spliced
from agent.repair.screening.screening import screening
from evaluation.measures.programs import refused, sample, task_of
from sandbox import open_sandbox

WITH_WHILE = ("merge", "find", "collatz")
"""Programs most of whose edits leave a loop that never ends."""
WITHOUT_WHILE = ("mean", "run", "insert")
"""Programs whose edits all end."""
CANDIDATES = 8_000
SEARCH_S = 8.0


def screening_rate() -> Iterator[str]:
    """Candidates judged a second by the search, beside compiling them alone."""
    task = task_of(*sample("mean"))
    assert task.solution is not None
    program = Program(task.solution.text)
    texts = [
        spliced(program.data, [edit.splice]) for edit in single_edits(program, {})
    ]
    texts = (texts * (1 + CANDIDATES // len(texts)))[:CANDIDATES]
    started = time.perf_counter()
    for text in texts:
        with suppress(SyntaxError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "candidate", "exec")
    floor = len(texts) / (time.perf_counter() - started)
    yield f"compiling alone: {floor:,.0f} candidates/s"
    for processes in (1, 2):
        rates = [asyncio.run(_screened(task, texts, processes)) for _ in range(3)]
        rate = statistics.median(rates)
        yield (
            f"judged on {processes} {'core' if processes == 1 else 'cores'}: {rate:,.0f} "
            f"candidates/s, {rate / floor:.2f} x compiling alone"
        )


def endless_rate() -> Iterator[str]:
    """Candidates that a whole search tries in a processor second, where most of them never end."""
    rates: dict[str, list[float]] = {}
    for kind, names in (("with", WITH_WHILE), ("without", WITHOUT_WHILE)):
        for name in names:
            tried, work_s = asyncio.run(_searched(task_of(*sample(name))))
            rates.setdefault(kind, []).append(tried / work_s)
            yield f"{name}, {kind} while: {tried / work_s:,.0f} candidates a processor second"
    slow, usual = min(rates["with"]), statistics.median(rates["without"])
    yield f"the slowest with while is {slow / usual:.2f} x the median without"


async def _searched(task: Task) -> tuple[int, float]:
    """Candidates tried and processor seconds of a search in which the judge accepts nothing."""
    assert task.solution is not None
    base, sandbox = task.solution, open_sandbox()

    found = await search_repair(
        task, base, task.tests, await check(base, task.tests, task, sandbox, wall_s=1.0), sandbox,
        budget_s=SEARCH_S, max_candidates=CANDIDATES, progress=lambda seen: None, verify=refused,
    )
    return found.candidates, found.work_s


async def _screened(task: Task, texts: Sequence[str], processes: int) -> float:
    """Candidates screened a second, once the process is warm."""
    assert task.solution is not None
    async with screening(
        task, task.solution, task.tests, open_sandbox(), processes=processes
    ) as screener:
        async for _ in screener.screen(texts[:200], mode="fit"):
            pass
        started = time.perf_counter()
        async for _ in screener.screen(texts, mode="fit"):
            pass
        return len(texts) / (time.perf_counter() - started)
