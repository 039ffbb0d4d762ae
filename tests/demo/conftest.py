"""Recorded runs, and a host that plays them instead of running code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from agent.core.domain import Task
from agent.core.events import Stamped, from_jsonl

RUNS = Path(__file__).with_name("runs")
Log = tuple[Stamped, ...]


@pytest.fixture(scope="session")
def recorded() -> Callable[[str], Log]:
    """The log of a recorded run by name."""
    return lambda name: from_jsonl((RUNS / f"{name}.jsonl").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def chosen(recorded: Callable[[str], Log]) -> Callable[[Task], Log]:
    """Chooses the recorded run that a task's words name."""
    return lambda task: recorded(task.text or "healed")
