"""Repair: a search without a model around the program that fails."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent.core.events import CodeWritten, Judged
from agent.core.state import State
from agent.healing.context import Context
from agent.healing.rounds import attempt_of
from agent.healing.strategies import Attempt, Proposal, by_search

SEARCHES: dict[str, Callable[[Attempt, Context], Awaitable[Proposal]]] = {"search": by_search}


async def repair(state: State, ctx: Context) -> State:
    """Searches; the program found has passed the judge under the visible tests."""
    attempt = attempt_of(state, ctx)
    proposal = await SEARCHES[state["approach"]](attempt, ctx)
    if proposal.partial is not None:
        number, nearer = state["iteration"] + 1, proposal.partial
        ctx.emit(CodeWritten(iteration=number, solution=nearer))
        ctx.emit(Judged(iteration=number, report=await ctx.judge(nearer, attempt.tests)))
    update: State = {
        "candidates": state.get("candidates", 0) + proposal.candidates,
        "proposed_id": "", "proposed_rivals_id": "",
    }
    if proposal.solution is None:
        return update | {"reason": proposal.why}
    others = proposal.alternatives
    return update | {
        "proposed_id": ctx.store.put(proposal.solution),
        "proposed_rivals_id": "" if others is None else ctx.store.put(others),
    }
