"""Processor time of batches, changes of a text, and the clock of a run."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.search.precheck import batches
from agent.search.precheck.batches import LOST_S, ProcessorTime, TimedBatch
from agent.search.precheck.changes import change, changed
from agent.search.precheck.programs import clock as harness
from sandbox.types import Json, LostItem


class Replying:
    """A batch with these replies, one per second of the host's clock."""

    def __init__(self, replies: Sequence[Json | LostItem]) -> None:
        self._replies = replies
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    async def replies(
        self, items: Sequence[Json], item_wall_s: float
    ) -> AsyncIterator[tuple[int, Json | LostItem]]:
        for number, reply in enumerate(self._replies):
            self.now += 1.0
            yield number, reply


async def heard(
    monkeypatch: pytest.MonkeyPatch, *replies: Json | LostItem
) -> tuple[list[Json | LostItem], float]:
    replying, spent = Replying(replies), ProcessorTime()
    monkeypatch.setattr(batches, "time", replying)
    batch = TimedBatch(replying, spent)
    return [reply async for _, reply in batch.replies([None] * len(replies), 9)], spent.spent_s


@pytest.mark.parametrize("claim", [-5.0, 1e9, float("nan"), float("inf")])
async def test_process_times_are_bounded(monkeypatch: pytest.MonkeyPatch, claim: float) -> None:
    assert await heard(monkeypatch, [claim, "a"]) == (["a"], 1.0)


async def test_a_lost_process_counts_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = LostItem("killed")
    assert await heard(monkeypatch, lost) == ([lost], min(1.0, LOST_S))


TEXTS = st.text(alphabet="ab\n\ud800é", max_size=12)


@given(TEXTS, TEXTS)
def test_a_change_reproduces_the_text(base: str, text: str) -> None:
    assert changed(base, change(base, text)) == text


SIGNALS = (signal.SIGPROF, signal.SIGALRM, signal.SIGVTALRM)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """What the clocks of the module show, in a process whose signals are put back."""
    shown = SimpleNamespace(wall_s=0.0, cpu_s=0.0)
    monkeypatch.setattr(harness, "time", SimpleNamespace(
        monotonic=lambda: shown.wall_s, process_time=lambda: shown.cpu_s
    ))
    before = [signal.getsignal(one) for one in SIGNALS]
    yield shown
    for one, handler in zip(SIGNALS, before, strict=True):
        signal.signal(one, handler)


def started() -> Any:
    clock = harness.Clock()
    clock.start(harness.CandidateLimits(1, cpu_s=1000.0, wall_s=1000.0))
    return clock


def test_a_computing_run_is_not_ended_by_the_wall_clock(shown: Any) -> None:
    clock = started()
    try:
        shown.wall_s, shown.cpu_s = 60.0, 2.0
        clock._ring(signal.SIGALRM, None)
        assert not clock.expired
    finally:
        clock.stop()


@pytest.mark.parametrize(
    ("number", "cpu_s"), [(signal.SIGALRM, 0.1), (signal.SIGPROF, 0.1), (signal.SIGPROF, 2.0)]
)
def test_a_sleeping_or_slow_run_is_ended(shown: Any, number: int, cpu_s: float) -> None:
    clock = started()
    try:
        shown.wall_s, shown.cpu_s = 60.0, cpu_s
        with pytest.raises(harness.OutOfTime):
            clock._ring(number, None)
        assert clock.expired
    finally:
        clock.stop()
