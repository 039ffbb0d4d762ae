"""Ollama: what is sent, what is looked at first, what its silence about a cut question leaves.

The claims that every provider shares are in `tests/contract/test_provider_contract.py`.
"""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from llm import Connection, Json, Message, Request, Secret
from llm.asking.ask import complete_reply as reply_of
from llm.errors import CallFailed, ContextOverflow, ProviderDown, TimedOut, UnknownModel
from llm.providers.ollama import OllamaProvider
from llm.types import Usage
from tests.llm.fakes.ollama import (
    CHAT,
    MODEL,
    SHOW,
    TAGS,
    answers,
    fails,
    healthy,
    last,
    opening,
    shown,
    tags,
    thought,
)
from tests.llm.fakes.server import FakeServer, Handler, Seen, collected, drips, resets, says

KEY = "canary-0a1b2c3d4e5f"
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}}
STALL_S = 0.4
"""Of tests in which a server falls silent; in the others a slow machine must not pass for that."""
Opened = Callable[..., OllamaProvider]


@pytest.fixture
async def opened(server: FakeServer) -> AsyncIterator[Opened]:
    """Makes providers on the server, and closes them."""
    made: list[OllamaProvider] = []

    def opened(**more: Any) -> OllamaProvider:
        settings = {
            "model": MODEL, "base_url": server.url, "stall_s": 10.0, "options": {"num_ctx": 1000},
        } | more
        made.append(OllamaProvider(Connection("ollama", **settings)))
        return made[-1]

    yield opened
    for provider in made:
        await provider.close()


def question(text: str = "Say hello.", **more: Any) -> Request:
    settings = {"max_tokens": 64, "deadline_s": 5.0} | more
    return Request("tester", "Be brief.", (Message("user", text),), **settings)


async def fault_of(provider: OllamaProvider, request: Request | None = None) -> CallFailed:
    """The error of a call, which ends soon and has no trace of the key."""
    async with asyncio.timeout(30):  # for a provider that hangs; no measure of how fast one is
        with pytest.raises(CallFailed) as caught:
            await collected(provider.stream(request or question()))
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert KEY not in told
    assert caught.value.__context__ is None  # nothing of the SDK hangs on
    return caught.value


def chats(server: FakeServer) -> list[Seen]:
    return [seen for seen in server.seen if seen.path == CHAT]


