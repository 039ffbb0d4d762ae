"""The generate, repair and attempt steps: a first program from a task text, a search without a
model, and one repair by a model (several in parallel in a tournament)."""

from __future__ import annotations

import asyncio

from agent.core.events import CodeWritten, Judged, Notice
from agent.core.settings import GENERATOR
from agent.core.state import Iterations, ModelRepair, State, Suite
from agent.iteration.context import Context
from agent.iteration.iterations import is_small, may_ask_model, repair_input, verdict_reserve_s
from agent.iteration.strategies import repair_by_search
from agent.propose.drafting import compared
from agent.propose.rewriting import attempt_repair
from agent.propose.several_files import write_draft
from llm.errors import OverBudget


async def repair(state: State, ctx: Context) -> State:
    """Searches for a repair; a program that is found has passed the visible tests."""
    search_input = repair_input(state, ctx)
    proposal = await repair_by_search(search_input, ctx)
    if proposal.partial is not None:
        number, nearer = state["iteration"] + 1, proposal.partial
        ctx.emit(CodeWritten(iteration=number, solution=nearer))
        ctx.emit(Judged(iteration=number, report=await ctx.judge(nearer, search_input.tests)))
    update: State = {
        "candidates": state.get("candidates", 0) + proposal.candidates,
        "proposed_id": "", "proposed_alternatives_id": "",
    }
    if proposal.solution is None:
        return update | {"reason": proposal.why}
    others = proposal.alternatives
    return update | {
        "proposed_id": ctx.store.put(proposal.solution),
        "proposed_alternatives_id": "" if others is None else ctx.store.put(others),
    }


async def attempt(state: State, ctx: Context) -> State:
    """Asks the generator for one repair and judges it."""
    iterations = ctx.iterations(state)
    place = state.get("place", 0)
    if may_ask_model(ctx):
        is_tournament = state["approach"] == "tournament"
        bound = ctx.seconds_left - verdict_reserve_s(ctx) if is_tournament else None
        found = await _attempt_within(state, ctx, iterations, place, bound)
    else:
        found = ModelRepair(fault="no time was left to ask the generator", candidates=0)
    return {"candidates_now": [
        {"iteration": state["iteration"] + 1, "place": place, "repair_id": ctx.store.put(found)}
    ]}


async def _attempt_within(
    state: State, ctx: Context, iterations: Iterations, place: int, seconds: float | None
) -> ModelRepair:
    """Asks for one repair within `seconds`; a late or capped answer does not end a tournament."""
    try:
        async with asyncio.timeout(seconds) as clock:
            return await attempt_repair(
                repair_input(state, ctx), ctx, state["approach"], iterations.feedback, place
            )
    except TimeoutError:
        if not clock.expired():
            raise
        fault, capped = "the generator did not answer in time for its repair to be judged", False
    except OverBudget as error:
        if seconds is None or ctx.pauses:
            raise
        fault, capped = str(error), True
    ctx.emit(Notice(level="info", role=GENERATOR, text=f"In a tournament {fault}."))
    return ModelRepair(fault=fault, is_models_fault=True, candidates=0, capped=capped)


SCRIPTED = (
    "No model has written this program: it is a scripted first draft with a bug, and part of the "
    "demo task."
)


async def generate(state: State, ctx: Context) -> State:
    """Asks the generator for a program."""
    scripted = ctx.plan.of(GENERATOR) is None
    solution = await write_draft(ctx, "draft" if scripted else "model")
    if scripted:
        ctx.emit(Notice(level="info", text=SCRIPTED))
    ctx.emit(CodeWritten(iteration=0, solution=solution))
    update: State = {}
    suite = ctx.store.get(state["suite_id"], Suite)
    if is_small(ctx) and len(solution.files) == 1 and suite.deciding_tests:
        first, (solution, estimate) = solution, await compared(ctx, solution, suite.deciding_tests)
        if solution is not first:
            ctx.emit(CodeWritten(iteration=0, solution=solution))
        if estimate is not None:
            update["written_id"] = ctx.store.put(estimate)
    key = ctx.store.put(solution)
    return {**update, "base_id": key, "solution_id": key}
