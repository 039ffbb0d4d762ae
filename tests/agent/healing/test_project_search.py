"""The search in a project: what it tells on its way, and where it ends."""

from __future__ import annotations

from agent.core.domain import Report, Solution
from agent.core.events import Searched
from agent.healing.project_search import ProjectFound, search_project
from agent.judge.project_run import project_report
from sandbox.sandbox import open_sandbox
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


SHARES = """def total(prices):
    return sum(prices)


def split(amount, people):
    share = amount // people
    return [share] * people
"""
TESTS = """from till.money import split


def test_even():
    assert split(9, 3) == [3, 3, 3]


def test_nobody():
    assert split(7, 0) == []


def test_rest():
    assert (split(10, 3), split(11, 4), split(7, 3)) == ([4, 3, 3], [3, 3, 3, 2], [3, 2, 2])
"""


async def test_what_mends_a_part_is_kept_as_no_fix_with_what_was_held_where_it_failed() -> None:
    money, tests = "src/till/money.py", "tests/test_money.py"

    async def verify(solution: Solution) -> Report:
        raise AssertionError("nothing passes every test")

    found = await search_project(
        task(**{money: SHARES, tests: TESTS}), PROJECT, base().with_file(money, SHARES),
        [f"{tests}::test_nobody", f"{tests}::test_rest"], open_sandbox(), budget_s=20.0,
        wall_s=160.0, max_candidates=300, progress=[].append, verify=verify,
    )
    assert found.solution is None and found.partial is not None
    assert (found.partial_passed, found.screened_by) == (2, 3)
    assert "people" in found.partial.note and found.partial.text != SHARES
    assert found.moments == {money: (6, (("amount", "7"), ("people", "0")))}
