"""The provider of servers with OpenAI's chat completions API: OpenAI and compatible servers.

OpenAI's client would read keys, addresses, organisations and headers from the environment, so the
headers of each request are set here. Each call is one request; callers do the retries. If a
server has no schema mode (`ProviderRow.json_mode`), the schema is part of the system prompt. The
caller validates answers in either case.

The SDK does not check chunks against its types, and compatible servers omit required fields and
add unknown ones, so each value is checked here.

Implemented from the servers' documentation; not tested against the real servers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import httpx2
import openai

from llm.asking.schemas import Schema, without_keys
from llm.errors import Rejected, UnknownModel
from llm.provider import Connection, escape_surrogates
from llm.providers.wire import (
    ERROR_ADVICE,
    RESPONSE_FORMAT,
    UNREACHABLE,
    ErrorReply,
    HttpProvider,
    ReplyStream,
    on_this_machine,
    retry_after_s,
    token_count,
    turns,
)
from llm.types import Finish, Json, Request, TokenAlternative, Usage

ALIASES = {"response_format": RESPONSE_FORMAT}
OPTIONAL = {*ALIASES, "temperature", "reasoning_effort", "stream_options"}
"""Parameters that a request can omit; `ALIASES` has their names in `ReplyStream.optional`."""


class OpenAiProvider(HttpProvider):
    """Asks one server with one key. Its name is its row's name, which prices are looked up by."""

    finishes: ClassVar[Mapping[str, Finish]] = {
        "stop": "stop", "eos": "stop", "eos_token": "stop", "stop_sequence": "stop",
        "tool_calls": "stop", "function_call": "stop",  # no tools were offered: use the text
        "length": "length", "max_tokens": "length",
        "content_filter": "refusal", "safety": "refusal",
    }
    sdk_errors = (openai.OpenAIError, httpx2.HTTPError)
    wrapper_errors = (openai.APIConnectionError,)
    unreachable = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)
    timeout_errors = (httpx2.TimeoutException,)

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.steps = {Rejected: f"{ERROR_ADVICE[Rejected]} and the preset"}
        local, remote = "start the server", "check the network and the base URL"
        self.unreachable_step = f"{UNREACHABLE}; {local if self.row.local else remote}"
        patience = self._timeouts(connection.stall_s)
        self._client = openai.AsyncOpenAI(
            api_key="not sent: see _headers",
            base_url=self.url,
            max_retries=0,
            timeout=patience,
            http_client=httpx2.AsyncClient(
                timeout=patience, event_hooks={"request": [self._headers]}, follow_redirects=False,
                trust_env=not on_this_machine(self.url),
                # A local server may close an idle connection just as the next call uses it.
                limits=httpx2.Limits(max_keepalive_connections=0 if self.row.local else None),
            ),
        )

    async def open_stream(self, request: Request, answer: ReplyStream) -> openai.AsyncStream[Any]:
        if not self.model:
            raise UnknownModel(f"{self.name} has no default model: set a model for it")
        asked = self._request_body(request)
        answer.optional = frozenset(ALIASES.get(name, name) for name in asked.keys() & OPTIONAL)
        chunks = await self._client.chat.completions.create(**asked)
        answer.accepted = True
        self._must_stream(chunks.response)
        return chunks  # type: ignore[no-any-return]  # typed by the body's parameters

    def read(self, piece: object, answer: ReplyStream) -> str:
        answer.started = True
        answer.counts = _usage(getattr(piece, "usage", None)) or answer.counts
        text = ""
        choices = getattr(piece, "choices", None)
        for choice in choices if isinstance(choices, list) else ():
            delta = getattr(choice, "delta", None)
            text += _text(getattr(delta, "content", None))
            _note_alternatives(getattr(choice, "logprobs", None), answer)
            answer.refusal += _text(getattr(delta, "refusal", None))
            thought = "".join(
                _text(getattr(delta, name, None)) for name in ("reasoning_content", "reasoning")
            )
            if thought:
                answer.reasoning.append(thought)
                self.thinks = True  # may not have been known before
            reason = getattr(choice, "finish_reason", None)
            answer.end = escape_surrogates(str(reason or answer.end))
        return text

    def error_reply(self, error: BaseException) -> ErrorReply | None:
        if not isinstance(error, openai.APIError) or isinstance(error, openai.APIConnectionError):
            return None
        status, wait_s = 0, None  # an error within a stream may have no status
        if isinstance(error, openai.APIStatusError):
            status, wait_s = error.status_code, retry_after_s(error.response.headers)
        body = error.body  # with a status, the SDK's message is the whole body
        words = body.get("message") if isinstance(body, dict) else body
        code, kind = str(error.code or ""), str(error.type or "")
        names = tuple(filter(None, (kind, code)))
        return ErrorReply(status, str(words or error.message), names, wait_s)

    async def list_models(self) -> tuple[str, ...]:
        there = {str(model.id): model async for model in self._client.models.list()}
        full = f"models/{self.model}"  # Gemini's spelling
        if full in there:
            there = {self.model if name == full else name: there[name] for name in there}
        # A server with one model, such as llama-server, may accept any name for it.
        sole = next(iter(there.values())) if len(there) == 1 else None
        own = there.get(self.model, sole)
        self.window, self.parameters_b = _window(own), _parameters_b(own)
        return tuple(there)

    async def close(self) -> None:
        await self._client.close()

    def _timeouts(self, first_s: float) -> httpx2.Timeout:
        """The time-outs; `first_s` is the longest silence, also before the first byte."""
        return httpx2.Timeout(
            connect=self.connection.connect_s, read=first_s,
            write=self.connection.stall_s, pool=self.connection.connect_s,
        )

    async def _headers(self, request: httpx2.Request) -> None:
        """Replaces the headers that the SDK and the environment set by the required ones."""
        headers = {
            "Host": request.headers["host"],
            "User-Agent": f"AsyncOpenAI/Python {openai.__version__}",
            "Accept": "text/event-stream" if request.method == "POST" else "application/json",
        }
        if request.method == "POST":
            headers["Content-Type"] = "application/json"
            headers["Content-Length"] = request.headers["content-length"]
        if self.key:
            headers["Authorization"] = f"Bearer {self.key.reveal()}"
        request.headers = httpx2.Headers(headers)

    def _request_body(self, request: Request) -> dict[str, Any]:
        """The request's body for this server."""
        row, system = self.row, escape_surrogates(request.system)
        asked: dict[str, Any] = {
            "model": self.model, "stream": True, row.max_tokens_parameter: request.max_tokens,
            **self.sampling(request),
        }
        if request.seed is not None and row.supports_seed:
            asked["seed"] = request.seed
        prefill = request.prefill if row.supports_prefill else None
        if prefill is not None:
            asked["stop"] = [prefill.stop]
        if request.alternatives and row.alternatives:
            asked |= {"logprobs": True, "top_logprobs": request.alternatives}
        can_constrain = RESPONSE_FORMAT not in self.refused and row.json_mode != "none"
        if isinstance(request.output, Json) and can_constrain:
            wanted = schema = request.output.schema
            if not row.supports_string_lengths:
                wanted = strict_schema(schema)
            asked["response_format"] = {"type": "json_object"} if row.json_mode == "object" else {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": wanted},
            }
        # Not `self.thinks`: a model that was observed to think may not accept an effort.
        if request.effort is not None and row.thinking(self.model):
            asked["reasoning_effort"] = request.effort
        if row.stream_usage:
            asked["stream_options"] = {"include_usage": True}
        for name in self.refused & asked.keys() & OPTIONAL:
            del asked[name]
        first = [{"role": "system", "content": system}] if system else []
        last = [{"role": "assistant", "content": prefill.text}] if prefill is not None else []
        asked["messages"] = [*first, *turns(request), *last]
        if row.local:
            asked["timeout"] = self._timeouts(self.loading_s(request))
        return asked

    def takes_schema(self, request: Request) -> bool:
        return self.row.json_mode == "schema" and super().takes_schema(request)

    def _must_stream(self, response: httpx2.Response) -> None:
        """Raises `Rejected` for a response with status 200 that is not a stream, such as a web
        page at a wrong address, which would look like an empty stream."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in ("text/html", "application/json"):
            raise Rejected(
                f"{self.place} answered with {kind} instead of a stream; check the base URL",
                started=True,
            )


def _note_alternatives(logprobs: object, answer: ReplyStream) -> None:
    """Records the likely alternatives of each token. SDKs return dictionaries for fields that
    their types do not declare, and objects for the others."""
    content = _of(logprobs, "content")
    for token in content if isinstance(content, list) else ():
        written = _text(_of(token, "token"))
        others = _of(token, "top_logprobs")
        for other in others if isinstance(others, list) else ():
            text, logprob = _text(_of(other, "token")), _of(other, "logprob")
            if text != written and isinstance(logprob, float):
                answer.alternatives.append(TokenAlternative(answer.logprob_chars, text, logprob))
        answer.logprob_chars += len(written)


def _of(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _usage(usage: object) -> Usage | None:
    """The token counts of a chunk; `None` if they are zero, as before the last chunk."""
    asked, answered = (
        token_count(getattr(usage, name, None)) or 0
        for name in ("prompt_tokens", "completion_tokens")
    )
    # Gemini counts a model's reasoning in the total only.
    answered = max(answered, (token_count(getattr(usage, "total_tokens", None)) or 0) - asked)
    if not asked and not answered:
        return None
    details = getattr(usage, "prompt_tokens_details", None)
    read = min(asked, token_count(getattr(details, "cached_tokens", None)) or 0)
    written = min(asked - read, token_count(getattr(details, "cache_write_tokens", None)) or 0)
    return Usage(asked - read - written, answered, read, written)


def _text(value: object) -> str:
    """A text, or the joined text parts that some servers send next to reasoning parts."""
    if isinstance(value, list):
        parts = [part for part in value if isinstance(part, dict) and part.get("type") == "text"]
        return "".join(_text(part.get("text")) for part in parts)
    return escape_surrogates(value) if isinstance(value, str) else ""


def _window(model: object) -> int | None:
    """A model's context window, if the server lists it; OpenAI does not."""
    names = ("max_model_len", "context_window", "context_length")
    sizes = [getattr(model, name, None) for name in names]
    if isinstance(meta := getattr(model, "meta", None), dict):
        sizes.append(meta.get("n_ctx"))  # llama-server
    return next(filter(None, map(token_count, sizes)), None)


def _parameters_b(model: object) -> float | None:
    """Billions of parameters of a model, as llama-server lists them."""
    meta = getattr(model, "meta", None)
    number = meta.get("n_params") if isinstance(meta, dict) else None
    return number / 1e9 if isinstance(number, int) and number > 0 else None


def strict_schema(schema: Schema) -> dict[str, object]:
    """A schema without the keywords that OpenAI's strict mode rejects; callers check the bounds."""
    return without_keys(schema, "minLength", "maxLength", "default")
