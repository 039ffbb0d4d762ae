"""What an SDK's callbacks bring, for one reader; a full inlet makes them wait."""

from __future__ import annotations

import asyncio

_PARTS_AHEAD = 64
_COMPLAINT_CHARACTERS = 2000


class Inlet:
    """The output of a command, as it comes."""

    def __init__(self) -> None:
        self._parts: asyncio.Queue[bytes | BaseException] = asyncio.Queue(_PARTS_AHEAD)
        self._complaint = ""

    async def put(self, text: str) -> None:
        """More of the standard output."""
        if text:
            await self._parts.put(text.encode("utf-8", "replace"))

    async def complain(self, text: str) -> None:
        """More of the standard error, of which the end is kept."""
        self._complaint = (self._complaint + text)[-_COMPLAINT_CHARACTERS:]

    async def end(self, error: BaseException | None = None) -> None:
        """No more will come, by itself or by an error for the reader."""
        await self._parts.put(b"" if error is None else error)

    async def receive(self) -> bytes:
        """The next part; empty at the end. Raises the error that ended it."""
        part = await self._parts.get()
        if isinstance(part, BaseException):
            raise part
        return part

    def complaint(self) -> str:
        """The end of the standard error."""
        return self._complaint
