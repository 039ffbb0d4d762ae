"""What Ollama means by an error, as one of our own.

Its errors are a status and a sentence; in a stream that has begun the SDK gives the status -1,
and only the sentence tells.
"""

from __future__ import annotations

import re

from llm.errors import (
    CallFailed,
    ContextOverflow,
    Overloaded,
    ProviderDown,
    RateLimited,
    Rejected,
    UnknownModel,
    WrongKey,
)
from llm.types import Usage

TOO_LONG = re.compile(r"context (length|window|size)|prompt (is )?too long", re.IGNORECASE)
NO_MODEL = re.compile(r"model .*not found|try pulling", re.IGNORECASE)
BUSY = re.compile(r"server busy|maximum pending requests", re.IGNORECASE)


def failure(
    place: str, model: str, status: int, words: str, started: bool, usage: Usage | None
) -> CallFailed:
    """The error to raise for a status and the words, which hold no key."""
    kind = _kind(status, words)
    step = {
        UnknownModel: f"does not have {model!r}: run `ollama pull {model}`",
        ContextOverflow: "finds the question too long; ask with less, or with a larger num_ctx",
        Overloaded: "has no capacity now; come again later",
        RateLimited: "allows no more calls now; come again later",
        WrongKey: "does not accept the key",
        Rejected: "finds the request wrong; check the address",
        ProviderDown: "failed by its own fault; its log says more",
    }[kind]
    number = f"{status}: " if status > 0 else ""
    message = f"{place} {step} ({number}{words or 'no more was said'})"
    return kind(message, started=started, usage=usage)


def _kind(status: int, words: str) -> type[CallFailed]:
    if TOO_LONG.search(words) and (status < 500):
        return ContextOverflow
    if NO_MODEL.search(words) and status in (-1, 400, 404):
        return UnknownModel
    if status in (401, 403):
        return WrongKey
    if status == 429:
        return RateLimited
    if status == 503 or BUSY.search(words):
        return Overloaded
    return Rejected if 300 <= status < 500 else ProviderDown
