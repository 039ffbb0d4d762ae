"""The host's connection to a supervisor: one remote sandbox with its job, deleted in all cases.

A link runs in its own task, which is never cancelled. It is asked to stop, and then deletes the
sandbox on every path. Callers wait until then, even if they are cancelled.
"""

from __future__ import annotations

import asyncio
import base64
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, Self, get_args

from sandbox.protocol.wire import InvalidMessage, frame, value_of
from sandbox.remote.bootstrap import encoded_sources
from sandbox.remote.line import Assembler, TooLong, encode_message, lines
from sandbox.types import Ended, Json, Limits, LostItem, Outcome, SandboxError

_HELLO_S = 60.0
"""The time for the command to start and answer in a new sandbox."""
_SILENCE_S = 30.0
"""The supervisor enforces a job's deadline. After this further time, the sandbox counts as lost."""
_BYTES_AHEAD = 1 << 20
_MAX_SENT = 1 << 16
_EXPANSION = 8
"""The maximum growth of output: six times in JSON, and by a third in base64."""
_SPARE_BYTES = 1 << 20
_PARTS_AHEAD = 64
_STDERR_CHARACTERS = 2000

STOPPED = "stopped by the host"


@dataclass(frozen=True)
class SandboxRequirements:
    """The requirements of a sandbox."""

    ttl_s: float
    """The time after which the sandbox ends by itself, in case this host is killed."""
    memory_mib: int
    processes: int


class Command:
    """The bootstrap script as a command in a sandbox with its standard streams.

    The remote host calls `feed_stdout` and `feed_stderr`, and sets `send`.
    """

    def __init__(self) -> None:
        self._parts: asyncio.Queue[bytes | SandboxError] = asyncio.Queue(_PARTS_AHEAD)
        self.stderr_text = ""
        """The end of its standard error."""
        self.send: Callable[[str], Awaitable[None]]
        """Sends whole lines to its standard input; raises `SandboxError`."""

    async def feed_stdout(self, text: str) -> None:
        """Adds standard output; waits if much of it is unread."""
        if text:
            await self._parts.put(text.encode("utf-8", "replace"))

    async def feed_stderr(self, text: str) -> None:
        """Adds standard error."""
        self.stderr_text = (self.stderr_text + text)[-_STDERR_CHARACTERS:]

    @asynccontextmanager
    async def running(self, ended: Callable[[], Awaitable[None]]) -> AsyncIterator[Self]:
        """A context in which `ended` waits for the command's end; it may raise `SandboxError`."""

        async def listen() -> None:
            end: bytes | SandboxError = b""
            try:
                await ended()
            except SandboxError as error:
                end = error
            await self._parts.put(end)

        listener = asyncio.create_task(listen())
        try:
            yield self
        finally:
            listener.cancel()
            await asyncio.wait([listener])

    async def receive(self) -> bytes:
        """The next standard output; empty at the end."""
        part = await self._parts.get()
        if isinstance(part, SandboxError):
            raise part
        return part


class RemoteHost(Protocol):
    """Creates remote sandboxes."""

    @property
    def name(self) -> str:
        """The backend's name."""

    def describe(self) -> str:
        """A description of its sandboxes, for people."""

    def create_sandbox(self, need: SandboxRequirements) -> AbstractAsyncContextManager[Command]:
        """A new sandbox with the running bootstrap script, deleted at the end of the context.

        Raises `SandboxError` with the next step and without the key. The context is left in the
        task that entered it, and that task is not cancelled.
        """


