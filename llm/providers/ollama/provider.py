"""Models behind Ollama, asked through its own SDK and its own `/api/chat`: the route that is like
OpenAI's ignores `num_ctx`. Tried against a server that speaks the wire format, and never against
a real Ollama.

Where a question is longer than the window, Ollama cuts it, keeps half a window of its end, and
says nothing. So the window is asked for by name and is the same for a whole connection, since
another one loads the model anew; a question that may not fit is not sent; and the count of the
question in the answer is looked at for signs of a cut. Its count is an estimate here that is
rather too high, but no bound, so both are needed. The SDK cannot send `truncate: false`, by which
newer servers would refuse such a question instead.

The SDK would wait for ever, and would take an address and a key from the environment. Here it is
told both, and every wait has an end: a long one for the first byte, since a model may have to be
loaded first, then one between two pieces.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any, TypeVar

import httpx
from ollama import AsyncClient, RequestError, ResponseError

from llm.errors import CallFailed, ContextOverflow, UnknownModel
from llm.provider import Connection, estimated_tokens, sayable
from llm.providers.ollama.answer import Answer
from llm.providers.ollama.faults import failure
from llm.providers.presets import on_this_machine
from llm.providers.wire import Attempted, Unreadable, checked_url, place, readable, sendable_key
from llm.room import question_tokens
from llm.types import Json, Reply, Request, Stream, Usage

T = TypeVar("T")

BASE_URL = "http://127.0.0.1:11434"

HEALTH_S = 2.0
"""Seconds for each question about the server itself, which it answers from memory."""

LOADING_S = 300.0
"""The longest wait for a first piece; the request's deadline is another bound."""

CLOSING_S = 0.5
"""The longest wait for the stream to close after an answer's last line."""


_SDK_FAULTS = (
    ResponseError, RequestError, httpx.HTTPError, ConnectionError, TimeoutError, Unreadable
)

_AWAITED: ContextVar[Answer | None] = ContextVar("_AWAITED", default=None)
"""The answer whose next line this task waits for: the SDK keeps from its caller when the head of
one has come, and a hook of its transport is not told whose it is."""


