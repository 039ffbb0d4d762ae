"""Every bad day of every provider's server, by the real SDKs: the right error, one request, what
it may have cost, and no key in sight. What is done about an error is `test_router`'s matter."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import httpx2
import pytest
from anthropic import APITimeoutError

from llm import Connection, Json, Message, Provider, Request, Secret, Text, open_provider
from llm.errors import (
    CallFailed,
    ContextOverflow,
    InvalidResponse,
    OptionRefused,
    Overloaded,
    ProviderDown,
    RateLimited,
    Rejected,
    TimedOut,
    UnknownModel,
    WrongKey,
)
from llm.providers.wire import HttpProvider, ReplyStream
from llm.types import Output
from tests.llm.fakes import anthropic, ollama, openai
from tests.llm.fakes.server import (
    NDJSON,
    SSE,
    FakeServer,
    Handler,
    collected,
    drips,
    hangs_up,
    lines,
    refusing,
    resets,
    says,
    stalls,
    streams,
)

KEY = "sk-canary-9f8e7d6c5b4a"
STALL_S = 0.4
"""Of days on which a server falls silent; on the others a slow machine must not pass for that."""
QUESTION = Request("critic", "You judge.", (Message("user", "Well?"),), max_tokens=64)

NOTHING, HEAD, PIECES = "nothing", "the head", "pieces"
"""What had come of an answer. Once there is its head it may be paid for; its pieces tell how much.
"""


@dataclass(frozen=True)
class Day:
    """What a server does, what must come of it, and what had come of the answer."""

    does: Handler
    expected: type[CallFailed]
    came: str = NOTHING


@dataclass(frozen=True)
class Side:
    """How a provider's server is spoken to, and how it speaks."""

    model: str
    path: str
    fails: Callable[..., Handler]
    """Refuses with a status and words of its own."""
    answers: Callable[..., Handler]
    opening: list[dict[str, Any]]
    kind: str
    """The content type of a stream."""
    alive: bytes
    """A sign of life that is no piece."""
    data: bytes
    """Before what a piece holds."""
    base: str = ""


SIDES = {
    "anthropic": Side(
        anthropic.MODEL, anthropic.MESSAGES,
        lambda status: anthropic.fails(status, "odd_error", f"no {KEY}"), anthropic.answers,
        anthropic.opening(), SSE, anthropic.sse(anthropic.PING), b"event: message_start\ndata: ",
    ),
    "openai": Side(
        openai.MODEL, openai.CHAT, lambda status: openai.fails(status, "x", message=f"no {KEY}"),
        openai.answers, openai.opening(), SSE, b": ping\n\n", b"data: ", "/v1",
    ),
    "ollama": Side(
        ollama.MODEL, ollama.CHAT, lambda status: ollama.fails(status, f"no {KEY}"),
        ollama.answers, ollama.opening(), NDJSON, b"\n", b"",
    ),
}


def common(side: Side) -> dict[str, Day]:
    """Days that every server has."""
    def behind_the_head(
        *chunks: bytes, then: Handler = hangs_up, expected: type[CallFailed] = ProviderDown
    ) -> Day:
        return Day(streams(chunks, then, side.kind), expected, HEAD)

    def garbled(text: bytes) -> Day:
        return behind_the_head(text, expected=InvalidResponse)

    def amid(then: Handler, expected: type[CallFailed] = ProviderDown) -> Day:
        return Day(side.answers(side.opening, then=then), expected, PIECES)

    statuses: dict[int, type[CallFailed]] = {
        401: WrongKey, 402: WrongKey, 403: WrongKey, 408: TimedOut, 409: Rejected,
        413: ContextOverflow, 422: Rejected, 429: RateLimited, 500: ProviderDown,
        503: Overloaded, 504: TimedOut, 529: Overloaded,
    }
    return {
        **{str(status): Day(side.fails(status), kind) for status, kind in statuses.items()},
        "an empty 502": Day(says(b"", 502), ProviderDown),
        "a page of 502 with the key": Day(says(f"<html>{KEY}</html>".encode(), 502), ProviderDown),
        "a redirect": Day(says(b"", 307, {"Location": "http://127.0.0.1:9/"}), Rejected),
        "hangs up": Day(hangs_up, ProviderDown),
        "resets": Day(resets, ProviderDown),
        "accepts and hangs up": behind_the_head(),
        "accepts and resets": behind_the_head(then=resets),
        "a sign of life, hangs up": behind_the_head(
            # An empty line is none of Ollama's.
            side.alive, expected=InvalidResponse if side.kind == NDJSON else ProviderDown
        ),
        "brackets without end": garbled(side.data + b"[" * 100_000 + b"\n\n"),
        "a number without end": garbled(side.data + b"9" * 5_000 + b"\n\n"),
        "a page in place of a piece": garbled(side.data + f"<html>{KEY}</html>\n\n".encode()),
        "stalls amid": amid(stalls, TimedOut),
        "hangs up amid": amid(hangs_up),
        "resets amid": amid(resets),
    }


