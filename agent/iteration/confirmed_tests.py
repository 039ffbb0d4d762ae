"""Another repair for the sake of derived tests that were confirmed, beside tests of the user.

These say what the program does, so that a derived test is no more than a doubt beside them. But
where a model wrote the program, and several that more than one voice has confirmed fail, a few
rounds are tried in which such tests forbid success. What they bring is taken if it passes all of
them; if nothing does, the program is kept with its doubts.
"""

from __future__ import annotations

from agent.core.domain import Report, Solution
from agent.core.events import Notice
from agent.core.state import State, Suite
from agent.iteration.context import Context
from agent.iteration.iterations import may_ask

LEAST_TESTS = 2
"""Confirmed tests that fail: a program is never changed for the sake of a single one, which may be
wrong."""
MAX_ITERATIONS = 2
"""Rounds that are tried so."""


def worth_requiring(state: State, ctx: Context, suite: Suite, report: Report) -> tuple[str, ...]:
    """Names of the tests for whose sake another repair is tried; empty for none."""
    solution = ctx.store.get(state["solution_id"], Solution)
    if (
        suite.was_urged or not report.is_specified or not report.passed or solution.origin == "user"
        or ctx.task.project is not None or not may_ask(ctx)
        or state["iteration"] >= ctx.settings.max_iterations
    ):
        return ()
    confirmed = tuple(one.test for one in report.doubts if one.origin == "confirmed")
    return confirmed if len(confirmed) >= LEAST_TESTS else ()


def urged(state: State, ctx: Context, names: tuple[str, ...]) -> State:
    """What the state gains where another repair is tried."""
    ctx.emit(Notice(level="info", text=(
        f"Your tests pass, but {len(names)} confirmed from the words fail: another repair is tried "
        "before this is kept."
    )))
    return {"doubted_id": state["solution_id"], "urged_from": state["iteration"]}


def with_doubts(state: State, ctx: Context, update: State) -> State:
    """The update of a round, but that the doubted program is taken again where none is better."""
    key = state.get("doubted_id")
    if not key:
        return update
    suite = ctx.store.get(update.get("suite_id", state["suite_id"]), Suite)
    is_urging = any(test.origin == "urged" for test in suite.all)
    if update.get("taken"):
        return update | {"suite_id": ctx.store.put(suite.settled())}
    rounds = update.get("iteration", state["iteration"]) - state["urged_from"]
    if not update.get("outcome") and not (is_urging and rounds >= MAX_ITERATIONS):
        return update
    return update | {
        "solution_id": key, "suite_id": ctx.store.put(suite.settled()), "doubted_id": "",
        "taken": True, "rivals_id": "", "caveat": "", "others_fit": False, "open_id": "",
        "outcome": None, "stopped": None, "reason": "",
    }
