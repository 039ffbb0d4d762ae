"""A sandbox whose jobs all belong to one owner, who takes turns with others; see `turns`."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from sandbox.levels import Witness
from sandbox.sandbox import Batch, Process, Sandbox
from sandbox.types import Job, Outcome


class OwnedSandbox:
    """Another sandbox, with an owner's name on every job."""

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

    async def witness(self, coming: Job | None = None) -> Witness:
        """The level that was seen to hold on this machine."""
        return await self._sandbox.witness(coming)

    async def run(self, job: Job) -> Outcome:
        """Runs one job to its end."""
        return await self._sandbox.run(self._owned(job))

    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        """A running job to talk with; leaving the context kills it."""
        return self._sandbox.start(self._owned(job))

    def pair(
        self, first: Job, second: Job, shared: bool = False
    ) -> AbstractAsyncContextManager[tuple[Process, Process]]:
        """Two jobs whose `jail.peer` channels are joined."""
        return self._sandbox.pair(self._owned(first), self._owned(second), shared)

    def batch(self, job: Job) -> AbstractAsyncContextManager[Batch]:
        """A program kept running for many items."""
        return self._sandbox.batch(self._owned(job))

    def _owned(self, job: Job) -> Job:
        return replace(job, owner=self._owner)
