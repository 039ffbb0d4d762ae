"""Inspect: names risky calls of a written program; an example of a check, off by default."""

from __future__ import annotations

from agent.core.domain import Solution
from agent.core.events import Notice
from agent.core.state import State
from agent.healing.context import Context
from agent.repair.proof.risky import risks


async def inspect(state: State, ctx: Context) -> State:
    """Names each risky call; a new one is a doubt about the proof."""
    solution = ctx.store.get(state["solution_id"], Solution)
    brought = ctx.task.solution or Solution(files=(), entry=solution.entry)
    fresh = []
    for file in solution.changed_from(brought):
        known = {one.call for one in risks(file.before)}
        for one in risks(file.after):
            told = f"{file.path}:{one.line}: `{one.call}` {one.why}"
            ctx.emit(Notice(level="warning", text=f"Risky: {told}."))
            if one.call not in known:
                fresh.append(told)
    return {"risk": f"it brings a risky call, {fresh[0]}" if fresh else ""}
