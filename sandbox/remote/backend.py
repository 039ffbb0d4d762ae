"""The sandbox interface of the remote backends."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any, Self

from sandbox.levels import Isolation, Layer
from sandbox.protocol.wire import frame
from sandbox.remote.link import Link, RemoteHost, RemoteProcess, SandboxRequirements
from sandbox.sandbox import Sandbox
from sandbox.types import Job, Json, LostItem, SandboxError

_START_S = 120.0
"""The time for starting a job in a new sandbox and for handling its end."""
_BATCH_LIFE_S = 3600.0
"""The maximum time of a batch, which is also the limit of free plans."""


class RemoteSandbox(Sandbox):
    """Runs each job in a new sandbox of a remote host."""

    def __init__(self, host: RemoteHost) -> None:
        self._host = host

    @property
    def name(self) -> str:
        """See `Sandbox`."""
        return self._host.name

    def describe(self) -> str:
        """See `Sandbox`."""
        return (
            f"{self.name}: {self._host.describe()}; a new one for each job, with limits on "
            "time, memory, processes, files and output; it has the packages installed there"
        )

    async def isolation(self, for_job: Job | None = None) -> Isolation:
        """The level R: the host's isolation is its provider's claim and not tested."""
        return Isolation(
            "R",
            (
                Layer("limits", True, "set inside the sandbox"),
                Layer("isolation", False, f"not tested: {self._host.describe()}"),
            ),
        )

    @asynccontextmanager
    async def start(self, job: Job) -> AsyncIterator[RemoteProcess]:
        """A running job; leaving the context kills it and deletes its sandbox."""
        limits = job.limits
        need = SandboxRequirements(limits.wall_s + _START_S, limits.memory_mib, limits.processes)
        link = Link(self._host, ("job", _document(job)), need, limits)
        link.process = RemoteProcess(link, limits)
        try:
            yield link.process
        except BaseException as error:
            await link.end(error)
            raise
        await link.end()

    def batch(self, job: Job) -> _Batch:
        """See `Sandbox`. The sandbox is reused unless a list of items is left early."""
        return _Batch(self._host, job)


class _Batch:
    """A remote batch, which restarts its program in the sandbox; implements `Batch`."""

    def __init__(self, host: RemoteHost, job: Job) -> None:
        self._host = host
        self._job = job
        self._link: Link | None = None
        self._busy = False

    async def replies(
        self, items: Sequence[Json], item_wall_s: float
    ) -> AsyncIterator[tuple[int, Json | LostItem]]:
        """See `Batch`."""
        if self._busy:
            raise SandboxError("a batch answers one list of items at a time")
        for item in items:
            frame(item)  # rejects values that are not JSON
        self._busy = True
        done = 0
        max_s = max(item_wall_s, self._job.limits.wall_s)
        try:
            link = self._link = self._link or self._start_link()
            link.queue("items", list(items), float(item_wall_s))
            while done < len(items):
                await link.until(lambda: bool(link.replies), max_s)
                if not link.replies:
                    raise SandboxError("the batch was closed while it answered")
                while link.replies:
                    index, reply = link.replies.popleft()
                    if index != done:
                        raise SandboxError(f"{self._host.name}: its sandbox skipped a batch item")
                    done += 1
                    link.assembler.renew()
                    yield index, reply
        finally:
            self._busy = False
            if done < len(items):
                # The caller stopped; pending replies must not be mixed with the next list.
                await self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the program and deletes its sandbox."""
        if self._link is not None:
            link, self._link = self._link, None
            link.replies.clear()
            await link.end()

    def _start_link(self) -> Link:
        limits = self._job.limits
        need = SandboxRequirements(_BATCH_LIFE_S, limits.memory_mib, limits.processes)
        return Link(self._host, ("batch", _document(self._job)), need, limits)


def _document(job: Job) -> dict[str, Any]:
    """A job as plain values for the supervisor; raises `SandboxError` if a value is not JSON."""
    document = {**asdict(job), "modules": dict(job.modules), "files": dict(job.files)}
    frame(document)
    return document
