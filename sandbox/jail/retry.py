"""A job that is started once more where what held it was ended from outside.

A fork server can be killed by a person, or by a system short of memory, and its jobs are not at
fault. As long as the caller has received nothing of a job, a second start looks like the first.
After that the loss is raised.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Self, TypeVar

from sandbox.jail.running import RunningJob
from sandbox.protocol.wire import frame
from sandbox.types import Json, Outcome, SandboxDied

Said = TypeVar("Said")


class RetriedJob:
    """A job, to its caller a running process."""

    running: RunningJob
    """The process that runs it at this moment."""

    def __init__(self, start: Callable[[], Awaitable[RunningJob]]) -> None:
        self._start = start
        self._starts = 0
        self._starting = asyncio.Lock()
        self._sent: list[Json] = []
        """What it may have to be sent again."""
        self._is_heard = False
        """Whether the caller has received something of it."""

    async def __aenter__(self) -> Self:
        try:
            await self._launch()
        except SandboxDied:
            await self._launch()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.kill()

    async def send(self, message: Json) -> None:
        """Gives the program its next `jail.receive()`. A dead process is no error here."""
        if not self._is_heard:
            self._sent.append(message)
        await self.running.send(message)

    async def receive(self, timeout_s: float | None = None) -> Json | Outcome:
        """The program's next message, or its `Outcome`; see the protocol."""
        return await self._heard(lambda running: running.receive(timeout_s))

    async def finish(self) -> Outcome:
        """Waits for the end and returns the outcome with all messages not received yet."""
        return await self._heard(lambda running: running.finish())

    async def kill(self) -> Outcome:
        """Ends the process and everything it started; idempotent."""
        return await self.running.kill()

    async def _launch(self) -> None:
        self._starts += 1
        self.running = await self._start()

    async def _heard(self, ask: Callable[[RunningJob], Awaitable[Said]]) -> Said:
        while True:
            running = self.running
            try:
                said = await ask(running)
            except SandboxDied as loss:
                await self._again(running, loss)
            else:
                self._is_heard = True
                self._sent.clear()
                return said

    async def _again(self, lost: RunningJob, loss: SandboxDied) -> None:
        """Starts it again, unless another call did; raises the loss where that is too late."""
        async with self._starting:
            if self.running is not lost:
                return
            if self._is_heard or self._starts > 1:
                raise loss
            await self._launch()
            for message in self._sent:
                self.running.write(frame(message))
