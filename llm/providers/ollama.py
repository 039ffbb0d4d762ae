"""The provider of models behind Ollama, through its SDK and its `/api/chat`.

Ollama's OpenAI-compatible route is not used because it ignores `num_ctx`. Ollama silently cuts a
request that is longer than the window and keeps half a window of its end. So `num_ctx` is sent
explicitly and stays constant for a connection, since a change reloads the model. A request that
may not fit is not sent. The token count of the request in the answer is checked for a cut, because
our own count is an estimate and no upper bound. The SDK cannot send `truncate: false`, with which
newer servers would reject such a request.

The SDK has no time-outs and reads an address and a key from the environment. Both are set here.
There is a long time-out for the first byte, since a model may have to be loaded, and a shorter one
between pieces. Tested against a server with the same wire format, not against a real Ollama.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, ClassVar

import httpx
from ollama import AsyncClient, ChatResponse, RequestError, ResponseError

from llm.errors import ContextOverflow, ProviderDown, UnknownModel
from llm.provider import Connection, escape_surrogates
from llm.providers.wire import (
    ERROR_ADVICE,
    LOADING_S,
    RESPONSE_FORMAT,
    ErrorReply,
    HttpProvider,
    ReplyStream,
    on_this_machine,
    token_count,
    turns,
)
from llm.tokens import question_tokens, texts_of
from llm.types import Finish, Json, Request, Usage


class OllamaProvider(HttpProvider):
    """Asks one model of one Ollama server. `models` and the first call check that it exists.

    Reasoning is switched off, since it would have to fit into a small window; an effort is not
    sent. If a model reasons anyway, it does so within `max_tokens`, and its reasoning is dropped.
    """

    # Any other reason marks an incomplete answer, for instance if the model is unloaded meanwhile.
    finishes: ClassVar[Mapping[str, Finish]] = {"stop": "stop", "length": "length"}
    sdk_errors = (ResponseError, RequestError, httpx.HTTPError, ConnectionError)
    unreachable = (httpx.ConnectError, httpx.ConnectTimeout, ConnectionError)
    timeout_errors = (httpx.TimeoutException,)
    listing_s = 2.0  # it answers from memory

    window: int
    """The configured window; after the first call at most the model's own."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.unreachable_step = "is not running; start it with `ollama serve`"
        self.window = int(connection.option("num_ctx"))
        self.steps = {
            UnknownModel: f"does not have {self.model!r}: run `ollama pull {self.model}`",
            ContextOverflow: f"{ERROR_ADVICE[ContextOverflow]}, or with a larger num_ctx",
            ProviderDown: "had an internal error; see its log",
        }
        self._checked = False
        self._can_think = False
        self._client = AsyncClient(
            host=self.url, timeout=httpx.Timeout(LOADING_S, connect=connection.connect_s),
            follow_redirects=False, trust_env=not on_this_machine(self.url),
            event_hooks={"request": [self._set_key_header]},
        )

    async def open_stream(self, request: Request, answer: ReplyStream) -> aclosing[Any]:
        """The SDK sends the request when its first line is awaited."""
        self._must_fit(request)
        await self._check()
        self._must_fit(request)  # the model's own window may be smaller than the configured one
        first = {"role": "system", "content": escape_surrogates(request.system)}
        output, conversation = request.output, turns(request)
        takes_schema = isinstance(output, Json) and RESPONSE_FORMAT not in self.refused
        form = dict(output.schema) if isinstance(output, Json) and takes_schema else None
        sampling = self.sampling(request)
        answer.optional = frozenset((*([RESPONSE_FORMAT] if form is not None else ()), *sampling))
        return aclosing(await self._client.chat(
            model=self.model, messages=[first, *conversation] if request.system else conversation,
            stream=True, format=form,
            options={"num_ctx": self.window, "num_predict": request.max_tokens, **sampling},
            think=False if self._can_think else None,
            keep_alive=str(self.connection.option("keep_alive")),
        ))

    def read(self, piece: ChatResponse, answer: ReplyStream) -> str:
        answer.accepted = True
        if piece.done:
            answer.end = escape_surrogates(str(piece.done_reason or "stop"))
            answer.counts = Usage(
                token_count(piece.prompt_eval_count) or 0, token_count(piece.eval_count) or 0
            )
        answer.reasoning.append(escape_surrogates(piece.message.thinking or ""))
        return piece.message.content or ""

    def ended(self, request: Request, answer: ReplyStream, usage: Usage) -> None:
        if self._may_be_cut(request, usage):
            raise ContextOverflow(
                f"{self.place} counted {usage.input} tokens of a request in a window of "
                f"{self.window}, so it may have cut the request; shorten it or set a larger "
                "OLLAMA_NUM_CTX", started=True, usage=usage,
            )

    def error_reply(self, error: BaseException) -> ErrorReply | None:
        """Errors are a status and a sentence; within a stream the SDK reports status -1."""
        self._checked = False  # the next call checks again
        if not isinstance(error, ResponseError):
            return None
        return ErrorReply(error.status_code, str(error.error))

    async def list_models(self) -> tuple[str, ...]:
        names = [str(model.model) for model in (await self._client.list()).models]
        own = _full(self.model)
        return tuple(self.model if _full(name) == own else name for name in names)

    async def close(self) -> None:
        await self._client.close()  # type: ignore[no-untyped-call]  # untyped in the SDK

    def _must_fit(self, request: Request) -> None:
        """Raises `ContextOverflow` if request and answer may not fit into the window."""
        tokens = question_tokens(self.count, texts_of(request))
        if tokens + request.max_tokens > self.window:
            raise ContextOverflow(
                f"a request of about {tokens} tokens and an answer of {request.max_tokens} do "
                f"not fit into the context window of {self.window} tokens; nothing was sent. "
                "Shorten the request or set a larger OLLAMA_NUM_CTX"
            )

    def _may_be_cut(self, request: Request, usage: Usage) -> bool:
        """Whether the server's token count of the request equals the length after a cut, or more
        than fits. A request with fewer bytes than the window has tokens cannot have been cut."""
        texts = texts_of(request)
        most = question_tokens(lambda text: len(escape_surrogates(text).encode()), texts)
        if usage.estimated or most <= self.window:
            return False
        half = self.window // 2
        return half <= usage.input <= half + 4 or usage.input > self.window - request.max_tokens

    async def _check(self) -> None:
        """Checks before the first call, and after a failed one, that the server has the model, and
        reads the model's window. Raises `CallFailed`."""
        if self._checked:
            return
        there = await self.models()
        if self.model not in there:
            raise UnknownModel(
                f"{self.place} does not have {self.model!r}: run `ollama pull {self.model}`"
                + (f", or choose one of {', '.join(there[:8])}" if there else "")
            )
        shown = await self.call_unbilled(self._client.show(self.model))
        for name, value in (shown.modelinfo or {}).items():
            if name.endswith(".context_length") and isinstance(value, int) and value > 0:
                self.window = min(int(self.connection.option("num_ctx")), value)
            if name == "general.parameter_count" and isinstance(value, int) and value > 0:
                self.parameters_b = value / 1e9
        self._can_think = "thinking" in (shown.capabilities or ())
        self._checked = True

    async def _set_key_header(self, request: httpx.Request) -> None:
        """Sets the connection's key on a request, or none; ignores the environment."""
        request.headers.pop("authorization", None)
        if self.key:
            request.headers["Authorization"] = f"Bearer {self.key.reveal()}"


def _full(model: str) -> str:
    """A model's name with its tag; no tag means `latest`."""
    name = model.lower()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"
