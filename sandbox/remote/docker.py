"""The remote backend `docker`: containers of a Docker daemon, controlled by its command line.

The container has no network, a read-only file system and a small folder in memory. The supervisor
in it is root with the seven capabilities that are needed to give each job its own user; the jobs
have no capabilities.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress

from sandbox.remote.backend import RemoteSandbox
from sandbox.remote.bootstrap import bootstrap_command
from sandbox.remote.link import Command, SandboxRequirements
from sandbox.sandbox import Sandbox
from sandbox.types import SandboxError, SandboxUnavailable

IMAGE = "HEAL_DOCKER_IMAGE"
"""The variable for another image, which needs a python3 that unprivileged jobs can read."""

_ANSWER_S = 10.0
_REMOVAL_S = 30.0
_SCRATCH_MIB = 256
_SUPERVISOR_MIB = 256
_SUPERVISOR_PROCESSES = 64
_CAPABILITIES = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "SETGID", "SETUID")
_READ_BYTES = 1 << 16


class Docker:
    """Creates containers with the `docker` command."""

    name = "docker"

    def __init__(self, command: str, image: str, environment: Mapping[str, str]) -> None:
        self._command = command
        self._image = image
        self._environment = dict(environment)

    def describe(self) -> str:
        """See `RemoteHost`."""
        return f"a container of {self._image} without network"

    @asynccontextmanager
    async def create_sandbox(self, need: SandboxRequirements) -> AsyncIterator[Command]:
        """See `RemoteHost`."""
        name = f"code-jail-{secrets.token_hex(8)}"
        process = await asyncio.create_subprocess_exec(
            *self._arguments(name, need),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=self._environment,
        )
        stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
        assert stdin is not None and stdout is not None and stderr is not None
        command = Command()

        async def send(text: str) -> None:
            # If the container has ended, the reading side reports it.
            with suppress(BrokenPipeError, ConnectionResetError):
                stdin.write(text.encode())
                await stdin.drain()

        async def ended() -> None:
            await asyncio.gather(
                _forward(stdout, command.feed_stdout), _forward(stderr, command.feed_stderr)
            )
            self._explain(await process.wait(), command.stderr_text.strip())

        command.send = send
        try:
            async with command.running(ended):
                yield command
        finally:
            try:
                # Killing the client does not end the container, so it is removed by name.
                await self._remove(name)
            finally:
                stdin.close()
                with suppress(ProcessLookupError, TimeoutError):
                    process.kill()
                    async with asyncio.timeout(_REMOVAL_S):
                        await process.communicate()

    def _explain(self, code: int, said: str) -> None:
        """Raises `SandboxError` for docker's own exit codes."""
        if code not in (125, 126, 127):
            return
        advice = f"set {IMAGE} to an image with a python3 in it"
        if "no such image" in said.lower() or "unable to find image" in said.lower():
            advice = f"run: docker pull {self._image}"
        raise SandboxError(f"docker: the container did not start; {advice} ({said[-300:]})")

    def _arguments(self, name: str, need: SandboxRequirements) -> list[str]:
        memory = f"{need.memory_mib + _SCRATCH_MIB + _SUPERVISOR_MIB}m"
        return [
            self._command, "run", "--rm", "--interactive", "--name", name,
            # A missing image is reported, not downloaded during a test.
            "--pull", "never",
            "--network", "none", "--ipc", "none", "--log-driver", "none",
            "--read-only",
            "--tmpfs", f"/tmp:rw,noexec,nosuid,nodev,mode=1777,size={_SCRATCH_MIB}m",
            "--memory", memory, "--memory-swap", memory,
            "--pids-limit", str(need.processes + _SUPERVISOR_PROCESSES),
            "--user", "0:0", "--cap-drop", "ALL",
            *(part for one in _CAPABILITIES for part in ("--cap-add", one)),
            "--security-opt", "no-new-privileges",
            "--stop-timeout", "0",
            "--workdir", "/", "--entrypoint", "",
            self._image,
            # The supervisor, and with it the container, ends when its standard input is closed.
            *bootstrap_command(),
        ]

    async def _remove(self, name: str) -> None:
        process = await asyncio.create_subprocess_exec(
            self._command, "rm", "--force", name,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            env=self._environment,
        )
        try:
            async with asyncio.timeout(_REMOVAL_S):
                _, stderr_text = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            stderr_text = b"no answer"
        if process.returncode != 0 and b"no such container" not in stderr_text.lower():
            raise SandboxError(
                f"docker: the container {name} could not be removed: "
                f"{stderr_text.decode(errors='replace').strip()[-300:]}; "
                f"run: docker rm --force {name}"
            )


async def _forward(stream: asyncio.StreamReader, feed: Callable[[str], Awaitable[None]]) -> None:
    while part := await stream.read(_READ_BYTES):
        await feed(part.decode("utf-8", "replace"))


def open_docker(environment: Mapping[str, str]) -> Sandbox:
    """The backend; raises `SandboxUnavailable` if no Docker daemon answers."""
    command = shutil.which("docker", path=environment.get("PATH", os.defpath))
    if command is None:
        raise SandboxUnavailable(
            "the docker command was not found; install Docker and start its daemon, or choose "
            "another backend"
        )
    asked = [command, "version", "--format", "{{.Server.Version}}"]
    try:
        answer = subprocess.run(
            asked, capture_output=True, text=True, errors="replace", timeout=_ANSWER_S,
            env=dict(environment), check=False,
        )
    except subprocess.TimeoutExpired:
        raise SandboxUnavailable(
            f"the docker daemon did not answer within {_ANSWER_S:g} s; restart it"
        ) from None
    if answer.returncode != 0:
        raise SandboxUnavailable(
            "no docker daemon answers; start it, give this user access to it, or choose another "
            f"backend ({answer.stderr.strip()[-300:]})"
        )
    # The same Python version as here, so that code behaves the same.
    default = f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"
    return RemoteSandbox(Docker(command, environment.get(IMAGE) or default, environment))
