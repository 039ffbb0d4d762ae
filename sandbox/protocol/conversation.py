"""The messages, deadlines and outcome of a running job, shared by the local backends.

The backends start and end the process.
"""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace

from sandbox.protocol.job_message import classify_end
from sandbox.protocol.wire import Inbox, InvalidMessage, JailMessage, frame
from sandbox.types import Ended, Job, Json, Outcome, SandboxError

BYTES_AHEAD = 1 << 20
READ_BYTES = 1 << 16


class Conversation(ABC):
    """The host's side of a job's process, driven by callbacks of the event loop that started it.

    A backend calls `_open` with its end of the private channel, and `_settle` once at the end.
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
        """Kills the process and everything that it started."""

    @abstractmethod
    def _has_exited(self) -> bool:
        """Whether the process is known to have ended."""

    def _open(self, channel: int, message: bytes, is_batch: bool) -> None:
        """Sends the first message, and starts the deadline unless the process runs a batch."""
        self._channel = channel
        self._loop.add_reader(channel, self._read_channel)
        self._started = time.monotonic()
        if not is_batch:
            wall_s = self._limits.wall_s
            self._deadline = self._loop.call_later(wall_s, self._expire, f"wall time {wall_s:g} s")
        self.write(message)

    def _settle(self, outcome: Outcome | SandboxError) -> None:
        """Sets the final outcome or error."""
        if self._deadline is not None:
            self._deadline.cancel()
        if isinstance(outcome, Outcome):
            self._outcome = outcome
        else:
            self._failure = outcome
        self._wake_waiters()
        self._close_channel()

    def _conclude(
        self, status: int, cpu_s: float, stdout: bytes | bytearray, stderr: bytes | bytearray
    ) -> None:
        """Settles a process that has ended, from its wait status."""
        ended, name, limit = classify_end(
            status, self.inbox.ended, cpu_s, self._limits, self._stopped
        )
        code = os.waitstatus_to_exitcode(status)
        errors = stderr.decode("utf-8", "backslashreplace")
        if code > 0 and not self.inbox.begun and self._stopped is None:
            # No untrusted code has run, so this is an error of the sandbox.
            self._settle(SandboxError(f"a child could not start its job: {errors.strip()}"))
            return
        self._settle(Outcome(
            ended=ended, stdout=stdout.decode("utf-8", "backslashreplace"), stderr=errors,
            exit_code=code if code >= 0 else None, signal=name, limit=limit,
            denied=tuple(sorted(self.inbox.rules)), wall_s=self.wall_s,
        ))

    def _on_data(self) -> None:  # noqa: B027 - a hook
        """Called after data arrived on the channel."""

    async def send(self, message: Json) -> None:
        """See `Process`."""
        self.write(frame(message))
        while len(self._outbox) > BYTES_AHEAD and self._outcome is None:
            await self._wait_for_change()

    async def receive(self, timeout_s: float | None = None) -> Json | Outcome:
        """See `Process`."""
        message = await self.message(timeout_s)
        return message if isinstance(message, Outcome) else message.value

    async def message(self, timeout_s: float | None) -> JailMessage | Outcome:
        """Like `receive`, but returns the `JailMessage` with its count."""
        if not self.inbox.messages and self._outcome is None:
            await self._until(lambda: bool(self.inbox.messages), timeout_s)
        if self.inbox.messages and not self._answered_late:
            return self.inbox.messages.popleft()
        return await self.finish()

    async def finish(self) -> Outcome:
        """See `Process`."""
        while self._outcome is None:
            if self._failure is not None:
                raise self._failure
            await self._wait_for_change()
        if self.inbox.messages:
            left = tuple(message.value for message in self.inbox.messages)
            self.inbox.messages.clear()
            self._outcome = replace(self._outcome, messages=left)
        return self._outcome

    async def kill(self) -> Outcome:
        """See `Process`."""
        self.stop("killed", "stopped by the host")
        return await self.finish()

    async def until_ready(self, timeout_s: float) -> bool:
        """Waits for the program's first `receive`; false if it ended or timed out."""
        if not self.inbox.ready and self._outcome is None:
            await self._until(lambda: self.inbox.ready, timeout_s)
        return self.inbox.ready and self._stopped is None

    def stop(self, ended: Ended, why: str) -> None:
        """Kills the process unless it has ended; the first reason is kept."""
        if not self._has_exited():
            self._abort(ended, why)

    @property
    def over(self) -> bool:
        """Whether the process has ended or is being killed."""
        return self._stopped is not None or self._has_exited()

    def _abort(self, ended: Ended, why: str) -> None:
        """Records how the job ended, even if its process has ended already, and kills it."""
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
                await self._wait_for_change()
        finally:
            if timer is not None:
                timer.cancel()

    async def _wait_for_change(self) -> None:
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _wake_waiters(self) -> None:
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    def _expire(self, why: str, ready: Callable[[], bool] | None = None) -> None:
        """Handles a time-out, unless the answer has arrived but was not read yet."""
        self._read_channel()
        if self._has_exited():
            return
        if ready is None or not ready():
            # A message that arrives later is not the answer.
            self._answered_late = ready is not None
            self._abort("timeout", why)

    def write(self, part: bytes | bytearray) -> None:
        """Sends frames without waiting for the process to read them."""
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
            return len(part)  # the process has ended, which is reported separately

    def _flush(self) -> None:
        if self._channel < 0:
            return  # closed in the same iteration of the event loop
        del self._outbox[: self._send_now(self._outbox)]
        if not self._outbox:
            self._loop.remove_writer(self._channel)
        self._wake_waiters()

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
            self._abort("garbled", str(error))
            self._close_channel()
        self._on_data()
        self._wake_waiters()

    def _close_channel(self) -> None:
        if self._channel >= 0:
            channel, self._channel = self._channel, -1
            # After the callbacks of waiters for its messages.
            self._loop.call_soon(_closed, self._loop, channel, bool(self._outbox))
            self._outbox.clear()


def _closed(loop: asyncio.AbstractEventLoop, channel: int, was_writing: bool) -> None:
    loop.remove_reader(channel)
    if was_writing:
        loop.remove_writer(channel)
    os.close(channel)


def read_some(descriptor: int, size: int) -> bytes | None:
    """The available bytes; `None` if there are none yet, empty at the end of file."""
    try:
        return os.read(descriptor, size)
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return b""
