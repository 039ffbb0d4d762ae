"""The loader as a command in a sandbox: its standard streams, however they are carried."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Self

from sandbox.types import SandboxError

_PARTS_AHEAD = 64
_COMPLAINT_CHARACTERS = 2000


class Command:
    """Whoever carries the streams calls `put` and `complain`, and sets `send`."""

    def __init__(self) -> None:
        self._parts: asyncio.Queue[bytes | SandboxError] = asyncio.Queue(_PARTS_AHEAD)
        self.complaint = ""
        """The end of what it wrote to standard error."""
        self.send: Callable[[str], Awaitable[None]]
        """Gives whole lines to its standard input; raises `SandboxError`."""

    async def put(self, text: str) -> None:
        """More of its standard output; waits where much of it was not read yet."""
        if text:
            await self._parts.put(text.encode("utf-8", "replace"))

    async def complain(self, text: str) -> None:
        """More of its standard error."""
        self.complaint = (self.complaint + text)[-_COMPLAINT_CHARACTERS:]

    @asynccontextmanager
    async def heard(self, ended: Callable[[], Awaitable[None]]) -> AsyncIterator[Self]:
        """Itself, while `ended` waits for its end, which may be a `SandboxError`."""

        async def listen() -> None:
            end: bytes | SandboxError = b""
            try:
                await ended()
            except SandboxError as error:
                end = error
            await self._parts.put(end)

        listener = asyncio.create_task(listen())
        try:
            yield self
        finally:
            listener.cancel()
            await asyncio.wait([listener])

    async def receive(self) -> bytes:
        """More of its standard output; empty when it has ended."""
        part = await self._parts.get()
        if isinstance(part, SandboxError):
            raise part
        return part
