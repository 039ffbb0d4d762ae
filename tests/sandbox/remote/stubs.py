"""Services on this machine that speak E2B's and Daytona's protocols and run what they are sent.

A command is really run, by `bash -c`, with its streams over the wire as the service does it.
What is made and deleted is counted. `faults` lets a test break what it wants broken:

    create, run, input, delete     an HTTP status instead of an answer, the first time or always
    slow_create                    seconds until a creation is answered
    drop_after                     bytes of output after which the connection is cut
    silent                         the command is never started, and nobody says so
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import struct
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from aiohttp import WSCloseCode, web


class Command:
    """A command of a sandbox, on this machine."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.complaint = b""
        self._parts: asyncio.Queue[bytes] = asyncio.Queue()
        self._readers = [asyncio.create_task(self._read()), asyncio.create_task(self._listen())]

    async def output(self) -> AsyncIterator[bytes]:
        while part := await self._parts.get():
            yield part

    async def end(self) -> int:
        await asyncio.wait(self._readers)
        return await self.process.wait()

    async def input(self, data: bytes) -> None:
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.stdin.close()
        await self.end()

    async def _read(self) -> None:
        while part := await self.process.stdout.read(8192):
            await self._parts.put(part)
        await self._parts.put(b"")

    async def _listen(self) -> None:
        while part := await self.process.stderr.read(8192):
            self.complaint += part


