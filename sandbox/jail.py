"""The jail: each job in a child of its own, forked from a jailed interpreter in a millisecond.

`forkserver` and `zygote` make the children; here a job meets one. The host hears of a job
through its private channel, two files in memory that hold its output, and the fork server's
word on its end. A job that says it came to its end is killed at once, so that nothing goes on
behind an outcome.

A server is chosen by what its children must have in common before any job: hash seed, folders
of packages, our own modules, preloaded packages. The strongest level the system grants is
tried first, and a server is used only after canaries in one of its children have been refused
as that level promises.
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import os
import sys
import threading
import time
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.resources import files
from typing import get_args
from weakref import WeakKeyDictionary, WeakValueDictionary

from sandbox import lockdown
from sandbox.batch import STDERR_KEPT, RestartingBatch
from sandbox.conversation import Conversation
from sandbox.forkserver import (
    SCRATCH_MIB,
    ForkServer,
    NotGranted,
    Profile,
    Seat,
)
from sandbox.levels import MEANING, JailLevel, Witness, witnessed
from sandbox.orders import how_it_ended, loaded, orders
from sandbox.quarters import quarters
from sandbox.second_try import SecondTry, TriedJob
from sandbox.types import PRELOADABLE, Job, Outcome, SandboxError, SandboxLost, SandboxUnavailable
from sandbox.wire import frame
from sandbox.zygote import NOT_TAKEN_UP

_UNLIMITED = -1
_PAST_THE_LIMIT = 1 << 16
_DEATH_S = 10.0
_WEIGH_S = 0.1
_MOST_SERVERS = 4
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


class JailSandbox:
    """Runs each job in a fresh child of a fork server."""

    name = "jail"

    def __init__(self, at_most: JailLevel = "L4", ready: bool = True) -> None:
        """`at_most` leaves stronger layers out; `ready=False` keeps no child waiting."""
        if sys.platform != "linux" or not lockdown.seccomp_works():
            raise SandboxUnavailable(
                "the jail needs Linux with seccomp on x86_64 or aarch64; "
                "the backend `subprocess` works here, with limits only"
            )
        self._at_most = at_most
        self._ready = ready
        self._servers = _SERVERS

    def describe(self) -> str:
        """One line for people: the backend and what it holds back here."""
        level = self._servers.level(self._at_most)
        if level is None:
            return f"jail: up to {self._at_most} ({MEANING[self._at_most]}), not tried yet"
        granted = "; on request processes and sockets of a job's own" if level == "L4" else ""
        return f"jail: {level} ({MEANING[level]}{granted})"

    async def witness(self, coming: Job | None = None) -> Witness:
        """The level that canaries saw to hold; starts a fork server if none runs yet, or none
        for the job that is `coming`."""
        server = await self._server(coming or Job(""))
        return self._servers.witness_of(server)

    async def run(self, job: Job) -> Outcome:
        """Runs one job to its end."""
        async with self.start(job) as process:
            return await process.finish()

    @asynccontextmanager
    async def start(self, job: Job) -> AsyncIterator[TriedJob[_Running]]:
        """A running job to talk with; leaving the context kills it."""

        async def start() -> list[_Running]:
            return [await self._start(job)]

        (process,) = await SecondTry(start).begin()
        try:
            yield process
        finally:
            await process.kill()

    @asynccontextmanager
    async def pair(
        self, first: Job, second: Job, shared: bool = False
    ) -> AsyncIterator[tuple[TriedJob[_Running], TriedJob[_Running]]]:
        """Two jobs whose `jail.peer` channels are joined, with a common folder if asked."""
        told = [_checked(first, False), _checked(second, False)]
        if first.seed != second.seed or _profile_of(first) != _profile_of(second):
            raise SandboxError(
                "two jobs of a pair need the same seed, sites, modules, preload and grants"
            )

        async def start() -> list[_Running]:
            server = await self._server(first)
            if shared and server.profile.level == "L2":
                raise SandboxError("at level L2 no file can be opened, so jobs can share no folder")
            seats = await server.pair(bool(first.stdin or second.stdin), first.owner)
            return [
                _Running(server, seat, job, {**one, "shared": shared}, endless=False)
                for seat, job, one in zip(seats, (first, second), told, strict=True)
            ]

        started = await SecondTry(start).begin()
        try:
            yield started[0], started[1]
        finally:
            for process in started:
                process.stop("killed", "stopped by the host")
            for process in started:
                await process.kill()

    @asynccontextmanager
    async def batch(self, job: Job) -> AsyncIterator[RestartingBatch]:
        """A program kept running for many items."""

        async def start() -> _Running:
            told = _checked(job, endless=True)
            server = await self._server(job)
            seat = await server.silent(job.owner, lasts=not job.brief)
            return _Running(server, seat, job, told, endless=True)

        batch = RestartingBatch(start, job)
        try:
            yield batch
        finally:
            await batch.close()

    async def _start(self, job: Job) -> _Running:
        told = _checked(job, endless=False)
        server = await self._server(job)
        seat = await server.alone(bool(job.stdin), job.owner)
        return _Running(server, seat, job, told, endless=False)

    async def _server(self, job: Job) -> ForkServer:
        return await self._servers.get(self._at_most, _profile_of(job), self._ready)


class _Servers:
    """All fork servers of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[tuple[Profile, bool], list[ForkServer]] = {}
        self._levels: dict[JailLevel, JailLevel] = {}
        """The level asked for at most, to the level the system granted."""
        self._witnesses: WeakKeyDictionary[ForkServer, Witness] = WeakKeyDictionary()
        self._latest: dict[tuple[JailLevel, _Wanted, bool], ForkServer] = {}
        """The server that was found last for what was asked."""
        self._starting: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()
        self._ungranted: set[tuple[str, ...]] = set()
        """What was tried to be granted to jobs, and could not be."""
        self._host = os.getpid()

    def close(self) -> None:
        """Ends all servers, at the end of this process."""
        if os.getpid() == self._host:
            for server in [one for some in self._all.values() for one in some]:
                server.close("the host ended")

    def level(self, at_most: JailLevel) -> JailLevel | None:
        """The level seen to hold; `None` before the first start."""
        return self._levels.get(at_most)

    def witness_of(self, server: ForkServer) -> Witness:
        """What the canaries of a server showed."""
        return self._witnesses[server]

    async def get(self, at_most: JailLevel, wanted: _Wanted, ready: bool) -> ForkServer:
        """A server that fits, running in this event loop."""
        if os.getpid() != self._host:
            # A forked copy of the host: the servers are its parent's.
            self.__dict__.update(_Servers().__dict__)
        loop, asked = asyncio.get_running_loop(), (at_most, wanted, ready)
        latest = self._latest.get(asked)
        if latest is not None and latest.serves(loop):
            return latest
        # Those who ask at once for what there is not yet wait for one and the same.
        lock = self._starting.setdefault((loop, asked), asyncio.Lock())
        async with lock:
            server = await self._found(at_most, wanted, ready)
        self._latest[asked] = server
        return server

    async def _found(self, at_most: JailLevel, wanted: _Wanted, ready: bool) -> ForkServer:
        known = self._levels.get(at_most)
        if known is not None:
            server = self._adopted(self._profile(known, wanted), ready)
            try:
                return server or await self._started_for(known, wanted, ready)
            except NotGranted as refusal:
                # Not tried one level below: what was said to hold here is what jobs must get.
                raise SandboxError(
                    f"{known} of the jail was granted before, and now it is not: {refusal}"
                ) from refusal
        refusals = []
        for level in reversed(get_args(JailLevel)[: get_args(JailLevel).index(at_most) + 1]):
            try:
                server = await self._started_for(level, wanted, ready)
            except NotGranted as refusal:
                refusals.append(f"{level}: {refusal}")
                continue
            self._levels[at_most] = level
            return server
        raise SandboxUnavailable(
            "the system grants no level of the jail (" + "; ".join(refusals) + "); "
            "the backend `subprocess` works here, with limits only"
        )

    def _profile(self, level: JailLevel, wanted: _Wanted) -> Profile:
        """What is wanted, less what this system does not grant a job."""
        profile = Profile(level, *wanted)
        if level == "L4" and profile.grants not in self._ungranted:
            return profile
        return replace(profile, grants=())

    async def _started_for(self, level: JailLevel, wanted: _Wanted, ready: bool) -> ForkServer:
        profile = self._profile(level, wanted)
        try:
            return await self._started(profile, ready)
        except NotGranted:
            if not profile.grants:
                raise
        # One process without a network is less for the job, and no weaker jail.
        self._ungranted.add(profile.grants)
        return await self._started(self._profile(level, wanted), ready)

    def _adopted(self, profile: Profile, ready: bool) -> ForkServer | None:
        loop = asyncio.get_running_loop()
        with self._lock:
            servers = self._all.get((profile, ready), [])
            servers[:] = [server for server in servers if not server.broken]
            return next((server for server in servers if server.adopt(loop)), None)

    async def _started(self, profile: Profile, ready: bool) -> ForkServer:
        self._retire()
        server = ForkServer(profile, quarters(), ready)
        # What is registered last is done first: before the quarters remove their folder.
        atexit.unregister(self.close)
        atexit.register(self.close)
        await server.start()
        try:
            witness = await _canaries(server)
        except BaseException:
            server.close("its canaries were not heard")
            raise
        if witness.level != profile.level:
            server.close("its canaries got through")
            seen = "; ".join(f"{one.name}: {one.seen}" for one in witness.layers if not one.holds)
            raise NotGranted(f"seen to hold is only {witness.level}: {seen}")
        with self._lock:
            self._witnesses[server] = witness
            self._all.setdefault((profile, ready), []).append(server)
        return server

    def _retire(self) -> None:
        """Ends the servers that were used longest ago, so that few are kept."""
        with self._lock:
            idle = [one for some in self._all.values() for one in some if one.may_retire()]
            idle.sort(key=lambda server: server.used)
            for server in idle[: max(0, len(idle) - _MOST_SERVERS + 1)]:
                server.close("retired")
            for some in self._all.values():
                some[:] = [server for server in some if not server.broken]
            self._latest = {
                asked: server for asked, server in self._latest.items() if not server.broken
            }


