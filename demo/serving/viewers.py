"""Counts the viewers of each run, so that a run without viewers can be paused and does not spend
money on models."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager

Left = Callable[[str], Coroutine[None, None, None]]


class Viewers:
    """The viewers of runs; use it from the serving event loop."""

    def __init__(self) -> None:
        self._count: Counter[str] = Counter()
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._leaving: set[asyncio.Task[None]] = set()

    @contextmanager
    def viewing(self, run: str, grace_s: float, left: Left) -> Iterator[None]:
        """Counts a viewer of a run. `left` is called with the run after `grace_s` seconds without
        viewers, or never if that is 0."""
        timer = self._timers.pop(run, None)
        if timer is not None:
            timer.cancel()
        self._count[run] += 1
        try:
            yield
        finally:
            self._count[run] -= 1
            if not self._count[run]:
                del self._count[run]
                if grace_s:
                    self._timers[run] = asyncio.get_running_loop().call_later(
                        grace_s, self._leave, run, left
                    )

    def _leave(self, run: str, left: Left) -> None:
        del self._timers[run]
        leaving = asyncio.create_task(left(run))
        self._leaving.add(leaving)
        leaving.add_done_callback(self._leaving.discard)
