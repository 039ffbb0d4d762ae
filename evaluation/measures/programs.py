"""What the measurements share: programs to heal and figures in words."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.core.domain import Task
from agent.intake import from_page
from agent.run.session import Session
from evaluation.suite import Row, read_suite

ROOT = Path(__file__).parent.parent.parent
BENCH = Path(__file__).parent.parent / "bench"


def sample(name: str) -> tuple[str, str]:
    """A program of `bench/measured.jsonl`, and its tests."""
    row = next(row for row in read_suite(BENCH / "measured.jsonl") if row.id == name)
    assert isinstance(row, Row)
    return row.broken.program, "\n".join(row.broken.tests)


def task_of(code: str, tests: str) -> Task:
    """A program and its tests, as a user pastes them."""
    return from_page(code, tests).task


async def finished(session: Session, task: Task) -> str:
    """The name of a run that has come to its end."""
    run = await session.start(task)
    async for _ in session.follow(run):
        pass
    return run


def timed(command: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    """Seconds of a whole process, which must end well."""
    started = time.perf_counter()
    outcome = subprocess.run(
        command, env={**os.environ, **(env or {})}, cwd=ROOT, capture_output=True, check=False
    )
    seconds = time.perf_counter() - started
    if outcome.returncode:
        raise SystemExit(f"{command} ended with {outcome.returncode}: {outcome.stderr[-500:]!r}")
    return seconds


def figure(what: str, times: Sequence[float], floor: str, floors: Sequence[float]) -> str:
    """The median and the range of times in seconds, and how many floors that is."""
    median, bottom = statistics.median(times), statistics.median(floors)
    return (
        f"{what}: median {median:.2f} s ({min(times):.2f} to {max(times):.2f}), "
        f"{median / bottom:.1f} x {floor} ({bottom:.2f} s)"
    )
