"""Our end of the line to a porter: one sandbox, the job in it, and its certain end.

A link lives in a task of its own, which is never cancelled: it is asked to stop, and then deletes
the sandbox on every path. Its callers wait until then, even if they are cancelled.
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
from sandbox.remote.line import Assembler, TooLong, lines, packed
from sandbox.remote.parcel import parcel
from sandbox.types import Ended, Json, Limits, LostItem, Outcome, SandboxError

_HELLO_S = 60.0
"""For the command to start and answer, once the sandbox is there."""
_SILENCE_S = 30.0
"""Past a job's own deadline, which the porter keeps: then nobody is there any more."""
_BYTES_AHEAD = 1 << 20
_MAX_SENT = 1 << 16
_EXPANSION = 8
"""A byte of output can become six in JSON, and four become five and a bit in base64."""
_SPARE_BYTES = 1 << 20
_PARTS_AHEAD = 64
_COMPLAINT_CHARACTERS = 2000

STOPPED = "stopped by the host"


@dataclass(frozen=True)
class Need:
    """What a sandbox is lent for."""

    life_s: float
    """The sandbox ends by itself after so long, should its host be killed."""
    memory_mib: int
    processes: int


class Command:
    """The loader as a command in a sandbox: its standard streams, however they are carried.

    The host that carries the streams calls `put` and `complain`, and sets `send`.
    """

    def __init__(self) -> None:
        self._parts: asyncio.Queue[bytes | SandboxError] = asyncio.Queue(_PARTS_AHEAD)
        self.complaint = ""
        """The end of what it wrote to standard error."""
        self.send: Callable[[str], Awaitable[None]]
        """Gives whole lines to its standard input; raises `SandboxError`."""

    async def put(self, text: str) -> None:
        """More of its standard output; waits where much of it was not read yet."""
        if text:
            await self._parts.put(text.encode("utf-8", "replace"))

    async def complain(self, text: str) -> None:
        """More of its standard error."""
        self.complaint = (self.complaint + text)[-_COMPLAINT_CHARACTERS:]

    @asynccontextmanager
    async def heard(self, ended: Callable[[], Awaitable[None]]) -> AsyncIterator[Self]:
        """Itself, while `ended` waits for its end, which may be a `SandboxError`."""

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
        """More of its standard output; empty when it has ended."""
        part = await self._parts.get()
        if isinstance(part, SandboxError):
            raise part
        return part


class RemoteHost(Protocol):
    """Who lends sandboxes."""

    @property
    def name(self) -> str:
        """The backend's."""

    def describe(self) -> str:
        """One line for people: what a sandbox of this host is."""

    def lend(self, need: Need) -> AbstractAsyncContextManager[Command]:
        """A fresh sandbox with the loader running in it, deleted at the end of the context.

        Raises `SandboxError` with what to do about it, never with a key in its words. The
        context is left in the task that entered it, and that task is not cancelled.
        """


