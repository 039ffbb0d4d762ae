"""How fast candidates are screened."""

from __future__ import annotations

import asyncio
import statistics
from collections.abc import Iterator

from agent.core.domain import Report, Solution, Task
from agent.healing.searching import search_repair
from agent.judge import check
from evaluation.measures.programs import sample, task_of
from sandbox import open_sandbox

WITH_WHILE = ("merge", "find", "collatz")
"""Programs most of whose edits leave a loop that never ends."""
WITHOUT_WHILE = ("mean", "run", "insert")
"""Programs whose edits all end."""
CANDIDATES = 8_000
SEARCH_S = 8.0


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

    async def refused(solution: Solution) -> Report:
        return Report(solution=solution.id, verdicts=())

    found = await search_repair(
        task, base, task.tests, await check(base, task.tests, task, sandbox, wall_s=1.0), sandbox,
        budget_s=SEARCH_S, max_candidates=CANDIDATES, progress=lambda seen: None, verify=refused,
    )
    return found.candidates, found.work_s
