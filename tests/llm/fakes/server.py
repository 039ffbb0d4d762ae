"""A scriptable HTTP/1.1 server on loopback: what providers of models do on good and on bad days.

    async with FakeServer() as server:
        server.on("POST", "/v1/messages", streams([b"data: 1\n\n"], then=stalls))
        ...
        assert server.seen[0].json == {...}

A handler is a coroutine function that is given the `Exchange`. Those below can be combined:
`then` of `streams` is a handler too. A handler that returns before the answer's end hangs up.
Each request has a connection of its own, so that the end of one is the end of the other, and
what the client does to the connection tells whether it waits for the rest.
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

LIMIT_S = 30.0
"""No answer takes longer, however it is scripted."""

SSE = "text/event-stream"
NDJSON = "application/x-ndjson"


@dataclass
class Seen:
    """A request as it arrived, and how it ended."""

    method: str
    path: str
    """With its query, if it has one."""
    headers: Mapping[str, str]
    """By names in lower case."""
    body: bytes
    at: float
    """By `time.monotonic`."""
    dropped: bool = False
    """The client hung up before the answer's end."""
    over: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when nothing more is sent, whoever ended it."""

    @cached_property
    def json(self) -> Any:
        return json.loads(self.body)

    async def was_dropped(self, within_s: float = 1.0) -> bool:
        """Whether the client hung up, and did so within that time from now."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self.over.wait(), within_s)
        return self.dropped


class Exchange:
    """The answer to one request, written by a handler."""

    def __init__(self, request: Seen, writer: asyncio.StreamWriter) -> None:
        self.request = request
        self._writer = writer
        self._begun = False

    async def raw(self, octets: bytes) -> None:
        self._writer.write(octets)
        await self._writer.drain()

    async def begin(
        self, content_type: str, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        """The head of an answer in chunks."""
        self._begun = True
        await self.raw(_head(status, {
            "Content-Type": content_type, "Transfer-Encoding": "chunked", **(headers or {}),
        }))

    async def chunk(self, octets: bytes) -> None:
        await self.raw(b"%x\r\n%s\r\n" % (len(octets), octets))

    async def end(self) -> None:
        """The chunk that says that the answer is whole."""
        await self.raw(b"0\r\n\r\n")

    @property
    def begun(self) -> bool:
        return self._begun

    def reset(self) -> None:
        """Breaks the connection so that the client sees a reset, not an end."""
        self._writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        self._writer.transport.abort()


Handler = Callable[[Exchange], Awaitable[None]]


def says(body: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Handler:
    """Answers at once: JSON, or the bytes as they are."""
    octets = body if isinstance(body, bytes) else json.dumps(body).encode()

    async def handle(exchange: Exchange) -> None:
        told = {"Content-Type": "application/json", "Content-Length": str(len(octets))}
        await exchange.raw(_head(status, told | dict(headers or {})) + octets)

    return handle


async def ends(exchange: Exchange) -> None:
    """Ends an answer in chunks as one that is whole."""
    await exchange.end()


async def stalls(exchange: Exchange) -> None:
    """Sends nothing more, and stays."""
    await asyncio.sleep(LIMIT_S)


async def hangs_up(exchange: Exchange) -> None:
    """Closes the connection where it is."""


async def resets(exchange: Exchange) -> None:
    exchange.reset()


def drips(piece: bytes, every_s: float) -> Handler:
    """Sends a piece every so often, for ever: in the body of an answer that has begun, else one
    byte at a time in a head that never ends."""

    async def handle(exchange: Exchange) -> None:
        if not exchange.begun:
            await exchange.raw(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        while True:
            await (exchange.chunk(piece) if exchange.begun else exchange.raw(b"z"))
            await asyncio.sleep(every_s)

    return handle


def streams(
    chunks: Iterable[bytes],
    then: Handler = ends,
    content_type: str = SSE,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    pause_s: float = 0.0,
) -> Handler:
    """Answers in chunks, with a pause before each, and goes on as `then` does."""
    pieces = tuple(chunks)

    async def handle(exchange: Exchange) -> None:
        await exchange.begin(content_type, status, headers)
        for piece in pieces:
            await asyncio.sleep(pause_s)
            await exchange.chunk(piece)
        await then(exchange)

    return handle


def lines(*values: object) -> list[bytes]:
    """Each value as a line of JSON."""
    return [json.dumps(value).encode() + b"\n" for value in values]


class FakeServer:
    """Listens on a free port of loopback, answers by its routes, remembers what it was asked.

    A handler's own fault is raised when the server is closed.
    """

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        """The requests in the order of their arrival."""
        self._routes: dict[tuple[str, str], list[Handler]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._faults: list[BaseException] = []

    def on(self, method: str, path: str, *handlers: Handler) -> None:
        """Answers the first request there by the first handler, the next by the next, and all
        others by the last. Paths are matched without their query; elsewhere it says 404."""
        self._routes[method, path] = list(handlers)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self._port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *fault: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()
        for fault_of_the_script in self._faults:
            raise fault_of_the_script

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read(reader)
            if request is not None:
                self.seen.append(request)
                await self._answer(request, reader, writer)
        finally:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _answer(
        self, request: Seen, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        handlers = self._routes.get((request.method, request.path.partition("?")[0]))
        handler: Handler = _nowhere
        if handlers:
            handler = handlers.pop(0) if len(handlers) > 1 else handlers[0]
        answering = asyncio.ensure_future(handler(Exchange(request, writer)))
        leaving = asyncio.ensure_future(_gone(reader))
        try:
            await asyncio.wait(
                {answering, leaving}, timeout=LIMIT_S, return_when=asyncio.FIRST_COMPLETED
            )
            fault = answering.exception() if answering.done() else None
            written = answering.done() and not isinstance(fault, OSError)
            request.dropped = leaving.done() and not written
            if written and fault is not None:
                self._faults.append(fault)
        finally:
            answering.cancel()
            leaving.cancel()
            await asyncio.gather(answering, leaving, return_exceptions=True)
            request.over.set()


@contextmanager
def refusing() -> Iterator[str]:
    """The address of a port that is taken and where nobody listens, so it stays refused."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


async def collected(items: AsyncIterator[Any]) -> list[Any]:
    """All items of a stream."""
    return [item async for item in items]


async def _nowhere(exchange: Exchange) -> None:
    await says({"error": f"nothing at {exchange.request.path}"}, 404)(exchange)


async def _gone(reader: asyncio.StreamReader) -> None:
    """Returns when the client has closed its side."""
    with suppress(OSError):
        while await reader.read(1024):
            pass


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    """The request, or nothing where the client left before it was whole."""
    with suppress(asyncio.IncompleteReadError, OSError):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *rest = head.rstrip().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)
        }
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        return Seen(method, path, headers, body, time.monotonic())
    return None


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    told = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} Scripted\r\nConnection: close\r\n{told}\r\n".encode()