def claude_days() -> dict[str, Day]:
    fails, answers, error = anthropic.fails, anthropic.answers, anthropic.error
    opening = anthropic.opening()
    amid: dict[str, type[CallFailed]] = {
        "overloaded_error": Overloaded, "rate_limit_error": RateLimited, "api_error": ProviderDown,
        "timeout_error": TimedOut, "authentication_error": WrongKey,
        "invalid_request_error": Rejected, "an_unheard_of_error": ProviderDown,
    }
    too_long = ("prompt is too long: 210000 tokens > 200000 maximum",
                "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000")
    return {
        **{  # whose status is the stream's, which is 200
            f"{kind} amid": Day(answers([*opening, error(kind, f"lost {KEY}")]), expected, PIECES)
            for kind, expected in amid.items()
        },
        **{words: Day(fails(400, "invalid_request_error", words), ContextOverflow)
           for words in too_long},
        "400": Day(fails(400, "invalid_request_error"), Rejected),
        "404": Day(fails(404, "not_found_error", "model: claude-none"), UnknownModel),
        "404 of a page": Day(says(b"<html>no such page</html>", 404), Rejected),
        "a limit of spending": Day(
            fails(429, "rate_limit_error", code="enforced_spend_limit_reached"), WrongKey
        ),
        "stalls": Day(stalls, TimedOut),
        "stalls behind the head": Day(streams([], then=stalls), TimedOut, HEAD),
        "no event": Day(streams([]), InvalidResponse, HEAD),
        "an error before any event": Day(
            answers([error("overloaded_error", "so it is")]), Overloaded, HEAD
        ),
        "no stream": Day(says({"not": "a stream"}), InvalidResponse, HEAD),
        "bytes that are no text": Day(
            streams([b"event: message_start\ndata: \xff\n\n"]), InvalidResponse, HEAD
        ),
        "a number for an event": Day(
            streams([b"event: message_start\ndata: 5\n\n"]), InvalidResponse, HEAD
        ),
        "half an event": Day(answers([{"type": "message_start"}]), InvalidResponse, HEAD),
        "no delta": Day(
            answers([*opening, {"type": "message_delta", "delta": None}]), InvalidResponse, PIECES
        ),
        "no text": Day(
            answers([*opening, anthropic.delta(0, "") | {"delta": {"type": "text_delta"}}]),
            InvalidResponse, PIECES,
        ),
    }


