"""Whole processes: the terminal command, beside a bare interpreter."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from evaluation.measures.figure import figure
from evaluation.measures.samples import ONE_BUG, ONE_BUG_TESTS

ROOT = Path(__file__).parent.parent.parent


def cli() -> Iterator[str]:
    """The terminal command healing a file with one bug, beside a bare interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mean.py"
        path.write_text(ONE_BUG, encoding="utf-8")
        command = [
            sys.executable, "-m", "agent", "run", str(path), "--tests", ONE_BUG_TESTS, "--json",
        ]
        times, floors = [], []
        for turn in range(5):
            # A fresh data folder each time, or the second heal would come from memory.
            env = {**os.environ, "HEAL_DATA_DIR": str(Path(folder) / f"data{turn}")}
            times.append(timed(command, env, expected=0))
            floors.append(timed([sys.executable, "-c", "pass"], env, expected=0))
    yield figure("heal of a one-bug file, whole process", times, "python -c pass", floors)


def imports() -> Iterator[str]:
    """What `--help` must load."""
    env = dict(os.environ)
    times = [timed([sys.executable, "-c", "import agent.cli"], env, 0) for _ in range(5)]
    floors = [timed([sys.executable, "-c", "pass"], env, 0) for _ in range(5)]
    yield figure("import of the terminal command", times, "python -c pass", floors)


def timed(command: Sequence[str], env: dict[str, str], expected: int) -> float:
    started = time.perf_counter()
    outcome = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, check=False)
    seconds = time.perf_counter() - started
    if outcome.returncode != expected:
        raise SystemExit(f"{command} ended with {outcome.returncode}: {outcome.stderr[-500:]!r}")
    return seconds
