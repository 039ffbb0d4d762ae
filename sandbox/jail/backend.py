"""The sandbox interface of the backend `jail`."""

from __future__ import annotations

import sys

from sandbox.inside import lockdown
from sandbox.jail.forkserver import ForkServer
from sandbox.jail.retry import RetriedJob
from sandbox.jail.running import RunningJob, jail_message
from sandbox.jail.servers import SERVERS, profile_of
from sandbox.levels import LEVEL_MEANINGS, Isolation, JailLevel
from sandbox.protocol.batch import RestartingBatch
from sandbox.sandbox import Sandbox
from sandbox.types import Job, SandboxUnavailable


class JailSandbox(Sandbox):
    """Runs each job in a new child of a fork server."""

    name = "jail"

    def __init__(self, at_most: JailLevel = "L4") -> None:
        """`at_most` is the highest level to use."""
        if sys.platform != "linux" or not lockdown.seccomp_works():
            raise SandboxUnavailable(
                "the jail needs Linux with seccomp on x86_64 or aarch64; "
                "the backend `subprocess` works here, with limits only"
            )
        self._at_most = at_most

    def describe(self) -> str:
        """See `Sandbox`."""
        level = SERVERS.tested_level(self._at_most)
        if level is None:
            return f"jail: up to {self._at_most} ({LEVEL_MEANINGS[self._at_most]}), not tried yet"
        granted = "; a job can get its own processes and sockets" if level == "L4" else ""
        return f"jail: {level} ({LEVEL_MEANINGS[level]}{granted})"

    async def isolation(self, for_job: Job | None = None) -> Isolation:
        """The level that the canaries of a fork server showed; starts the fork server if needed."""
        return (await self._server(for_job or Job(""))).isolation

    def batch(self, job: Job) -> RestartingBatch:
        """See `Sandbox`."""

        async def start() -> RunningJob:
            message = jail_message(job, is_batch=True)
            server = await self._server(job)
            worker = await server.worker(job.owner, silent=True, is_long=not job.brief)
            return RunningJob(server, worker, job, message, is_batch=True)

        return RestartingBatch(start, job)

    def start(self, job: Job) -> RetriedJob:
        """See `Sandbox`."""
        message = jail_message(job, is_batch=False)

        async def start() -> RunningJob:
            server = await self._server(job)
            worker = await server.worker(job.owner, reads=bool(job.stdin))
            return RunningJob(server, worker, job, message, is_batch=False)

        return RetriedJob(start)

    async def _server(self, job: Job) -> ForkServer:
        return await SERVERS.get(profile_of(job, self._at_most))
