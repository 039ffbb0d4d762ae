"""What hosts behind a service's own SDK have in common: a key, a command's streams, a sure end.

The SDK is imported when the first sandbox is asked for; opening the backend only looks whether
it is there.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import ClassVar, Self

from sandbox.types import SandboxError, SandboxUnavailable

REQUEST_S = 30.0
_DELETE_ATTEMPTS = 3
_PARTS_AHEAD = 64
_COMPLAINT_CHARACTERS = 2000


@dataclass(frozen=True)
class Service(ABC):
    """Lends sandboxes of the account that the key belongs to."""

    key: str = field(repr=False)
    image: str | None = None
    """What its sandboxes are made from; `None` is the service's own, with Python."""

    name: ClassVar[str]
    title: ClassVar[str]
    """Its name as people write it."""
    key_name: ClassVar[str]
    image_name: ClassVar[str]
    """The variable that names another image; it needs a python3 that the jobs may read."""
    module: ClassVar[str]
    """Its SDK, and by what name pip installs it."""
    package: ClassVar[str]

    @classmethod
    def opened(cls, environment: Mapping[str, str], **more: str | None) -> Self:
        """The host, for the key in the environment; raises `SandboxUnavailable` without one."""
        key = environment.get(cls.key_name, "").strip()
        if not key:
            raise SandboxUnavailable(
                f"{cls.title} needs a key: set {cls.key_name}, or choose another backend; "
                "nothing was run"
            )
        if importlib.util.find_spec(cls.module) is None:
            raise SandboxUnavailable(
                f"{cls.title}'s SDK is not installed; run: pip install {cls.package}"
            )
        return cls(key, environment.get(cls.image_name) or None, **more)

    def sdk(self) -> ModuleType:
        """Its SDK."""
        try:
            return importlib.import_module(self.module)
        except ImportError as error:
            raise SandboxError(
                f"{self.name}: its SDK is broken; run: pip install {self.package} ({error})"
            ) from error

    @abstractmethod
    def advice(self, error: Exception) -> str:
        """What to do about an error of the SDK; empty where nothing is known."""

    def explained(self, what: str, error: Exception) -> SandboxError:
        """What went wrong and what to do about it, without the key."""
        advice = self.advice(error) or f"try again; if it stays, look at {self.title}'s status page"
        said = f"{type(error).__name__}: {error}".replace(self.key, "…")
        return SandboxError(f"{self.name}: {what}; {advice} ({said[-400:]})")

    async def delete(self, place: str, once: Callable[[], Awaitable[object]]) -> None:
        """Deletes a sandbox, at the third attempt at the latest."""
        for attempt in range(1, _DELETE_ATTEMPTS + 1):
            try:
                await once()
                return
            except Exception as error:  # noqa: BLE001 - not every SDK's errors have a base
                if attempt == _DELETE_ATTEMPTS:
                    what = (
                        f"the sandbox {place} could not be deleted; it ends by itself when its "
                        "time is over, or by your hand in the dashboard"
                    )
                    raise self.explained(what, error) from None
            await asyncio.sleep(attempt)


class Command:
    """The loader's standard streams, behind an SDK: its callbacks bring what is read here."""

    def __init__(self) -> None:
        self._parts: asyncio.Queue[bytes | SandboxError] = asyncio.Queue(_PARTS_AHEAD)
        self._complaint = ""
        self.write: Callable[[str], Awaitable[None]]
        """Sends text to the standard input; raises `SandboxError`."""

    async def put(self, text: str) -> None:
        """More of the standard output; waits where much of it was not read yet."""
        if text:
            await self._parts.put(text.encode("utf-8", "replace"))

    async def complain(self, text: str) -> None:
        """More of the standard error, of which the end is kept."""
        self._complaint = (self._complaint + text)[-_COMPLAINT_CHARACTERS:]

    @asynccontextmanager
    async def heard(self, ended: Callable[[], Awaitable[SandboxError | None]]) -> AsyncIterator[
        Self
    ]:
        """Itself, while `ended` waits for the command's end, which may be an error."""

        async def listen() -> None:
            error = await ended()
            await self._parts.put(b"" if error is None else error)

        listener = asyncio.create_task(listen())
        try:
            yield self
        finally:
            listener.cancel()
            await asyncio.wait([listener])

    async def send(self, text: str) -> None:
        await self.write(text)

    async def receive(self) -> bytes:
        part = await self._parts.get()
        if isinstance(part, SandboxError):
            raise part
        return part

    def complaint(self) -> str:
        return self._complaint
