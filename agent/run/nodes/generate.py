"""Generate: a first program from words, only where none was brought."""

from __future__ import annotations

from agent.core.events import CodeWritten, Notice
from agent.core.settings import GENERATOR
from agent.core.state import State, Suite
from agent.healing.context import Context
from agent.healing.rounds import is_small
from agent.thinking.drafting import compared
from agent.thinking.several_files import drafted

SCRIPTED = (
    "No model has written this program: it is a scripted first draft, with a bug in it, that comes "
    "with the demo task."
)


async def generate(state: State, ctx: Context) -> State:
    """Asks the generator for a program."""
    scripted = ctx.plan.of(GENERATOR) is None
    solution = await drafted(ctx, "draft" if scripted else "model")
    if scripted:
        ctx.emit(Notice(level="info", text=SCRIPTED))
    ctx.emit(CodeWritten(iteration=0, solution=solution))
    update: State = {}
    suite = ctx.store.get(state["suite_id"], Suite)
    if is_small(ctx) and len(solution.files) == 1 and suite.oracle:
        first, (solution, estimate) = solution, await compared(ctx, solution, suite.oracle)
        if solution is not first:
            ctx.emit(CodeWritten(iteration=0, solution=solution))
        if estimate is not None:
            update["written_id"] = ctx.store.put(estimate)
    key = ctx.store.put(solution)
    return {**update, "base_id": key, "solution_id": key}