_SERVERS = _Servers()

_Wanted = tuple[
    int, tuple[str, ...], tuple[tuple[str, str], ...], tuple[str, ...], tuple[str, ...]
]
"""A profile but for its level: seed, sites, modules, preload and grants."""


def _profile_of(job: Job) -> _Wanted:
    preload = tuple(
        name for name in PRELOADABLE
        if name in job.preload and any(os.path.isdir(f"{site}/{name}") for site in job.sites)
    )
    return job.seed, job.sites, tuple(job.modules.items()), preload, job.grants


async def _canaries(server: ForkServer) -> Witness:
    """Tries the canaries in one child of the server."""
    job = Job("from jail_canaries import tried\njail.send(tried())")
    source = files(__package__).joinpath("canaries.py").read_text("utf-8")
    # Not as modules of the job, which would ask for a fork server with them.
    told = _checked(job, endless=False) | {"modules": loaded({"jail_canaries": source})}
    process = _Running(server, await server.alone(), job, told, endless=False)
    try:
        outcome = await process.finish()
    finally:
        await process.kill()
    met = outcome.messages[0] if outcome.messages else None
    if not isinstance(met, dict):
        raise SandboxError(f"the canaries of the jail said nothing: {outcome}")
    return witnessed(
        server.controls, {name: str(error) for name, error in met.items()}, server.profile.grants
    )


