"""The host's side of one fork server: starts it, asks for workers, hears of their ends.

A *worker* is a jailed child that waits for a job. The server keeps a few of them ready, so that
a job meets a process that has started, been jailed and warmed up already. A worker serves one job
and is then gone; its *slot*, which is its folder, is emptied by the server and given to another.

The host believes the fork server, which no foreign code ever entered, and nobody else. All the
same: an answer that is none ends the server, and the next job gets a new one.
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

from sandbox import __name__ as OURS
from sandbox.inside.zygote import ANSWER, ENDED, FORK, FREE, KILL, REQUEST
from sandbox.jail.fair_queue import FairQueue, SlotRequest
from sandbox.levels import Isolation, JailLevel
from sandbox.protocol.orders import environment, loaded, orders
from sandbox.protocol.wire import frame
from sandbox.types import Job, SandboxDied, SandboxError
from sandbox.workspaces import JailPython, Workspaces

START_S = 30.0
SLOTS = 24
"""Jobs that one server runs at once; others take turns, see `fair_queue`."""
SCRATCH_MIB = 64
"""What a job may leave in its folders, all files together."""
THREADS = 1024
"""Processes and threads of all jobs of a server together."""
_RESTOCK_S = 0.002
_READY = 2
"""How many workers are kept ready."""
_REHEARSED = """\
def passes(texts, *, most=3):
    found = {text: (place, float(place)) for place, text in enumerate(texts) if text}
    try:
        return sorted(found, key=lambda text: found[text][0])[:most] == [*texts][:most]
    except (KeyError, TypeError) as error:
        raise ValueError(f"{error!r} of {len(found)}") from None
passes(jail.payload)
"""
"""A program without effects, of the size and variety of the smaller ones of real jobs."""


class NotGranted(Exception):
    """The system does not grant this level; the text says which layer is missing."""


@dataclass(frozen=True)
class Profile:
    """What the children of one server have in common before any job."""

    level: JailLevel
    seed: int = 0
    sites: tuple[str, ...] = ()
    modules: tuple[tuple[str, str], ...] = ()
    preload: tuple[str, ...] = ()
    grants: tuple[str, ...] = ()
    """What its jobs may do beyond one process without a network; at L4 alone."""
    python: str = ""
    """The interpreter; empty is ours."""


@dataclass(eq=False)
class Worker:
    """A child that waits for its job, or works on it."""

    number: int
    slot: int
    channel: int
    stdin: int
    stdout: int
    stderr: int
    """The host's ends; -1 for one that it does not need."""
    end: tuple[int, float] | None = None
    """Wait status and seconds of cpu time, once it has ended."""
    lost: bool = False
    """Its server ended, and nobody can say how this child did."""
    on_end: Callable[[], None] | None = None
    on_abandoned: Callable[[], None] | None = None
    """Called in place of `on_end` where the loop that would hear of it is closed."""

    def close(self, channel: bool = False) -> None:
        """Closes the host's descriptors, and the channel too where it has no other user."""
        for descriptor in (self.stdin, self.stdout, self.stderr, self.channel if channel else -1):
            if descriptor >= 0:
                os.close(descriptor)


