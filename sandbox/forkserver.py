"""The host's side of one fork server: starts it, asks for seats, hears of their ends.

A *seat* is a jailed child that waits for a job. The server keeps a few of them ready, so that
a job meets a process that has started, been jailed and warmed up already. A seat serves one job
and is then gone; its folder is emptied by the server and given to another.

The host believes the fork server, which no foreign code ever entered, and nobody else. All the
same: an answer that is none ends the server, and the next job gets a new one.
"""

from __future__ import annotations

import array
import asyncio
import fcntl
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
from dataclasses import dataclass, field
from typing import Any

from sandbox.guest import CHANNEL
from sandbox.levels import JailLevel
from sandbox.orders import FLAGS, environment, loaded
from sandbox.quarters import Quarters
from sandbox.turns import Asking, Turns
from sandbox.types import SandboxError, SandboxLost
from sandbox.zygote import (
    ALONE,
    ANSWER,
    ENDED,
    FIRST,
    FORK,
    FREE,
    KILL,
    REQUEST,
    SECOND,
)

START_S = 30.0
SLOTS = 24
"""Jobs, or pairs of jobs, that one server runs at once; others take turns, see `turns`."""
SCRATCH_MIB = 64
"""What a job may leave in its folders, all files together."""
THREADS = 1024
"""Processes and threads of all jobs of a server together."""
_RESTOCK_S = 0.002
READY_ALONE = 2
READY_PAIRS = 1


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


@dataclass(eq=False)
class Seat:
    """A child that waits for its job, or works on it."""

    number: int
    folder: int
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

    def close(self) -> None:
        """Closes the host's descriptors but the channel, which its user closes."""
        for descriptor in (self.stdin, self.stdout, self.stderr):
            if descriptor >= 0:
                os.close(descriptor)


@dataclass
class _Stock:
    """Seats that are ready."""

    alone: deque[Seat] = field(default_factory=deque)
    pairs: deque[tuple[Seat, Seat]] = field(default_factory=deque)
    wants_alone: bool = False
    wants_pairs: bool = False


