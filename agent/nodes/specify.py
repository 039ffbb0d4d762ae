"""Specify: freeze what the program must do, before any repair, and hold a part of it out."""

from __future__ import annotations

from collections.abc import Collection

from agent.context import Context
from agent.domain import VETOING_ORIGINS, Example, Report, TestCase
from agent.events import TestInfo, TestsFrozen
from agent.roles import SPEC_TESTER, ask
from agent.state import State, Suite

HOLD_OUT_FROM = 4
"""The number of trusted tests from which one is kept from the repair."""


def info(test: TestCase) -> TestInfo:
    """A test as readers see it."""
    return TestInfo(name=test.name, origin=test.origin, code=test.code)


async def specify(state: State, ctx: Context) -> State:
    """Adds examples derived from the words, then holds one trusted test out."""
    suite = ctx.store.get(state["suite_id"], Suite)
    fresh = await _from_words(ctx, suite.visible)
    if fresh:
        ctx.emit(TestsFrozen(tests=tuple(info(test) for test in fresh)))
    visible = (*suite.visible, *fresh)
    held: tuple[TestCase, ...] = ()
    if ctx.settings.hold_out and "report_id" in state:
        visible, held = hold_out(
            visible, ctx.store.get(state["report_id"], Report), suite.flaky
        )
    if held:
        ctx.emit(TestsFrozen(tests=tuple(info(test) for test in held)))
    grown = suite.model_copy(update={"visible": visible, "held_out": held})
    return {"suite_id": ctx.store.put(grown)}


async def _from_words(ctx: Context, known: tuple[TestCase, ...]) -> tuple[TestCase, ...]:
    if not ctx.task.text:
        return ()
    answer = await ask(ctx, SPEC_TESTER, {"task": ctx.task.text})
    codes = {test.code for test in known}
    examples = (
        Example(
            name=f"{example.call} == {example.expected}", origin="spec",
            call=example.call, expected=example.expected,
        )
        for example in answer.examples
    )
    return tuple(example for example in examples if example.code not in codes)


def hold_out(
    visible: tuple[TestCase, ...], report: Report, flaky: Collection[str] = ()
) -> tuple[tuple[TestCase, ...], tuple[TestCase, ...]]:
    """Keeps the last trusted test from the repair, a failing one where enough of them fail.

    At least one failing test stays visible, or the search would have nothing to go by. Tests
    of a pytest file are not held out: they share the file, which the repair must see. Nor are
    flaky ones.
    """
    trusted = [
        test
        for test in visible
        if test.origin in VETOING_ORIGINS and not (test.kind == "script" and test.node)
        and test.name not in flaky
    ]
    failing_names = {verdict.test for verdict in report.failing}
    failing = [test for test in trusted if test.name in failing_names]
    passing = [test for test in trusted if test.name not in failing_names]
    if len(trusted) < HOLD_OUT_FROM or not failing:
        return visible, ()
    chosen = failing[-1] if len(failing) > 1 else passing[-1]
    held = chosen.model_copy(update={"origin": "held-out"})
    return tuple(test for test in visible if test is not chosen), (held,)
