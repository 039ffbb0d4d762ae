"""The common base of HTTP providers: streaming an answer and classifying errors.

It depends on no SDK. Each provider defines what is sent, how a piece of its stream is read, and
which exceptions its SDK raises for transport errors.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Mapping, Set
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, ClassVar, TypeVar
from urllib.parse import urlsplit

from llm.errors import (
    CallFailed,
    ContextOverflow,
    InvalidResponse,
    NeedsKey,
    OptionRefused,
    Overloaded,
    ProviderDown,
    RateLimited,
    Rejected,
    TimedOut,
    UnknownModel,
    WrongKey,
)
from llm.keys import Secret
from llm.provider import (
    Connection,
    checked_url,
    escape_surrogates,
    estimated_tokens,
    implausibly_few,
    overlong_message,
)
from llm.redaction import MARK, Redactor
from llm.tokens import texts_of
from llm.types import MAX_TOKENS, Finish, Json, Reply, Request, Stream, TokenAlternative, Usage

T = TypeVar("T")
ExceptionTypes = tuple[type[Exception], ...]

LOADING_S = 300.0
"""The longest wait for the first piece from a server that may be loading its model; the request's
deadline also applies."""
CLOSING_S = 3.0
"""The longest wait for data that follows a finished answer, such as its token count."""
MAX_SHOWN = 300
"""The maximum characters of a provider's error text in a message."""

BY_STATUS: dict[int, type[CallFailed]] = {
    401: WrongKey, 402: WrongKey, 403: WrongKey, 408: TimedOut, 413: ContextOverflow,
    429: RateLimited, 503: Overloaded, 504: TimedOut, 529: Overloaded,
}
"""HTTP statuses whose meaning does not depend on the server."""

ERROR_ADVICE: dict[type[CallFailed], str] = {
    WrongKey: "rejected the key; check it, and the balance and limits of its account",
    UnknownModel: "does not have the model; choose one that it lists",
    ContextOverflow: "found the request too long; shorten it",
    Rejected: "found the request invalid; check the base URL",
    RateLimited: "allows no more calls now; try again later",
    Overloaded: "has no capacity now; try again later",
    TimedOut: "did not answer in time; try again later",
    ProviderDown: "had an internal error; try again later",
}
"""What happened and the next step for each kind of error; a provider may replace some of them."""


UNREACHABLE = "cannot be reached"

RESPONSE_FORMAT = "form"
"""The optional schema; the other optional parameters go by the server's names."""


@dataclass(frozen=True)
class ErrorReply:
    """An error as a server reported it."""

    status: int
    """The HTTP status; 0 or -1 for an error within a stream."""
    words: str
    names: tuple[str, ...] = ()
    """Error codes and types."""
    retry_after_s: float | None = None

    @property
    def line(self) -> str:
        """A one-line summary."""
        number = str(self.status) if self.status > 0 else ""
        name = " ".join(filter(None, (number, *self.names[:1])))
        return ": ".join(filter(None, (name, self.words or "no further details")))


BY_NAME: tuple[tuple[type[CallFailed], set[str]], ...] = (
    (WrongKey, {
        "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "arrearage",
        "insufficient_balance", "invalid_api_key", "invalid_authentication", "billing_error",
        "authentication_error", "api_key_invalid", "account_deactivated", "permission_error",
    }),
    (UnknownModel, {
        "model_not_found", "model_not_available", "model_decommissioned", "not_found_error",
    }),
    (ContextOverflow, {
        "context_length_exceeded", "exceed_context_size_error", "request_too_large",
    }),
    (Overloaded, {"overloaded_error", "server_overloaded", "overloaded"}),
    (RateLimited, {"rate_limit_exceeded", "rate_limit_error", "too_many_requests"}),
    (TimedOut, {"timeout_error"}),
)
"""Error classes by code or type, the most specific first."""

