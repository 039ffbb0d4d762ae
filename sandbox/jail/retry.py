"""Jobs that are tried once more where what held them was ended from outside.

A fork server can be killed by a person, or by a system short of memory. Its jobs are no more at
fault than its host: while nothing of them was told to the caller, nobody can tell a second try
from the first. Once a message was told, the loss is told too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from sandbox.jail.running import Running
from sandbox.talk.wire import frame
from sandbox.types import Ended, Json, Outcome, SandboxDied

Said = TypeVar("Said")


class Retry:
    """The jobs of one call: one, or the two of a pair, which share their fate."""

    def __init__(self, start: Callable[[], Awaitable[Sequence[Running]]]) -> None:
        self._start = start
        self._tries = 0
        self._starting = asyncio.Lock()
        self._sent: list[tuple[int, Json]] = []
        """What the jobs were told, and in which order."""
        self.running: Sequence[Running] = ()
        self.has_told = False
        """Whether the caller has heard anything of them."""

    async def begin(self) -> list[RetriedJob]:
        """Starts them."""
        try:
            await self._try()
        except SandboxDied:
            await self._try()
        return [RetriedJob(self, place) for place in range(len(self.running))]

    async def again(self, running: Sequence[Running], loss: SandboxDied) -> None:
        """Starts anew those that were lost, unless the other of a pair did; raises the loss where
        that is no more possible."""
        async with self._starting:
            if self.running is not running:
                return
            if self.has_told or self._tries > 1:
                raise loss
            for one in running:
                with suppress(SandboxDied):
                    await one.kill()
            await self._try()
            for place, message in self._sent:
                self.running[place].write(frame(message))

    def note(self, place: int, message: Json) -> None:
        """Keeps what a job is sent for as long as it may have to be sent again."""
        if not self.has_told:
            self._sent.append((place, message))

    def tell(self) -> None:
        """The caller hears of the jobs: from here on no other try passes for this one."""
        self.has_told = True
        self._sent.clear()

    async def _try(self) -> None:
        self._tries += 1
        self.running = await self._start()


class RetriedJob:
    """One of the jobs, to its caller a running process."""

    def __init__(self, tries: Retry, place: int) -> None:
        self._tries = tries
        self._place = place

    @property
    def running(self) -> Running:
        """The process that runs it at this moment."""
        return self._tries.running[self._place]

    async def send(self, message: Json) -> None:
        """Gives the program its next `jail.receive()`. A dead process is no error here."""
        self._tries.note(self._place, message)
        await self.running.send(message)

    async def receive(self, timeout_s: float | None = None) -> Json | Outcome:
        """The program's next message, or its `Outcome`; see the protocol."""
        return await self._told(lambda running: running.receive(timeout_s))

    async def finish(self) -> Outcome:
        """Waits for the end and returns the outcome with all messages not received yet."""
        return await self._told(lambda running: running.finish())

    async def _told(self, ask: Callable[[Running], Awaitable[Said]]) -> Said:
        while True:
            running = self._tries.running
            try:
                said = await ask(running[self._place])
            except SandboxDied as loss:
                await self._tries.again(running, loss)
            else:
                self._tries.tell()
                return said

    async def kill(self) -> Outcome:
        """Ends the process and everything it started; idempotent."""
        return await self.running.kill()

    def stop(self, ended: Ended, why: str) -> None:
        """Has the process killed unless it has ended, without waiting for that."""
        self.running.stop(ended, why)
