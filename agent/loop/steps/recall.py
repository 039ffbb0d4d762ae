"""Recall: has this failure, or one like it, been healed before? A hit is replayed before use."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from agent.core.domain import (
    REST,
    Category,
    Diagnosis,
    Report,
    Script,
    Solution,
    TestCase,
)
from agent.core.events import CodeWritten, Diagnosed, Judged, Notice, Recalled
from agent.core.settings import GENERATOR
from agent.core.state import State, Suite
from agent.iteration.context import Context
from agent.iteration.flakiness import (
    changed_by_tests,
    crash_is_flaky,
    flaky_words,
    passing_words,
    together_words,
    unsteady,
)
from agent.iteration.remembered_fix import apply_recalled_fix, with_competing
from agent.loop.steps.specify import announce
from agent.memory import (
    FailureKey,
    MemoryFault,
    StoredFix,
    failure_of,
    offers,
)
from agent.search.ranking.blindness import blindness
from agent.target.failures.causes import undefined_in_tests
from agent.target.failures.excluded import (
    outside_failure_words,
    still_counting_tests,
    with_outside_failures,
)

REPLAY_S = 2.0


async def recall(state: State, ctx: Context) -> State:
    """Judges the program under the user's own tests and replays known fixes of its failure."""
    tests = ctx.task.tests
    suite = Suite(visible=tests)
    update: State = {"suite_id": ctx.store.put(suite), "iteration": 0}
    announce(ctx, [test for test in tests if not _is_rest(test)])
    base = ctx.task.solution
    if base is None:
        return update
    ctx.emit(CodeWritten(iteration=0, solution=base))
    base_id = ctx.store.put(base)
    report = with_outside_failures(await (ctx.begun or ctx.judge_submitted(base)), ctx.task)
    report_id = ctx.store.put(report)
    found = {verdict.test for verdict in report.verdicts}
    announce(ctx, [test for test in tests if _is_rest(test) and test.name in found])
    tests = still_counting_tests(
        tests, report, ctx.task.project.aside if ctx.task.project else ()
    )
    suite = Suite(visible=tests)
    update |= {
        "suite_id": ctx.store.put(suite),
        "base_id": base_id, "solution_id": base_id, "report_id": report_id,
    }
    ctx.emit(Judged(iteration=0, report=report))
    if report.astray:
        return update | _ended(ctx, "invalid_tests", report.astray)
    aside = outside_failure_words(report)
    if report.oracle and not report.failing and not any(one.passed for one in report.oracle):
        why = aside or "every test sets itself aside"
        return update | _ended(
            ctx, "environment", f"Nothing of the program was seen to be wrong: {why}."
        )
    if aside:
        ctx.emit(Notice(level="warning", text=f"{aside}."))
    if report.passed:
        return update | (_passes_now(ctx, report) if ctx.task.project is not None else {})
    if undefined := undefined_in_tests(report, tests, base):
        words = "; ".join(dict.fromkeys(map(_undefined_words, undefined.values())))
        failing = {verdict.test for verdict in report.failing}
        near = {test for test, (_, meant) in undefined.items() if meant}
        if failing <= near and ctx.plan.of(GENERATOR) is None:  # a search renames nothing
            return update | _ended(ctx, "invalid_tests", words)
        ctx.emit(Notice(level="warning", text=f"{words}."))
    if not tests and await crash_is_flaky(ctx, base, report):
        return update | _refused(ctx, "The crash is flaky: other runs come to a good end")
    found_again = await unsteady(ctx, base, tests, report)
    if found_again.together:
        words = together_words(found_again.together)
        leaks = await changed_by_tests(ctx, base, tests, found_again.together)
        if leaks:
            words = f"{words}, namely {next(iter(leaks.values()))}"
        failing = {verdict.test for verdict in report.failing}
        if ctx.task.project is None and failing <= {*leaks}:
            return update | _ended(ctx, "invalid_tests", (
                f"{words}. No edit of the program is searched for that: have each test make its own"
            ))
        ctx.emit(Notice(level="warning", text=f"{words}. Repairs are judged by all of them, in "
                        "their order."))
        suite = suite.model_copy(update={"together": found_again.together})
        update["suite_id"] = ctx.store.put(suite)
    if flaky := found_again.flaky:
        words = flaky_words(flaky)
        if {verdict.test for verdict in report.failing} <= {*flaky}:
            return update | _refused(ctx, words)
        ctx.emit(Notice(level="warning", text=f"{words}. No search goes by such a test; a repair "
                        "must pass it in every run."))
        update["suite_id"] = ctx.store.put(suite.model_copy(update={"flaky": flaky}))
        report = _without(report, flaky)
        tests = tuple(test for test in tests if test.name not in flaky)
    if not tests:
        ctx.emit(Recalled(hit=False, note="without a test nothing is taken from memory"))
        return update
    if not ctx.settings.enable_cross_session_memory:
        ctx.emit(Recalled(hit=False, note="what other runs learned is not used"))
        return update
    failure = await asyncio.to_thread(
        failure_of, base, *_unanswered(ctx, tests, report), ctx.task.project
    )
    update["failure_id"] = ctx.store.put(failure)
    skipped = ctx.memory.skipped
    try:
        update |= await _looked_back(ctx, base, tests, failure)
    except MemoryFault as error:
        ctx.emit(Notice(level="warning", text=f"{error} The run goes on without it."))
    senseless = ctx.memory.skipped - skipped
    if senseless:
        ctx.emit(Notice(
            level="warning", text=f"Rows of the fix memory that make no sense were skipped: "
            f"{senseless}.",
        ))
    return update


