"""Select: the cheapest strategy that brought a verified program wins the iteration."""

from __future__ import annotations

from agent.context import Context
from agent.domain import Alternatives, Solution, Strategy
from agent.events import Ambiguous, CodeWritten, PatchProposed
from agent.repair.question import question
from agent.state import State
from agent.strategies import STRATEGIES


async def select(state: State, ctx: Context) -> State:
    """Takes this iteration's proposals, by the strategies' order, and counts the iteration."""
    found: dict[Strategy, tuple[str, str]] = {}
    for proposal in state.get("proposals", []):
        iteration, _, rest = proposal.partition(":")
        name, key, rivals = rest.split(":")
        if int(iteration) == state["iteration"]:
            found.update({strategy: (key, rivals) for strategy in STRATEGIES if strategy == name})
    winner = next((name for name in STRATEGIES if name in found), None)
    if winner is None:
        if ctx.seconds_left <= 0:
            return {
                "outcome": "budget",
                "reason": f"the run's {ctx.settings.budget_s:g} seconds are over",
            }
        return {"outcome": "unresolved", "reason": state.get("reason", "")}
    key, rivals = found[winner]
    solution = ctx.store.get(key, Solution)
    base = ctx.store.get(state["base_id"], Solution)
    iteration_now = state["iteration"] + 1
    ctx.emit(CodeWritten(iteration=iteration_now, solution=solution))
    ctx.emit(
        PatchProposed(
            iteration=iteration_now, strategy=winner, note=solution.note,
            diff=solution.diff(base),
        )
    )
    asked = question(ctx.store.get(rivals, Alternatives), base) if rivals else None
    if asked is not None:
        ctx.emit(Ambiguous(iteration=iteration_now, rivals=asked))
    return {
        "solution_id": key, "iteration": iteration_now, "strategy": winner,
        "note": solution.note, "rivals_id": rivals,
    }
