"""Critique: a second look at a repair that passes; it fails closed."""

from __future__ import annotations

from agent.core.domain import Report, Solution
from agent.core.events import Critiqued
from agent.core.state import State, Suite
from agent.healing.context import Context
from agent.thinking.roles import CRITIC, Critique, ask_if_it_answers
from agent.thinking.wording import tests
from agent.thinking.wording_of_files import texts_of_tests
from llm.asking.answers import FILE


async def critique(state: State, ctx: Context) -> State:
    """Asks the critic about a changed program; an unchanged one needs no review."""
    if state["iteration"] == 0:
        return {}
    before = ctx.store.get(state["base_id"], Solution)
    after = ctx.store.get(state["solution_id"], Solution)
    report = ctx.store.get(state["report_id"], Report)
    suite = ctx.store.get(state["suite_id"], Suite)
    answer = await ask_if_it_answers(
        ctx,
        CRITIC,
        {
            "task": ctx.task.text, "code": _text_of(after, before),
            "tests": (tests if ctx.task.project is None else texts_of_tests)(suite.oracle),
            "repair": after.diff(before),
        },
        {
            "before_solution": before, "after_solution": after,
            "crash_only": not report.oracle,
        },
        free=ctx.free(state),
        without="A repair that nobody reviewed is not kept.",
    ) or Critique(approve=False, note="it could not be reviewed: the critic gave no answer")
    ctx.emit(Critiqued(verdict="approve" if answer.approve else "reject", note=answer.note))
    if answer.approve:
        return {}
    reason = f"the critic rejected the repair: {answer.note}"
    return {"outcome": "unresolved", "reason": reason}


def _text_of(after: Solution, before: Solution) -> str:
    """The program; of several files those that were changed, each after a line with its path."""
    if len(after.files) == 1:
        return after.text
    return "\n".join(f"{FILE}{one.path}\n{one.after}" for one in after.changed_from(before))
