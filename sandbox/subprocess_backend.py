"""The plain backend: a fresh interpreter for each job, held by what every Unix has.

The host learns of a job only through three pipes and the kernel: standard output, standard
error, the private channel, and the end of the process. Everything is driven by callbacks of
the event loop that started the job, so a job ends in order even when the task that wanted it
is cancelled. An end has one path, `_Running._left`: kill the group, find and kill what
escaped it, read what the pipes still hold, remove the folder, give the outcome.

What is enforced: time, memory, processes, file size, open files, output and messages; an
environment of fixed literals; a user of its own where the host is root. What is not: a job may
open sockets and read any file that its user may read. `describe` says so.
"""

from __future__ import annotations

import asyncio
import errno
import functools
import math
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from types import CodeType
from typing import TYPE_CHECKING, Literal

from sandbox.guest import CHANNEL, PEER, PROGRAM_NAME
from sandbox.quarters import Common, Quarters, Room, kill_all, remove, survivors
from sandbox.types import Ended, Job, Json, Lost, Outcome, SandboxError, SandboxUnavailable
from sandbox.wire import Garbled, Inbox, Message, frame

if TYPE_CHECKING:
    import resource

_READ_BYTES = 1 << 16
_FEW_ENTRIES = 200
"""A folder with at most so many entries is removed at once, a fuller one in a thread."""
_LOWEST_SOURCE = 16
"""Descriptors are moved up here before they are given places in the child."""
_ITEMS_AHEAD = 128
_BYTES_AHEAD = 1 << 20
_STDERR_KEPT = 2000
_DEATH_S = 10.0

Output = Literal["kept", "dropped"]


class SubprocessSandbox:
    """Runs each job in an interpreter of its own."""

    name = "subprocess"

    def __init__(self) -> None:
        if sys.platform == "win32":
            raise SandboxUnavailable(
                "code cannot be jailed on Windows; use WSL, Linux, macOS or a container. "
                "Saved runs can still be read and replayed here."
            )
        self._quarters = _quarters()

    def describe(self) -> str:
        """One line for people: the backend and what it holds back here."""
        limits = "limits on time, memory, processes, files and output, an empty environment"
        open_doors = "open: network, and files that any user may read"
        if self._quarters.has_spare_users:
            return f"subprocess: {limits}, a spare user for each job; {open_doors}"
        return (
            f"subprocess: {limits}; {open_doors}, this user's files, and signals to its "
            "processes; a daemon that hides well may survive"
        )

    async def run(self, job: Job) -> Outcome:
        """Runs one job to its end."""
        async with self.start(job) as process:
            return await process.finish()

    @asynccontextmanager
    async def start(self, job: Job) -> AsyncIterator[_Running]:
        """A running job to talk with; leaving the context kills it."""
        process = self._start(job)
        try:
            yield process
        finally:
            await process.kill()

    @asynccontextmanager
    async def pair(
        self, first: Job, second: Job, shared: bool = False
    ) -> AsyncIterator[tuple[_Running, _Running]]:
        """Two jobs whose `jail.peer` channels are joined, with a common folder if asked."""
        common = self._quarters.share() if shared else None
        try:
            async with self._pair(first, second, common) as processes:
                yield processes
        finally:
            if common is not None:
                # It may hold more than is removed in a moment; goes on when this is cancelled.
                await asyncio.to_thread(self._quarters.unshare, common)

    @asynccontextmanager
    async def _pair(
        self, first: Job, second: Job, common: Common | None
    ) -> AsyncIterator[tuple[_Running, _Running]]:
        one, other = socket.socketpair()
        with one, other:
            started = [self._start(first, common, peer=one)]
            try:
                started.append(self._start(second, common, peer=other))
                # Only the jobs may hold the ends, or neither would see the other's death.
                one.close()
                other.close()
                yield started[0], started[1]
            finally:
                for process in started:
                    process.stop("killed", "stopped by the host")
                for process in started:
                    await process.kill()

    @asynccontextmanager
    async def batch(self, job: Job) -> AsyncIterator[_Batch]:
        """A program kept running for many items."""
        batch = _Batch(lambda: self._start(job, output="dropped", endless=True), job)
        try:
            yield batch
        finally:
            await batch.close()

    def _start(
        self,
        job: Job,
        common: Common | None = None,
        peer: socket.socket | None = None,
        output: Output = "kept",
        endless: bool = False,
    ) -> _Running:
        program = _compiled(job.program, PROGRAM_NAME)
        modules = {
            name: (text, _compiled(text, f"<jail module {name}>"))
            for name, text in job.modules.items()
        }
        sites = self._quarters.sites(job.sites)
        room = self._quarters.enter(job.files, common)
        limits = job.limits
        try:
            orders = frame(
                {
                    "host": os.getpid(),
                    "program": program,
                    "source": job.program,
                    "modules": modules,
                    "payload": job.payload,
                    "files": dict(job.files),
                    "folder": room.work,
                    "shared": None if common is None else common.folder,
                    "sites": sites,
                    "user": room.user,
                    "groups": list(room.groups),
                    "peer": peer is not None,
                    "message_bytes": limits.message_bytes,
                    "limits": {
                        "cpu": 0 if endless else _whole_seconds(limits.cpu_s),
                        "memory": limits.memory_mib << 20,
                        "file": limits.file_mib << 20,
                        "open_files": limits.open_files,
                        "processes": limits.processes,
                        "core": 0,
                    },
                }
            )
            return _Running(self._quarters, room, job, orders, peer, output, endless)
        except BaseException:
            remove(room.folder)
            self._quarters.leave(room)
            raise


