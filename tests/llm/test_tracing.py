from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.trace import Span, StatusCode, use_span

from llm import Json, LlmError, Message, Reply, Request, Usage
from llm.ask import whole
from llm.errors import Overloaded
from llm.redaction import Redactor
from llm.tracing import Traced, traced
from tests.llm.scripted import Double

REQUEST = Request(
    "critic", "You judge.", (Message("user", "why? the key is canary-key"),), Json({}),
    max_tokens=99, temperature=0.5, seed=7,
)


class Answering(Double):
    name = "gemini"

    def __init__(self, error: LlmError | None = None) -> None:
        self.error = error
        self.ended = False

    async def stream(self, request: Request) -> AsyncGenerator[str | Reply, None]:
        try:
            yield "because"
            await asyncio.sleep(0)
            if self.error is not None:
                raise self.error
            yield Reply(
                "because", "length", "gemini", "small-1", Usage(10, 5, 3, 2), first_s=0.25
            )
        finally:
            self.ended = True


@pytest.fixture
def spans() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def tracers(spans: InMemorySpanExporter) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return provider


def around(tracers: TracerProvider, provider: Answering, content: bool = False) -> Traced:
    return Traced(provider, tracers.get_tracer("test"), content, Redactor(["canary-key"]))


def only(spans: InMemorySpanExporter) -> ReadableSpan:
    (span,) = spans.get_finished_spans()
    return span


async def test_a_call_is_one_span_under_the_conventions_names(
    tracers: TracerProvider, spans: InMemorySpanExporter
) -> None:
    reply = await whole(around(tracers, Answering()), REQUEST)
    assert reply.text == "because"
    span = only(spans)
    assert (span.name, span.kind.name) == ("chat small", "CLIENT")
    assert dict(span.attributes or {}) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "gcp.gemini",
        "gen_ai.agent.name": "critic",
        "gen_ai.request.model": "small",
        "gen_ai.request.max_tokens": 99,
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.seed": 7,
        "gen_ai.request.stream": True,
        "gen_ai.output.type": "json",
        "gen_ai.response.model": "small-1",
        "gen_ai.response.finish_reasons": ("length",),
        "gen_ai.response.time_to_first_chunk": 0.25,
        "gen_ai.usage.input_tokens": 15,
        "gen_ai.usage.output_tokens": 5,
        "gen_ai.usage.cache_read.input_tokens": 3,
        "gen_ai.usage.cache_creation.input_tokens": 2,
    }


async def test_the_names_are_those_of_the_convention(
    tracers: TracerProvider, spans: InMemorySpanExporter
) -> None:
    await whole(around(tracers, Answering(), content=True), REQUEST)
    known = {value for name, value in vars(gen_ai_attributes).items() if name.startswith("GEN_AI_")}
    providers = {one.value for one in gen_ai_attributes.GenAiProviderNameValues}
    span = only(spans)
    assert set(span.attributes or {}) <= known
    assert (span.attributes or {})["gen_ai.provider.name"] in providers


async def test_content_is_there_only_when_wanted_and_without_secrets(
    tracers: TracerProvider, spans: InMemorySpanExporter
) -> None:
    await whole(around(tracers, Answering(), content=True), REQUEST)
    attributes = only(spans).attributes or {}
    assert json.loads(str(attributes["gen_ai.system_instructions"])) == [
        {"type": "text", "content": "You judge."}
    ]
    assert json.loads(str(attributes["gen_ai.input.messages"])) == [
        {"role": "user", "parts": [{"type": "text", "content": "why? the key is ***"}]}
    ]
    assert json.loads(str(attributes["gen_ai.output.messages"])) == [{
        "role": "assistant", "parts": [{"type": "text", "content": "because"}],
        "finish_reason": "length",
    }]


async def test_an_error_is_named_by_its_class_and_shown_without_secrets(
    tracers: TracerProvider, spans: InMemorySpanExporter
) -> None:
    error = Overloaded("no room for canary-key", usage=Usage(8, 1))
    with pytest.raises(Overloaded):
        await whole(around(tracers, Answering(error)), REQUEST)
    span = only(spans)
    attributes = span.attributes or {}
    assert attributes["error.type"] == "Overloaded"
    assert attributes["gen_ai.usage.input_tokens"] == 8
    assert (span.status.status_code, span.status.description) == (
        StatusCode.ERROR, "no room for ***"
    )
    assert span.events == ()


async def test_a_call_that_is_left_or_cancelled_ends_its_span(
    tracers: TracerProvider, spans: InMemorySpanExporter
) -> None:
    answering = Answering()
    stream = around(tracers, answering).stream(REQUEST)
    assert isinstance(stream, AsyncGenerator)
    await anext(stream)
    await stream.aclose()
    assert answering.ended
    assert (only(spans).attributes or {})["error.type"] == "Cancelled"

    spans.clear()

    class Slow(Answering):
        async def stream(self, request: Request) -> AsyncGenerator[str | Reply, None]:
            await asyncio.sleep(60)
            yield ""

    task = asyncio.create_task(whole(around(tracers, Slow()), REQUEST))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (only(spans).attributes or {})["error.type"] == "CancelledError"


async def test_a_span_is_the_child_of_the_one_that_was_current(
    tracers: TracerProvider, spans: InMemorySpanExporter
) -> None:
    outer: Span = tracers.get_tracer("test").start_span("run")
    with use_span(outer):
        await whole(around(tracers, Answering()), REQUEST)
    span = only(spans)
    assert span.parent is not None
    assert span.parent.span_id == outer.get_span_context().span_id


async def test_without_a_tracer_provider_the_answers_are_as_they_were() -> None:
    plain = [item async for item in Answering().stream(REQUEST)]
    assert [item async for item in traced(Answering()).stream(REQUEST)] == plain


def test_without_opentelemetry_the_provider_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    answering = Answering()
    assert traced(answering) is answering


async def test_little_is_said_of_a_question_that_sets_little(
    tracers: TracerProvider, spans: InMemorySpanExporter
) -> None:
    bare = Answering()
    bare.model = ""
    await whole(around(tracers, bare), replace(REQUEST, temperature=None, seed=None))
    span = only(spans)
    assert span.name == "chat"
    assert not {"gen_ai.request.model", "gen_ai.request.temperature", "gen_ai.request.seed"} & set(
        span.attributes or {}
    )
