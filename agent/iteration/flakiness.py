"""Detects flaky tests: each failing test is run three times before a repair is searched.

A flaky failure is no evidence of a bug, and a search would take a lucky pass for a repair. A test
that fails in each run of all tests, but passes without the passing ones, does show a bug: an
earlier test leaves state in the program.
"""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agent.core.domain import Report, Script, Solution, TestCase, Verdict
from agent.core.trees import nodes_or_empty, parse_or_empty
from agent.iteration.context import Context
from agent.search.edits.functions import mutates
from agent.search.precheck.tracing import trace
from agent.verify.confirmation import HASH_SEEDS, uses_hashes
from agent.verify.judge import check
from agent.verify.subject import Seeds

RERUN_SEEDS = (Seeds(0, 1), Seeds(0, 2))
"""Seeds of the reruns."""
RERUN_HASH_SEEDS = (Seeds(0, 1), Seeds(HASH_SEEDS[1], 3))
"""Seeds of the reruns if sets or hashes are used: another hash seed needs its own interpreter."""
FURTHER_SEEDS = (Seeds(0, 3), Seeds(0, 4), Seeds(0, 5))
"""Seeds of further runs that check that tests fail only together, and not by chance."""
RUNS = 3
MAX_S = 2.0
"""Limit of the expected time of all reruns; the slowest tests are not run again."""


@dataclass(frozen=True)
class FlakyTests:
    """Names of failing tests that pass in another run."""

    flaky: tuple[str, ...] = ()
    """Tests that pass by chance."""
    order_dependent: tuple[str, ...] = ()
    """Tests that always pass without the passing tests, and never with them."""


async def flaky_tests(
    ctx: Context, solution: Solution, tests: Sequence[TestCase], report: Report
) -> FlakyTests:
    """Finds the tests that fail in `report` and pass in another run.

    Tests that timed out are not run again, since that takes long. Neither are tests whose pass is
    not believed, since the reruns are plain and would pass again.
    """
    if not nodes_or_empty(solution.text):
        return FlakyTests()
    failing = {verdict.test for verdict in report.failing}
    skipped = {one.test for one in report.verdicts if one.status == "timeout" or one.disbelieved}
    expected_s = {verdict.test: verdict.wall_s for verdict in report.verdicts}
    chosen = [test for test in tests if test.name in failing - skipped]
    while chosen and sum(expected_s[test.name] for test in chosen) * (RUNS - 1) > MAX_S:
        chosen.remove(max(chosen, key=lambda test: expected_s[test.name]))
    if not chosen:
        return FlakyTests()
    seeds = rerun_seeds(solution, tests)
    always_fail, ever_fail = await _failing_again(ctx, solution, chosen, seeds)
    # Snippets always run alone.
    together = {test.name for test in chosen if isinstance(test, Script) and test.node} - ever_fail
    brief = sum(expected_s.values()) <= MAX_S
    for runs in (seeds, FURTHER_SEEDS) if brief else (seeds,):
        if together:
            together &= (await _failing_again(ctx, solution, tests, runs))[0]
        if together and runs is FURTHER_SEEDS:
            together -= (await _failing_again(ctx, solution, chosen, runs))[1]
    return FlakyTests(
        tuple(test.name for test in chosen if test.name not in always_fail | together),
        tuple(test.name for test in chosen if test.name in together),
    )


async def _failing_again(
    ctx: Context, solution: Solution, tests: Sequence[TestCase], runs: Sequence[Seeds]
) -> tuple[set[str], set[str]]:
    """Names of the tests that fail in every run, and in any. The runs are parallel."""
    reports = await asyncio.gather(*(
        check(
            solution, tests, ctx.task, ctx.sandbox, wall_s=ctx.test_s, seeds=seeds,
            verify_passes=False,
        )
        for seeds in runs
    ))
    failing = [{one.test for one in report.verdicts if not one.passed} for report in reports]
    return set.intersection(*failing), set.union(*failing)


async def crash_is_flaky(ctx: Context, solution: Solution, report: Report) -> bool:
    """Whether a crashed program without tests does not crash in another run."""
    began = time.monotonic()
    if report.ending is None or report.ending.kind != "raised" or not nodes_or_empty(solution.text):
        return False
    for seeds in rerun_seeds(solution, ()):
        again = await check(solution, (), ctx.task, ctx.sandbox, wall_s=ctx.test_s, seeds=seeds)
        if again.ending is not None and not again.ending.crashed:
            return True
        if time.monotonic() - began > MAX_S / 2:
            return False
    return False


