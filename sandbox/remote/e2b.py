"""Sandboxes of E2B, through its own SDK: a small virtual machine for each job.

The SDK retries what the service asks it to retry, so an error that comes here is final. Its errors
have no common base, and a stream cut short is a bare `Exception`.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.remote.backend import RemoteSandbox
from sandbox.remote.link import Command, Need
from sandbox.remote.parcel import shell_loader
from sandbox.remote.service import REQUEST_S, Service
from sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from e2b_code_interpreter import AsyncSandbox


@dataclass(frozen=True)
class E2B(Service):
    """Lends sandboxes of E2B."""

    domain: str | None = None
    api_url: str | None = None
    sandbox_url: str | None = None

    name = "e2b"
    title = "E2B"
    key_name = "E2B_API_KEY"
    image_name = "HEAL_E2B_TEMPLATE"
    module = "e2b_code_interpreter"
    package = "e2b-code-interpreter"

    def describe(self) -> str:
        """One line for people: what a sandbox of this host is."""
        return f"a machine of E2B ({self.image or 'its usual template'}) without network"

    @asynccontextmanager
    async def lend(self, need: Need) -> AsyncIterator[Command]:
        """A fresh sandbox with the loader running in it, killed at the end."""
        sdk = self.sdk()
        with self.explaining("no sandbox could be made"):
            sandbox = await sdk.AsyncSandbox.create(
                template=self.image,
                timeout=math.ceil(need.life_s),
                allow_internet_access=False,
                metadata={"made-by": "code-jail"},
                api_key=self.key,
                domain=self.domain,
                api_url=self.api_url,
                sandbox_url=self.sandbox_url,
                request_timeout=REQUEST_S,
            )
        try:
            async with self._command(sandbox) as command:
                yield command
        finally:
            await self.delete(sandbox.sandbox_id, sandbox.kill)  # also one that has ended by itself

    @asynccontextmanager
    async def _command(self, sandbox: AsyncSandbox) -> AsyncIterator[Command]:
        command = Command()
        with self.explaining("the sandbox ran no command"):
            handle = await sandbox.commands.run(
                shell_loader(),
                background=True,
                stdin=True,
                # Root there gives each job a user of its own, which has no way back.
                user="root",
                cwd="/",
                timeout=0,
                request_timeout=REQUEST_S,
                on_stdout=command.put,
                on_stderr=command.complain,
                retain_output=False,
            )

        async def send(text: str) -> None:
            with self.explaining("the sandbox took no input"):
                await sandbox.commands.send_stdin(handle.pid, text)

        async def ended() -> None:
            with (
                self.explaining("the connection to the sandbox was lost"),
                suppress(self.sdk().CommandExitException),
            ):
                await handle.wait()

        command.send = send
        try:
            async with command.heard(ended):
                yield command
        finally:
            await handle.disconnect()

    def advice(self, error: Exception) -> str:
        """What to do about an error of the SDK."""
        sdk = self.sdk()
        if isinstance(error, sdk.AuthenticationException):
            return f"check {self.key_name}; keys are made in E2B's dashboard"
        if isinstance(error, sdk.RateLimitException):
            return "wait for running sandboxes to end, or raise the account's limits"
        if isinstance(error, sdk.TimeoutException):
            return "the sandbox or the network to it is gone or slow; try again"
        return ""


def open_e2b(environment: Mapping[str, str]) -> Sandbox:
    """The backend, for the key in the environment; raises `SandboxUnavailable` without one."""
    return RemoteSandbox(E2B.opened(
        environment,
        domain=environment.get("E2B_DOMAIN") or None,
        api_url=environment.get("E2B_API_URL") or None,
        sandbox_url=environment.get("E2B_SANDBOX_URL") or None,
    ))