def _unanswered(
    ctx: Context, tests: Sequence[TestCase], report: Report
) -> tuple[Sequence[TestCase], Report]:
    """Without tests that answer an earlier question: that is no failure."""
    left = _without(report, tuple(ctx.answered))
    if not left.failing:
        return tests, report
    return tuple(test for test in tests if test.name not in ctx.answered), left


def _passes_now(ctx: Context, report: Report) -> State:
    """The end of a project's run whose failing tests pass now."""
    names = [test.name for test in ctx.task.tests if not _is_rest(test)]
    asked = tuple(one for one in report.verdicts if one.name in names)
    if aside := outside_failure_words(report.model_copy(update={"verdicts": asked})):
        return _ended(
            ctx, "environment", f"Nothing of the program was seen to be wrong: {aside}."
        )
    return _refused(ctx, passing_words(names))


def _refused(ctx: Context, flaky: str) -> State:
    """The end of a run without a steady failure."""
    reason = (
        f"{flaky}. No edit is searched for that: what differs between runs (chance, the time, the "
        "order of a set, threads) must be fixed first."
    )
    return _ended(ctx, "flaky_tests", reason)


def _ended(ctx: Context, category: Category, reason: str) -> State:
    ctx.emit(Diagnosed(iteration=0, diagnosis=Diagnosis(
        category=category, fixable=False, cause=reason, confidence=1.0
    )))
    return {"outcome": "not_fixable", "reason": reason}


def _undefined_words(names: tuple[str, str]) -> str:
    name, meant = names
    hint = f"did you mean `{meant}`? Correct it in the tests" if meant else (
        "correct it in the tests if it is misspelt"
    )
    return f"The tests use `{name}`, which the program defines nowhere: {hint}, or define `{name}`"


def _is_rest(test: TestCase) -> bool:
    return isinstance(test, Script) and test.node == REST


def _without(report: Report, names: Sequence[str]) -> Report:
    kept = tuple(verdict for verdict in report.verdicts if verdict.test not in names)
    return report.model_copy(update={"verdicts": kept})


async def _looked_back(
    ctx: Context, base: Solution, tests: Sequence[TestCase], failure: FailureKey
) -> State:
    """Raises: MemoryFault."""
    began = time.monotonic()
    codes = [test.code for test in tests]
    for offer in offers(ctx.memory, failure, base, ctx.task.project):
        # The author of the memory file may have written the answer into it.
        if any(blindness(before, after, codes) == "refused" for _, before, after in offer.changes):
            ctx.emit(Recalled(
                hit=False, note="a remembered fix only gives the expected value: it is not replayed"
            ))
            continue
        candidate = offer.solution
        report = await ctx.judge(candidate, tests)
        _credit(ctx, offer.known, helped=report.passed, elsewhere=offer.elsewhere)
        if report.passed:
            found = await with_competing(ctx, base, tests, candidate, report, offer)
            # A project's fix is proved no further.
            if ctx.task.project is None and (
                ctx.least_proof > "E1" or (ctx.asks and not offer.settled)
            ):
                why = f"its replay proves E1, and {ctx.least_proof} is required" if (
                    ctx.least_proof > "E1"
                ) else "other repairs may pass too, and there is someone to ask"
                ctx.emit(Recalled(hit=False, note=(
                    f"a remembered fix passes, but the search goes on: {why} ({candidate.note})"
                )))
                return {"reserve_id": ctx.store.put(found)}
            ctx.emit(Recalled(hit=True, replayed=True, note=candidate.note))
            return apply_recalled_fix(ctx, base, found, iteration=1) | {"recalled": True}
        ctx.emit(Recalled(
            hit=True, note=f"a remembered fix failed its replay and was demoted: {offer.note}"
        ))
        if time.monotonic() - began > REPLAY_S:
            ctx.emit(Recalled(
                hit=False, note=f"no more fixes are replayed: {REPLAY_S:g} seconds are over"
            ))
            return {}
    ctx.emit(Recalled(hit=False, note="no remembered fix heals this failure"))
    return {}


def _credit(ctx: Context, known: StoredFix, *, helped: bool, elsewhere: bool = False) -> None:
    try:
        ctx.memory.credit(known, helped=helped, elsewhere=elsewhere)
    except MemoryFault as error:
        ctx.emit(Notice(level="warning", text=f"{error} How the replay went is not remembered."))
