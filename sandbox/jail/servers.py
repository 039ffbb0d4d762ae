"""The fork servers of this process, and the choice of one for a job.

A server is chosen by the common properties of its workers: hash seed, package folders, trusted
modules, preloaded packages and grants. Levels are tried from the strongest on. A server is used
only after the canaries in one of its workers were refused as the level requires.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import Hashable
from dataclasses import replace
from importlib.resources import files
from typing import get_args
from weakref import WeakValueDictionary

from sandbox import __name__ as PACKAGE
from sandbox.jail.forkserver import ForkServer, LevelUnsupported, Profile
from sandbox.jail.running import RunningJob, jail_message
from sandbox.levels import Isolation, JailLevel, measured_isolation
from sandbox.protocol.job_message import loaded
from sandbox.types import PRELOADABLE, Job, SandboxError, SandboxUnavailable
from sandbox.workspaces import workspaces

_MAX_SERVERS = 8


class Servers:
    """All fork servers of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[Profile, list[ForkServer]] = {}
        self._levels: dict[JailLevel, JailLevel] = {}
        """Highest requested level to the supported level."""
        self._starting: WeakValueDictionary[Hashable, asyncio.Lock] = WeakValueDictionary()
        self._unsupported_grants: set[tuple[str, ...]] = set()
        """Grants that this system does not support."""
        self._host = os.getpid()

    def close(self) -> None:
        """Ends all servers, at the end of this process."""
        if os.getpid() == self._host:
            for server in [one for some in self._all.values() for one in some]:
                server.close("the host ended")

    def tested_level(self, at_most: JailLevel) -> JailLevel | None:
        """The tested level; `None` before the first start."""
        return self._levels.get(at_most)

    async def get(self, wanted: Profile) -> ForkServer:
        """A matching server in this event loop; `wanted.level` is the highest level."""
        if os.getpid() != self._host:
            # In a forked copy of the host: the servers belong to its parent.
            self.__dict__.update(Servers().__dict__)
        server = self._running(wanted)
        if server is not None:
            return server
        # Concurrent requests for the same server wait for one start.
        asked = asyncio.get_running_loop(), wanted
        async with self._starting.setdefault(asked, asyncio.Lock()):
            return self._running(wanted) or await self._new(wanted)

    def _running(self, wanted: Profile) -> ForkServer | None:
        """A matching server that runs already; `None` if there is none."""
        known = self._levels.get(wanted.level)
        if known is None:
            return None
        at_level = wanted if known == wanted.level else replace(wanted, level=known)
        return self._adopt_server(self._without_unsupported(at_level))

    async def _new(self, wanted: Profile) -> ForkServer:
        known = self._levels.get(wanted.level)
        if known is not None:
            try:
                return await self._start_with_grants(replace(wanted, level=known))
            except LevelUnsupported as refusal:
                # No fallback to a lower level: jobs must get the level that was reported.
                raise SandboxError(
                    f"level {known} of the jail worked before and is unavailable now: {refusal}"
                ) from refusal
        refusals = []
        for level in reversed(get_args(JailLevel)[: get_args(JailLevel).index(wanted.level) + 1]):
            try:
                server = await self._start_with_grants(replace(wanted, level=level))
            except LevelUnsupported as refusal:
                refusals.append(f"{level}: {refusal}")
                continue
            self._levels[wanted.level] = level
            return server
        raise SandboxUnavailable(
            "the system supports no level of the jail (" + "; ".join(refusals) + "); "
            "the backend `subprocess` works here, with limits only"
        )

    def _without_unsupported(self, profile: Profile) -> Profile:
        """The profile without grants that this system does not support."""
        if not profile.grants:
            return profile
        if profile.level == "L4" and profile.grants not in self._unsupported_grants:
            return profile
        return replace(profile, grants=())

    async def _start_with_grants(self, wanted: Profile) -> ForkServer:
        profile = self._without_unsupported(wanted)
        try:
            return await self._start_server(profile)
        except LevelUnsupported:
            if not profile.grants:
                raise
        # A jail without the grants is not weaker; only the job can do less.
        self._unsupported_grants.add(profile.grants)
        return await self._start_server(self._without_unsupported(wanted))

    def _adopt_server(self, profile: Profile) -> ForkServer | None:
        loop = asyncio.get_running_loop()
        with self._lock:
            return next((one for one in self._all.get(profile, ()) if one.adopt(loop)), None)

    async def _start_server(self, profile: Profile) -> ForkServer:
        self._retire()
        server = ForkServer(profile, workspaces())
        self._close_at_exit()
        await server.start()
        try:
            isolation = await canaries(server)
        except BaseException:
            server.close("its self-test failed")
            raise
        if isolation.level != profile.level:
            server.close("its self-test failed")
            seen = "; ".join(f"{one.name}: {one.seen}" for one in isolation.layers if not one.holds)
            raise LevelUnsupported(f"its self-test confirms only {isolation.level}: {seen}")
        with self._lock:
            server.isolation = isolation
            self._all.setdefault(profile, []).append(server)
        return server

    def _close_at_exit(self) -> None:
        # Runs before the workspaces remove their folder: exit handlers run in reverse order.
        atexit.unregister(self.close)
        atexit.register(self.close)

    def _retire(self) -> None:
        """Ends the least recently used servers above `_MAX_SERVERS`."""
        with self._lock:
            idle = [one for some in self._all.values() for one in some if one.may_retire()]
            idle.sort(key=lambda server: server.used)
            for server in idle[: max(0, len(idle) - _MAX_SERVERS + 1)]:
                server.close("retired")
            for some in self._all.values():
                some[:] = [server for server in some if not server.broken]


SERVERS = Servers()


def profile_of(job: Job, level: JailLevel) -> Profile:
    """The profile of a server for a job."""
    preload = tuple(
        name for name in PRELOADABLE
        if name in job.preload and any(
            os.path.isdir(f"{folder}/{name}") for folder in job.package_folders
        )
    )
    return Profile(
        level, job.seed, job.package_folders, tuple(job.modules.items()), preload, job.grants,
        job.python,
    )


async def canaries(server: ForkServer) -> Isolation:
    """Runs the canaries in a worker of the server."""
    python = server.profile.python
    job = Job("from jail_canaries import tried\njail.send(tried())", python=python)
    source = files(f"{PACKAGE}.inside").joinpath("canaries.py").read_text("utf-8")
    # Not as `Job.modules`, which would need another fork server.
    message = jail_message(job, is_batch=False)
    message["modules"] = loaded({"jail_canaries": source}, python)
    worker = await server.worker()
    process = RunningJob(server, worker, job, message, is_batch=False)
    try:
        outcome = await process.finish()
    finally:
        await process.kill()
    met = outcome.messages[0] if outcome.messages else None
    if not isinstance(met, dict):
        raise SandboxError(f"the self-test of the jail reported nothing: {outcome}")
    return measured_isolation(
        server.outside_canaries, {one: str(why) for one, why in met.items()}, server.profile.grants
    )
