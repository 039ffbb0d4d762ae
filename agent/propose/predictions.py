"""Which of several repairs that fit the tests the words speak for, by predictions of what tells
them apart.

Asked once of a model that sees neither program nor test, and only where a person is not. A
prediction proves nothing: it chooses among what the judge has passed, and what was open stays open.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent.core.domain import Alternative, Alternatives, Solution
from agent.core.events import Notice
from agent.core.state import Suite
from agent.iteration.context import Context
from agent.iteration.search.driver import confirmed_alternatives
from agent.propose.arbitration import predictions, same
from agent.propose.roles import ARBITER
from agent.search.ranking.competing import is_readable
from agent.search.ranking.question import Answer, given

MAX_PREDICTED = 6
"""Calls that are put to it at once."""


async def predicted(
    ctx: Context, suite: Suite, solution: Solution, others: Alternatives
) -> tuple[Solution, Alternatives]:
    """The repair that most predictions speak for, and all with it in front; as they were where no
    model is planned, or nothing speaks for another."""
    calls = distinguishing_calls(others)
    may_ask = ctx.settings.enable_arbitration and not ctx.settings.ask
    if not calls or not may_ask or not ctx.task.text.strip():
        return solution, others
    predicted = await predictions(
        ctx, calls, without="Which of the repairs that fit is meant stays open."
    )
    led = by_predictions(others, predicted)
    before = others.behaviours[0]
    if led.behaviours[0] == before:
        return solution, others
    led = await confirmed_alternatives(
        led, lambda one: ctx.judge(one, suite.visible), lambda: ctx.seconds_left <= 0
    )
    first = led.behaviours[0]
    if not first.confirmed or first.solution.id == solution.id:
        return solution, others
    spoke = _agreeing(first, others.calls, predicted)
    call = next(one for one in spoke if one not in _agreeing(before, others.calls, predicted))
    ctx.emit(Notice(level="warning", text=(
        "Several repairs fit the tests; one is kept that a prediction from the words speaks for: "
        f"`{call}` gives {predicted[call]}."
    ), role=ARBITER.name))
    return first.solution, led


def distinguishing_calls(others: Alternatives) -> tuple[str, ...]:
    """The calls whose answers set the behaviours apart, the most telling ones first; pure."""
    known = [one.answers for one in others.behaviours if one.answers]
    found = []
    for place, call in enumerate(others.calls):
        answers = [one[place] for one in known]
        if len(set(answers)) > 1 and all(map(is_readable, answers)):
            found.append((-len(set(answers)), len(call), call))
    return tuple(call for _, _, call in sorted(found)[:MAX_PREDICTED])


def by_predictions(others: Alternatives, predicted: dict[str, str]) -> Alternatives:
    """The behaviours, those first that most predictions speak for; pure."""
    return others.model_copy(update={"behaviours": tuple(sorted(
        others.behaviours, key=lambda one: -len(_agreeing(one, others.calls, predicted))
    ))})


def _agreeing(one: Alternative, calls: Sequence[str], predicted: dict[str, str]) -> list[str]:
    """The calls whose predictions are what a behaviour answers."""
    return [
        call for call, answer in zip(calls, one.answers, strict=False)
        if call in predicted and same(Answer.read(predicted[call]), given(answer))
    ]
