"""Sandboxes of Daytona, through its own SDK: a container or machine for each job.

The loader runs as a command of a session, whose input is sent by requests and whose output
comes over a websocket. Both are text by lines, which is what the porter speaks.
"""

from __future__ import annotations

import asyncio
import importlib.util
import math
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sandbox.remote.backend import RemoteSandbox
from sandbox.remote.inlet import Inlet
from sandbox.remote.link import Carrier, Need
from sandbox.remote.parcel import shell_loader
from sandbox.sandbox import Sandbox
from sandbox.types import SandboxError, SandboxUnavailable

if TYPE_CHECKING:
    from daytona import AsyncDaytona, AsyncSandbox

KEY = "DAYTONA_API_KEY"
SNAPSHOT = "HEAL_DAYTONA_SNAPSHOT"
"""The variable that names another snapshot; it needs a python3 that the jobs may read."""

_INSTALL = "run: pip install 'self-healing-code-agent[daytona]'"
_REQUEST_S = 30.0
_CREATE_S = 60.0
_DELETE_ATTEMPTS = 3
_SESSION = "porter"
_IDLE_MINUTES = 5


@dataclass(frozen=True)
class Daytona:
    """Lends sandboxes of the account that the key belongs to."""

    key: str = field(repr=False)
    snapshot: str | None = None
    """`None` is the service's own, with Python."""
    api_url: str | None = None
    target: str | None = None

    name = "daytona"

    def describe(self) -> str:
        """One line for people: what a sandbox of this host is."""
        return f"a sandbox of Daytona ({self.snapshot or 'its usual snapshot'}) without network"

    @asynccontextmanager
    async def lend(self, need: Need) -> AsyncIterator[Carrier]:
        """A fresh sandbox with the loader running in it, deleted at the end."""
        try:
            from daytona import AsyncDaytona, DaytonaConfig, DaytonaError
        except ImportError as error:
            raise SandboxError(f"daytona: its SDK is broken; {_INSTALL} ({error})") from error
        try:
            service = AsyncDaytona(
                DaytonaConfig(api_key=self.key, api_url=self.api_url, target=self.target)
            )
        except DaytonaError as error:
            raise self.explained("the SDK cannot be used", error) from None
        async with service:
            sandbox = await self._created(service, need)
            try:
                async with self._command(sandbox) as carrier:
                    yield carrier
            finally:
                await self._delete(sandbox)

    async def _created(self, service: AsyncDaytona, need: Need) -> AsyncSandbox:
        from daytona import CreateSandboxFromSnapshotParams, DaytonaError

        params = CreateSandboxFromSnapshotParams(
            # A name of ours: a creation that fails half-way does not tell the id.
            name=f"code-jail-{secrets.token_hex(8)}",
            snapshot=self.snapshot,
            language="python",
            # Root there gives each job a user of its own, which has no way back.
            os_user="root",
            network_block_all=True,
            ephemeral=True,
            labels={"made-by": "self-healing-code-agent"},
            # A host that is killed leaves a sandbox that ends by itself, soonest of these.
            auto_stop_interval=_IDLE_MINUTES,
            ttl_minutes=math.ceil(need.life_s / 60),
        )
        try:
            return await service.create(params, timeout=_CREATE_S)
        except DaytonaError as error:
            explained = self.explained("no sandbox could be made", error)
        await self._delete_half_made(service, str(params.name), explained)
        raise explained

    async def _delete_half_made(
        self, service: AsyncDaytona, name: str, explained: SandboxError
    ) -> None:
        from daytona import DaytonaError, DaytonaNotFoundError

        try:
            await self._delete(await service.get(name, request_timeout=_REQUEST_S))
        except DaytonaNotFoundError:
            pass  # it never came to be
        except (DaytonaError, SandboxError) as error:
            explained.add_note(str(self.explained(f"if there is a sandbox {name}", error)))

    @asynccontextmanager
    async def _command(self, sandbox: AsyncSandbox) -> AsyncIterator[_Command]:
        from daytona import DaytonaError, SessionExecuteRequest

        try:
            await sandbox.process.create_session(_SESSION, request_timeout=_REQUEST_S)
            begun = await sandbox.process.execute_session_command(
                _SESSION,
                SessionExecuteRequest(
                    command=shell_loader(), run_async=True, suppress_input_echo=True
                ),
                timeout=math.ceil(_REQUEST_S),
            )
        except DaytonaError as error:
            raise self.explained("the sandbox ran no command", error) from None
        inlet = Inlet()
        listener = asyncio.create_task(self._listen(sandbox, begun.cmd_id, inlet))
        try:
            yield _Command(self, sandbox, begun.cmd_id, inlet)
        finally:
            listener.cancel()
            await asyncio.wait([listener])

    async def _listen(self, sandbox: AsyncSandbox, command: str, inlet: Inlet) -> None:
        from daytona import DaytonaError

        try:
            await sandbox.process.get_session_command_logs_async(
                _SESSION, command, inlet.put, inlet.complain
            )
        except DaytonaError as error:
            await inlet.end(self.explained("the connection to the sandbox was lost", error))
        else:
            await inlet.end()

    async def _delete(self, sandbox: AsyncSandbox) -> None:
        from daytona import DaytonaError, DaytonaNotFoundError

        for attempt in range(1, _DELETE_ATTEMPTS + 1):
            try:
                await sandbox.delete(timeout=_REQUEST_S)
                return
            except DaytonaNotFoundError:
                return  # it has ended by itself
            except DaytonaError as error:
                if attempt == _DELETE_ATTEMPTS:
                    what = (
                        f"the sandbox {sandbox.id} could not be deleted; it ends by itself when "
                        "its time is over, or by your hand in the dashboard"
                    )
                    raise self.explained(what, error) from None
            await asyncio.sleep(attempt)

    def explained(self, what: str, error: Exception) -> SandboxError:
        """What went wrong and what to do about it, without the key."""
        from daytona import DaytonaAuthenticationError, DaytonaForbiddenError, DaytonaRateLimitError

        advice = "try again; if it stays, look at Daytona's status page"
        match error:
            case DaytonaAuthenticationError() | DaytonaForbiddenError():
                advice = f"check {KEY} and what it may do; keys are made in Daytona's dashboard"
            case DaytonaRateLimitError():
                advice = "wait for running sandboxes to end, or raise the account's limits"
        said = f"{type(error).__name__}: {error}".replace(self.key, "…")
        return SandboxError(f"daytona: {what}; {advice} ({said[-400:]})")


