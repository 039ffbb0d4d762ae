"""The provider of Claude models, through Anthropic's SDK.

By default the SDK reads credentials, an address and headers from the environment and a profile on
disk. This is switched off: a user without a key must not use the host's. Its retries are off,
since the router knows the deadline and the budget.

The SDK has no temperature parameter. A request's temperature is dropped, and the reply's `note`
says so. Tested against a server with the same wire format, not against the real service.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar, cast

import httpx2
from anthropic import (
    AnthropicError,
    APIConnectionError,
    APIStatusError,
    AsyncAnthropic,
    AsyncStream,
    omit,
    transform_schema,
)
from anthropic.types import MessageParam, OutputConfigParam, RawMessageStreamEvent, TextBlockParam

from llm.errors import InvalidResponse
from llm.provider import Connection, escape_surrogates
from llm.providers.wire import (
    UNREACHABLE,
    ErrorReply,
    HttpProvider,
    ReplyStream,
    on_this_machine,
    retry_after_s,
    token_count,
    turns,
)
from llm.types import Effort, Finish, Json, Request, Usage

EFFORT: Effort = "medium"
"""The default effort. Most models default to `high`, with which the reasoning may use up the
tokens of the answer."""

_COUNTS = {
    "input_tokens": "input", "output_tokens": "output", "cache_read_input_tokens": "read",
    "cache_creation_input_tokens": "written",
}


class AnthropicProvider(HttpProvider):
    """Asks a Claude model. Its window of 200,000 tokens or more is not checked before a call: few
    requests come near it, and the service reports an overflow."""

    finishes: ClassVar[Mapping[str, Finish]] = {
        "end_turn": "stop", "stop_sequence": "stop",
        "max_tokens": "length", "model_context_window_exceeded": "length",
        "refusal": "refusal",
    }
    sdk_errors = (AnthropicError, httpx2.HTTPError)
    wrapper_errors = (APIConnectionError,)
    unreachable = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
    timeout_errors = (httpx2.TimeoutException,)

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.unreachable_step = f"{UNREACHABLE}; check the network and the base URL"
        patience = httpx2.Timeout(connection.stall_s, connect=connection.connect_s)
        self._client = AsyncAnthropic(
            api_key=self.key.reveal(),
            base_url=self.url,
            max_retries=0,
            timeout=patience,
            # The SDK's client would use the environment's proxy on loopback too, and follow
            # redirects with the whole request.
            http_client=httpx2.AsyncClient(
                timeout=patience, follow_redirects=False, trust_env=not on_this_machine(self.url)
            ),
            # An environment variable could make it export spans with all prompts.
            open_telemetry=False,
        )
        # ANTHROPIC_CUSTOM_HEADERS is always merged in and may hold a credential.
        self._client._custom_headers = {}

    async def open_stream(
        self, request: Request, answer: ReplyStream
    ) -> AsyncStream[RawMessageStreamEvent]:
        config: OutputConfigParam = {}
        if self.thinks:
            config["effort"] = request.effort or EFFORT
        if isinstance(request.output, Json):
            # Unsupported bounds become descriptions; the answer is validated later.
            config["format"] = {
                "type": "json_schema", "schema": transform_schema(dict(request.output.schema)),
            }
        system: list[TextBlockParam] = [{
            "type": "text", "text": escape_surrogates(request.system),
            "cache_control": {"type": "ephemeral"},
        }]
        events = await self._client.messages.create(
            model=self.model, max_tokens=request.max_tokens,
            system=system if request.system else omit,
            messages=cast("list[MessageParam]", turns(request)), output_config=config or omit,
            stream=True,
        )
        answer.accepted = True
        return events

    def read(self, piece: RawMessageStreamEvent, answer: ReplyStream) -> str:
        """The text that an event adds; unknown events add none."""
        match piece.type:
            case "message_start":
                _count(piece.message.usage, answer)
            case "content_block_start" if piece.content_block.type == "text":
                return piece.content_block.text
            case "content_block_delta" if piece.delta.type == "text_delta":
                return piece.delta.text
            case "content_block_delta" if piece.delta.type == "thinking_delta":
                answer.reasoning.append(str(piece.delta.thinking))
            case "message_delta":
                _count(piece.usage, answer)
                answer.end = piece.delta.stop_reason or answer.end
                if details := piece.delta.stop_details:
                    reasons = (details.category, details.explanation)
                    answer.why = ": ".join(filter(None, reasons))
        return ""

    def ended(self, request: Request, answer: ReplyStream, usage: Usage) -> None:
        if not answer.started:
            raise InvalidResponse(
                f"{self.place} sent an empty answer; check that the base URL is Anthropic's",
                started=True,
            )

    def error_reply(self, error: BaseException) -> ErrorReply | None:
        if not isinstance(error, APIStatusError):
            return None
        code = error.error_code or ""
        return ErrorReply(
            error.status_code, str(error.api_message or error.body or ""),
            (" ".join(filter(None, (error.type, error.request_id))), error.type or "", code),
            retry_after_s(error.response.headers),
        )

    async def list_models(self) -> tuple[str, ...]:
        found = [
            str(model.id) async for model in self._client.models.list(limit=100)
            if model.lifecycle != "retired"
        ]
        if self.model in found:
            return tuple(found)
        # The list has dated names only, but a model may be requested by its alias.
        dated = re.compile(re.escape(self.model.removesuffix("-latest")) + r"-\d{8}")
        full = next((name for name in found if dated.fullmatch(name)), None)
        return tuple(self.model if name == full else name for name in found)

    async def close(self) -> None:
        await self._client.close()


def _count(usage: object, answer: ReplyStream) -> None:
    """Records token counts. Later counts replace earlier ones; a missing count keeps the earlier
    one, and an invalid value becomes 0."""
    counts = answer.counts
    for name, ours in _COUNTS.items():
        value = getattr(usage, name, None)
        if value is not None:
            counts = Usage(**{**vars(counts), ours: token_count(value) or 0})
    answer.counts = counts
