"""What providers behind HTTP have in common: an answer as it comes, and what faults mean.

Nothing here knows an SDK: each provider says what is sent, what a piece of its stream holds, and
which exceptions its SDK makes of a broken transport.
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
    Misspoken,
    NeedsKey,
    Overloaded,
    ProviderDown,
    RateLimited,
    Rejected,
    TimedOut,
    UnknownModel,
    WishRefused,
    WrongKey,
)
from llm.keys import Secret
from llm.provider import (
    Connection,
    checked_url,
    estimated_tokens,
    overlong,
    sayable,
    too_few,
)
from llm.redaction import MARK, Redactor
from llm.tokens import texts_of
from llm.types import MAX_TOKENS, Finish, Json, Reply, Request, Stream, TokenAlternative, Usage

T = TypeVar("T")
Faults = tuple[type[Exception], ...]

LOADING_S = 300.0
"""The longest wait for the first piece of a server that may be loading its model; the request's
deadline is another bound."""
CLOSING_S = 3.0
"""The longest wait for what comes behind an answer's end, as its count of tokens."""
MAX_SHOWN = 300
"""Characters of a provider's own words that reach a message."""

BY_STATUS: dict[int, type[CallFailed]] = {
    401: WrongKey, 402: WrongKey, 403: WrongKey, 408: TimedOut, 413: ContextOverflow,
    429: RateLimited, 503: Overloaded, 504: TimedOut, 529: Overloaded,
}
"""HTTP statuses whose meaning does not depend on the server."""

NEXT_STEP: dict[type[CallFailed], str] = {
    WrongKey: "does not accept the key; check it, and its account's balance and limits",
    UnknownModel: "does not have the model; choose one that it lists",
    ContextOverflow: "finds the question too long; ask with less",
    Rejected: "finds the request wrong; check the base URL",
    RateLimited: "allows no more calls now; come again later",
    Overloaded: "has no capacity now; come again later",
    TimedOut: "gave no answer in time; come again later",
    ProviderDown: "failed by its own fault; come again later",
}
"""Next steps for each kind of refusal; a provider may replace some of them."""


AWAY = "cannot be reached"

FORM = "form"
"""A wish that a server may refuse; the others have its own names of parameters."""


@dataclass(frozen=True)
class ErrorReply:
    """An error as a server reported it."""

    status: int
    """Of HTTP; not positive where only the words of a stream that had begun well tell."""
    words: str
    names: tuple[str, ...] = ()
    """Its codes and types."""
    retry_after_s: float | None = None

    @property
    def line(self) -> str:
        """All of it in short."""
        number = str(self.status) if self.status > 0 else ""
        name = " ".join(filter(None, (number, *self.names[:1])))
        return ": ".join(filter(None, (name, self.words or "no more was said")))


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
"""By a code or a type, the most telling first."""

# There is no code for these everywhere, only words; if they change, it is `Rejected`, and says so.
TOO_LONG = re.compile(
    r"context[ _](length|window|size|limit)|maximum (context|number of tokens)|too many tokens"
    r"|prompt (is )?too long|range of input length",
    re.IGNORECASE,
)
KEY_WORDS = re.compile(r"api[ _-]?key", re.IGNORECASE)
MODEL_WORDS = re.compile(r"\bmodels?\b", re.IGNORECASE)
NO_MODEL = re.compile(r"model .*not found|try pulling", re.IGNORECASE)
BUSY = re.compile(r"server busy|maximum pending requests", re.IGNORECASE)


def kind_of(said: ErrorReply) -> type[CallFailed]:
    """What a server means by an error.

    Servers agree on the shape of an error and on little else: some say with a status what others
    say with a code or in words alone, and in a stream that has begun there is no status. So all of
    it is looked at, the most telling first. An account without credit is a key that may not do
    this, though servers say 429 or 402: no waiting mends it, and only the key's owner can.
    """
    names = {name.lower() for name in said.names}
    numbers = [int(name) for name in said.names if re.fullmatch(r"[45]\d\d", name)]
    status = said.status if said.status >= 300 else next(iter(numbers), 0)
    if any(name.endswith("spend_limit_reached") for name in names):
        return WrongKey
    for kind, its_names in BY_NAME:
        if names & its_names:
            return kind
    if status == 498 or BUSY.search(said.words):  # Groq's number for a lack of capacity
        return Overloaded
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status < 500 and TOO_LONG.search(said.words):
        return ContextOverflow
    # So is a wrong address answered, by a server that speaks of no models.
    if (MODEL_WORDS if status == 404 else NO_MODEL).search(said.words) and status in (0, 400, 404):
        return UnknownModel
    if status == 400 and KEY_WORDS.search(said.words):  # Gemini's status for a wrong key
        return WrongKey
    if status == 0:
        return Rejected if "invalid_request_error" in names else ProviderDown
    return Rejected if status < 500 else ProviderDown


