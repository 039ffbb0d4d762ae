"""Distributes the slots of a fork server fairly among the owners of waiting jobs.

A slot runs one job. When slots are scarce, the next one goes to the owner with the fewest running
jobs, and among equals to the longest-waiting request, so fifty endless jobs of one run do not delay
another run. The last slots are reserved: a few for owners without a running job, more for short
jobs. Otherwise long jobs that wait for short jobs of their owner could block all slots.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

NEWCOMER_SLOTS = 2
"""Slots reserved for owners without a running job."""
SHORT_JOB_SLOTS = 8
"""Slots reserved for short jobs."""


@dataclass(frozen=True)
class SlotRequest:
    """A request for a slot with its owner; `is_long` marks a long job, such as a search."""

    owner: str
    is_long: bool = False


class FairQueue:
    """The queue of requests for a slot."""

    def __init__(self) -> None:
        self._taken: dict[int, str] = {}
        """Slot to owner."""
        self._waiting: list[tuple[SlotRequest, asyncio.Future[None]]] = []

    def __len__(self) -> int:
        return len(self._waiting)

    def may_take(self, request: SlotRequest, free: int) -> bool:
        """Whether a request may take one of `free` slots."""
        if request.is_long:
            return free > SHORT_JOB_SLOTS
        is_newcomer = request.owner not in self._taken.values()
        return free > (0 if is_newcomer else NEWCOMER_SLOTS)

    def take(self, slot: int, owner: str) -> None:
        """Records the owner of a slot."""
        self._taken[slot] = owner

    def give_back(self, slot: int) -> None:
        """Records that a slot is free."""
        self._taken.pop(slot, None)

    def wait(self, request: SlotRequest, turn: asyncio.Future[None]) -> None:
        """Queues a request; `turn` resolves when it should check again."""
        self._waiting.append((request, turn))

    def next(self, free: int) -> None:
        """Wakes the next request that may take one of `free` slots."""
        self._waiting = [one for one in self._waiting if not one[1].done()]
        running = Counter(self._taken.values())
        able = [one for one in self._waiting if self.may_take(one[0], free)]
        if able:
            chosen = min(able, key=lambda one: running[one[0].owner])
            self._waiting.remove(chosen)
            chosen[1].set_result(None)

    def end(self) -> None:
        """Wakes all requests, since the server has ended."""
        pending, self._waiting = self._waiting, []
        for _, turn in pending:
            if not turn.done():
                turn.set_result(None)

    def forget(self) -> None:
        """Drops all requests, since their event loop is closed."""
        self._waiting.clear()