def openai_days() -> dict[str, Day]:
    fails, answers, error, opening = openai.fails, openai.answers, openai.error, openai.opening()

    def amid(told: dict[str, Any], expected: type[CallFailed]) -> Day:
        return Day(answers([*opening, told]), expected, PIECES)

    return {
        "a wrong key": Day(fails(401, "invalid_request_error", "invalid_api_key"), WrongKey),
        "a wrong key as 400": Day(fails(400, "x", message="API key not valid."), WrongKey),
        "no credit": Day(fails(429, "insufficient_quota", "insufficient_quota"), WrongKey),
        "a model's code": Day(fails(404, "x", "model_not_found", "no such thing"), UnknownModel),
        "a model's words": Day(
            fails(404, "NotFoundError", message="The model `m` does not exist."), UnknownModel
        ),
        "no such page": Day(says({"detail": "Not Found"}, 404), Rejected),
        "too long by its code": Day(fails(400, "x", "context_length_exceeded"), ContextOverflow),
        "too long by its words": Day(
            fails(400, "x", message="This model's maximum context length is 9"), ContextOverflow
        ),
        "400": Day(fails(400, "invalid_request_error", message="unknown parameter"), Rejected),
        "422 of another form": Day(says({"detail": [{"loc": ["seed"]}]}, 422), Rejected),
        "error first": Day(answers([error("server_error")]), ProviderDown, HEAD),
        "503 amid": amid(error("server_error", 503), Overloaded),
        "overloaded amid": amid(error("overloaded_error"), Overloaded),
        "too many amid": amid(error("x", "rate_limit_exceeded"), RateLimited),
        "too long amid": amid(error("x", 400, "context size exceeded"), ContextOverflow),
        "words amid": amid({"error": f"plain words, {KEY}"}, ProviderDown),
        "no JSON amid": Day(
            streams([*openai.sse(opening), b"data: {not json\n\n"]), InvalidResponse, PIECES
        ),
        "no text amid": Day(
            streams([*openai.sse(opening), b"data: \xff\xfe\n\n"]), InvalidResponse, PIECES
        ),
        "stalls": Day(stalls, TimedOut),
        "stalls behind the head": Day(streams([], then=stalls), TimedOut, HEAD),
        "stalls in a refusal": Day(streams([], then=stalls, status=500), TimedOut),
        "a web page": Day(
            says(b"<html>a page</html>", 200, {"Content-Type": "text/html"}), Rejected, HEAD
        ),
        "one document": Day(
            says(b"{}", 200, {"Content-Type": "application/json"}), Rejected, HEAD
        ),
    }


def ollama_days() -> dict[str, Day]:
    fails, answers, opening = ollama.fails, ollama.answers, ollama.opening()
    return {
        "no such model": Day(fails(404, f"model '{ollama.MODEL}' not found"), UnknownModel),
        "no such page": Day(says(b"404 page not found", 404), Rejected),
        "400": Day(fails(400, "invalid option"), Rejected),
        "too long": Day(
            fails(400, "prompt too long; exceeded max context length by 5 tokens"), ContextOverflow
        ),
        "busy": Day(fails(500, "server busy, please try again"), Overloaded),
        "no object": Day(says(b"[1]", 500), ProviderDown),
        "error first": Day(
            streams(lines({"error": "out of memory"}), content_type=NDJSON), ProviderDown, HEAD
        ),
        "error amid": Day(answers([*opening, {"error": f"met {KEY}"}]), ProviderDown, PIECES),
        "too long amid": Day(
            answers([*opening, {"error": "context length exceeded"}]), ContextOverflow, PIECES
        ),
        "half a line": Day(
            streams([*lines(*opening), b'{"message": {"ro']), InvalidResponse, PIECES
        ),
        "a list amid": Day(streams([*lines(*opening), b"[1]\n"]), InvalidResponse, PIECES),
        # The SDK ends a line at U+0085 too, though it may stand within a text of JSON.
        "U+0085": Day(
            streams([b'{"message": {"role": "a", "content": "\xc2\x85"}}\n']), InvalidResponse, HEAD
        ),
    }


ALSO = {"anthropic": claude_days(), "openai": openai_days(), "ollama": ollama_days()}
DAYS = [
    pytest.param(name, day, id=f"{name}: {what}")
    for name, side in SIDES.items() for what, day in {**common(side), **ALSO[name]}.items()
]


def opened(
    name: str, server: FakeServer, *days: Handler, stall_s: float = 30.0, row: str = ""
) -> Provider:
    """A provider whose server does that, and is otherwise well; of another row that speaks so."""
    side = SIDES[name]
    ollama.healthy(server)
    server.on("POST", side.path, *days)
    return open_provider(
        Connection(row or name, side.model, Secret(KEY), server.url + side.base, stall_s=stall_s)
    )


def asked(name: str, server: FakeServer) -> list[Any]:
    return [seen for seen in server.seen if seen.path == SIDES[name].path]


async def fault_of(provider: Provider, request: Request = QUESTION) -> CallFailed:
    async with asyncio.timeout(60):  # for a provider that hangs; no measure of how fast one is
        with pytest.raises(CallFailed) as caught:
            await collected(provider.stream(request))
    return caught.value


