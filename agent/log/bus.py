"""The event bus: append-only per run, with any number of followers.

Followers read pages from the store and sleep on one `asyncio.Event` each.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from itertools import count

from agent.core.events import Event, LogEntry
from agent.log.store import DatabaseUnavailable, Store

Writer = Callable[[Event], LogEntry]
PAGE = 500
POLL_INTERVAL_S = 0.5
"""Seconds between a follower's checks for events of another process."""


class EventBus:
    """Writes events into the store and wakes followers; use from one event loop."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._wakeup_events: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._closed = False
        self.queue_changed = asyncio.Event()
        self.waits_for_store = False
        """Whether followers wait for a store that does not answer, instead of failing."""
        self.on_end: Callable[[str], None] | None = None
        """Is called with each run that any process has ended, if the store says so."""
        self.stopped: dict[str, str] = {}
        """The runs of this process that a failure of the store stopped, and its words."""
        self.observers: list[Callable[[LogEntry], None]] = []
        """Are called with each event that this process has written."""

    def wake(self, run: str, *, ended: bool = False) -> None:
        """Wakes the followers of a run that another process has written; if it is empty, all, and
        the worker that waits for queued runs."""
        if not run:
            self.queue_changed.set()
        for wakeup in self._wakeup_events.get(run, ()) if run else self._all_wakeups():
            wakeup.set()
        if ended and self.on_end is not None:
            self.on_end(run)

    def close(self) -> None:
        """Wakes and ends all followers, because the store is about to be closed."""
        self._closed = True
        for wakeup in self._all_wakeups():
            wakeup.set()

    def _all_wakeups(self) -> set[asyncio.Event]:
        return set().union(*self._wakeup_events.values())

    def writer(self, run: str, step_id: str) -> Writer:
        """A writer that numbers the events of the next attempt of a step, or of a session."""
        attempt, ordinals = self._store.begin(run, step_id), count()

        def write(event: Event) -> LogEntry:
            entry = self._store.append(run, step_id, attempt, next(ordinals), event)
            for wakeup in self._wakeup_events.get(run, ()):
                wakeup.set()
            for observe in self.observers:
                observe(entry)
            return entry

        return write

    async def follow(self, run: str, after: int = 0) -> AsyncIterator[tuple[LogEntry, ...]]:
        """Yields batches of events after `after` until the final event or until it is closed."""
        own_wakeup = asyncio.Event()
        self._wakeup_events[run].add(own_wakeup)
        try:
            while not self._closed:
                own_wakeup.clear()
                try:
                    page = self._store.events(run, after, PAGE)
                    if not page and run in self.stopped and not self.waits_for_store:
                        raise DatabaseUnavailable(self.stopped[run])
                except DatabaseUnavailable:
                    if not self.waits_for_store:
                        raise
                    page = ()
                if page:
                    after = page[-1].seq
                    yield page
                    if page[-1].final:
                        return
                else:
                    # Not `wait_for`, which can swallow a cancellation (python/cpython#86296).
                    with suppress(TimeoutError):
                        async with asyncio.timeout(POLL_INTERVAL_S):
                            await own_wakeup.wait()
        finally:
            self._wakeup_events[run].discard(own_wakeup)
            if not self._wakeup_events[run]:
                del self._wakeup_events[run]
