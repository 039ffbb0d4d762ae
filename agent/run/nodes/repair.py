"""Repair: a search without a model, and once that has found nothing, a model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent.core.domain import Diagnosis, Report, Solution, Strategy
from agent.core.state import State, Suite
from agent.healing.context import Context
from agent.healing.strategies import Attempt, Proposal, by_search
from agent.thinking.rewriting import by_model

STRATEGIES: dict[Strategy, Callable[[Attempt, Context], Awaitable[Proposal]]] = {
    "search": by_search,
    "model": by_model,
}


async def repair(state: State, ctx: Context) -> State:
    """Runs the strategy; its program, if any, has passed the judge under the visible tests."""
    strategy: Strategy = "model" if state.get("paid") else "search"
    suite = ctx.store.get(state["suite_id"], Suite)
    proposal = await STRATEGIES[strategy](
        Attempt(
            solution=ctx.store.get(state["base_id"], Solution),
            tests=tuple(test for test in suite.oracle if test.name not in suite.flaky),
            report=suite.seen_of(ctx.store.get(state["report_id"], Report)),
            diagnosis=ctx.store.get(state["diagnosis_id"], Diagnosis),
        ),
        ctx,
    )
    update: State = {
        "candidates": state.get("candidates", 0) + proposal.candidates, "proposed_id": "",
    }
    if proposal.solution is None:
        return update | {"reason": proposal.why}
    others = proposal.alternatives
    return update | {
        "strategy": strategy, "proposed_id": ctx.store.put(proposal.solution),
        "proposed_rivals_id": "" if others is None else ctx.store.put(others),
    }