class _Command:
    """The loader's standard streams."""

    def __init__(self, host: Daytona, sandbox: AsyncSandbox, command: str, inlet: Inlet) -> None:
        self._host = host
        self._sandbox = sandbox
        self._id = command
        self.receive = inlet.receive
        self.complaint = inlet.complaint

    async def send(self, text: str) -> None:
        from daytona import DaytonaError

        try:
            await self._sandbox.process.send_session_command_input(
                _SESSION, self._id, text, request_timeout=_REQUEST_S
            )
        except DaytonaError as error:
            raise self._host.explained("the sandbox took no input", error) from None


def open_daytona(environment: Mapping[str, str]) -> Sandbox:
    """The backend, for the key in the environment; raises `SandboxUnavailable` without one."""
    key = environment.get(KEY, "").strip()
    if not key:
        raise SandboxUnavailable(
            f"Daytona needs a key: set {KEY}, or choose another backend; nothing was run"
        )
    if importlib.util.find_spec("daytona") is None:
        raise SandboxUnavailable(f"Daytona's SDK is not installed; {_INSTALL}")
    return RemoteSandbox(
        Daytona(
            key,
            snapshot=environment.get(SNAPSHOT) or None,
            api_url=environment.get("DAYTONA_API_URL") or None,
            target=environment.get("DAYTONA_TARGET") or None,
        )
    )
