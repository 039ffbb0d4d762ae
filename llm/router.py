"""The router: sends the requests of each role to the model in the plan.

For each call it checks the model's circuit breaker, reserves the maximum cost in the ledger, makes
the call within its deadline, and settles the actual cost. A call that fails before the answer
begins is retried a bounded number of times. A call that fails later is charged, and its caller may
repeat it. If the user has allowed fallbacks, the next one replaces an unreachable model, which is
always reported.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, date, datetime
from itertools import count

from llm.budget import Charge, Ledger
from llm.calls import (
    CallAborted,
    CallEnded,
    CallEvent,
    CallFellBack,
    CallRetried,
    CallStarted,
    CallWaiting,
    ModelRated,
)
from llm.errors import (
    CallFailed,
    InvalidResponse,
    LlmError,
    NoModel,
    OptionRefused,
    OverBudget,
    Overloaded,
    ProviderDown,
    RateLimited,
    TimedOut,
)
from llm.plan import SMALL_B, Choice, ModelPlan
from llm.prices import Prices
from llm.provider import Provider, estimated_tokens, implausibly_few, overlong_message, provider_row
from llm.tokens import answer_tokens, question_tokens, texts_of
from llm.types import MAX_TOKENS, Reply, Request, Stream, Usage

LOADING_INTERVAL_S = 2.0
"""Seconds between two checks of the download or load of a local model."""
RETRIES = 2
FIRST_WAIT_S = 0.5

LIST_MODELS_S = 2.0
"""Seconds for a server to list its models before the first request."""

THINKING_TOKENS, MAX_THINKING_S, MIN_TIMED_TOKENS = (1_500, 300), 40.0, 16
"""Typical request and answer tokens of a thinking role; the seconds above which a model is too slow
for it; and the minimum output tokens of an answer for measuring speed."""

FALL_BACK_ON = (ProviderDown, Overloaded, RateLimited, TimedOut)


@dataclass
class Breaker:
    """A circuit breaker: opens for 30 seconds after three consecutive transport failures, then
    admits one probe."""

    clock: Callable[[], float] = time.monotonic
    failures: int = 0
    open_until: float = 0.0
    probing: bool = False

    THRESHOLD, REST_S = 3, 30.0

    def admit(self) -> float:
        """Seconds until a call is allowed; 0 admits one."""
        if self.failures < self.THRESHOLD:
            return 0.0
        left = self.open_until - self.clock()
        if left > 0 or self.probing:
            return max(left, 0.1)
        self.probing = True
        return 0.0

    def note(self, error: BaseException | None, *, again: bool = False) -> None:
        """Records the result of an admitted call. A failed repetition (`again`) is not counted."""
        self.probing = False
        if isinstance(error, (ProviderDown, Overloaded, TimedOut)):
            self.failures += not again
            if self.failures >= self.THRESHOLD:
                self.open_until = self.clock() + self.REST_S
        elif error is None or isinstance(error, CallFailed):
            self.failures = 0


@dataclass
class Router:
    """Routes the calls of one run."""

    plan: ModelPlan
    open: Callable[[Choice], Provider]
    """Opens a provider, which the router closes; called in a thread. Raises `NoProvider`."""
    ledger: Ledger
    prices: Prices
    emit: Callable[[CallEvent], object]
    breaker: Callable[[Choice], Breaker]
    clock: Callable[[], float] = time.monotonic
    before: dict[str, Reply] = field(default_factory=dict)
    """Answers, by request hash, that a step got before it was interrupted; each is reused once."""
    clean: Callable[[str], str] = str
    """Removes keys from an answer's text, since a server may echo its request."""
    _numbers: Iterator[int] = field(default_factory=count, init=False)
    _opened: dict[tuple[str, str], Provider] = field(default_factory=dict, init=False)
    _charged_failures: dict[tuple[str, str], str] = field(default_factory=dict, init=False)
    """Why the last call of a model failed, if it was charged."""
    _active: dict[int, _Call] = field(default_factory=dict, init=False)
    _answered: set[tuple[str, str]] = field(default_factory=set, init=False)
    """Models that have answered: only the first answer may include the time for loading."""

    def partial_answers(self) -> dict[int, str]:
        """The received text of active calls by number, without keys and without the last word,
        which may be the beginning of a key."""
        return {
            number: self.clean(re.sub(r"\S+\Z", "", "".join(call.received)))
            for number, call in self._active.items()
        }

    async def at(self, role: str) -> Provider | None:
        """A provider that sends the requests of a role through this router; `None` if the plan has
        no model for it. Raises `NoProvider`, and `NeedsKey` without its key."""
        choice = self.plan.of(role)
        if choice is None:
            return None
        provider = await self._provider(choice)  # its list of models may change the plan
        return None if self.plan.of(role) is None else _Routed(provider, self)

    async def _provider(self, choice: Choice) -> Provider:
        """The open provider of a choice. It is opened in a thread, since importing an SDK takes a
        second or two and would block the event loop."""
        if choice.model_key not in self._opened:
            opened = await asyncio.to_thread(self.open, choice)
            if provider_row(choice.provider).lists_windows:
                await _read_window(opened)
                self._classify(choice, getattr(opened, "parameters_b", None))
            if self._opened.setdefault(choice.model_key, opened) is not opened:
                await opened.close()  # a concurrent call was faster
        return self._opened[choice.model_key]

    async def stream(self, request: Request) -> Stream:
        """The answer of the plan's model for the role or of a fallback; see `Provider.stream`."""
        first = self.plan.of(request.role)
        if first is None:
            raise NoModel(f"the role {request.role!r} needs a model, and the plan has none for it")
        key = fingerprint(first, request)
        known = self.before.pop(key, None)
        if known is not None:
            yield known.text
            yield replace(known, cached=True, cost_usd=0.0, usage=Usage())
            return
        choices = [first, *(replace(one, role=request.role) for one in self.plan.fallbacks)]
        for place, choice in enumerate(choices):
            has_output = False
            try:
                call = await self._start_call(choice, request, key)
                async with aclosing(call.items()) as items:
                    async for item in items:
                        has_output = True
                        yield item
                return
            except FALL_BACK_ON as error:
                if has_output or place + 1 == len(choices):
                    raise
                to = choices[place + 1].words
                self.emit(CallFellBack(request.role, choice.words, to, str(error)))

    async def _start_call(self, choice: Choice, request: Request, key: str) -> _Call:
        """Admits, charges and reports a call; raises `ProviderDown` if the model's breaker is
        open, and `OverBudget`."""
        breaker = self.breaker(choice)
        pause_s = breaker.admit()
        if pause_s:
            raise ProviderDown(
                f"{choice.words} failed {Breaker.THRESHOLD} times in a row and is not called for "
                f"another {pause_s:.0f} seconds; wait, or choose another model"
            )
        try:
            provider = await self._provider(choice)
            most = answer_tokens(request.max_tokens, provider.thinks, request.effort)
            request = replace(request, max_tokens=most)
            today = datetime.now(UTC).date()
            question = question_tokens(provider.count, texts_of(request))
            usd = self.prices.most(
                choice.provider, choice.model, question, request.max_tokens, today
            )
            left = self.ledger.seconds_left(request.role)
            charge = self.ledger.reserve(
                request.role, question=question, answer=request.max_tokens, usd=usd,
                what=choice.words,
            )
        except OverBudget as over:
            breaker.note(over)
            why = self._charged_failures.get(choice.model_key)
            if why is None:
                raise
            message = f"{over}. Its last call was charged and failed: {why}"
            raise OverBudget(message, over.cap, over.excess) from over
        except BaseException as error:
            breaker.note(error)
            raise
        number = next(self._numbers)
        self.emit(CallStarted(
            number, request.role, choice.provider, choice.model, request.prompt,
            charge.amount.tokens, usd, tuple(
                (speaker, self.clean(text)) for speaker, text in (
                    ("system", request.system),
                    *((one.speaker, one.text) for one in request.messages),
                )
            ),
        ))
        seconds = request.deadline_s if left is None else min(left, request.deadline_s)
        return _Call(
            self, choice, provider, request, breaker, charge, number, question, seconds,
            self.clock(), today, key,
        )

    def classify(self, choice: Choice, reply: Reply) -> None:
        """Updates the plan with the size and speed of a model that a reply shows."""
        took_s = thinking_s(reply, loaded=choice.model_key in self._answered)
        self._answered.add(choice.model_key)
        self._classify(choice, reply.parameters_b, is_slow=took_s > MAX_THINKING_S)

    def _classify(self, choice: Choice, size: float | None, *, is_slow: bool = False) -> None:
        known = next((one for one in self.plan.choices if one.model_key == choice.model_key), None)
        if known is None or known.measured_small or provider_row(choice.provider).needs_key:
            return  # a model that was slow once stays classified
        shown = f"{choice.words} is slow here" if is_slow else ""
        if size is not None and size < SMALL_B:
            shown = f"{choice.words} is a small model ({size:.1f}B)"
        if shown and not known.is_small:
            self.emit(ModelRated(shown))
        if shown or size is not None:
            self.plan = self.plan.measured(choice.model_key, shown)

    async def close(self) -> None:
        """Closes all providers."""
        opened, self._opened = list(self._opened.values()), {}
        await asyncio.gather(*(provider.close() for provider in opened))


