"""Failures that come and go: each failing test is run three times before anything is searched.

A failure that is not there in every run is no evidence of a bug that an edit could mend, and a
search driven by it would take chance for a repair. One that is gone where only the failing tests
run, and there in each run of all of them in their order, is a bug: what an earlier test left in the
program is still there.
"""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agent.core.domain import Report, Script, Solution, TestCase, Verdict
from agent.core.trees import readable, readable_nodes
from agent.iteration.context import Context
from agent.search.edits.functions import changes
from agent.search.precheck.tracing import trace
from agent.verify.confirmation import OTHER_HASHES, uses_hashes
from agent.verify.judge import check
from agent.verify.subject import Seeds

OTHER_CHANCE = (Seeds(0, 1), Seeds(0, 2))
"""The runs after the first."""
OTHER_ORDER = (Seeds(0, 1), Seeds(OTHER_HASHES[1], 3))
"""The same where sets or hashes are in use: another hash seed takes an interpreter of its own."""
MORE_CHANCE = (Seeds(0, 3), Seeds(0, 4), Seeds(0, 5))
"""Those of tests that seem to fail together alone: chance may look like that."""
RUNS = 3
MAX_S = 2.0
"""Tests are run again as long as all of them are not expected to take longer than this."""


@dataclass(frozen=True)
class Unsteady:
    """Names of failing tests that pass in another run."""

    flaky: tuple[str, ...] = ()
    """By chance."""
    together: tuple[str, ...] = ()
    """Each time without the tests that pass, and never beside them."""


async def unsteady(
    ctx: Context, solution: Solution, tests: Sequence[TestCase], report: Report
) -> Unsteady:
    """The tests that fail in `report` and pass in another run.

    What ran into its deadline is not run again: it would be waited for twice more. Neither is what
    passes and is not believed: the repeated runs are plain, and the plain run has passed.
    """
    if not readable_nodes(solution.text):
        return Unsteady()
    failing = {verdict.test for verdict in report.failing}
    left = {one.test for one in report.verdicts if one.status == "timeout" or one.doubt}
    expected_s = {verdict.test: verdict.wall_s for verdict in report.verdicts}
    chosen = [test for test in tests if test.name in failing - left]
    while chosen and sum(expected_s[test.name] for test in chosen) * (RUNS - 1) > MAX_S:
        chosen.remove(max(chosen, key=lambda test: expected_s[test.name]))
    if not chosen:
        return Unsteady()
    seeds = again_with(solution, tests)
    steady, ever = await _failing_again(ctx, solution, chosen, seeds)
    # A snippet has the program to itself in any case.
    together = {test.name for test in chosen if isinstance(test, Script) and test.node} - ever
    brief = sum(expected_s.values()) <= MAX_S
    for runs in (seeds, MORE_CHANCE) if brief else (seeds,):
        if together:
            together &= (await _failing_again(ctx, solution, tests, runs))[0]
        if together and runs is MORE_CHANCE:
            together -= (await _failing_again(ctx, solution, chosen, runs))[1]
    return Unsteady(
        tuple(test.name for test in chosen if test.name not in steady | together),
        tuple(test.name for test in chosen if test.name in together),
    )


async def _failing_again(
    ctx: Context, solution: Solution, tests: Sequence[TestCase], runs: Sequence[Seeds]
) -> tuple[set[str], set[str]]:
    """Names of the tests that fail in each run, and in any. The runs are parallel: a program that
    waits for a remembered fix waits for them first."""
    reports = await asyncio.gather(*(
        check(
            solution, tests, ctx.task, ctx.sandbox, wall_s=ctx.test_s, seeds=seeds, observe=False
        )
        for seeds in runs
    ))
    failing = [{one.test for one in report.verdicts if not one.passed} for report in reports]
    return set.intersection(*failing), set.union(*failing)


async def crash_is_flaky(ctx: Context, solution: Solution, report: Report) -> bool:
    """Whether a program without tests that crashed comes to a good end in another run."""
    began = time.monotonic()
    if report.ending is None or report.ending.kind != "raised" or not readable_nodes(solution.text):
        return False
    for seeds in again_with(solution, ()):
        again = await check(
            solution, (), ctx.task, ctx.sandbox, wall_s=ctx.test_s, seeds=seeds
        )
        if again.ending is not None and not again.ending.crashed:
            return True
        if time.monotonic() - began > MAX_S / 2:
            return False
    return False


