"""The critique step: a critic reviews a program before it is accepted. The critic does not see
the verdict. Only a reviewed program is accepted; an objection counts only as a judged test."""

from __future__ import annotations

from collections.abc import Sequence

from agent.core.domain import Report, RunOutcome, Solution, TestCase
from agent.core.events import Critiqued
from agent.core.state import State, Suite
from agent.iteration.context import Context
from agent.iteration.strategies import has_enough_examples
from agent.loop.steps.specify import derived_test, is_tested, log_added_tests
from agent.propose.arbitration import is_quoted
from agent.propose.roles import CRITIC, Critique, Objection, ask_or_none
from agent.propose.wording import tests_of
from llm.asking.answers import FILE
from llm.errors import OverBudget


async def critique(state: State, ctx: Context) -> State:
    """Asks the critic once about each program that the user did not submit."""
    before = ctx.store.get(state["base_id"], Solution)
    after = ctx.store.get(state["solution_id"], Solution)
    is_as_submitted = after.files == before.files and ctx.task.solution is not None
    if is_as_submitted or state.get("reviewed") == state["solution_id"]:
        return {}
    report = ctx.store.get(state["report_id"], Report)
    suite = ctx.store.get(state["suite_id"], Suite)
    # With few tests, the critic also compares the program with the task's text.
    few_tests = bool(ctx.task.text) and not has_enough_examples(suite.deciding_tests)
    without_model = (ctx.forbids_models(state) and not few_tests) or not ctx.settings.enable_critic
    update: State = {"reviewed": state["solution_id"], "objection": ""}
    try:
        answer = await ask_or_none(
            ctx,
            CRITIC,
            {
                "task": ctx.task.text, "code": _text_of(after, before),
                "tests": tests_of(ctx.task, suite.deciding_tests),
                "repair": after.diff(before),
            },
            {
                "before_solution": before, "after_solution": after,
                "has_no_tests": not report.deciding_verdicts,
            },
            rules_only=without_model,
            consequence="A program without a review is not accepted.",
        )
    except OverBudget as error:
        if ctx.pauses:
            raise
        return update | _end_unreviewed(ctx, "budget", str(error))
    if answer is None:
        return update | _end_unreviewed(ctx, "model_failed", "the critic gave no answer")
    if answer.approve:
        ctx.emit(Critiqued(verdict="approve", note=answer.note))
        return update
    if without_model or ctx.plan.of(CRITIC.name) is None:
        return update | _reject_by_rule(ctx, answer)
    return update | _add_objection_tests(state, ctx, suite, answer)


def _end_unreviewed(ctx: Context, outcome: RunOutcome, why: str) -> State:
    ctx.emit(Critiqued(verdict="unreviewed", note=why))
    return {
        "outcome": outcome, "stopped": "critic",
        "reason": f"the program could not be reviewed: {why}",
    }


def _reject_by_rule(ctx: Context, answer: Critique) -> State:
    """Ends the run: a rule found a changed test or a removed deliberate exit."""
    ctx.emit(Critiqued(verdict="reject", note=answer.note))
    return {
        "outcome": "unresolved", "stopped": "critic",
        "reason": f"the critic rejected the repair: {answer.note}",
    }


def _add_objection_tests(state: State, ctx: Context, suite: Suite, answer: Critique) -> State:
    """Adds a test for each objection that quotes the task."""
    fresh = _tests_of(answer.objections, ctx.task.text, suite)
    if not fresh:
        ctx.emit(Critiqued(verdict="object", note=answer.note))
        return {"objection": answer.note}
    ctx.emit(Critiqued(
        verdict="reject", note=answer.note, tests=tuple(test.name for test in fresh),
    ))
    log_added_tests(ctx, fresh)
    note = f"A reviewer of a program that was tried says: {answer.note}"
    iterations = ctx.iterations(state).with_note(note)
    grown = suite.model_copy(update={"visible": (*suite.visible, *fresh)})
    return {
        "suite_id": ctx.store.put(grown), "iterations_id": ctx.store.put(iterations),
        "objection": "", "objected": True,
    }


def _tests_of(objections: Sequence[Objection], words: str, suite: Suite) -> tuple[TestCase, ...]:
    names = {test.name for test in suite.all}
    codes = {test.code for test in suite.all}
    found: dict[str, TestCase] = {}
    for one in objections:
        test = derived_test(one.call, one.expected, words)
        if test is not None and is_quoted(one.quote, words) and (
            test.name not in names and test.code not in codes
            and not is_tested(one.call, suite.all)
        ):
            found[test.name] = test
    return tuple(found.values())


def _text_of(after: Solution, before: Solution) -> str:
    """The program's text, or for several files the changed ones with their paths."""
    if len(after.files) == 1:
        return after.text
    shown = after.changed_from(before) or after.changed_from(before.model_copy(
        update={"files": ()}
    ))
    return "\n".join(f"{FILE}{one.path}\n{one.after}" for one in shown)
