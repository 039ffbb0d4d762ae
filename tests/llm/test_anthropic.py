"""What is sent to Anthropic, and what is made of its answers."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from anthropic import transform_schema
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from llm import Connection, Json, Message, NoProvider, Request, Secret, Usage, open_provider
from llm.asking.ask import complete_reply as reply_to
from llm.errors import TimedOut
from llm.providers.anthropic import AnthropicProvider
from tests.llm.fakes import anthropic as fake
from tests.llm.fakes.server import FakeServer, collected, says

KEY = "sk-ant-canary-77f0"
SCHEMA: dict[str, object] = {
    "type": "object", "properties": {"verdict": {"enum": ["test", "code"]}},
}


@pytest.fixture
async def server() -> AsyncIterator[FakeServer]:
    async with FakeServer() as server:
        server.on("POST", fake.MESSAGES, fake.answers(fake.whole()))
        server.on("GET", fake.MODELS, fake.lists_models)
        yield server


@pytest.fixture
async def provider(server: FakeServer) -> AsyncIterator[AnthropicProvider]:
    provider = opened(server.url)
    yield provider
    await provider.close()


def opened(
    url: str, key: str = KEY, stall_s: float = 30.0, model: str = fake.MODEL
) -> AnthropicProvider:
    return AnthropicProvider(Connection("anthropic", model, Secret(key), url, stall_s=stall_s))


def question(**changed: Any) -> Request:
    messages = (Message("user", "Is it the test?"), Message("assistant", "?"), Message("user", "!"))
    return Request("critic", "You judge.", messages, max_tokens=500, **changed)


async def test_what_is_sent(provider: AnthropicProvider, server: FakeServer) -> None:
    await reply_to(provider, question(effort="low", output=Json(SCHEMA)))

    (seen,) = server.seen
    assert seen.json == {
        "model": fake.MODEL,
        "max_tokens": 500,
        "stream": True,
        "system": [
            {"type": "text", "text": "You judge.", "cache_control": {"type": "ephemeral"}}
        ],
        "messages": [
            {"role": "user", "content": "Is it the test?"},
            {"role": "assistant", "content": "?"},
            {"role": "user", "content": "!"},
        ],
        "output_config": {
            "effort": "low", "format": {"type": "json_schema", "schema": transform_schema(SCHEMA)},
        },
    }
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert "traceparent" not in seen.headers


async def test_what_was_not_asked_for_is_not_sent(
    provider: AnthropicProvider, server: FakeServer
) -> None:
    await reply_to(provider, Request("r", "", (Message("user", "hi"),)))

    assert sorted(server.seen[0].json) == [
        "max_tokens", "messages", "model", "output_config", "stream",
    ]
    assert server.seen[0].json["output_config"] == {"effort": "medium"}


async def test_an_effort_is_not_sent_where_refused(server: FakeServer) -> None:
    provider = AnthropicProvider(
        Connection("anthropic", "claude-opus-4-8", Secret(KEY), server.url)
    )

    await reply_to(provider, question(effort="high"))
    await provider.close()

    assert "output_config" not in server.seen[0].json


async def test_what_claude_does_not_take_is_said_in_the_reply(
    provider: AnthropicProvider, server: FakeServer
) -> None:
    reply = await reply_to(provider, question(temperature=0.7))

    assert "temperature" in reply.note and "temperature" not in server.seen[0].json


async def test_thoughts_are_no_text_and_the_tokens_are_all_counted(
    provider: AnthropicProvider, server: FakeServer
) -> None:
    server.on("POST", fake.MESSAGES, fake.answers(fake.whole(thought="let me see")))

    reply = await reply_to(provider, question())

    assert (reply.text, reply.finish, reply.note) == ("hello world", "stop", "")
    assert reply.usage == Usage(input=12, output=34, read=200, written=30)


@pytest.mark.parametrize(("stop", "details", "finish", "note"), [
    ("end_turn", None, "stop", ""),
    ("stop_sequence", None, "stop", ""),
    ("max_tokens", None, "length", "max_tokens"),
    ("model_context_window_exceeded", None, "length", "model_context_window_exceeded"),
    ("refusal", None, "refusal", "refusal"),
    ("refusal", {"type": "refusal", "category": "cyber", "explanation": f"no {KEY}"},
     "refusal", "cyber: no ***"),
    ("refusal", {"type": "refusal", "category": None, "explanation": None},
     "refusal", "refusal"),
    ("pause_turn", None, "cut", "pause_turn"),
    ("tool_use", None, "cut", "tool_use"),
    ("a_new_one", None, "cut", "a_new_one"),
])
async def test_how_an_answer_ended(
    provider: AnthropicProvider, server: FakeServer,
    stop: str, details: dict[str, Any] | None, finish: str, note: str,
) -> None:
    server.on("POST", fake.MESSAGES, fake.answers(fake.whole(stop, details=details)))

    reply = await reply_to(provider, question())

    assert (reply.finish, reply.note, reply.usage.output) == (finish, note, 34)


async def test_models_are_all_pages_without_the_retired(provider: AnthropicProvider) -> None:
    assert await provider.models() == ("claude-opus-5-5", fake.MODEL, "claude-haiku-5-5")


async def test_an_alias_of_a_dated_model_is_listed(server: FakeServer) -> None:
    dated = "claude-sonnet-4-5-20250929"
    server.on("GET", fake.MODELS, says(fake.page(
        [fake.model_info(dated), fake.model_info("claude-sonnet-4-20250514")], more=False
    )))
    for named in ("claude-sonnet-4-5", "claude-sonnet-4-5-latest", dated):
        provider = opened(server.url, model=named)
        assert await provider.models() == (named, "claude-sonnet-4-20250514")
        await provider.close()


async def test_pages_without_end_are_left(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = opened(server.url)
    monkeypatch.setattr(AnthropicProvider, "listing_s", 0.3)
    server.on("GET", fake.MODELS, says(fake.page([fake.model_info("claude-again")], more=True)))

    with pytest.raises(TimedOut):
        await provider.models()
    await provider.close()


async def test_the_sdk_writes_no_spans(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where its own variable asks for them with all that is said."""
    spans = InMemorySpanExporter()
    collecting = TracerProvider()
    collecting.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", collecting)
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY", "true")
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE", "content")
    provider = opened(server.url)

    await reply_to(provider, question())
    await provider.close()

    assert spans.get_finished_spans() == ()
    assert "traceparent" not in server.seen[0].headers