class ForkServer:
    """One fork server; belongs to one event loop at a time."""

    def __init__(self, profile: Profile, quarters: Quarters, ready: bool = True) -> None:
        self.profile = profile
        self.base = ""
        """Where the jobs' folders lie, in the file system that the server sees."""
        self.controls: dict[str, str] = {}
        self.started_s = 0.0
        self.broken = ""
        self._quarters = quarters
        self._keeps_ready = ready
        self._stock = _Stock()
        self._seats: dict[int, Seat] = {}
        self._count = 0
        self._restocking = False
        self._free = deque(range(SLOTS))
        # No job may know where another lies: what cannot be opened can be asked after.
        self._slots = [secrets.token_hex(8) for _ in range(SLOTS)]
        self._turns = Turns()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.used = time.monotonic()

    # ---------------------------------------------------------------- life

    async def start(self) -> None:
        """Starts the process and waits until it is jailed; raises `NotGranted`."""
        began = time.monotonic()
        self._place = self._quarters.settle_server()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log = os.memfd_create("errors", os.MFD_CLOEXEC)
        try:
            self._pid = self._spawn(theirs)
        except BaseException as error:
            self._control.close()
            os.close(self._log)
            self._quarters.leave_server(self._place)
            if isinstance(error, OSError):
                raise SandboxError(f"the fork server cannot be started: {error}") from error
            raise
        finally:
            theirs.close()
        self._control.setblocking(False)
        loop = asyncio.get_running_loop()
        try:
            answer = await asyncio.wait_for(loop.sock_recv(self._control, 1 << 16), START_S)
        except (TimeoutError, OSError) as error:
            self.close(f"no answer: {error!r}")
            raise SandboxError(f"the fork server did not start: {self.broken}") from error
        except BaseException:
            self.close("cancelled")
            raise
        report = self._report(answer)
        if "refused" in report:
            self.close(report["refused"])
            raise NotGranted(report["refused"])
        self.base = report["base"]
        self.controls = report["controls"]
        self.started_s = time.monotonic() - began
        self.adopt(loop)

    def folder(self, seat: Seat) -> str:
        """Where a seat's folders lie, in the file system that the server sees."""
        return f"{self.base}/{self._slots[seat.folder]}"

    def _report(self, answer: bytes) -> dict[str, Any]:
        # Any: JSON; the fork server is ours, and no other code has run in it yet.
        if not answer:
            self.close("it ended")
            raise SandboxError(f"the fork server did not start: {self.broken}")
        report: dict[str, Any] = json.loads(answer)
        return report

    def _spawn(self, theirs: socket.socket) -> int:
        interpreter = self._quarters.interpreter
        code = self._quarters.code
        start = (
            f"import sys; sys.path.insert(0, {code!r}); from {__package__}.zygote import main; "
            f"sys.path.remove({code!r}); main()"
        )
        with tempfile.TemporaryFile() as orders:
            marshal.dump(self._orders(), orders)
            orders.seek(0)
            sources = [orders.fileno(), self._log, self._log, theirs.fileno()]
            moved = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 16) for one in sources]
            try:
                return os.posix_spawn(
                    interpreter.executable,
                    [interpreter.executable, *FLAGS, "-c", start],
                    self._environment(),
                    file_actions=[
                        (os.POSIX_SPAWN_DUP2, source, place)
                        for source, place in zip(moved, (0, 1, 2, CHANNEL), strict=True)
                    ],
                    setsid=True,
                    setsigmask=(),
                    setsigdef=signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP},
                )
            finally:
                for descriptor in moved:
                    os.close(descriptor)

    def _environment(self) -> dict[str, str]:
        own = {"HOME": "/", **self._quarters.interpreter.environment}
        if "processes" in self.profile.grants:
            own["PYTHONPATH"] = ":".join(self._quarters.sites(self.profile.sites))
        return environment(self.profile.seed) | own

    def _orders(self) -> dict[str, Any]:
        profile = self.profile
        sites = self._quarters.sites(profile.sites)
        return {
            "level": profile.level,
            "seed": profile.seed,
            "user": self._place.user,
            "base": self._place.slots,
            "root": self._place.root,
            "control": self._place.control,
            "slots": self._slots,
            "grants": list(profile.grants),
            "scratch_bytes": SCRATCH_MIB << 20,
            "threads": THREADS,
            "library": self._quarters.library,
            "shared": self._quarters.interpreter.shared,
            "readable": [one for one in (self._quarters.interpreter.shared, *sites) if one],
            "sites": sites,
            "modules": loaded(dict(profile.modules)),
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
            if os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                self.close("it ended while nobody listened")
                return False
            self._loop = loop
            self._turns.forget()
            # What the closed loop left running belongs to nobody any more.
            for seat in list(self._seats.values()):
                if seat.on_end is not None:
                    seat.on_end = None
                    self.kill(seat)
                    if seat.on_abandoned is not None:
                        seat.on_abandoned()
            loop.add_reader(self._control, self._hear)
        self.used = time.monotonic()
        return True

    def serves(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether it is this loop's already, and at work."""
        if self.broken or self._loop is not loop:
            return False
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
        return all(seat.on_end is None for seat in self._seats.values())

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
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._log)
        ready = [*self._stock.alone, *(seat for pair in self._stock.pairs for seat in pair)]
        self._stock = _Stock()
        for seat in ready:
            self._drop(seat)
        alive = self._loop is not None and not self._loop.is_closed()
        for seat in list(self._seats.values()):
            seat.lost = True
            if seat.on_end is not None and alive:
                seat.on_end()
        self._seats.clear()
        if alive:
            self._turns.end()
        self._turns.forget()
        self._quarters.leave_server(self._place)

    # ---------------------------------------------------------------- seats

    async def alone(self, reads: bool = False, owner: str = "") -> Seat:
        """A seat for one job, which `reads` standard input or finds it empty."""
        self._stock.wants_alone = self._keeps_ready
        asking = Asking(owner)
        if reads:
            await self._until_room(asking)
            return self._given(self._fork(self._free.popleft(), ALONE, reads=True), owner)
        while not self._stock.alone:
            if await self._has_room(asking):
                self._stock.alone.append(self._fork(self._free.popleft(), ALONE))
        seat = self._stock.alone.popleft()
        self._restock()
        return self._given(seat, owner)

    async def silent(self, owner: str = "", lasts: bool = True) -> Seat:
        """A seat whose output goes nowhere, and whose errors come by a pipe, for a job of many
        items."""
        await self._until_room(Asking(owner, lasts))
        return self._given(self._fork(self._free.popleft(), ALONE, silent=True), owner)

    async def pair(self, reads: bool = False, owner: str = "") -> tuple[Seat, Seat]:
        """Two seats that have a channel and a folder in common."""
        self._stock.wants_pairs = self._keeps_ready
        asking = Asking(owner)
        if reads:
            await self._until_room(asking)
            one, other = self._fork_pair(reads=True)
            return self._given(one, owner), other
        while not self._stock.pairs:
            if await self._has_room(asking):
                self._stock.pairs.append(self._fork_pair())
        one, other = self._stock.pairs.popleft()
        self._restock()
        return self._given(one, owner), other

    def _given(self, seat: Seat, owner: str) -> Seat:
        self._turns.take(seat.folder, owner)
        return seat

    def kill(self, seat: Seat) -> None:
        """Has the server kill a seat's process; its end is heard like any other."""
        if seat.end is None and not seat.lost and not self.broken:
            # Where it does not listen any more, its seats have heard of that by now.
            with suppress(SandboxLost):
                self._tell(REQUEST.pack(KILL, seat.number, 0, 0, False))

    async def _has_room(self, asking: Asking) -> bool:
        """Waits for a free folder; raises `SandboxError` when the server has ended."""
        if self.broken:
            raise SandboxLost(f"the fork server ended: {self.broken}")
        if self._turns.may_take(asking, len(self._free)):
            return True
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.wait(asking, waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                self._wake()  # it had its turn, which is now the next one's
            raise
        return False

    async def _until_room(self, asking: Asking) -> None:
        while not await self._has_room(asking):
            pass

    def _restock(self) -> None:
        """Has seats made ready a moment later, so that a short job has both processors."""
        if self._loop is not None and not self._restocking and not self.broken:
            self._restocking = True
            self._loop.call_later(_RESTOCK_S, self._fill)

    def _fill(self) -> None:
        """Forks what is to be ready, once those who wait have been served."""
        stock = self._stock
        self._restocking = False
        if self.broken or self._turns:
            return
        if stock.wants_alone:
            while len(stock.alone) < READY_ALONE and len(self._free) > SLOTS // 2:
                stock.alone.append(self._fork(self._free.popleft(), ALONE, waits=True))
        if stock.wants_pairs:
            while len(stock.pairs) < READY_PAIRS and len(self._free) > SLOTS // 2:
                stock.pairs.append(self._fork_pair(waits=True))

    def _fork_pair(self, reads: bool = False, waits: bool = False) -> tuple[Seat, Seat]:
        folder = self._free.popleft()
        one, other = socket.socketpair()
        with one, other:
            return (
                self._fork(folder, FIRST, one, reads=reads, waits=waits),
                self._fork(folder, SECOND, other, reads=reads, waits=waits),
            )

    def _fork(
        self,
        folder: int,
        place: int,
        peer: socket.socket | None = None,
        *,
        silent: bool = False,
        reads: bool = False,
        waits: bool = False,
    ) -> Seat:
        self._count += 1
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        stdin = _memory("stdin") if reads else -1
        if silent:
            stdout = -1
            stderr, their_stderr = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            # The program's end waits for room like any other.
            os.set_blocking(their_stderr, True)
        else:
            stdout, stderr = _memory("stdout"), _memory("stderr")
            their_stderr = stderr
        seat = Seat(self._count, folder, ours.detach(), stdin, stdout, stderr)
        # One of its own: flags and locks stay with what was opened, for whoever has it next.
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        descriptors = [
            null if stdin < 0 else stdin, null if stdout < 0 else stdout,
            their_stderr, theirs.fileno(),
        ]
        if peer is not None:
            descriptors.append(peer.fileno())
        try:
            self._tell(REQUEST.pack(FORK, seat.number, folder, place, waits), descriptors)
        except BaseException:
            os.close(seat.channel)
            seat.close()
            raise
        finally:
            theirs.close()
            os.close(null)
            if silent:
                os.close(their_stderr)
        self._seats[seat.number] = seat
        if waits and self._loop is not None:
            # Whoever takes the seat changes what is called, which costs less than to begin.
            # Nothing comes before that but the end of file.
            self._loop.add_reader(seat.channel, self._loop.remove_reader, seat.channel)
        return seat

    def _drop(self, seat: Seat) -> None:
        """Closes what belongs to a seat that nobody took."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(seat.channel)
        os.close(seat.channel)
        seat.close()

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
            raise SandboxLost(f"the fork server ended: {self.broken}") from error

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
        if kind == ENDED and number in self._seats:
            self._ended(self._seats.pop(number), status, cpu_s)
        elif kind == FREE and self._is_taken(number):
            self._free.append(number)
            self._turns.give_back(number)
            self._wake()
        else:
            self.close("it said what is no answer")

    def _is_taken(self, folder: int) -> bool:
        """Whether a folder was given out and all who had it have ended."""
        living = any(seat.folder == folder for seat in self._seats.values())
        return 0 <= folder < SLOTS and folder not in self._free and not living

    def _ended(self, seat: Seat, status: int, cpu_s: float) -> None:
        seat.end = (status, cpu_s)
        if seat.on_end is not None:
            seat.on_end()
            return
        # A seat that died while it waited: nobody has it yet.
        for stock in (self._stock.alone, self._stock.pairs):
            for entry in list(stock):
                if seat is entry or (isinstance(entry, tuple) and seat in entry):
                    stock.remove(entry)  # type: ignore[arg-type]
                    for one in entry if isinstance(entry, tuple) else (entry,):
                        self._drop(one)
                        self.kill(one)

    def _wake(self) -> None:
        """Lets the next one who waits for a folder look again."""
        self._turns.next(len(self._free))
        if not self._turns:
            self._restock()


def _memory(name: str) -> int:
    return os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)


__all__ = ["SCRATCH_MIB", "ForkServer", "NotGranted", "Profile", "Seat"]
