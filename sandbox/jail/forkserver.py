"""The host's side of a fork server: starts it, requests workers, and handles their exits.

A *worker* is a jailed child process that runs one job and ends. A few workers are started, jailed
and warmed up in advance. A worker's *slot* is its folder, which the server empties for the next
worker.

The host trusts the fork server, in which no untrusted code runs, but no other process. Still, an
invalid answer closes the server, and the next job gets a new one.
"""

from __future__ import annotations

import array
import asyncio
import json
import marshal
import os
import secrets
import signal
import socket
import tempfile
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sandbox import __name__ as PACKAGE
from sandbox.inside.zygote import ANSWER, ENDED, FORK, FREE, KILL, REQUEST
from sandbox.jail.fair_queue import FairQueue, SlotRequest
from sandbox.levels import Isolation, JailLevel
from sandbox.protocol.job_message import environment, job_message, loaded
from sandbox.protocol.wire import frame
from sandbox.sandbox import JAIL_STARTS
from sandbox.types import Job, SandboxDied, SandboxError
from sandbox.workspaces import JailPython, Workspaces

START_S = 30.0
SLOTS = 24
"""The number of concurrent jobs of a server; others wait, see `fair_queue`."""
SCRATCH_MIB = 64
"""The maximum size of all files in a job's folders."""
THREADS = 1024
"""The maximum processes and threads of all jobs of a server."""
_RESTOCK_S = 0.002
_READY = 2
"""The number of ready workers."""
_WARM_UP_PROGRAM = """\
def passes(texts, *, most=3):
    found = {text: (index, float(index)) for index, text in enumerate(texts) if text}
    try:
        return sorted(found, key=lambda text: found[text][0])[:most] == [*texts][:most]
    except (KeyError, TypeError) as error:
        raise ValueError(f"{error!r} of {len(found)}") from None
passes(jail.payload)
"""
"""A program without effects that resembles a small job."""


class LevelUnsupported(Exception):
    """The system does not support this level; the text names the missing layer."""


@dataclass(frozen=True)
class Profile:
    """The common properties of all workers of a server."""

    level: JailLevel
    seed: int = 0
    package_folders: tuple[str, ...] = ()
    modules: tuple[tuple[str, str], ...] = ()
    preload: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    """The permissions of its jobs beyond one process without a network; only at L4."""
    python: str = ""
    """The interpreter's path; empty uses the host's."""


@dataclass(eq=False)
class Worker:
    """A child that waits for its job or runs it."""

    number: int
    slot: int
    channel: int
    stdin: int
    stdout: int
    stderr: int
    """The host's descriptors; -1 if not needed."""
    end: tuple[int, float] | None = None
    """Wait status and seconds of CPU time after the end."""
    lost: bool = False
    """Whether its server ended, so that its own end is unknown."""
    on_end: Callable[[], None] | None = None
    on_abandoned: Callable[[], None] | None = None
    """Called instead of `on_end` if the event loop of the job is closed."""

    def close(self, channel: bool = False) -> None:
        """Closes the host's descriptors, optionally including the channel."""
        for descriptor in (self.stdin, self.stdout, self.stderr, self.channel if channel else -1):
            if descriptor >= 0:
                os.close(descriptor)


