"""The common base of hosts with an SDK: the key, error messages, and reliable deletion.

The SDK is imported when the first sandbox is created; opening the backend only checks that it is
installed.
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
    """Creates sandboxes in the account that an API key belongs to."""

    key: str = field(repr=False)
    image: str | None = None
    """The image or template of its sandboxes; `None` uses the service's default with Python."""

    name: ClassVar[str]
    title: ClassVar[str]
    """The service's name in messages to users."""
    key_name: ClassVar[str]
    image_name: ClassVar[str]
    """The variable for another image; it needs a python3 that unprivileged jobs can read."""
    module: ClassVar[str]
    """The SDK's module; `package` is its name for pip."""
    package: ClassVar[str]
    errors: ClassVar[str] = ""
    """The SDK's base class of errors; empty if it has none."""

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], **more: str | None) -> Self:
        """Returns the host for the key in `environment`, with `more` fields of the subclass. Raises
        `SandboxUnavailable` if the key or the SDK is missing."""
        key = environment.get(cls.key_name, "").strip()
        if not key:
            raise SandboxUnavailable(
                f"{cls.title} needs a key: set {cls.key_name}, or choose another backend. "
                "Nothing was run"
            )
        if importlib.util.find_spec(cls.module) is None:
            raise SandboxUnavailable(
                f"{cls.title}'s SDK is not installed; run: pip install {cls.package}"
            )
        return cls(key, environment.get(cls.image_name) or None, **more)

    def sdk(self) -> ModuleType:
        """Imports and returns the SDK's module; raises `SandboxError` if its import fails."""
        try:
            return importlib.import_module(self.module)
        except ImportError as error:
            raise SandboxError(
                f"{self.name}: its SDK is broken; run: pip install {self.package} ({error})"
            ) from error

    @abstractmethod
    def advice(self, error: Exception) -> str:
        """The next step for an error of the SDK; empty if unknown."""

    @contextmanager
    def translate_errors(self, what: str) -> Iterator[None]:
        """Converts errors of the SDK into `SandboxError`; `what` names the failed action."""
        errors: type[Exception] = getattr(self.sdk(), self.errors, Exception)
        try:
            yield
        except errors as error:
            raise self.failure(what, error) from None

    def failure(self, what: str, error: Exception) -> SandboxError:
        """Returns the error with its cause, the failed action `what` and the next step, and without
        the key."""
        advice = self.advice(error) or f"try again; if it persists, see {self.title}'s status page"
        details = f"{type(error).__name__}: {error}".replace(self.key, "…")
        return SandboxError(f"{self.name}: {what}; {advice} ({details[-400:]})")

    async def delete(self, place: str, once: Callable[[], Awaitable[object]]) -> None:
        """Calls `once`, which deletes the sandbox named `place`, in up to three attempts. Raises
        `SandboxError` if all fail."""
        for attempt in range(1, _DELETE_ATTEMPTS + 1):
            try:
                await once()
                return
            except Exception as error:  # noqa: BLE001 - not every SDK's errors have a base
                if attempt == _DELETE_ATTEMPTS:
                    what = (
                        f"the sandbox {place} could not be deleted; it ends after its time limit, "
                        "or delete it in the dashboard"
                    )
                    raise self.failure(what, error) from None
            await asyncio.sleep(attempt)
