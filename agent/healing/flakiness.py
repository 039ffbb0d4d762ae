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
from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.domain import Report, Script, Solution, TestCase, Verdict
from agent.core.trees import readable_nodes
from agent.healing.context import Context
from agent.judge.judge import check
from agent.judge.subject import Seeds

OTHER_CHANCE = (Seeds(0, 1), Seeds(0, 2))
"""The runs after the first."""
OTHER_ORDER = (Seeds(0, 1), Seeds(1, 3))
"""The same where sets or hashes are in use: another hash seed takes an interpreter of its own."""
RUNS = 3
_HASHED = frozenset({"set", "frozenset", "hash", "id"})
MOST_S = 2.0
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

    What ran into its deadline is not run again: it would be waited for twice more.
    """
    if not readable_nodes(solution.text):
        return Unsteady()
    failing = {verdict.test for verdict in report.failing}
    hanging = {verdict.test for verdict in report.verdicts if verdict.status == "timeout"}
    expected_s = {verdict.test: verdict.wall_s for verdict in report.verdicts}
    chosen = [test for test in tests if test.name in failing - hanging]
    while chosen and sum(expected_s[test.name] for test in chosen) * (RUNS - 1) > MOST_S:
        chosen.remove(max(chosen, key=lambda test: expected_s[test.name]))
    if not chosen:
        return Unsteady()
    seeds = again_with(solution, tests)
    alone = await _failing_in_each(ctx, solution, chosen, seeds)
    steady = set.intersection(*alone)
    passing = [test for test in chosen if test.name not in set.union(*alone)]
    together: set[str] = set()
    # A snippet has the program to itself in any case.
    if any(isinstance(test, Script) and test.node for test in passing):
        together = set.intersection(*await _failing_in_each(ctx, solution, tests, seeds))
    names = tuple(test.name for test in passing if test.name in together)
    return Unsteady(
        tuple(test.name for test in chosen if test.name not in {*steady, *names}), names
    )


async def _failing_in_each(
    ctx: Context, solution: Solution, tests: Sequence[TestCase], runs: Sequence[Seeds]
) -> list[set[str]]:
    """Names of the tests that fail, run by run. The runs are side by side: whoever waits for a
    remembered fix waits for them first."""
    reports = await asyncio.gather(*(
        check(
            solution, tests, ctx.task, ctx.sandbox, wall_s=ctx.test_s, seeds=seeds, observe=False
        )
        for seeds in runs
    ))
    return [{one.test for one in report.verdicts if not one.passed} for report in reports]


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
        if time.monotonic() - began > MOST_S / 2:
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
            wall_s=ctx.test_s, seeds=seeds,
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
    return OTHER_ORDER if any(map(_hashes, texts)) else OTHER_CHANCE


def _hashes(text: str) -> bool:
    return any(
        isinstance(node, ast.Set | ast.SetComp)
        or (isinstance(node, ast.Name) and node.id in _HASHED)
        for node in readable_nodes(text)
    )


def _counted(verdict: Verdict, count: int) -> Verdict:
    message = f"flaky: it fails in {count} of {RUNS} runs; {verdict.message}"
    return verdict.model_copy(update={"message": message})


def flaky_words(names: Sequence[str]) -> str:
    """What a person is told of flaky tests."""
    shown = ", ".join(f"`{name}`" for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    one = len(names) == 1
    return (
        f"{shown}{more} {'is' if one else 'are'} flaky: in {RUNS} runs of the program as it is, "
        f"{'it' if one else 'each'} fails in some and passes in others"
    )


def together_words(names: Sequence[str]) -> str:
    """What a person is told of tests that fail beside others alone."""
    shown = ", ".join(f"`{name}`" for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    one = len(names) == 1
    return (
        f"{shown}{more} {'fails' if one else 'fail'} only together with the other tests, and "
        f"{'passes' if one else 'pass'} without them: state is kept between tests"
    )