class ForkServer:
    """One fork server; belongs to one event loop at a time."""

    isolation: Isolation
    """The result of its canaries, set before it serves any job."""

    def __init__(self, profile: Profile, workspaces: Workspaces) -> None:
        self.profile = profile
        self.base = ""
        """The path of the jobs' folders in the server's file system."""
        self.outside_canaries: dict[str, str] = {}
        self.started_s = 0.0
        self.broken = ""
        self._workspaces = workspaces
        self._stock: deque[Worker] = deque()
        """Ready workers."""
        self._wanted = False
        """Whether workers should be started in advance."""
        self._workers: dict[int, Worker] = {}
        self._count = 0
        self._restocking = False
        self._free = deque(range(SLOTS))
        # Random names: a job could test the existence of paths that it cannot open.
        self._slots = [secrets.token_hex(8) for _ in range(SLOTS)]
        self._queue = FairQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._began = 0.0
        self.used = time.monotonic()
        warm_up_job = Job(_WARM_UP_PROGRAM, payload=[_WARM_UP_PROGRAM] * 4, python=profile.python)
        self._warm_up_frame = frame(job_message(warm_up_job) | {"modules": {}})
        """A job run while a worker waits, so that its memory pages are copied by then."""

    def _begin(self) -> None:
        self._began = time.monotonic()
        inner = ("slots", "root", "control", "control/inner")
        self._workspace = self._workspaces.make("server-", inner)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log = os.memfd_create("errors", os.MFD_CLOEXEC)
        try:
            self.pid = self._spawn(theirs)
        except BaseException as error:
            self._control.close()
            os.close(self._log)
            self._workspaces.end_server(self._workspace)
            if isinstance(error, OSError):
                raise SandboxError(f"the fork server cannot be started: {error}") from error
            raise
        finally:
            theirs.close()
        self._control.setblocking(False)

    async def start(self) -> None:
        """Starts the process and waits until it is jailed.

        Raises `LevelUnsupported` if the level is not supported.
        """
        self._begin()
        JAIL_STARTS["server"] += 1
        loop = asyncio.get_running_loop()
        try:
            answer = await asyncio.wait_for(loop.sock_recv(self._control, 1 << 16), START_S)
            if not answer:
                raise ConnectionError("it ended")
        except (TimeoutError, OSError) as error:
            self.close(f"no answer: {error!r}")
            raise SandboxError(f"the fork server did not start: {self.broken}") from error
        except BaseException:
            self.close("cancelled")
            raise
        # Trusted: no untrusted code has run in the fork server.
        report = json.loads(answer)
        if "refused" in report:
            self.close(report["refused"])
            raise LevelUnsupported(report["refused"])
        self.base = report["base"]
        self.outside_canaries = report["controls"]
        self.started_s = time.monotonic() - self._began
        self.adopt(loop)

    def folder(self, worker: Worker) -> str:
        """The path of a worker's folders in the server's file system."""
        return f"{self.base}/{self._slots[worker.slot]}"

    def _spawn(self, theirs: socket.socket) -> int:
        profile = self.profile
        interpreter = self._workspaces.interpreter(profile.python)
        code = self._workspaces.code(profile.python)
        start = (
            f"import sys; sys.path[0] = {code!r}; from {PACKAGE}.inside.zygote import main; "
            f"sys.path.remove({code!r}); main()"
        )
        package_folders = self._workspaces.package_folders(profile.package_folders)
        variables = {"HOME": "/"}
        if "processes" in profile.grants:
            variables["PYTHONPATH"] = ":".join(package_folders)
        with tempfile.TemporaryFile() as file:
            marshal.dump(self._settings(package_folders, interpreter), file)
            file.seek(0)
            descriptors = [file.fileno(), self._log, self._log, theirs.fileno()]
            variables |= environment(profile.seed)
            return interpreter.start(["-c", start], variables, descriptors)

    def _settings(self, package_folders: list[str], interpreter: JailPython) -> dict[str, Any]:
        # Any: the values are marshalled and include code objects.
        profile = self.profile
        return {
            "level": profile.level,
            "seed": profile.seed,
            "user": self._workspace.user,
            "base": f"{self._workspace.folder}/slots",
            "root": f"{self._workspace.folder}/root",
            "control": f"{self._workspace.folder}/control/inner",
            "slots": self._slots,
            "grants": list(profile.grants),
            "scratch_bytes": SCRATCH_MIB << 20,
            "threads": THREADS,
            "library": interpreter.library,
            "shared": interpreter.shared,
            "readable": [one for one in (interpreter.shared, *package_folders) if one],
            "package_folders": package_folders,
            "modules": loaded(dict(profile.modules), profile.python),
            "preload": list(profile.preload),
        }

    def adopt(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Attaches this server to `loop`; false if it is broken or another loop uses it."""
        if self.broken:
            return False
        if self._loop is not loop:
            self._restocking = False
            if self._loop is not None and not self._loop.is_closed():
                return False
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                self.close("it ended between two event loops")
                return False
            self._loop = loop
            self._queue.forget()
            # Jobs of the closed loop have no owner any more.
            for worker in list(self._workers.values()):
                if worker.on_end is not None:
                    worker.on_end = None
                    self.kill(worker)
                    if worker.on_abandoned is not None:
                        worker.on_abandoned()
            loop.add_reader(self._control, self._read_control)
        self.used = time.monotonic()
        return True

    def may_retire(self) -> bool:
        """Whether no job and no other event loop uses it."""
        if self._loop is not None and not self._loop.is_closed():
            try:
                if asyncio.get_running_loop() is not self._loop:
                    return False
            except RuntimeError:
                return False
        return all(worker.on_end is None for worker in self._workers.values())

    def close(self, why: str = "closed") -> None:
        """Ends the server and all its children; idempotent."""
        if self.broken:
            return
        log = os.pread(self._log, 4000, 0).decode("utf-8", "replace").strip()
        self.broken = f"{why}\n{log}".strip()
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._control)
        self._control.close()
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._log)
        for worker in self._stock:
            self._drop(worker)
        self._stock.clear()
        alive = self._loop is not None and not self._loop.is_closed()
        for worker in list(self._workers.values()):
            worker.lost = True
            if worker.on_end is not None and alive:
                worker.on_end()
        self._workers.clear()
        if alive:
            self._queue.end()
        self._queue.forget()
        self._workspaces.end_server(self._workspace)

    async def worker(
        self, owner: str = "", *, reads: bool = False, silent: bool = False, is_long: bool = False
    ) -> Worker:
        """A worker for a job; raises `SandboxDied` if the server has ended.

        Args:
            owner: The owner of the job.
            reads: Whether the job has standard input.
            silent: Whether standard output is dropped and standard error is a pipe.
            is_long: Whether the job is long; it then leaves some slots to short jobs.
        """
        request = SlotRequest(owner, is_long)
        if not silent:
            self._wanted = True
        if reads or silent:
            while not await self._slot_available(request):
                pass
            worker = self._fork(reads=reads, silent=silent)
        else:
            while not self._stock:
                if await self._slot_available(request):
                    self._stock.append(self._fork())
            worker = self._stock.popleft()
            self._restock()
        self._queue.take(worker.slot, owner)
        return worker

    def kill(self, worker: Worker) -> None:
        """Makes the server kill a worker's process; its end is reported as usual."""
        if worker.end is None and not worker.lost and not self.broken:
            # If the server has ended, its workers have been notified.
            with suppress(SandboxDied):
                self._send(REQUEST.pack(KILL, worker.number, 0, False))

    async def _slot_available(self, request: SlotRequest) -> bool:
        """Waits for a free slot; raises `SandboxDied` if the server has ended."""
        if self.broken:
            raise SandboxDied(f"the fork server ended: {self.broken}")
        if self._queue.may_take(request, len(self._free)):
            return True
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.wait(request, waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                self._wake()  # passes its turn to the next request
            raise
        return False

    def _restock(self) -> None:
        """Schedules the start of ready workers a little later, so as not to slow down a job."""
        if self._loop is not None and not self._restocking and not self.broken:
            self._restocking = True
            self._loop.call_later(_RESTOCK_S, self._fill)

    def _fill(self) -> None:
        """Starts ready workers unless requests are waiting."""
        self._restocking = False
        if self.broken or self._queue or not self._wanted:
            return
        while len(self._stock) < _READY and len(self._free) > SLOTS // 2:
            self._stock.append(self._fork(waits=True))

    def _fork(self, reads: bool = False, silent: bool = False, waits: bool = False) -> Worker:
        slot = self._free.popleft()
        self._count += 1
        JAIL_STARTS["process"] += 1
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        if waits:
            ours.send(self._warm_up_frame)
        # Opened for each worker: flags and locks of a shared one would affect later jobs.
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        stdin = _memory("stdin") if reads else -1
        if silent:
            stdout = -1
            stderr, their_stderr = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            # The program's end of the pipe blocks as usual.
            os.set_blocking(their_stderr, True)
        else:
            stdout, stderr = _memory("stdout"), _memory("stderr")
            their_stderr = stderr
        worker = Worker(self._count, slot, ours.detach(), stdin, stdout, stderr)
        descriptors = [
            null if stdin < 0 else stdin, null if stdout < 0 else stdout,
            their_stderr, theirs.fileno(),
        ]
        try:
            self._send(REQUEST.pack(FORK, worker.number, slot, waits), descriptors)
        except BaseException:
            worker.close(channel=True)
            raise
        finally:
            theirs.close()
            os.close(null)
            if silent:
                os.close(their_stderr)
        self._workers[worker.number] = worker
        if waits and self._loop is not None:
            # Changing this callback later is cheaper than adding one. Until then only end of file
            # can arrive.
            self._loop.add_reader(worker.channel, self._loop.remove_reader, worker.channel)
        return worker

    def _drop(self, worker: Worker) -> None:
        """Closes the descriptors of an unused worker."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(worker.channel)
        worker.close(channel=True)

    def _send(self, message: bytes, descriptors: list[int] | None = None) -> None:
        rights = array.array("i", descriptors or ())
        try:
            if descriptors:
                self._control.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            else:
                self._control.send(message)
        except OSError as error:
            self.close(f"it accepts no requests: {error}")
            raise SandboxDied(f"the fork server ended: {self.broken}") from error

    def _read_control(self) -> None:
        while not self.broken:
            try:
                message = self._control.recv(64)
            except BlockingIOError:
                return
            except OSError as error:
                self.close(f"the connection failed: {error}")
                return
            self._handle_message(message)

    def _handle_message(self, message: bytes) -> None:
        if len(message) != ANSWER.size:
            self.close("it ended" if not message else "it sent an invalid answer")
            return
        kind, number, status, cpu_s = ANSWER.unpack(message)
        if kind == ENDED and number in self._workers:
            self._ended(self._workers.pop(number), status, cpu_s)
        elif kind == FREE and self._is_taken(number):
            self._free.append(number)
            self._queue.give_back(number)
            self._wake()
        else:
            self.close("it sent an invalid answer")

    def _is_taken(self, slot: int) -> bool:
        """Whether a slot is taken and all its workers have ended."""
        living = any(worker.slot == slot for worker in self._workers.values())
        return 0 <= slot < SLOTS and slot not in self._free and not living

    def _ended(self, worker: Worker, status: int, cpu_s: float) -> None:
        worker.end = (status, cpu_s)
        if worker.on_end is not None:
            worker.on_end()
            return
        if worker in self._stock:  # it died while waiting for a job
            self._stock.remove(worker)
            self._drop(worker)

    def _wake(self) -> None:
        """Wakes the next request for a slot."""
        self._queue.next(len(self._free))
        if not self._queue:
            self._restock()


def _memory(name: str) -> int:
    made = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    # Only the position of a file that was opened has a lock: writes at once would overwrite.
    opened = os.open(f"/proc/self/fd/{made}", os.O_RDWR | os.O_CLOEXEC)
    os.close(made)
    return opened