class _Routed:
    """The provider of one role, whose requests go through the router."""

    def __init__(self, provider: Provider, router: Router) -> None:
        self._provider = provider
        self.name = provider.name
        self.model = provider.model
        self.stream = router.stream
        self.models = provider.models
        self.count = provider.count

    @property
    def thinks(self) -> bool:
        return self._provider.thinks

    @property
    def exact(self) -> bool:
        return self._provider.exact

    @property
    def window(self) -> int | None:
        return self._provider.window

    async def close(self) -> None:
        """Does nothing: the router closes the provider."""


@dataclass
class _Call:
    """One call with its attempts, deadline and charge."""

    router: Router
    choice: Choice
    provider: Provider
    request: Request
    breaker: Breaker
    charge: Charge
    number: int
    question: int
    """Tokens of the request."""
    seconds: float
    began: float
    today: date
    key: str
    """The hash of the request."""
    attempts: int = 0
    is_waiting: bool = False
    """Whether the last attempt failed and the next has not begun."""
    is_settled: bool = False
    received: list[str] = field(default_factory=list)
    length: int = 0
    """Characters received."""

    async def items(self) -> Stream:
        """The answer of the first successful attempt."""
        self.router._active[self.number] = self
        try:
            while True:
                self.attempts += 1
                try:
                    async with aclosing(self._attempt()) as items:
                        async for item in items:
                            yield item
                    return
                except CallFailed as error:
                    wait_s = self._wait(error)
                    if wait_s is None:
                        raise
                    self.is_waiting = True
                    self._charge_retry(error)
                    self.router.emit(CallRetried(self.number, str(error), wait_s))
                await asyncio.sleep(wait_s)
                self.is_waiting = False
        except BaseException as error:
            if not self.is_settled:
                self.breaker.note(error, again=self.request.again)
                self._settle_failure(error)
            raise
        finally:
            del self.router._active[self.number]

    async def _attempt(self) -> Stream:
        """The stream of one attempt, which ends at the deadline."""
        router = self.router
        until = self.began + self.seconds
        left = until - router.clock()
        items = self.provider.stream(replace(self.request, deadline_s=max(left, 0.001)))
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + max(left, 0.0)
        waiting = asyncio.create_task(self._report_loading())
        try:
            while True:
                try:
                    # A time-out must not span a yield, so each piece has its own.
                    async with asyncio.timeout_at(ends_at):
                        item = await anext(items)
                except StopAsyncIteration:
                    raise InvalidResponse(
                        f"{self.choice.words} sent an incomplete stream", started=True
                    ) from None
                except TimeoutError as error:
                    raise TimedOut(
                        f"{self.choice.words} did not finish its answer within {self.seconds:g} "
                        "seconds", started=True,  # the provider may go on and bill it
                    ) from error
                if isinstance(item, Reply):
                    yield self._settle_reply(item)
                    return
                waiting.cancel()
                self.received.append(item)
                self.length += len(item)
                if implausibly_few(self.request.max_tokens, self.length):
                    message = overlong_message(self.request.max_tokens)
                    raise InvalidResponse(f"{self.choice.words} {message}", started=True)
                yield item
        finally:
            waiting.cancel()
            await items.aclose()

    async def _report_loading(self) -> None:
        """Reports the download or load of a local model until the first piece arrives."""
        last = ""
        while loading := getattr(self.provider, "loading", None):
            await asyncio.sleep(LOADING_INTERVAL_S)
            doing = loading()
            if doing and doing != last:
                last = doing
                self.router.emit(CallWaiting(self.number, doing))

    def _wait(self, error: CallFailed) -> float | None:
        """Seconds until the next attempt; `None` for no further attempt."""
        if self.received or error.started or not error.transient or self.attempts > RETRIES:
            return None
        if isinstance(error, TimedOut):
            return None
        if isinstance(error, OptionRefused):
            return 0.0
        wait_s = FIRST_WAIT_S * 2 ** (self.attempts - 1)
        if isinstance(error, RateLimited) and error.retry_after_s is not None:
            wait_s = error.retry_after_s
        return wait_s if self.router.clock() + wait_s < self.began + self.seconds else None

    def _charge_retry(self, error: CallFailed) -> None:
        """Charges another attempt; raises `OverBudget` with the error of the last one."""
        try:
            self.charge = self.router.ledger.charge_retry(self.charge, self.choice.words)
        except OverBudget as over:
            message = f"{over}. A retry was needed because of an error: {error}"
            raise OverBudget(message, over.cap, over.excess) from error

    def _settle_reply(self, reply: Reply) -> Reply:
        """Settles and reports a reply; returns it with its cost."""
        router, choice = self.router, self.choice
        usage = _clamped_usage(reply.usage)
        cost = router.prices.cost(choice.provider, choice.model, usage, self.today)
        wall_s, measured = router.clock() - self.began, reply
        reply = replace(
            reply, text=router.clean(reply.text), note=router.clean(reply.note), usage=usage,
            provider=choice.provider, model=choice.model, attempts=self.attempts,
            cost_usd=0.0 if reply.cached else cost, wall_s=wall_s,
        )
        self.is_settled = True
        router.classify(choice, measured)
        router._charged_failures.pop(choice.model_key, None)
        cut = reply.finish == "cut"
        self.breaker.note(ProviderDown("the connection was cut") if cut else None)
        router.ledger.settle(self.charge, reply.usage, reply.cost_usd, wall_s)
        router.emit(CallEnded(self.number, self.request.role, self.request.prompt, self.key, reply))
        return reply

    def _settle_failure(self, error: BaseException) -> None:
        """Charges the possible cost of a failed call and reports it."""
        router, choice = self.router, self.choice
        failed = error if isinstance(error, CallFailed) else None
        refused = failed is not None and not (failed.started or self.received)
        if self.is_waiting or refused:
            usage = Usage()
        else:
            counted = failed.usage if failed is not None else None
            # No provider bills more than the limit, however much it sent.
            answer = min(estimated_tokens("".join(self.received)), self.request.max_tokens)
            usage = _clamped_usage(counted or Usage(self.question, answer, estimated=True))
        # A call that never began costs nothing, even if its price is unknown.
        free = not usage.total
        paid = router.prices.cost(choice.provider, choice.model, usage, self.today)
        usd = 0.0 if free else paid
        wall_s = router.clock() - self.began
        if failed is not None and not free:
            router._charged_failures[choice.model_key] = str(failed)
        router.ledger.settle(self.charge, usage, usd, wall_s)
        cancelled = isinstance(error, (asyncio.CancelledError, GeneratorExit))
        router.emit(CallAborted(
            self.number, self.request.role, choice.provider, choice.model,
            "Cancelled" if cancelled else type(error).__name__,
            "it was cancelled" if cancelled else str(error), usage, usd, wall_s,
            router.clean("".join(self.received)),
        ))