async def test_what_is_sent_is_what_was_asked(server: FakeServer, opened: Opened) -> None:
    healthy(server, answers([*opening(), thought("hmm"), last(asked=70, answered=9)]))

    reply = await reply_of(opened(key=Secret(KEY)), question(output=Json(SCHEMA), temperature=0.5))

    (seen,) = chats(server)
    assert seen.json == {
        "model": MODEL, "stream": True, "keep_alive": "10m", "format": SCHEMA,
        "messages": [
            {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello."}
        ],
        "options": {"num_ctx": 1000, "num_predict": 64, "temperature": 0.5},
        "tools": [],
    }
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert (reply.text, reply.finish, reply.note) == ("hello world", "stop", "")
    assert reply.usage == Usage(input=70, output=9)


async def test_health_is_checked_again_after_a_fault(server: FakeServer, opened: Opened) -> None:
    healthy(server, answers(), answers(), fails(500, "llama runner is gone"), answers())
    provider = opened()

    await reply_of(provider, question())
    await reply_of(provider, question())
    assert [seen.path for seen in server.seen] == [TAGS, SHOW, CHAT, CHAT]
    await fault_of(provider)
    await reply_of(provider, question())

    assert [seen.path for seen in server.seen][4:] == [CHAT, TAGS, SHOW, CHAT]


@pytest.mark.parametrize(("wanted", "there", "found"), [
    ("coder", "coder:latest", True),
    ("coder:latest", "coder", True),
    ("Coder:3B", "coder:3b", True),
    ("host:5000/me/coder", "host:5000/me/coder:latest", True),
    ("coder", "coder:3b", False),
    ("coder:3b", "coder:latest", False),
])
async def test_a_missing_model_names_the_pull_command(
    wanted: str, there: str, found: bool, server: FakeServer, opened: Opened
) -> None:
    healthy(server, answers())
    server.on("GET", TAGS, says(tags(there)))

    assert await opened(model=wanted).models() == (wanted if found else there,)
    if found:
        assert (await reply_of(opened(model=wanted), question())).text == "hello world"
    else:
        fault = await fault_of(opened(model=wanted))
        assert type(fault) is UnknownModel
        assert f"`ollama pull {wanted}`" in str(fault)
        assert not chats(server)


async def test_a_question_that_may_not_fit_is_not_sent(server: FakeServer, opened: Opened) -> None:
    healthy(server, answers())
    provider = opened()

    # 1000 in all, 64 for the answer, 64 for the turns, 3 for the system prompt: 869 are left, of
    # three characters each.
    fault = await fault_of(provider, question("x" * 2608))
    assert type(fault) is ContextOverflow
    assert not fault.started
    assert not server.seen

    assert (await reply_of(provider, question("x" * 2607))).finish == "stop"


async def test_a_small_models_window_is_the_window(server: FakeServer, opened: Opened) -> None:
    healthy(server, answers())
    server.on("POST", SHOW, says(shown(context_length=512)))
    provider = opened()

    assert provider.window == 1000
    fault = await fault_of(provider, question("x" * 2000))
    assert type(fault) is ContextOverflow
    assert not chats(server)
    await reply_of(provider, question())

    assert provider.window == 512
    assert chats(server)[0].json["options"]["num_ctx"] == 512


@pytest.mark.parametrize(("text", "counted", "cut"), [
    ("x" * 2600, 675, False),  # what such a text may have
    ("x" * 2600, 502, True),  # half a window and two: what a cut leaves
    ("x" * 2600, 937, True),  # more than was found to fit
    ("x" * 2600, 936, False),
    ("x" * 800, 502, False),  # a text of 800 bytes cannot fill a window of 1000 tokens
    ("x" * 2600, 12, False),  # the rest was still held from the call before
])
async def test_signs_of_a_question_cut_in_silence_are_heeded(
    text: str, counted: int, cut: bool, server: FakeServer, opened: Opened
) -> None:
    healthy(server, answers([*opening(), last(asked=counted, answered=5)]))

    if cut:
        fault = await fault_of(opened(), question(text))
        assert type(fault) is ContextOverflow
        assert (fault.started, fault.usage) == (True, Usage(counted, 5))
    else:
        assert (await reply_of(opened(), question(text))).finish == "stop"


@pytest.mark.parametrize(("parts", "finish", "note"), [
    ([*opening(), last("stop")], "stop", ""),
    ([*opening(), last(None)], "stop", ""),  # older versions give no reason
    ([*opening(), last("length")], "length", ""),
    ([*opening(), last("unload")], "cut", "unload"),
    (opening(), "cut", ""),
    ([], "cut", ""),
])
async def test_every_end_has_its_finish(
    parts: list[dict[str, Any]], finish: str, note: str, server: FakeServer, opened: Opened
) -> None:
    healthy(server, answers(parts))

    reply = await reply_of(opened(), question())

    assert (reply.finish, reply.note) == (finish, note)
    assert reply.text == ("hello world" if parts else "")
    assert reply.usage.estimated is (finish == "cut" and not note)


async def test_thoughts_are_counted_and_are_no_text(server: FakeServer, opened: Opened) -> None:
    healthy(server, answers([thought("hmm " * 300), *opening()]))

    reply = await reply_of(opened(), question(max_tokens=500))

    assert reply.text == "hello world"
    assert reply.usage.output > 300


async def test_a_model_that_can_think_is_asked_not_to(server: FakeServer, opened: Opened) -> None:
    healthy(server, answers())
    provider = opened()

    await reply_of(provider, question(effort="high"))
    server.on("POST", SHOW, says(shown(131_072, "thinking")))
    await reply_of(opened(), question(effort="high"))

    plain, thinker = chats(server)
    assert "think" not in plain.json
    assert thinker.json["think"] is False
    assert not provider.thinks


async def test_a_question_left_uncounted_is_estimated(server: FakeServer, opened: Opened) -> None:
    end = {name: value for name, value in last().items() if name != "prompt_eval_count"}
    healthy(server, answers([*opening(), end]))

    usage = (await reply_of(opened(), question())).usage

    assert usage.estimated
    assert usage.input > 0
    assert usage.output == 20


@pytest.mark.parametrize(("route", "handler", "kind"), [
    (TAGS, says(b"<html>a page</html>"), ProviderDown),
    (TAGS, says({"models": 5}), ProviderDown),
    (TAGS, says([]), ProviderDown),
    (TAGS, resets, ProviderDown),
    (TAGS, fails(500, "so it is"), ProviderDown),
    (SHOW, fails(404, f"model '{MODEL}' not found"), UnknownModel),
])
async def test_what_is_no_ollama_is_seen_before_anything_is_asked(
    route: str, handler: Handler, kind: type[CallFailed], server: FakeServer, opened: Opened
) -> None:
    healthy(server, answers())
    server.on("GET" if route == TAGS else "POST", route, handler)

    assert type(await fault_of(opened())) is kind
    assert not chats(server)


async def test_a_silent_server_is_known_soon(
    server: FakeServer, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OllamaProvider, "listing_s", 0.2)
    server.on("GET", TAGS, drips(b"", 0.05))

    assert isinstance(await fault_of(opened(), question(deadline_s=600.0)), TimedOut)


async def test_a_server_that_drips_is_no_answer(server: FakeServer, opened: Opened) -> None:
    """Bytes that are no line do not pass for life, however long they come."""
    healthy(server, answers(opening(), then=drips(b" ", 0.02)))

    fault = await fault_of(opened(stall_s=STALL_S))

    assert isinstance(fault, TimedOut)
    assert await chats(server)[0].was_dropped()
