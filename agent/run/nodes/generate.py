"""Generate: a first program from words, only where none was brought."""

from __future__ import annotations

from agent.core.events import CodeWritten
from agent.core.settings import GENERATOR
from agent.core.state import State
from agent.healing.context import Context
from agent.thinking.several_files import drafted


async def generate(state: State, ctx: Context) -> State:
    """Asks the generator for a program."""
    solution = await drafted(ctx, "model" if ctx.plan.of(GENERATOR) else "draft")
    ctx.emit(CodeWritten(iteration=0, solution=solution))
    key = ctx.store.put(solution)
    return {"base_id": key, "solution_id": key}
