"""From the word to cancel until nothing goes on."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Iterator
from functools import partial

from agent.events import Searched
from agent.session import Session
from evaluation.measures.samples import HOPELESS, HOPELESS_TESTS, HUGE
from evaluation.measures.sessions import in_session, task_of

CANCELLED = 9
APART_S = 0.4
"""How much later each cancellation comes than the one before."""


def cancelling() -> Iterator[str]:
    """From the word to cancel until the run's last event, in the middle of a search."""

    async def measure(session: Session, code: str) -> list[float]:
        took = []
        for number in range(CANCELLED):
            run = await session.start(task_of(code, HOPELESS_TESTS))
            async for batch in session.follow(run):
                if any(isinstance(entry.event, Searched) for entry in batch):
                    break
            # Each in another moment: a long program is read for seconds before it is screened.
            await asyncio.sleep(number * APART_S)
            started = time.perf_counter()
            await session.cancel(run)
            took.append((time.perf_counter() - started) * 1e3)
        return took

    for words, code in (
        ("in the middle of a search", HOPELESS),
        (f"the same in a program of {HUGE.count(chr(10)):,} lines", HUGE),
    ):
        took = asyncio.run(in_session(partial(measure, code=code)))
        yield (
            f"cancelled, {words}: median {statistics.median(took):.0f} ms, "
            f"most {max(took):.0f} ms"
        )