async def with_reruns(
    ctx: Context, solution: Solution, tests: Sequence[TestCase], report: Report
) -> Report:
    """The report after reruns of tests that were flaky before; a test fails if any run fails."""
    names = {verdict.test for verdict in report.verdicts if verdict.passed}
    passing = [test for test in tests if test.name in names]
    failed: dict[str, tuple[Verdict, int]] = {}
    for seeds in rerun_seeds(solution, passing) if passing else ():
        again = await check(
            solution, passing, ctx.task, ctx.sandbox, run_program=False,
            wall_s=ctx.test_s, seeds=seeds, verify_passes=False,
        )
        for verdict in again.verdicts:
            if not verdict.passed:
                _, count = failed.get(verdict.name, (verdict, 0))
                failed[verdict.name] = verdict, count + 1
    return report.model_copy(update={"verdicts": tuple(
        _flaky_verdict(*failed[verdict.name]) if verdict.name in failed else verdict
        for verdict in report.verdicts
    )})


def rerun_seeds(solution: Solution, tests: Sequence[TestCase]) -> tuple[Seeds, ...]:
    texts = dict.fromkeys((solution.text, *(test.code for test in tests)))
    return RERUN_HASH_SEEDS if any(map(uses_hashes, texts)) else RERUN_SEEDS


def _flaky_verdict(verdict: Verdict, count: int) -> Verdict:
    message = f"flaky: it fails in {count} of {RUNS} runs; {verdict.message}"
    return verdict.model_copy(update={"message": message})


def flaky_message(names: Sequence[str]) -> str:
    subject, one = _subject_words(names)
    return (
        f"{subject} {'is' if one else 'are'} flaky: in {RUNS} runs of the program as it is, "
        f"{'it' if one else 'each'} fails in some and passes in others"
    )


def passing_words(names: Sequence[str]) -> str:
    """The message about tests that failed before a run and pass in it."""
    subject, one = _subject_words(names)
    return (
        f"{subject} {'is' if one else 'are'} flaky: {'it' if one else 'each'} failed before this "
        "run, and passes in it although nothing was changed"
    )


def order_dependent_message(names: Sequence[str]) -> str:
    subject, one = _subject_words(names)
    return (
        f"{subject} {'fails' if one else 'fail'} only together with the other tests, and "
        f"{'passes' if one else 'pass'} without them: state is kept between tests"
    )


def _subject_words(names: Sequence[str]) -> tuple[str, bool]:
    """The first of these names as a subject, and whether there is only one."""
    shown = ", ".join(f"`{name}`" for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return shown + more, len(names) == 1


async def changed_by_tests(
    ctx: Context, solution: Solution, tests: Sequence[TestCase], names: Sequence[str]
) -> dict[str, str]:
    """Describes, by test name, the shared state of a test file that an earlier test changes.

    `names` are tests that fail only together with others. A module-level variable counts only if
    the test also fails in a process of its own; a shared fixture always counts.
    """
    found: dict[str, str] = {}
    seen = None
    for index, test in enumerate(tests):
        if test.name not in names or not isinstance(test, Script):
            continue
        tops, fixtures = _shared_names(test)
        name, who = _changed_name(test, tops | fixtures)
        if name in tops and ctx.task.project is None:
            seen = seen or await trace(solution, tests, ctx.task, ctx.sandbox)
        if name in fixtures or (name in tops and (seen is None or not seen.tests[index].passed)):
            found[test.name] = f"`{name}` of the tests, which `{who}` changes before"
    return found


def _shared_names(test: Script) -> tuple[set[str], set[str]]:
    """The module-level variables of a test's file, and its fixtures with a wider scope."""
    body = parse_or_empty(test.code).body
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


def _changed_name(test: Script, shared: Collection[str]) -> tuple[str, str]:
    """One of these names that a test reads and an earlier test changes, and that test's name."""
    test_name = test.node.rpartition("::")[2].partition("[")[0]
    earlier: list[ast.FunctionDef] = []
    for node in ast.walk(parse_or_empty(test.code)):
        if not isinstance(node, ast.FunctionDef) or not node.name.startswith("test"):
            continue
        if node.name == test_name:
            read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
            read |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
            for name in sorted(read & {*shared}):
                for one in earlier:
                    if mutates([one], name) and not mutates([node], name):
                        return name, one.name
        earlier.append(node)
    return "", ""