async def with_reruns(
    ctx: Context, solution: Solution, tests: Sequence[TestCase], report: Report
) -> Report:
    """The report with the word of all runs on tests that were flaky before: one fails where it
    fails in any."""
    passing = {verdict.test for verdict in report.verdicts if verdict.passed}
    asked = [test for test in tests if test.name in passing]
    failed: dict[str, tuple[Verdict, int]] = {}
    for seeds in again_with(solution, asked) if asked else ():
        again = await check(
            solution, asked, ctx.task, ctx.sandbox, run_program=False,
            wall_s=ctx.test_s, seeds=seeds, observe=False,
        )
        for verdict in again.verdicts:
            if not verdict.passed:
                _, count = failed.get(verdict.name, (verdict, 0))
                failed[verdict.name] = verdict, count + 1
    return report.model_copy(update={"verdicts": tuple(
        _counted(*failed[verdict.name]) if verdict.name in failed else verdict
        for verdict in report.verdicts
    )})


def again_with(solution: Solution, tests: Sequence[TestCase]) -> tuple[Seeds, ...]:
    """What the runs after the first depend on."""
    texts = dict.fromkeys((solution.text, *(test.code for test in tests)))
    return OTHER_ORDER if any(map(uses_hashes, texts)) else OTHER_CHANCE


def _counted(verdict: Verdict, count: int) -> Verdict:
    message = f"flaky: it fails in {count} of {RUNS} runs; {verdict.message}"
    return verdict.model_copy(update={"message": message})


def flaky_words(names: Sequence[str]) -> str:
    """The message about flaky tests."""
    subject, one = _subject(names)
    return (
        f"{subject} {'is' if one else 'are'} flaky: in {RUNS} runs of the program as it is, "
        f"{'it' if one else 'each'} fails in some and passes in others"
    )


def passing_words(names: Sequence[str]) -> str:
    """The message about tests that failed before a run and pass in it."""
    subject, one = _subject(names)
    return (
        f"{subject} {'is' if one else 'are'} flaky: {'it' if one else 'each'} failed before this "
        "run, and passes in it although nothing was changed"
    )


def together_words(names: Sequence[str]) -> str:
    """The message about tests that fail only together with others."""
    subject, one = _subject(names)
    return (
        f"{subject} {'fails' if one else 'fail'} only together with the other tests, and "
        f"{'passes' if one else 'pass'} without them: state is kept between tests"
    )


def _subject(names: Sequence[str]) -> tuple[str, bool]:
    """The first of these names, and whether there is just one."""
    shown = ", ".join(f"`{name}`" for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return shown + more, len(names) == 1


async def changed_by_tests(
    ctx: Context, solution: Solution, tests: Sequence[TestCase], names: Sequence[str]
) -> dict[str, str]:
    """For names of tests that fail together with others alone: what they read of their own file,
    in words, where an earlier test of it has changed that itself. What stands at the top of the
    file makes them fail though each has the program to itself; a fixture is not looked at so."""
    found: dict[str, str] = {}
    seen = None
    for place, test in enumerate(tests):
        if test.name not in names or not isinstance(test, Script):
            continue
        tops, fixtures = _shared(test)
        name, who = _changed(test, tops | fixtures)
        if name in tops and ctx.task.project is None:
            seen = seen or await trace(solution, tests, ctx.task, ctx.sandbox)
        if name in fixtures or (name in tops and (seen is None or not seen.tests[place].passed)):
            found[test.name] = f"`{name}` of the tests, which `{who}` changes before"
    return found


def _shared(test: Script) -> tuple[set[str], set[str]]:
    """Names that stand at the top of a test's file, and fixtures made for several tests."""
    body = readable(test.code).body
    tops = {
        target.id for one in body if isinstance(one, ast.Assign)
        for target in one.targets if isinstance(target, ast.Name)
    }
    return tops, {
        one.name for one in body if isinstance(one, ast.FunctionDef)
        for each in one.decorator_list if isinstance(each, ast.Call)
        for word in each.keywords
        if word.arg == "scope" and getattr(word.value, "value", "function") != "function"
    }


def _changed(test: Script, shared: Collection[str]) -> tuple[str, str]:
    """Which of these names a test reads that one before it in its file changes, and which does."""
    own = test.node.rpartition("::")[2].partition("[")[0]
    earlier: list[ast.FunctionDef] = []
    for node in ast.walk(readable(test.code)):
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test"):
            continue
        if node.name == own:
            read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            read |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
            for name in sorted(read & {*shared}):
                for one in earlier:
                    if changes([one], name) and not changes([node], name):
                        return name, one.name
        earlier.append(node)
    return "", ""
