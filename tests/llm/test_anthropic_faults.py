"""Bad days of Anthropic's interface: the right error, one request, in time, and no key in sight."""

from __future__ import annotations

import asyncio
import logging
import time
import traceback
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from anthropic import APITimeoutError

from llm import Connection, Message, Request, Secret, Usage
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
from llm.providers.anthropic import AnthropicProvider
from llm.providers.wire import Answer
from tests.llm.fakes import anthropic as fake
from tests.llm.fakes.anthropic import answers, error, fails, opening, sse
from tests.llm.fakes.server import (
    SSE,
    FakeServer,
    Handler,
    collected,
    drips,
    ends,
    hangs_up,
    resets,
    says,
    stalls,
    streams,
)

KEY = "sk-ant-canary-5e1d"
STALL_S = 0.3
QUESTION = Request("critic", "You judge.", (Message("user", "Well?"),))


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        yield server


@pytest.fixture
async def provider(server: FakeServer) -> AsyncIterator[AnthropicProvider]:
    """Patient, so that a busy machine is no stall."""
    async with opened(server, 30.0) as provider:
        yield provider


@pytest.fixture
async def hasty(server: FakeServer) -> AsyncIterator[AnthropicProvider]:
    async with opened(server, STALL_S) as provider:
        yield provider


@asynccontextmanager
async def opened(server: FakeServer, stall_s: float) -> AsyncIterator[AnthropicProvider]:
    provider = AnthropicProvider(
        Connection("anthropic", fake.MODEL, Secret(KEY), server.url, stall_s=stall_s)
    )
    yield provider
    await provider.close()


async def fault_of(provider: AnthropicProvider) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        await collected(provider.stream(QUESTION))
    return caught.value


TOO_LONG = "prompt is too long: 210000 tokens > 200000 maximum"
TOO_MUCH = "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"

REFUSALS: list[tuple[Handler, type[CallFailed]]] = [
    (fails(400, "invalid_request_error"), Rejected),
    (fails(400, "invalid_request_error", TOO_LONG), ContextOverflow),
    (fails(400, "invalid_request_error", TOO_MUCH), ContextOverflow),
    (fails(401, "authentication_error"), WrongKey),
    (fails(402, "billing_error"), WrongKey),
    (fails(403, "permission_error"), WrongKey),
    (fails(404, "not_found_error", "model: claude-none"), UnknownModel),
    (says(b"<html>no such page</html>", 404), Rejected),
    (fails(408, "timeout_error"), TimedOut),
    (fails(409, "conflict_error"), Rejected),
    (fails(413, "request_too_large"), ContextOverflow),
    (fails(422, "invalid_request_error"), Rejected),
    (fails(429, "rate_limit_error"), RateLimited),
    (fails(429, "rate_limit_error", code="enforced_spend_limit_reached"), WrongKey),
    (fails(500, "api_error"), ProviderDown),
    (says(b"", 502), ProviderDown),
    (says(b"down", 503), Overloaded),
    (fails(504, "timeout_error"), TimedOut),
    (fails(529, "overloaded_error"), Overloaded),
]


@pytest.mark.parametrize(("refusal", "kind"), REFUSALS)
async def test_a_refused_call_is_made_once_and_was_not_begun(
    provider: AnthropicProvider, server: FakeServer, refusal: Handler, kind: type[CallFailed]
) -> None:
    server.on("POST", fake.MESSAGES, refusal)

    fault = await fault_of(provider)

    assert type(fault) is kind
    assert (fault.started, fault.usage) == (False, None)
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    ("status", "kind", "header", "least_s", "most_s"),
    [
        (429, "rate_limit_error", {"retry_after": "7"}, 7, 7),
        (529, "overloaded_error", {"retry_after": "0.5"}, 0.5, 0.5),
        (529, "overloaded_error", {"retry_after": "9", "retry_after_ms": "250"}, 0.25, 0.25),
        (429, "rate_limit_error", {"retry_after": "Fri, 31 Dec 2199 23:59:59 GMT"}, 1e9, 1e10),
    ],
)
async def test_when_to_come_again_is_passed_on(
    provider: AnthropicProvider, server: FakeServer,
    status: int, kind: str, header: dict[str, str], least_s: float, most_s: float,
) -> None:
    server.on("POST", fake.MESSAGES, fails(status, kind, "slow down", **header))

    fault = await fault_of(provider)

    assert isinstance(fault, RateLimited)
    assert fault.retry_after_s is not None
    assert least_s <= fault.retry_after_s <= most_s


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("overloaded_error", Overloaded),
        ("rate_limit_error", RateLimited),
        ("api_error", ProviderDown),
        ("timeout_error", TimedOut),
        ("authentication_error", WrongKey),
        ("invalid_request_error", Rejected),
        ("an_unheard_of_error", ProviderDown),
    ],
)
async def test_an_error_amid_a_stream_is_known_by_its_type(
    provider: AnthropicProvider, server: FakeServer, kind: str, expected: type[CallFailed]
) -> None:
    """Its status is the stream's, which is 200."""
    server.on("POST", fake.MESSAGES, answers([*opening(), error(kind, "so it is")]))

    fault = await fault_of(provider)

    assert type(fault) is expected
    assert fault.started
    assert fault.usage == Usage(input=12, output=4, read=200, written=30, estimated=True)
    assert len(server.seen) == 1


