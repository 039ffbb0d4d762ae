"""The router: a provider that sends each role's question to the model that the plan names.

For each call it looks whether the model's breaker is closed, reserves the most the call can cost,
makes it within its deadline, and settles what it came to. A call that was turned away before an
answer began is made again, a bounded number of times; one that had begun may have been paid for
and is not. Where the user has allowed it, a model that cannot be reached is stood in for by the
next of the plan's fallbacks; that is told, never silent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from llm.budget import Charge, Ledger
from llm.calls import CallBroke, CallEnded, CallRetried, CallStarted, FellBack, Occurrence
from llm.errors import (
    CallFailed,
    NoModel,
    NotRecorded,
    Overloaded,
    ProviderDown,
    RateLimited,
    TimedOut,
)
from llm.plan import Choice, Plan
from llm.prices import Prices
from llm.provider import Provider, estimated_tokens
from llm.types import Reply, Request, Stream, Usage
from llm.wrapped import Wrapped

RETRIES = 2
FIRST_WAIT_S = 0.5
MARGIN = 64
"""Tokens that a question is longer than its texts: roles, separators, a template."""
THINKING = {"low": 2_048, "medium": 4_096, "high": 8_192}
"""Tokens beside the answer that a model which thinks is given, by effort."""

FALL_BACK_ON = (ProviderDown, Overloaded, RateLimited, TimedOut)


@dataclass
class Breaker:
    """Leaves a model alone after three transport failures in a row: 30 seconds, then one probe."""

    clock: Callable[[], float] = time.monotonic
    failures: int = 0
    open_until: float = 0.0
    probing: bool = False

    MOST, REST_S = 3, 30.0

    def admit(self) -> float:
        """Seconds for which no call is made; 0 admits one."""
        if self.failures < self.MOST:
            return 0.0
        left = self.open_until - self.clock()
        if left > 0 or self.probing:
            return max(left, 0.1)
        self.probing = True
        return 0.0

    def note(self, error: BaseException | None) -> None:
        """What came of an admitted call."""
        self.probing = False
        if isinstance(error, (ProviderDown, Overloaded, TimedOut)):
            self.failures += 1
            if self.failures >= self.MOST:
                self.open_until = self.clock() + self.REST_S
        elif error is None or isinstance(error, CallFailed):
            self.failures = 0


@dataclass
class Router:
    """The plan at work in one run."""

    plan: Plan
    open: Callable[[Choice], Provider]
    """A provider for a choice, which the router closes; raises `NoProvider`."""
    ledger: Ledger
    prices: Prices
    tell: Callable[[Occurrence], object]
    breaker: Callable[[Choice], Breaker]
    clock: Callable[[], float] = time.monotonic
    name: str = field(default="router", init=False)
    model: str = field(default="", init=False)
    _next: int = field(default=0, init=False)
    _opened: dict[str, Provider] = field(default_factory=dict, init=False)

    exact = False
    window = None
    thinks = False

    def at(self, role: str) -> Provider | None:
        """The model of a role as a provider, asked through this router; `None` where the plan has
        none. Raises `NoProvider`, and `NeedsKey` without its key."""
        choice = self.plan.of(role)
        return None if choice is None else _Routed(self._provider(choice), self)

    def _provider(self, choice: Choice) -> Provider:
        if choice.words not in self._opened:
            self._opened[choice.words] = self.open(choice)
        return self._opened[choice.words]

    async def stream(self, request: Request) -> Stream:
        first = self.plan.of(request.role)
        if first is None:
            raise NoModel(f"the role {request.role!r} needs a model, and the plan has none for it")
        ways = [first, *(replace(one, role=request.role) for one in self.plan.fallbacks)]
        for place, choice in enumerate(ways):
            said = False
            try:
                async with aclosing(self._ask(choice, request)) as items:
                    async for item in items:
                        said = True
                        if isinstance(item, Reply) and place:
                            yield replace(item, instead_of=first.words)
                        else:
                            yield item
                return
            except FALL_BACK_ON as error:
                if said or place + 1 == len(ways):
                    raise
                to = ways[place + 1].words
                self.tell(FellBack(request.role, choice.words, to, str(error)))

    async def _ask(self, choice: Choice, request: Request) -> Stream:
        """One model's answer, with its retries."""
        breaker = self.breaker(choice)
        rest = breaker.admit()
        if rest:
            raise ProviderDown(
                f"{choice.words} failed {Breaker.MOST} times in a row and is left alone for "
                f"another {rest:.0f} seconds"
            )
        done = False
        try:
            provider = self._provider(choice)
            if provider.thinks:
                room = request.max_tokens + THINKING[request.effort or "medium"]
                request = replace(request, max_tokens=room)
            async with aclosing(self._charged(choice, provider, request)) as items:
                async for item in items:
                    if isinstance(item, Reply):
                        # Its reader leaves now: how the stream is closed says nothing of the model.
                        cut = item.finish == "cut"
                        breaker.note(ProviderDown("the connection was cut") if cut else None)
                        done = True
                    yield item
        except BaseException as error:
            if not done:
                breaker.note(error)
            raise

    async def _charged(
        self, choice: Choice, provider: Provider, request: Request
    ) -> Stream:
        """The answer with its charge, told when it starts and when it ends."""
        today = datetime.now(UTC).date()
        question = asked_tokens(provider, request)
        usd = self.prices.most(
            choice.label, choice.model, question, request.max_tokens, today
        )
        left = self.ledger.seconds_left(request.role)
        charge = self.ledger.reserve(
            request.role, question=question, answer=request.max_tokens, usd=usd, what=choice.words
        )
        seconds = request.deadline_s if left is None else min(left, request.deadline_s)
        call, self._next = self._next, self._next + 1
        self.tell(CallStarted(
            call, request.role, choice.label, choice.model, request.prompt,
            charge.amount.tokens, usd,
        ))
        began = self.clock()
        said: list[str] = []
        attempts = _Attempts(call, began + seconds, seconds, self.clock, self.tell)
        try:
            async with aclosing(attempts.stream(provider, request)) as items:
                async for item in items:
                    if isinstance(item, str):
                        said.append(item)
                        yield item
                        continue
                    cost = self.prices.cost(choice.label, choice.model, item.usage, today)
                    wall_s = self.clock() - began
                    reply = replace(
                        item, provider=choice.label, model=choice.model, attempts=attempts.made,
                        cost_usd=0.0 if item.cached else cost, wall_s=wall_s,
                    )
                    self.ledger.settle(charge, item.usage, reply.cost_usd, wall_s)
                    charge = replace(charge, open=False)
                    self.tell(CallEnded(call, request.role, request.prompt, reply))
                    yield reply
                    return
            raise ProviderDown(f"{choice.words} ended its stream without an end", started=True)
        except BaseException as error:
            if charge.open:
                sent = not attempts.resting
                self._broke(choice, request, call, charge, error, question, said, began, sent)
            raise

    def _broke(
        self, choice: Choice, request: Request, call: int, charge: Charge, error: BaseException,
        question: int, said: list[str], began: float, sent: bool,
    ) -> None:
        """Charges what a call without an end may have cost, and tells it."""
        refused = isinstance(error, CallFailed) and not (error.started or said)
        if not sent or refused or isinstance(error, NotRecorded):
            usage = Usage()
        else:
            counted = error.usage if isinstance(error, CallFailed) else None
            usage = counted or Usage(question, estimated_tokens("".join(said)), estimated=True)
        today = datetime.now(UTC).date()
        # Whatever the price is, what never began costs nothing, nor does what is replayed.
        free = not usage.total or (isinstance(error, CallFailed) and error.replayed)
        usd = 0.0 if free else self.prices.cost(choice.label, choice.model, usage, today)
        wall_s = self.clock() - began
        self.ledger.settle(charge, usage, usd, wall_s)
        cancelled = isinstance(error, (asyncio.CancelledError, GeneratorExit))
        self.tell(CallBroke(
            call, request.role, choice.label, choice.model,
            "Cancelled" if cancelled else type(error).__name__,
            "it was cancelled" if cancelled else str(error), usage, usd, wall_s,
        ))

    async def models(self) -> tuple[str, ...]:
        """The models of the plan."""
        return tuple(dict.fromkeys(choice.words for choice in self.plan.choices))

    def count(self, text: str) -> int:
        return estimated_tokens(text)

    async def close(self) -> None:
        """Closes every provider that was opened."""
        opened, self._opened = list(self._opened.values()), {}
        await asyncio.gather(*(provider.close() for provider in opened))


