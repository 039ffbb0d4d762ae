"""The remote backend `daytona`: a container or machine for each job, through Daytona's SDK.

The bootstrap script runs as a command of a session. Its input is sent by requests, and its output
arrives over a websocket, both as lines of text.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox.remote.backend import RemoteSandbox
from sandbox.remote.bootstrap import bootstrap_shell_command
from sandbox.remote.link import Command, SandboxRequirements
from sandbox.remote.service import REQUEST_S, Service
from sandbox.sandbox import Sandbox
from sandbox.types import SandboxError

if TYPE_CHECKING:
    from daytona import AsyncDaytona, AsyncSandbox

_CREATE_S = 60.0
_SESSION = "supervisor"
_IDLE_MINUTES = 5


@dataclass(frozen=True)
class Daytona(Service):
    """Creates sandboxes at Daytona."""

    api_url: str | None = None
    target: str | None = None

    name = "daytona"
    title = "Daytona"
    key_name = "DAYTONA_API_KEY"
    image_name = "HEAL_DAYTONA_SNAPSHOT"
    module = package = "daytona"
    errors = "DaytonaError"

    def describe(self) -> str:
        """See `RemoteHost`."""
        return f"a sandbox of Daytona ({self.image or 'its usual snapshot'}) without network"

    @asynccontextmanager
    async def create_sandbox(self, need: SandboxRequirements) -> AsyncIterator[Command]:
        """See `RemoteHost`."""
        sdk = self.sdk()
        with self.translate_errors("the SDK cannot be used"):
            service = sdk.AsyncDaytona(
                sdk.DaytonaConfig(api_key=self.key, api_url=self.api_url, target=self.target)
            )
        async with service:
            sandbox = await self._created(service, need)
            try:
                async with self._command(sandbox) as command:
                    yield command
            finally:
                await self._delete(sandbox)

    async def _created(self, service: AsyncDaytona, need: SandboxRequirements) -> AsyncSandbox:
        sdk = self.sdk()
        # Named here, since a creation that fails midway returns no id.
        name = f"code-jail-{secrets.token_hex(8)}"
        params = sdk.CreateSandboxFromSnapshotParams(
            name=name,
            snapshot=self.image,
            language="python",
            # As root the supervisor can run each job as its own user, which it cannot leave.
            os_user="root",
            network_block_all=True,
            ephemeral=True,
            labels={"made-by": "code-jail"},
            # Limits for the case that this host is killed.
            auto_stop_interval=_IDLE_MINUTES,
            ttl_minutes=math.ceil(need.ttl_s / 60),
        )
        try:
            return await service.create(params, timeout=_CREATE_S)
        except sdk.DaytonaError as error:
            failure = self.failure("no sandbox could be created", error)
        try:
            await self._delete(await service.get(name, request_timeout=REQUEST_S))
        except sdk.DaytonaNotFoundError:
            pass  # it was not created
        except (sdk.DaytonaError, SandboxError) as error:
            failure.add_note(str(self.failure(f"a sandbox {name} may still exist", error)))
        raise failure

    @asynccontextmanager
    async def _command(self, sandbox: AsyncSandbox) -> AsyncIterator[Command]:
        sdk = self.sdk()
        process = sandbox.process
        order = sdk.SessionExecuteRequest(
            command=bootstrap_shell_command(), run_async=True, suppress_input_echo=True
        )
        with self.translate_errors("the command in the sandbox could not be started"):
            await process.create_session(_SESSION, request_timeout=REQUEST_S)
            response = await process.execute_session_command(
                _SESSION, order, timeout=math.ceil(REQUEST_S)
            )
        command = Command()

        async def send(text: str) -> None:
            with self.translate_errors("input could not be sent to the sandbox"):
                await process.send_session_command_input(
                    _SESSION, response.cmd_id, text, request_timeout=REQUEST_S
                )

        async def ended() -> None:
            with self.translate_errors("the connection to the sandbox was lost"):
                await process.get_session_command_logs_async(
                    _SESSION, response.cmd_id, command.feed_stdout, command.feed_stderr
                )

        command.send = send
        async with command.running(ended):
            yield command

    async def _delete(self, sandbox: AsyncSandbox) -> None:
        async def once() -> None:
            try:
                await sandbox.delete(timeout=REQUEST_S)
            except self.sdk().DaytonaNotFoundError:
                pass  # deleted already

        await self.delete(sandbox.id, once)

    def advice(self, error: Exception) -> str:
        """See `Service`."""
        sdk = self.sdk()
        if isinstance(error, sdk.DaytonaAuthenticationError | sdk.DaytonaForbiddenError):
            return f"check {self.key_name} and its permissions in Daytona's dashboard"
        if isinstance(error, sdk.DaytonaRateLimitError):
            return "wait for running sandboxes to end, or raise the account's limits"
        return ""


def open_daytona(environment: Mapping[str, str]) -> Sandbox:
    """The backend for the key in the environment; raises `SandboxUnavailable` without a key."""
    return RemoteSandbox(Daytona.from_environment(
        environment, api_url=environment.get("DAYTONA_API_URL") or None,
        target=environment.get("DAYTONA_TARGET") or None,
    ))
