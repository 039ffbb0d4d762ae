"""How many of our own broken programs are healed."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evaluation.figures import figures
from evaluation.measures.programs import BENCH
from evaluation.results import Results
from evaluation.run_benchmark import run, settings_for
from evaluation.suite import BadRow, Row, read_suite, spread

SUITES = ("seen", "unseen", "blind")
HEALING_ROWS = 12
SEARCH_S = 10.0


def healing() -> Iterator[str]:
    """A few programs of each of our suites; `evaluation.run_benchmark` heals them all."""
    for name in SUITES:
        rows = read_suite(BENCH / f"{name}.jsonl")
        few = spread(rows, HEALING_ROWS)
        with _healed(few) as results:
            found = figures([*results.lines.values()])
        yield (
            f"{name}: of {len(few)} of {len(rows)} programs {found['plausible']} pass their "
            f"tests again, {found['correct']} are right on what was held out, {found['any']} among "
            f"those shown; {SEARCH_S:g} s each at most, median {found['seconds_median']:.2f} s"
        )


@contextmanager
def _healed(rows: Sequence[Row | BadRow]) -> Iterator[Results]:
    with tempfile.TemporaryDirectory() as folder:
        results = Results(Path(folder))
        settings = settings_for("mock", SEARCH_S, None)
        asyncio.run(run(rows, settings, results, 1, lambda text: None))
        yield results
