"""Branch: a fork begins, with a program of another run and the suite that was frozen there."""

from __future__ import annotations

from agent.core.domain import Report, Solution
from agent.core.events import CodeWritten, Judged
from agent.core.state import State, Suite, is_repaired
from agent.healing.context import Context
from agent.run.nodes.specify import announce


async def branch(state: State, ctx: Context) -> State:
    """Logs what the fork has from its parent: tests, the first program, and where it starts."""
    announce(ctx, ctx.store.get(state["suite_id"], Suite).all)
    ctx.emit(CodeWritten(iteration=0, solution=ctx.store.get(state["base_id"], Solution)))
    if "report_id" in state:
        ctx.emit(Judged(iteration=0, report=ctx.store.get(state["report_id"], Report)))
    if is_repaired(state):
        ctx.emit(CodeWritten(iteration=0, solution=ctx.store.get(state["solution_id"], Solution)))
    return {}
