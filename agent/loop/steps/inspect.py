"""The inspect and simplify steps, off by default: report risky calls and remove dead code."""

from __future__ import annotations

from agent.core.domain import Report, Solution
from agent.core.events import CodeWritten, Judged, Notice
from agent.core.state import State, Suite
from agent.iteration.context import Context
from agent.search.inspection.dead_code import without_dead_code
from agent.search.inspection.risky import risks


async def inspect(state: State, ctx: Context) -> State:
    """Reports each risky call; a new one lowers the proof."""
    solution = ctx.store.get(state["solution_id"], Solution)
    submitted = ctx.task.solution or Solution(files=(), entry=solution.entry)
    fresh = []
    for file in solution.changed_from(submitted):
        known = {one.call for one in risks(file.before)}
        for one in risks(file.after):
            risk = f"{file.path}:{one.line}: `{one.call}` {one.why}"
            ctx.emit(Notice(level="warning", text=f"Risky: {risk}."))
            if one.call not in known:
                fresh.append(risk)
    return {"risk": f"it adds a risky call, {fresh[0]}" if fresh else ""}


async def simplify(state: State, ctx: Context) -> State:
    """Removes dead code if the program still passes the suite and every test it passed before."""
    solution = ctx.store.get(state["solution_id"], Solution)
    suite = ctx.store.get(state["suite_id"], Suite)
    if solution.origin == "user" or suite.flaky:
        return {}
    shorter = _shorter(solution, ctx.task.solution)
    if shorter.files == solution.files:
        return {}
    before = ctx.store.get(state["report_id"], Report)
    report = suite.with_current_origins(await ctx.judge(shorter, suite.all))
    passed = {one.name for one in before.verdicts if one.passed}
    if not report.passed or not passed <= {one.name for one in report.verdicts if one.passed}:
        ctx.emit(Notice(level="info", text=(
            "The program without its dead code fails a test, so nothing was removed."
        )))
        return {}
    iteration = state["iteration"]
    ctx.emit(CodeWritten(iteration=iteration, solution=shorter))
    ctx.emit(Judged(iteration=iteration, report=report))
    ctx.emit(Notice(level="info", text=(
        f"Dead code was removed:\n{shorter.diff(solution).rstrip()}"
    )))
    key = ctx.store.put(shorter)
    update: State = {"solution_id": key, "report_id": ctx.store.put(report), "note": shorter.note}
    if ctx.task.solution is None and state["base_id"] == state["solution_id"]:
        update["base_id"] = key  # it is still a first draft
    return update


def _shorter(solution: Solution, submitted: Solution | None) -> Solution:
    texts = {
        one.path: text
        for one in solution.changed_from(submitted or Solution(files=(), entry=solution.entry))
        if (text := without_dead_code(one.after, one.before)) != one.after
    }
    if not texts:
        return solution
    note = f"{solution.note}, without dead code".lstrip(", ")
    return solution.with_texts({solution.entry: solution.text, **texts}, note=note)
