"""A running job as its host talks with it: messages, deadlines and the one outcome.

What starts and ends the process is the backend's; all backends on this machine share the talk.
"""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from sandbox.protocol.orders import how_it_ended
from sandbox.protocol.wire import Inbox, InvalidMessage, JailMessage, frame
from sandbox.types import Ended, Job, Json, Outcome, SandboxError

BYTES_AHEAD = 1 << 20
READ_BYTES = 1 << 16


class Conversation(ABC):
    """A job's process, seen from the host; driven by callbacks of the loop that started it.

    A backend calls `_open` with its end of the private channel and `_settle` once, at the end.
    """

    def __init__(self, job: Job) -> None:
        self._loop = asyncio.get_running_loop()
        self._limits = job.limits
        self.inbox = Inbox(job.limits.message_bytes)
        self.wall_s = 0.0
        self._outbox = bytearray()
        self._channel = -1
        self._stopped: tuple[Ended, str] | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._outcome: Outcome | None = None
        self._failure: SandboxError | None = None
        self._answered_late = False
        self._deadline: asyncio.TimerHandle | None = None
        self._started = time.monotonic()

    @abstractmethod
    def _kill(self) -> None:
        """Has the process and what belongs to it ended; called once it is condemned."""

    @abstractmethod
    def _has_exited(self) -> bool:
        """Whether the process is known to be gone."""

    def _open(self, channel: int, orders: bytes, endless: bool) -> None:
        """Begins: sends the orders, and starts the clock unless the job is `endless`."""
        self._channel = channel
        self._loop.add_reader(channel, self._read_channel)
        self._started = time.monotonic()
        if not endless:
            wall_s = self._limits.wall_s
            self._deadline = self._loop.call_later(wall_s, self._expire, f"wall time {wall_s:g} s")
        self.write(orders)

    def _settle(self, outcome: Outcome | SandboxError) -> None:
        """The end: nothing changes after it."""
        if self._deadline is not None:
            self._deadline.cancel()
        if isinstance(outcome, Outcome):
            self._outcome = outcome
        else:
            self._failure = outcome
        self._changed()
        self._close_channel()

    def _conclude(
        self, status: int, cpu_s: float, stdout: bytes | bytearray, stderr: bytes | bytearray
    ) -> None:
        """Settles what becomes of a process that has ended, from what the kernel says of it."""
        ended, name, limit = how_it_ended(
            status, self.inbox.ended, cpu_s, self._limits, self._stopped
        )
        code = os.waitstatus_to_exitcode(status)
        said = stderr.decode("utf-8", "backslashreplace")
        if code > 0 and not self.inbox.begun and self._stopped is None:
            # No foreign code ran, so it is not to blame.
            self._settle(SandboxError(f"a child could not take up its job: {said.strip()}"))
            return
        self._settle(Outcome(
            ended=ended,
            stdout=stdout.decode("utf-8", "backslashreplace"),
            stderr=said,
            exit_code=code if code >= 0 else None,
            signal=name,
            limit=limit,
            denied=tuple(sorted(self.inbox.rules)),
            wall_s=self.wall_s,
        ))

    def _heard(self) -> None:  # noqa: B027 - most backends need no more than the messages
        """Something came over the channel."""

    async def send(self, message: Json) -> None:
        """Gives the program its next `jail.receive()`. A dead process is no error here."""
        self.write(frame(message))
        while len(self._outbox) > BYTES_AHEAD and self._outcome is None:
            await self._change()

    async def receive(self, timeout_s: float | None = None) -> Json | Outcome:
        """The program's next message, or its `Outcome`; see the protocol."""
        message = await self.message(timeout_s)
        return message if isinstance(message, Outcome) else message.value

    async def message(self, timeout_s: float | None) -> JailMessage | Outcome:
        """As `receive`, with what the host knows of the message."""
        if not self.inbox.messages and self._outcome is None:
            await self._until(lambda: bool(self.inbox.messages), timeout_s)
        if self.inbox.messages and not self._answered_late:
            return self.inbox.messages.popleft()
        return await self.finish()

    async def finish(self) -> Outcome:
        """Waits for the end and returns the outcome with all messages not received yet."""
        while self._outcome is None:
            if self._failure is not None:
                raise self._failure
            await self._change()
        if self.inbox.messages:
            left = tuple(message.value for message in self.inbox.messages)
            self.inbox.messages.clear()
            self._outcome = replace(self._outcome, messages=left)
        return self._outcome

    async def kill(self) -> Outcome:
        """Ends the process and everything it started; idempotent."""
        self.stop("killed", "stopped by the host")
        return await self.finish()

    async def until_ready(self, timeout_s: float) -> bool:
        """Waits for the program's first `receive`; false when it ended or was too late."""
        if not self.inbox.ready and self._outcome is None:
            await self._until(lambda: self.inbox.ready, timeout_s)
        return self.inbox.ready and self._stopped is None

    def stop(self, ended: Ended, why: str) -> None:
        """Kills the process unless it has ended; the first reason stands."""
        if not self._has_exited():
            self._condemn(ended, why)

    @property
    def over(self) -> bool:
        """The process has ended or is about to."""
        return self._stopped is not None or self._has_exited()

    def _condemn(self, ended: Ended, why: str) -> None:
        """Says how the job ended, also of one that is dead before it is found out."""
        if self._stopped is None:
            self._stopped = (ended, why)
            self._kill()

    async def _until(self, ready: Callable[[], bool], timeout_s: float | None) -> None:
        """Waits until `ready` or the end; kills the process after `timeout_s`."""
        timer = (
            None
            if timeout_s is None
            else self._loop.call_later(
                timeout_s, self._expire, f"answer time {timeout_s:g} s", ready
            )
        )
        try:
            while self._outcome is None and self._failure is None and not ready():
                await self._change()
        finally:
            if timer is not None:
                timer.cancel()

    async def _change(self) -> None:
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _changed(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _expire(self, why: str, ready: Callable[[], bool] | None = None) -> None:
        """The time is over, unless the answer lies here unread: the host may have been busy."""
        self._read_channel()
        if self._has_exited():
            return
        if ready is None or not ready():
            # What arrives after an answer was given up is not taken for that answer.
            self._answered_late = ready is not None
            self._condemn("timeout", why)

    def write(self, part: bytes | bytearray) -> None:
        """Gives frames without waiting for the process to take them."""
        if self._channel < 0:
            return
        if not self._outbox:
            part = part[self._send_now(part) :]
            if not part:
                return
            self._loop.add_writer(self._channel, self._flush)
        self._outbox += part

    def _send_now(self, part: bytes | bytearray) -> int:
        try:
            return os.write(self._channel, part)
        except BlockingIOError:
            return 0
        except (BrokenPipeError, ConnectionResetError):
            return len(part)  # the process is dead; its end is on the way

    def _flush(self) -> None:
        if self._channel < 0:
            return  # closed in the same round of the loop, which had called this already
        del self._outbox[: self._send_now(self._outbox)]
        if not self._outbox:
            self._loop.remove_writer(self._channel)
        self._changed()

    def _read_channel(self) -> None:
        if self._channel < 0:
            return
        try:
            part = read_some(self._channel, 4 * READ_BYTES)
            if part is None:
                return
            if part:
                self.inbox.feed(part)
            else:
                self._close_channel()
                self.inbox.close()
        except InvalidMessage as error:
            self._condemn("garbled", str(error))
            self._close_channel()
        self._heard()
        self._changed()

    def _close_channel(self) -> None:
        if self._channel >= 0:
            channel, self._channel = self._channel, -1
            # After the callbacks of those that wait for its messages.
            self._loop.call_soon(_closed, self._loop, channel, bool(self._outbox))
            self._outbox.clear()


def _closed(loop: asyncio.AbstractEventLoop, channel: int, was_writing: bool) -> None:
    loop.remove_reader(channel)
    if was_writing:
        loop.remove_writer(channel)
    os.close(channel)


def read_some(descriptor: int, size: int) -> bytes | None:
    """The bytes that are there; `None` when there are none yet, empty at the end."""
    try:
        return os.read(descriptor, size)
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return b""
