"""The interface of a sandbox backend, and the table of backends.

A sandbox runs jobs and returns outcomes; it is independent of tests, verdicts and repairs.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from typing import Protocol, cast

from sandbox.levels import Isolation
from sandbox.types import Job, Json, LostItem, Outcome, SandboxUnavailable


class Process(Protocol):
    """A running job."""

    async def send(self, message: Json) -> None:
        """Sends a value for the program's next `jail.receive()`; ignored if the process ended."""

    async def receive(self, timeout_s: float | None = None) -> Json | Outcome:
        """The program's next message, or its `Outcome` after the last one.

        After `timeout_s` without a message the process is killed and its outcome, ended by
        `timeout`, is returned. Later calls return the same outcome.
        """

    async def finish(self) -> Outcome:
        """Waits for the end within the job's limits and returns the outcome with all unreceived
        messages."""

    async def kill(self) -> Outcome:
        """Ends the process and everything it started; idempotent."""


class Batch(Protocol):
    """One program that answers many items, restarted after an item that ends it."""

    def replies(
        self, items: Sequence[Json], item_wall_s: float
    ) -> AsyncIterator[tuple[int, Json | LostItem]]:
        """Yields (index, reply) for each item, in order; `LostItem` for an item without a reply.

        The program must loop over `jail.receive()` and `jail.send()` one reply for each item.
        `item_wall_s` limits each item; the job's `wall_s` limits the time until the first
        `receive`, and its `cpu_s` is ignored. Standard output is dropped.
        """


class Sandbox(ABC):
    """Runs untrusted code. All methods raise only `SandboxError`.

    A cancelled method ends the processes that it started before it returns.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The backend's name in the table."""

    @abstractmethod
    def describe(self) -> str:
        """One line for people: the backend and its isolation on this machine."""

    @abstractmethod
    async def isolation(self, for_job: Job | None = None) -> Isolation:
        """The isolation level that was tested on this machine, with its layers.

        A backend with fork servers starts the server that runs `for_job` and tests that one.
        """

    @abstractmethod
    def start(self, job: Job) -> AbstractAsyncContextManager[Process]:
        """A running job; leaving the context kills it."""

    @abstractmethod
    def batch(self, job: Job) -> AbstractAsyncContextManager[Batch]:
        """A program that keeps running for many items."""

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
"""Backend name to `module:factory`; imported on demand."""

STRONGEST = "auto"
"""The name of the local backend with the strongest isolation on this machine."""

JAIL_STARTS: Counter[str] = Counter()
"""The fork servers and jailed processes (`server`, `process`) that this process has started."""

REMOTE = ("docker", "e2b", "daytona")
"""Backends whose factories take the environment with their keys and settings."""


def open_sandbox(name: str = STRONGEST, environment: Mapping[str, str] | None = None) -> Sandbox:
    """Opens a backend by name; raises `SandboxUnavailable`, which says what to do.

    `environment` has the key of a remote backend; the default is the process's environment.
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
