"""How many of our own broken programs are healed, and whether a busy machine heals the same."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from evaluation.figures import figures
from evaluation.healing import Line
from evaluation.measures.programs import BENCH
from evaluation.results import Results
from evaluation.run_benchmark import run, settings_for
from evaluation.suite import BadRow, Row, read_suite, spread

SUITES = ("seen", "unseen", "blind")
HEALING_ROWS = 12
LOAD_ROWS = 20
"""Rows of each suite."""
BUSY = 10
SEARCH_S = 10.0
LOOP = "import os\nhost = os.getppid()\nwhile os.getppid() == host:\n    sum(range(1_000_000))\n"
"""A program that uses a processor for as long as whoever started it is there."""


def healing() -> Iterator[str]:
    """A few programs of each of our suites; `evaluation.run_benchmark` heals them all."""
    for name in SUITES:
        rows = read_suite(BENCH / f"{name}.jsonl")
        few = spread(rows, HEALING_ROWS)
        with _healed(few) as results:
            found = figures([*results.lines.values()], results.first_patch)
        yield (
            f"{name}: of {len(few)} of {len(rows)} programs {found['plausible']} pass their "
            f"tests again, {found['correct']} are right on what was held out, {found['any']} among "
            f"those shown; {SEARCH_S:g} s each at most, median {found['seconds_median']:.2f} s, "
            f"{found['first_patch_s_median'] or 0:.2f} s to the first patch, "
            f"{found['first_patch_search_s_median'] or 0:.2f} s of them the search's"
        )


def load() -> Iterator[str]:
    """Rows healed on the machine as it is, then beside busy processes: how many come out
    otherwise. It takes minutes, and longer on a busy machine."""
    suites = [read_suite(BENCH / f"{name}.jsonl") for name in SUITES]
    rows = [row for suite in suites for row in spread(suite, LOAD_ROWS)]
    with _healed(rows) as results:
        alone = results.lines
    with busy(BUSY), _healed(rows) as results:
        beside = results.lines
    pairs = [(alone[row.id], beside[row.id]) for row in rows]
    other = [one["id"] for one, two in pairs if one["outcome"] != two["outcome"]]
    text = [one["id"] for one, two in pairs if one["files"] != two["files"]]
    seconds = [sum(line["seconds"] for line in lines) for lines in zip(*pairs, strict=True)]
    yield (
        f"{len(rows)} rows, healed {_count(alone)} alone and {_count(beside)} beside {BUSY} busy "
        f"processes, in {seconds[0]:.0f} and {seconds[1]:.0f} s: {len(other)} end otherwise"
        f"{_named(other)}, {len(text)} with another program{_named(text)}"
    )


@contextmanager
def busy(count: int) -> Iterator[None]:
    """So many processes of ours use a processor each; leaving the context ends them."""
    with ExitStack() as stack:
        for _ in range(count):
            process = stack.enter_context(subprocess.Popen([sys.executable, "-c", LOOP]))
            stack.callback(process.kill)
        yield


@contextmanager
def _healed(rows: Sequence[Row | BadRow]) -> Iterator[Results]:
    with tempfile.TemporaryDirectory() as folder:
        results = Results(Path(folder))
        settings = settings_for("mock", SEARCH_S, None)
        asyncio.run(run(rows, settings, results, 1, lambda text: None))
        yield results


def _count(lines: dict[str, Line]) -> int:
    return sum(line["outcome"] == "healed" for line in lines.values())


def _named(rows: Sequence[str]) -> str:
    return f" ({', '.join(rows)})" if rows else ""
