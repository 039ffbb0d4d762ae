"""Ask: a person says which behaviour is right. Nothing happens before `interrupt`, as the step is
run again from its first line."""

from __future__ import annotations

import json

from langgraph.types import interrupt

from agent.core.domain import Alternatives, Rivals, Solution, TestCase
from agent.core.events import Ambiguous, CodeWritten, Notice, PatchProposed
from agent.core.state import State, Suite
from agent.healing.context import Context
from agent.healing.searching import confirmed_alternatives
from agent.repair.ranking.question import (
    MOST_ASKED,
    BadAnswer,
    answered_test,
    fitting,
    in_words,
    question,
)
from agent.run.nodes.specify import announce


async def ask(state: State, ctx: Context) -> State:
    """Passes, or waits for `{"answer": ...}`; the answer joins the suite as a test (see
    `answered_test`)."""
    if not ctx.settings.ask or not state.get("rivals_id") or state.get("asked", 0) >= MOST_ASKED:
        return {"asking": False}
    alternatives = ctx.store.get(state["rivals_id"], Alternatives)
    base = ctx.store.get(state["base_id"], Solution)
    rivals = question(alternatives, base)
    if rivals is None:
        return {"asking": False}
    words = in_words(rivals)
    given = interrupt({
        "question": f"{words[0].upper()}{words[1:]}: which is right?", "diff": "",
        "rivals": json.loads(rivals.to_json()),
    })
    test = _test(rivals, given, ctx)
    if test is None:
        # A user who skips one question is not asked the next; this one stays to be seen.
        ctx.emit(Ambiguous(iteration=state["iteration"], rivals=rivals))
        return {"asking": False, "asked": MOST_ASKED}
    announce(ctx, (test,))
    suite = ctx.store.get(state["suite_id"], Suite)
    suite = suite.model_copy(update={"visible": (*suite.visible, test)})
    left = await confirmed_alternatives(
        fitting(alternatives, test), lambda one: ctx.judge(one, suite.visible),
        lambda: ctx.seconds_left <= 0,
    )
    return _chosen(state, ctx, base, left) | {
        "suite_id": ctx.store.put(suite), "asked": state.get("asked", 0) + 1,
    }


def _test(rivals: Rivals, given: object, ctx: Context) -> TestCase | None:
    answer = given.get("answer") if isinstance(given, dict) else None
    try:
        return answered_test(rivals, answer if isinstance(answer, str) else "")
    except BadAnswer as error:
        ctx.emit(Notice(level="warning", text=f"The question was left open. {error}"))
        return None


def _chosen(state: State, ctx: Context, base: Solution, left: Alternatives) -> State:
    """The state with the likeliest behaviour left; else the program stays, and fails the new
    test."""
    if not left.behaviours:
        return {"rivals_id": "", "asking": False}
    first = left.behaviours[0]
    update: State = {
        "rivals_id": ctx.store.put(left) if len(left.behaviours) > 1 else "", "asking": False,
    }
    key = ctx.store.put(first.solution)
    if key != state["solution_id"]:
        ctx.emit(CodeWritten(iteration=state["iteration"], solution=first.solution))
        ctx.emit(PatchProposed(
            iteration=state["iteration"], strategy="search", note=first.note,
            diff=first.solution.diff(base),
        ))
        update |= {"solution_id": key, "note": first.note}
    further = question(left, base)
    if further is not None:
        ctx.emit(Ambiguous(iteration=state["iteration"], rivals=further))
        update["asking"] = state.get("asked", 0) + 1 < MOST_ASKED
    return update
