"""What the loop makes of a simulated programmer with known error rates, part by part.

    python -m evaluation.simulated [--quick] [--runs N] [--workers N] [--cells TEXT …] [--out FILE]

Each cell is a programmer, what is brought, and the part that is switched off; the same seed and
workers give the same answers. What is measured is the loop and not a model: no model is asked.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from agent.doors.exits import HEALED, USAGE
from evaluation.run_benchmark import count
from evaluation.simulated.cells import CELLS, Workload, measured
from evaluation.simulated.table import figures, table
from evaluation.suite import BadSuite
from sandbox import SandboxError

SEEN = Path(__file__).parents[1] / "bench" / "seen.jsonl"
QUICK_RUNS, RUNS, TASKS = 20, 300, 20


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
        found = measured(Workload(
            tuple(cells), runs, tuple(wanted.suite), wanted.tasks, wanted.seed, wanted.workers
        ))
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
