"""Which of several repairs that fit the tests the words speak for, by predictions of what tells
them apart.

Asked once of a model that sees neither program nor test, and only where a person is not. A
prediction proves nothing: it chooses among what the judge has passed, and what was open stays open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from agent.core.domain import Alternative, Alternatives, Solution
from agent.core.events import Notice
from agent.core.state import Suite
from agent.healing.context import Context
from agent.healing.searching import confirmed_alternatives
from agent.repair.ranking.question import Answer, given
from agent.repair.ranking.rivals import is_readable
from agent.thinking.arbitration import same
from agent.thinking.roles import ARBITER, PREDICTOR, ask_if_it_answers

MOST_FORESEEN = 6
"""Calls that are put to it at once."""


async def foreseen(
    ctx: Context, suite: Suite, solution: Solution, others: Alternatives
) -> tuple[Solution, Alternatives]:
    """The repair that most predictions speak for, and all with it in front; as they were where no
    model is planned, or nothing speaks for another."""
    calls = telling_calls(others)
    if not calls or not may_foresee(ctx):
        return solution, others
    answer = await ask_if_it_answers(
        ctx, PREDICTOR, {"task": ctx.task.text, "calls": "\n".join(calls)},
        without="Which of the repairs that fit is meant stays open.",
    )
    told = {plain_call(one.call): one.expected for one in (answer.examples if answer else ())}
    led = by_predictions(others, {
        call: told[plain_call(call)] for call in calls if plain_call(call) in told
    })
    if led.behaviours[0] == others.behaviours[0]:
        return solution, others
    led = await confirmed_alternatives(
        led, lambda one: ctx.judge(one, suite.visible), lambda: ctx.seconds_left <= 0
    )
    first = led.behaviours[0]
    if not first.confirmed or first.solution.id == solution.id:
        return solution, others
    call, value = _decisive(others, first, told)
    ctx.emit(Notice(level="warning", text=(
        "Several repairs fit the tests; one is kept that a prediction from the words speaks for: "
        f"`{call}` gives {value}."
    ), role=ARBITER.name))
    return first.solution, led


def _decisive(
    others: Alternatives, chosen: Alternative, told: dict[str, str]
) -> tuple[str, str]:
    """A call and the predicted value that spoke for the chosen one and not for the first."""
    first = others.behaviours[0]
    return next(
        (call, told[plain_call(call)])
        for call, one, other in zip(others.calls, chosen.answers, first.answers, strict=False)
        if one != other and same(Answer.read(told.get(plain_call(call), "")), given(one))
    )


def may_foresee(ctx: Context) -> bool:
    """Whether there are words to predict from, and a model to do it."""
    return (
        bool(ctx.task.text.strip()) and not ctx.settings.ask
        and ctx.settings.enable_arbitration and ctx.plan.of(ARBITER.name) is not None
    )


def telling_calls(others: Alternatives) -> tuple[str, ...]:
    """The calls whose answers set the behaviours apart, the most telling ones first; pure."""
    known = [one.answers for one in others.behaviours if one.answers]
    found = []
    for place, call in enumerate(others.calls):
        answers = [one[place] for one in known]
        if len(set(answers)) > 1 and all(map(is_readable, answers)):
            found.append((-len(set(answers)), len(call), call))
    return tuple(call for _, _, call in sorted(found)[:MOST_FORESEEN])


def by_predictions(others: Alternatives, told: dict[str, str]) -> Alternatives:
    """The behaviours, those first that most predictions speak for; pure."""
    votes = Counter({
        place: _agreeing(one, others.calls, told) for place, one in enumerate(others.behaviours)
    })
    order = sorted(votes, key=lambda place: -votes[place])
    return others.model_copy(update={
        "behaviours": tuple(others.behaviours[place] for place in order)
    })


def _agreeing(one: Alternative, calls: Sequence[str], told: dict[str, str]) -> int:
    return sum(
        call in told and same(Answer.read(told[call]), given(answer))
        for call, answer in zip(calls, one.answers, strict=False)
    )


def plain_call(call: str) -> str:
    """A call without its spaces, by which an answer is told to be about it."""
    return "".join(call.split())