class Link:
    """The connection to one supervisor."""

    def __init__(
        self, host: RemoteHost, order: tuple[Any, ...], need: SandboxRequirements, limits: Limits
    ) -> None:
        self._host = host
        self._order = order
        self._need = need
        allowed = _EXPANSION * (limits.message_bytes + limits.output_bytes) + _SPARE_BYTES
        self.assembler = Assembler(allowed)
        self._outbox: deque[str] = deque()
        self._outbox_bytes = 0
        self.process: RemoteProcess | None = None
        """The remote job; `None` for a batch."""
        self.replies: deque[tuple[int, Json | LostItem]] = deque()
        """The replies of a batch, in order."""
        self._stop = asyncio.Event()
        self._changed = asyncio.Event()
        self.failure: SandboxError | None = None
        self.reported = False
        """Whether the failure was raised to a caller."""
        self.has_order = False
        """Whether the supervisor has answered and has its order."""
        self._task = asyncio.create_task(self._run(), name=f"link to {host.name}")

    def queue(self, *message: Any) -> None:
        """Queues a message for the supervisor."""
        for line in lines(encode_message(message)):
            self._outbox.append(line)
            self._outbox_bytes += len(line)
        self.notify()

    async def wait_for_room(self) -> None:
        """Waits until the outbox is small enough."""
        while self._outbox_bytes > _BYTES_AHEAD and not self.is_over:
            await self.wait_for_change()

    @property
    def is_over(self) -> bool:
        """Whether the link has ended or is stopping."""
        return self._stop.is_set()

    def fail(self, error: SandboxError) -> None:
        """Ends the link; the first error is kept."""
        if self.failure is None:
            self.failure = error
        self.stop()

    def stop(self) -> None:
        """Makes the link end, without waiting for it."""
        self._stop.set()
        self.notify()

    async def close(self) -> None:
        """Ends the link and waits until the sandbox is deleted, even if cancelled."""
        self.stop()
        cancelled: asyncio.CancelledError | None = None
        while not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError as error:
                cancelled = error
        self._task.result()  # an exception here is a bug
        if cancelled is not None:
            raise cancelled

    async def end(self, error: BaseException | None = None) -> None:
        """Closes the link; raises an unreported failure, or adds it to `error` as a note."""
        await self.close()
        if self.failure is None or self.failure is error:
            return
        if error is not None:
            error.add_note(str(self.failure))
        elif not self.reported:
            raise self.failure

    def notify(self) -> None:
        """Wakes all callers of `wait_for_change`."""
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait_for_change(self) -> None:
        """Waits for the next event of this link."""
        await self._changed.wait()

    async def until(self, ready: Callable[[], bool], max_s: float | None) -> None:
        """Waits until `ready` or the end of the link; raises the failure that ended it.

        The supervisor enforces the deadline `max_s` from its start on. If nothing arrives for long
        after that, the sandbox counts as lost.
        """
        loop = asyncio.get_running_loop()
        silent_at: float | None = None
        while not ready():
            if self.failure is not None:
                self.reported = True
                raise self.failure
            if self.is_over:
                if self._task.done():
                    self._task.result()  # an exception here is a bug
                return
            if silent_at is None and self.has_order and max_s is not None:
                silent_at = loop.time() + max_s + _SILENCE_S
            try:
                async with asyncio.timeout_at(silent_at):
                    await self.wait_for_change()
            except TimeoutError:
                self.fail(
                    SandboxError(
                        f"{self._host.name}: the sandbox sent nothing for {_SILENCE_S:g} s after "
                        "its deadline; its machine or the network failed, so try again"
                    )
                )

    async def _run(self) -> None:
        try:
            async with self._host.create_sandbox(self._need) as command:
                talk = asyncio.create_task(self._exchange_messages(command))
                stopped = asyncio.create_task(self._stop.wait())
                await asyncio.wait([talk, stopped], return_when=asyncio.FIRST_COMPLETED)
                stopped.cancel()
                talk.cancel()
                await asyncio.wait([talk, stopped])
                if not talk.cancelled():
                    talk.result()
        except SandboxError as error:
            self.fail(error)
        except TooLong as error:
            self.fail(SandboxError(f"{self._host.name}: its sandbox sent {error}"))
        finally:
            self.stop()

    async def _exchange_messages(self, command: Command) -> None:
        try:
            async with asyncio.timeout(_HELLO_S):
                await command.send("".join(lines(encoded_sources())))
                while not self.has_order:
                    await self._receive(command)
        except TimeoutError:
            raise SandboxError(
                f"{self._host.name}: no answer from the sandbox within {_HELLO_S:g} s; check that "
                f"it has a python3{_stderr_suffix(command)}"
            ) from None
        writing = asyncio.create_task(self._write(command))
        try:
            while True:
                await self._receive(command)
        finally:
            writing.cancel()
            await asyncio.wait([writing])

    async def _receive(self, command: Command) -> None:
        part = await command.receive()
        if not part:
            raise SandboxError(
                f"{self._host.name}: the sandbox ended before the job did; try again"
                f"{_stderr_suffix(command)}"
            )
        for message in self.assembler.feed(part):
            self._handle_message(message)

    async def _write(self, command: Command) -> None:
        try:
            while True:
                while not self._outbox:
                    await self.wait_for_change()
                text = ""
                while self._outbox and len(text) + len(self._outbox[0]) <= _MAX_SENT:
                    text += self._outbox.popleft()
                await command.send(text)
                self._outbox_bytes -= len(text)
                self.notify()
        except SandboxError as error:
            self.fail(error)

    def _handle_message(self, message: str) -> None:
        words = message.split(" ")
        if words[0] == "hello" and not self.has_order:
            self.has_order = True
            self._outbox.extendleft(reversed(lines(encode_message(self._order))))
            self.notify()
            return
        try:
            match words:
                case ["refused", body]:
                    raise SandboxError(f"{self._host.name}: {value_of(_decoded(body))}")
                case ["message", body] if self.process is not None:
                    self.process.messages.append(value_of(_decoded(body)))
                case ["outcome", body] if self.process is not None:
                    self.process.take_outcome(outcome_of(_decoded(body)))
                case ["reply", index, body] if self.process is None:
                    self.replies.append((int(index), value_of(_decoded(body))))
                case ["lost", index, body] if self.process is None:
                    lost = LostItem(**_checked(_decoded(body), LostItem))
                    self.replies.append((int(index), lost))
                case _:
                    raise ValueError(message)
        except SandboxError as error:
            self.fail(error)
        except (ValueError, TypeError, InvalidMessage) as error:
            details = f"{error!r:.200}"
            self.fail(SandboxError(
                f"{self._host.name}: its sandbox sent an invalid message: {details}"
            ))
        self.notify()


