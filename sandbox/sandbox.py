"""What every backend is, and the table of backends.

A sandbox knows nothing of tests, verdicts or repairs: jobs go in, outcomes come out.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Protocol, cast

from sandbox.levels import Isolation
from sandbox.types import Job, Json, LostItem, Outcome, SandboxUnavailable


class Process(Protocol):
    """A running job."""

    async def send(self, message: Json) -> None:
        """Gives the program its next `jail.receive()`. A dead process is no error here."""

    async def receive(self, timeout_s: float | None = None) -> Json | Outcome:
        """The program's next message, or its `Outcome` once there is none and it has ended.

        After `timeout_s` without a message the process is killed and its outcome, ended by
        `timeout`, is returned; every later call returns the same outcome.
        """

    async def finish(self) -> Outcome:
        """Waits for the end within the job's limits and returns the outcome with all messages
        not received yet."""

    async def kill(self) -> Outcome:
        """Ends the process and everything it started; idempotent."""


class Batch(Protocol):
    """One program that answers many items, restarted where an item ends it."""

    def replies(
        self, items: Sequence[Json], item_wall_s: float
    ) -> AsyncIterator[tuple[int, Json | LostItem]]:
        """Yields (index, reply) for each item, in order; an item without one is `LostItem`.

        The program must loop over `jail.receive()` and `jail.send()` one reply for each item.
        `item_wall_s` bounds each item; the job's `wall_s` bounds the time until the program
        first receives, and its `cpu_s` bounds nothing. Standard output is dropped.
        """


class Sandbox(ABC):
    """A place where untrusted code runs. All methods raise only `SandboxError`.

    Cancelling any of them ends the processes it started before the cancellation goes on.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The backend's, as the table has it."""

    @abstractmethod
    def describe(self) -> str:
        """One line for people: the backend and what it holds back here."""

    @abstractmethod
    async def isolation(self, coming: Job | None = None) -> Isolation:
        """The level that was seen to hold on this machine, and what was seen of its layers.

        With a job that is `coming`, a backend that keeps interpreters loaded looks at the one
        for that job, which is then ready.
        """

    @abstractmethod
    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        """A running job to talk with; leaving the context kills it."""

    @abstractmethod
    def batch(self, job: Job) -> AbstractAsyncContextManager[Batch]:
        """A program kept running for many items."""

    async def run(self, job: Job) -> Outcome:
        """Runs one job to its end."""
        async with self.start(job) as process:
            return await process.finish()


BACKENDS: dict[str, str] = {
    "jail": ".strongest:open_jail",
    "subprocess": ".subprocess_backend:SubprocessSandbox",
    "docker": ".remote.docker:open_docker",
    "e2b": ".remote.e2b:open_e2b",
    "daytona": ".remote.daytona:open_daytona",
}
"""Backend name to `module:factory`; imported when asked for."""

STRONGEST = "auto"
"""The name for whichever local backend holds back most on this machine."""

REMOTE = ("docker", "e2b", "daytona")
"""Backends on other machines, whose factories take the environment: there are keys in it."""


def open_sandbox(
    name: str = STRONGEST, environment: Mapping[str, str] | None = None
) -> Sandbox:
    """The backend of that name; raises `SandboxUnavailable` with what to do instead.

    `environment` is where a remote backend finds its key, by default the process's.
    """
    if name == STRONGEST:
        return cast(Sandbox, import_module(".strongest", __package__).StrongestSandbox())
    if name not in BACKENDS:
        known = ", ".join([STRONGEST, *sorted(BACKENDS)])
        raise SandboxUnavailable(f"there is no sandbox backend {name!r}; choose one of: {known}")
    module, _, factory = BACKENDS[name].partition(":")
    make = cast(Callable[..., Sandbox], getattr(import_module(module, __package__), factory))
    if name in REMOTE:
        return make(os.environ if environment is None else environment)
    return make()
