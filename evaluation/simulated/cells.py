"""The cells that are measured by default, and how their runs are shared among processes."""

from __future__ import annotations

import asyncio
import sys
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from evaluation.simulated.programmer import Rates
from evaluation.simulated.table import figures, table
from evaluation.simulated.tasks import BenchTask, task_of
from evaluation.simulated.trials import PARTS, Cell, Kind, LoopRun, ran
from evaluation.suite import BadSuite, read_suite, spread
from sandbox import open_sandbox

STRONG = Rates("strong", (0.7, 0.2), (0.6, 0.25))
MIDDLING = Rates("middling", (0.4, 0.4), (0.3, 0.45))
WEAK = Rates("weak", (0.1, 0.5), (0.1, 0.5))
MISREADING = Rates("misreading", (0.4, 0.4), (0.3, 0.45), misreads=0.5)
MISLED = Rates("misled", (1.0, 0.0), (0.3, 0.45), one_wrong=True)
DRAFTED: tuple[Kind, ...] = ("words", "tests")
BY_TESTS: tuple[Kind, ...] = ("tests", "brought")
OFF: dict[Kind, tuple[str, ...]] = {
    "words": ("arbitration", "critic", "spec tests", "tournament", "ladder"),
    "tests": ("critic", "spec tests", "search around", "tournament", "ladder"),
    "brought": ("search around",),
}
"""Parts that are switched off in turn, of what has a say in each."""
CELLS: tuple[Cell, ...] = (
    *(Cell(rates, kind) for rates in (STRONG, MIDDLING, WEAK, MISREADING) for kind in DRAFTED),
    *(Cell(rates, "brought") for rates in (MIDDLING, WEAK)),
    Cell(MISLED, "words"), Cell(MISLED, "words", "arbitration"),
    *(Cell(MIDDLING, "words", part) for part in PARTS if part in OFF["words"]),
    *(Cell(WEAK, kind, part) for kind in BY_TESTS for part in PARTS if part in OFF[kind]),
)


@dataclass(frozen=True)
class Workload:
    """What is to be run; `place` is which of the workers one is."""

    cells: tuple[Cell, ...]
    runs: int
    suites: tuple[Path, ...]
    tasks: int
    seed: int
    workers: int
    place: int = 0


def measured(plan: Workload) -> dict[str, list[LoopRun]]:
    """The runs of each cell by its name; each worker has some of the tasks."""
    shares = [replace(plan, place=place) for place in range(plan.workers)]
    if plan.workers == 1:
        parts = [_share(plan)]
    else:
        with ProcessPoolExecutor(plan.workers, mp_context=get_context("spawn")) as pool:
            parts = list(pool.map(_share, shares))
    return {cell.name: [one for part in parts for one in part[cell.name]] for cell in plan.cells}


def _share(plan: Workload) -> dict[str, list[LoopRun]]:
    return asyncio.run(_ran_share(plan))


async def _ran_share(plan: Workload) -> dict[str, list[LoopRun]]:
    """Every run whose task is one of this worker's."""
    sandbox = open_sandbox()
    rows = spread([row for path in plan.suites for row in read_suite(path)], 2 * plan.tasks)
    known: list[BenchTask] = []
    for row in rows[plan.place :: plan.workers]:
        task = await task_of(row, sandbox)
        if task is not None:
            known.append(task)
    if not known:
        raise BadSuite("no row of these suites is a short documented function with examples")
    found = {}
    own = plan.runs // plan.workers + (plan.place < plan.runs % plan.workers)
    for cell in plan.cells:
        found[cell.name] = [
            await ran(cell, known[number % len(known)], f"{plan.seed} {plan.place} {number}")
            for number in range(own)
        ]
        *_, line = table({cell.name: figures(found[cell.name])})
        print(line, file=sys.stderr, flush=True)
    return found
