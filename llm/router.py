"""The router: sends each role's question to the model that the plan names.

For each call it looks whether the model's breaker is closed, reserves the most the call can cost,
makes it within its deadline, and settles what it came to. A call that was turned away before an
answer began is made again, a bounded number of times; one that had begun is charged and ends, and
a caller that has used none of it may ask again. If the user has allowed it, the next of the
plan's fallbacks replaces a model that cannot be reached; this is always reported.
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
    CallBroke,
    CallEnded,
    CallEvent,
    CallFellBack,
    CallRetried,
    CallStarted,
    CallWaits,
    Classified,
)
from llm.errors import (
    CallFailed,
    LlmError,
    Misspoken,
    NoModel,
    OverBudget,
    Overloaded,
    ProviderDown,
    RateLimited,
    TimedOut,
    WishRefused,
)
from llm.plan import SMALL_B, Choice, ModelPlan
from llm.prices import Prices
from llm.provider import Provider, estimated_tokens, overlong, row_of, too_few
from llm.tokens import answer_tokens, question_tokens, texts_of
from llm.types import MAX_TOKENS, Reply, Request, Stream, Usage

LOADING_INTERVAL_S = 2.0
"""Between two looks at how far a model on this machine has been downloaded or loaded."""
RETRIES = 2
FIRST_WAIT_S = 0.5

LEARNING_S = 2.0
"""Seconds for a server to list its models, before the first question to it."""

THINKING_TOKENS, MAX_THINKING_S, TELLING_TOKENS = (1_500, 300), 40.0, 16
"""Tokens of the question and the answer of a role that thinks; the seconds from which on a model is
too slow for it; and the tokens of an answer from which on its speed is telling."""

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

    def note(self, error: BaseException | None, *, again: bool = False) -> None:
        """What came of an admitted call; a question asked `again` that fails is counted already."""
        self.probing = False
        if isinstance(error, (ProviderDown, Overloaded, TimedOut)):
            self.failures += not again
            if self.failures >= self.MOST:
                self.open_until = self.clock() + self.REST_S
        elif error is None or isinstance(error, CallFailed):
            self.failures = 0


@dataclass
class Router:
    """The plan at work in one run."""

    plan: ModelPlan
    open: Callable[[Choice], Provider]
    """A provider for a choice, which the router closes; called in a thread. Raises `NoProvider`."""
    ledger: Ledger
    prices: Prices
    tell: Callable[[CallEvent], object]
    breaker: Callable[[Choice], Breaker]
    clock: Callable[[], float] = time.monotonic
    before: dict[str, Reply] = field(default_factory=dict)
    """Answers by the hash of their question that the run has paid for in the step that it takes up
    again: each is given once more, for nothing."""
    clean: Callable[[str], str] = str
    """Takes keys out of an answer's text, since a server may repeat what it was sent."""
    _numbers: Iterator[int] = field(default_factory=count, init=False)
    _opened: dict[tuple[str, str], Provider] = field(default_factory=dict, init=False)
    _wasted: dict[tuple[str, str], str] = field(default_factory=dict, init=False)
    """Why a model's last call failed, where it is charged for."""
    _under_way: dict[int, _Call] = field(default_factory=dict, init=False)
    _answered: set[tuple[str, str]] = field(default_factory=set, init=False)
    """Models that have answered: only the first answer may have waited for its model to load."""

    def so_far(self) -> dict[int, str]:
        """What the calls under way have said, by their numbers, keys taken out; nothing of the word
        that is being written, since it may be the beginning of one."""
        return {
            number: self.clean(re.sub(r"\S+\Z", "", "".join(call.said)))
            for number, call in self._under_way.items()
        }

    async def at(self, role: str) -> Provider | None:
        """The model of a role as a provider, asked through this router; `None` where the plan has
        none. Raises `NoProvider`, and `NeedsKey` without its key."""
        choice = self.plan.of(role)
        return None if choice is None else _Routed(await self._provider(choice), self)

    async def _provider(self, choice: Choice) -> Provider:
        """The open provider of a choice. It is opened in a thread, since an SDK takes a second or
        two to import and the loop serves others meanwhile."""
        if choice.asked not in self._opened:
            opened = await asyncio.to_thread(self.open, choice)
            if row_of(choice.provider).lists_windows:
                await _learn_window(opened)
            if self._opened.setdefault(choice.asked, opened) is not opened:
                await opened.close()  # another call was faster
        return self._opened[choice.asked]

    async def stream(self, request: Request) -> Stream:
        """The answer of the model that the plan names for the request's role, or of one that
        stands in for it, as `Provider.stream` gives it."""
        first = self.plan.of(request.role)
        if first is None:
            raise NoModel(f"the role {request.role!r} needs a model, and the plan has none for it")
        key = fingerprint(first, request)
        known = self.before.pop(key, None)
        if known is not None:
            yield known.text
            yield replace(known, cached=True, cost_usd=0.0, usage=Usage())
            return
        ways = [first, *(replace(one, role=request.role) for one in self.plan.fallbacks)]
        for place, choice in enumerate(ways):
            said = False
            try:
                call = await self.begun(choice, request, key)
                async with aclosing(call.items()) as items:
                    async for item in items:
                        said = True
                        yield item
                return
            except FALL_BACK_ON as error:
                if said or place + 1 == len(ways):
                    raise
                to = ways[place + 1].words
                self.tell(CallFellBack(request.role, choice.words, to, str(error)))

    async def begun(self, choice: Choice, request: Request, key: str = "") -> _Call:
        """Admits, charges and reports a call; raises `ProviderDown` where the model is left
        alone, and `OverBudget`."""
        breaker = self.breaker(choice)
        rest = breaker.admit()
        if rest:
            raise ProviderDown(
                f"{choice.words} failed {Breaker.MOST} times in a row and is left alone for "
                f"another {rest:.0f} seconds"
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
            why = self._wasted.get(choice.asked)
            if why is None:
                raise
            message = f"{over}. Its last answer is charged for and of no use: {why}"
            raise OverBudget(message, over.cap, over.lacks) from over
        except BaseException as error:
            breaker.note(error)
            raise
        number = next(self._numbers)
        self.tell(CallStarted(
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
        """Takes into the plan what a reply shows of its model, as its provider measured it."""
        known = next((one for one in self.plan.choices if one.asked == choice.asked), None)
        if known is None or known.measured_small or row_of(choice.provider).needs_key:
            return  # one that was slow once stays so
        size, shown = reply.parameters_b, ""
        if size is not None and size < SMALL_B:
            shown = f"{choice.words} is a small model ({size:.1f}B)"
        elif thinking_s(reply, loaded=choice.asked in self._answered) > MAX_THINKING_S:
            shown = f"{choice.words} is slow here"
        self._answered.add(choice.asked)
        if shown and not known.is_small:
            self.tell(Classified(shown))
        if shown or size is not None:
            self.plan = self.plan.measured(choice.asked, shown)

    async def close(self) -> None:
        """Closes every provider that was opened."""
        opened, self._opened = list(self._opened.values()), {}
        await asyncio.gather(*(provider.close() for provider in opened))


class _Routed:
    """One model, with its own window and tokens, whose questions go through the router."""

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
        """The router closes it, with all that it opened."""


@dataclass
class _Call:
    """One call on its way: its attempts within its deadline, and how it ends."""

    router: Router
    choice: Choice
    provider: Provider
    request: Request
    breaker: Breaker
    charge: Charge
    number: int
    question: int
    """Tokens of the question."""
    seconds: float
    began: float
    today: date
    key: str
    """The hash of the question."""
    attempts: int = 0
    resting: bool = False
    """Nothing is under way: the last attempt was turned away, and the next has not begun."""
    over: bool = False
    said: list[str] = field(default_factory=list)
    length: int = 0
    """Characters of the answer so far."""

    async def items(self) -> Stream:
        """The answer of the first attempt that was not turned away."""
        self.router._under_way[self.number] = self
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
                    self.resting = True
                    self._charge_again(error)
                    self.router.tell(CallRetried(self.number, str(error), wait_s))
                await asyncio.sleep(wait_s)
                self.resting = False
        except BaseException as error:
            if not self.over:
                self.breaker.note(error, again=self.request.again)
                self._broke(error)
            raise
        finally:
            del self.router._under_way[self.number]

    async def _attempt(self) -> Stream:
        """The stream of one attempt, given up at the deadline."""
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
                    # Around each piece alone: a timeout must not span a yield.
                    async with asyncio.timeout_at(ends_at):
                        item = await anext(items)
                except StopAsyncIteration:
                    raise Misspoken(
                        f"{self.choice.words} ended its stream without an end", started=True
                    ) from None
                except TimeoutError as error:
                    raise TimedOut(
                        f"{self.choice.words} did not end its answer within {self.seconds:g} "
                        "seconds", started=True,  # it may still be at work on it, and charge for it
                    ) from error
                if isinstance(item, Reply):
                    yield self._ended(item)
                    return
                waiting.cancel()
                self.said.append(item)
                self.length += len(item)
                if too_few(self.request.max_tokens, self.length):
                    raise Misspoken(
                        f"{self.choice.words} {overlong(self.request.max_tokens)}", started=True,
                    )
                yield item
        finally:
            waiting.cancel()
            await items.aclose()

    async def _report_loading(self) -> None:
        """Reports the download or load of a model on this machine until the call is answered."""
        last = ""
        while loading := getattr(self.provider, "loading", None):
            await asyncio.sleep(LOADING_INTERVAL_S)
            doing = loading()
            if doing and doing != last:
                last = doing
                self.router.tell(CallWaits(self.number, doing))

    def _wait(self, error: CallFailed) -> float | None:
        """Seconds until the next attempt; `None` where none is made."""
        if self.said or error.started or not error.transient or self.attempts > RETRIES:
            return None
        if isinstance(error, TimedOut):
            return None
        if isinstance(error, WishRefused):
            return 0.0
        wait_s = FIRST_WAIT_S * 2 ** (self.attempts - 1)
        if isinstance(error, RateLimited) and error.retry_after_s is not None:
            wait_s = error.retry_after_s
        return wait_s if self.router.clock() + wait_s < self.began + self.seconds else None

    def _charge_again(self, error: CallFailed) -> None:
        """Charges another attempt; raises `OverBudget`, which says why the last one failed."""
        try:
            self.charge = self.router.ledger.ask_again(self.charge, self.choice.words)
        except OverBudget as over:
            message = f"{over}. It was to be asked again, since {error}"
            raise OverBudget(message, over.cap, over.lacks) from error

    def _ended(self, reply: Reply) -> Reply:
        """The reply with its cost, settled and message."""
        router, choice = self.router, self.choice
        usage = _counted(reply.usage)
        cost = router.prices.cost(choice.provider, choice.model, usage, self.today)
        wall_s, measured = router.clock() - self.began, reply
        reply = replace(
            reply, text=router.clean(reply.text), note=router.clean(reply.note), usage=usage,
            provider=choice.provider, model=choice.model, attempts=self.attempts,
            cost_usd=0.0 if reply.cached else cost, wall_s=wall_s,
        )
        self.over = True
        router.classify(choice, measured)
        router._wasted.pop(choice.asked, None)
        cut = reply.finish == "cut"
        self.breaker.note(ProviderDown("the connection was cut") if cut else None)
        router.ledger.settle(self.charge, reply.usage, reply.cost_usd, wall_s)
        router.tell(CallEnded(
            self.number, self.request.role, self.request.prompt, self.key, reply
        ))
        return reply

    def _broke(self, error: BaseException) -> None:
        """Charges what a call without an end may have cost, and tells it."""
        router, choice = self.router, self.choice
        failed = error if isinstance(error, CallFailed) else None
        refused = failed is not None and not (failed.started or self.said)
        if self.resting or refused:
            usage = Usage()
        else:
            counted = failed.usage if failed is not None else None
            # Nobody may charge more than was asked for, however much was sent.
            answer = min(estimated_tokens("".join(self.said)), self.request.max_tokens)
            usage = _counted(counted or Usage(self.question, answer, estimated=True))
        # Whatever the price is, what never began costs nothing.
        free = not usage.total
        paid = router.prices.cost(choice.provider, choice.model, usage, self.today)
        usd = 0.0 if free else paid
        wall_s = router.clock() - self.began
        if failed is not None and not free:
            router._wasted[choice.asked] = str(failed)
        router.ledger.settle(self.charge, usage, usd, wall_s)
        cancelled = isinstance(error, (asyncio.CancelledError, GeneratorExit))
        router.tell(CallBroke(
            self.number, self.request.role, choice.provider, choice.model,
            "Cancelled" if cancelled else type(error).__name__,
            "it was cancelled" if cancelled else str(error), usage, usd, wall_s,
            router.clean("".join(self.said)),
        ))


def fingerprint(choice: Choice, request: Request) -> str:
    """The hash of all that a model's answer depends on. A request's deadline and the variables that
    its messages were rendered from are no part of it."""
    asked = asdict(replace(request, variables={}, deadline_s=0.0, again=False))
    text = json.dumps([choice.asked, type(request.output).__name__, asked], sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _counted(usage: Usage) -> Usage:
    """A provider's counts without those that cannot be."""
    counts = {
        name: min(max(getattr(usage, name), 0), MAX_TOKENS)
        for name in ("input", "output", "read", "written")
    }
    return replace(usage, **counts)


def thinking_s(reply: Reply, *, loaded: bool) -> float:
    """Seconds that a role which thinks would wait for a model, by one of its replies; without the
    time for the question where the model may not have been `loaded` before."""
    usage, first_s = reply.usage, reply.first_s
    if first_s is None or usage.estimated or usage.output < TELLING_TOKENS:
        return 0.0
    asked, answered = THINKING_TOKENS
    reading = asked * first_s / usage.input if loaded and usage.input >= asked / 10 else 0.0
    return reading + answered * max(0.0, reply.wall_s - first_s) / usage.output


async def _learn_window(provider: Provider) -> None:
    """Asks a server for its models, which tells their windows. What fails here is no matter: the
    first call meets it too, and says it."""
    with suppress(LlmError, TimeoutError):
        async with asyncio.timeout(LEARNING_S):
            await provider.models()
