"""Arbitrate: tests that were derived for a program and that it fails are judged first."""

from __future__ import annotations

from agent.core.domain import Report, Solution
from agent.core.events import Judged
from agent.core.state import State, Suite
from agent.healing.context import Context
from agent.healing.urging import urged, worth_urging
from agent.thinking.arbitration import Dispute, in_dispute, rulings


async def arbitrate(state: State, ctx: Context) -> State:
    """Rules on each derived test that the program fails; none is ever edited to fit."""
    suite = ctx.store.get(state["suite_id"], Suite)
    report = ctx.store.get(state["report_id"], Report)
    solution = ctx.store.get(state["solution_id"], Solution)
    tests = {test.name: test for test in suite.all}
    disputes = [
        Dispute(tests[one.test], one) for one in in_dispute(suite, report) if one.test in tests
    ]
    found = await rulings(ctx, solution, disputes, is_pinned=suite.is_pinned)
    for one in found:
        ctx.emit(one)
    origins = {one.test: one.ruling for one in found if one.ruling in ("confirmed", "contested")}

    def weighed(name: str) -> dict[str, str]:
        return {"origin": origins[name]} if name in origins else {}

    suite = suite.model_copy(update={
        "visible": tuple(one.model_copy(update=weighed(one.name)) for one in suite.visible),
        "held_out": tuple(one.model_copy(update=weighed(one.name)) for one in suite.held_out),
        "aside": {**suite.aside, **{
            one.test: one.why for one in found if one.ruling == "set aside"
        }},
        "heard": (*suite.heard, *(one.test.name for one in disputes)),
    })
    report = suite.ruled(report)
    names = worth_urging(state, ctx, suite, report)
    update: State = {}
    if names:
        update = urged(state, ctx, names)
        suite = suite.urging(names)
        report = suite.ruled(report)
    ctx.emit(Judged(iteration=state["iteration"], report=report))
    return update | {"suite_id": ctx.store.put(suite), "report_id": ctx.store.put(report)}
