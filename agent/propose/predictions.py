"""Ranks competing patches by predictions from the task's text.

A model that sees neither program nor test predicts the results of calls that distinguish the
patches, once and only if no user is asked. A prediction proves nothing: it chooses among passing
patches, and an open question stays open.
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
"""The maximum number of calls in a question."""


async def predicted(
    ctx: Context, suite: Suite, solution: Solution, others: Alternatives
) -> tuple[Solution, Alternatives]:
    """Returns the repair that most predictions support, and all patches with it first; unchanged if
    there is no model or no prediction supports another repair."""
    calls = distinguishing_calls(others)
    may_ask = ctx.settings.enable_arbitration and not ctx.settings.ask
    if not calls or not may_ask or not ctx.task.text.strip():
        return solution, others
    predicted_values = await predictions(
        ctx, calls, consequence="It remains undecided which passing repair is right."
    )
    ranked = by_predictions(others, predicted_values)
    before = others.behaviours[0]
    if ranked.behaviours[0] == before:
        return solution, others
    ranked = await confirmed_alternatives(
        ranked, lambda one: ctx.judge(one, suite.visible), lambda: ctx.seconds_left <= 0
    )
    first = ranked.behaviours[0]
    if not first.confirmed or first.solution.id == solution.id:
        return solution, others
    supporting = _agreeing(first, others.calls, predicted_values)
    refuting = _agreeing(before, others.calls, predicted_values)
    call = next(one for one in supporting if one not in refuting)
    ctx.emit(Notice(level="warning", text=(
        "Several repairs pass the tests. The chosen one agrees with a prediction from the task: "
        f"`{call}` gives {predicted_values[call]}."
    ), role=ARBITER.name))
    return first.solution, ranked


def distinguishing_calls(others: Alternatives) -> tuple[str, ...]:
    """The calls whose answers distinguish the behaviours, the most distinct answers first."""
    known = [one.answers for one in others.behaviours if one.answers]
    found = []
    for index, call in enumerate(others.calls):
        answers = [one[index] for one in known]
        if len(set(answers)) > 1 and all(map(is_readable, answers)):
            found.append((-len(set(answers)), len(call), call))
    return tuple(call for _, _, call in sorted(found)[:MAX_PREDICTED])


def by_predictions(others: Alternatives, predicted_values: dict[str, str]) -> Alternatives:
    """Sorts behaviours by the number of predictions that support them."""
    return others.model_copy(update={"behaviours": tuple(sorted(
        others.behaviours, key=lambda one: -len(_agreeing(one, others.calls, predicted_values))
    ))})


def _agreeing(
    one: Alternative, calls: Sequence[str], predicted_values: dict[str, str]
) -> list[str]:
    """Returns the calls for which a behaviour gives the predicted value."""
    return [
        call for call, answer in zip(calls, one.answers, strict=False)
        if call in predicted_values and same(Answer.read(predicted_values[call]), given(answer))
    ]
