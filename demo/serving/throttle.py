"""Limits the rate of a stream of batches, so that a page can show it."""

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
    """Yields the items since the last batch, at most once in `every_s` seconds.

    The first batch is yielded at once. Between batches it yields an empty tuple when the result of
    `watched` changes, and after `beat_s` seconds without output, because a generator that never
    yields is never closed when its page is closed.
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
