"""What hosts behind a service's own SDK have in common: a key, advice, a sure end.

The SDK is imported when the first sandbox is asked for; opening the backend only looks whether
it is there.
"""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType
from typing import ClassVar, Self

from sandbox.types import SandboxError, SandboxUnavailable

REQUEST_S = 30.0
_DELETE_ATTEMPTS = 3


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
    errors: ClassVar[str] = ""
    """What the SDK calls all its errors, where it has a name for them."""

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

    @contextmanager
    def explaining(self, what: str) -> Iterator[None]:
        """Raises an error of the SDK as one of ours."""
        errors: type[Exception] = getattr(self.sdk(), self.errors, Exception)
        try:
            yield
        except errors as error:
            raise self.explained(what, error) from None

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
