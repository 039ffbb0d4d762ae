"""The search in a project: what it tells on its way, and where it ends."""

from __future__ import annotations

import math
from typing import cast

from agent.core.domain import Report, Solution
from agent.core.events import Searched
from agent.healing.project_search import (
    ProjectFound,
    Verify,
    _others,
    _ProjectSearch,
    search_project,
)
from agent.judge.project_run import project_report
from agent.project.suite import Suite, TestRow
from sandbox.sandbox import Batch, open_sandbox
from tests.agent.project.small_project import FAILING, PROJECT, base, scripts, task


async def searched(told: list[Searched], wall_s: float) -> ProjectFound:
    sandbox = open_sandbox()

    async def verify(solution: Solution) -> Report:
        return await project_report(solution, scripts([*FAILING]), task(), PROJECT, sandbox)

    return await search_project(
        task(), PROJECT, base(), [*FAILING], sandbox, budget_s=20.0, wall_s=wall_s,
        max_candidates=5_000, progress=told.append, verify=verify,
    )


async def test_what_is_told_on_the_way_is_what_was_seen() -> None:
    told: list[Searched] = []
    found = await searched(told, 160.0)
    assert found.solution is not None and found.solution.entry == "src/till/money.py"
    assert found.suspects[0].file == "src/till/money.py"
    assert told[-1].plausible >= 1
    assert told[-1].best_passed == told[-1].total
    assert told[0].best_passed < told[0].total


async def test_the_outer_limit_covers_the_first_look() -> None:
    found = await searched([], 0.0)
    assert (found.solution, found.candidates) == (None, 0)
    assert "came to no end" in found.problem


def test_passing_tests_beside_the_failing_ones_are_looked_at_first() -> None:
    nodes = ["a.py::test_a", "b.py::test_a", "a.py::test_b", "b.py::test_b", "c.py::test_a"]
    assert _others(nodes, [3]) == [1, 0, 2, 4]


def over_already(rows: dict[int, TestRow]) -> _ProjectSearch:
    """A search whose time is over, and that asks nobody."""
    return _ProjectSearch(
        Suite(cast(Batch, None), {}), PROJECT, base(), rows, [*rows], cast(Verify, None), print,
        budget_s=1.0, end=0.0, max_candidates=1,
    )


def test_one_run_of_the_suite_may_go_beyond_the_limit() -> None:
    search = over_already({})
    assert [search._may_judge() for _ in range(3)] == [True, False, False]
    search.end = math.inf
    assert [search._may_judge() for _ in range(2)] == [True, True]


def test_the_quickest_of_many_failing_tests_are_gone_by() -> None:
    rows = {
        number: TestRow(str(number), False, cpu_s)
        for number, cpu_s in enumerate([0.5, 0.04, 0.3, 0.05, 0.2])
    }
    search = over_already(rows)
    assert search._quickest([*rows], 0.1) == [1, 3]
    assert search._quickest([*rows], 0.1, 3) == [1, 3, 4]
