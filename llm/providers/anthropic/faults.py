"""What a fault of Anthropic's SDK means, as an error of ours.

An `error` event amid a stream has the status of the stream, 200: there only its type tells. In an
answer's own status the number says more than the type, save for 400, 404 and the 500s.
"""

from __future__ import annotations

import re

import httpx2
from anthropic import APIConnectionError, APIStatusError

from llm.errors import (
    CallFailed,
    ContextOverflow,
    Overloaded,
    ProviderDown,
    RateLimited,
    Rejected,
    TimedOut,
    UnknownModel,
    WrongKey,
)
from llm.providers.wire import AWAY, BY_STATUS, Attempted, retry_after_s

BY_TYPE: dict[str, type[CallFailed]] = {
    "authentication_error": WrongKey,
    "billing_error": WrongKey,
    "permission_error": WrongKey,
    "invalid_request_error": Rejected,
    "not_found_error": UnknownModel,
    "request_too_large": ContextOverflow,
    "rate_limit_error": RateLimited,
    "overloaded_error": Overloaded,
    "timeout_error": TimedOut,
    "api_error": ProviderDown,
}

# A limit of spending has the status of too many calls, and does not pass by waiting.
SPENT = re.compile(r"spend_limit_reached$")

# There is no code for this, only words; if they change, it is `Rejected`, which says them.
TOO_LONG = re.compile(r"prompt is too long|exceeds? (the |model's )*context (limit|window)", re.I)

REJECTED = "finds the request wrong, which is no fault of the model's"


def failure(fault: Exception, call: Attempted) -> CallFailed:
    """The error to raise for a fault; its message has the provider's words without the key."""
    if isinstance(fault, APIStatusError):
        return _told(fault, call)
    cause = fault.__cause__ if isinstance(fault, APIConnectionError) else fault
    return call.broken(
        cause or fault,
        unreachable=(httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout),
        silent=(httpx2.TimeoutException, TimeoutError),
        away=f"{AWAY}; is the base URL right?",
    )


def _told(fault: APIStatusError, call: Attempted) -> CallFailed:
    kind = _kind(fault)
    name = " ".join(filter(None, (str(fault.status_code), fault.type, fault.request_id)))
    return call.refused(
        kind, f"{name}: {fault.api_message or fault.body or 'no more was said'}",
        step=REJECTED if kind is Rejected and fault.status_code >= 400 else "",
        retry_after_s=retry_after_s(fault.response.headers),
    )


def _kind(fault: APIStatusError) -> type[CallFailed]:
    status, named = fault.status_code, BY_TYPE.get(fault.type or "")
    if SPENT.search(fault.error_code or ""):
        return WrongKey
    if status in BY_STATUS:
        return BY_STATUS[status]
    if named is Rejected and TOO_LONG.search(fault.api_message or ""):
        return ContextOverflow
    if named is not None:
        return named
    return Rejected if 300 <= status < 500 else ProviderDown
