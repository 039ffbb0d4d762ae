"""Drives the runs that wait in the database, for pages that only queue them."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress

from agent.core.settings import Settings
from agent.interfaces.exits import HEALED
from agent.interfaces.preparation import OpenSession


def serve(opener: OpenSession, jobs: int) -> int:
    """Works until SIGTERM or Ctrl-C, and returns the exit code; unfinished runs then go on in
    another worker. There are `jobs` runs at a time; 0 means one per processor."""
    asyncio.run(_work(opener, jobs or os.cpu_count() or 1))
    return HEALED


async def _work(opener: OpenSession, jobs: int) -> None:
    settings = await asyncio.to_thread(Settings.from_env, queue=False)
    async with opener(settings) as session:
        work = asyncio.create_task(session.work(jobs))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, work.cancel)
        with suppress(asyncio.CancelledError):
            await work