# Some servers have no code for these, only text. If the text changes, the error is `Rejected`.
TOO_LONG = re.compile(
    r"context[ _](length|window|size|limit)|maximum (context|number of tokens)|too many tokens"
    r"|prompt (is )?too long|range of input length",
    re.IGNORECASE,
)
KEY_WORDS = re.compile(r"api[ _-]?key", re.IGNORECASE)
MODEL_WORDS = re.compile(r"\bmodels?\b", re.IGNORECASE)
NO_MODEL = re.compile(r"model .*not found|try pulling", re.IGNORECASE)
BUSY = re.compile(r"server busy|maximum pending requests", re.IGNORECASE)


def kind_of(reply: ErrorReply) -> type[CallFailed]:
    """The class of a server's error.

    Servers use statuses, codes or text for the same error, and an error within a stream has no
    status. So all three are checked, the most specific first. An account without credit counts as
    `WrongKey`, though servers send 429 or 402: waiting does not help.
    """
    names = {name.lower() for name in reply.names}
    numbers = [int(name) for name in reply.names if re.fullmatch(r"[45]\d\d", name)]
    status = reply.status if reply.status >= 300 else next(iter(numbers), 0)
    if any(name.endswith("spend_limit_reached") for name in names):
        return WrongKey
    for kind, its_names in BY_NAME:
        if names & its_names:
            return kind
    if status == 498 or BUSY.search(reply.words):  # Groq's status for a lack of capacity
        return Overloaded
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status < 500 and TOO_LONG.search(reply.words):
        return ContextOverflow
    # A wrong address is also answered with 404, but without mentioning a model.
    if (MODEL_WORDS if status == 404 else NO_MODEL).search(reply.words) and status in (0, 400, 404):
        return UnknownModel
    if status == 400 and KEY_WORDS.search(reply.words):  # Gemini's status for a wrong key
        return WrongKey
    if status == 0:
        return Rejected if "invalid_request_error" in names else ProviderDown
    return Rejected if status < 500 else ProviderDown


PLAIN_FINISH = ("", "stop", "length", "end_turn", "stop_sequence")
"""Finish reasons that need no explanation."""


NO_USAGE = Usage()


@dataclass
class ReplyStream:
    """The received part of an answer."""

    finishes: Mapping[str, Finish]
    """The server's finish reasons; any other reason marks an incomplete answer."""
    most: int = 0
    """The maximum output tokens of the request."""
    optional: frozenset[str] = frozenset()
    """The optional parameters of the request."""
    started_at: float = field(default_factory=time.perf_counter)
    accepted: bool = False
    """Whether the server has answered with status 200, from which on the call may be billed."""
    started: bool = False
    """Whether a piece of the stream has arrived."""
    end: str = ""
    """The server's finish reason; empty before the end."""
    why: str = ""
    """The server's explanation of the finish reason."""
    refusal: str = ""
    counts: Usage = NO_USAGE
    """The server's token counts."""
    pieces: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    """Reasoning, which is billed but not part of the text."""
    first_s: float | None = None
    alternatives: list[TokenAlternative] = field(default_factory=list)
    logprob_chars: int = 0
    """Characters of the tokens whose probabilities have arrived."""

    length: int = 0
    """Characters of the text. Reasoning is not counted, since some servers do not limit it."""

    def add(self, text: str) -> str:
        """Appends a piece of the answer's text."""
        text = escape_surrogates(text)
        self.started = True
        if text:
            self.pieces.append(text)
            self.length += len(text)
            if self.first_s is None:
                self.first_s = time.perf_counter() - self.started_at
        return text

    @property
    def finish(self) -> Finish:
        return "refusal" if self.refusal else self.finishes.get(self.end.lower(), "cut")

    def usage(self, sent: str) -> Usage:
        """The server's token counts, or our estimate if they are missing, partial or implausible
        (an SDK reads `true` as 1). An estimate never exceeds the request's token limit."""
        asked, output = replace(self.counts, output=0), self.counts.output
        text = "".join((*self.pieces, self.refusal))
        reasoning = "".join(self.reasoning)
        counted = is_count(asked.total, sent)
        if counted and self.end and is_count(output, text) and (output or not reasoning):
            return self.counts
        if not counted:
            asked = Usage(max(estimated_tokens(sent), asked.total))
        estimate = min(estimated_tokens(text + reasoning), self.most)
        return replace(asked, output=max(estimate, output), estimated=True)