class RemoteProcess:
    """A remote job; implements `Process`."""

    def __init__(self, link: Link, limits: Limits) -> None:
        self._link = link
        self._wall_s = limits.wall_s
        self.messages: deque[Json] = deque()
        """Unreceived messages."""
        self._outcome: Outcome | None = None
        self._late = ""

    def take_outcome(self, outcome: Outcome) -> None:
        """Sets the outcome of the job."""
        if self._late and outcome.limit == STOPPED:
            outcome = replace(outcome, ended="timeout", limit=self._late)
        self._outcome = outcome

    async def send(self, message: Json) -> None:
        """See `Process`."""
        frame(message)  # rejects values that are not JSON
        if self._outcome is None and not self._link.is_over:
            self._link.queue("send", message)
            await self._link.wait_for_room()

    async def receive(self, timeout_s: float | None = None) -> Json | Outcome:
        """See `Process`."""
        if not self._late and not await self._arrives_in_time(timeout_s):
            # A message that arrives later is not the answer.
            self._late = f"answer time {timeout_s:g} s"
            self._link.queue("kill")
        if self.messages and not self._late:
            return self.messages.popleft()
        return await self.finish()

    async def finish(self) -> Outcome:
        """See `Process`."""
        await self._link.until(lambda: self._outcome is not None, self._wall_s)
        if self._outcome is None:
            self._outcome = Outcome("killed", signal="SIGKILL", limit=STOPPED)
        if self.messages:
            self._outcome = replace(self._outcome, messages=tuple(self.messages))
            self.messages.clear()
        return self._outcome

    async def kill(self) -> Outcome:
        """See `Process`."""
        if self._outcome is None and not self._link.is_over:
            self._link.queue("kill")
        return await self.finish()

    async def _arrives_in_time(self, timeout_s: float | None) -> bool:
        """Whether a message or the end arrived within the time, which starts with the job."""
        await self._link.until(lambda: self._link.has_order, None)
        try:
            async with asyncio.timeout(timeout_s):
                await self._link.until(
                    lambda: bool(self.messages) or self._outcome is not None, None
                )
        except TimeoutError:
            return False
        return True


def outcome_of(body: bytes) -> Outcome:
    """Parses the supervisor's outcome; raises `ValueError` if it is invalid."""
    document = _checked(body, Outcome)
    if document["messages"] or not isinstance(document["denied"], list):
        raise ValueError("an outcome with messages")
    document["messages"], document["denied"] = (), tuple(map(str, document["denied"]))
    return Outcome(**document)


def _checked(body: bytes, kind: type[Outcome] | type[LostItem]) -> dict[str, Any]:
    document = value_of(body)
    if not isinstance(document, dict) or document.keys() != {field.name for field in fields(kind)}:
        raise ValueError(f"not a valid {kind.__name__}")
    if document["ended"] not in get_args(Ended):
        raise ValueError(f"unknown end: {str(document['ended'])[:40]}")
    for name in ("stdout", "stderr", "signal", "limit"):
        if not isinstance(document.get(name, ""), str):
            raise ValueError(f"not a text: {name}")
    if not isinstance(document.get("exit_code"), int | None):
        raise ValueError("invalid exit code")
    if not isinstance(document.get("wall_s", 0.0), int | float):
        raise ValueError("invalid wall_s")
    return document


def _decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)  # binascii.Error is a ValueError


def _stderr_suffix(command: Command) -> str:
    text = command.stderr_text.strip()
    return f" (its standard error: {text})" if text else ""
