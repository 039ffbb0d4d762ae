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
from llm.keys import Secret
from llm.providers.wire import retry_after_s, scrubbed
from llm.types import Usage

BY_STATUS: dict[int, type[CallFailed]] = {
    401: WrongKey, 402: WrongKey, 403: WrongKey, 408: TimedOut, 413: ContextOverflow,
    429: RateLimited, 504: TimedOut, 529: Overloaded,
}

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

NEXT_STEP: dict[type[CallFailed], str] = {
    WrongKey: "does not accept the key; check it, and the account's balance and limits",
    UnknownModel: "does not have the model; choose one that it lists",
    ContextOverflow: "finds the question too long; ask with less",
    Rejected: "finds the request wrong, which is no fault of the model's; check the base URL",
    RateLimited: "allows no more calls now; come again later",
    Overloaded: "has no capacity now; come again later",
    TimedOut: "gave no answer in time; come again later",
    ProviderDown: "failed by its own fault; come again later",
}


def failure(
    fault: Exception, key: Secret, place: str, started: bool, usage: Usage | None
) -> CallFailed:
    """The error to raise for a fault; its message has the provider's words without the key."""
    if isinstance(fault, APIStatusError):
        return _told(fault, key, place, started, usage)
    cause = fault.__cause__ if isinstance(fault, APIConnectionError) else fault
    what = scrubbed(f"{type(cause).__name__}: {cause}".removesuffix(": "), key)
    if isinstance(cause, httpx2.TimeoutException) and not isinstance(cause, httpx2.ConnectTimeout):
        return TimedOut(
            f"{place} sent nothing for too long ({what}); come again later",
            started=started, usage=usage,
        )
    words = "broke off its answer" if started else "cannot be reached, or does not speak as it must"
    return ProviderDown(f"{place} {words} ({what})", started=started, usage=usage)


def _told(
    fault: APIStatusError, key: Secret, place: str, started: bool, usage: Usage | None
) -> CallFailed:
    kind = _kind(fault)
    name = " ".join(filter(None, (str(fault.status_code), fault.type, fault.request_id)))
    what = scrubbed(f"{name}: {fault.api_message or fault.body or 'no more was said'}", key)
    message = f"{place} {NEXT_STEP[kind]} ({what})"
    if issubclass(kind, RateLimited):
        wait_s = retry_after_s(fault.response.headers)
        return kind(message, retry_after_s=wait_s, started=started, usage=usage)
    return kind(message, started=started, usage=usage)


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
    if status == 503:
        return Overloaded
    return Rejected if 300 <= status < 500 else ProviderDown