PLAIN_ENDS = ("", "stop", "length", "end_turn", "stop_sequence")
"""Ends that need no reason."""


NOTHING = Usage()


@dataclass
class ReplyStream:
    """What has come of an answer so far."""

    finishes: Mapping[str, Finish]
    """The server's words for an answer's end; every other one is of an answer that is not whole."""
    most: int = 0
    """Tokens that were asked for."""
    wishes: frozenset[str] = frozenset()
    """What was sent with the question and can be left out."""
    begun: float = field(default_factory=time.perf_counter)
    accepted: bool = False
    """The server has said 200: whatever comes now, the call may be paid for."""
    started: bool = False
    """A piece of the stream has come."""
    end: str = ""
    """The server's word for why it stopped; empty until it has."""
    why: str = ""
    """What it said of that."""
    refusal: str = ""
    counts: Usage = NOTHING
    """As the server has counted."""
    pieces: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    """They are paid for, and are no text."""
    first_s: float | None = None
    alternatives: list[TokenAlternative] = field(default_factory=list)
    scored: int = 0
    """Characters of the tokens whose probabilities have come."""

    length: int = 0
    """Characters of its text. Some servers do not bound thoughts."""

    def add(self, text: str) -> str:
        """Takes a piece of the answer's text in."""
        text = sayable(text)
        self.started = True
        if text:
            self.pieces.append(text)
            self.length += len(text)
            if self.first_s is None:
                self.first_s = time.perf_counter() - self.begun
        return text

    @property
    def finish(self) -> Finish:
        return "refusal" if self.refusal else self.finishes.get(self.end.lower(), "cut")

    def usage(self, sent: str) -> Usage:
        """The server's count; our own estimate where it has not counted, or not to the end, or says
        one token of what cannot be one, as an SDK reads `true` for 1. Nobody is charged for more by
        our estimate than was asked for."""
        asked, output = replace(self.counts, output=0), self.counts.output
        text = "".join((*self.pieces, self.refusal))
        thoughts = "".join(self.thoughts)
        counted = is_count(asked.total, sent)
        if counted and self.end and is_count(output, text) and (output or not thoughts):
            return self.counts
        if not counted:
            asked = Usage(max(estimated_tokens(sent), asked.total))
        said = min(estimated_tokens(text + thoughts), self.most)
        return replace(asked, output=max(said, output), estimated=True)


Pieces = AsyncIterator[Any]
"""What an SDK makes of a stream; each has types of its own, or none."""


