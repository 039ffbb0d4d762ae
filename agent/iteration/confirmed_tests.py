"""Iterations that must also pass confirmed derived tests.

If user tests specify the program, a failing derived test is normally only reported. But if a model
wrote the program and several confirmed derived tests fail, the next few iterations must pass them
too. If none does, the earlier program is restored and the failures are reported.
"""

from __future__ import annotations

from agent.core.domain import Report, Solution
from agent.core.events import Notice
from agent.core.state import State, Suite
from agent.iteration.context import Context
from agent.iteration.iterations import may_ask_model

MIN_TESTS = 2
"""Failing confirmed tests that are needed: a single one may be wrong."""
MAX_ITERATIONS = 2
"""Iterations in which these tests are required."""


def tests_to_require(state: State, ctx: Context, suite: Suite, report: Report) -> tuple[str, ...]:
    """Names of the confirmed tests that another repair should pass, if it should be tried."""
    solution = ctx.store.get(state["solution_id"], Solution)
    if (
        suite.repair_was_required or not report.is_specified or not report.passed
        or solution.origin == "user"
        or ctx.task.project is not None or not may_ask_model(ctx)
        or state["iteration"] >= ctx.settings.max_iterations
    ):
        return ()
    confirmed = tuple(one.test for one in report.derived_failures if one.origin == "confirmed")
    return confirmed if len(confirmed) >= MIN_TESTS else ()


def require_confirmed(state: State, ctx: Context, names: tuple[str, ...]) -> State:
    """The state update that starts another repair for these tests."""
    ctx.emit(Notice(level="info", text=(
        f"Your tests pass, but {len(names)} confirmed derived tests fail. Trying another repair "
        "before keeping this one."
    )))
    return {"doubted_id": state["solution_id"], "required_from": state["iteration"]}


def restore_doubted_program(state: State, ctx: Context, update: State) -> State:
    """The update of an iteration; it restores the doubted program if no better one was found."""
    key = state.get("doubted_id")
    if not key:
        return update
    suite = ctx.store.get(update.get("suite_id", state["suite_id"]), Suite)
    is_requiring = any(test.origin == "required" for test in suite.all)
    if update.get("passed_visible"):
        return update | {"suite_id": ctx.store.put(suite.without_required())}
    used = update.get("iteration", state["iteration"]) - state["required_from"]
    if not update.get("outcome") and not (is_requiring and used >= MAX_ITERATIONS):
        return update
    return update | {
        "solution_id": key, "suite_id": ctx.store.put(suite.without_required()), "doubted_id": "",
        "passed_visible": True, "alternatives_id": "", "caveat": "", "other_repairs_fit": False,
        "competing_id": "", "outcome": None, "stopped": None, "reason": "",
    }
