"""The remote backend `e2b`: a small virtual machine for each job, through E2B's SDK.

The SDK retries where the service asks for it, so its errors are final. They have no common base
class, and an interrupted stream raises a plain `Exception`.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.remote.backend import RemoteSandbox
from sandbox.remote.bootstrap import bootstrap_shell_command
from sandbox.remote.link import Command, SandboxRequirements
from sandbox.remote.service import REQUEST_S, Service
from sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from e2b_code_interpreter import AsyncSandbox


@dataclass(frozen=True)
class E2B(Service):
    """Creates sandboxes at E2B."""

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
        """See `RemoteHost`."""
        return f"a machine of E2B ({self.image or 'its usual template'}) without network"

    @asynccontextmanager
    async def create_sandbox(self, need: SandboxRequirements) -> AsyncIterator[Command]:
        """See `RemoteHost`."""
        sdk = self.sdk()
        with self.translate_errors("no sandbox could be created"):
            sandbox = await sdk.AsyncSandbox.create(
                template=self.image, timeout=math.ceil(need.ttl_s), allow_internet_access=False,
                metadata={"made-by": "code-jail"}, api_key=self.key, domain=self.domain,
                api_url=self.api_url, sandbox_url=self.sandbox_url, request_timeout=REQUEST_S,
            )
        try:
            async with self._command(sandbox) as command:
                yield command
        finally:
            await self.delete(sandbox.sandbox_id, sandbox.kill)  # works after its end too

    @asynccontextmanager
    async def _command(self, sandbox: AsyncSandbox) -> AsyncIterator[Command]:
        command = Command()
        with self.translate_errors("the command in the sandbox could not be started"):
            handle = await sandbox.commands.run(
                bootstrap_shell_command(),
                background=True,
                stdin=True,
                # As root the supervisor can run each job as its own user, which it cannot leave.
                user="root",
                cwd="/",
                timeout=0,
                request_timeout=REQUEST_S,
                on_stdout=command.feed_stdout,
                on_stderr=command.feed_stderr,
                retain_output=False,
            )

        async def send(text: str) -> None:
            with self.translate_errors("input could not be sent to the sandbox"):
                await sandbox.commands.send_stdin(handle.pid, text)

        async def ended() -> None:
            with (
                self.translate_errors("the connection to the sandbox was lost"),
                suppress(self.sdk().CommandExitException),
            ):
                await handle.wait()

        command.send = send
        try:
            async with command.running(ended):
                yield command
        finally:
            await handle.disconnect()

    def advice(self, error: Exception) -> str:
        """See `Service`."""
        sdk = self.sdk()
        if isinstance(error, sdk.AuthenticationException):
            return f"check {self.key_name}; keys are made in E2B's dashboard"
        if isinstance(error, sdk.RateLimitException):
            return "wait for running sandboxes to end, or raise the account's limits"
        if isinstance(error, sdk.TimeoutException):
            return "the sandbox or the network to it is unreachable or slow; try again"
        return ""


def open_e2b(environment: Mapping[str, str]) -> Sandbox:
    """The backend for the key in the environment; raises `SandboxUnavailable` without a key."""
    return RemoteSandbox(E2B.from_environment(
        environment, domain=environment.get("E2B_DOMAIN") or None,
        api_url=environment.get("E2B_API_URL") or None,
        sandbox_url=environment.get("E2B_SANDBOX_URL") or None,
    ))