def fingerprint(choice: Choice, request: Request) -> str:
    """The hash of everything that a model's answer depends on, which excludes the deadline and the
    prompt's variables."""
    asked = asdict(replace(request, variables={}, deadline_s=0.0, again=False))
    text = json.dumps([choice.model_key, type(request.output).__name__, asked], sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _clamped_usage(usage: Usage) -> Usage:
    """A provider's token counts, clamped to the valid range."""
    counts = {
        name: min(max(getattr(usage, name), 0), MAX_TOKENS)
        for name in ("input", "output", "read", "written")
    }
    return replace(usage, **counts)


def thinking_s(reply: Reply, *, loaded: bool) -> float:
    """Seconds that a thinking role would wait for a model, extrapolated from a reply. The time for
    reading the request is included only if the model was `loaded` before."""
    usage, first_s = reply.usage, reply.first_s
    if first_s is None or usage.estimated or usage.output < MIN_TIMED_TOKENS:
        return 0.0
    asked, answered = THINKING_TOKENS
    reading = asked * first_s / usage.input if loaded and usage.input >= asked / 10 else 0.0
    return reading + answered * max(0.0, reply.wall_s - first_s) / usage.output


async def _read_window(provider: Provider) -> None:
    """Reads a server's list of models with their windows. Errors are ignored, since the first call
    reports them."""
    with suppress(LlmError, TimeoutError):
        async with asyncio.timeout(LIST_MODELS_S):
            await provider.models()
