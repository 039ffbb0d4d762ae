"""The execute and arbitrate steps: run the suite on the current program, and validate derived tests
that fail."""

from __future__ import annotations

from agent.core.domain import Origin, Report, Solution
from agent.core.events import Judged, Notice
from agent.core.state import State, Suite, is_repaired
from agent.iteration.confirmed_tests import require_confirmed, tests_to_require
from agent.iteration.context import Context
from agent.iteration.flakiness import with_reruns
from agent.propose.arbitration import Dispute, failing_derived, rulings


async def execute(state: State, ctx: Context) -> State:
    """Judges the current program."""
    suite = ctx.store.get(state["suite_id"], Suite)
    solution = ctx.store.get(state["solution_id"], Solution)
    known = ctx.store.get(state["report_id"], Report) if "report_id" in state else None
    report = await ctx.judge(solution, suite.all, ctx.verified.get(solution.id, known))
    if suite.flaky and is_repaired(state):
        flaky = tuple(test for test in suite.all if test.name in suite.flaky)
        report = await with_reruns(ctx, solution, flaky, report)
    report = suite.with_current_origins(report)
    if report != known:
        ctx.emit(Judged(iteration=state["iteration"], report=report))
    update: State = {"report_id": ctx.store.put(report), "objected": False, "edited": False}
    return update | _reveal_failed_held_out(state, ctx, suite, report)


def _reveal_failed_held_out(state: State, ctx: Context, suite: Suite, report: Report) -> State:
    """Makes held-out tests visible if a repair fails one; passing them is no evidence then."""
    held = {test.name for test in suite.held_out}
    failing = {verdict.test for verdict in report.failing}
    if not failing & held or (state["iteration"] == 0 and failing - held):
        return {}
    ctx.emit(Notice(
        level="info",
        text="The repair fails the held-out test. The next repair may read that test.",
    ))
    return {
        "suite_id": ctx.store.put(suite.revealed().model_copy(update={"held_out_revealed": True}))
    }


async def arbitrate(state: State, ctx: Context) -> State:
    """Validates each derived test that the program fails; no test is edited."""
    suite = ctx.store.get(state["suite_id"], Suite)
    report = ctx.store.get(state["report_id"], Report)
    solution = ctx.store.get(state["solution_id"], Solution)
    tests = {test.name: test for test in suite.all}
    disputes = [
        Dispute(tests[one.test], one) for one in failing_derived(suite, report) if one.test in tests
    ]
    found = await rulings(ctx, solution, disputes, is_specified=suite.is_specified)
    for one in found:
        ctx.emit(one)
    origins: dict[str, Origin] = {
        **{one.test: "confirmed" for one in found if one.ruling == "confirmed"},
        **{one.test: "contested" for one in found if one.ruling == "contested"},
    }
    suite = suite.with_origins(origins).model_copy(update={
        "excluded": {**suite.excluded, **{
            one.test: one.why for one in found if one.ruling == "excluded"
        }},
        "validated": (*suite.validated, *(one.test.name for one in disputes)),
    })
    report = suite.with_current_origins(report)
    names = tests_to_require(state, ctx, suite, report)
    update: State = {}
    if names:
        update = require_confirmed(state, ctx, names)
        suite = suite.with_required(names)
        report = suite.with_current_origins(report)
    ctx.emit(Judged(iteration=state["iteration"], report=report))
    return update | {"suite_id": ctx.store.put(suite), "report_id": ctx.store.put(report)}
