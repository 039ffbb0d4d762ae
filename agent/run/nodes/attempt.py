"""Attempt: one repair by a model. A tournament runs this step several times side by side."""

from __future__ import annotations

from agent.core.rounds import Rounds, Try
from agent.core.state import State
from agent.healing.context import Context
from agent.healing.rounds import attempt_of, may_ask
from agent.thinking.rewriting import one_try


async def attempt(state: State, ctx: Context) -> State:
    """Asks the generator for one repair, which is judged at once."""
    rounds = ctx.store.get(state["rounds_id"], Rounds) if "rounds_id" in state else Rounds()
    place = state.get("place", 0)
    if may_ask(ctx):
        found = await one_try(
            attempt_of(state, ctx), ctx, state["approach"], rounds.told, place
        )
    else:
        found = Try(fault="no time was left to ask the generator", candidates=0)
    return {"candidates_now": [
        {"round": state["iteration"] + 1, "place": place, "try_id": ctx.store.put(found)}
    ]}
