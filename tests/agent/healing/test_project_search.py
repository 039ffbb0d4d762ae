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
