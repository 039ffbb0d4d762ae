"""Slows a stream of batches to a rhythm that a page can follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def throttled(
    batches: AsyncIterator[tuple[T, ...]], every_s: float = 0.1, beat_s: float = 8.0
) -> AsyncIterator[tuple[T, ...]]:
    """Yields what came since the last time, at most once in `every_s`; nothing is lost.

    The first batch is passed on at once. After `beat_s` of silence it yields an empty
    tuple: a generator that never yields is never closed when its page goes away.
    """
    arrived = asyncio.Event()
    held: list[T] = []

    async def pump() -> None:
        try:
            async for batch in batches:
                held.extend(batch)
                arrived.set()
        finally:
            arrived.set()

    pumping = asyncio.create_task(pump())
    try:
        while True:
            try:
                async with asyncio.timeout(beat_s):
                    await arrived.wait()
            except TimeoutError:
                yield ()
                continue
            arrived.clear()
            taken = tuple(held)
            held.clear()
            if taken:
                yield taken
            if pumping.done() and not held:
                await pumping
                return
            if not pumping.done():
                await asyncio.sleep(every_s)
    finally:
        pumping.cancel()
        with suppress(asyncio.CancelledError):
            await pumping
