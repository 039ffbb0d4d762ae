"""Processor seconds are counted as processes report them, within bounds."""

from collections.abc import AsyncIterator, Sequence

import pytest

from agent.search.precheck import batches
from agent.search.precheck.batches import LOST_S, ProcessorTime, TimedBatch
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