Pieces = AsyncIterator[Any]
"""The stream of an SDK; each SDK has its own types, or none."""


class HttpProvider(ABC):
    """A model behind a server, accessed through an SDK. See `Provider`."""

    finishes: ClassVar[Mapping[str, Finish]]
    sdk_errors: ClassVar[ExceptionTypes]
    """The exceptions of the SDK and of its transport."""
    wrapper_errors: ClassVar[ExceptionTypes] = ()
    """SDK exceptions that wrap a transport exception."""
    unreachable: ClassVar[ExceptionTypes]
    timeout_errors: ClassVar[ExceptionTypes]
    listing_s: ClassVar[float] = 20.0
    """The time-out in seconds of requests that are not billed, such as the list of models."""

    exact = False
    window: int | None = None
    parameters_b: float | None = None
    """Billions of parameters, if the server lists them."""

    def __init__(self, connection: Connection) -> None:
        self.name = connection.provider
        self.connection = connection
        self.row = connection.row
        self.model = connection.model or self.row.model
        self.thinks = self.row.thinking(self.model)
        self.unreachable_step = UNREACHABLE
        """The message for a server that cannot be reached."""
        self.steps: Mapping[type[CallFailed], str] = {}
        """Next steps that replace those of `ERROR_ADVICE`."""
        self.refused: set[str] = set()
        """The optional parameters that this server has refused."""
        self.key = connection.key
        if self.key or self.row.needs_key:
            sendable_key(self.key, self.name, self.row.key)
        self.url = checked_url(connection.base_url or self.row.base_url, self.name)
        self.place = f"{self.name} at {place(self.url)}"
        self._handled_errors: ExceptionTypes = (*self.sdk_errors, TimeoutError, MalformedReply)

    @abstractmethod
    async def open_stream(
        self, request: Request, answer: ReplyStream
    ) -> AbstractAsyncContextManager[Pieces]:
        """Sends a request and returns its stream; sets `answer.accepted` on status 200."""

    @abstractmethod
    def read(self, piece: Any, answer: ReplyStream) -> str:
        """The text that a piece of the stream adds; other data is stored in `answer`."""

    @abstractmethod
    def error_reply(self, error: BaseException) -> ErrorReply | None:
        """The server's error in an exception; `None` for a transport error."""

    @abstractmethod
    async def list_models(self) -> tuple[str, ...]:
        """The models, in the form of `Provider.models`."""

    def ended(self, request: Request, answer: ReplyStream, usage: Usage) -> None:  # noqa: B027 - a hook
        """Checks a complete answer; raises `CallFailed` for an invalid one."""

    async def stream(self, request: Request) -> Stream:
        answer = ReplyStream(self.finishes, request.max_tokens)
        fault: CallFailed | None = None
        if isinstance(request.output, Json) and not self.takes_schema(request):
            request = replace(request, system=f"{request.system}{schema_prompt(request.output)}")
        prefill = request.prefill if self.row.supports_prefill else None
        opening = before = "" if prefill is None else prefill.text
        try:
            async with await self.open_stream(request, answer) as pieces:
                while True:
                    async with asyncio.timeout(self._silence_s(request, answer)):
                        piece = await convert_errors(anext(pieces, None))
                    if piece is None:
                        break
                    text = self._text_of(piece, answer)
                    if text:
                        yield before + text
                        before = ""
        except self._handled_errors as error:
            if not answer.end:
                fault = self._fault(error, answer, sent_text(request))
            # Otherwise the answer is complete, and only its token count is lost.
        if fault is not None:
            raise fault  # outside of `except`: the SDK's exception may quote a key
        usage = answer.usage(sent_text(request))
        self.ended(request, answer, usage)
        closing = "" if prefill is None or answer.finish != "stop" else prefill.stop
        if before + closing:
            yield before + closing
        reason = answer.refusal or answer.why or ("" if answer.end in PLAIN_FINISH else answer.end)
        whole = "".join((opening, *answer.pieces, closing))
        yield Reply(
            whole, answer.finish, self.name, self.model, usage,
            note="; ".join(filter(None, (redacted(reason, self.key), self._unsent(request)))),
            wall_s=time.perf_counter() - answer.started_at, first_s=answer.first_s,
            alternatives=tuple(
                one._replace(at=one.at + len(opening)) for one in answer.alternatives
            ),
            parameters_b=self.parameters_b,
        )

    def _text_of(self, piece: Any, answer: ReplyStream) -> str:
        """The text that a piece adds. SDKs do not validate pieces, so malformed ones fail here."""
        try:
            text = answer.add(self.read(piece, answer))
        except (AttributeError, TypeError) as error:
            raise MalformedReply(f"malformed piece: {error}") from None
        if implausibly_few(answer.most, answer.length + len(answer.refusal)):
            raise AnswerTooLong
        return text

    async def models(self) -> tuple[str, ...]:
        return await self.call_unbilled(self.list_models())

    async def call_unbilled(self, answer: Awaitable[T]) -> T:
        """Awaits a request that is not billed, within `listing_s`; converts its errors."""
        try:
            async with asyncio.timeout(self.listing_s):
                return await convert_errors(answer)
        except self._handled_errors as error:
            fault = self._fault(error, ReplyStream(self.finishes))
        raise fault

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    def sampling(self, request: Request) -> dict[str, float]:
        """The temperature parameter, if the model takes one."""
        mode = self.row.temperature
        accepts = mode == "always" or (
            mode == "unless thinking" and not self.row.thinking(self.model)
        )
        value = request.temperature
        sent = accepts and "temperature" not in self.refused
        return {"temperature": value} if value is not None and sent else {}

    def takes_schema(self, request: Request) -> bool:
        """Whether the JSON Schema is sent as a parameter, not only in the prompt."""
        return RESPONSE_FORMAT not in self.refused

    def _unsent(self, request: Request) -> str:
        """A note if the requested temperature is not sent. An effort may be dropped without a note,
        since it only applies to reasoning models."""
        unsent = request.temperature is not None and not self.sampling(request)
        return "sent without temperature, which the model does not accept" if unsent else ""

    def loading_s(self, request: Request) -> float:
        """The longest wait for the first piece."""
        return min(max(LOADING_S, self.connection.stall_s), request.deadline_s)

    def _silence_s(self, request: Request, answer: ReplyStream) -> float | None:
        """Seconds to wait for a piece; `None` for remote servers, whose keep-alive messages are not
        pieces. There the client's read time-out applies."""
        if answer.end:
            return CLOSING_S
        if not self.row.local:
            return None
        return self.connection.stall_s if answer.started else self.loading_s(request)

    def _fault(self, error: BaseException, answer: ReplyStream, sent: str = "") -> CallFailed:
        """The `CallFailed` for an exception of the SDK or its transport."""
        started = answer.accepted  # the call may be billed from here on
        usage = answer.usage(sent) if answer.started else None
        reply = self.error_reply(error)
        if reply is not None:
            kind = kind_of(reply)
            step = self.steps.get(kind, ERROR_ADVICE[kind])
            if kind is Rejected and reply.status in (400, 422) and not started:
                option = refused_option(reply, answer.optional)
                if option:
                    return self._without(option, reply)
                # A server that validates a request is at the right address.
                step = step.partition(";")[0]
            message = f"{self.place} {step} ({redacted(reply.line, self.key)})"
            if issubclass(kind, RateLimited):
                return kind(
                    message, retry_after_s=reply.retry_after_s, started=started, usage=usage
                )
            return kind(message, started=started, usage=usage)
        cause = error.__cause__ if isinstance(error, self.wrapper_errors) else None
        fault = cause or error
        name = type(fault).__name__.strip("_")
        what = redacted(f"{name}: {fault}".removesuffix(": "), self.key)
        if isinstance(fault, self.unreachable) and not started:
            return ProviderDown(f"{self.place} {self.unreachable_step} ({what})")
        if isinstance(fault, (*self.timeout_errors, TimeoutError)):
            return TimedOut(
                f"{self.place} sent nothing for too long ({what}); try again later",
                started=started, usage=usage,
            )
        if isinstance(fault, AnswerTooLong):
            what = f"{self.place} {overlong_message(answer.most)}"
            return InvalidResponse(what, started=started, usage=usage)
        garbled = isinstance(fault, MalformedReply)
        words = "interrupted its answer" if started and not garbled else "sent an invalid response"
        kind = InvalidResponse if garbled and started else ProviderDown
        return kind(f"{self.place} {words} ({what})", started=started, usage=usage)

    def _without(self, option: str, reply: ErrorReply) -> OptionRefused:
        """Marks an optional parameter as refused, so that it is not sent again."""
        self.refused.add(option)
        complaint = redacted(reply.line, self.key)
        what, next_ = option, "omitted"
        if option == RESPONSE_FORMAT:
            what, next_ = "a schema", "described in the prompt"
        return OptionRefused(
            f"{self.place} refused a request with {what} ({complaint}); from now on it is {next_}"
        )


