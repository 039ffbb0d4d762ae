"""Servers that speak OpenAI's chat completions: what is sent, what comes of it, what goes wrong.

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
from llm.errors import CallFailed, ProviderDown, UnknownModel
from llm.provider import PROVIDERS
from llm.providers.openai import OpenAiProvider
from llm.types import Prefill, Usage
from tests.llm.fakes.openai import (
    CHAT,
    DONE,
    MODEL,
    MODELS,
    answers,
    chunk,
    listed,
    opening,
    sse,
    whole,
)
from tests.llm.fakes.server import FakeServer, collected, says, streams

KEY = "sk-canary-0a1b2c3d4e5f"
SCHEMA = {
    "type": "object",
    "properties": {"cause": {"type": "string", "maxLength": 300}, "line": {"type": "integer"}},
    "required": ["cause"],
}
STALL_S = 0.4
"""Of tests in which a server falls silent; in the others a slow machine must not pass for that."""
Opened = Callable[..., OpenAiProvider]
ROWS = {name: row for name, row in PROVIDERS.items() if row.same_as == "openai"}


@pytest.fixture
async def opened(server: FakeServer) -> AsyncIterator[Opened]:
    """Makes providers on the server, and closes them."""
    made: list[OpenAiProvider] = []

    def opened(name: str = "openai", url: str = "", **more: Any) -> OpenAiProvider:
        settings = {"model": MODEL, "key": Secret(KEY), "stall_s": 10.0} | more
        made.append(OpenAiProvider(Connection(
            name, base_url=url or f"{server.url}/v1", **settings
        )))
        return made[-1]

    yield opened
    for provider in made:
        await provider.close()


def question(**more: Any) -> Request:
    settings = {"max_tokens": 64, "deadline_s": 5.0} | more
    return Request("tester", "Be brief.", (Message("user", "Say hello."),), **settings)


async def fault_of(provider: OpenAiProvider, **more: Any) -> CallFailed:
    """The error of a call, which ends soon and has no trace of the key."""
    async with asyncio.timeout(30):  # for a provider that hangs; no measure of how fast one is
        with pytest.raises(CallFailed) as caught:
            await collected(provider.stream(question(**more)))
    told = "".join(traceback.format_exception(caught.value)) + repr(caught.value)
    assert KEY not in told
    assert caught.value.__context__ is None  # nothing of the SDK, which holds the request, hangs on
    return caught.value


async def test_what_is_sent_is_what_was_asked(server: FakeServer, opened: Opened) -> None:
    server.on("POST", CHAT, answers())

    reply = await reply_of(opened(), question(temperature=0.5))

    (seen,) = server.seen
    assert seen.json == {
        "model": MODEL,
        "messages": [
            {"role": "system", "content": "Be brief."}, {"role": "user", "content": "Say hello."}
        ],
        "stream": True, "stream_options": {"include_usage": True},
        "max_completion_tokens": 64, "temperature": 0.5,
    }
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert (reply.text, reply.finish, reply.note) == ("hello world", "stop", "")
    assert reply.usage == Usage(input=30, output=20, read=60, written=10)


PREFILL = Prefill("```python\n", "\n```")


async def test_a_framed_answer_is_begun_and_stopped(server: FakeServer, opened: Opened) -> None:
    server.on("POST", CHAT, answers())

    pieces = await collected(opened("llama-server").stream(question(prefill=PREFILL)))

    (seen,) = server.seen
    assert seen.json["messages"][-1] == {"role": "assistant", "content": PREFILL.text}
    assert seen.json["stop"] == [PREFILL.stop]
    *texts, reply = pieces
    assert "".join(texts) == reply.text == "```python\nhello world\n```"
    # One that is not whole is not closed.
    server.on("POST", CHAT, answers([*whole("length")]))
    reply = await reply_of(opened("llama-server"), question(prefill=PREFILL))
    assert (reply.text, reply.finish) == ("```python\nhello world", "length")


async def test_alternatives_have_their_place_in_text(server: FakeServer, opened: Opened) -> None:
    def told(token: str, *others: tuple[str, float]) -> dict[str, Any]:
        all_ = [{"token": text, "logprob": value, "bytes": []} for text, value in others]
        return {"token": token, "logprob": -0.1, "bytes": [], "top_logprobs": all_}

    first, *rest = whole(pieces=("hello ", "world"))
    chunks = [first, *rest]
    spoken = [one for one in chunks if one["choices"] and one["choices"][0]["delta"].get("content")]
    spoken[0]["choices"][0]["logprobs"] = {
        "content": [told("hello ", ("hello ", -0.1), ("good ", -2.0))]
    }
    spoken[1]["choices"][0]["logprobs"] = {"content": [told("world", ("you", -1.5))]}
    server.on("POST", CHAT, streams([*sse(chunks), DONE]))

    asked = question(prefill=PREFILL, alternatives=3)
    reply = await reply_of(opened("llama-server"), asked)

    (seen,) = server.seen
    assert (seen.json["logprobs"], seen.json["top_logprobs"]) == (True, 3)
    good, you = reply.alternatives
    assert (good.text, good.logprob, you.text, you.logprob) == ("good ", -2.0, "you", -1.5)
    assert reply.text[good.at :] == "hello world\n```"
    assert reply.text[you.at :] == "world\n```"
    assert not reply.usage.estimated, "the opening is none of the answer's tokens"


async def test_a_frame_is_not_sent_where_unsupported(server: FakeServer, opened: Opened) -> None:
    server.on("POST", CHAT, answers())
    reply = await reply_of(opened("vllm"), question(prefill=PREFILL))
    (seen,) = server.seen
    assert "stop" not in seen.json
    assert [one["role"] for one in seen.json["messages"]] == ["system", "user"]
    assert reply.text == "hello world"


@pytest.mark.parametrize("name", ROWS)
async def test_each_preset_sends_its_fields(name: str, server: FakeServer, opened: Opened) -> None:
    server.on("POST", CHAT, answers())
    row = ROWS[name]

    reply = await reply_of(
        opened(name), question(output=Json(SCHEMA), temperature=0.5, effort="low")
    )

    body = server.seen[0].json
    system = body["messages"][0]["content"]
    assert (reply.provider, reply.text, reply.finish) == (name, "hello world", "stop")
    assert body[row.max_tokens_parameter] == 64
    assert ("stream_options" in body) is row.stream_usage
    assert body["temperature"] == 0.5
    assert "reasoning_effort" not in body  # the model is none that thinks
    assert reply.note == ""
    if row.json_mode == "schema":
        wanted = body["response_format"]["json_schema"]
        assert wanted["strict"] is True
        assert (wanted["schema"] == SCHEMA) is row.supports_string_lengths
        assert system == "Be brief."
    else:
        assert body.get("response_format") == (
            {"type": "json_object"} if row.json_mode == "object" else None
        )
        assert system.startswith("Be brief.")
        assert '"maxLength": 300' in system


async def test_a_reasoning_model_gets_an_effort(server: FakeServer, opened: Opened) -> None:
    server.on("POST", CHAT, answers())

    provider = opened("openai", model="gpt-5.4-mini")
    reply = await reply_of(provider, question(effort="low", temperature=0.5))

    assert provider.thinks
    assert server.seen[0].json["reasoning_effort"] == "low"
    assert "temperature" not in server.seen[0].json
    assert "temperature" in reply.note


async def test_openais_strict_mode_gets_its_schema(server: FakeServer, opened: Opened) -> None:
    lines = {"type": "array", "items": {"type": "string", "maxLength": 9}, "maxItems": 5}
    schema = {
        "type": "object", "properties": {"lines": lines}, "required": ["lines"],
        "additionalProperties": False,
    }
    server.on("POST", CHAT, answers())

    await reply_of(opened(), question(output=Json(schema)))

    assert server.seen[0].json["response_format"]["json_schema"]["schema"] == {
        **schema, "properties": {"lines": {**lines, "items": {"type": "string"}}},
    }


async def test_a_model_without_default_is_named(server: FakeServer, opened: Opened) -> None:
    assert isinstance(await fault_of(opened("vllm", model="")), UnknownModel)
    assert not server.seen


@pytest.mark.parametrize(("chunks", "finish", "note"), [
    (whole("stop"), "stop", ""),
    (whole("length"), "length", ""),
    (whole("content_filter"), "refusal", "content_filter"),
    (whole("tool_calls"), "stop", "tool_calls"),
    (whole("abort"), "cut", "abort"),
    (opening(), "cut", ""),
    ([], "cut", ""),
    ([*opening(), chunk({"refusal": "I can"}), chunk({"refusal": "not."}, "stop")],
     "refusal", "I cannot."),
])
@pytest.mark.parametrize("mark", [[DONE], []], ids=["marked", "unmarked"])
async def test_every_end_has_its_finish(
    chunks: list[dict[str, Any]], finish: str, note: str, mark: list[bytes],
    server: FakeServer, opened: Opened,
) -> None:
    server.on("POST", CHAT, streams([*sse(chunks), *mark]))

    reply = await reply_of(opened(), question())

    assert (reply.finish, reply.note) == (finish, note)
    assert reply.text == ("hello world" if chunks else "")


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_thoughts_are_only_counted(name: str, server: FakeServer, opened: Opened) -> None:
    thoughts = [chunk({name: "hmm " * 300}), *whole(usage=None)]
    server.on("POST", CHAT, answers(thoughts))

    provider = opened()
    assert not provider.thinks
    reply = await reply_of(provider, question(max_tokens=500))

    assert reply.text == "hello world"
    assert reply.usage.estimated
    assert reply.usage.output > 300
    assert provider.thinks  # which nothing had told before


async def test_the_last_count_holds_with_thoughts(server: FakeServer, opened: Opened) -> None:
    running = [
        chunk({"content": "hello"}, usage={"prompt_tokens": 5, "completion_tokens": 1}),
        chunk({}, "stop", {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 40}),
        chunk({}, usage={"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}),
    ]
    server.on("POST", CHAT, answers(running))

    assert (await reply_of(opened(), question())).usage == Usage(input=5, output=35)


@pytest.mark.parametrize(("names", "more", "window", "billions"), [
    (("other", MODEL), {"max_model_len": 32_768}, 32_768, None),
    # One with a single model, as llama-server is, answers for it by any name.
    (("/models/a.gguf",), {"max_model_len": 4_096}, 4_096, None),
    (("/models/a.gguf",), {"context_length": 8_192}, 8_192, None),
    (("/models/a.gguf",), {"meta": {"n_ctx": 16_384, "n_params": 1_500_000_000}}, 16_384, 1.5),
    (("/models/a.gguf",), {"meta": {"n_params": "many"}}, None, None),
    (("/models/a.gguf",), {"meta": None}, None, None),
])
async def test_a_list_of_models_gives_the_window_and_the_size(
    names: tuple[str, ...], more: dict[str, Any], window: int | None, billions: float | None,
    server: FakeServer, opened: Opened,
) -> None:
    server.on("GET", MODELS, says(listed(*names, **more)))
    provider = opened("llama-server")
    assert provider.window is None

    assert await provider.models() == names
    assert provider.window == window
    server.on("POST", CHAT, answers(whole()))
    assert (await reply_of(provider, question())).parameters_b == billions


async def test_the_own_model_is_listed_by_its_name(server: FakeServer, opened: Opened) -> None:
    server.on("GET", MODELS, says(listed(f"models/{MODEL}", "models/other")))

    assert await opened("gemini").models() == (MODEL, "models/other")
    assert (await opened("gemini", model="models/other").models())[1] == "models/other"


@pytest.mark.parametrize("body", [[], "x", None, {"data": 5}, {"data": [5]}])
async def test_a_list_that_is_none_is_no_list_of_models(
    body: object, server: FakeServer, opened: Opened
) -> None:
    server.on("GET", MODELS, says(body))
    with pytest.raises(ProviderDown):
        await opened().models()


async def test_only_text_of_parts_is_read(server: FakeServer, opened: Opened) -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "hello"}, 5]
    odd = [chunk() | {"choices": 5}, chunk() | {"choices": [5, None]}, chunk({"content": 5})]
    odd = [*odd, chunk() | {"usage": "many"}, chunk({"content": parts}), chunk({}, "stop")]
    server.on("POST", CHAT, answers(odd))

    reply = await reply_of(opened(), question())

    assert (reply.text, reply.finish) == ("hello", "stop")
