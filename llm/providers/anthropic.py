"""Claude, asked through Anthropic's own SDK. Tried against a server that speaks the wire format,
and never against the real service.

The SDK reads credentials, an address and headers from the environment and from a profile on disk
where it is not told otherwise. Here it is told: whoever has not brought a key must not spend the
host's. Its retries are off, since the router knows the deadline and the budget.

Claude takes no temperature and no seed: the SDK has no parameter for either. A request that has
one is asked without it, and the reply's `note` says so. Answers differ by their prompts.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterable, Mapping

import httpx2
from anthropic import AnthropicError, AsyncAnthropic, AsyncStream, omit, transform_schema
from anthropic.types import (
    MessageParam,
    OutputConfigParam,
    RawMessageStreamEvent,
    TextBlockParam,
)

from llm.errors import CallFailed, ProviderDown, Rejected, TimedOut
from llm.provider import Connection, estimated_tokens
from llm.providers.anthropic_faults import failure
from llm.providers.wire import checked_url, place, sendable_key
from llm.types import Finish, Json, Reply, Request, Usage

BASE_URL = "https://api.anthropic.com"

MODELS_S = 20.0
"""Seconds to list the models, all pages together."""

FINISHES: dict[str | None, Finish] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
"""Every other end is an answer that is not whole: none told, or a turn to be gone on with."""

_SDK_FAULTS = (AnthropicError, httpx2.HTTPError, json.JSONDecodeError, UnicodeDecodeError)
"""What the SDK lets through: its own, its transport's amid a stream, and what is not its format."""


class AnthropicProvider:
    """Answers by a Claude model. `models` learns the model's window; until then it is unknown."""

    name = "anthropic"
    exact = False

    def __init__(self, connection: Connection) -> None:
        key = sendable_key(connection.key, self.name, "ANTHROPIC_API_KEY")
        url = checked_url(connection.base_url or BASE_URL, self.name)
        self.model = connection.model
        self._secret = connection.key
        self._place = place(url)
        self._windows: dict[str, int] = {}
        self._client = AsyncAnthropic(
            api_key=key,
            base_url=url,
            max_retries=0,
            timeout=httpx2.Timeout(connection.stall_s, connect=connection.connect_s),
            # Spans, where the process collects any, never hold what was asked or answered,
            # whatever the SDK's variables say; and no trace's id is sent along.
            open_telemetry={"traces": {"content_mode": "metadata_only"}, "propagation": False},
        )
        # ANTHROPIC_CUSTOM_HEADERS is merged in whatever is passed, and may hold a credential.
        self._client._custom_headers = {}

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        begun = time.perf_counter()
        first_s: float | None = None
        answer = _Answer()
        try:
            async with await self._sent(request) as events:
                async for event in events:
                    if piece := answer.read(event):
                        first_s = first_s or time.perf_counter() - begun
                        yield piece
        except _SDK_FAULTS as fault:
            failed = self._failure(fault, answer)
        else:
            if answer.started:
                yield Reply(
                    answer.text, answer.finish, self.name, self.model, answer.usage,
                    note=_note(answer, request), wall_s=time.perf_counter() - begun,
                    first_s=first_s,
                )
                return
            failed = ProviderDown(
                f"{self._place} ended its answer before it began: is the base URL Anthropic's?"
            )
        raise failed  # out here, where no fault of the SDK, which may quote a key, hangs on it

    async def models(self) -> tuple[str, ...]:
        found: list[str] = []
        try:
            async with asyncio.timeout(MODELS_S):
                async for model in self._client.models.list(limit=100):
                    if model.lifecycle != "retired":
                        found.append(model.id)
                    if model.max_input_tokens:
                        self._windows[model.id] = model.max_input_tokens
        except _SDK_FAULTS as fault:
            failed = self._failure(fault, _Answer())
        except TimeoutError:
            failed = TimedOut(f"{self._place} did not list its models within {MODELS_S:.0f} s")
        else:
            return tuple(found)
        raise failed

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    @property
    def window(self) -> int | None:
        return self._windows.get(self.model)

    async def close(self) -> None:
        await self._client.close()

    async def _sent(self, request: Request) -> AsyncStream[RawMessageStreamEvent]:
        config: OutputConfigParam = {}
        if request.effort:
            config["effort"] = request.effort
        if isinstance(request.output, Json):
            config["format"] = {
                "type": "json_schema", "schema": wire_schema(request.output.schema),
            }
        system: list[TextBlockParam] = [
            {"type": "text", "text": request.system, "cache_control": {"type": "ephemeral"}}
        ]
        turns: list[MessageParam] = [
            {"role": message.speaker, "content": message.text} for message in request.messages
        ]
        return await self._client.messages.create(
            model=self.model,
            max_tokens=request.max_tokens,
            system=system if request.system else omit,
            messages=turns,
            output_config=config or omit,
            stream=True,
        )

    def _failure(self, fault: Exception, answer: _Answer) -> CallFailed:
        usage = answer.usage if answer.started else None
        return failure(fault, self._secret, self._place, answer.started, usage)


