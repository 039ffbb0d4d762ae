"""Recall: has this very failure been healed before? A hit is replayed before it is used."""

from __future__ import annotations

from agent.context import Context
from agent.domain import Solution
from agent.events import CodeWritten, Judged, PatchProposed, Recalled, TestsFrozen
from agent.memory import signature
from agent.nodes.specify import info
from agent.state import State, Suite


async def recall(state: State, ctx: Context) -> State:
    """Judges the program under the user's own tests and replays known fixes of its failure."""
    tests = ctx.task.tests
    suite = Suite(visible=tests)
    update: State = {"suite_id": ctx.store.put(suite), "iteration": 0}
    if tests:
        ctx.emit(TestsFrozen(tests=tuple(info(test) for test in tests)))
    base = ctx.task.solution
    if base is None:
        return update
    ctx.emit(CodeWritten(iteration=0, solution=base))
    base_id = ctx.store.put(base)
    report = await ctx.judge(base, tests)
    report_id = ctx.store.put(report)
    update |= {
        "base_id": base_id, "solution_id": base_id, "report_id": report_id,
        "best_id": base_id, "best_report_id": report_id,
    }
    ctx.emit(Judged(iteration=0, report=report))
    if report.passed:
        return update
    key = signature(base, tests, report)
    update["signature"] = key
    for hit in ctx.memory.recall(key):
        candidate = base.with_text(hit.fix.after, origin="memory", note=hit.fix.note)
        replayed = await ctx.judge(candidate, tests)
        ctx.memory.credit(hit.fix, helped=replayed.passed)
        if replayed.passed:
            ctx.emit(
                Recalled(hit=True, replayed=True, note=f"healed before: {hit.fix.note}")
            )
            return update | _healed(ctx, base, candidate)
        ctx.emit(
            Recalled(hit=True, note="a remembered fix failed its replay and was demoted")
        )
    ctx.emit(Recalled(hit=False, note="this failure is new"))
    return update


def _healed(ctx: Context, base: Solution, candidate: Solution) -> State:
    ctx.emit(CodeWritten(iteration=1, solution=candidate))
    ctx.emit(
        PatchProposed(
            iteration=1, strategy="memory", note=candidate.note, diff=candidate.diff(base)
        )
    )
    return {
        "solution_id": ctx.store.put(candidate), "iteration": 1, "strategy": "memory",
        "note": candidate.note, "recalled": True,
    }