def test_without_the_sdk_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in [name for name in sys.modules if name.startswith("llm.providers.anthropic")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "anthropic", None)

    with pytest.raises(NoProvider, match=r"pip install .*\[anthropic\]"):
        open_provider(Connection("anthropic", fake.MODEL, Secret(KEY)))


async def test_events_that_are_not_known_are_passed_over(
    provider: AnthropicProvider, server: FakeServer
) -> None:
    strange = [
        {"type": "newly_made"}, fake.delta(0, "x", "newly"),
        {"type": "content_block_start", "index": 7, "content_block": {"type": "newly_made"}},
    ]
    server.on("POST", fake.MESSAGES, fake.answers([*fake.opening(), *strange, *fake.whole()[-3:]]))

    reply = (await collected(provider.stream(question())))[-1]

    assert (reply.text, reply.finish) == ("hello world", "stop")


async def test_an_end_is_known_by_its_reason_whatever_comes_after_it(
    provider: AnthropicProvider, server: FakeServer
) -> None:
    ends_twice = [*fake.whole()[:-1], fake.message_delta(None)]
    server.on("POST", fake.MESSAGES, fake.answers(ends_twice))

    reply = (await collected(provider.stream(question())))[-1]

    assert (reply.finish, reply.usage.estimated) == ("stop", False)