class _Running:
    """A job's process, seen from the host."""

    def __init__(
        self,
        quarters: Quarters,
        room: Room,
        job: Job,
        orders: bytes,
        peer: socket.socket | None,
        output: Output,
        endless: bool,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._quarters = quarters
        self._room = room
        self._limits = job.limits
        self._keeps_output = output == "kept"
        self.inbox = Inbox(job.limits.message_bytes)
        self._outbox = bytearray()
        self._output: dict[int, bytearray] = {}
        self._output_left = job.limits.output_bytes
        self._stopped: tuple[Ended, str] | None = None
        self._waiters: list[asyncio.Future[None]] = []
        self._outcome: Outcome | None = None
        self._failure: SandboxError | None = None
        self._exited = False
        self._answered_late = False
        self._reaped = False
        self._left_orphans = False
        self._cpu_s = 0.0
        self._status = 0
        self._started = time.monotonic()
        self.wall_s = 0.0

        self._pid, self._channel, self._stdout, self._stderr = _spawn(quarters, room, job, peer)
        for descriptor in (self._stdout, self._stderr):
            self._output[descriptor] = bytearray()
            self._loop.add_reader(descriptor, self._read_output, descriptor)
        self._loop.add_reader(self._channel, self._read_channel)
        self._open = {self._stdout, self._stderr, self._channel}
        self._deadline = (
            None
            if endless
            else self._loop.call_later(
                job.limits.wall_s, self._expire, f"wall time {job.limits.wall_s:g} s"
            )
        )
        self._watch()
        self.write(orders)

    async def send(self, message: Json) -> None:
        """Gives the program its next `jail.receive()`. A dead process is no error here."""
        self.write(frame(message))
        while len(self._outbox) > _BYTES_AHEAD and self._outcome is None:
            await self._change()

    async def receive(self, timeout_s: float | None = None) -> Json | Outcome:
        """The program's next message, or its `Outcome`; see the protocol."""
        message = await self.message(timeout_s)
        return message if isinstance(message, Outcome) else message.value

    async def message(self, timeout_s: float | None) -> Message | Outcome:
        """As `receive`, with what the host knows of the message."""
        if not self.inbox.messages and self._outcome is None:
            await self._until(lambda: bool(self.inbox.messages), timeout_s)
        if self.inbox.messages and not self._answered_late:
            return self.inbox.messages.popleft()
        return await self._end()

    async def finish(self) -> Outcome:
        """Waits for the end and returns the outcome with all messages not received yet."""
        return await self._end()

    async def kill(self) -> Outcome:
        """Ends the process and everything it started; idempotent."""
        self.stop("killed", "stopped by the host")
        return await self._end()

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
            self._kill_group()

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

    async def _end(self) -> Outcome:
        while self._outcome is None:
            if self._failure is not None:
                raise self._failure
            await self._change()
        if self.inbox.messages:
            left = tuple(message.value for message in self.inbox.messages)
            self.inbox.messages.clear()
            self._outcome = replace(self._outcome, messages=left)
        return self._outcome

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
        if self._channel not in self._open:
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
        del self._outbox[: self._send_now(self._outbox)]
        if not self._outbox:
            self._loop.remove_writer(self._channel)
        self._changed()

    def _read_channel(self) -> None:
        if self._channel not in self._open:
            return
        try:
            part = _read(self._channel, 4 * _READ_BYTES)
            if part is None:
                return
            if part:
                self.inbox.feed(part)
            else:
                self._close(self._channel)
                self.inbox.close()
        except Garbled as error:
            self._condemn("garbled", str(error))
            self._close(self._channel)
        self._changed()

    def _read_output(self, descriptor: int) -> None:
        if descriptor not in self._open:
            return
        part = _read(descriptor, _READ_BYTES)
        if part is None:
            return
        if not part:
            self._close(descriptor)
            return
        kept = self._output[descriptor]
        if not self._keeps_output:
            kept += part
            del kept[:-_STDERR_KEPT]
            return
        kept += part[: self._output_left]
        self._output_left -= len(part)
        if self._output_left < 0:
            self._output_left = 0
            # Killed before the pipe is closed, the process has no time to complain of that.
            self._condemn("output", f"output of more than {self._limits.output_bytes} bytes")
            self._close(descriptor)

    def _close(self, descriptor: int) -> None:
        self._open.discard(descriptor)
        self._loop.remove_reader(descriptor)
        if descriptor == self._channel:
            self._loop.remove_writer(descriptor)
            self._outbox.clear()
        os.close(descriptor)

    def _watch(self) -> None:
        """Calls `_left` in the loop once the process has ended."""
        self._pidfd = -1
        if hasattr(os, "pidfd_open"):
            try:
                self._pidfd = os.pidfd_open(self._pid)
            except OSError as error:
                if error.errno not in (errno.ENOSYS, errno.EPERM):
                    raise
        if self._pidfd >= 0:
            self._loop.add_reader(self._pidfd, self._left)
        else:
            threading.Thread(target=self._wait, name=f"job {self._pid}", daemon=True).start()

    def _wait(self) -> None:
        """Waits in a thread, for systems on which a loop cannot wait for a process."""
        end = os.wait4(self._pid, 0)
        self._reaped = True
        with suppress(RuntimeError):  # the loop is closed; nobody waits any more
            self._loop.call_soon_threadsafe(self._left, end)

    def _has_exited(self) -> bool:
        return self._exited or self._reaped or (self._pidfd >= 0 and _readable(self._pidfd))

    def _kill_group(self) -> None:
        """Kills the job's first process and its group; until it is reaped the number is its."""
        if not self._reaped:
            for kill in (os.kill, os.killpg):
                with suppress(ProcessLookupError, PermissionError):
                    kill(self._pid, signal.SIGKILL)

    def _left(self, end: tuple[int, int, resource.struct_rusage] | None = None) -> None:
        """The process has ended: the one path to an outcome."""
        self.wall_s = time.monotonic() - self._started
        if end is None:
            self._kill_group()
            end = os.wait4(self._pid, 0)
            self._reaped = True
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
        _, self._status, usage = end
        self._exited = True
        self._cpu_s = usage.ru_utime + usage.ru_stime
        if self._deadline is not None:
            self._deadline.cancel()
        self._sweep(time.monotonic() + _DEATH_S)

    def _sweep(self, deadline: float) -> None:
        """Kills what escaped the group until nothing is found any more."""
        left = survivors(self._room)
        if not left:
            self._drain()
            return
        self._left_orphans = True
        kill_all(left)
        if time.monotonic() > deadline:
            # Their user is never given to another job, and their folder stays theirs.
            self._close_all()
            self._failure = SandboxError(f"processes of a job cannot be killed: {left}")
            self._changed()
        else:
            self._loop.call_later(0.002, self._sweep, deadline)

    def _drain(self) -> None:
        """Every writer is dead: reads what is left in the pipes, then tidies up."""
        for descriptor in (self._stdout, self._stderr):
            while descriptor in self._open and _readable(descriptor):
                self._read_output(descriptor)
        while self._channel in self._open and _readable(self._channel):
            self._read_channel()
        self._close_all()
        try:
            removed = remove(self._room.folder, _FEW_ENTRIES)
        except OSError as error:
            self._settle(error)
            return
        if removed:
            self._settle()
        else:
            removal = self._loop.run_in_executor(None, remove, self._room.folder)
            removal.add_done_callback(lambda done: self._settle(done.exception()))

    def _close_all(self) -> None:
        for descriptor in list(self._open):
            self._close(descriptor)

    def _settle(self, trouble: BaseException | None = None) -> None:
        self._quarters.leave(self._room, self._left_orphans)
        if trouble is not None:
            self._failure = SandboxError(f"the folder of a job cannot be removed: {trouble}")
        else:
            self._outcome = self._judge()
        self._changed()

    def _judge(self) -> Outcome:
        ended, name, limit = self._how()
        code = os.waitstatus_to_exitcode(self._status)
        return Outcome(
            ended=ended,
            stdout=self._output[self._stdout].decode("utf-8", "backslashreplace"),
            stderr=self._output[self._stderr].decode("utf-8", "backslashreplace"),
            exit_code=code if code >= 0 else None,
            signal=name,
            limit=limit,
            wall_s=self.wall_s,
        )

    def _how(self) -> tuple[Ended, str, str]:
        code = os.waitstatus_to_exitcode(self._status)
        name = _signal_name(-code) if code < 0 else ""
        if self._stopped is not None:
            return self._stopped[0], name, self._stopped[1]
        if code < 0:
            # Past SIGXCPU comes SIGKILL, which says nothing; the time used does. The kernel
            # enforces by ticks and reports by a finer clock, so the two do not agree.
            late = -code == signal.SIGKILL and self._cpu_s >= 0.75 * self._limits.cpu_s
            cpu = -code == signal.SIGXCPU or late
            return "killed", name, f"cpu time {self._limits.cpu_s:g} s" if cpu else ""
        return ("completed" if code == 0 and self.inbox.ended else "exited"), "", ""


class _Batch:
    """One program for many items; what cannot answer is lost and the program starts anew."""

    def __init__(self, start: Callable[[], _Running], job: Job) -> None:
        self._start = start
        self._start_s = job.limits.wall_s
        self._process: _Running | None = None
        self._answered = 0
        self._busy = False

    async def replies(
        self, items: Sequence[Json], item_wall_s: float
    ) -> AsyncIterator[tuple[int, Json | Lost]]:
        """Yields (index, reply) for each item, in order; see the protocol."""
        if self._busy:
            raise SandboxError("a batch answers one list of items at a time")
        self._busy = True
        done = 0
        stillborn = 0
        try:
            while done < len(items):
                process = await self._running()
                if await process.until_ready(self._start_s):
                    stillborn = 0
                    async for reply in self._exchange(process, items, done, item_wall_s):
                        done += 1
                        yield done - 1, reply
                    continue
                # It died before it asked for an item, so no item is at fault. Twice in a row
                # is no accident, and the rest would meet the same.
                lost = _lost(await process.kill())
                stillborn += 1
                for index in range(done, done + 1 if stillborn == 1 else len(items)):
                    done = index + 1
                    yield index, lost
        finally:
            self._busy = False
            if done < len(items):
                # The reader went away; answers to items in flight must not meet the next list.
                await self.close()

    async def close(self) -> None:
        """Ends the program."""
        if self._process is not None:
            process, self._process = self._process, None
            await process.kill()

    async def _running(self) -> _Running:
        if self._process is None or self._process.over:
            await self.close()
            self._process = self._start()
            self._answered = 0
        return self._process

    async def _exchange(
        self, process: _Running, items: Sequence[Json], first: int, item_wall_s: float
    ) -> AsyncIterator[Json | Lost]:
        """Replies from this process until one is lost. Items are sent ahead, so that it is
        never idle; it takes them in order, so the first without a reply is the one at fault."""
        ahead: deque[int] = deque()
        ahead_bytes = 0
        for index in range(first, len(items)):
            if len(ahead) < _ITEMS_AHEAD // 2:
                frames = bytearray()
                while (
                    index + len(ahead) < len(items)
                    and len(ahead) < _ITEMS_AHEAD
                    and (not ahead or ahead_bytes < _BYTES_AHEAD)
                ):
                    part = frame(items[index + len(ahead)])
                    ahead.append(len(part))
                    ahead_bytes += len(part)
                    frames += part
                process.write(frames)
            reply = await process.message(item_wall_s)
            if isinstance(reply, Outcome):
                yield _lost(reply)
                return
            if reply.count != self._answered + 1:
                process.stop("garbled", "not one reply to one item")
                lost = _lost(await process.kill())
                # One reply too many came from the item before, so this one is tried again.
                if reply.count != self._answered:
                    yield lost
                return
            self._answered += 1
            ahead_bytes -= ahead.popleft()
            process.inbox.renew()
            yield reply.value


def _spawn(
    quarters: Quarters, room: Room, job: Job, peer: socket.socket | None
) -> tuple[int, int, int, int]:
    """Starts the guest; returns its pid and our ends of its channel, output and errors."""
    if not 0 <= job.seed < 1 << 32:
        raise SandboxError(f"a job's seed must be 0 to 4294967295, not {job.seed}")
    interpreter = quarters.interpreter
    environment = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": room.work,
        "TMPDIR": room.tmp,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONUTF8": "1",
        "PYTHONHASHSEED": str(job.seed),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        # A C library's arenas reserve 64 MiB of address space for each thread.
        "MALLOC_ARENA_MAX": "1",
        "CODE_JAIL": room.mark,
        **interpreter.environment,
    }
    command = [
        interpreter.executable, "-S", "-s", "-B", "-P", quarters.guest, f"CODE_JAIL={room.mark}",
    ]
    ours: list[int] = []
    theirs: list[int] = []
    try:
        theirs.append(_standard_input(job.stdin))
        for _ in range(2):
            reader, writer = os.pipe()
            ours.append(reader)
            theirs.append(writer)
        host_end, guest_end = socket.socketpair()
        ours.append(host_end.detach())
        theirs.append(guest_end.detach())
        if peer is not None:
            theirs.append(os.dup(peer.fileno()))
        for index, descriptor in enumerate(theirs):
            theirs[index] = _moved_up(descriptor)
        places = [0, 1, 2, CHANNEL, PEER][: len(theirs)]
        pid = os.posix_spawn(
            interpreter.executable,
            command,
            environment,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, source, place)
                for source, place in zip(theirs, places, strict=True)
            ],
            setsid=True,
            setsigmask=(),
            setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
        )
    except OSError as error:
        for descriptor in ours:
            os.close(descriptor)
        raise SandboxError(f"a job cannot be started: {error}") from error
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    for descriptor in ours:
        os.set_blocking(descriptor, False)
    return pid, ours[2], ours[0], ours[1]


