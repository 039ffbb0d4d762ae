"""The fork servers of this process, and which one serves a job.

A server is chosen by what its children must have in common before any job: hash seed, folders
of packages, our own modules, preloaded packages, grants. The strongest level the system grants is
tried first, and a server is used only after canaries in one of its children have been refused
as that level promises.
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

from sandbox import __name__ as OURS
from sandbox.jail.forkserver import ForkServer, NotGranted, Profile
from sandbox.jail.running import RunningJob, ordered
from sandbox.levels import Isolation, JailLevel, isolation_shown
from sandbox.protocol.orders import loaded
from sandbox.types import PRELOADABLE, Job, SandboxError, SandboxUnavailable
from sandbox.workspaces import workspaces

_MAX_SERVERS = 8


class Servers:
    """All fork servers of this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._all: dict[Profile, list[ForkServer]] = {}
        self._levels: dict[JailLevel, JailLevel] = {}
        """The level asked for at most, to the level the system granted."""
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

    async def get(self, wanted: Profile) -> ForkServer:
        """A server that fits, running in this event loop; the level wanted is one at most."""
        if os.getpid() != self._host:
            # A forked copy of the host: the servers are its parent's.
            self.__dict__.update(Servers().__dict__)
        server = self._running(wanted)
        if server is not None:
            return server
        # Concurrent requests for a server that is missing wait for the same start.
        asked = asyncio.get_running_loop(), wanted
        async with self._starting.setdefault(asked, asyncio.Lock()):
            return self._running(wanted) or await self._new(wanted)

    def _running(self, wanted: Profile) -> ForkServer | None:
        """A server that fits and was started before; `None` where there is none."""
        known = self._levels.get(wanted.level)
        if known is None:
            return None
        at_level = wanted if known == wanted.level else replace(wanted, level=known)
        return self._adopted(self._granted(at_level))

    async def _new(self, wanted: Profile) -> ForkServer:
        known = self._levels.get(wanted.level)
        if known is not None:
            try:
                return await self._started_for(replace(wanted, level=known))
            except NotGranted as refusal:
                # Not tried one level below: what was said to hold here is what jobs must get.
                raise SandboxError(
                    f"{known} of the jail was granted before, and now it is not: {refusal}"
                ) from refusal
        refusals = []
        for level in reversed(get_args(JailLevel)[: get_args(JailLevel).index(wanted.level) + 1]):
            try:
                server = await self._started_for(replace(wanted, level=level))
            except NotGranted as refusal:
                refusals.append(f"{level}: {refusal}")
                continue
            self._levels[wanted.level] = level
            return server
        raise SandboxUnavailable(
            "the system grants no level of the jail (" + "; ".join(refusals) + "); "
            "the backend `subprocess` works here, with limits only"
        )

    def _granted(self, profile: Profile) -> Profile:
        """What is wanted, less what this system does not grant a job."""
        if not profile.grants:
            return profile
        if profile.level == "L4" and profile.grants not in self._ungranted:
            return profile
        return replace(profile, grants=())

    async def _started_for(self, wanted: Profile) -> ForkServer:
        profile = self._granted(wanted)
        try:
            return await self._started(profile)
        except NotGranted:
            if not profile.grants:
                raise
        # One process without a network is less for the job, and no weaker jail.
        self._ungranted.add(profile.grants)
        return await self._started(self._granted(wanted))

    def _adopted(self, profile: Profile) -> ForkServer | None:
        loop = asyncio.get_running_loop()
        with self._lock:
            return next((one for one in self._all.get(profile, ()) if one.adopt(loop)), None)

    async def _started(self, profile: Profile) -> ForkServer:
        self._retire()
        server = ForkServer(profile, workspaces())
        self._ends_with_the_host()
        await server.start()
        try:
            isolation = await canaries(server)
        except BaseException:
            server.close("its canaries were not heard")
            raise
        if isolation.level != profile.level:
            server.close("its canaries got through")
            seen = "; ".join(f"{one.name}: {one.seen}" for one in isolation.layers if not one.holds)
            raise NotGranted(f"seen to hold is only {isolation.level}: {seen}")
        with self._lock:
            server.isolation = isolation
            self._all.setdefault(profile, []).append(server)
        return server

    def _ends_with_the_host(self) -> None:
        # What is registered last is done first: before the workspaces remove their folder.
        atexit.unregister(self.close)
        atexit.register(self.close)

    def _retire(self) -> None:
        """Ends the servers that were used longest ago, so that few are kept."""
        with self._lock:
            idle = [one for some in self._all.values() for one in some if one.may_retire()]
            idle.sort(key=lambda server: server.used)
            for server in idle[: max(0, len(idle) - _MAX_SERVERS + 1)]:
                server.close("retired")
            for some in self._all.values():
                some[:] = [server for server in some if not server.broken]


SERVERS = Servers()


def profile_of(job: Job, level: JailLevel) -> Profile:
    """What a server must have for a job."""
    preload = tuple(
        name for name in PRELOADABLE
        if name in job.preload and any(os.path.isdir(f"{site}/{name}") for site in job.sites)
    )
    return Profile(
        level, job.seed, job.sites, tuple(job.modules.items()), preload, job.grants, job.python
    )


async def canaries(server: ForkServer) -> Isolation:
    """Tries the canaries in one child of the server."""
    python = server.profile.python
    job = Job("from jail_canaries import tried\njail.send(tried())", python=python)
    source = files(f"{OURS}.inside").joinpath("canaries.py").read_text("utf-8")
    # Not as modules of the job, which would ask for a fork server with them.
    order = ordered(job, endless=False) | {
        "modules": loaded({"jail_canaries": source}, python)
    }
    worker = await server.worker()
    process = RunningJob(server, worker, job, order, endless=False)
    try:
        outcome = await process.finish()
    finally:
        await process.kill()
    met = outcome.messages[0] if outcome.messages else None
    if not isinstance(met, dict):
        raise SandboxError(f"the canaries of the jail said nothing: {outcome}")
    return isolation_shown(
        server.controls, {name: str(error) for name, error in met.items()}, server.profile.grants
    )
