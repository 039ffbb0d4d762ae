"""Select: a verified program is taken; without one, what comes next is decided."""

from __future__ import annotations

from agent.core.domain import Alternatives, Solution
from agent.core.events import (
    Ambiguous,
    CodeWritten,
    Extended,
    Notice,
    PatchProposed,
    Searched,
    StepStarted,
)
from agent.core.settings import GENERATOR
from agent.core.state import State, Suite
from agent.healing.context import Context
from agent.healing.recollection import RecalledFix, apply_recalled_fix
from agent.repair.ranking.question import question
from llm.errors import OverBudget

LEAST_S = 1.0
"""Seconds of a run below which no model is asked any more."""


async def select(state: State, ctx: Context) -> State:
    """Takes what the repair has proposed, and counts the iteration."""
    key = state["proposed_id"]
    if not key and state.get("reserve_id"):
        return _from_reserve(state, ctx)
    if not key and not state.get("paid") and _a_model_can_help(ctx):
        model = ctx.plan.of(GENERATOR)
        ctx.emit(Notice(level="info", text=(
            f"No repair was found without a model ({state.get('reason', '')}). From here on models "
            f"are asked{f', {model.words} for a repair' if model else ''}."
        )))
        return {"paid": True, "escalated": True}
    if not key:
        if _out_of_time(state, ctx):
            return _time_is_over(ctx)
        return {"outcome": "unresolved", "reason": state.get("reason", "")}
    rivals = state["proposed_rivals_id"]
    solution = ctx.store.get(key, Solution)
    base = ctx.store.get(state["base_id"], Solution)
    iteration_now = state["iteration"] + 1
    ctx.emit(CodeWritten(iteration=iteration_now, solution=solution))
    ctx.emit(
        PatchProposed(
            iteration=iteration_now, strategy=state["strategy"], note=solution.note,
            diff=solution.diff(base),
        )
    )
    asked = question(ctx.store.get(rivals, Alternatives), base) if rivals else None
    if asked is not None:
        ctx.emit(Ambiguous(iteration=iteration_now, rivals=asked))
    return {
        "solution_id": key, "iteration": iteration_now, "note": solution.note,
        "rivals_id": rivals, "caveat": "", "open_id": "", "escalated": False,
    }


def _a_model_can_help(ctx: Context) -> bool:
    """Whether the plan has a model for repairs, and the run some time for it."""
    return ctx.plan.of(GENERATOR) is not None and ctx.seconds_left > LEAST_S


def _from_reserve(state: State, ctx: Context) -> State:
    """The remembered program that the search was to be compared with: it found none. That program
    was chosen by all tests, so none is held out from it."""
    suite = ctx.store.get(state["suite_id"], Suite).shown()
    base = ctx.store.get(state["base_id"], Solution)
    found = ctx.store.get(state["reserve_id"], RecalledFix)
    return apply_recalled_fix(ctx, base, found, state["iteration"] + 1) | {
        "suite_id": ctx.store.put(suite), "reserve_id": "",
    }


def _out_of_time(state: State, ctx: Context) -> bool:
    """Whether the run's time ended the search: it is over, or the search was cut before it had
    worked as long as it may, so that some is left for a verdict. Where models were asked after
    it, the search was not what failed."""
    searches = [entry.event for entry in ctx.log() if isinstance(entry.event, Searched)]
    cut_after = searches[-1].cut_after if searches else None
    early = cut_after is not None and cut_after < ctx.settings.search_s
    return (early and not state.get("paid")) or ctx.seconds_left <= 0


def _time_is_over(ctx: Context) -> State:
    """Ends the run; where it pauses, asks for more time, and uses what was given since."""
    words = f"the run's {ctx.settings.budget_s:g} seconds are over"
    if not ctx.pauses:
        return {"outcome": "budget", "reason": words}
    for entry in reversed(ctx.log()):
        match entry.event:
            case Extended():
                return {"escalated": True}
            case StepStarted(step="repair"):
                break
    raise OverBudget(words, "run seconds")
