"""Repair: one strategy of the fan-out; several run side by side.

Strategies are ways to repair, by rising cost: each is `async (attempt, ctx) -> Proposal`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypedDict

from agent.core.domain import Diagnosis, Report, Solution, Strategy
from agent.core.state import Proposed, State, Suite
from agent.healing.context import Context
from agent.healing.strategies import Attempt, Proposal, by_search
from agent.thinking.rewriting import by_model

STRATEGIES: dict[Strategy, Callable[[Attempt, Context], Awaitable[Proposal]]] = {
    "search": by_search,
    "model": by_model,
}
"""Of those that run side by side, the cheapest that brings a verified program wins."""

FREE: tuple[Strategy, ...] = ("search",)
"""Strategies that ask no model. The others run once these have found nothing."""
PAID: tuple[Strategy, ...] = tuple(name for name in STRATEGIES if name not in FREE)


class Branch(TypedDict):
    """What one strategy is sent."""

    strategy: Strategy
    suite_id: str
    solution_id: str
    report_id: str
    diagnosis_id: str
    iteration: int


async def repair(branch: Branch, ctx: Context) -> State:
    """Runs one strategy; its program, if any, has passed the judge under the visible tests."""
    suite = ctx.store.get(branch["suite_id"], Suite)
    attempt = Attempt(
        solution=ctx.store.get(branch["solution_id"], Solution),
        tests=tuple(test for test in suite.oracle if test.name not in suite.flaky),
        report=suite.seen_of(ctx.store.get(branch["report_id"], Report)),
        diagnosis=ctx.store.get(branch["diagnosis_id"], Diagnosis),
        iteration=branch["iteration"],
    )
    proposal = await STRATEGIES[branch["strategy"]](attempt, ctx)
    if proposal.solution is None:
        return {"candidates": proposal.candidates, "reason": proposal.note}
    others = proposal.alternatives
    proposed: Proposed = {
        "iteration": branch["iteration"], "strategy": branch["strategy"],
        "solution_id": ctx.store.put(proposal.solution),
        "rivals_id": "" if others is None else ctx.store.put(others),
    }
    return {"candidates": proposal.candidates, "proposals": [proposed]}