class OllamaProvider:
    """Answers by one model of one Ollama. `models` and the first call look whether it is there.

    A model that can think is asked not to: its thoughts would have to have room in a window that
    is small already. So an effort is not sent. Where one thinks all the same it does so within
    `max_tokens`, and its thoughts are no text.
    """

    name = "ollama"
    exact = False
    thinks = False

    def __init__(self, connection: Connection) -> None:
        if connection.key:
            sendable_key(connection.key, self.name, "OLLAMA_API_KEY")
        url = checked_url(connection.base_url or BASE_URL, self.name)
        self.model = connection.model
        self.window = connection.num_ctx
        """As asked for; once the model was seen, no more than what it was made for."""
        self._connection = connection
        self._place = f"Ollama at {place(url)}"
        self._checked = False
        self._can_think = False
        self._client = AsyncClient(
            host=url,
            timeout=httpx.Timeout(LOADING_S, connect=connection.connect_s),
            follow_redirects=False,
            trust_env=not on_this_machine(url),
            event_hooks={"request": [self._keyed], "response": [_headed]},
        )

    async def stream(self, request: Request) -> Stream:
        begun = time.perf_counter()
        self._must_fit(request)
        await self._check()
        self._must_fit(request)  # the model may have been made for less than was asked for
        answer = Answer()
        first_s: float | None = None
        wait_s = min(max(LOADING_S, self._connection.stall_s), request.deadline_s)
        fault: CallFailed | None = None
        try:
            async with aclosing(await self._asked(request)) as parts:
                while True:
                    awaited = _AWAITED.set(answer)
                    try:
                        part = await _within(wait_s, anext(parts, None))
                    finally:
                        _AWAITED.reset(awaited)
                    if part is None:
                        break
                    piece = answer.read(part)
                    wait_s = CLOSING_S if answer.done else self._connection.stall_s
                    if piece:
                        first_s = first_s or time.perf_counter() - begun
                        yield piece
        except _SDK_FAULTS as error:
            if not answer.done:
                fault = self._fault(error, answer, _sent(request))
        if fault is not None:
            raise fault  # here, so that it carries no exception that holds the request
        usage = answer.usage(_sent(request))
        if self._may_be_cut(request, usage):
            raise ContextOverflow(
                f"{self._place} counted {usage.input} tokens of a question in a window of "
                f"{self.window}, so it may have cut it in silence; ask with less, or with a "
                "larger num_ctx", started=True, usage=usage,
            )
        yield Reply(
            "".join(answer.pieces), answer.finish, self.name, self.model, usage,
            note=answer.note, wall_s=time.perf_counter() - begun, first_s=first_s,
        )

    async def models(self) -> tuple[str, ...]:
        listed = await self._about(self._client.list())
        names = (str(model.model) for model in listed.models)
        own = _full(self.model)
        return tuple(self.model if _full(name) == own else name for name in names)

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    async def close(self) -> None:
        await self._client.close()  # type: ignore[no-untyped-call]  # the SDK leaves it out

    def _must_fit(self, request: Request) -> None:
        """Raises `ContextOverflow` where question and answer may not have room together."""
        tokens = question_tokens(self.count, _texts(request))
        if tokens + request.max_tokens > self.window:
            raise ContextOverflow(
                f"a question of about {tokens} tokens and an answer of {request.max_tokens} do "
                f"not fit into the window of {self.window} tokens; nothing was sent: ask with "
                "less, or with a larger num_ctx"
            )

    def _may_be_cut(self, request: Request, usage: Usage) -> bool:
        """Whether the server's count of the question is what a cut would leave, or more than what
        was found to fit. Where no text of that many bytes could fill the window, none was cut."""
        most = question_tokens(lambda text: len(sayable(text).encode()), _texts(request))
        if usage.estimated or most <= self.window:
            return False
        half = self.window // 2
        return half <= usage.input <= half + 4 or usage.input > self.window - request.max_tokens

    async def _check(self) -> None:
        """Looks, before the first call and after one that failed, whether there is a server that
        has the model, and how much the model can hold. Raises what is missing."""
        if self._checked:
            return
        there = await self.models()
        if self.model not in there:
            raise UnknownModel(
                f"{self._place} does not have {self.model!r}: run `ollama pull {self.model}`"
                + (f", or choose one of {', '.join(there[:8])}" if there else "")
            )
        shown = await self._about(self._client.show(self.model))
        for name, value in (shown.modelinfo or {}).items():
            if name.endswith(".context_length") and isinstance(value, int) and value > 0:
                self.window = min(self._connection.num_ctx, value)
        self._can_think = "thinking" in (shown.capabilities or ())
        self._checked = True

    async def _about(self, answer: Awaitable[T]) -> T:
        """The answer to a question that spends nothing."""
        try:
            return await _within(HEALTH_S, answer)
        except _SDK_FAULTS as error:
            fault = self._fault(error, Answer(), "")
        raise fault

    async def _asked(self, request: Request) -> Any:
        """The stream of answers, whose type the SDK does not tell. Nothing is sent yet."""
        options: dict[str, float] = {"num_ctx": self.window, "num_predict": request.max_tokens}
        if request.seed is not None:
            options["seed"] = request.seed
        if request.temperature is not None:
            options["temperature"] = request.temperature
        turns = [{"role": turn.speaker, "content": sayable(turn.text)} for turn in request.messages]
        if request.system:
            turns.insert(0, {"role": "system", "content": sayable(request.system)})
        return await self._client.chat(
            model=self.model,
            messages=turns,
            stream=True,
            format=dict(request.output.schema) if isinstance(request.output, Json) else None,
            options=options,
            think=False if self._can_think else None,
            keep_alive=self._connection.keep_alive,
        )

    async def _keyed(self, request: httpx.Request) -> None:
        """Gives a request the connection's key or none, whatever the environment holds."""
        request.headers.pop("authorization", None)
        if self._connection.key:
            request.headers["Authorization"] = f"Bearer {self._connection.key.reveal()}"

    def _fault(self, error: Exception, answer: Answer, sent: str) -> CallFailed:
        """Our own error for one of the SDK or its transport; the next call looks anew."""
        self._checked = False
        usage = answer.usage(sent) if answer.started else None
        call = Attempted(self._place, self._connection.key, answer.accepted, usage)
        if isinstance(error, ResponseError):
            return failure(call, self.model, error.status_code, str(error.error))
        return call.broken(
            error,
            unreachable=(httpx.ConnectError, httpx.ConnectTimeout, ConnectionError),
            silent=(httpx.TimeoutException, TimeoutError),
            away="is not running; start it with `ollama serve`",
        )


async def _within(seconds: float, answer: Awaitable[T]) -> T:
    """What the SDK gives, in time and readable."""
    async with asyncio.timeout(seconds):
        return await readable(answer)


async def _headed(response: httpx.Response) -> None:
    """Notes on the answer that is waited for that its head has come."""
    answer = _AWAITED.get()
    if answer is not None and response.is_success:
        answer.accepted = True


def _texts(request: Request) -> tuple[str, ...]:
    return (request.system, *(turn.text for turn in request.messages))


def _sent(request: Request) -> str:
    return "\n".join(_texts(request))


def _full(model: str) -> str:
    """A model's name with its tag; no tag means `latest`."""
    name = model.lower()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"
