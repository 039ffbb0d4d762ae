"""Drives the runs that wait in the database, for pages that only queue them."""

from __future__ import annotations

import asyncio
import os
import signal
from contextlib import suppress

from agent.core.settings import Settings
from agent.interfaces.exits import HEALED
from agent.interfaces.preparation import OpenSession
from agent.interfaces.servers.operations import not_ready, operated
from sandbox import SandboxUnavailable


def serve(opener: OpenSession, jobs: int) -> int:
    """Works until SIGTERM or Ctrl-C, and returns the exit code; unfinished runs then go on in
    another worker. There are `jobs` runs at a time; 0 means one per processor."""
    settings = Settings.from_env(queue=False)
    asyncio.run(_work(opener, settings, jobs or os.cpu_count() or 1))
    return HEALED


async def _work(opener: OpenSession, settings: Settings, jobs: int) -> None:
    async with opener(settings) as session:
        if "jail" in await not_ready(session, any_jail=settings.allow_weak):
            raise SandboxUnavailable(
                "queued runs can be of any visitor, and the jail here is missing or too weak. "
                "`python -m sandbox selftest` shows why; SANDBOX_ALLOW_WEAK=1 accepts the risk."
            )
        with operated(session):
            work = asyncio.create_task(session.work(jobs))
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, work.cancel)
            with suppress(asyncio.CancelledError):
                await work
