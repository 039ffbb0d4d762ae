"""The diagnose step: where and why the program fails, or why no edit can help."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from agent.core.domain import Diagnosis, Report, Solution, SuspiciousLine, TestCase, counted
from agent.core.events import Diagnosed, Notice, Recalled
from agent.core.state import State, Suite, is_repaired
from agent.iteration.context import Context
from agent.iteration.escalation import MIN_CONFIDENCE
from agent.iteration.flakiness import RUNS, order_dependent_message
from agent.iteration.iterations import approach_after_diagnosis, begin_iterations
from agent.iteration.strategies import is_unspecified_draft
from agent.memory import FailureKey, MemoryFault, failure_description
from agent.propose.exploration import allowed_calls, debugger_tools, investigate
from agent.propose.roles import DEBUGGER, RootCause, ask_or_none
from agent.propose.wording import (
    failures,
    is_one_file,
    named_suspects,
    numbered,
    shown_files,
    suspects,
    suspects_of,
    tests,
    tests_of,
)
from agent.search.localisation import suspicious_lines
from agent.search.precheck.cases import split_into_cases
from agent.search.precheck.tracing import hanging, trace
from agent.target.failures.causes import classify


async def diagnose(state: State, ctx: Context) -> State:
    """Classifies the failure, localises suspicious lines by coverage, and asks the debugger."""
    suite = ctx.store.get(state["suite_id"], Suite)
    solution = ctx.store.get(state["solution_id"], Solution)
    report = suite.without_held_out(ctx.store.get(state["report_id"], Report))
    failing = {verdict.test for verdict in report.failing}
    if is_repaired(state) and failing and failing <= {*suite.flaky}:
        names = [name for name in suite.flaky if name in failing]
        return {
            "outcome": "unresolved",
            "reason": "the repair passes every deterministic test, but "
            f"{', '.join(names)} still fails in some of {RUNS} runs",
        }
    found = await asyncio.to_thread(classify, report, ctx.task, solution)
    if found.fixable and not found.suspicious_lines and ctx.task.project is None:
        tests, case_report = split_into_cases(suite.visible, report)
        traces = await trace(
            solution, tests, ctx.task, ctx.sandbox, hanging=hanging(tests, case_report),
            report=case_report, order_dependent=bool(suite.order_dependent),
        )
        ctx.search_cache.save_trace(solution, tests, traces)
        lines = await asyncio.to_thread(suspicious_lines, traces, solution.text)
        found = found.model_copy(update={"suspicious_lines": lines})
    if found.fixable and failing & {*suite.order_dependent}:
        words = order_dependent_message([name for name in suite.order_dependent if name in failing])
        found = found.model_copy(update={"cause": f"{words}; {found.cause}"})
    if found.fixable:
        answer = await _ask_debugger(ctx, state, suite, solution, report, _prompt_values(
            ctx, solution, report, found, [test for test in suite.visible if test.name in failing],
        ), found)
        if answer is not None:
            found = combined(found, answer, solution.text, one_file=len(solution.files) == 1)
    ctx.emit(Diagnosed(iteration=state["iteration"], diagnosis=found, solution=solution.id))
    if state["iteration"] == 0 and not state.get("models_allowed"):
        _log_lessons(ctx, state, found, solution)
    update: State = {"diagnosis_id": ctx.store.put(found)}
    if not found.fixable:
        return update | {"outcome": "not_fixable", "reason": found.cause}
    if "approach" not in state or state.get("passed_visible"):
        return update | begin_iterations({**state, **update}, ctx)
    if found.suggests or (state["approach"] == "minimal" and found.confidence < MIN_CONFIDENCE):
        update["approach"] = approach_after_diagnosis({**state, **update}, ctx)
    return update


async def _ask_debugger(
    ctx: Context, state: State, suite: Suite, solution: Solution, report: Report,
    values: dict[str, str], found: Diagnosis,
) -> RootCause | None:
    """Asks the debugger, with tools if the model supports them. Until the search has failed, only a
    rule answers."""
    is_draft = is_unspecified_draft(ctx.task, suite.deciding_tests)
    searches = ctx.settings.enable_search and not is_draft
    rules_only = searches and not state.get("models_allowed", False)
    consequence = "The run continues with the findings from running the program."
    calls, max_chars = (0, 0) if rules_only else await allowed_calls(ctx)
    if calls:
        tools = debugger_tools(ctx, solution, suite, report, max_chars)
        return await investigate(ctx, values, tools, calls, max_chars, consequence=consequence)
    return await ask_or_none(
        ctx, DEBUGGER, values, {"found": found}, rules_only=rules_only, consequence=consequence
    )


def _prompt_values(
    ctx: Context, solution: Solution, report: Report, found: Diagnosis, cases: Sequence[TestCase]
) -> dict[str, str]:
    values = {"task": ctx.task.text, "failures": failures(report)}
    if is_one_file(ctx.task, solution):
        return values | {
            "code": numbered(solution.text), "tests": tests(cases),
            "suspects": suspects(found.suspicious_lines),
        }
    suspected = suspects_of(ctx.log(), solution)
    return values | {
        "code": shown_files(solution, suspected, numbers=True), "tests": tests_of(ctx.task, cases),
        "suspects": named_suspects(suspected),
    }


def combined(found: Diagnosis, answer: RootCause, text: str, *, one_file: bool = True) -> Diagnosis:
    """Combines the rule-based findings with the debugger's. A model alone cannot end a run, and its
    lines count only for a program of one file."""
    if answer == RootCause.of(found):
        return found
    lines = text.split("\n") if one_file else []
    confidence = answer.confidence / 100
    known = {one.line: one for one in found.suspicious_lines}
    named = [
        known.get(
            line, SuspiciousLine(line=line, suspicion=confidence, text=lines[line - 1].strip())
        )
        for line in dict.fromkeys(answer.lines) if line <= len(lines)
    ]
    doubts = () if answer.fixable else ("the debugger thinks that no edit of it can help",)
    return found.model_copy(update={
        "category": answer.category, "cause": answer.cause, "confidence": confidence,
        "evidence": (
            *found.evidence, f"seen by rule: {found.cause}", *filter(None, [answer.evidence]),
            *doubts,
        ),
        "suggests": None if answer.strategy == "any" else answer.strategy,
        "suspicious_lines": (*named, *(one for one in found.suspicious_lines if one not in named)),
    })


def _log_lessons(ctx: Context, state: State, diagnosis: Diagnosis, solution: Solution) -> None:
    if not ctx.settings.enable_cross_session_memory:
        return
    failure = ctx.store.get(state["failure_id"], FailureKey) if "failure_id" in state else None
    symptom = failure_description(diagnosis, failure, solution.text)
    try:
        lessons = ctx.memory.lessons_for(symptom, ctx.task.project.root if ctx.task.project else "")
    except MemoryFault as error:
        ctx.emit(Notice(level="warning", text=f"{error} The run continues without it."))
        return
    if lessons:
        ctx.emit(Recalled(
            hit=False, note=f"found {counted(len(lessons), 'lesson')} of similar failures",
            lessons=tuple(lesson.text for lesson in lessons),
        ))
