"""Sandboxes around others: the strongest that this machine grants, and one owner's.

What the system grants is known only once it has been tried, so the choice falls with the first
job. It is told in `describe` and `isolation`; nothing here is weakened in silence.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

from sandbox.levels import Isolation, Layer
from sandbox.sandbox import Batch, Process, Sandbox
from sandbox.types import Job, Outcome, SandboxUnavailable


class _Around(ABC):
    """Gives each job to another sandbox."""

    @abstractmethod
    async def _given(self, job: Job) -> tuple[Sandbox, Job]:
        """Who runs a job, and as what."""

    async def run(self, job: Job) -> Outcome:
        """Runs one job to its end."""
        sandbox, job = await self._given(job)
        return await sandbox.run(job)

    @asynccontextmanager
    async def start(self, job: Job) -> AsyncIterator[Process]:
        """A running job to talk with; leaving the context kills it."""
        sandbox, job = await self._given(job)
        async with sandbox.start(job) as process:
            yield process

    @asynccontextmanager
    async def pair(
        self, first: Job, second: Job, shared: bool = False
    ) -> AsyncIterator[tuple[Process, Process]]:
        """Two jobs whose `jail.peer` channels are joined, with a common folder if asked."""
        sandbox, first = await self._given(first)
        _, second = await self._given(second)
        async with sandbox.pair(first, second, shared) as processes:
            yield processes

    @asynccontextmanager
    async def batch(self, job: Job) -> AsyncIterator[Batch]:
        """A program kept running for many items."""
        sandbox, job = await self._given(job)
        async with sandbox.batch(job) as batch:
            yield batch


class OwnedSandbox(_Around):
    """Another sandbox, with an owner's name on every job, who takes turns with others."""

    def __init__(self, sandbox: Sandbox, owner: str) -> None:
        self._sandbox = sandbox
        self._owner = owner

    @property
    def name(self) -> str:
        """The backend's."""
        return self._sandbox.name

    def describe(self) -> str:
        """One line for people: the backend and what it holds back here."""
        return self._sandbox.describe()

    async def isolation(self, coming: Job | None = None) -> Isolation:
        """The level that was seen to hold on this machine."""
        return await self._sandbox.isolation(coming)

    async def _given(self, job: Job) -> tuple[Sandbox, Job]:
        return self._sandbox, replace(job, owner=self._owner)


class StrongestSandbox(_Around):
    """Runs each job in the jail where there is one, else in the plain backend."""

    def __init__(self) -> None:
        self.name = "jail"
        self._backend: Sandbox
        self._tried = False
        self._refusal = ""
        """Why there is no jail, where there is none."""
        try:
            self._backend = open_jail()
        except SandboxUnavailable as refusal:
            self._fall_back(refusal)

    def describe(self) -> str:
        """One line for people: the backend and what it holds back here."""
        said = self._backend.describe()
        return f"{said} (no jail: {self._refusal})" if self._refusal else said

    async def isolation(self, coming: Job | None = None) -> Isolation:
        """The level that was seen to hold, and of the jail why it does not, if so."""
        backend, _ = await self._given(coming or Job(""))
        seen = await backend.isolation(coming)
        if not self._refusal:
            return seen
        return replace(seen, layers=(*seen.layers, Layer("jail", False, self._refusal)))

    async def _given(self, job: Job) -> tuple[Sandbox, Job]:
        if not self._tried:
            try:
                await self._backend.isolation(job)
            except SandboxUnavailable as refusal:
                self._fall_back(refusal)
            self._tried = True
        return self._backend, job

    def _fall_back(self, refusal: SandboxUnavailable) -> None:
        # Not everywhere that a sandbox is named is it this one, nor is it sent everywhere.
        from sandbox.subprocess_backend import SubprocessSandbox

        self._backend = SubprocessSandbox()
        self.name = self._backend.name
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
