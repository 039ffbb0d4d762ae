"""Items that several processes answer side by side."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from sandbox.sandbox import Batch
from sandbox.types import Json, Lost


async def shared_out(
    batches: Sequence[Batch], items: Sequence[Json], wall_s: float
) -> AsyncGenerator[tuple[int, Json | Lost], None]:
    """The replies of several processes to items that they share; any process suits any item."""
    if len(batches) == 1 or len(items) == 1:
        async for number, reply in batches[0].replies(items, wall_s):
            yield number, reply
        return
    heard: asyncio.Queue[tuple[int, Json | Lost] | None] = asyncio.Queue()

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