class ForkServer:
    """One fork server; belongs to one event loop at a time."""

    isolation: Isolation
    """What its canaries showed, set before it serves any job."""

    def __init__(self, profile: Profile, workspaces: Workspaces) -> None:
        self.profile = profile
        self.base = ""
        """Where the jobs' folders lie, in the file system that the server sees."""
        self.controls: dict[str, str] = {}
        self.started_s = 0.0
        self.broken = ""
        self._workspaces = workspaces
        self._stock: deque[Worker] = deque()
        """Workers that are ready."""
        self._wanted = False
        """Whether some are to be ready."""
        self._workers: dict[int, Worker] = {}
        self._count = 0
        self._restocking = False
        self._free = deque(range(SLOTS))
        # No job may know where another lies: what cannot be opened can be asked after.
        self._slots = [secrets.token_hex(8) for _ in range(SLOTS)]
        self._queue = FairQueue()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._began = 0.0
        self.used = time.monotonic()
        rehearsed = Job(_REHEARSED, payload=[_REHEARSED] * 4, python=profile.python)
        self._rehearsal = frame(orders(rehearsed) | {"modules": {}})
        """What a worker does while it waits for its job, so that this finds its memory copied."""

    def _begin(self) -> None:
        self._began = time.monotonic()
        inner = ("slots", "root", "control", "control/inner")
        self._place = self._workspaces.make("server-", inner)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log = os.memfd_create("errors", os.MFD_CLOEXEC)
        try:
            self.pid = self._spawn(theirs)
        except BaseException as error:
            self._control.close()
            os.close(self._log)
            self._workspaces.end_server(self._place)
            if isinstance(error, OSError):
                raise SandboxError(f"the fork server cannot be started: {error}") from error
            raise
        finally:
            theirs.close()
        self._control.setblocking(False)

    async def start(self) -> None:
        """Starts the process and waits until it is jailed; raises `NotGranted`."""
        self._begin()
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
        # The fork server is ours, and no other code has run in it yet.
        report = json.loads(answer)
        if "refused" in report:
            self.close(report["refused"])
            raise NotGranted(report["refused"])
        self.base = report["base"]
        self.controls = report["controls"]
        self.started_s = time.monotonic() - self._began
        self.adopt(loop)

    def folder(self, worker: Worker) -> str:
        """Where a worker's folders lie, in the file system that the server sees."""
        return f"{self.base}/{self._slots[worker.slot]}"

    def _spawn(self, theirs: socket.socket) -> int:
        profile = self.profile
        interpreter = self._workspaces.interpreter(profile.python)
        code = self._workspaces.code(profile.python)
        start = (
            f"import sys; sys.path[0] = {code!r}; from {OURS}.inside.zygote import main; "
            f"sys.path.remove({code!r}); main()"
        )
        sites = self._workspaces.sites(profile.sites)
        own = {"HOME": "/"}
        if "processes" in profile.grants:
            own["PYTHONPATH"] = ":".join(sites)
        with tempfile.TemporaryFile() as file:
            marshal.dump(self._orders(sites, interpreter), file)
            file.seek(0)
            descriptors = [file.fileno(), self._log, self._log, theirs.fileno()]
            return interpreter.start(["-c", start], environment(profile.seed) | own, descriptors)

    def _orders(self, sites: list[str], interpreter: JailPython) -> dict[str, Any]:
        # Any: the values are marshalled, code objects among them.
        profile = self.profile
        return {
            "level": profile.level,
            "seed": profile.seed,
            "user": self._place.user,
            "base": f"{self._place.folder}/slots",
            "root": f"{self._place.folder}/root",
            "control": f"{self._place.folder}/control/inner",
            "slots": self._slots,
            "grants": list(profile.grants),
            "scratch_bytes": SCRATCH_MIB << 20,
            "threads": THREADS,
            "library": interpreter.library,
            "shared": interpreter.shared,
            "readable": [one for one in (interpreter.shared, *sites) if one],
            "sites": sites,
            "modules": loaded(dict(profile.modules), profile.python),
            "preload": list(profile.preload),
        }

    def adopt(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Makes `loop` the one that hears this server; false while another one does."""
        if self.broken:
            return False
        if self._loop is not loop:
            self._restocking = False
            if self._loop is not None and not self._loop.is_closed():
                return False
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                self.close("it ended while nobody listened")
                return False
            self._loop = loop
            self._queue.forget()
            # What the closed loop left running belongs to nobody any more.
            for worker in list(self._workers.values()):
                if worker.on_end is not None:
                    worker.on_end = None
                    self.kill(worker)
                    if worker.on_abandoned is not None:
                        worker.on_abandoned()
            loop.add_reader(self._control, self._hear)
        self.used = time.monotonic()
        return True

    def may_retire(self) -> bool:
        """Whether no job runs here, nor another event loop is at work with it."""
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
        said = os.pread(self._log, 4000, 0).decode("utf-8", "replace").strip()
        self.broken = f"{why}\n{said}".strip()
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
        self._workspaces.end_server(self._place)

    async def worker(
        self, owner: str = "", *, reads: bool = False, silent: bool = False, lasts: bool = False
    ) -> Worker:
        """A worker for a job.

        Where a job `reads`, there is standard input, else it is empty. Output of a `silent` one
        goes nowhere, and its errors come by a pipe. One that `lasts` waits for those that do not.
        """
        request = SlotRequest(owner, lasts)
        if not silent:
            self._wanted = True
        if reads or silent:
            while not await self._has_room(request):
                pass
            worker = self._fork(reads=reads, silent=silent)
        else:
            while not self._stock:
                if await self._has_room(request):
                    self._stock.append(self._fork())
            worker = self._stock.popleft()
            self._restock()
        self._queue.take(worker.slot, owner)
        return worker

    def kill(self, worker: Worker) -> None:
        """Has the server kill a worker's process; its end is heard like any other."""
        if worker.end is None and not worker.lost and not self.broken:
            # Where it does not listen any more, its workers have heard of that by now.
            with suppress(SandboxDied):
                self._tell(REQUEST.pack(KILL, worker.number, 0, False))

    async def _has_room(self, request: SlotRequest) -> bool:
        """Waits for a free slot; raises `SandboxError` when the server has ended."""
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
                self._wake()  # it had its turn, which is now the next one's
            raise
        return False

    def _restock(self) -> None:
        """Has workers made ready a moment later, so that a short job has both processors."""
        if self._loop is not None and not self._restocking and not self.broken:
            self._restocking = True
            self._loop.call_later(_RESTOCK_S, self._fill)

    def _fill(self) -> None:
        """Forks what is to be ready, once those who wait have been served."""
        self._restocking = False
        if self.broken or self._queue or not self._wanted:
            return
        while len(self._stock) < _READY and len(self._free) > SLOTS // 2:
            self._stock.append(self._fork(waits=True))

    def _fork(self, reads: bool = False, silent: bool = False, waits: bool = False) -> Worker:
        slot = self._free.popleft()
        self._count += 1
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        if waits:
            ours.send(self._rehearsal)
        # One of its own: flags and locks stay with what was opened, for the next owner.
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        stdin = _memory("stdin") if reads else -1
        if silent:
            stdout = -1
            stderr, their_stderr = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            # The program's end waits for room like any other.
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
            self._tell(REQUEST.pack(FORK, worker.number, slot, waits), descriptors)
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
            # The job that takes the worker changes the callback, which costs less than a new start.
            # Nothing comes before that but the end of file.
            self._loop.add_reader(worker.channel, self._loop.remove_reader, worker.channel)
        return worker

    def _drop(self, worker: Worker) -> None:
        """Closes what belongs to a worker that nobody took."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(worker.channel)
        worker.close(channel=True)

    def _tell(self, message: bytes, descriptors: list[int] | None = None) -> None:
        rights = array.array("i", descriptors or ())
        try:
            if descriptors:
                self._control.sendmsg(
                    [message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)]
                )
            else:
                self._control.send(message)
        except OSError as error:
            self.close(f"it does not listen: {error}")
            raise SandboxDied(f"the fork server ended: {self.broken}") from error

    def _hear(self) -> None:
        while not self.broken:
            try:
                message = self._control.recv(64)
            except BlockingIOError:
                return
            except OSError as error:
                self.close(f"it is gone: {error}")
                return
            self._heard_message(message)

    def _heard_message(self, message: bytes) -> None:
        if len(message) != ANSWER.size:
            self.close("it ended" if not message else "it said what is no answer")
            return
        kind, number, status, cpu_s = ANSWER.unpack(message)
        if kind == ENDED and number in self._workers:
            self._ended(self._workers.pop(number), status, cpu_s)
        elif kind == FREE and self._is_taken(number):
            self._free.append(number)
            self._queue.give_back(number)
            self._wake()
        else:
            self.close("it said what is no answer")

    def _is_taken(self, slot: int) -> bool:
        """Whether a slot was given out and all who had it have ended."""
        living = any(worker.slot == slot for worker in self._workers.values())
        return 0 <= slot < SLOTS and slot not in self._free and not living

    def _ended(self, worker: Worker, status: int, cpu_s: float) -> None:
        worker.end = (status, cpu_s)
        if worker.on_end is not None:
            worker.on_end()
            return
        if worker in self._stock:  # it died while it waited for a job
            self._stock.remove(worker)
            self._drop(worker)

    def _wake(self) -> None:
        """Lets the next one who waits for a slot look again."""
        self._queue.next(len(self._free))
        if not self._queue:
            self._restock()


def _memory(name: str) -> int:
    return os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
