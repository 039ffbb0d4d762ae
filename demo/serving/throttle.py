"""Slows a stream of batches to a rhythm that a page can follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")


async def throttled(
    batches: AsyncIterator[tuple[T, ...]], every_s: float = 0.1, beat_s: float = 8.0,
    watched: Callable[[], object] = lambda: None,
) -> AsyncIterator[tuple[T, ...]]:
    """Yields what came since the last time, at most once in `every_s`; nothing is lost.

    The first batch is passed on at once. Between two, it yields an empty tuple where what
    `watched` gives, as long as it gives anything, has changed, and after `beat_s` of silence: a
    generator that never yields is never closed when its page goes away.
    """
    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    pending: list[T] = []

    async def pump() -> None:
        try:
            async for batch in batches:
                pending.extend(batch)
                arrived.set()
        finally:
            arrived.set()

    pumping = asyncio.create_task(pump())
    last, silent_at = watched(), loop.time() + beat_s
    try:
        while True:
            try:
                async with asyncio.timeout(every_s if watched() else beat_s):
                    await arrived.wait()
            except TimeoutError:
                now = watched()
                if now != last or loop.time() >= silent_at:
                    last, silent_at = now, loop.time() + beat_s
                    yield ()
                continue
            arrived.clear()
            taken = tuple(pending)
            pending.clear()
            if taken:
                last, silent_at = watched(), loop.time() + beat_s
                yield taken
            if pumping.done() and not pending:
                await pumping
                return
            if not pumping.done():
                await asyncio.sleep(every_s)
    finally:
        pumping.cancel()
        with suppress(asyncio.CancelledError):
            await pumping