@pytest.mark.parametrize(("name", "day"), DAYS)
async def test_each_server_fault_is_one_of_our_errors(
    name: str, day: Day, server: FakeServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    if name == "ollama" and day.came == HEAD:  # its SDK does not tell when that has come
        is_garbled = day.expected is InvalidResponse
        day = replace(day, came=NOTHING, expected=ProviderDown if is_garbled else day.expected)
    silent = day.expected is TimedOut
    provider = opened(name, server, day.does, stall_s=STALL_S if silent else 30.0)

    fault = await fault_of(provider)
    await provider.close()

    assert type(fault) is day.expected, fault
    assert fault.started is (day.came != NOTHING)
    assert (fault.usage is not None) is (day.came == PIECES)
    assert len(asked(name, server)) == 1
    assert len(str(fault)) < 600
    # No key, and nothing of the SDK, which holds the request, hangs on.
    assert (fault.__cause__, fault.__context__) == (None, None)
    told: list[Any] = [fault, repr(fault), fault.args, repr(provider), vars(fault)]
    told += [*traceback.format_exception(fault)]
    told += [(it.getMessage(), it.args, it.exc_text, it.exc_info) for it in caplog.records]
    assert not [it for it in told if KEY in str(it)]


@pytest.mark.parametrize("name", SIDES)
async def test_each_fault_allows_another_question(name: str, server: FakeServer) -> None:
    side = SIDES[name]
    days = [hangs_up, resets, side.fails(500), side.answers(side.opening, then=resets)]
    whole = {"anthropic": anthropic.answers(anthropic.whole())}.get(name)
    provider = opened(name, server, *days, whole or side.answers())

    for _ in days:
        await fault_of(provider)
    reply = (await collected(provider.stream(QUESTION)))[-1]
    await provider.close()

    assert reply.text == "hello world"
    assert len(asked(name, server)) == len(days) + 1


@pytest.mark.parametrize(("status", "header", "least_s", "most_s"), [
    (429, {"retry_after": "7"}, 7, 7),
    (503, {"retry_after": "9", "retry_after_ms": "250"}, 0.25, 0.25),
])
@pytest.mark.parametrize("name", ["anthropic", "openai"])
async def test_when_to_come_again_is_passed_on(
    name: str, status: int, header: dict[str, str], least_s: float, most_s: float,
    server: FakeServer,
) -> None:
    fails = {"anthropic": anthropic.fails, "openai": openai.fails}[name]
    provider = opened(name, server, fails(status, "x", **header))

    fault = await fault_of(provider)
    await provider.close()

    assert isinstance(fault, RateLimited)
    assert fault.retry_after_s is not None
    assert least_s <= fault.retry_after_s <= most_s


@pytest.mark.parametrize(("name", "command"), [
    ("anthropic", ""), ("openai", ""), ("vllm", ""), ("ollama", "`ollama serve`"),
])
async def test_where_nobody_listens_the_address_is_named(name: str, command: str) -> None:
    with refusing() as url:
        provider = open_provider(Connection(name, "m", Secret(KEY), url))
        faults = [await fault_of(provider)]
        with pytest.raises(ProviderDown) as caught:
            await provider.models()
        await provider.close()

    for fault in (*faults, caught.value):
        assert type(fault) is ProviderDown and not fault.started
        assert all(fact in str(fault) for fact in (name, url, command))
        assert KEY not in "".join(traceback.format_exception(fault))


@pytest.mark.parametrize(("cause", "kind"), [
    (httpx2.ConnectTimeout(""), ProviderDown), (httpx2.PoolTimeout(""), ProviderDown),
    (httpx2.WriteTimeout(""), TimedOut), (httpx2.ProxyError("407"), ProviderDown),
])
async def test_who_cannot_be_reached_in_time_is_down_and_not_slow(
    cause: Exception, kind: type[CallFailed], server: FakeServer
) -> None:
    """The SDK has one name for every timeout before the answer."""
    provider = opened("anthropic", server)
    assert isinstance(provider, HttpProvider)
    fault = APITimeoutError(httpx2.Request("POST", "http://there"))
    fault.__cause__ = cause

    assert type(provider._fault(fault, ReplyStream({}))) is kind


@pytest.mark.parametrize("where", ["the head", "the body"])
@pytest.mark.parametrize("name", ["anthropic", "openai"])
async def test_a_drip_is_no_stall(name: str, where: str, server: FakeServer) -> None:
    side = SIDES[name]
    body = side.answers(side.opening, then=drips(side.alive, 0.02))
    day = drips(b"", 0.02) if where == "the head" else body
    provider = opened(name, server, day, stall_s=STALL_S)

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2 * STALL_S):
            await collected(provider.stream(QUESTION))

    assert await server.seen[0].was_dropped()
    assert len(server.seen) == 1
    await provider.close()