class _Answer:
    """What the events of one answer have told so far."""

    def __init__(self) -> None:
        self.started = False
        self.stop: str | None = None
        self.why = ""
        self._pieces: list[str] = []
        self._thoughts: list[str] = []
        self._counts: dict[str, int] = {}
        self._counted = False

    def read(self, event: RawMessageStreamEvent) -> str:
        """Takes an event in; gives the text it adds to the answer. Thoughts are paid, not text."""
        text = ""
        match event.type:
            case "message_start":
                self.started = True
                self._count(event.message.usage)
            case "content_block_start" if event.content_block.type == "text":
                text = event.content_block.text
            case "content_block_delta" if event.delta.type == "text_delta":
                text = event.delta.text
            case "content_block_delta" if event.delta.type == "thinking_delta":
                self._thoughts.append(event.delta.thinking)
            case "message_delta":
                self.stop = event.delta.stop_reason
                self._count(event.usage)
                self._counted = True
                if details := event.delta.stop_details:
                    self.why = ": ".join(filter(None, (details.category, details.explanation)))
        if text:
            self._pieces.append(text)
        return text

    @property
    def text(self) -> str:
        return "".join(self._pieces)

    @property
    def finish(self) -> Finish:
        return FINISHES.get(self.stop, "cut")

    @property
    def usage(self) -> Usage:
        """As counted there; what came after the last count is estimated."""
        output = self._counts.get("output_tokens", 0)
        if not self._counted:
            output = max(output, estimated_tokens(self.text + "".join(self._thoughts)))
        return Usage(
            input=self._counts.get("input_tokens", 0),
            output=output,
            read=self._counts.get("cache_read_input_tokens", 0),
            written=self._counts.get("cache_creation_input_tokens", 0),
            estimated=not self._counted,
        )

    def _count(self, told: object) -> None:
        """Later counts include the earlier ones; one that is not told again still holds."""
        for name in ("input_tokens", "output_tokens", "cache_read_input_tokens",
                     "cache_creation_input_tokens"):
            count = getattr(told, name, None)
            if isinstance(count, int):
                self._counts[name] = count


def _note(answer: _Answer, request: Request) -> str:
    unsent = [name for name in ("temperature", "seed") if getattr(request, name) is not None]
    notes = [
        answer.why or (answer.stop or "" if answer.finish != "stop" else ""),
        f"asked without {' and '.join(unsent)}, which Claude does not take" if unsent else "",
    ]
    return "; ".join(filter(None, notes))


def wire_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """A schema as Anthropic takes it: objects have their named keys only, and bounds that its
    grammar does not know are words of the description. So an answer still has to be validated."""
    try:
        wired: dict[str, object] = transform_schema(_one_type_each(schema))
    except (ValueError, AssertionError) as error:
        raise Rejected(f"the answer's schema cannot be said to Anthropic: {error}") from error
    return wired


def _one_type_each(schema: Mapping[str, object]) -> dict[str, object]:
    """The schema with each list of types as alternatives, which is the form that is understood."""
    plain: dict[str, object] = {}
    for name, value in schema.items():
        if name in ("properties", "$defs") and isinstance(value, Mapping):
            plain[name] = {key: _one_type_each(inner) for key, inner in value.items()}
        elif name in ("anyOf", "oneOf", "allOf") and isinstance(value, Iterable):
            plain[name] = [_one_type_each(inner) for inner in value]
        elif name == "items" and isinstance(value, Mapping):
            plain[name] = _one_type_each(value)
        else:
            plain[name] = value
    kinds = plain.get("type")
    if isinstance(kinds, list):
        rest = {name: value for name, value in plain.items() if name not in ("type", "$defs")}
        alternatives = [{"type": kind, **(rest if kind != "null" else {})} for kind in kinds]
        return {"anyOf": alternatives} | ({"$defs": plain["$defs"]} if "$defs" in plain else {})
    return plain
