"""The provider of servers that speak OpenAI's chat completions: OpenAI, and many that do alike.

Nothing is taken from the environment, where OpenAI's client would find keys, addresses,
organisations and headers: each request is given its headers here, and no others. Each call is
one request; who wants another makes it. Where a server has no schema mode (`Preset.json`), the
schema stands in the system prompt, and answers are checked by who asked, as everywhere.

Not run against any of the real servers: their words and parameters are as they are described.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from typing import Any

import httpx2
import openai

from llm.errors import CallFailed, Rejected, UnknownModel
from llm.provider import Connection, estimated_tokens, sayable
from llm.providers.openai.answer import Answer, whole_number
from llm.providers.openai.faults import Said, failure
from llm.providers.openai.schema import strict_schema
from llm.providers.presets import PRESETS, on_this_machine, preset_name
from llm.providers.wire import (
    AWAY,
    Attempted,
    Unreadable,
    checked_url,
    place,
    readable,
    retry_after_s,
    sendable_key,
)
from llm.types import Json, Request, Stream

LOADING_S = 300.0
"""The longest wait for the first byte of a server that may be loading its model."""

CLOSING_S = 3.0
"""The longest wait for the count of tokens after an answer's end."""

MODELS_S = 20.0
"""Seconds to list the models."""

_SDK_FAULTS = (openai.OpenAIError, httpx2.HTTPError, Unreadable)
"""What the SDK lets through: its own, its transport's, and what cannot be read."""