class _Routed(Wrapped):
    """One model, with its own window and tokens, whose questions go through the router."""

    def __init__(self, provider: Provider, router: Router) -> None:
        super().__init__(provider)
        self._router = router

    def stream(self, request: Request) -> Stream:
        return self._router.stream(request)


@dataclass
class _Attempts:
    """The attempts at one call within its deadline."""

    call: int
    until: float
    seconds: float
    clock: Callable[[], float]
    tell: Callable[[Occurrence], object]
    made: int = 0
    resting: bool = False
    """Nothing is under way: the last attempt was turned away, and the next has not begun."""

    async def stream(self, provider: Provider, request: Request) -> Stream:
        while True:
            self.made += 1
            said = False
            try:
                async with aclosing(self._within(provider, request)) as items:
                    async for item in items:
                        said = True
                        yield item
                return
            except CallFailed as error:
                wait_s = self._wait(error)
                if said or error.started or not error.transient or wait_s is None:
                    raise
                self.tell(CallRetried(self.call, f"{type(error).__name__}: {error}", wait_s))
            self.resting = True
            await asyncio.sleep(wait_s)
            self.resting = False

    def _wait(self, error: CallFailed) -> float | None:
        """Seconds until the next attempt; `None` where none is made."""
        if self.made > RETRIES or isinstance(error, TimedOut):
            return None
        wait_s = FIRST_WAIT_S * 2 ** (self.made - 1)
        if isinstance(error, RateLimited) and error.retry_after_s is not None:
            wait_s = error.retry_after_s
        return wait_s if self.clock() + wait_s < self.until else None

    async def _within(self, provider: Provider, request: Request) -> Stream:
        """The stream, given up at the deadline; each item is waited for on its own, since a
        timeout must not span a yield."""
        left = self.until - self.clock()
        items = provider.stream(replace(request, deadline_s=max(left, 0.001)))
        try:
            while True:
                left = self.until - self.clock()
                try:
                    async with asyncio.timeout(left):
                        item = await anext(items)
                except StopAsyncIteration:
                    return
                except TimeoutError as error:
                    raise TimedOut(
                        f"{provider.name} did not end its answer within {self.seconds:g} seconds",
                        started=True,  # it may still be at work on it, and charge for that
                    ) from error
                yield item
        finally:
            await items.aclose()


def asked_tokens(provider: Provider, request: Request) -> int:
    """Tokens of a question, rather too many."""
    texts = [request.system, *(message.text for message in request.messages)]
    return sum(provider.count(text) for text in texts) + MARGIN
