"""What a server that speaks OpenAI's chat completions means by an error, as one of our own.

Servers agree on the shape `{"error": {"message", "type", "code"}}` and on little else: some say
with a status what others say with a code or in words alone, and in a stream that has begun there
is no status at all. So all of it is looked at, the most telling first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
from llm.providers.wire import BY_STATUS, NEXT_STEP, Attempted

BY_NAME: tuple[tuple[type[CallFailed], set[str]], ...] = (
    (WrongKey, {
        "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "arrearage",
        "insufficient_balance", "invalid_api_key", "invalid_authentication",
        "authentication_error", "api_key_invalid", "account_deactivated",
    }),
    (UnknownModel, {"model_not_found", "model_not_available", "model_decommissioned"}),
    (ContextOverflow, {"context_length_exceeded", "exceed_context_size_error"}),
    (Overloaded, {"overloaded_error", "server_overloaded", "overloaded"}),
    (RateLimited, {"rate_limit_exceeded", "rate_limit_error", "too_many_requests"}),
)
"""By a code or a type, the most telling first."""

# There is no code for these everywhere, only words; if they change, it is `Rejected`, and says so.
TOO_LONG_WORDS = re.compile(
    r"context[ _](length|window|size)|maximum (context|number of tokens)|too many tokens"
    r"|prompt (is )?too long|range of input length",
    re.IGNORECASE,
)
KEY_WORDS = re.compile(r"api[ _-]?key", re.IGNORECASE)
MODEL_WORDS = re.compile(r"\bmodels?\b", re.IGNORECASE)

REJECTED = f"{NEXT_STEP[Rejected]} and the preset"


@dataclass(frozen=True)
class Said:
    """An error as a server told it."""

    status: int
    """Of HTTP; 0 within a stream that had begun well."""
    code: str
    type: str
    words: str


def failure(said: Said, call: Attempted, retry_after_s: float | None) -> CallFailed:
    """The error to raise for what a server said.

    An account without credit is a key that may not do this, though servers say 429 or 402:
    no waiting mends it, and only the key's owner can.
    """
    kind = _kind(said)
    name = " ".join(filter(None, (str(said.status or ""), said.type or said.code)))
    return call.refused(
        kind, ": ".join(filter(None, (name, said.words))),
        step=REJECTED if kind is Rejected else "", retry_after_s=retry_after_s,
    )


def _kind(said: Said) -> type[CallFailed]:
    names = {said.code.lower(), said.type.lower()}
    status = said.status or (int(said.code) if re.fullmatch(r"[45]\d\d", said.code) else 0)
    for kind, its_names in BY_NAME:
        if names & its_names:
            return kind
    if status in BY_STATUS or status == 498:  # Groq's number for a lack of capacity
        return BY_STATUS.get(status, Overloaded)
    if status == 404:  # so is a wrong address answered, by a server that speaks of no models
        return UnknownModel if MODEL_WORDS.search(said.words) else Rejected
    if status < 500 and TOO_LONG_WORDS.search(said.words):
        return ContextOverflow
    if status == 400 and KEY_WORDS.search(said.words):  # Gemini's status for a wrong key
        return WrongKey
    return Rejected if 300 <= status < 500 else ProviderDown
