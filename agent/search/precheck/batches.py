"""Processes that answer item after item: several side by side, and what they work.

A search is bounded in processor seconds, which no other program makes longer. Each reply brings
the seconds that it took, by the word of a process that the candidate shares. So they are a hint:
never less than nothing, and never more than the host waited.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import dataclass

from sandbox.sandbox import Batch
from sandbox.types import Json, LostItem

LOST_S = 0.4
"""The most that counts for a process that was ended: how long it worked is not known."""


@dataclass
class ProcessorTime:
    """Processor seconds that were spent so far."""

    spent_s: float = 0.0


@dataclass(frozen=True)
class TimedBatch:
    """A batch whose replies bring their processor seconds, which are counted and taken off.

    A reply that brings none is `None`.
    """

    batch: Batch
    work: ProcessorTime

    async def replies(
        self, items: Sequence[Json], item_wall_s: float
    ) -> AsyncIterator[tuple[int, Json | LostItem]]:
        """As the batch's own."""
        asked = time.monotonic()
        async for number, reply in self.batch.replies(items, item_wall_s):
            heard = time.monotonic()
            waited_s, asked = heard - asked, heard
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


async def shared_out(
    batches: Sequence[Batch], items: Sequence[Json], wall_s: float
) -> AsyncGenerator[tuple[int, Json | LostItem], None]:
    """The replies of several processes to items that they share; any process suits any item."""
    if len(batches) == 1 or len(items) == 1:
        async for number, reply in batches[0].replies(items, wall_s):
            yield number, reply
        return
    heard: asyncio.Queue[tuple[int, Json | LostItem] | None] = asyncio.Queue()

    async def ask(share: Sequence[int], batch: Batch) -> None:
        try:
            async for number, reply in batch.replies([items[one] for one in share], wall_s):
                heard.put_nowait((share[number], reply))
        finally:
            heard.put_nowait(None)

    count = len(batches)
    shares = [range(first, len(items), count) for first in range(count)]
    asking = [
        asyncio.create_task(ask(share, batch))
        for share, batch in zip(shares, batches, strict=True) if share
    ]
    try:
        ended = 0
        while ended < len(asking):
            said = await heard.get()
            if said is None:
                ended += 1
            else:
                yield said
        await asyncio.gather(*asking)
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)
