"""Jobs on a host's machines, behind the protocol of every backend."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict
from typing import Any, Self

from sandbox.levels import Isolation, Layer
from sandbox.protocol.wire import frame
from sandbox.remote.link import Link, Need, RemoteHost, RemoteProcess
from sandbox.sandbox import Sandbox
from sandbox.types import Job, Json, LostItem, SandboxError

_START_S = 120.0
"""From the moment a sandbox is there until a job runs in it, and from its end to ours."""
_BATCH_LIFE_S = 3600.0
"""No batch outlives that; it is also the most that a free plan grants anywhere."""


class RemoteSandbox(Sandbox):
    """Runs each job in a sandbox that a host lends for it."""

    def __init__(self, host: RemoteHost) -> None:
        self._host = host

    @property
    def name(self) -> str:
        """The backend's, as the table has it."""
        return self._host.name

    def describe(self) -> str:
        """One line for people: the backend and what it holds back here."""
        return (
            f"{self.name}: {self._host.describe()}; a fresh one for each job, limits on time, "
            "memory, processes, files and output in it; packages are those installed there"
        )

    async def isolation(self, coming: Job | None = None) -> Isolation:
        """What a host does to keep sandboxes apart is its own word; nothing is tried here."""
        return Isolation(
            "R",
            (
                Layer("limits", True, "set in the sandbox, by the backend that sets them here"),
                Layer("isolation", False, f"not tried: {self._host.describe()}"),
            ),
        )

    @asynccontextmanager
    async def start(self, job: Job) -> AsyncIterator[RemoteProcess]:
        """A running job to talk with; leaving the context kills it and deletes its sandbox."""
        limits = job.limits
        need = Need(limits.wall_s + _START_S, limits.memory_mib, limits.processes)
        link = Link(self._host, ("job", _told(job)), need, limits)
        link.process = RemoteProcess(link, limits)
        try:
            yield link.process
        except BaseException as error:
            await link.end(error)
            raise
        await link.end()

    def batch(self, job: Job) -> _Batch:
        """A program kept running for many items, in one sandbox as long as lists are ended."""
        return _Batch(self._host, job)


class _Batch:
    """A batch on the other side, which restarts its program there; lists are carried."""

    def __init__(self, host: RemoteHost, job: Job) -> None:
        self._host = host
        self._job = job
        self._link: Link | None = None
        self._busy = False

    async def replies(
        self, items: Sequence[Json], item_wall_s: float
    ) -> AsyncIterator[tuple[int, Json | LostItem]]:
        """Yields (index, reply) for each item, in order; see the protocol."""
        if self._busy:
            raise SandboxError("a batch answers one list of items at a time")
        for item in items:
            frame(item)  # refuses what is no JSON value, here and not there
        self._busy = True
        done = 0
        most_s = max(item_wall_s, self._job.limits.wall_s)
        try:
            link = self._link = self._link or self._begun()
            link.tell("items", list(items), float(item_wall_s))
            while done < len(items):
                await link.until(lambda: bool(link.replies), most_s)
                if not link.replies:
                    raise SandboxError("the batch was closed while it answered")
                while link.replies:
                    index, reply = link.replies.popleft()
                    if index != done:
                        raise SandboxError(f"{self._host.name}: its sandbox lost count of a batch")
                    done += 1
                    link.assembler.renew()
                    yield index, reply
        finally:
            self._busy = False
            if done < len(items):
                # The reader went away; answers in flight must not meet the next list.
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

    def _begun(self) -> Link:
        limits = self._job.limits
        need = Need(_BATCH_LIFE_S, limits.memory_mib, limits.processes)
        return Link(self._host, ("batch", _told(self._job)), need, limits)


def _told(job: Job) -> dict[str, Any]:
    """A job as plain values, for the porter; raises `SandboxError` for what has no such form."""
    document = {**asdict(job), "modules": dict(job.modules), "files": dict(job.files)}
    frame(document)
    return document
