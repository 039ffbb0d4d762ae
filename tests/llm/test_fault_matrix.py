"""Every bad day of every provider's server, through the router and the real SDK: the right typed
error, within the deadline, and nothing paid twice."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

import pytest

from llm import Connection, Message, Plan, Reply, Request, Secret, open_provider
from llm.budget import Caps, Ledger
from llm.calls import CallBroke, CallEnded, Occurrence
from llm.errors import (
    CallFailed,
    LlmError,
    Overloaded,
    ProviderDown,
    RateLimited,
    TimedOut,
    UnknownModel,
    WrongKey,
)
from llm.plan import Choice
from llm.prices import our_prices
from llm.router import Breaker, Router
from llm.types import Finish
from tests.llm.fakes import anthropic, ollama, openai
from tests.llm.fakes.server import (
    NDJSON,
    SSE,
    FakeServer,
    Handler,
    drips,
    hangs_up,
    refusing,
    resets,
    says,
    stalls,
    streams,
)

KEY = "sk-canary-9f8e7d6c5b4a"
DEADLINE_S, STALL_S = 1.5, 0.6
SLACK_S = 2.0
"""What a busy machine may take beside."""


@dataclass(frozen=True)
class Day:
    """What a server does, and what must come of it."""

    does: Handler | None
    """`None`: nobody listens."""
    expected: type[LlmError] | Finish
    requests: int = 1
    charged: bool = True
    """Whether something may have been paid."""


def refused(error: type[CallFailed], handler: Handler, requests: int = 1) -> Day:
    return Day(handler, error, requests, charged=False)


def accepted(content_type: str, sign_of_life: bytes) -> dict[str, Day]:
    """What breaks behind the head of an answer with status 200, before anything is said."""

    def day(*chunks: bytes, then: Handler = hangs_up) -> Day:
        return Day(streams(chunks, then, content_type), ProviderDown)

    return {
        "accepted, then hung up": day(),
        "accepted, then reset": day(then=resets),
        "accepted, then a sign of life and hung up": day(sign_of_life),
        "accepted, then brackets without end": day(b"data: " * (content_type == SSE) +
                                                   b"[" * 100_000 + b"\n\n"),
    }


def claude_days() -> dict[str, Day]:
    half = [anthropic.sse(event) for event in anthropic.opening()]
    overloaded = anthropic.sse(anthropic.error("overloaded_error", "so many"))
    fails, answers = anthropic.fails, anthropic.answers
    return {
        "429": refused(RateLimited, fails(429, "rate_limit_error", retry_after="0"), 3),
        "429 for an age": refused(
            RateLimited, fails(429, "rate_limit_error", retry_after="4294967")
        ),
        "529": refused(Overloaded, fails(529, "overloaded_error", retry_after="0"), 3),
        "500": refused(ProviderDown, fails(500, "api_error", retry_after="0"), 3),
        "error amid a stream of status 200": Day(streams([*half, overloaded]), Overloaded),
        "accepted, then no event": Day(streams([]), ProviderDown),
        **accepted(SSE, anthropic.sse(anthropic.PING)),
        "stall": Day(answers(anthropic.opening(), then=stalls), TimedOut),
        "clean end of stream": Day(answers(anthropic.opening()), "cut"),
        "reset": Day(answers(anthropic.opening(), then=resets), ProviderDown),
        "truncation": Day(answers(anthropic.whole("max_tokens")), "length"),
        "refusal": Day(answers(anthropic.whole("refusal", details={
            "type": "refusal", "category": "cyber", "explanation": None,
        })), "refusal"),
        "refused connection": Day(None, ProviderDown, requests=0, charged=False),
        "wrong key": refused(WrongKey, fails(401, "authentication_error", f"bad {KEY}")),
        "unknown model": refused(UnknownModel, fails(404, "not_found_error", "model: x")),
        "slow loris": Day(answers(
            anthropic.opening(), then=drips(anthropic.sse(anthropic.PING), 0.05)
        ), TimedOut),
        "slow loris in the head": Day(drips(b"z", 0.05), TimedOut),
    }


def openai_days() -> dict[str, Day]:
    fails, answers = openai.fails, openai.answers
    amid = [*openai.opening(), openai.error("server_error", 503, "overloaded")]
    return {
        "429": refused(RateLimited, fails(429, "rate_limit_exceeded", retry_after="0"), 3),
        "429 for an age": refused(
            RateLimited, fails(429, "rate_limit_exceeded", retry_after="4294967")
        ),
        "503": refused(Overloaded, fails(503, "server_error", retry_after="0"), 3),
        "500": refused(ProviderDown, fails(500, "server_error", retry_after="0"), 3),
        "error amid a stream of status 200": Day(answers(amid), CallFailed),
        **accepted(SSE, b": ping\n\n"),
        "stall": Day(answers(openai.opening(), then=stalls), TimedOut),
        "clean end of stream": Day(answers(openai.opening()), "cut"),
        "reset": Day(answers(openai.opening(), then=resets), ProviderDown),
        "truncation": Day(answers(openai.whole("length")), "length"),
        "refusal": Day(answers(openai.whole("content_filter")), "refusal"),
        "refused connection": Day(None, ProviderDown, requests=0, charged=False),
        "wrong key": refused(
            WrongKey, fails(401, "authentication_error", "invalid_api_key", f"no key {KEY}")
        ),
        "unknown model": refused(
            UnknownModel, fails(404, "invalid_request_error", "model_not_found")
        ),
        "slow loris": Day(answers(openai.opening(), then=drips(b": ping\n\n", 0.05)), TimedOut),
        "slow loris in the head": Day(drips(b"z", 0.05), TimedOut),
    }


def ollama_days() -> dict[str, Day]:
    fails, answers = ollama.fails, ollama.answers
    return {
        "429": refused(RateLimited, fails(429, "too many"), 3),
        "503": refused(Overloaded, fails(503, "server busy"), 3),
        "500": refused(ProviderDown, fails(500, "llama runner gone"), 3),
        "error amid a stream of status 200": Day(
            answers([*ollama.opening(), {"error": "runner crashed"}]), ProviderDown
        ),
        "stall": Day(answers(ollama.opening(), then=stalls), TimedOut),
        "clean end of stream": Day(answers(ollama.opening()), "cut"),
        **accepted(NDJSON, b"\n"),
        "reset": Day(answers(ollama.opening(), then=resets), ProviderDown),
        "truncation": Day(answers([*ollama.opening(), ollama.last("length")]), "length"),
        "refused connection": Day(None, ProviderDown, requests=0, charged=False),
        "wrong key": refused(WrongKey, fails(401, f"unauthorized {KEY}")),
        "unknown model": refused(UnknownModel, fails(404, "model 'x' not found")),
        "slow loris": Day(answers(ollama.opening(), then=drips(b" ", 0.05)), TimedOut),
        "slow loris in the head": Day(drips(b"z", 0.05), TimedOut),
    }


@dataclass(frozen=True)
class Whom:
    """A provider, where its questions arrive, and how its server is otherwise well."""

    choice: Choice
    path: str
    base: str
    prepared: Callable[[FakeServer, Handler], None]


def whom(provider: str, model: str, path: str, base: str = "") -> Whom:
    def prepared(server: FakeServer, handler: Handler) -> None:
        if provider == "ollama":
            ollama.healthy(server, handler)
        else:
            server.on("POST", path, handler)

    return Whom(Choice("critic", provider, model, ""), path, base, prepared)


PROVIDERS = {
    "anthropic": (whom("anthropic", anthropic.MODEL, anthropic.MESSAGES), claude_days()),
    "openai": (whom("openai", openai.MODEL, openai.CHAT, "/v1"), openai_days()),
    "ollama": (whom("ollama", ollama.MODEL, ollama.CHAT), ollama_days()),
}
DAYS = [
    pytest.param(whom, day, id=f"{name}: {what}")
    for name, (whom, days) in PROVIDERS.items() for what, day in days.items()
]
QUESTION = Request(
    "critic", "You judge.", (Message("user", "Well?"),), max_tokens=100, deadline_s=DEADLINE_S
)


async def asked(whom: Whom, url: str, told: list[Occurrence]) -> Reply:
    connection = Connection(
        whom.choice.provider, whom.choice.model, Secret(KEY), url + whom.base,
        connect_s=1.0, stall_s=STALL_S,
    )
    provider = open_provider(connection)  # an SDK's import takes seconds
    router = Router(
        Plan("", "", (whom.choice,)), lambda choice: provider, Ledger(Caps()),
        our_prices(), told.append, lambda choice: Breaker(),
    )
    try:
        async with aclosing(router.stream(QUESTION)) as items:
            async for item in items:
                if isinstance(item, Reply):
                    return item
        raise AssertionError("no reply")
    finally:
        await router.close()


@pytest.mark.parametrize(("whom", "day"), DAYS)
async def test_a_bad_day_has_its_error_in_time_and_is_paid_once(
    whom: Whom, day: Day, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm.router.FIRST_WAIT_S", 0.01)
    told: list[Occurrence] = []
    came: Any = None
    async with FakeServer() as server:
        whom.prepared(server, day.does or says({}))
        try:
            if day.does is None:
                with refusing() as nowhere:
                    came = (await asked(whom, nowhere, told)).finish
            else:
                came = (await asked(whom, server.url, told)).finish
        except LlmError as error:
            came = error
        sent = [seen for seen in server.seen if seen.path == whom.path]

    if isinstance(day.expected, str):
        assert came == day.expected
        assert isinstance(told[-1], CallEnded)
    else:
        assert isinstance(came, day.expected), repr(came)
        assert KEY not in str(came)
        broke = told[-1]
        assert isinstance(broke, CallBroke)
        assert (broke.usage.total > 0) == day.charged
    ended = told[-1]
    took_s = ended.reply.wall_s if isinstance(ended, CallEnded) else broke.wall_s
    assert took_s < DEADLINE_S + SLACK_S
    assert len(sent) == day.requests