def refused_option(reply: ErrorReply, optional: Set[str]) -> str:
    """The optional parameter that made the server reject a request: the one that its error names,
    else the schema, which servers name differently; empty if neither was sent."""
    words = reply.words.lower()
    named = sorted(one for one in optional if one != RESPONSE_FORMAT and one in words)
    return next((one for one in (*named, RESPONSE_FORMAT) if one in optional), "")


def schema_prompt(output: Json) -> str:
    """The schema of an answer as prompt text, for a server without a schema mode."""
    return (
        "\n\nAnswer with one JSON value, without a fence or other words, "
        f"valid under this JSON Schema:\n{json.dumps(output.schema, ensure_ascii=False)}"
    )


def turns(request: Request) -> list[dict[str, str]]:
    """The messages in the common wire format."""
    said = [(one.speaker, escape_surrogates(one.text)) for one in request.messages]
    return [{"role": role, "content": text} for role, text in said]


def sent_text(request: Request) -> str:
    return "\n".join(texts_of(request))


def is_count(tokens: int, text: str) -> bool:
    """Whether a token count is plausible for a text; a real count may be low, but not 1."""
    return tokens > 1 or not implausibly_few(tokens, len(text))


class MalformedReply(Exception):
    """The response does not have the form that the SDK expects."""


