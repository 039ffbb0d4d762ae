"""The backend `jail`: jobs in children of fork servers, behind the protocol of every sandbox."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from sandbox.inside import lockdown
from sandbox.jail.forkserver import ForkServer
from sandbox.jail.retry import RetriedJob, Retry
from sandbox.jail.running import Running, ordered
from sandbox.jail.servers import SERVERS, profile_of
from sandbox.levels import LEVEL_MEANINGS, Isolation, JailLevel
from sandbox.sandbox import Sandbox
from sandbox.talk.batch import RestartingBatch
from sandbox.types import Job, SandboxError, SandboxUnavailable


class JailSandbox(Sandbox):
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

    def describe(self) -> str:
        """One line for people: the backend and what it holds back here."""
        level = SERVERS.level(self._at_most)
        if level is None:
            return f"jail: up to {self._at_most} ({LEVEL_MEANINGS[self._at_most]}), not tried yet"
        granted = "; on request processes and sockets of a job's own" if level == "L4" else ""
        return f"jail: {level} ({LEVEL_MEANINGS[level]}{granted})"

    async def isolation(self, coming: Job | None = None) -> Isolation:
        """The level that canaries saw to hold; starts a fork server if none runs yet, or none
        for the job that is `coming`."""
        return SERVERS.isolation_of(await self._server(coming or Job("")))

    def batch(self, job: Job) -> RestartingBatch:
        """A program kept running for many items."""

        async def start() -> Running:
            told = ordered(job, endless=True)
            server = await self._server(job)
            (worker,) = await server.workers(1, job.owner, silent=True, lasts=not job.brief)
            return Running(server, worker, job, told, endless=True)

        return RestartingBatch(start, job)

    @asynccontextmanager
    async def together(
        self, jobs: Sequence[Job], shared: bool = False
    ) -> AsyncIterator[list[RetriedJob]]:
        """One running job, or the two of a pair; leaving the context kills them."""
        profiles = [profile_of(job, self._at_most) for job in jobs[1:]]
        if any(one != profile_of(jobs[0], self._at_most) for one in profiles):
            raise SandboxError(
                "two jobs of a pair need the same seed, Python, sites, modules, preload and grants"
            )
        told = [{**ordered(job, endless=False), "shared": shared} for job in jobs]

        async def start() -> list[Running]:
            server = await self._server(jobs[0])
            if shared and server.profile.level == "L2":
                raise SandboxError("at level L2 no file can be opened, so jobs can share no folder")
            reads = any(job.stdin for job in jobs)
            workers = await server.workers(len(jobs), jobs[0].owner, reads=reads)
            return [
                Running(server, worker, job, one, endless=False)
                for worker, job, one in zip(workers, jobs, told, strict=True)
            ]

        processes = await Retry(start).begin()
        try:
            yield processes
        finally:
            for process in processes:
                process.stop("killed", "stopped by the host")
            for process in processes:
                await process.kill()

    async def _server(self, job: Job) -> ForkServer:
        return await SERVERS.get(profile_of(job, self._at_most), self._ready)
