"""Sandboxes of E2B, through its own SDK: a small virtual machine for each job.

The SDK is imported when the first sandbox is asked for; opening the backend only looks whether
it is there. It retries what the service asks it to retry, so an error that comes here is final.
"""

from __future__ import annotations

import asyncio
import importlib.util
import math
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
    from e2b import AsyncCommandHandle
    from e2b_code_interpreter import AsyncSandbox

KEY = "E2B_API_KEY"
TEMPLATE = "HEAL_E2B_TEMPLATE"
"""The variable that names another template; it needs a python3 that the jobs may read."""

_INSTALL = "run: pip install 'self-healing-code-agent[e2b]'"
_REQUEST_S = 30.0
_KILL_ATTEMPTS = 3


@dataclass(frozen=True)
class E2B:
    """Lends sandboxes of the account that the key belongs to."""

    key: str = field(repr=False)
    template: str | None = None
    """`None` is the SDK's own: Python with the usual packages."""
    domain: str | None = None
    api_url: str | None = None
    sandbox_url: str | None = None

    name = "e2b"

    def describe(self) -> str:
        """One line for people: what a sandbox of this host is."""
        return f"a machine of E2B ({self.template or 'its usual template'}) without network"

    @asynccontextmanager
    async def lend(self, need: Need) -> AsyncIterator[Carrier]:
        """A fresh sandbox with the loader running in it, killed at the end."""
        try:
            from e2b_code_interpreter import AsyncSandbox
        except ImportError as error:
            raise SandboxError(f"e2b: its SDK is broken; {_INSTALL} ({error})") from error
        try:
            sandbox = await AsyncSandbox.create(
                template=self.template,
                timeout=math.ceil(need.life_s),
                allow_internet_access=False,
                metadata={"made-by": "self-healing-code-agent"},
                api_key=self.key,
                domain=self.domain,
                api_url=self.api_url,
                sandbox_url=self.sandbox_url,
                request_timeout=_REQUEST_S,
            )
        except Exception as error:  # noqa: BLE001 - the SDK's errors have no common base
            raise self.explained("no sandbox could be made", error) from None
        try:
            async with self._command(sandbox) as carrier:
                yield carrier
        finally:
            await self._kill(sandbox)

    @asynccontextmanager
    async def _command(self, sandbox: AsyncSandbox) -> AsyncIterator[_Command]:
        inlet = Inlet()
        try:
            command = await sandbox.commands.run(
                shell_loader(),
                background=True,
                stdin=True,
                # Root there gives each job a user of its own, which has no way back.
                user="root",
                cwd="/",
                timeout=0,
                request_timeout=_REQUEST_S,
                on_stdout=inlet.put,
                on_stderr=inlet.complain,
                retain_output=False,
            )
        except Exception as error:  # noqa: BLE001 - as above
            raise self.explained("the sandbox ran no command", error) from None
        ending = asyncio.create_task(self._listen(command, inlet))
        try:
            yield _Command(self, sandbox, command.pid, inlet)
        finally:
            ending.cancel()
            await asyncio.wait([ending])
            await command.disconnect()

    async def _listen(self, command: AsyncCommandHandle[None], inlet: Inlet) -> None:
        from e2b_code_interpreter import CommandExitException

        try:
            await command.wait()
        except CommandExitException:
            await inlet.end()
        except Exception as error:  # noqa: BLE001 - a stream cut short is a bare Exception
            await inlet.end(self.explained("the connection to the sandbox was lost", error))
        else:
            await inlet.end()

    async def _kill(self, sandbox: AsyncSandbox) -> None:
        for attempt in range(1, _KILL_ATTEMPTS + 1):
            try:
                await sandbox.kill()  # false for one that has ended by itself
                return
            except Exception as error:  # noqa: BLE001 - as above
                if attempt == _KILL_ATTEMPTS:
                    what = (
                        f"the sandbox {sandbox.sandbox_id} could not be killed; it ends by itself "
                        "when its time is over, or by your hand in the dashboard"
                    )
                    raise self.explained(what, error) from None
            await asyncio.sleep(attempt)

    def explained(self, what: str, error: Exception) -> SandboxError:
        """What went wrong and what to do about it, without the key."""
        from e2b_code_interpreter import (
            AuthenticationException,
            RateLimitException,
            TimeoutException,
        )

        advice = "try again; if it stays, look at E2B's status page"
        match error:
            case AuthenticationException():
                advice = f"check {KEY}; keys are made in E2B's dashboard"
            case RateLimitException():
                advice = "wait for running sandboxes to end, or raise the account's limits"
            case TimeoutException():
                advice = "the sandbox or the network to it is gone or slow; try again"
        said = f"{type(error).__name__}: {error}".replace(self.key, "…")
        return SandboxError(f"e2b: {what}; {advice} ({said[-400:]})")


class _Command:
    """The loader's standard streams."""

    def __init__(self, host: E2B, sandbox: AsyncSandbox, pid: int, inlet: Inlet) -> None:
        self._host = host
        self._sandbox = sandbox
        self._pid = pid
        self.receive = inlet.receive
        self.complaint = inlet.complaint

    async def send(self, text: str) -> None:
        try:
            await self._sandbox.commands.send_stdin(self._pid, text)
        except Exception as error:  # noqa: BLE001 - as above
            raise self._host.explained("the sandbox took no input", error) from None


def open_e2b(environment: Mapping[str, str]) -> Sandbox:
    """The backend, for the key in the environment; raises `SandboxUnavailable` without one."""
    key = environment.get(KEY, "").strip()
    if not key:
        raise SandboxUnavailable(
            f"E2B needs a key: set {KEY}, or choose another backend; nothing was run"
        )
    if importlib.util.find_spec("e2b_code_interpreter") is None:
        raise SandboxUnavailable(f"E2B's SDK is not installed; {_INSTALL}")
    return RemoteSandbox(
        E2B(
            key,
            template=environment.get(TEMPLATE) or None,
            domain=environment.get("E2B_DOMAIN") or None,
            api_url=environment.get("E2B_API_URL") or None,
            sandbox_url=environment.get("E2B_SANDBOX_URL") or None,
        )
    )
