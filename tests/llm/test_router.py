from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

import pytest

from llm import Json, NoModel, Reply, Usage
from llm.budget import Caps, Ledger, Spent
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
    ContextOverflow,
    OptionRefused,
    OverBudget,
    Overloaded,
    ProviderDown,
    RateLimited,
    Rejected,
    TimedOut,
    UnknownModel,
    WrongKey,
)
from llm.plan import Choice, ModelPlan
from llm.prices import Prices
from llm.provider import PROVIDERS, ProviderRow
from llm.router import Breaker, Router
from llm.tokens import MESSAGE_OVERHEAD, THINKING
from llm.types import Message
from tests.llm.scripted import REQUEST, Answer, Scripted, Step

PRICES = Prices.model_validate({"free": ["free"], "models": {"scripted": {"m": [{
    "from": date(2026, 1, 1), "input": 1, "output": 10, "cache_read": 0.1, "cache_write": 2,
}]}}})
QUESTION = len("system") + len("user") + 2 * MESSAGE_OVERHEAD
SOON = replace(REQUEST, deadline_s=5.0)


@dataclass
class House:
    """A router over scripted providers, and what it told."""

    steps: tuple[Step, ...] = (Answer(),)
    others: tuple[Scripted, ...] = ()
    caps: Caps = field(default_factory=Caps)
    roles: dict[str, Caps] = field(default_factory=dict)
    label: str = "scripted"
    now: float = 0.0

    def __post_init__(self) -> None:
        self.first = Scripted(self.steps)
        self.told: list[CallEvent] = []
        self.breakers: dict[str, Breaker] = {}
        providers = {"m": self.first, **{one.model: one for one in self.others}}
        self.router = Router(
            ModelPlan(
                "p", "why", (Choice("critic", self.label, "m", "why"),),
                tuple(Choice("", "scripted", one.model, "stands in") for one in self.others),
            ),
            lambda choice: providers[choice.model],
            Ledger(self.caps, self.roles), PRICES, self.told.append,
            lambda choice: self.breakers.setdefault(choice.model, Breaker(lambda: self.now)),
        )

    async def ask(self, **given: Any) -> tuple[list[str], Reply]:
        pieces: list[str] = []
        async with aclosing(self.router.stream(replace(SOON, **given))) as items:
            async for item in items:
                if isinstance(item, Reply):
                    return pieces, item
                pieces.append(item)
        raise AssertionError("no reply")

    @property
    def spent(self) -> Spent:
        return self.router.ledger.spent()


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.router.FIRST_WAIT_S", 0.001)
    for name in ("scripted", "other", "free"):
        monkeypatch.setitem(PROVIDERS, name, ProviderRow("", "json", ""))


async def test_partial_text_is_shown_by_whole_words_without_keys_until_the_end() -> None:
    house = House(steps=(Answer(pieces=("mind sk-canary", "-1 well", " done")),))
    house.router.clean = lambda text: text.replace("sk-canary-1", "***")
    seen = []
    async with aclosing(house.router.stream(SOON)) as items:
        async for item in items:
            seen += [] if isinstance(item, Reply) else [house.router.partial_answers()]
    assert seen == [{0: "mind "}, {0: "mind *** "}, {0: "mind *** well "}]
    assert house.router.partial_answers() == {}
    broken = House(steps=(Answer(fault=ProviderDown("gone", started=True)),))
    with pytest.raises(ProviderDown):
        await broken.ask()
    assert broken.router.partial_answers() == {}


async def test_an_answer_passes_through_in_its_pieces_with_its_cost() -> None:
    house = House()
    pieces, reply = await house.ask()
    assert pieces == ["hello", " world"]
    assert (reply.text, reply.provider, reply.model) == ("hello world", "scripted", "m")
    assert reply.cost_usd == pytest.approx((10 * 1.0 + 5 * 10.0) / 1e6)
    assert [type(one) for one in house.told] == [CallStarted, CallEnded]
    started = house.told[0]
    assert isinstance(started, CallStarted)
    assert started.tokens == QUESTION + 100
    assert started.usd == pytest.approx((QUESTION * 2.0 + 100 * 10.0) / 1e6)
    assert (house.spent.tokens, house.spent.calls) == (15, 1)