@pytest.mark.parametrize(("row", "side"), [("vllm", "openai"), ("ollama", "ollama")])
async def test_a_loading_server_is_waited_for(row: str, side: str, server: FakeServer) -> None:
    async def loads(exchange: Any) -> None:
        await asyncio.sleep(2 * STALL_S)
        await SIDES[side].answers()(exchange)

    provider = opened(side, server, loads, stalls, stall_s=STALL_S, row=row)

    (*_, reply) = await collected(provider.stream(replace(QUESTION, deadline_s=30.0)))
    with pytest.raises(TimedOut):
        await collected(provider.stream(replace(QUESTION, deadline_s=0.3)))
    await provider.close()

    assert reply.finish == "stop"


@pytest.mark.parametrize("name", SIDES)
async def test_a_cancelled_call_hangs_up(name: str, server: FakeServer) -> None:
    provider = opened(name, server, stalls)
    task = asyncio.create_task(collected(provider.stream(QUESTION)))
    while not asked(name, server):
        await asyncio.sleep(0.005)

    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert await asked(name, server)[0].was_dropped()
    await provider.close()


SCHEMA = {"type": "object", "properties": {"cause": {"type": "string", "maxLength": 300}}}
CALM = {
    "openai": openai.fails(400, "x", message="Unsupported value: 'temperature'"),
    "ollama": ollama.fails(400, "Temperature is not taken"),
}
TOO_LONG = {
    "openai": ALSO["openai"]["too long by its code"].does,
    "ollama": ALSO["ollama"]["too long"].does,
}
SPOKEN = [("custom", "openai"), ("ollama", "ollama")]
"""Rows whose servers may refuse a wish, and how they are spoken to."""


@pytest.mark.parametrize(("row", "name"), SPOKEN)
async def test_a_refused_form_is_sent_in_words(row: str, name: str, server: FakeServer) -> None:
    refuses, wished = SIDES[name].fails(400), replace(QUESTION, output=Json(SCHEMA))
    provider = opened(
        name, server, TOO_LONG[name], refuses, SIDES[name].answers(), refuses, row=row
    )

    assert type(await fault_of(provider, wished)) is ContextOverflow  # which no form explains
    fault = await fault_of(provider, wished)
    assert isinstance(fault, OptionRefused) and fault.transient and not fault.started
    assert "400" in str(fault) and "no ***" in str(fault)
    await collected(provider.stream(wished))
    body = asked(name, server)[-1].json
    assert {"response_format", "format"}.isdisjoint(body)
    assert '"maxLength": 300' in body["messages"][0]["content"]
    assert type(await fault_of(provider, wished)) is Rejected
    await provider.close()


@pytest.mark.parametrize("output", [Text(), Json(SCHEMA)])
@pytest.mark.parametrize(("row", "name"), SPOKEN)
async def test_a_temperature_that_a_server_refuses_is_laid_to_nothing_else(
    row: str, name: str, output: Output, server: FakeServer
) -> None:
    wished = replace(QUESTION, output=output, temperature=0.5)
    provider = opened(name, server, CALM[name], SIDES[name].answers(), row=row)
    assert isinstance(await fault_of(provider, wished), OptionRefused)
    (*_, reply) = await collected(provider.stream(wished))
    await provider.close()

    first, again = (seen.json for seen in asked(name, server))
    assert first.get("options", first).pop("temperature") == 0.5
    assert first == again
    assert "temperature" in reply.note


@pytest.mark.parametrize("then", [stalls, hangs_up, resets])
@pytest.mark.parametrize(("name", "whole"), [
    ("openai", openai.whole(usage=None)), ("ollama", [*ollama.opening(), ollama.last()]),
])
async def test_an_answer_that_is_whole_is_not_lost_with_its_connection(
    name: str, whole: list[dict[str, Any]], then: Handler, server: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llm.providers.wire.CLOSING_S", 0.2)
    provider = opened(name, server, SIDES[name].answers(whole, then=then))

    (*_, reply) = await collected(provider.stream(QUESTION))
    await provider.close()

    assert (reply.text, reply.finish) == ("hello world", "stop")
    assert reply.usage.estimated is (name == "openai")  # whose count comes after the last piece