class OpenAiProvider:
    """Asks one server with one key. Its name is its preset's, since prices go by that."""

    exact = False

    def __init__(self, connection: Connection) -> None:
        self.name = preset_name(connection)
        self._preset = PRESETS[self.name]
        self._connection = connection
        if connection.key or self._preset.needs_key:
            sendable_key(connection.key, self.name, self._preset.key_name)
        url = checked_url(connection.base_url or self._preset.base_url, self.name)
        self._place = f"{self.name} at {place(url)}"
        self.model = connection.model or self._preset.model
        self.thinks = self._preset.thinks(self.model)
        """By its name, and else once an answer has shown it."""
        self.window: int | None = None
        """Known once `models` was asked, of a server that tells."""
        self._client = openai.AsyncOpenAI(
            api_key="not sent: see _bare",
            base_url=url,
            max_retries=0,
            timeout=self._patience(connection.stall_s),
            http_client=httpx2.AsyncClient(
                timeout=self._patience(connection.stall_s),
                event_hooks={"request": [self._bare]},
                follow_redirects=False,
                trust_env=not on_this_machine(url),
            ),
        )

    async def stream(self, request: Request) -> Stream:
        """See `Provider`. A temperature, a seed and an effort are sent to models that take them
        by `Preset`; the others choose for themselves."""
        if not self.model:
            raise UnknownModel(f"no model of {self.name} is named, and it has no default: name one")
        answer = Answer(begun=time.perf_counter())
        asked = self._asked(request)
        fault: CallFailed | None = None
        try:
            chunks = await self._client.chat.completions.create(**asked)
            answer.accepted = True
            async with chunks:
                self._must_stream(chunks.response)
                while True:
                    async with asyncio.timeout(self._silence_s(request, answer)):
                        chunk = await readable(anext(chunks, None))
                    if chunk is None:
                        break
                    if piece := answer.take(chunk):
                        yield piece
        except (*_SDK_FAULTS, TimeoutError) as error:
            if not answer.finish:
                fault = self._fault(error, answer, _sent(asked))
            # Else the answer is whole, and what was lost is the count of its tokens.
        self.thinks = self.thinks or any(answer.thoughts)
        if fault is not None:
            raise fault  # here, so that it carries no exception that holds the request
        yield answer.reply(self.name, self.model, _sent(asked), _unsent(request, asked))

    async def models(self) -> tuple[str, ...]:
        try:
            async with asyncio.timeout(MODELS_S):
                sizes = await readable(self._sizes())
        except (*_SDK_FAULTS, TimeoutError) as error:
            fault = self._fault(error, Answer(begun=0.0), "")
        else:
            full = f"models/{self.model}"  # Gemini's way
            if full in sizes:
                sizes = {self.model if name == full else name: sizes[name] for name in sizes}
            # A server of one model, as llama-server is, may take any name for it.
            sole = next(iter(sizes.values())) if len(sizes) == 1 else None
            self.window = sizes.get(self.model, sole)
            return tuple(sizes)
        raise fault

    async def _sizes(self) -> dict[str, int | None]:
        return {str(model.id): _window(model) async for model in self._client.models.list()}

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    async def close(self) -> None:
        await self._client.close()

    def _loading_s(self, request: Request) -> float:
        return min(max(LOADING_S, self._connection.stall_s), request.deadline_s)

    def _silence_s(self, request: Request, answer: Answer) -> float | None:
        """Seconds to wait for a chunk. A far server's signs of life are not chunks, so there bytes
        are waited for, by the client's own patience."""
        if answer.finish:
            return CLOSING_S
        if not self._preset.local:
            return None
        return self._connection.stall_s if answer.started else self._loading_s(request)

    def _patience(self, first_s: float) -> httpx2.Timeout:
        """`first_s` is the longest silence, also before the first byte."""
        return httpx2.Timeout(
            connect=self._connection.connect_s, read=first_s,
            write=self._connection.stall_s, pool=self._connection.connect_s,
        )

    async def _bare(self, request: httpx2.Request) -> None:
        """Leaves a request the headers that are meant, whatever the SDK and the environment add."""
        headers = {
            "Host": request.headers["host"],
            "User-Agent": f"AsyncOpenAI/Python {openai.__version__}",
            "Accept": "text/event-stream" if request.method == "POST" else "application/json",
        }
        if request.method == "POST":
            headers["Content-Type"] = "application/json"
            headers["Content-Length"] = request.headers["content-length"]
        if self._connection.key:
            headers["Authorization"] = f"Bearer {self._connection.key.reveal()}"
        request.headers = httpx2.Headers(headers)

    def _asked(self, request: Request) -> dict[str, Any]:
        """The request's body, as the server takes it."""
        preset, system = self._preset, sayable(request.system)
        thinks = preset.thinks(self.model)  # and not `self.thinks`: others know no effort
        asked: dict[str, Any] = {
            "model": self.model, "stream": True, preset.limit: request.max_tokens,
        }
        if isinstance(request.output, Json):
            schema = request.output.schema
            if preset.json == "schema":
                wanted = schema if preset.lengths else strict_schema(schema)
                asked["response_format"] = {
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "strict": True, "schema": wanted},
                }
            else:
                if preset.json == "object":
                    asked["response_format"] = {"type": "json_object"}
                system += (
                    "\n\nAnswer with one JSON value, without a fence or other words, "
                    f"valid under this JSON Schema:\n{json.dumps(schema, ensure_ascii=False)}"
                )
        if request.temperature is not None and not (
            thinks and preset.temperature == "unless thinking"
        ):
            asked["temperature"] = request.temperature
        if request.seed is not None and preset.seed:
            asked["seed"] = request.seed
        if request.effort is not None and thinks:
            asked["reasoning_effort"] = request.effort
        if preset.stream_usage:
            asked["stream_options"] = {"include_usage": True}
        turns = [{"role": turn.speaker, "content": sayable(turn.text)} for turn in request.messages]
        asked["messages"] = [{"role": "system", "content": system}, *turns] if system else turns
        if preset.local:
            asked["timeout"] = self._patience(self._loading_s(request))
        return asked

    def _must_stream(self, response: httpx2.Response) -> None:
        """Raises `Rejected` where something answers with 200 that is no stream, as a web page of
        a wrong address: it would pass for a stream that ends at once."""
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind in ("text/html", "application/json"):
            raise Rejected(
                f"{self._place} answered with {kind}, not with a stream; is the base URL right?",
                started=True,
            )

    def _fault(self, error: Exception, answer: Answer, sent: str) -> CallFailed:
        """Our own error for one of the SDK or its transport."""
        usage = answer.counted(sent) if answer.started else None
        call = Attempted(self._place, self._connection.key, answer.accepted, usage)
        if isinstance(error, openai.APIError) and not isinstance(error, openai.APIConnectionError):
            status, wait_s = 0, None  # told within a stream, if it has no status of its own
            if isinstance(error, openai.APIStatusError):
                status, wait_s = error.status_code, retry_after_s(error.response.headers)
            said = Said(status, str(error.code or ""), str(error.type or ""), _words(error))
            return failure(said, call, wait_s)
        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) else error
        return call.broken(
            cause or error,
            unreachable=(httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout),
            silent=(httpx2.TimeoutException, TimeoutError),
            away=f"{AWAY}; is it running?" if self._preset.local else AWAY,
        )


def _window(model: object) -> int | None:
    """A model's window, where its server tells; OpenAI itself does not."""
    names = ("max_model_len", "context_window", "context_length")
    told = [getattr(model, name, None) for name in names]
    if isinstance(meta := getattr(model, "meta", None), dict):
        told.append(meta.get("n_ctx"))  # llama-server's way
    return next(filter(None, map(whole_number, told)), None)


def _words(error: openai.APIError) -> str:
    """The server's own words: the SDK's message holds the whole body where there is a status."""
    body = error.body
    words = body.get("message") if isinstance(body, dict) else body
    return str(words or error.message)


def _sent(asked: Mapping[str, Any]) -> str:
    return "\n".join(turn["content"] for turn in asked["messages"])


def _unsent(request: Request, asked: Mapping[str, Any]) -> str:
    """Words for what was wished and is not taken there: no wish is dropped in silence. An effort
    may be: it is for models that think, whichever they are."""
    names = [
        name for name in ("temperature", "seed")
        if getattr(request, name) is not None and name not in asked
    ]
    return f"asked without {' and '.join(names)}, which it does not take" if names else ""
