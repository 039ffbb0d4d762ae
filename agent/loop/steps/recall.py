"""The recall step: judges the submitted program and replays stored fixes of its failure."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from agent.core.domain import (
    OTHER_TESTS,
    Category,
    Diagnosis,
    Report,
    Script,
    Solution,
    TestCase,
    counted,
)
from agent.core.events import CodeWritten, Diagnosed, Judged, Notice, Recalled
from agent.core.settings import GENERATOR
from agent.core.state import State, Suite
from agent.iteration.context import Context
from agent.iteration.flakiness import (
    changed_by_tests,
    crash_is_flaky,
    flaky_message,
    flaky_tests,
    order_dependent_message,
    passing_words,
)
from agent.iteration.remembered_fix import apply_recalled_fix, with_competing
from agent.loop.steps.specify import log_added_tests
from agent.memory import (
    FailureKey,
    MemoryFault,
    RememberedEdit,
    StoredFix,
    applicable_fixes,
    failure_of,
)
from agent.search.ranking.blindness import blindness
from agent.target.failures.causes import undefined_in_tests
from agent.target.failures.excluded import (
    exclusion_words,
    with_exclusions,
    without_excluded_tests,
)
from agent.verify.file_order import FAILS_IN_ORDER, PASSES_IN_ORDER

REPLAY_S = 2.0


async def recall(state: State, ctx: Context) -> State:
    """Judges the program under the user's tests and replays stored fixes of its failure."""
    tests = ctx.task.tests
    suite = Suite(visible=tests)
    update: State = {"suite_id": ctx.store.put(suite), "iteration": 0}
    log_added_tests(ctx, [test for test in tests if not _is_other_tests(test)])
    base = ctx.task.solution
    if base is None:
        return update
    ctx.emit(CodeWritten(iteration=0, solution=base))
    base_id = ctx.store.put(base)
    report = with_exclusions(
        await (ctx.submitted_report or ctx.judge_submitted(base)), ctx.task
    )
    report_id = ctx.store.put(report)
    found = {verdict.test for verdict in report.verdicts}
    log_added_tests(ctx, [test for test in tests if _is_other_tests(test) and test.name in found])
    tests = without_excluded_tests(
        tests, report, ctx.task.project.excluded if ctx.task.project else ()
    )
    suite = Suite(visible=tests)
    update |= {
        "suite_id": ctx.store.put(suite),
        "base_id": base_id, "solution_id": base_id, "report_id": report_id,
    }
    ctx.emit(Judged(iteration=0, report=report))
    if report.wrong_file:
        return update | _end_run(ctx, "invalid_tests", report.wrong_file)
    outside = exclusion_words(report)
    deciding = report.deciding_verdicts
    if deciding and not report.failing and not any(one.passed for one in deciding):
        why = outside or "every test skips itself"
        return update | _end_run(ctx, "environment", f"The program is not the cause: {why}.")
    if outside:
        ctx.emit(Notice(level="warning", text=f"{outside}."))
    if report.passed:
        return update | (_end_passing_project(ctx, report) if ctx.task.project is not None else {})
    order = (FAILS_IN_ORDER, PASSES_IN_ORDER)
    if differing := [one for one in report.failing if one.message in order]:
        return update | _end_run(ctx, "invalid_tests", (
            f"`{differing[0].name}` {differing[0].message}: another statement changes what it "
            "reads. To have it judged, put the check and what it needs into a function, such as "
            "`def test_it():`"
        ))
    if undefined := undefined_in_tests(report, tests, base):
        words = "; ".join(dict.fromkeys(map(_undefined_words, undefined.values())))
        failing = {verdict.test for verdict in report.failing}
        near = {test for test, (_, meant) in undefined.items() if meant}
        if failing <= near and ctx.plan.of(GENERATOR) is None:  # a search cannot rename
            return update | _end_run(ctx, "invalid_tests", words)
        ctx.emit(Notice(level="warning", text=f"{words}."))
    if not tests and await crash_is_flaky(ctx, base, report):
        return update | _end_as_flaky(ctx, "The crash is flaky: other runs end without it")
    rerun_result = await flaky_tests(ctx, base, tests, report)
    if rerun_result.order_dependent:
        words = order_dependent_message(rerun_result.order_dependent)
        leaks = await changed_by_tests(ctx, base, tests, rerun_result.order_dependent)
        if leaks:
            words = f"{words}, namely {next(iter(leaks.values()))}"
        failing = {verdict.test for verdict in report.failing}
        if ctx.task.project is None and failing <= {*leaks}:
            return update | _end_run(ctx, "invalid_tests", (
                f"{words}. No repair is searched for. Let each test create its own state"
            ))
        ctx.emit(Notice(level="warning", text=f"{words}. Repairs are judged by all tests in their "
                        "order."))
        suite = suite.model_copy(update={"order_dependent": rerun_result.order_dependent})
        update["suite_id"] = ctx.store.put(suite)
    if flaky := rerun_result.flaky:
        words = flaky_message(flaky)
        if {verdict.test for verdict in report.failing} <= {*flaky}:
            return update | _end_as_flaky(ctx, words)
        ctx.emit(Notice(level="warning", text=f"{words}. The search ignores flaky tests, but a "
                        "repair must pass them in every run."))
        update["suite_id"] = ctx.store.put(suite.model_copy(update={"flaky": flaky}))
        report = _without(report, flaky)
        tests = tuple(test for test in tests if test.name not in flaky)
    if not tests:
        ctx.emit(Recalled(hit=False, note="the memory is not used, because there is no test"))
        return update
    if not ctx.settings.enable_cross_session_memory:
        ctx.emit(Recalled(hit=False, note="the memory of other runs is off"))
        return update
    failure = await asyncio.to_thread(
        failure_of, base, *_without_answers(ctx, tests, report), ctx.task.project
    )
    update["failure_id"] = ctx.store.put(failure)
    skipped = ctx.memory.skipped
    try:
        update |= await _replay_fixes(ctx, base, tests, failure)
    except MemoryFault as error:
        ctx.emit(Notice(level="warning", text=f"{error} The run continues without it."))
    invalid = ctx.memory.skipped - skipped
    if invalid:
        ctx.emit(Notice(
            level="warning", text=f"Skipped {counted(invalid, 'invalid row')} of the fix memory.",
        ))
    return update