async def test_an_error_before_the_first_event_is_of_a_call_that_may_be_paid_for(
    provider: AnthropicProvider, server: FakeServer
) -> None:
    server.on("POST", fake.MESSAGES, answers([error("overloaded_error", "so it is")]))

    fault = await fault_of(provider)

    assert (type(fault), fault.started, fault.usage) == (Overloaded, True, None)


@pytest.mark.parametrize(
    ("day", "kind", "come"),
    [
        (stalls, TimedOut, "nothing"),
        (hangs_up, ProviderDown, "nothing"),
        (resets, ProviderDown, "nothing"),
        (streams([]), ProviderDown, "head"),
        (streams([], then=stalls), TimedOut, "head"),
        (streams([], then=hangs_up), ProviderDown, "head"),
        (streams([], then=resets), ProviderDown, "head"),
        (answers([fake.PING], then=hangs_up), ProviderDown, "head"),
        (says({"not": "a stream"}), ProviderDown, "head"),
        (streams([b"<html>"], content_type="text/html"), ProviderDown, "head"),
        (streams([b"event: message_start\ndata: \xff\n\n"]), ProviderDown, "head"),
        (streams([b"event: message_start\ndata: 5\n\n"]), ProviderDown, "head"),
        (streams([b"event: message_start\ndata: " + b"[" * 100_000 + b"\n\n"]), ProviderDown,
         "head"),
        (streams([b"event: message_start\ndata: " + b"9" * 5_000 + b"\n\n"]), ProviderDown,
         "head"),
        (answers([{"type": "message_start"}]), ProviderDown, "head"),
        (answers(opening(), then=stalls), TimedOut, "events"),
        (answers(opening(), then=hangs_up), ProviderDown, "events"),
        (answers(opening(), then=resets), ProviderDown, "events"),
        (streams([sse(fake.message_start()), b'event: message_delta\ndata: {"t\n\n']),
         ProviderDown, "events"),
        (answers([*opening(), {"type": "message_delta", "delta": None}]), ProviderDown, "events"),
        (answers([*opening(), fake.delta(0, "") | {"delta": {"type": "text_delta"}}]),
         ProviderDown, "events"),
    ],
)
async def test_a_broken_stream_ends_in_time_with_what_it_cost(
    provider: AnthropicProvider, hasty: AnthropicProvider, server: FakeServer,
    day: Handler, kind: type[CallFailed], come: str,
) -> None:
    """Once there is the head of an answer it may be paid for; its events tell how much."""
    server.on("POST", fake.MESSAGES, day)
    begun = time.perf_counter()

    fault = await fault_of(hasty if kind is TimedOut else provider)

    assert type(fault) is kind
    assert fault.started == (come != "nothing")
    assert (fault.usage is not None and fault.usage.input == 12) == (come == "events")
    assert time.perf_counter() - begun < STALL_S + 2
    assert len(server.seen) == 1


async def test_events_that_are_not_known_are_passed_over(
    provider: AnthropicProvider, server: FakeServer
) -> None:
    strange = [
        {"type": "newly_made"}, fake.delta(0, "x", "newly"),
        {"type": "content_block_start", "index": 7, "content_block": {"type": "newly_made"}},
    ]
    server.on("POST", fake.MESSAGES, answers([*opening(), *strange, *fake.whole()[-3:]]))

    reply = (await collected(provider.stream(QUESTION)))[-1]

    assert (reply.text, reply.finish) == ("hello world", "stop")


