"""From the word to cancel until nothing goes on."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator

from agent.events import Searched
from agent.session import Session
from evaluation.measures.samples import HOPELESS, HOPELESS_TESTS
from evaluation.measures.sessions import in_session, task_of

CANCELLED = 9


def cancelling() -> Iterator[str]:
    """From the word to cancel until the run's last event, in the middle of a search."""

    async def measure(session: Session) -> list[float]:
        took = []
        for _ in range(CANCELLED):
            run = await session.start(task_of(HOPELESS, HOPELESS_TESTS))
            async for batch in session.follow(run):
                if any(isinstance(entry.event, Searched) for entry in batch):
                    break
            started = time.perf_counter()
            await session.cancel(run)
            took.append((time.perf_counter() - started) * 1e3)
        return took

    took = asyncio.run(in_session(measure))
    yield (
        f"cancelled in the middle of a search: median {statistics.median(took):.0f} ms, "
        f"most {max(took):.0f} ms"
    )