async def test_two_files_of_one_name_are_two_models() -> None:
    paths = ("/a/model.gguf", "/b/model.gguf")
    models = {path: Scripted((Answer((path,)),), model=path) for path in paths}
    roles = dict(zip(("critic", "debugger"), paths, strict=True))
    house = House()
    house.router.open = lambda choice: models[choice.model]
    house.router.plan = ModelPlan(
        "p", "why", tuple(Choice(role, "scripted", path, "why") for role, path in roles.items())
    )
    answers = {role: (await house.ask(role=role))[1].text for role in roles}
    assert answers == roles
    assert {one.words for one in house.router.plan.choices} == {"scripted/model.gguf"}


@dataclass
class Coming(Scripted):
    """A model that is loaded while it is asked."""

    states: tuple[str, ...] = ("downloading 40 %", "downloading 40 %", "loading", "")
    looked: int = 0

    def loading(self) -> str:
        self.looked += 1
        return self.states[min(self.looked, len(self.states)) - 1]


async def test_loading_a_local_model_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm.router.LOADING_INTERVAL_S", 0.01)
    house = House()
    coming = Coming((Answer(("a",), every_s=0.3),))
    house.router.open = lambda choice: coming
    await house.ask()
    told = [one.doing for one in house.told if isinstance(one, CallWaiting)]
    assert told == ["downloading 40 %", "loading"]
    assert coming.looked > len(coming.states), "it is looked at to the first piece"
    before = coming.looked
    await asyncio.sleep(0.05)
    assert coming.looked == before


async def test_a_role_without_a_model_is_not_answered() -> None:
    with pytest.raises(NoModel, match="'debugger'"):
        await House().ask(role="debugger")


async def test_an_unknown_price_is_not_zero() -> None:
    house = House(label="other")
    _, reply = await house.ask()
    assert reply.cost_usd is None
    assert House(label="free").router.prices.cost("free", "m", Usage(9, 9), date.max) == 0.0

    house = House((ProviderDown("refused"),) * 3, label="custom")
    with pytest.raises(ProviderDown):
        await house.ask()
    broke = house.told[-1]
    assert isinstance(broke, CallAborted)
    assert (broke.usage, broke.usd) == (Usage(), 0.0)


@pytest.mark.parametrize("error", [Overloaded("full"), ProviderDown("down"), RateLimited("slow")])
async def test_a_refused_request_is_repeated_and_each_counts(error: CallFailed) -> None:
    house = House((error, error, Answer()))
    _, reply = await house.ask()
    assert (reply.text, reply.attempts, len(house.first.asked)) == ("hello world", 3, 3)
    assert (house.spent.calls, house.spent.tokens) == (3, 15)
    assert [type(one) for one in house.told] == [CallStarted, CallRetried, CallRetried, CallEnded]
    house = House((error,))
    with pytest.raises(type(error)):
        await house.ask()
    assert (len(house.first.asked), house.spent.tokens, house.spent.usd) == (3, 0, 0.0)
    assert isinstance(house.told[-1], CallAborted)


async def test_a_refused_form_is_asked_again_at_once() -> None:
    house = House((OptionRefused("no schema"), Answer()))
    _, reply = await house.ask(output=Json({"type": "object"}))
    assert (reply.attempts, house.spent.calls) == (2, 2)
    assert [(one.why, one.wait_s) for one in house.told if isinstance(one, CallRetried)] == [
        ("no schema", 0.0)
    ]


@pytest.mark.parametrize("error", [
    WrongKey("key"), UnknownModel("model"), ContextOverflow("long"), Rejected("bad"),
    TimedOut("late"), Overloaded("half", started=True), ProviderDown("half", started=True),
])
async def test_what_may_be_paid_or_cannot_succeed_is_not_asked_again(error: CallFailed) -> None:
    house = House((error,))
    with pytest.raises(type(error)):
        await house.ask()
    assert len(house.first.asked) == 1


async def test_an_answer_that_breaks_off_is_charged_and_not_asked_again() -> None:
    seen = Usage(10, 2)
    house = House((Answer(("half",), fault=ProviderDown("gone", started=True, usage=seen)),))
    with pytest.raises(ProviderDown):
        await house.ask()
    assert len(house.first.asked) == 1
    assert house.spent.tokens == seen.total