async def test_an_end_is_known_by_its_reason_whatever_comes_after_it(
    provider: AnthropicProvider, server: FakeServer
) -> None:
    ends_twice = [*fake.whole()[:-1], fake.message_delta(None)]
    server.on("POST", fake.MESSAGES, answers(ends_twice))

    reply = (await collected(provider.stream(QUESTION)))[-1]

    assert (reply.finish, reply.usage.estimated) == ("stop", False)


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (httpx2.ConnectTimeout(""), ProviderDown),
        (httpx2.PoolTimeout(""), ProviderDown),
        (httpx2.WriteTimeout(""), TimedOut),
        (httpx2.ProxyError("407"), ProviderDown),
    ],
)
def test_who_cannot_be_reached_in_time_is_down_and_not_slow(
    cause: Exception, kind: type[CallFailed], provider: AnthropicProvider
) -> None:
    """The SDK has one name for every timeout before the answer."""
    fault = APITimeoutError(httpx2.Request("POST", "http://there"))
    fault.__cause__ = cause

    assert type(provider._fault(fault, Answer({}))) is kind


@pytest.mark.parametrize(
    "dripping",
    [drips(b"", 0.02), answers(opening(), then=drips(b"event: ping\ndata: {}\n\n", 0.02)),
     answers([], then=drips(b":\n", 0.02))],
    ids=["head", "pings", "comments"],
)
async def test_a_drip_is_no_stall_and_a_deadline_around_it_hangs_up(
    hasty: AnthropicProvider, server: FakeServer, dripping: Handler
) -> None:
    server.on("POST", fake.MESSAGES, dripping)
    begun = time.perf_counter()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2 * STALL_S):
            await collected(hasty.stream(QUESTION))

    assert time.perf_counter() - begun < 2 * STALL_S + 2
    assert await server.seen[0].was_dropped()


async def test_a_call_that_is_cancelled_before_its_first_byte_hangs_up(
    provider: AnthropicProvider, server: FakeServer
) -> None:
    server.on("POST", fake.MESSAGES, stalls)
    task = asyncio.create_task(collected(provider.stream(QUESTION)))
    while not server.seen:
        await asyncio.sleep(0.005)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await server.seen[0].was_dropped()


async def test_the_provider_can_be_asked_again_after_each_fault(
    provider: AnthropicProvider, server: FakeServer
) -> None:
    days = [hangs_up, resets, fails(500, "api_error"), answers(opening(), then=resets)]
    server.on("POST", fake.MESSAGES, *days, answers(fake.whole()))

    for _ in days:
        await fault_of(provider)
    reply = (await collected(provider.stream(QUESTION)))[-1]

    assert reply.text == "hello world"
    assert len(server.seen) == len(days) + 1


ECHOES: list[Handler] = [
    fails(401, "authentication_error", f"no such key: {KEY}, Bearer {KEY}"),
    fails(400, "invalid_request_error", f"{KEY} is odd"),
    says(f"<html>{KEY}</html>".encode(), 502),
    answers([*opening(), error("api_error", f"lost {KEY}")]),
    streams([f"event: message_start\ndata: {KEY}\n\n".encode()], content_type=SSE),
    streams([f"event: error\ndata: {KEY}\n\n".encode()], then=ends),
    resets,
]


@pytest.mark.parametrize("echo", ECHOES)
async def test_the_key_is_nowhere_in_what_is_told(
    provider: AnthropicProvider, server: FakeServer, echo: Handler,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Not in the error, nor in what hangs on it, nor in what any library logs."""
    caplog.set_level(logging.DEBUG)
    server.on("POST", fake.MESSAGES, echo)

    fault = await fault_of(provider)

    told: list[Any] = [fault, repr(fault), fault.args, repr(provider), vars(fault)]
    told += [*traceback.format_exception(fault), fault.__cause__, fault.__context__]
    told += [(it.getMessage(), it.args, it.exc_text, it.exc_info) for it in caplog.records]
    assert not [it for it in told if KEY in str(it)]
    assert (fault.__cause__, fault.__context__) == (None, None)


async def test_a_long_page_of_an_error_is_cut(
    provider: AnthropicProvider, server: FakeServer
) -> None:
    server.on("POST", fake.MESSAGES, says(b"<p>\n" * 10_000, 500))

    fault = await fault_of(provider)

    assert len(str(fault)) < 500
    assert "\n" not in str(fault)
