"""Who gets the next slot, where the jobs of many wait for one.

A slot is what a fork server runs one job in. As long as there are plenty, each request gets one.
When they are scarce, the next goes to the owner with the fewest jobs running, and among equals to
the one that waited longest: fifty endless jobs of one run do not delay another. The last slots are
kept, a few for owners that run nothing, more for jobs that will soon be over: a job that lasts
and would wait for one of its owner's short ones could hold up everybody.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass

FOR_NEWCOMERS = 2
"""Slots that only owners get who run nothing."""
FOR_SHORT_JOBS = 8
"""Slots that no job gets which lasts as long as a search does."""


@dataclass(frozen=True)
class SlotRequest:
    """What is asked for: a slot, for whom, and whether it is kept for long."""

    owner: str
    lasts: bool = False


class FairQueue:
    """The order of those who wait for a slot."""

    def __init__(self) -> None:
        self._taken: dict[int, str] = {}
        """Slot to owner."""
        self._waiting: list[tuple[SlotRequest, asyncio.Future[None]]] = []

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    def may_take(self, request: SlotRequest, free: int) -> bool:
        """Whether this one may have one of so many free slots."""
        if request.lasts:
            return free > FOR_SHORT_JOBS
        is_newcomer = request.owner not in self._taken.values()
        return free > (0 if is_newcomer else FOR_NEWCOMERS)

    def take(self, slot: int, owner: str) -> None:
        """Notes who has a slot."""
        self._taken[slot] = owner

    def give_back(self, slot: int) -> None:
        """Notes that nobody has it."""
        self._taken.pop(slot, None)

    def wait(self, request: SlotRequest, turn: asyncio.Future[None]) -> None:
        """Puts one into the queue; `turn` is done when the request should check again."""
        self._waiting.append((request, turn))

    def next(self, free: int) -> None:
        """Wakes the next request if there is a slot for one that waits."""
        self._waiting = [one for one in self._waiting if not one[1].done()]
        running = Counter(self._taken.values())
        able = [one for one in self._waiting if self.may_take(one[0], free)]
        if able:
            chosen = min(able, key=lambda one: running[one[0].owner])
            self._waiting.remove(chosen)
            chosen[1].set_result(None)

    def end(self) -> None:
        """Tells everyone to look again: there is nothing to wait for."""
        waiting, self._waiting = self._waiting, []
        for _, turn in waiting:
            if not turn.done():
                turn.set_result(None)

    def forget(self) -> None:
        """Drops all who wait, whose event loop is gone."""
        self._waiting.clear()