async def test_a_provider_that_names_its_time_is_waited_for_within_the_deadline() -> None:
    house = House((RateLimited("slow", retry_after_s=4_294_967.0), Answer()))
    with pytest.raises(RateLimited):
        await house.ask()
    assert len(house.first.asked) == 1

    house = House((RateLimited("slow", retry_after_s=0.01), Answer()))
    await house.ask()
    assert [one.wait_s for one in house.told if isinstance(one, CallRetried)] == [0.01]


async def test_an_answer_that_drips_ends_at_its_deadline() -> None:
    house = House((Answer(("x",) * 1_000, every_s=0.01),))
    with pytest.raises(TimedOut):
        await house.ask(deadline_s=0.1)
    assert house.first.dropped == 1
    assert house.spent.tokens >= QUESTION


async def test_a_cancelled_call_is_dropped_at_once_and_what_it_may_cost_is_charged() -> None:
    house = House((Answer(("x",) * 1_000, every_s=0.01),))
    task = asyncio.create_task(house.ask())
    await asyncio.sleep(0.05)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert house.first.dropped == 1
    broke = house.told[-1]
    assert isinstance(broke, CallAborted)
    assert broke.error == "Cancelled"
    assert QUESTION <= house.spent.tokens < QUESTION + 100


async def test_questions_and_partial_answers_hold_no_keys() -> None:
    house = House((Answer(("hel", "KEY"), fault=ProviderDown("gone", started=True)),))
    house.router.clean = lambda text: text.replace("KEY", "***")
    with pytest.raises(ProviderDown):
        await house.ask(messages=(Message("user", "is it KEY?"),))
    started, broke = house.told
    assert isinstance(started, CallStarted)
    assert isinstance(broke, CallAborted)
    assert started.asked == (("system", "system"), ("user", "is it ***?"))
    assert broke.said == "hel***"


async def test_a_reader_that_leaves_ends_the_call_and_closing_the_router_what_it_opened() -> None:
    house = House((Answer(("x",) * 1_000, every_s=0.001),))
    async with aclosing(house.router.stream(SOON)) as items:
        await anext(items)
    assert house.first.dropped == 1
    assert isinstance(house.told[-1], CallAborted)
    await house.router.close()
    assert house.first.closed


async def test_no_model_stands_in_unasked() -> None:
    with pytest.raises(ProviderDown):
        await House((ProviderDown("down"),)).ask()


@pytest.mark.parametrize("error", [Overloaded("f"), ProviderDown("d"), RateLimited("s"),
                                   TimedOut("t")])
async def test_an_allowed_fallback_is_used_and_reported(error: CallFailed) -> None:
    second = Scripted(model="n")
    house = House((error,), (second,))
    _, reply = await house.ask()
    assert reply.model == "n"
    assert CallFellBack("critic", "scripted/m", "scripted/n", str(error)) in house.told


@pytest.mark.parametrize("said", [
    WrongKey("k"), Rejected("r"), ContextOverflow("c"),
    Answer(("half",), fault=ProviderDown("gone", started=True)),
])
async def test_a_fallback_hides_no_user_error_and_completes_no_half_answer(said: Step) -> None:
    second = Scripted(model="n")
    with pytest.raises(CallFailed):
        await House((said,), (second,)).ask()
    assert second.asked == []


async def test_a_model_that_fails_three_times_is_left_alone_then_probed_once() -> None:
    house = House((ProviderDown("down", started=True),))
    for _ in range(3):
        with pytest.raises(ProviderDown, match="down"):
            await house.ask()
    with pytest.raises(ProviderDown, match="30 seconds"):
        await house.ask()
    assert len(house.first.asked) == 3
    house.now = 31.0
    with pytest.raises(ProviderDown, match="down"):
        await house.ask()
    with pytest.raises(ProviderDown):
        await house.ask()
    assert len(house.first.asked) == 4
    house.now = 62.0
    house.first.steps = (Answer(),)
    await house.ask()
    await house.ask()
    assert house.breakers["m"].failures == 0


async def test_only_faults_of_a_server_open_the_breaker() -> None:
    house = House((Answer(finish="cut"),))
    for _ in range(3):
        await house.ask()
    with pytest.raises(ProviderDown):
        await house.ask()
    assert len(house.first.asked) == 3

    house = House((WrongKey("key"),))
    for _ in range(5):
        with pytest.raises(WrongKey):
            await house.ask()
    assert len(house.first.asked) == 5


# Caps.


