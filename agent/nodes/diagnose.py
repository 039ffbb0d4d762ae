"""Diagnose: where and why it fails, from the real run; or why no edit could help."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.checks.tracing import hanging, trace
from agent.context import Context
from agent.domain import BlamedLine, Diagnosis, Report, Solution
from agent.events import Diagnosed, Notice, Recalled
from agent.flakiness import RUNS
from agent.intake import classify
from agent.memory import Failure, MemoryFault, symptom_of
from agent.repair.blame import blamed
from agent.roles import DEBUGGER, ask
from agent.state import State, Suite


def shown(report: Report, suite: Suite) -> Report:
    """What may be told to whoever repairs: of the tests held out, not even how they fail."""
    held = {test.name for test in suite.held_out}
    verdicts = tuple(verdict for verdict in report.verdicts if verdict.test not in held)
    return report.model_copy(update={"verdicts": verdicts})


def suspects(blamed: Sequence[BlamedLine]) -> str:
    """The blamed lines in words, each with what its variables held."""
    lines = []
    for one in blamed:
        lines.append(f"line {one.line} ({one.suspicion:.2f}): {one.text}")
        lines += [f"    {name} = {value}" for name, value in one.values]
    return "\n".join(lines)


async def diagnose(state: State, ctx: Context) -> State:
    """Classifies the failure, blames lines by coverage, and asks the debugger."""
    suite = ctx.store.get(state["suite_id"], Suite)
    solution = ctx.store.get(state["solution_id"], Solution)
    report = shown(ctx.store.get(state["report_id"], Report), suite)
    failing = {verdict.test for verdict in report.failing}
    if state["iteration"] > 0 and failing and failing <= {*suite.flaky}:
        names = [name for name in suite.flaky if name in failing]
        return {
            "outcome": "unresolved",
            "reason": "the repair passes every steady test, but "
            f"{', '.join(names)} still fails in some of {RUNS} runs",
        }
    found = await asyncio.to_thread(classify, report, ctx.task, solution)
    if found.fixable and not found.blamed:
        seen = await trace(
            solution, suite.visible, ctx.task, ctx.sandbox,
            hanging=hanging(suite.visible, report),
        )
        ctx.screenings.watched(solution, suite.visible, seen)
        lines = await asyncio.to_thread(blamed, seen, solution.text)
        found = found.model_copy(update={"blamed": lines})
    answer: Diagnosis = await ask(
        ctx,
        DEBUGGER,
        {
            "code": solution.text,
            "failures": "\n".join(f"{v.name}: {v.message}" for v in report.failing),
            "suspects": suspects(found.blamed),
            "found": found,
        },
        free=not state.get("paid", False),
    )
    ctx.emit(Diagnosed(iteration=state["iteration"], diagnosis=answer))
    if state["iteration"] == 0:
        _remind(ctx, state, answer, solution)
    update: State = {"diagnosis_id": ctx.store.put(answer)}
    if not answer.fixable:
        update |= {"outcome": "not_fixable", "reason": answer.cause}
    return update


def _remind(ctx: Context, state: State, diagnosis: Diagnosis, solution: Solution) -> None:
    """Shows the lessons of earlier failures like this one, where there are any."""
    failure = ctx.store.get(state["failure_id"], Failure) if "failure_id" in state else None
    symptom = symptom_of(diagnosis, failure, solution.text)
    try:
        lessons = ctx.memory.lessons_for(symptom)
    except MemoryFault as error:
        ctx.emit(Notice(level="warning", text=f"{error} The run goes on without it."))
        return
    if lessons:
        one = len(lessons) == 1
        told = "a lesson of earlier failures comes" if one else (
            f"{len(lessons)} lessons of earlier failures come"
        )
        ctx.emit(Recalled(
            hit=False, note=f"{told} to mind",
            lessons=tuple(lesson.text for lesson in lessons),
        ))