def _checked(job: Job, endless: bool) -> dict[str, object]:
    """A job's orders; raises `SandboxError` for more files than a folder holds."""
    size = sum(map(len, job.files.values()))
    if 4 * size > SCRATCH_MIB << 19:  # as many bytes as characters may take
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in job.files.values())
    if size > SCRATCH_MIB << 19:
        raise SandboxError(f"a job's files may hold {SCRATCH_MIB // 2} MiB, not {size >> 20} MiB")
    most = lockdown.MOST_ENTRIES // 2
    if len(job.files) > most:
        raise SandboxError(f"a job may bring {most} files, not {len(job.files)}")
    told = orders(job, endless)
    limits = told["limits"]
    # As the guest hands them to the kernel, soft and hard. Past the soft limit of time comes a
    # signal, which a program may ignore, and a second later the end.
    cpu = (limits["cpu"], limits["cpu"] + 1) if limits["cpu"] else (_UNLIMITED, _UNLIMITED)
    ceilings = [(limits[name],) * 2 for name in ("memory", "file", "open_files")] + [cpu]
    # The first process of its pid space is one more, and none of the job's.
    processes = (limits["processes"] + 1,) * 2
    return told | {"modules": {}, "shared": False, "ceilings": ceilings, "processes": processes}


class _Running(Conversation):
    """A job in its seat."""

    def __init__(
        self, server: ForkServer, seat: Seat, job: Job, told: dict[str, object], endless: bool
    ) -> None:
        super().__init__(job)
        self._server = server
        self._seat = seat
        self._silent = endless
        self._errors = bytearray()
        self._weighing: asyncio.TimerHandle | None = None
        self._mercy: asyncio.TimerHandle | None = None
        seat.on_end = self._left
        seat.on_abandoned = self._abandon
        if endless:
            self._loop.add_reader(seat.stderr, self._read_errors)
        else:
            for output in (seat.stdout, seat.stderr):
                # More than is kept, since a write that would cross the end stops a page before.
                os.ftruncate(output, job.limits.output_bytes + _PAST_THE_LIMIT)
                fcntl.fcntl(output, fcntl.F_ADD_SEALS, _SEALS)
        if job.stdin:
            os.pwrite(seat.stdin, job.stdin.encode("utf-8", "surrogatepass"), 0)
        if server.profile.level == "L3":
            self._weighing = self._loop.call_later(_WEIGH_S, self._weigh)
        self._open(seat.channel, frame(told), endless)
        if self._has_exited():
            self._left()

    def _kill(self) -> None:
        self._server.kill(self._seat)
        if self._mercy is None:
            self._mercy = self._loop.call_later(_DEATH_S, self._server.close, "it does not kill")

    def _has_exited(self) -> bool:
        return self._seat.end is not None or self._seat.lost or self._outcome is not None

    def _heard(self) -> None:
        if not self.inbox.ended or self._stopped is not None or self._outcome is not None:
            return
        if self._server.profile.grants:
            # What it started may still be writing: the outcome waits until all of it has ended.
            if self._deadline is not None:
                self._deadline.cancel()
            if self._mercy is None:
                self._kill()
        else:
            # Its last word is said; whatever still runs in it is to run no longer.
            self._seat.on_end = None
            self._server.kill(self._seat)
            self._finish(0, 0.0)

    def _left(self) -> None:
        """The process has ended; what it said before that is still to be read."""
        if self._outcome is not None:
            return
        end = self._seat.end
        if end is None:
            self._give_up()
            return
        while self._channel >= 0 and self._outcome is None:
            before = self.inbox.received_bytes
            self._read_channel()
            if self.inbox.received_bytes == before:
                break
        if self._outcome is None:
            said_end = self.inbox.ended and self._stopped is None
            self._finish(0 if said_end else end[0], end[1])

    def _give_up(self) -> None:
        """What became of the job cannot be known: that is no fault of its code."""
        self._put_away()
        self._seat.close()
        self._settle(SandboxLost(f"the fork server ended: {self._server.broken}"))

    def _abandon(self) -> None:
        """Its event loop is closed, so nobody waits: only descriptors are left to give back."""
        channel, self._channel = self._channel, -1
        if channel >= 0:
            os.close(channel)
        self._seat.close()
        self._failure = SandboxError("the event loop of this job was closed")

    def _put_away(self) -> None:
        for timer in (self._weighing, self._mercy):
            if timer is not None:
                timer.cancel()
        if self._silent:
            self._loop.remove_reader(self._seat.stderr)

    def _finish(self, status: int, cpu_s: float) -> None:
        self.wall_s = time.monotonic() - self._started
        self._put_away()
        stdout, stderr, cut = b"", b"", False
        if self._silent:
            self._read_errors()
            stderr = bytes(self._errors)
        else:
            most = self._limits.output_bytes
            stdout = _written(self._seat.stdout, most)
            stderr = _written(self._seat.stderr, most)
            cut = len(stdout) + len(stderr) > most
            stdout = stdout[:most]
            stderr = stderr[: most - len(stdout)]
        if cut and self._stopped is None:
            self._stopped = ("output", f"output of more than {self._limits.output_bytes} bytes")
        # Whoever waits for the outcome goes first.
        self._loop.call_soon(self._seat.close)
        ended, name, limit = how_it_ended(
            status, self.inbox.ended, cpu_s, self._limits, self._stopped
        )
        code = os.waitstatus_to_exitcode(status)
        if code == NOT_TAKEN_UP and not self.inbox.begun and self._stopped is None:
            # No foreign code ran, so it is not to blame.
            said = stderr.decode("utf-8", "backslashreplace").strip()
            self._settle(SandboxError(f"a child could not take up its job: {said}"))
            return
        self._settle(
            Outcome(
                ended=ended,
                stdout=stdout.decode("utf-8", "backslashreplace"),
                stderr=stderr.decode("utf-8", "backslashreplace"),
                exit_code=code if code >= 0 else None,
                signal=name,
                limit=limit,
                denied=tuple(sorted(self.inbox.rules)),
                wall_s=self.wall_s,
            )
        )

    def _read_errors(self) -> None:
        try:
            part = os.read(self._seat.stderr, 1 << 16)
        except BlockingIOError:
            return
        if not part:
            self._loop.remove_reader(self._seat.stderr)
        self._errors += part
        del self._errors[:-STDERR_KEPT]

    def _weigh(self) -> None:
        """Without a file system of its own, a job's folder is weighed now and then."""
        folder = self._server.folder(self._seat)
        if _heavier(folder, SCRATCH_MIB << 20, lockdown.MOST_ENTRIES):
            self._condemn(
                "killed", f"files of more than {SCRATCH_MIB} MiB, or {lockdown.MOST_ENTRIES} files"
            )
        else:
            self._weighing = self._loop.call_later(_WEIGH_S, self._weigh)


def _written(output: int, most: int) -> bytes:
    """What a job wrote, and one byte more where it wrote too much."""
    size = min(os.lseek(output, 0, os.SEEK_CUR), most + 1)
    return os.pread(output, size, 0) if size else b""


def _heavier(folder: str, most_bytes: int, most_entries: int) -> bool:
    size, entries = 0, 0
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if size > most_bytes or entries > most_entries:
                        return True
        except FileNotFoundError:  # it vanished meanwhile
            continue
        except OSError:  # closed to its own user, or nested deeper than a path may be
            return True
    return False


__all__ = ["JailSandbox"]
