"""The log is the ledger: what a run tells of its calls gives its spending back."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.core import events as e
from agent.log.spending import (
    LONGEST_LOGGED,
    StoredAnswer,
    event_of,
    ledger,
    lost_calls,
    next_call,
    reusable_calls,
)
from llm.budget import Caps, Charge, Ledger, Spent
from llm.calls import CallAborted, CallEnded, CallRetried, CallStarted
from llm.errors import OverBudget
from llm.types import Reply, Usage

ROLES = ("generator", "critic")
CAPS = st.builds(
    Caps, usd=st.none() | st.integers(0, 40).map(lambda n: n / 8),
    tokens=st.none() | st.integers(0, 2_000), calls=st.none() | st.integers(0, 6),
    seconds=st.none() | st.integers(0, 80).map(lambda n: n / 8),
)
ORDERS = st.lists(st.tuples(
    st.sampled_from(["ask", "ask", "again", "end", "break", "extend"]), st.sampled_from(ROLES),
    st.integers(0, 300), st.integers(0, 300), st.booleans(), st.integers(0, 5),
), max_size=25)


def stamped(events: list[e.Event]) -> list[e.LogEntry]:
    return [
        e.LogEntry(run="r", seq=seq, task="t", attempt=0, ordinal=seq, at=0.0, event=event)
        for seq, event in enumerate(events, 1)
    ]


def kept(said: StoredAnswer) -> str:
    return f"the address of {said.text!r}"


class Played:
    """A live ledger and the log of what was done to it; the providers count as they should."""

    def __init__(self, run: Caps, roles: dict[str, Caps]) -> None:
        self.run, self.roles = run, roles
        self.live = Ledger(run, roles)
        self.log: list[e.Event] = []
        self.open: list[tuple[Charge, int, int, bool]] = []

    def ask(self, role: str, question: int, answer: int, priced: bool) -> None:
        usd = (question + answer) / 1_024 if priced else None
        try:
            charge = self.live.reserve(
                role, question=question, answer=answer, usd=usd, what="a model"
            )
        except OverBudget:
            return
        self.open.append((charge, question, answer, priced))
        self.log.append(event_of(
            CallStarted(charge.id, role, "p", "m", "h", charge.amount.tokens, usd), 0, str, kept
        ))

    def charge_retry(self, at: int) -> None:
        if not self.open:
            return
        place = at % len(self.open)
        charge, question, answer, priced = self.open[place]
        try:
            again = self.live.charge_retry(charge, "a model")
        except OverBudget:
            return
        self.open[place] = (again, question, answer, priced)
        self.log.append(event_of(CallRetried(charge.id, "full", 0.1), 0, str, kept))

    def end(self, at: int, broke: bool) -> None:
        if not self.open:
            return
        charge, question, answer, priced = self.open.pop(at % len(self.open))
        usage = Usage(question, 0 if broke else answer)
        usd = usage.total / 1_024 if priced else None
        self.live.settle(charge, usage, usd, 0.125)
        self.log.append(event_of(
            CallAborted(charge.id, charge.role, "p", "m", "E", "why", usage, usd, 0.125) if broke
            else CallEnded(charge.id, charge.role, "h", "q", Reply(
                "", "stop", "p", "m", usage, cost_usd=usd, wall_s=0.125
            )), 0, str, kept,
        ))

    def extend(self, more: int) -> None:
        added = Caps(more / 8, more * 100, more, more / 4)
        self.live.run = self.live.run.more(added)
        self.live.roles = {role: caps.more(added) for role, caps in self.live.roles.items()}
        self.log.append(e.Extended(usd=more / 8, tokens=more * 100, calls=more, seconds=more / 4))


def played(run: Caps, roles: dict[str, Caps], orders: list[tuple[str, str, int, int, bool, int]]
           ) -> Played:
    one = Played(run, roles)
    for order, role, question, answer, priced, number in orders:
        match order:
            case "ask":
                one.ask(role, question, answer, priced)
            case "again":
                one.charge_retry(number)
            case "extend":
                one.extend(number)
            case _:
                one.end(number, order == "break")
        _within(one.live)
    return one


def _within(ledger: Ledger) -> None:
    """No cap is passed, the most that open calls can come to among what is spent."""
    for caps, spent in (
        (ledger.run, ledger.spent()),
        *((caps, ledger.spent(role)) for role, caps in ledger.roles.items()),
    ):
        assert caps.usd is None or spent.usd <= caps.usd + 1e-9
        assert caps.tokens is None or spent.tokens <= caps.tokens
        assert caps.calls is None or spent.calls <= caps.calls


@given(CAPS, st.dictionaries(st.sampled_from(ROLES), CAPS), ORDERS)
def test_after_whatever_happens_the_log_gives_the_ledger_and_no_cap_is_passed(
    run: Caps, roles: dict[str, Caps], orders: list[tuple[str, str, int, int, bool, int]]
) -> None:
    one = played(run, roles, orders)
    assert ledger(run, roles, stamped(one.log)) == one.live


@given(ORDERS)
def test_a_killed_call_is_counted_once(orders: list[tuple[str, str, int, int, bool, int]]) -> None:
    one = played(Caps(), {}, orders)
    ends = lost_calls(stamped(one.log))
    assert [end.call for end in ends] == sorted(charge.id for charge, *_ in one.open)
    whole = stamped([*one.log, *ends])
    assert lost_calls(whole) == ()
    again = ledger(Caps(), {}, whole)
    assert again.spent() == one.live.spent()
    assert not any(charge.open for charge in again.charges)


def test_calls_without_an_answer_have_their_cost_and_number() -> None:
    broke = CallAborted(0, "critic", "p", "m", "ProviderDown", "refused", Usage(), 0.0, 0.5)
    event = event_of(broke, 3, str, kept)
    assert isinstance(event, e.ModelFailed)
    assert (event.call, event.tokens, event.cost_usd) == (3, 0, 0.0)

    started = event_of(CallStarted(0, "critic", "p", "m", "h", 700, 0.5), 0, str, kept)
    assert ledger(Caps(), {}, stamped([started])).charges == [
        Charge(0, "critic", Spent(0.5, 700, 1))
    ]

    started = event_of(CallStarted(5, "critic", "p", "m", "h", 700, 0.5), 0, str, kept)
    assert (next_call(()), next_call(stamped([started]))) == (0, 6)


def test_a_log_holds_both_ends_of_a_long_question_and_of_its_answer() -> None:
    long = "begin" + "x" * LONGEST_LOGGED + "end"
    started = event_of(
        CallStarted(0, "critic", "p", "m", "h", 1, 0.0, (("user", long),)), 0, str, kept
    )
    ended = event_of(CallEnded(0, "critic", "h", "q", Reply(long, "stop", "p", "m", Usage())),
                     0, str, kept)
    assert isinstance(started, e.ModelAsked) and isinstance(ended, e.ModelCalled)
    ((_, asked),) = started.asked
    assert asked == ended.answer
    assert (asked[:5], asked[-3:], "8 " in asked) == ("begin", "end", True)
    assert len(asked) < LONGEST_LOGGED + 100


def test_what_was_paid_in_the_newest_steps_is_kept_until_another_begins() -> None:
    """A step may have told its end and not be kept; of two side by side one ends before the
    other; and one that is taken up again is no other."""

    def began(task: str) -> tuple[str, e.Event]:
        return task, e.StepStarted(step="attempt", iteration=0)

    def ended(task: str) -> tuple[str, e.Event]:
        return task, e.StepFinished(step="attempt", iteration=0, wall_ms=1.0)

    def paid(call: int) -> tuple[str, e.Event]:
        return "session", e.ModelCalled(
            call=call, role="generator", provider="p", model="m", tokens=1, cost_usd=0.0,
            wall_s=0.1, answer_id="an address",
        )

    def kept_of(*told: tuple[str, e.Event]) -> list[int]:
        log = [
            e.LogEntry(run="r", seq=seq, task=task, attempt=0, ordinal=seq, at=0.0, event=event)
            for seq, (task, event) in enumerate(told, 1)
        ]
        return [call.call for call in reusable_calls(log)]

    whole = (began("a"), paid(0), ended("a"))
    assert kept_of(*whole) == kept_of(*whole, began("a")) == [0]
    assert kept_of(*whole, began("b")) == []
    beside = (began("b"), began("c"), paid(1), ended("b"), paid(2))
    assert kept_of(*whole, *beside) == kept_of(*whole, *beside, began("c"), ended("c")) == [1, 2]
    assert kept_of(*whole, *beside, ended("c"), began("d")) == []