class HttpProvider(ABC):
    """A model behind a server, asked by its SDK. See `Provider`."""

    finishes: ClassVar[Mapping[str, Finish]]
    sdk_faults: ClassVar[Faults]
    """What the SDK lets through: its own exceptions, and its transport's."""
    wrapping: ClassVar[Faults] = ()
    """Those of them that stand around one of the transport."""
    unreachable: ClassVar[Faults]
    silent: ClassVar[Faults]
    listing_s: ClassVar[float] = 20.0
    """The most seconds for a question that spends nothing, as for the models."""

    exact = False
    window: int | None = None
    parameters_b: float | None = None
    """As the server tells with its models."""

    def __init__(self, connection: Connection) -> None:
        self.name = connection.provider
        self.connection = connection
        self.row = connection.row
        self.model = connection.model or self.row.model
        self.thinks = self.row.thinking(self.model)
        self.away = AWAY
        """What is said of a server that cannot be reached."""
        self.steps: Mapping[type[CallFailed], str] = {}
        """Next steps that replace those of `NEXT_STEP`."""
        self.refused: set[str] = set()
        """The wishes that this server has refused."""
        self.key = connection.key
        if self.key or self.row.needs_key:
            sendable_key(self.key, self.name, self.row.key)
        self.url = checked_url(connection.base_url or self.row.base_url, self.name)
        self.place = f"{self.name} at {place(self.url)}"
        self._faults: Faults = (*self.sdk_faults, TimeoutError, Unreadable)

    @abstractmethod
    async def opened(
        self, request: Request, answer: ReplyStream
    ) -> AbstractAsyncContextManager[Pieces]:
        """Sends a question; notes on the answer that it is accepted once the server says so."""

    @abstractmethod
    def read(self, piece: Any, answer: ReplyStream) -> str:
        """The text that a piece of the stream adds; all else that it tells goes to the answer."""

    @abstractmethod
    def error_reply(self, error: BaseException) -> ErrorReply | None:
        """What the server said by an exception; `None` for a fault of the transport."""

    @abstractmethod
    async def listed(self) -> tuple[str, ...]:
        """The models, as `Provider.models` gives them."""

    def ended(self, request: Request, answer: ReplyStream, usage: Usage) -> None:  # noqa: B027 - a hook
        """Looks at an answer's end; raises for one that is none."""

    async def stream(self, request: Request) -> Stream:
        answer = ReplyStream(self.finishes, request.max_tokens)
        fault: CallFailed | None = None
        if isinstance(request.output, Json) and not self.takes_form(request):
            request = replace(request, system=f"{request.system}{form_words(request.output)}")
        frame = request.frame if self.row.frames else None
        opening = before = "" if frame is None else frame.opening
        try:
            async with await self.opened(request, answer) as pieces:
                while True:
                    async with asyncio.timeout(self._silence_s(request, answer)):
                        piece = await readable(anext(pieces, None))
                    if piece is None:
                        break
                    text = self._text_of(piece, answer)
                    if text:
                        yield before + text
                        before = ""
        except self._faults as error:
            if not answer.end:
                fault = self._fault(error, answer, sent_text(request))
            # Else the answer is whole, and what was lost is the count of its tokens.
        if fault is not None:
            raise fault  # out here, where no fault of the SDK, which may quote a key, hangs on it
        usage = answer.usage(sent_text(request))
        self.ended(request, answer, usage)
        closing = "" if frame is None or answer.finish != "stop" else frame.closing
        if before + closing:
            yield before + closing
        reason = answer.refusal or answer.why or ("" if answer.end in PLAIN_ENDS else answer.end)
        whole = "".join((opening, *answer.pieces, closing))
        yield Reply(
            whole, answer.finish, self.name, self.model, usage,
            note="; ".join(filter(None, (scrubbed(reason, self.key), self._unsent(request)))),
            wall_s=time.perf_counter() - answer.begun, first_s=answer.first_s,
            alternatives=tuple(
                one._replace(at=one.at + len(opening)) for one in answer.alternatives
            ),
            parameters_b=self.parameters_b,
        )

    def _text_of(self, piece: Any, answer: ReplyStream) -> str:
        """The text that a piece adds. SDKs make their types of whatever comes, so that one of the
        wrong form is found out here."""
        try:
            text = answer.add(self.read(piece, answer))
        except (AttributeError, TypeError) as error:
            raise Unreadable(f"a piece of the wrong form: {error}") from None
        if too_few(answer.most, answer.length + len(answer.refusal)):
            raise Overlong
        return text

    async def models(self) -> tuple[str, ...]:
        return await self.unbilled(self.listed())

    async def unbilled(self, answer: Awaitable[T]) -> T:
        """The answer to a question that spends nothing."""
        try:
            async with asyncio.timeout(self.listing_s):
                return await readable(answer)
        except self._faults as error:
            fault = self._fault(error, ReplyStream(self.finishes))
        raise fault

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    def sampling(self, request: Request) -> dict[str, float]:
        """The temperature, where the model takes one."""
        takes = self.row.temperature
        calm = takes == "always" or (
            takes == "unless thinking" and not self.row.thinking(self.model)
        )
        wished = request.temperature
        takes_it = calm and "temperature" not in self.refused
        return {"temperature": wished} if wished is not None and takes_it else {}

    def takes_form(self, request: Request) -> bool:
        """Whether the form of an answer in JSON is sent beside the words."""
        return FORM not in self.refused

    def _unsent(self, request: Request) -> str:
        """Words for a temperature that was wished and is not taken there: no wish is dropped in
        silence. An effort may be: it is for models that think, whichever they are."""
        unsent = request.temperature is not None and not self.sampling(request)
        return "asked without temperature, which it does not take" if unsent else ""

    def loading_s(self, request: Request) -> float:
        """The longest wait for a first piece."""
        return min(max(LOADING_S, self.connection.stall_s), request.deadline_s)

    def _silence_s(self, request: Request, answer: ReplyStream) -> float | None:
        """Seconds to wait for a piece. A far server's signs of life are no pieces, so there bytes
        are waited for, by the client's own patience."""
        if answer.end:
            return CLOSING_S
        if not self.row.local:
            return None
        return self.connection.stall_s if answer.started else self.loading_s(request)

    def _fault(self, error: BaseException, answer: ReplyStream, sent: str = "") -> CallFailed:
        """Our own error for one of the SDK or its transport."""
        started = answer.accepted  # whatever came of it may be paid for
        usage = answer.usage(sent) if answer.started else None
        said = self.error_reply(error)
        if said is not None:
            kind = kind_of(said)
            step = self.steps.get(kind, NEXT_STEP[kind])
            if kind is Rejected and said.status in (400, 422) and not started:
                wish = refused_wish(said, answer.wishes)
                if wish:
                    return self._without(wish, said)
                # A server that judges a question is at the right address.
                step = step.partition(";")[0]
            message = f"{self.place} {step} ({scrubbed(said.line, self.key)})"
            if issubclass(kind, RateLimited):
                return kind(
                    message, retry_after_s=said.retry_after_s, started=started, usage=usage
                )
            return kind(message, started=started, usage=usage)
        cause = error.__cause__ if isinstance(error, self.wrapping) else None
        fault = cause or error
        name = type(fault).__name__.strip("_")
        what = scrubbed(f"{name}: {fault}".removesuffix(": "), self.key)
        if isinstance(fault, self.unreachable) and not started:
            return ProviderDown(f"{self.place} {self.away} ({what})")
        if isinstance(fault, (*self.silent, TimeoutError)):
            return TimedOut(
                f"{self.place} sent nothing for too long ({what}); come again later",
                started=started, usage=usage,
            )
        if isinstance(fault, Overlong):
            what = f"{self.place} {overlong(answer.most)}"
            return Misspoken(what, started=started, usage=usage)
        garbled = isinstance(fault, Unreadable)
        words = "broke off its answer" if started and not garbled else "does not speak as it must"
        kind = Misspoken if garbled and started else ProviderDown
        return kind(f"{self.place} {words} ({what})", started=started, usage=usage)

    def _without(self, wish: str, said: ErrorReply) -> WishRefused:
        """The refusal of a wish, which is not sent again."""
        self.refused.add(wish)
        complaint = scrubbed(said.line, self.key)
        what, next_ = ("a schema", "put in words") if wish == FORM else (wish, "asked without it")
        return WishRefused(
            f"{self.place} refused a question with {what} ({complaint}); from here on it is {next_}"
        )


