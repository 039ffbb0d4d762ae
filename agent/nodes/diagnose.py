"""Diagnose: where and why it fails, from the real run; or why no edit could help."""

from __future__ import annotations

from agent.checks.tracing import trace
from agent.context import Context
from agent.domain import Diagnosis, Report, Solution
from agent.events import Diagnosed
from agent.intake import classify
from agent.repair.blame import blamed
from agent.roles import DEBUGGER, ask
from agent.state import State, Suite


def shown(report: Report, suite: Suite) -> Report:
    """What may be told to whoever repairs: of the tests held out, not even how they fail."""
    held = {test.name for test in suite.held_out}
    verdicts = tuple(verdict for verdict in report.verdicts if verdict.test not in held)
    return report.model_copy(update={"verdicts": verdicts})


async def diagnose(state: State, ctx: Context) -> State:
    """Classifies the failure, blames lines by coverage, and asks the debugger."""
    suite = ctx.store.get(state["suite_id"], Suite)
    solution = ctx.store.get(state["solution_id"], Solution)
    report = shown(ctx.store.get(state["report_id"], Report), suite)
    found = classify(report, ctx.task, solution)
    if found.fixable and not found.blamed:
        seen = await trace(solution, suite.visible, ctx.task, ctx.sandbox)
        found = found.model_copy(update={"blamed": blamed(seen, solution.text)})
    answer: Diagnosis = await ask(
        ctx,
        DEBUGGER,
        {
            "code": solution.text,
            "failures": "\n".join(f"{v.name}: {v.message}" for v in report.failing),
            "found": found,
        },
    )
    ctx.emit(Diagnosed(iteration=state["iteration"], diagnosis=answer))
    update: State = {"diagnosis_id": ctx.store.put(answer)}
    if not answer.fixable:
        update |= {"outcome": "not_fixable", "reason": answer.cause}
    return update