class Link:
    """The talk with one porter."""

    def __init__(
        self, host: RemoteHost, order: tuple[Any, ...], need: Need, limits: Limits
    ) -> None:
        self._host = host
        self._order = order
        self._need = need
        allowed = _EXPANSION * (limits.message_bytes + limits.output_bytes) + _SPARE_BYTES
        self.assembler = Assembler(allowed)
        self._outbox: deque[str] = deque()
        self._outbox_bytes = 0
        self.process: RemoteProcess | None = None
        """The job there; none where the order is a batch."""
        self.replies: deque[tuple[int, Json | LostItem]] = deque()
        """Of a batch, in the order in which they came."""
        self._stop = asyncio.Event()
        self._moved = asyncio.Event()
        self.failure: SandboxError | None = None
        self.reported = False
        """Somebody who waited has met the failure."""
        self.begun = False
        """The porter has said hello and has its order."""
        self._task = asyncio.create_task(self._live(), name=f"link to {host.name}")

    def tell(self, *message: Any) -> None:
        """A message for the porter, sent when its turn comes."""
        for line in lines(packed(message)):
            self._outbox.append(line)
            self._outbox_bytes += len(line)
        self.move()

    async def room(self) -> None:
        """Waits until not too much is waiting to be sent."""
        while self._outbox_bytes > _BYTES_AHEAD and not self.over:
            await self.change()

    @property
    def over(self) -> bool:
        """Nothing more will come."""
        return self._stop.is_set()

    def fail(self, error: SandboxError) -> None:
        """Ends the link; the first error stands."""
        if self.failure is None:
            self.failure = error
        self.stop()

    def stop(self) -> None:
        """Tells the link to end, without waiting for it."""
        self._stop.set()
        self.move()

    async def close(self) -> None:
        """Ends the link and returns when the sandbox is deleted, also when cancelled."""
        self.stop()
        cancelled: asyncio.CancelledError | None = None
        while not self._task.done():
            try:
                await asyncio.wait([self._task])
            except asyncio.CancelledError as error:
                cancelled = error
        self._task.result()  # a bug of ours, if it raises
        if cancelled is not None:
            raise cancelled

    async def end(self, error: BaseException | None = None) -> None:
        """Closes it; a failure that nobody has met by then is raised, or noted on the error."""
        await self.close()
        if self.failure is None or self.failure is error:
            return
        if error is not None:
            error.add_note(str(self.failure))
        elif not self.reported:
            raise self.failure

    def move(self) -> None:
        """Wakes all who wait for a change."""
        self._moved.set()
        self._moved = asyncio.Event()

    async def change(self) -> None:
        """Waits until something has happened on this link."""
        await self._moved.wait()

    async def until(self, ready: Callable[[], bool], most_s: float | None) -> None:
        """Waits until `ready` or the end of the link; raises the failure that ended it.

        The porter keeps the deadline `most_s`, which begins when it does. Nobody is there any
        more when nothing has come for long after that.
        """
        loop = asyncio.get_running_loop()
        silent_at: float | None = None
        while not ready():
            if self.failure is not None:
                self.reported = True
                raise self.failure
            if self.over:
                if self._task.done():
                    self._task.result()  # a bug of ours, if it raises
                return
            if silent_at is None and self.begun and most_s is not None:
                silent_at = loop.time() + most_s + _SILENCE_S
            try:
                async with asyncio.timeout_at(silent_at):
                    await self.change()
            except TimeoutError:
                self.fail(
                    SandboxError(
                        f"{self._host.name}: the sandbox was silent for {_SILENCE_S:g} s past its "
                        "deadline; its machine or the network to it is gone, so try again"
                    )
                )

    async def _live(self) -> None:
        try:
            async with self._host.lend(self._need) as command:
                talk = asyncio.create_task(self._talk(command))
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

    async def _talk(self, command: Command) -> None:
        try:
            async with asyncio.timeout(_HELLO_S):
                await command.send("".join(lines(parcel())))
                while not self.begun:
                    await self._hear(command)
        except TimeoutError:
            raise SandboxError(
                f"{self._host.name}: no answer from the sandbox within {_HELLO_S:g} s; is there a "
                f"python3 in it?{_said(command)}"
            ) from None
        writing = asyncio.create_task(self._write(command))
        try:
            while True:
                await self._hear(command)
        finally:
            writing.cancel()
            await asyncio.wait([writing])

    async def _hear(self, command: Command) -> None:
        part = await command.receive()
        if not part:
            raise SandboxError(
                f"{self._host.name}: the sandbox ended before the job did; try again"
                f"{_said(command)}"
            )
        for message in self.assembler.feed(part):
            self._take(message)

    async def _write(self, command: Command) -> None:
        try:
            while True:
                while not self._outbox:
                    await self.change()
                text = ""
                while self._outbox and len(text) + len(self._outbox[0]) <= _MAX_SENT:
                    text += self._outbox.popleft()
                await command.send(text)
                self._outbox_bytes -= len(text)
                self.move()
        except SandboxError as error:
            self.fail(error)

    def _take(self, message: str) -> None:
        words = message.split(" ")
        if words[0] == "hello" and not self.begun:
            self.begun = True
            self._outbox.extendleft(reversed(lines(packed(self._order))))
            self.move()
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
            said = f"{error!r:.200}"
            self.fail(SandboxError(f"{self._host.name}: its sandbox sent no message: {said}"))
        self.move()