def refused_wish(said: ErrorReply, wishes: Set[str]) -> str:
    """The wish to which it is laid that a question was found wrong: one that the server names, else
    its form, which servers call by many names; empty where there is none."""
    words = said.words.lower()
    named = sorted(one for one in wishes if one != FORM and one in words)
    return next((one for one in (*named, FORM) if one in wishes), "")


def form_words(output: Json) -> str:
    """The schema of an answer, for a server that takes none."""
    return (
        "\n\nAnswer with one JSON value, without a fence or other words, "
        f"valid under this JSON Schema:\n{json.dumps(output.schema, ensure_ascii=False)}"
    )


def turns(request: Request) -> list[dict[str, str]]:
    """The messages as most servers take them."""
    return [{"role": turn.speaker, "content": sayable(turn.text)} for turn in request.messages]


def sent_text(request: Request) -> str:
    return "\n".join(texts_of(request))


def is_count(tokens: int, text: str) -> bool:
    """Whether a server has counted a text; a real count may be low, but not 1."""
    return tokens > 1 or not too_few(tokens, len(text))


class Unreadable(Exception):
    """What came is not what the SDK takes for granted."""


class Overlong(Unreadable):
    """An answer that is longer than it may be."""


async def readable(answer: Awaitable[T]) -> T:
    """What an SDK makes of what came. Each takes a server's JSON for what it should be: one that
    is nested too deeply, has an endless number or is no object comes through as Python's faults.
    """
    try:
        return await answer
    except (ValueError, AttributeError, TypeError, RecursionError) as fault:
        raise Unreadable(str(fault)) from None


def token_count(count: object) -> int | None:
    """A server's count of tokens, at most `MAX_TOKENS`; `None` for what is no count."""
    if type(count) is not int or count < 0:
        return None
    return min(count, MAX_TOKENS)


def sendable_key(key: Secret, provider: str, key_name: str) -> str:
    """The key's text. Raises `NeedsKey` where there is none, and `WrongKey` for one that no header
    can carry: clients quote such a value in full when they refuse it."""
    text = key.reveal()
    if not text:
        raise NeedsKey(f"{provider} needs a key: set {key_name}, or enter one", key_name)
    if not re.fullmatch(r"[!-~]+", text):
        raise WrongKey(f"the key of {provider} holds characters that no key has: copy it again")
    return text


def place(url: str) -> str:
    """Where an address leads, without what may be secret in it."""
    parts = urlsplit(url)
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path.rstrip('/')}"


def on_this_machine(url: str) -> bool:
    """Whether an address leads to loopback, where no proxy of the environment has a place."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def scrubbed(text: str, key: Secret) -> str:
    """A provider's words, on one line and of bounded length, with this key, however short, and
    whatever looks like a key as stars."""
    text = Redactor([key]).text(text)
    if key:
        text = text.replace(key.reveal(), MARK)
    line = " ".join(sayable(text).split())
    return line if len(line) <= MAX_SHOWN else f"{line[:MAX_SHOWN]}…"


def retry_after_s(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds to wait by `retry-after-ms` or `Retry-After`, which is in seconds or a date; `None`
    where neither says anything. `headers` finds names in lower case."""
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
