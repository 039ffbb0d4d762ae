"""Sandboxes around others: the strongest that this machine grants, and one owner's.

What the system grants is known only once it has been tried, so the choice falls with the first
job. `describe` and `isolation` report it; nothing is weakened silently.
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


class _Around(Sandbox):
    """Gives each job to another sandbox."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    @abstractmethod
    async def _given(self, job: Job) -> Job:
        """What a job is given as, once it is settled to whom."""

    @property
    def name(self) -> str:
        """The backend's, as the table has it."""
        return self._sandbox.name

    def describe(self) -> str:
        """One line for people: the backend and what it holds back here."""
        return self._sandbox.describe()

    async def isolation(self, coming: Job | None = None) -> Isolation:
        """The level that was seen to hold on this machine."""
        coming = await self._given(coming or Job(""))
        return await self._sandbox.isolation(coming)

    @asynccontextmanager
    async def start(self, job: Job) -> AsyncIterator[Process]:
        """A running job to talk with; leaving the context kills it."""
        given = await self._given(job)
        async with self._sandbox.start(given) as process:
            yield process

    @asynccontextmanager
    async def batch(self, job: Job) -> AsyncIterator[Batch]:
        """A program kept running for many items."""
        given = await self._given(job)
        async with self._sandbox.batch(given) as batch:
            yield batch


class OwnedSandbox(_Around):
    """Another sandbox, with an owner's name on every job, who takes turns with others."""

    def __init__(self, sandbox: Sandbox, owner: str) -> None:
        super().__init__(sandbox)
        self._owner = owner

    async def _given(self, job: Job) -> Job:
        return replace(job, owner=self._owner)


class StrongestSandbox(_Around):
    """Runs each job in the jail where there is one, else in the plain backend."""

    def __init__(self) -> None:
        self._tried = False
        self._refusal = ""
        """Why there is no jail, where there is none."""
        try:
            super().__init__(open_jail())
        except SandboxUnavailable as refusal:
            self._fall_back(refusal)

    def describe(self) -> str:
        """One line for people: the backend and what it holds back here."""
        said = super().describe()
        return f"{said} (no jail: {self._refusal})" if self._refusal else said

    async def isolation(self, coming: Job | None = None) -> Isolation:
        """The level that was seen to hold, and of the jail why it does not, if so."""
        seen = await super().isolation(coming)
        if not self._refusal:
            return seen
        return replace(seen, layers=(*seen.layers, Layer("jail", False, self._refusal)))

    async def _given(self, job: Job) -> Job:
        if not self._tried:
            try:
                await self._sandbox.isolation(job)
            except SandboxUnavailable as refusal:
                self._fall_back(refusal)
            self._tried = True
        return job

    def _fall_back(self, refusal: SandboxUnavailable) -> None:
        # Not everywhere that a sandbox is named is it this one, nor is it sent everywhere.
        from sandbox.subprocess_backend import SubprocessSandbox

        super().__init__(SubprocessSandbox())
        self._refusal = str(refusal)
        self._tried = True


def open_jail() -> Sandbox:
    """The jail; raises `SandboxUnavailable` where it cannot even be imported."""
    if sys.platform != "linux":
        raise SandboxUnavailable(
            "the jail needs Linux with seccomp on x86_64 or aarch64; "
            "the backend `subprocess` works on macOS, with limits only"
        )
    from sandbox.jail import JailSandbox

    return JailSandbox()