class Service:
    """What both services have in common."""

    key = "secret-key-0123456789"

    def __init__(self, path: Path) -> None:
        bin = path / "bin"
        bin.mkdir()
        (bin / "python3").symlink_to(sys.executable)
        self.environment = {"PATH": f"{bin}:{os.environ['PATH']}", "LANG": "C.UTF-8"}
        self.faults: dict[str, Any] = {}
        self.created: list[str] = []
        self.deleted: list[str] = []
        self.asked: list[dict[str, Any]] = []
        self.users: list[str] = []
        self.commands: dict[str, Command] = {}
        self.sent = 0
        self.url = ""

    @property
    def living(self) -> list[str]:
        return [name for name in self.created if name not in self.deleted]

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[Service]:
        app = web.Application(client_max_size=1 << 28, middlewares=[self._faulty])
        self.route(app)
        runner = web.AppRunner(app, shutdown_timeout=0.5)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            for command in self.commands.values():
                await command.kill()
            await runner.cleanup()

    def route(self, app: web.Application) -> None:
        raise NotImplementedError

    @web.middleware
    async def _faulty(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """Answers as a test wants instead; a list of statuses is used up."""
        status = self.faults.get(str(request.match_info.route.name))
        if isinstance(status, list):
            status = status.pop(0) if status else None
        if status is None:
            return await handler(request)
        body = {"code": status, "message": f"no, by the test: {self.key}", "statusCode": status}
        return web.json_response(body, status=status, headers={"Should-Retry": "false"})

    async def make(self, asked: dict[str, Any]) -> str:
        self.asked.append(asked)
        await asyncio.sleep(self.faults.get("slow_create", 0))
        name = f"box{len(self.created)}"
        self.created.append(name)
        return name

    async def delete(self, name: str) -> None:
        self.deleted.append(name)
        if name in self.commands:
            await self.commands.pop(name).kill()

    async def run(self, name: str, line: str) -> Command:
        process = await asyncio.create_subprocess_exec(
            "bash", "-c", line, env=self.environment, cwd="/", start_new_session=True,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        self.commands[name] = Command(process)
        return self.commands[name]

    def cut(self, part: bytes) -> bool:
        """Whether it is time to drop the connection."""
        self.sent += len(part)
        return "drop_after" in self.faults and self.sent > self.faults["drop_after"]


class E2BService(Service):
    """E2B's control plane, and the daemon within a sandbox: Connect's protocol in JSON."""

    variables = ("E2B_API_KEY", "E2B_API_URL", "E2B_SANDBOX_URL")

    def settings(self) -> dict[str, str]:
        return dict(zip(self.variables, (self.key, self.url, self.url), strict=True))

    def route(self, app: web.Application) -> None:
        app.router.add_post("/v2/sandboxes", self._create, name="create")
        app.router.add_delete("/sandboxes/{name}", self._delete, name="delete")
        app.router.add_get("/health", self._health)
        app.router.add_post("/process.Process/Start", self._start, name="run")
        app.router.add_post("/process.Process/SendInput", self._input, name="input")

    async def _create(self, request: web.Request) -> web.Response:
        if request.headers.get("X-API-Key") != self.key:
            return web.json_response({"code": 401, "message": "Invalid API key"}, status=401)
        name = await self.make(await request.json())
        return web.json_response(
            {
                "templateID": "t", "sandboxID": name, "clientID": "c", "envdVersion": "0.6.4",
                "envdAccessToken": f"token of {name}", "domain": None,
            },
            status=201,
        )

    async def _delete(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in self.living:
            return web.json_response({"code": 404, "message": "no such sandbox"}, status=404)
        await self.delete(name)
        return web.Response(status=204)

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response(status=204)

    def _name(self, request: web.Request) -> str:
        name = request.headers["E2b-Sandbox-Id"]
        assert request.headers["X-Access-Token"] == f"token of {name}"
        return name

    async def _start(self, request: web.Request) -> web.StreamResponse:
        name = self._name(request)
        user = base64.b64decode(request.headers["Authorization"].removeprefix("Basic ")).decode()
        self.users.append(user.removesuffix(":"))
        body = await request.read()
        asked = json.loads(body[5:])
        assert asked["process"]["cmd"] == "/bin/bash" and asked["stdin"] is True
        response = web.StreamResponse(headers={"Content-Type": "application/connect+json"})
        await response.prepare(request)
        await self._event(response, {"start": {"pid": len(self.created)}})
        if self.faults.get("silent"):
            await asyncio.sleep(60)
        command = await self.run(name, asked["process"]["args"][-1])
        async for part in command.output():
            if self.cut(part):
                request.transport.abort()
                return response
            await self._event(response, {"data": {"stdout": base64.b64encode(part).decode()}})
        code = await command.end()
        if request.transport is None:  # the client has gone
            return response
        complaint = base64.b64encode(command.complaint).decode()
        await self._event(response, {"data": {"stderr": complaint}})
        await self._event(response, {"end": {"exitCode": code, "exited": True, "status": "done"}})
        await response.write(struct.pack(">BI", 2, 2) + b"{}")
        await response.write_eof()
        return response

    async def _event(self, response: web.StreamResponse, event: dict[str, Any]) -> None:
        body = json.dumps({"event": event}).encode()
        await response.write(struct.pack(">BI", 0, len(body)) + body)

    async def _input(self, request: web.Request) -> web.Response:
        name = self._name(request)
        asked = await request.json()
        if command := self.commands.get(name):
            await command.input(base64.b64decode(asked["input"]["stdin"]))
        return web.json_response({})


class DaytonaService(Service):
    """Daytona's API, and the toolbox within a sandbox, whose output comes by websocket."""

    def settings(self) -> dict[str, str]:
        return {
            "DAYTONA_API_KEY": self.key, "DAYTONA_API_URL": f"{self.url}/api",
            "DAYTONA_TARGET": "us",
        }

    def route(self, app: web.Application) -> None:
        app.router.add_post("/api/sandbox", self._create, name="create")
        app.router.add_get("/api/sandbox/{name}", self._get)
        app.router.add_delete("/api/sandbox/{name}", self._delete, name="delete")
        session = "/toolbox/{name}/process/session"
        app.router.add_post(session, self._session, name="run")
        app.router.add_post(session + "/{session}/exec", self._start)
        app.router.add_post(
            session + "/{session}/command/{command}/input", self._input, name="input"
        )
        app.router.add_get(session + "/{session}/command/{command}/logs", self._logs)

    def _sandbox(self, name: str) -> dict[str, Any]:
        return {
            "id": name, "organizationId": "o", "name": name, "user": "root", "env": {},
            "labels": {}, "public": False, "networkBlockAll": True, "kvm": False, "target": "us",
            "cpu": 1, "gpu": 0, "memory": 1, "disk": 1, "toolboxProxyUrl": f"{self.url}/toolbox",
            "state": self.faults.get("state", "started"),
        }

    async def _create(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"message": "Invalid credentials"}, status=401)
        asked = await request.json()
        self.users.append(asked["user"])
        return web.json_response(self._sandbox(await self.make(asked)))

    async def _get(self, request: web.Request) -> web.Response:
        wanted = request.match_info["name"]
        for name, asked in zip(self.created, self.asked, strict=True):
            if wanted in (name, asked["name"]) and name in self.living:
                return web.json_response(self._sandbox(name))
        return web.json_response({"message": "no such sandbox"}, status=404)

    async def _delete(self, request: web.Request) -> web.Response:
        name = request.match_info["name"]
        if name not in self.living:
            return web.json_response({"message": "no such sandbox"}, status=404)
        await self.delete(name)
        return web.json_response({**self._sandbox(name), "state": "destroying"})

    async def _session(self, request: web.Request) -> web.Response:
        return web.Response(status=201)

    async def _start(self, request: web.Request) -> web.Response:
        asked = await request.json()
        assert asked["runAsync"] is True and asked["suppressInputEcho"] is True
        if not self.faults.get("silent"):
            await self.run(request.match_info["name"], asked["command"])
        return web.json_response({"cmdId": "c1"}, status=202)

    async def _input(self, request: web.Request) -> web.Response:
        data = (await request.json())["data"]
        # As the daemon does it: what does not end a line is given an end.
        data += "" if data.endswith("\n") else "\n"
        if command := self.commands.get(request.match_info["name"]):
            await command.input(data.encode())
        return web.Response(status=204)

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        if self.faults.get("silent"):
            await asyncio.sleep(60)
        command = self.commands[request.match_info["name"]]
        # The daemon marks each line with the stream it came from.
        async for line in self._lines(command):
            if self.cut(line):
                request.transport.abort()
                return socket
            await socket.send_bytes(b"\x01\x01\x01" + line)
        await command.end()
        if socket.closed or request.transport is None:  # the client has gone
            return socket
        await socket.send_bytes(b"\x02\x02\x02" + command.complaint)
        await socket.close(code=WSCloseCode.OK)
        return socket

    async def _lines(self, command: Command) -> AsyncIterator[bytes]:
        rest = b""
        async for part in command.output():
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                yield line + b"\n"
        if rest:
            yield rest
