"""A span for each call to a model, under OpenTelemetry's names for generative AI.

Nothing is exported by this: whoever wants the spans sets a tracer provider up, as with any
instrumented library; without one, or without OpenTelemetry, this costs next to nothing. What is
asked and answered stays out unless it is wanted, and then goes in without secrets. The span of a
provider's SDK for the same call is switched off where the provider makes its client.
"""

from __future__ import annotations

import json
from contextlib import aclosing
from typing import TYPE_CHECKING

from llm.provider import PROVIDERS, Provider
from llm.redaction import Redactor
from llm.types import Json, Reply, Request, Stream, Usage
from llm.wrapped import Wrapped

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

_FINISH = {"stop": "stop", "length": "length", "refusal": "content_filter", "cut": "error"}
"""Our word for an answer's end to the convention's."""

_Attribute = str | int | float | bool | list[str]


def traced(
    provider: Provider, *, content: bool = False, redactor: Redactor | None = None
) -> Provider:
    """The provider with a span around each answer; as it was where nobody collects spans."""
    try:
        from opentelemetry.trace import ProxyTracerProvider, get_tracer, get_tracer_provider
    except ModuleNotFoundError:
        return provider
    if isinstance(get_tracer_provider(), ProxyTracerProvider):
        return provider
    return Traced(
        provider, get_tracer("llm"), content, redactor or Redactor()
    )


class Traced(Wrapped):
    """A provider whose calls are spans, children of whatever span is current when they start."""

    def __init__(
        self, provider: Provider, tracer: Tracer, content: bool, redactor: Redactor
    ) -> None:
        super().__init__(provider)
        self._tracer = tracer
        self._content = content
        self._redactor = redactor

    async def stream(self, request: Request) -> Stream:
        from opentelemetry.trace import SpanKind, Status, StatusCode

        # It is made current for nobody: a generator may be ended in another task's context.
        span = self._tracer.start_span(
            f"chat {self.model}".rstrip(), kind=SpanKind.CLIENT, attributes=self._asked(request)
        )
        reply: Reply | None = None
        try:
            async with aclosing(self.provider.stream(request)) as items:
                async for item in items:
                    if isinstance(item, Reply):
                        reply = item
                        break
                    yield item
            if reply is None:
                raise AssertionError(f"{self.name} ended a stream without its reply")
            self._answered(span, reply)
        except GeneratorExit:
            span.set_attribute("error.type", "Cancelled")
            raise
        except BaseException as error:
            span.set_attribute("error.type", type(error).__qualname__)
            usage = getattr(error, "usage", None)
            if isinstance(usage, Usage):
                span.set_attributes(_counted(usage))
            span.set_status(Status(StatusCode.ERROR, self._redactor.text(str(error))))
            raise
        finally:
            span.end()
        # The span is over by now: who has the reply often reads no further.
        yield reply

    def _asked(self, request: Request) -> dict[str, _Attribute]:
        attributes: dict[str, _Attribute] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _known_as(self.name),
            "gen_ai.request.max_tokens": request.max_tokens,
            "gen_ai.request.stream": True,
            "gen_ai.output.type": "json" if isinstance(request.output, Json) else "text",
            "gen_ai.agent.name": request.role,
        }
        if self.model:
            attributes["gen_ai.request.model"] = self.model
        if request.temperature is not None:
            attributes["gen_ai.request.temperature"] = request.temperature
        if request.seed is not None:
            attributes["gen_ai.request.seed"] = request.seed
        if self._content:
            attributes["gen_ai.system_instructions"] = self._written([_part(request.system)])
            attributes["gen_ai.input.messages"] = self._written(
                [{"role": one.speaker, "parts": [_part(one.text)]} for one in request.messages]
            )
        return attributes

    def _answered(self, span: Span, reply: Reply) -> None:
        span.set_attributes(_counted(reply.usage))
        # Behind a router, or after a fallback, it is only now known who answers.
        span.set_attribute("gen_ai.provider.name", _known_as(reply.provider))
        span.set_attribute("gen_ai.response.model", reply.model)
        span.set_attribute("gen_ai.response.finish_reasons", [_FINISH[reply.finish]])
        if reply.first_s is not None:
            span.set_attribute("gen_ai.response.time_to_first_chunk", reply.first_s)
        if self._content:
            span.set_attribute("gen_ai.output.messages", self._written([{
                "role": "assistant", "parts": [_part(reply.text)],
                "finish_reason": _FINISH[reply.finish],
            }]))

    def _written(self, value: object) -> str:
        return json.dumps(self._redactor.value(value), ensure_ascii=False)


def _known_as(name: str) -> str:
    """A provider's name in the convention; what is no row keeps its own."""
    row = PROVIDERS.get(name)
    return row.traced_as if row is not None and row.traced_as else name


def _part(text: str) -> dict[str, str]:
    return {"type": "text", "content": text}


def _counted(usage: Usage) -> dict[str, int]:
    """Tokens as the convention counts them: what came from a cache is part of the input."""
    return {
        "gen_ai.usage.input_tokens": usage.input + usage.read + usage.written,
        "gen_ai.usage.output_tokens": usage.output,
        "gen_ai.usage.cache_read.input_tokens": usage.read,
        "gen_ai.usage.cache_creation.input_tokens": usage.written,
    }
