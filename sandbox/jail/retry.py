"""Restarts a job once if its fork server was killed from outside.

A fork server can be killed by a person or by the system when memory is low. If the caller has
received nothing from the job yet, it is started again. Otherwise `SandboxDied` is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

from sandbox.jail.running import RunningJob
from sandbox.protocol.wire import frame
from sandbox.types import Json, Outcome, SandboxDied

Answer = TypeVar("Answer")


class RetriedJob:
    """A running job that is restarted once; implements `Process`."""

    running: RunningJob
    """The current process."""

    def __init__(self, start: Callable[[], Awaitable[RunningJob]]) -> None:
        self._start = start
        self._starts = 0
        self._starting = asyncio.Lock()
        self._sent: list[Json] = []
        """Messages to repeat after a restart."""
        self._has_received = False
        """Whether the caller has received something from the job."""

    async def __aenter__(self) -> Self:
        try:
            await self._launch()
        except SandboxDied:
            await self._launch()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    async def send(self, message: Json) -> None:
        """See `Process`."""
        if not self._has_received:
            self._sent.append(message)
        await self.running.send(message)

    async def receive(self, timeout_s: float | None = None) -> Json | Outcome:
        """See `Process`."""
        return await self._ask(lambda running: running.receive(timeout_s))

    async def finish(self) -> Outcome:
        """See `Process`."""
        return await self._ask(lambda running: running.finish())

    async def kill(self) -> Outcome:
        """See `Process`."""
        return await self.running.kill()

    async def _launch(self) -> None:
        self._starts += 1
        self.running = await self._start()

    async def _ask(self, ask: Callable[[RunningJob], Awaitable[Answer]]) -> Answer:
        while True:
            running = self.running
            try:
                answer = await ask(running)
            except SandboxDied as loss:
                await self._restart(running, loss)
            else:
                self._has_received = True
                self._sent.clear()
                return answer

    async def _restart(self, lost: RunningJob, loss: SandboxDied) -> None:
        """Restarts the job unless another call did; raises the loss if it is too late."""
        async with self._starting:
            if self.running is not lost:
                return
            if self._has_received or self._starts > 1:
                raise loss
            await self._launch()
            for message in self._sent:
                self.running.write(frame(message))
