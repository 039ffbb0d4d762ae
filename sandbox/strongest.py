"""Sandboxes that wrap others: the strongest available one, and one with an owner for its jobs.

The available isolation is known only after a test, so the backend is chosen at the first job.
`describe` and `isolation` report the choice; isolation is never reduced silently.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from sandbox.levels import Isolation, Layer
from sandbox.sandbox import Batch, Process, Sandbox
from sandbox.types import Job, SandboxUnavailable


class _Wrapper(Sandbox):
    """Passes each job to another sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    @abstractmethod
    async def _prepared(self, job: Job) -> Job:
        """The job to pass on; may select the sandbox first."""

    @property
    def name(self) -> str:
        """See `Sandbox`."""
        return self._sandbox.name

    def describe(self) -> str:
        """See `Sandbox`."""
        return self._sandbox.describe()

    async def isolation(self, for_job: Job | None = None) -> Isolation:
        """See `Sandbox`."""
        return await self._sandbox.isolation(await self._prepared(for_job or Job("")))

    @asynccontextmanager
    async def start(self, job: Job) -> AsyncIterator[Process]:
        """See `Sandbox`."""
        prepared = await self._prepared(job)
        async with self._sandbox.start(prepared) as process:
            yield process

    @asynccontextmanager
    async def batch(self, job: Job) -> AsyncIterator[Batch]:
        """See `Sandbox`."""
        prepared = await self._prepared(job)
        async with self._sandbox.batch(prepared) as batch:
            yield batch


class OwnedSandbox(_Wrapper):
    """Sets the owner of every job, by which waiting jobs take turns."""

    def __init__(self, sandbox: Sandbox, owner: str) -> None:
        super().__init__(sandbox)
        self._owner = owner

    async def _prepared(self, job: Job) -> Job:
        return replace(job, owner=self._owner)


class StrongestSandbox(_Wrapper):
    """Runs each job in the jail if it is available, else in the backend `subprocess`."""

    def __init__(self) -> None:
        self._tried = False
        self._refusal = ""
        """Why the jail is unavailable; empty if it is available."""
        try:
            super().__init__(open_jail())
        except SandboxUnavailable as refusal:
            self._fall_back(refusal)

    def describe(self) -> str:
        """See `Sandbox`."""
        description = super().describe()
        return f"{description} (no jail: {self._refusal})" if self._refusal else description

    async def isolation(self, for_job: Job | None = None) -> Isolation:
        """See `Sandbox`; if the jail is unavailable, a layer has the reason."""
        found = await super().isolation(for_job)
        if not self._refusal:
            return found
        return replace(found, layers=(*found.layers, Layer("jail", False, self._refusal)))

    async def _prepared(self, job: Job) -> Job:
        if not self._tried:
            try:
                await self._sandbox.isolation(job)
            except SandboxUnavailable as refusal:
                self._fall_back(refusal)
            self._tried = True
        return job

    def _fall_back(self, refusal: SandboxUnavailable) -> None:
        # Imported on demand: not every wrapper needs this backend.
        from sandbox.subprocess_backend import SubprocessSandbox

        super().__init__(SubprocessSandbox())
        self._refusal = str(refusal)
        self._tried = True


def open_jail() -> Sandbox:
    """The jail; raises `SandboxUnavailable` on systems that cannot import it."""
    if sys.platform != "linux":
        raise SandboxUnavailable(
            "the jail needs Linux with seccomp on x86_64 or aarch64; "
            "the backend `subprocess` works on macOS, with limits only"
        )
    from sandbox.jail import JailSandbox

    return JailSandbox()
