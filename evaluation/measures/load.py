"""Whether a program heals alike on a quiet machine and beside ten busy ones."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from evaluation.healing import Line
from evaluation.results import Results
from evaluation.run_benchmark import run, settings_for
from evaluation.suite import BadRow, Row, read_suite, spread

ROWS = 60
BUSY = 10
SEARCH_S = 10.0
SUITES = Path(__file__).parent.parent / "bench"
LOOP = "import os\nhost = os.getppid()\nwhile os.getppid() == host:\n    sum(range(1_000_000))\n"
"""A program that uses a processor for as long as whoever started it is there."""


def load(count: int = ROWS) -> Iterator[str]:
    """Rows healed on the machine as it is, then beside busy processes: how many come out
    otherwise. It takes minutes, and longer on a busy machine."""
    suites = sorted(SUITES.glob("*.jsonl"))
    rows = [row for path in suites for row in spread(read_suite(path), count // len(suites))]
    alone = asyncio.run(_healed(rows))
    with busy(BUSY):
        beside = asyncio.run(_healed(rows))
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


async def _healed(rows: Sequence[Row | BadRow]) -> dict[str, Line]:
    with tempfile.TemporaryDirectory() as folder:
        results = Results(Path(folder))
        settings = settings_for("mock", SEARCH_S, None)
        await run(rows, settings, results, 1, lambda text: None)
        return results.lines


def _count(lines: dict[str, Line]) -> int:
    return sum(line["outcome"] == "healed" for line in lines.values())


def _named(rows: Sequence[str]) -> str:
    return f" ({', '.join(rows)})" if rows else ""