def _without_answers(
    ctx: Context, tests: Sequence[TestCase], report: Report
) -> tuple[Sequence[TestCase], Report]:
    """Removes tests that answer an earlier question, because they are not the failure."""
    remaining = _without(report, tuple(ctx.answered_tests))
    if not remaining.failing:
        return tests, report
    return tuple(test for test in tests if test.name not in ctx.answered_tests), remaining


def _end_passing_project(ctx: Context, report: Report) -> State:
    """Ends a project's run because its failing tests pass now."""
    names = [test.name for test in ctx.task.tests if not _is_other_tests(test)]
    selected = tuple(one for one in report.verdicts if one.name in names)
    if outside := exclusion_words(report.model_copy(update={"verdicts": selected})):
        return _end_run(ctx, "environment", f"The program is not the cause: {outside}.")
    return _end_as_flaky(ctx, passing_words(names))


def _end_as_flaky(ctx: Context, flaky: str) -> State:
    return _end_run(ctx, "flaky_tests", (
        f"{flaky}. No repair is searched for. First fix what differs between runs (randomness, "
        "the time, the order of a set, threads)."
    ))


def _end_run(ctx: Context, category: Category, reason: str) -> State:
    ctx.emit(Diagnosed(iteration=0, diagnosis=Diagnosis(
        category=category, fixable=False, cause=reason, confidence=1.0
    )))
    return {"outcome": "not_fixable", "reason": reason}


def _undefined_words(names: tuple[str, str]) -> str:
    name, meant = names
    hint = f"did you mean `{meant}`? Correct it in the tests" if meant else (
        "correct it in the tests if it is misspelt"
    )
    return f"The tests use `{name}`, which the program does not define: {hint}, or define `{name}`"


def _is_other_tests(test: TestCase) -> bool:
    return isinstance(test, Script) and test.node == OTHER_TESTS


def _without(report: Report, names: Sequence[str]) -> Report:
    remaining = tuple(verdict for verdict in report.verdicts if verdict.test not in names)
    return report.model_copy(update={"verdicts": remaining})


async def _replay_fixes(
    ctx: Context, base: Solution, tests: Sequence[TestCase], failure: FailureKey
) -> State:
    """Raises `MemoryFault`."""
    began = time.monotonic()
    codes = [test.code for test in tests]
    for offer in applicable_fixes(ctx.memory, failure, base, ctx.task.project):
        # The memory's file may contain a hard-coded answer.
        if any(blindness(before, after, codes) == "refused" for _, before, after in offer.changes):
            ctx.emit(Recalled(
                hit=False, note="a stored fix only returns the expected value: it is not replayed"
            ))
            continue
        candidate = offer.solution
        report = await ctx.judge(candidate, tests)
        _credit(ctx, offer.stored, helped=report.passed, other_failure=offer.other_failure)
        if report.passed:
            found = await with_competing(ctx, base, tests, candidate, report, offer)
            if why := _open_reason(ctx, offer):
                ctx.emit(Recalled(hit=False, note=(
                    f"a stored fix passes, but the search continues: {why} ({candidate.note})"
                )))
                return {"reserve_id": ctx.store.put(found)}
            ctx.emit(Recalled(hit=True, replayed=True, note=candidate.note))
            return apply_recalled_fix(ctx, base, found, iteration=1) | {"recalled": True}
        ctx.emit(Recalled(
            hit=True, note=f"a stored fix failed its replay and was demoted: {offer.note}"
        ))
        if time.monotonic() - began > REPLAY_S:
            ctx.emit(Recalled(
                hit=False, note=f"no more fixes are replayed: {REPLAY_S:g} seconds are used up"
            ))
            return {}
    ctx.emit(Recalled(hit=False, note="no stored fix heals this failure"))
    return {}


def _open_reason(ctx: Context, offer: RememberedEdit) -> str:
    """Why the search continues although a stored fix passes; empty if it does not."""
    if ctx.task.project is not None:
        return ""  # more evidence is gathered only for single files
    if ctx.required_proof > "E1":
        return f"its replay proves E1, and {ctx.required_proof} is required"
    if ctx.may_ask_user and not offer.is_settled:
        return "other repairs may pass too, and the user can choose"
    likely = offer.estimate.probability >= ctx.settings.require_confidence
    return "" if likely or not offer.other_tests else "it was learned with other tests"


def _credit(ctx: Context, known: StoredFix, *, helped: bool, other_failure: bool = False) -> None:
    try:
        ctx.memory.credit(known, helped=helped, other_failure=other_failure)
    except MemoryFault as error:
        ctx.emit(Notice(level="warning", text=f"{error} The replay's result is not stored."))
