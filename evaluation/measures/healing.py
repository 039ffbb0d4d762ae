"""How many of our own broken programs are healed."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from pathlib import Path

from evaluation.figures import figures
from evaluation.results import Results
from evaluation.run_benchmark import run, settings_for
from evaluation.suite import read_suite, spread

HEALING_ROWS = 12
HEALING_S = 10.0
SUITES = Path(__file__).parent.parent / "bench"


def healing() -> Iterator[str]:
    """A few programs of each of our suites; `evaluation.run_benchmark` heals them all."""
    settings = settings_for("mock", HEALING_S, None)
    for path in (SUITES / "seen.jsonl", SUITES / "unseen.jsonl"):
        rows = read_suite(path)
        few = spread(rows, HEALING_ROWS)
        with tempfile.TemporaryDirectory() as folder:
            results = Results(Path(folder))
            asyncio.run(run(few, settings, results, 1, lambda text: None))
            found = figures([*results.lines.values()], results.first_patch)
        yield (
            f"{path.stem}: of {len(few)} of {len(rows)} programs {found['plausible']} pass their "
            f"tests again, {found['correct']} are right on what was held out, {found['any']} among "
            f"those shown; {HEALING_S:g} s each at most, median {found['seconds_median']:.2f} s, "
            f"{found['first_patch_s_median'] or 0:.2f} s to the first patch, "
            f"{found['first_patch_search_s_median'] or 0:.2f} s of them the search's"
        )
