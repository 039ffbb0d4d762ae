"""What providers behind HTTP have in common: the key before it is sent, and what faults mean.

Nothing here knows an SDK: each provider says which exceptions its own makes of a broken transport.
"""

from __future__ import annotations

import math
import re
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar
from urllib.parse import urlsplit

from llm.errors import (
    CallFailed,
    ContextOverflow,
    NeedsKey,
    NoProvider,
    Overloaded,
    ProviderDown,
    RateLimited,
    Rejected,
    TimedOut,
    UnknownModel,
    WrongKey,
)
from llm.keys import Secret
from llm.provider import sayable
from llm.redaction import MARK, Redactor
from llm.types import MOST_TOKENS, Usage

T = TypeVar("T")
Faults = tuple[type[BaseException], ...]

TOLD = 300
"""Characters of a provider's own words that reach a message."""

BY_STATUS: dict[int, type[CallFailed]] = {
    401: WrongKey, 402: WrongKey, 403: WrongKey, 408: TimedOut, 413: ContextOverflow,
    429: RateLimited, 503: Overloaded, 504: TimedOut, 529: Overloaded,
}
"""Statuses of HTTP that say alone what is meant, whoever sends them."""

NEXT_STEP: dict[type[CallFailed], str] = {
    WrongKey: "does not accept the key; check it, and its account's balance and limits",
    UnknownModel: "does not have the model; choose one that it lists",
    ContextOverflow: "finds the question too long; ask with less",
    Rejected: "finds the request wrong; check the base URL",
    RateLimited: "allows no more calls now; come again later",
    Overloaded: "has no capacity now; come again later",
    TimedOut: "gave no answer in time; come again later",
    ProviderDown: "failed by its own fault; come again later",
}
"""What is told of a refusal; a provider says some of it in words of its own."""


AWAY = "cannot be reached"


@dataclass(frozen=True)
class Attempted:
    """A call that failed: by whom, and how far it had come."""

    place: str
    key: Secret
    started: bool
    """The head of an answer had come: whatever came of it may be paid for."""
    usage: Usage | None

    def refused(
        self, kind: type[CallFailed], what: str, *, step: str = "",
        retry_after_s: float | None = None,
    ) -> CallFailed:
        """The error for what a provider said; `what` is that in short."""
        message = f"{self.place} {step or NEXT_STEP[kind]} ({scrubbed(what, self.key)})"
        if issubclass(kind, RateLimited):
            return kind(
                message, retry_after_s=retry_after_s, started=self.started, usage=self.usage
            )
        return kind(message, started=self.started, usage=self.usage)

    def broken(
        self, fault: BaseException, *, unreachable: Faults, silent: Faults, away: str = AWAY
    ) -> CallFailed:
        """The error for a fault of the transport, by what the SDK's exceptions for it are; `away`
        is said of a server that cannot be reached."""
        name = type(fault).__name__.strip("_")
        what = scrubbed(f"{name}: {fault}".removesuffix(": "), self.key)
        if isinstance(fault, unreachable) and not self.started:
            return ProviderDown(f"{self.place} {away} ({what})")
        if isinstance(fault, silent):
            return TimedOut(
                f"{self.place} sent nothing for too long ({what}); come again later",
                started=self.started, usage=self.usage,
            )
        broke = self.started and not isinstance(fault, Unreadable)
        words = "broke off its answer" if broke else "does not speak as it must"
        return ProviderDown(
            f"{self.place} {words} ({what})", started=self.started, usage=self.usage
        )


class Unreadable(Exception):
    """What came is not what the SDK takes for granted."""


async def readable(answer: Awaitable[T]) -> T:
    """What an SDK makes of what came. Each takes a server's JSON for what it should be: one that
    is nested too deeply, has an endless number or is no object comes through as Python's faults.
    """
    try:
        return await answer
    except (ValueError, AttributeError, TypeError, RecursionError) as fault:
        raise Unreadable(str(fault)) from None


def token_count(told: object) -> int | None:
    """A server's count of tokens, at most `MOST_TOKENS`; `None` for what is no count."""
    if type(told) is not int or told < 0:
        return None
    return min(told, MOST_TOKENS)


def sendable_key(key: Secret, provider: str, key_name: str) -> str:
    """The key's text. Raises `NeedsKey` where there is none, and `WrongKey` for one that no header
    can carry: clients quote such a value in full when they refuse it."""
    text = key.reveal()
    if not text:
        raise NeedsKey(f"{provider} needs a key: set {key_name}, or enter one", key_name)
    if not re.fullmatch(r"[!-~]+", text):
        raise WrongKey(f"the key of {provider} holds characters that no key has: copy it again")
    return text


def checked_url(url: str, provider: str) -> str:
    """The address as it is, if it is one; else `NoProvider`."""
    try:
        parts = urlsplit(url)
        sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        sound = False
    if not sound:
        raise NoProvider(f"the base URL of {provider} is not an address like https://host/path")
    return url


def place(url: str) -> str:
    """Where an address leads, without what may be secret in it."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"


def scrubbed(text: str, key: Secret) -> str:
    """A provider's words, on one line and of bounded length, with this key, however short, and
    whatever looks like a key as stars."""
    text = Redactor([key]).text(text)
    if key:
        text = text.replace(key.reveal(), MARK)
    line = " ".join(sayable(text).split())
    return line if len(line) <= TOLD else f"{line[:TOLD]}…"


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After`, which is in seconds or a date; `None`
    where neither says anything. `headers` finds names in lower case."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit_s
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        then = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - (now or datetime.now(UTC))).total_seconds())
