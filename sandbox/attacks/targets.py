"""The targets of attacks: secrets, sockets, files and processes that are planted around a jail.

All of them can be read, written, connected to or debugged without harm. Secrets are random and
passed to attacks reversed, so that an attack cannot take its own argument for a found secret.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Self

from sandbox import types as sandbox_types
from sandbox.contract.programs import KEY_NAME, planted_key
from sandbox.types import SandboxError

VICTIMS = 3
"""Several, since a process can only have one debugger and attacks run concurrently."""

_VICTIM = """\
import ctypes, sys
# PR_SET_PTRACER_ANY: if Yama restricts debugging, every process may debug this victim.
ctypes.CDLL(None).prctl(0x59616d61, ctypes.c_ulong(-1))
memory = ctypes.create_string_buffer(sys.stdin.readline().strip().encode())
print(ctypes.addressof(memory), flush=True)
sys.stdin.read()
"""


class Targets:
    """The targets of a gauntlet, created on entering the context and removed on leaving it."""

    def __init__(self) -> None:
        self._exits = AsyncExitStack()
        self._facts: dict[str, str | int] = {}
        self.folder = ""
        self.given_packages = ""
        """The folder of packages that some attacks may read."""
        self.leaked_fd = -1
        """An inheritable descriptor of the private file."""
        self.control_runs: dict[str, str] = {}
        """The results in the naive harness, by the attack's name."""

    def facts(self) -> str:
        """The data that attacks get, as JSON."""
        return json.dumps(self._facts)

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            self._plant_files(stack)
            stack.enter_context(planted_key(self._secret("key")))
            self._facts["key_name"] = KEY_NAME
            self._plant_sockets(stack)
            await self._plant_victims(stack)
            self._exits = stack.pop_all()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._exits.aclose()

    def _secret(self, name: str) -> str:
        """A new secret, which is added reversed to the facts."""
        planted = secrets.token_hex(16)
        self._facts[name] = planted[::-1]
        return planted

    def _plant_files(self, stack: AsyncExitStack) -> None:
        self.folder = tempfile.mkdtemp(prefix="sandbox-targets-")
        stack.callback(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        folder = Path(self.folder)
        private = self._secret("private")
        for name, mode in (
            ("home/.ssh", 0o700), ("open/full", 0o755), ("given_packages", 0o755),
            ("other_packages", 0o755), ("controls", 0o755),
        ):
            (folder / name).mkdir(parents=True)
            (folder / name).chmod(mode)
        for name, text, mode in (
            ("home/.ssh/id_secret", private, 0o600),
            ("notes", private, 0o644),
            ("open/writable", "text", 0o666),
            ("open/removable", "", 0o666),
            ("open/full/file", "", 0o644),
            ("given_packages/given_module.py", "VALUE = 1\n", 0o644),
            ("other_packages/other_module.py", "VALUE = 2\n", 0o644),
        ):
            (folder / name).write_text(text, encoding="utf-8")
            (folder / name).chmod(mode)
        (folder / "open").chmod(0o777)
        self.given_packages = str(folder / "given_packages")
        self.leaked_fd = os.open(folder / "home/.ssh/id_secret", os.O_RDONLY)
        stack.callback(os.close, self.leaked_fd)
        os.set_inheritable(self.leaked_fd, True)
        self._facts |= {
            "folder": self.folder,
            "private_file": str(folder / "home/.ssh/id_secret"),
            "open_file": str(folder / "notes"),
            "open_folder": str(folder / "open"),
            "given_packages": self.given_packages,
            "other_packages": str(folder / "other_packages"),
            "source": str(Path(sandbox_types.__file__).resolve()),
            "token": f"sandbox-{secrets.token_hex(4)}",
        }

    def _plant_sockets(self, stack: AsyncExitStack) -> None:
        token = self._facts["token"]
        stream, datagrams = f"{self.folder}/stream", f"{self.folder}/datagrams"
        for name, family, kind, address in (
            ("port", socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            ("datagram_port", socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            ("stream", socket.AF_UNIX, socket.SOCK_STREAM, stream),
            ("datagrams", socket.AF_UNIX, socket.SOCK_DGRAM, datagrams),
            ("abstract", socket.AF_UNIX, socket.SOCK_STREAM, f"\0{token}-stream"),
            ("abstract_datagrams", socket.AF_UNIX, socket.SOCK_DGRAM, f"\0{token}-datagrams"),
        ):
            one = stack.enter_context(socket.socket(family, kind))
            one.bind(address)
            if kind == socket.SOCK_STREAM:
                one.listen(128)  # the kernel accepts connections
            if isinstance(address, tuple):
                self._facts[name] = int(one.getsockname()[1])
            else:
                self._facts[name] = address.replace("\0", "@")
                if address.startswith("/"):
                    os.chmod(address, 0o777)

    async def _plant_victims(self, stack: AsyncExitStack) -> None:
        memory, argument = self._secret("memory"), self._secret("argument")
        pids = []
        for _ in range(VICTIMS):
            # With the host's environment, like other processes of an app.
            victim = await asyncio.create_subprocess_exec(
                sys.executable, "-I", "-S", "-c", _VICTIM, argument,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            )
            stack.push_async_callback(_kill_and_wait, victim)
            assert victim.stdin is not None
            assert victim.stdout is not None
            victim.stdin.write(memory.encode() + b"\n")
            line = await victim.stdout.readline()
            if not line:
                raise SandboxError("a victim for the attacks ended at its start")
            pids.append(victim.pid)
            self._facts.setdefault("address", int(line))
        self._facts |= {
            "host": os.getpid(), "victim": pids[0], "second_victim": pids[1],
            "third_victim": pids[2],
        }


async def _kill_and_wait(victim: asyncio.subprocess.Process) -> None:
    if victim.returncode is None:
        victim.kill()
    await victim.communicate()
