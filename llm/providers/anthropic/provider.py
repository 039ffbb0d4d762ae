"""The provider: what is sent, and what comes of it."""

from __future__ import annotations

import asyncio
import re
import time

import httpx2
from anthropic import AnthropicError, AsyncAnthropic, AsyncStream, omit
from anthropic.types import (
    MessageParam,
    OutputConfigParam,
    RawMessageStreamEvent,
    TextBlockParam,
)

from llm.errors import CallFailed, ProviderDown, TimedOut
from llm.provider import Connection, estimated_tokens, sayable, thinks_unasked
from llm.providers.anthropic.answer import Answer
from llm.providers.anthropic.faults import failure
from llm.providers.anthropic.schema import wire_schema
from llm.providers.presets import on_this_machine
from llm.providers.wire import (
    Attempted,
    Unreadable,
    checked_url,
    place,
    readable,
    scrubbed,
    sendable_key,
)
from llm.types import Effort, Json, Reply, Request, Stream

BASE_URL = "https://api.anthropic.com"

MODELS_S = 20.0
"""The most seconds to list the models, all pages together."""

EFFORT: Effort = "medium"
"""Said where a request says nothing: what most models then choose is `high`, and with it they may
think until no tokens are left for the answer."""

_SDK_FAULTS = (AnthropicError, httpx2.HTTPError, Unreadable)
"""What the SDK lets through: its own, its transport's amid a stream, and what cannot be read."""


class AnthropicProvider:
    """Answers by a Claude model. Its window of 200,000 tokens or more is not looked at: hardly a
    question of ours comes near it, and the service says where one does."""

    name = "anthropic"
    exact = False
    window = None

    def __init__(self, connection: Connection) -> None:
        key = sendable_key(connection.key, self.name, "ANTHROPIC_API_KEY")
        url = checked_url(connection.base_url or BASE_URL, self.name)
        self.model = connection.model
        self.thinks = thinks_unasked(self.name, connection.model)
        self._secret = connection.key
        self._place = place(url)
        self._models_s = min(MODELS_S, connection.stall_s)
        patience = httpx2.Timeout(connection.stall_s, connect=connection.connect_s)
        self._client = AsyncAnthropic(
            api_key=key,
            base_url=url,
            max_retries=0,
            timeout=patience,
            # The SDK's own would take a proxy of the environment on loopback too, and follow a
            # redirect with the whole question to wherever it leads.
            http_client=httpx2.AsyncClient(
                timeout=patience, follow_redirects=False, trust_env=not on_this_machine(url)
            ),
            # Its own spans would count each call a second time beside those of `llm.tracing`, and
            # a variable of the environment would put what is said into them.
            open_telemetry=False,
        )
        # ANTHROPIC_CUSTOM_HEADERS is merged in whatever is passed, and may hold a credential.
        self._client._custom_headers = {}

    async def stream(self, request: Request) -> Stream:
        begun = time.perf_counter()
        first_s: float | None = None
        answer = Answer()
        try:
            async with await self._sent(request) as events:
                answer.accepted = True
                while (event := await readable(anext(events, None))) is not None:
                    if piece := answer.taken(event):
                        first_s = first_s or time.perf_counter() - begun
                        yield piece
        except _SDK_FAULTS as fault:
            failed = self._failure(fault, answer, request)
        else:
            if answer.started:
                yield Reply(
                    answer.text, answer.finish, self.name, self.model, answer.usage(_sent(request)),
                    note=self._note(answer, request), wall_s=time.perf_counter() - begun,
                    first_s=first_s,
                )
                return
            failed = ProviderDown(
                f"{self._place} ended its answer before it began: is the base URL Anthropic's?",
                started=True,
            )
        raise failed  # out here, where no fault of the SDK, which may quote a key, hangs on it

    async def models(self) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(self._models_s):
                return await readable(self._listed())
        except _SDK_FAULTS as fault:
            failed = self._failure(fault, Answer(), None)
        except TimeoutError:
            failed = TimedOut(f"{self._place} did not list its models in {self._models_s:g} s")
        raise failed

    async def _listed(self) -> tuple[str, ...]:
        found: list[str] = []
        async for model in self._client.models.list(limit=100):
            if model.lifecycle != "retired":
                found.append(str(model.id))
        return _as_named(self.model, found)

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    async def close(self) -> None:
        await self._client.close()

    async def _sent(self, request: Request) -> AsyncStream[RawMessageStreamEvent]:
        config: OutputConfigParam = {}
        if self.thinks:
            config["effort"] = request.effort or EFFORT
        if isinstance(request.output, Json):
            config["format"] = {
                "type": "json_schema", "schema": wire_schema(request.output.schema),
            }
        system: list[TextBlockParam] = [{
            "type": "text", "text": sayable(request.system),
            "cache_control": {"type": "ephemeral"},
        }]
        turns: list[MessageParam] = [
            {"role": "user", "content": sayable(message.text)} if message.speaker == "user"
            else {"role": "assistant", "content": sayable(message.text)}
            for message in request.messages
        ]
        return await self._client.messages.create(
            model=self.model,
            max_tokens=request.max_tokens,
            system=system if request.system else omit,
            messages=turns,
            output_config=config or omit,
            stream=True,
        )

    def _failure(self, fault: Exception, answer: Answer, request: Request | None) -> CallFailed:
        usage = answer.usage(_sent(request)) if request and answer.started else None
        return failure(fault, Attempted(self._place, self._secret, answer.accepted, usage))

    def _note(self, answer: Answer, request: Request) -> str:
        unsent = [name for name in ("temperature", "seed") if getattr(request, name) is not None]
        return "; ".join(filter(None, (
            scrubbed(answer.note, self._secret),
            f"asked without {' and '.join(unsent)}, which Claude does not take" if unsent else "",
        )))


def _sent(request: Request) -> str:
    return "\n".join((request.system, *(message.text for message in request.messages)))


def _as_named(model: str, listed: list[str]) -> tuple[str, ...]:
    """The list with a model under the alias it was asked for by: the list has dated names only."""
    dated = re.compile(re.escape(model.removesuffix("-latest")) + r"-\d{8}")
    full = next((name for name in listed if dated.fullmatch(name)), None)
    if full is None or model in listed:
        return tuple(listed)
    return tuple(model if name == full else name for name in listed)