@pytest.mark.parametrize(("caps", "cap"), [
    (Caps(tokens=QUESTION + 99), "run tokens"), (Caps(calls=0), "run calls"),
    (Caps(usd=0.0001), "run usd"), (Caps(seconds=0.0), "run seconds"),
])
async def test_a_call_that_would_pass_a_cap_is_not_made(caps: Caps, cap: str) -> None:
    house = House(caps=caps)
    with pytest.raises(OverBudget) as caught:
        await house.ask()
    assert caught.value.cap == cap
    assert house.first.asked == []
    assert house.told == []


@pytest.mark.parametrize("error", [Overloaded("full"), OptionRefused("no schema")])
@pytest.mark.parametrize("whose", ["run", "critic"])
async def test_no_request_is_repeated_past_the_call_cap(error: CallFailed, whose: str) -> None:
    caps = {"run": {"caps": Caps(calls=2)}, "critic": {"roles": {"critic": Caps(calls=2)}}}
    house = House((error,), **caps[whose])  # type: ignore[arg-type]  # each is one of its fields
    with pytest.raises(OverBudget, match=f" 2 .*{error}") as caught:
        await house.ask()
    assert caught.value.cap == f"{whose} calls"
    assert (len(house.first.asked), house.spent.calls, house.spent.tokens) == (2, 2, 0)
    assert [type(one) for one in house.told] == [CallStarted, CallRetried, CallAborted]


async def test_a_provider_that_counts_too_much_passes_a_cap_by_one_call_only() -> None:
    caps = Caps(usd=0.01, tokens=1_000)
    house = House((Answer(usage=Usage(50_000, 50_000)),), caps=caps)
    await house.ask()
    for _ in range(5):
        with pytest.raises(OverBudget):
            await house.ask()
    assert len(house.first.asked) == 1
    assert house.spent.tokens == 100_000


async def test_parallel_calls_are_each_reserved_before_any_has_ended() -> None:
    house = House((Answer(every_s=0.01),), caps=Caps(tokens=2 * (QUESTION + 100)))
    results = await asyncio.gather(*(house.ask() for _ in range(5)), return_exceptions=True)
    assert sum(isinstance(one, OverBudget) for one in results) == 3


async def test_an_unknown_price_needs_a_cap_in_tokens() -> None:
    for usd in (1.0, 0.0):
        with pytest.raises(OverBudget, match="other/m"):
            await House(label="other", caps=Caps(usd=usd)).ask()
    await House(label="other", caps=Caps(usd=1.0, tokens=1_000)).ask()
    # No dollars mean no model of unknown price.
    with pytest.raises(OverBudget, match="other/m"):
        await House(label="other", caps=Caps(usd=0.0, tokens=1_000)).ask()
    await House(label="free", caps=Caps(usd=0.0, tokens=1_000)).ask()


async def test_a_model_that_thinks_is_given_room_and_charged_for_it() -> None:
    house = House()
    house.first.thinks = True
    await house.ask(effort="low")
    assert house.first.asked[0].max_tokens == 100 + THINKING["low"]
    started = house.told[0]
    assert isinstance(started, CallStarted)
    assert started.tokens == QUESTION + 100 + THINKING["low"]


async def test_what_an_unfinished_step_has_paid_for_is_given_again_once_for_nothing() -> None:
    first = House()
    _, paid = await first.ask()
    (ended,) = [one for one in first.told if isinstance(one, CallEnded)]
    again = House((Answer(("another",)),))
    again.router.before = {ended.question: paid}
    pieces, reply = await again.ask()
    assert (pieces, reply.text, reply.cached) == (["hello world"], paid.text, True)
    assert (reply.cost_usd, reply.usage, again.spent.calls) == (0.0, Usage(), 0)
    _, fresh = await again.ask()
    assert (fresh.text, fresh.cached) == ("another", False)


@pytest.mark.parametrize("usage", [Usage(-5, -10**9), Usage(-1, 5, -3, -4), Usage(10**30, 10**30)])
async def test_a_count_that_cannot_be_gives_nothing_back(usage: Usage) -> None:
    house = House((Answer(usage=usage), Answer(), Answer()), caps=Caps(tokens=10**12, usd=10**9))
    await house.ask()
    spent = house.spent
    assert 0 <= spent.tokens <= 4 * 10**9
    assert spent.usd >= 0
    await house.ask()
    assert house.spent.tokens >= spent.tokens