class RemoteProcess:
    """A job on the other side; keeps the protocol's `Process`."""

    def __init__(self, link: Link, limits: Limits) -> None:
        self._link = link
        self._wall_s = limits.wall_s
        self.messages: deque[Json] = deque()
        """What it sent and nobody has received."""
        self._outcome: Outcome | None = None
        self._late = ""

    def take_outcome(self, outcome: Outcome) -> None:
        """The job ended so."""
        if self._late and outcome.limit == STOPPED:
            outcome = replace(outcome, ended="timeout", limit=self._late)
        self._outcome = outcome

    async def send(self, message: Json) -> None:
        """Gives the program its next `jail.receive()`. A dead process is no error here."""
        frame(message)  # refuses what is no JSON value, here and not there
        if self._outcome is None and not self._link.over:
            self._link.tell("send", message)
            await self._link.room()

    async def receive(self, timeout_s: float | None = None) -> Json | Outcome:
        """The program's next message, or its `Outcome`; see the protocol."""
        if not self._late and not await self._within(timeout_s):
            # What arrives after an answer was given up is not taken for that answer.
            self._late = f"answer time {timeout_s:g} s"
            self._link.tell("kill")
        if self.messages and not self._late:
            return self.messages.popleft()
        return await self.finish()

    async def finish(self) -> Outcome:
        """Waits for the end and returns the outcome with all messages not received yet."""
        await self._link.until(lambda: self._outcome is not None, self._wall_s)
        if self._outcome is None:
            self._outcome = Outcome("killed", signal="SIGKILL", limit=STOPPED)
        if self.messages:
            self._outcome = replace(self._outcome, messages=tuple(self.messages))
            self.messages.clear()
        return self._outcome

    async def kill(self) -> Outcome:
        """Ends the process and everything it started; idempotent."""
        if self._outcome is None and not self._link.over:
            self._link.tell("kill")
        return await self.finish()

    async def _within(self, timeout_s: float | None) -> bool:
        """Whether a message or the end came within the time, which runs once the job does."""
        await self._link.until(lambda: self._link.begun, None)
        try:
            async with asyncio.timeout(timeout_s):
                await self._link.until(
                    lambda: bool(self.messages) or self._outcome is not None, None
                )
        except TimeoutError:
            return False
        return True


def outcome_of(body: bytes) -> Outcome:
    """An outcome as the porter tells it; raises `ValueError` for any other."""
    document = _checked(body, Outcome)
    if document["messages"] or not isinstance(document["denied"], list):
        raise ValueError("an outcome with messages")
    document["messages"], document["denied"] = (), tuple(map(str, document["denied"]))
    return Outcome(**document)


def _checked(body: bytes, kind: type[Outcome] | type[LostItem]) -> dict[str, Any]:
    document = value_of(body)
    if not isinstance(document, dict) or document.keys() != {field.name for field in fields(kind)}:
        raise ValueError(f"no {kind.__name__}")
    if document["ended"] not in get_args(Ended):
        raise ValueError(f"no end: {str(document['ended'])[:40]}")
    for name in ("stdout", "stderr", "signal", "limit"):
        if not isinstance(document.get(name, ""), str):
            raise ValueError(f"no text: {name}")
    if not isinstance(document.get("exit_code"), int | None):
        raise ValueError("no exit code")
    if not isinstance(document.get("wall_s", 0.0), int | float):
        raise ValueError("no seconds")
    return document


def _decoded(text: str) -> bytes:
    return base64.b64decode(text, validate=True)  # binascii.Error is a ValueError


def _said(command: Command) -> str:
    complaint = command.complaint.strip()
    return f" (it complained: {complaint})" if complaint else ""
