"""Attempt: one repair by a model. A tournament runs this step several times side by side."""

from __future__ import annotations

import asyncio

from agent.core.events import Notice
from agent.core.settings import GENERATOR
from agent.core.state import Rounds, State, Try
from agent.healing.context import Context
from agent.healing.rounds import attempt_of, least_s, may_ask
from agent.thinking.rewriting import one_try
from llm.errors import OverBudget


async def attempt(state: State, ctx: Context) -> State:
    """Asks the generator for one repair, which is judged at once."""
    rounds = ctx.store.get(state["rounds_id"], Rounds) if "rounds_id" in state else Rounds()
    place = state.get("place", 0)
    if may_ask(ctx):
        bound = ctx.seconds_left - least_s(ctx) if state["approach"] == "tournament" else None
        found = await _bounded(state, ctx, rounds, place, bound)
    else:
        found = Try(fault="no time was left to ask the generator", candidates=0)
    return {"candidates_now": [
        {"round": state["iteration"] + 1, "place": place, "try_id": ctx.store.put(found)}
    ]}


async def _bounded(
    state: State, ctx: Context, rounds: Rounds, place: int, seconds: float | None
) -> Try:
    """One repair within these seconds; in a tournament a late or capped answer must not cost the
    others."""
    try:
        async with asyncio.timeout(seconds) as clock:
            return await one_try(
                attempt_of(state, ctx), ctx, state["approach"], rounds.told, place
            )
    except TimeoutError:
        if not clock.expired():
            raise
        fault, capped = "the generator gave no repair in time to judge it", False
    except OverBudget as error:
        if seconds is None or ctx.pauses:
            raise
        fault, capped = str(error), True
    ctx.emit(Notice(level="info", role=GENERATOR, text=f"In a tournament {fault}."))
    return Try(fault=fault, is_models_fault=True, candidates=0, capped=capped)