async def test_an_answer_that_does_not_keep_to_its_limit_is_cut_off() -> None:
    house = House((Answer(("y " * 100,) * 18, usage=Usage(10, 900)),))
    with pytest.raises(ProviderDown, match=" 100 "):
        await house.ask()
    assert house.first.dropped == 1
    # Nobody may charge more than was asked for, so no cap is passed by it.
    (broke,) = [one for one in house.told if isinstance(one, CallAborted)]
    assert broke.usage.output == 100
    house.router.ledger.run = Caps(calls=1)
    with pytest.raises(OverBudget, match=r" 1 .* 100 "):
        await house.ask()


async def test_a_key_that_a_server_repeats_is_taken_out_of_its_answer() -> None:
    house = House((Answer(("the key is s3cret-k3y",)),))
    house.router.clean = lambda text: text.replace("s3cret-k3y", "***")
    _, reply = await house.ask()
    assert reply.text == "the key is ***"


class Listing(Scripted):
    """Knows its window once its models were listed, if they can be."""

    fault: Exception | None = None
    parameters_b: float | None = None

    async def models(self) -> tuple[str, ...]:
        if self.fault is not None:
            raise self.fault
        self.window = 4_096
        return ("m",)


@pytest.mark.parametrize(("provider", "fault", "window"), [
    ("vllm", None, 4_096),
    ("custom", None, 4_096),
    ("vllm", ProviderDown("no list"), None),
    ("openai", None, None),
])
async def test_the_window_of_a_server_that_lists_it_is_known_before_the_first_question(
    provider: str, fault: Exception | None, window: int | None
) -> None:
    house = House()
    listing = Listing()
    listing.fault = fault
    house.router.open = lambda choice: listing
    house.router.plan = ModelPlan("p", "why", (Choice("critic", provider, "m", "why"),))

    asked = await house.router.at("critic")

    assert asked is not None
    assert asked.window == window
    assert (await house.ask())[1].text == "hello world"


SMALL = {"parameters_b": 1.5}
SLOW = {"first_s": 1.0, "wall_s": 61.0}
QUICK = {"first_s": 1.0, "wall_s": 3.0}
SLOW_TO_READ = {"first_s": 60.0, "wall_s": 61.0}


@pytest.mark.parametrize(("label", "measured", "kept"), [
    ("free", [SMALL], False),
    ("free", [SLOW], False),
    ("free", [QUICK, SLOW], False),
    ("free", [SLOW_TO_READ, SLOW_TO_READ], False),
    ("free", [SLOW_TO_READ], True),  # it may have been loaded meanwhile
    ("free", [QUICK | {"parameters_b": 32.0}], True),
    ("paid", [SLOW], True),
])
async def test_rules_answer_for_a_model_that_shows_to_be_small_or_slow(
    label: str, measured: list[dict[str, float]], kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROVIDERS, "paid", ProviderRow("", key="A_KEY", needs_key=True))
    house = House(tuple(
        Answer(usage=Usage(1_000, 100), measured=one) for one in measured
    ), label=label)
    [critic] = house.router.plan.choices
    house.router.plan = replace(house.router.plan, choices=(
        replace(critic, role="generator"), replace(critic, optional=True),
        replace(critic, role="debugger"),  # named by the user
    ))
    for _ in measured:
        await house.ask(role="generator")
    of = house.router.plan.of
    assert (of("critic") is not None) == kept
    assert [one.is_small for one in map(of, ("generator", "debugger")) if one] == [not kept] * 2
    assert sum(isinstance(one, ModelRated) for one in house.told) == (not kept)


@pytest.mark.parametrize(("size", "small"), [(1.8, True), (32.0, False), (None, False)])
async def test_a_listed_size_counts_before_the_first_question(
    size: float | None, small: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = "listing"
    monkeypatch.setitem(PROVIDERS, provider, ProviderRow("", lists_windows=True))
    house = House()
    listing = Listing()
    listing.parameters_b = size
    house.router.open = lambda choice: listing
    house.router.plan = ModelPlan("p", "why", (
        Choice("generator", provider, "m", "why"),
        Choice("critic", provider, "m", "why", optional=True),
    ))

    asked = await house.router.at("critic")

    assert (asked is None) == small
    generator = house.router.plan.of("generator")
    assert generator is not None and generator.is_small == small
    assert sum(isinstance(one, ModelRated) for one in house.told) == small
