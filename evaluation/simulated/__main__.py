"""What the loop makes of a simulated programmer with known error rates, part by part.

    python -m evaluation.simulated [--quick] [--runs N] [--workers N] [--cells TEXT …] [--out FILE]

Each cell is a programmer, what is brought, and the part that is switched off; the same seed gives
the same figures. Calls of models cost nothing here, so what it measures is the loop and not a model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path

from agent.doors.exits import HEALED, USAGE
from evaluation.run_benchmark import count
from evaluation.simulated.programmer import Rates
from evaluation.simulated.table import figures, table
from evaluation.simulated.tasks import BenchTask, task_of
from evaluation.simulated.trials import PARTS, Cell, Kind, Ran, ran
from evaluation.suite import BadSuite, read_suite, spread
from sandbox import SandboxError, open_sandbox

SEEN = Path(__file__).parents[1] / "bench" / "seen.jsonl"
QUICK_RUNS, RUNS, TASKS = 20, 300, 20

STRONG = Rates("strong", (0.7, 0.2), (0.6, 0.25))
MIDDLING = Rates("middling", (0.4, 0.4), (0.3, 0.45))
WEAK = Rates("weak", (0.1, 0.5), (0.1, 0.5))
MISREADING = Rates("misreading", (0.4, 0.4), (0.3, 0.45), misreads=0.5)
MISLED = Rates("misled", (1.0, 0.0), (0.3, 0.45), one_wrong=True)
KINDS: tuple[Kind, ...] = ("words", "tests", "brought")
OFF: dict[Kind, tuple[str, ...]] = {
    "words": ("arbitration", "critic", "spec tests", "tournament", "ladder"),
    "tests": ("critic", "spec tests", "search around", "tournament", "ladder"),
    "brought": ("critic", "search around", "tournament", "ladder"),
}
"""Parts that have a say in each."""
CELLS: tuple[Cell, ...] = (
    *(Cell(rates, kind) for rates in (STRONG, MIDDLING, WEAK, MISREADING) for kind in KINDS),
    Cell(MISLED, "words"), Cell(MISLED, "words", "arbitration"), Cell(MISLED, "tests"),
    *(Cell(MIDDLING, kind, part) for kind in KINDS for part in PARTS if part in OFF[kind]),
    Cell(WEAK, "tests", "search around"), Cell(WEAK, "brought", "search around"),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    wanted = _parser().parse_args(arguments)
    cells = [
        cell for cell in CELLS
        if not wanted.cells or any(text in cell.name for text in wanted.cells)
    ]
    if not cells:
        print(f"no cell is called so; there are {'; '.join(one.name for one in CELLS)}",
              file=sys.stderr)
        return USAGE
    runs = wanted.runs or (QUICK_RUNS if wanted.quick else RUNS)
    try:
        found = measured(cells, runs, wanted.suite, wanted.tasks, wanted.workers, wanted.seed)
    except (BadSuite, SandboxError) as error:
        print(error, file=sys.stderr)
        return USAGE
    told = {name: figures(of_cell) for name, of_cell in found.items()}
    print(f"{runs} runs a cell, seed {wanted.seed}; shares in percent, 95 % intervals")
    for line in table(told):
        print(line)
    if wanted.out is not None:
        wanted.out.write_text(
            json.dumps({name: asdict(one) for name, one in told.items()}, indent=1), "utf-8"
        )
    return HEALED


def measured(
    cells: Sequence[Cell], runs: int, suites: Sequence[Path], tasks: int, workers: int, seed: int
) -> dict[str, list[Ran]]:
    """The runs of each cell by its name; each worker has some of the tasks."""
    given = [(cells, runs, suites, tasks, seed, place, workers) for place in range(workers)]
    if workers == 1:
        parts = [_share(*given[0])]
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
            parts = list(pool.map(_share, *zip(*given, strict=True)))
    return {
        cell.name: [one for part in parts for one in part[cell.name]] for cell in cells
    }


def _share(
    cells: Sequence[Cell], runs: int, suites: Sequence[Path], tasks: int, seed: int, place: int,
    workers: int,
) -> dict[str, list[Ran]]:
    return asyncio.run(_ran_share(cells, runs, suites, tasks, seed, place, workers))


async def _ran_share(
    cells: Sequence[Cell], runs: int, suites: Sequence[Path], tasks: int, seed: int, place: int,
    workers: int,
) -> dict[str, list[Ran]]:
    """Every run whose task is one of this worker's."""
    sandbox = open_sandbox()
    rows = spread([row for path in suites for row in read_suite(path)], 2 * tasks)
    known: list[BenchTask] = []
    for row in rows[place::workers]:
        task = await task_of(row, sandbox)
        if task is not None:
            known.append(task)
    if not known:
        raise BadSuite("no row of these suites is a short documented function with examples")
    found = {}
    own = runs // workers + (place < runs % workers)
    for cell in cells:
        found[cell.name] = [
            await ran(cell, known[number % len(known)], f"{seed} {place} {number}")
            for number in range(own)
        ]
        print(f"{cell.name}: {own} runs", file=sys.stderr, flush=True)
    return found


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}",
        description="Heal with a simulated programmer of known error rates, part by part.",
    )
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RUNS} runs a cell")
    parser.add_argument("--runs", type=count, metavar="N", help="runs a cell")
    parser.add_argument("--workers", type=count, default=1, metavar="N", help="processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--cells", nargs="+", default=[], metavar="TEXT", help="cells whose name has such a text"
    )
    parser.add_argument("--tasks", type=count, default=TASKS, metavar="N", help="about so many")
    parser.add_argument("--suite", type=Path, nargs="+", default=[SEEN], metavar="FILE")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the figures as JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