def _standard_input(text: str) -> int:
    """A descriptor at the start of a file that holds `text`."""
    if not text:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        file.write(text.encode("utf-8", "surrogatepass"))
        file.seek(0)
        return os.dup(file.fileno())


def _moved_up(descriptor: int) -> int:
    """The same file at a number that no place in the child has."""
    import fcntl  # not on Windows, where this module is still imported to say so

    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _LOWEST_SOURCE)
    os.close(descriptor)
    return moved


def _read(descriptor: int, size: int) -> bytes | None:
    """The bytes that are there; `None` when there are none yet, empty at the end."""
    try:
        return os.read(descriptor, size)
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return b""


def _readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


@functools.lru_cache(maxsize=64)
def _compiled(source: str, name: str) -> CodeType:
    try:
        return compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise SandboxError(f"{name} is not Python: {error}") from error


def _quarters() -> Quarters:
    """The quarters of this process; a forked copy of it makes its own."""
    return _quarters_of(os.getpid())


@functools.cache
def _quarters_of(pid: int) -> Quarters:
    return Quarters()


def _whole_seconds(seconds: float) -> int:
    """The kernel counts cpu time in whole seconds, at least one."""
    return max(1, math.ceil(seconds))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no name
        return f"signal {number}"


def _lost(outcome: Outcome) -> Lost:
    return Lost(outcome.ended, outcome.limit, outcome.stderr[-_STDERR_KEPT:])
