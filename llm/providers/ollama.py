"""Models behind Ollama, asked through its own SDK and its own `/api/chat`: the route that is like
OpenAI's ignores `num_ctx`. Tried against a server that speaks the wire format, and never against
a real Ollama.

Where a question is longer than the window, Ollama cuts it, keeps half a window of its end, and
says nothing. So the window is asked for by name and is the same for a whole connection, since
another one reloads the model; a question that may not fit is not sent; and the count of the
question in the answer is looked at for signs of a cut. Its count is an estimate here that is
rather too high, but no bound, so both are needed. The SDK cannot send `truncate: false`, by which
newer servers would refuse such a question instead.

The SDK would wait for ever, and would take an address and a key from the environment. Here it is
given both, and every wait has an end: a long one for the first byte, since a model may have to be
loaded first, then one between two pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, ClassVar

import httpx
from ollama import AsyncClient, ChatResponse, RequestError, ResponseError

from llm.errors import ContextOverflow, ProviderDown, UnknownModel
from llm.provider import Connection, sayable
from llm.providers.wire import (
    FORM,
    LOADING_S,
    NEXT_STEP,
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
    """Answers by one model of one Ollama. `models` and the first call look whether it is there.

    A model that can think is asked not to: its thoughts would have to have room in a window that
    is small already. So an effort is not sent. Where one thinks all the same it does so within
    `max_tokens`, and its thoughts are no text.
    """

    # Every other end is of an answer that is not whole, as where the model is unloaded amid it.
    finishes: ClassVar[Mapping[str, Finish]] = {"stop": "stop", "length": "length"}
    sdk_faults = (ResponseError, RequestError, httpx.HTTPError, ConnectionError)
    unreachable = (httpx.ConnectError, httpx.ConnectTimeout, ConnectionError)
    silent = (httpx.TimeoutException,)
    listing_s = 2.0  # it answers from memory

    window: int
    """As asked for; once the model was seen, no more than what it was made for."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection)
        self.away = "is not running; start it with `ollama serve`"
        self.window = int(connection.option("num_ctx"))
        self.steps = {
            UnknownModel: f"does not have {self.model!r}: run `ollama pull {self.model}`",
            ContextOverflow: f"{NEXT_STEP[ContextOverflow]}, or with a larger num_ctx",
            ProviderDown: "failed by its own fault; its log says more",
        }
        self._checked = False
        self._can_think = False
        self._client = AsyncClient(
            host=self.url,
            timeout=httpx.Timeout(LOADING_S, connect=connection.connect_s),
            follow_redirects=False,
            trust_env=not on_this_machine(self.url),
            event_hooks={"request": [self._keyed]},
        )

    async def opened(self, request: Request, answer: ReplyStream) -> aclosing[Any]:
        """Nothing of the question is sent before the first line is waited for."""
        self._must_fit(request)
        await self._check()
        self._must_fit(request)  # the model may have been made for less than was asked for
        first = {"role": "system", "content": sayable(request.system)}
        output, conversation = request.output, turns(request)
        takes_form = isinstance(output, Json) and FORM not in self.refused
        form = dict(output.schema) if isinstance(output, Json) and takes_form else None
        sampling = self.sampling(request)
        answer.wishes = frozenset((*([FORM] if form is not None else ()), *sampling))
        return aclosing(await self._client.chat(
            model=self.model,
            messages=[first, *conversation] if request.system else conversation,
            stream=True,
            format=form,
            options={"num_ctx": self.window, "num_predict": request.max_tokens, **sampling},
            think=False if self._can_think else None,
            keep_alive=str(self.connection.option("keep_alive")),
        ))

    def read(self, piece: ChatResponse, answer: ReplyStream) -> str:
        answer.accepted = True
        if piece.done:
            answer.end = sayable(str(piece.done_reason or "stop"))
            answer.counts = Usage(
                token_count(piece.prompt_eval_count) or 0, token_count(piece.eval_count) or 0
            )
        answer.thoughts.append(sayable(piece.message.thinking or ""))
        return piece.message.content or ""

    def ended(self, request: Request, answer: ReplyStream, usage: Usage) -> None:
        if self._may_be_cut(request, usage):
            raise ContextOverflow(
                f"{self.place} counted {usage.input} tokens of a question in a window of "
                f"{self.window}, so it may have cut it in silence; ask with less, or with a "
                "larger num_ctx", started=True, usage=usage,
            )

    def error_reply(self, error: BaseException) -> ErrorReply | None:
        """Its errors are a status and a sentence; in a stream that has begun the SDK gives the
        status -1, and only the sentence tells."""
        self._checked = False  # the next call checks again
        if not isinstance(error, ResponseError):
            return None
        return ErrorReply(error.status_code, str(error.error))

    async def listed(self) -> tuple[str, ...]:
        names = [str(model.model) for model in (await self._client.list()).models]
        own = _full(self.model)
        return tuple(self.model if _full(name) == own else name for name in names)

    async def close(self) -> None:
        await self._client.close()  # type: ignore[no-untyped-call]  # the SDK leaves it out

    def _must_fit(self, request: Request) -> None:
        """Raises `ContextOverflow` where question and answer may not have room together."""
        tokens = question_tokens(self.count, texts_of(request))
        if tokens + request.max_tokens > self.window:
            raise ContextOverflow(
                f"a question of about {tokens} tokens and an answer of {request.max_tokens} do "
                f"not fit into the window of {self.window} tokens; nothing was sent: ask with "
                "less, or with a larger num_ctx"
            )

    def _may_be_cut(self, request: Request, usage: Usage) -> bool:
        """Whether the server's count of the question is what a cut would leave, or more than what
        was found to fit. Where no text of that many bytes could fill the window, none was cut."""
        most = question_tokens(lambda text: len(sayable(text).encode()), texts_of(request))
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
                f"{self.place} does not have {self.model!r}: run `ollama pull {self.model}`"
                + (f", or choose one of {', '.join(there[:8])}" if there else "")
            )
        shown = await self.unbilled(self._client.show(self.model))
        for name, value in (shown.modelinfo or {}).items():
            if name.endswith(".context_length") and isinstance(value, int) and value > 0:
                self.window = min(int(self.connection.option("num_ctx")), value)
            if name == "general.parameter_count" and isinstance(value, int) and value > 0:
                self.parameters_b = value / 1e9
        self._can_think = "thinking" in (shown.capabilities or ())
        self._checked = True

    async def _keyed(self, request: httpx.Request) -> None:
        """Gives a request the connection's key or none, whatever the environment holds."""
        request.headers.pop("authorization", None)
        if self.key:
            request.headers["Authorization"] = f"Bearer {self.key.reveal()}"


def _full(model: str) -> str:
    """A model's name with its tag; no tag means `latest`."""
    name = model.lower()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"