class AnswerTooLong(MalformedReply):
    """The answer exceeds its token limit."""


async def convert_errors(answer: Awaitable[T]) -> T:
    """Awaits an SDK call and converts Python errors into `MalformedReply`. SDKs do not validate a
    server's JSON: deep nesting, huge numbers or missing objects raise built-in exceptions."""
    try:
        return await answer
    except (ValueError, AttributeError, TypeError, RecursionError) as fault:
        raise MalformedReply(str(fault)) from None


def token_count(count: object) -> int | None:
    """A server's token count, at most `MAX_TOKENS`; `None` for an invalid value."""
    if type(count) is not int or count < 0:
        return None
    return min(count, MAX_TOKENS)


def sendable_key(key: Secret, provider: str, key_name: str) -> str:
    """The key's text. Raises `NeedsKey` for an empty key, and `WrongKey` for one with characters
    that a header cannot carry, since clients quote such a value in their error messages."""
    text = key.reveal()
    if not text:
        raise NeedsKey(f"{provider} needs a key: set {key_name}, or enter one", key_name)
    if not re.fullmatch(r"[!-~]+", text):
        raise WrongKey(f"the key of {provider} contains invalid characters: copy it again")
    return text


def place(url: str) -> str:
    """A URL without credentials and query, for messages."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"


def on_this_machine(url: str) -> bool:
    """Whether a URL points to loopback, for which proxies are ignored."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def redacted(text: str, key: Secret) -> str:
    """A provider's error text on one line of bounded length, with this key and everything that
    looks like a key replaced by stars."""
    text = Redactor([key]).text(text)
    if key:
        text = text.replace(key.reveal(), MARK)
    line = " ".join(escape_surrogates(text).split())
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}…"


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After` (seconds or a date); `None` without
    either. `headers` must accept lower-case names."""
    for name, unit_s in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit_s
        except (KeyError, ValueError):
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    try:
        then = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    if then.tzinfo is None:
        then = then.replace(tzinfo=UTC)
    return max(0.0, (then - (now or datetime.now(UTC))).total_seconds())
