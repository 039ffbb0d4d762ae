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
    Rejected,
    UnknownModel,
)
from llm.providers.wire import BY_STATUS, NEXT_STEP, Attempted

TOO_LONG = re.compile(r"context (length|window|size)|prompt (is )?too long", re.IGNORECASE)
NO_MODEL = re.compile(r"model .*not found|try pulling", re.IGNORECASE)
BUSY = re.compile(r"server busy|maximum pending requests", re.IGNORECASE)


def failure(call: Attempted, model: str, status: int, words: str) -> CallFailed:
    """The error to raise for a status and the words."""
    kind = _kind(status, words)
    step = {
        UnknownModel: f"does not have {model!r}: run `ollama pull {model}`",
        ContextOverflow: f"{NEXT_STEP[ContextOverflow]}, or with a larger num_ctx",
        ProviderDown: "failed by its own fault; its log says more",
    }.get(kind, "")
    number = f"{status}: " if status > 0 else ""
    return call.refused(kind, f"{number}{words or 'no more was said'}", step=step)


def _kind(status: int, words: str) -> type[CallFailed]:
    if TOO_LONG.search(words) and (status < 500):
        return ContextOverflow
    if NO_MODEL.search(words) and status in (-1, 400, 404):
        return UnknownModel
    if BUSY.search(words):
        return Overloaded
    if status in BY_STATUS:
        return BY_STATUS[status]
    return Rejected if 300 <= status < 500 else ProviderDown
