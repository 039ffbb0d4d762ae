"""Specify: freeze what the program must do, before any repair, and hold a part of it out."""

from __future__ import annotations

import ast
import asyncio
import builtins
import re
from collections import Counter
from collections.abc import Collection, Sequence

from agent.core.domain import VETOING_ORIGINS, Example, Report, Solution, TestCase
from agent.core.events import Notice, TestInfo, TestsFrozen
from agent.core.state import State, Suite
from agent.core.trees import expression, is_literal, plain
from agent.healing.context import Context
from agent.intake import calls_made, fixes_a_value, makes_new_calls
from agent.intake.asked.held_out import contains_test, file_without_test
from agent.thinking.roles import SPEC_TESTER, SpecTest, ask

HOLD_OUT_FROM = 4
"""The number of trusted tests from which one is kept from the repair."""
MOST_PARTED = 12
"""Tests of files that are tried: each takes reading its file anew."""


def announce(ctx: Context, tests: Sequence[TestCase]) -> None:
    """Tells readers of tests that join the suite, or are held out of it, where there are any."""
    if tests:
        ctx.emit(TestsFrozen(tests=tuple(
            TestInfo(name=test.name, origin=test.origin, code=test.code) for test in tests
        )))


async def specify(state: State, ctx: Context) -> State:
    """Adds examples derived from the words, then holds one trusted test out."""
    suite = ctx.store.get(state["suite_id"], Suite)
    fresh = await _from_words(ctx, suite.visible, free=ctx.free(state))
    announce(ctx, fresh)
    visible = (*suite.visible, *fresh)
    grown = suite.model_copy(update={"visible": visible})
    if ctx.settings.hold_out and "report_id" in state:
        grown = await asyncio.to_thread(
            hold_out, grown, ctx.store.get(state["report_id"], Report),
            ctx.store.get(state["solution_id"], Solution),
        )
    announce(ctx, grown.held_out)
    return {"suite_id": ctx.store.put(grown)}


async def _from_words(
    ctx: Context, known: tuple[TestCase, ...], *, free: bool
) -> tuple[TestCase, ...]:
    if not ctx.task.text:
        return ()
    answer = await ask(ctx, SPEC_TESTER, {"task": ctx.task.text}, free=free)
    codes = {test.code for test in known}
    usable = [example for example in answer.examples if is_stated(example, ctx.task.text)]
    if len(usable) < len(answer.examples):
        ctx.emit(Notice(level="info", text=(
            f"{len(answer.examples) - len(usable)} examples of the spec tester are left out: they "
            "have no literal value, or call what the words do not name."
        )))
    written = [(plain(example.call), plain(example.expected)) for example in usable]
    examples = (
        Example(name=f"{call} == {value}", origin="spec", call=call, expected=value)
        for call, value in written
    )
    return tuple(example for example in examples if example.code not in codes)


def is_stated(example: SpecTest, words: str) -> bool:
    """Whether an example has a literal value and uses only names that the words give: no program
    is written to pass a test of a name that the tester made up."""
    call, value = expression(example.call), expression(example.expected)
    if call is None or value is None or not is_literal(value):
        return False
    given = {*re.findall(r"\w+", words), *vars(builtins)}
    bound = {
        node.id if isinstance(node, ast.Name) else node.arg for node in ast.walk(call)
        if isinstance(node, ast.arg)
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
    }
    used = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    return used <= given | bound


def hold_out(suite: Suite, report: Report, program: Solution) -> Suite:
    """Keeps a trusted test from the repair, the last failing one where enough of them fail.

    It must fix a value and ask what no other test asks, or its passing would show little. At least
    one failing test stays visible, or the search would have nothing to go by. From the file of a
    test that is held out its text is taken, for all who see the others. Tests that are flaky, or
    that show nothing, neither count nor are held out.
    """
    names = {verdict.test for verdict in report.failing} - {*suite.flaky}
    showing = {verdict.test for verdict in report.verdicts if verdict.shows}
    trusted = [
        test
        for test in suite.visible
        if test.origin in VETOING_ORIGINS and test.name in (names | showing) - {*suite.flaky}
    ]
    failing = [test for test in trusted if test.name in names]
    if len(trusted) < HOLD_OUT_FROM or not failing:
        return suite
    if not any(fixes_a_value(test) for test in suite.visible if test.name in names):
        return suite.model_copy(update={"unheld": "no test that failed fixes a value"})
    passing = [test for test in trusted if test.name not in names]
    chosen = _telling(
        [*reversed(failing if len(failing) > 1 else []), *reversed(passing)], suite, program
    )
    if chosen is None:
        shared = ", or shares its file's tables" if any(map(_of_a_file, trusted)) else ""
        return suite.model_copy(update={"unheld": f"each test asks what another asks{shared}"})
    test, others = chosen
    return suite.model_copy(update={
        "visible": others,
        "held_out": (test.model_copy(update={"origin": "held-out"}),),
        "held_passed": test.name not in names,
    })


def _telling(
    candidates: Collection[TestCase], suite: Suite, program: Solution
) -> tuple[TestCase, tuple[TestCase, ...]] | None:
    """The first that fixes a value and asks what no other test of the suite asks, with the others
    as they are seen without it."""
    asking = Counter(call for test in suite.visible for call in calls_made(test, program))
    tries = MOST_PARTED
    for test in candidates:
        if not fixes_a_value(test):
            continue
        others = tuple(one for one in suite.visible if one is not test)
        if not _of_a_file(test):
            if any(asking[call] == 1 for call in calls_made(test, program)):
                return test, others
        elif tries:
            tries -= 1
            parted = _without_text(others, test, program)
            if parted is not None and makes_new_calls(test, parted, program):
                return test, parted
    return None


def _without_text(
    others: Sequence[TestCase], test: TestCase, program: Solution
) -> tuple[TestCase, ...] | None:
    """The other tests, those of its file with its text taken out; `None` where that cannot be, as
    of a test in the program's own file: whoever repairs that has read it."""
    if test.kind != "script" or contains_test(test.code, test.node, program.text):
        return None
    rest = file_without_test(test.code, test.node)
    return None if rest is None else tuple(
        one.model_copy(update={"code": rest}) if _of_a_file(one) and one.code == test.code else one
        for one in others
    )


def _of_a_file(test: TestCase) -> bool:
    return test.kind == "script" and bool(test.node)
