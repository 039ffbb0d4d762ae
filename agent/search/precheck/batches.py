"""Distributes items over several processes, and measures their processor time.

A search is limited in processor seconds, which do not depend on other programs. Each reply states
the seconds that it took; the candidate could forge them, so they are clamped between zero and the
time that the host waited.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass

from sandbox.sandbox import Batch
from sandbox.types import Json, LostItem

LOST_S = 0.4
"""The maximum seconds counted for a killed process, whose processor time is unknown."""


@dataclass
class ProcessorTime:
    """The sum of processor seconds spent so far."""

    spent_s: float = 0.0


@dataclass(frozen=True)
class TimedBatch:
    """A batch that removes the processor seconds from each reply and adds them up.

    A reply without them becomes `None`.
    """

    batch: Batch
    work: ProcessorTime

    async def replies(
        self, items: Sequence[Json], item_wall_s: float
    ) -> AsyncIterator[tuple[int, Json | LostItem]]:
        """As `Batch.replies`."""
        began = time.monotonic()
        async for number, reply in self.batch.replies(items, item_wall_s):
            now = time.monotonic()
            waited_s, began = now - began, now
            match reply:
                case LostItem():
                    self.work.spent_s += min(waited_s, LOST_S)
                    yield number, reply
                case [int() | float() as cpu_s, answer] if 0 <= cpu_s <= waited_s:
                    self.work.spent_s += cpu_s
                    yield number, answer
                case [int() | float(), answer]:
                    self.work.spent_s += waited_s
                    yield number, answer
                case _:
                    self.work.spent_s += waited_s
                    yield number, None


async def distribute(
    batches: Sequence[Batch], items: Sequence[Json], wall_s: float
) -> AsyncGenerator[tuple[int, Json | LostItem], None]:
    """Distributes items evenly over processes; yields the index of each item and its reply."""
    if len(batches) == 1 or len(items) == 1:
        async for number, reply in batches[0].replies(items, wall_s):
            yield number, reply
        return
    replies: asyncio.Queue[tuple[int, Json | LostItem] | None] = asyncio.Queue()

    async def ask(share: Sequence[int], batch: Batch) -> None:
        try:
            async for number, reply in batch.replies([items[one] for one in share], wall_s):
                replies.put_nowait((share[number], reply))
        finally:
            replies.put_nowait(None)

    count = len(batches)
    shares = [range(first, len(items), count) for first in range(count)]
    asking = [
        asyncio.create_task(ask(share, batch))
        for share, batch in zip(shares, batches, strict=True) if share
    ]
    try:
        ended = 0
        while ended < len(asking):
            numbered = await replies.get()
            if numbered is None:
                ended += 1
            else:
                yield numbered
        await asyncio.gather(*asking)
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
