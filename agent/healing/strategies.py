"""What a way to repair starts from, what it brings, and the search as one of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from agent.core.domain import (
    REST,
    Alternatives,
    Diagnosis,
    Project,
    Report,
    Script,
    Solution,
    TestCase,
)
from agent.core.events import PartialFound
from agent.healing.context import Context
from agent.healing.project_search import search_project
from agent.healing.searching import WALL_TIMES, search_repair

FOR_THE_VERDICT, MOST_RESERVED_S = 0.25, 5.0
"""The part of a run's remaining seconds that a search leaves for judging and proving its find."""


def reserved_s(seconds_left: float) -> float:
    """Seconds at the end of a run in which nothing more is searched."""
    return min(MOST_RESERVED_S, FOR_THE_VERDICT * seconds_left)


@dataclass(frozen=True)
class Attempt:
    """What a strategy starts from. The tests are those that a repair may see and must pass."""

    solution: Solution
    tests: tuple[TestCase, ...]
    report: Report
    diagnosis: Diagnosis


@dataclass(frozen=True)
class Proposal:
    """What a strategy found: a program the judge passed under the visible tests, or none."""

    solution: Solution | None
    why: str = ""
    """Why there is none."""
    candidates: int = 0
    alternatives: Alternatives | None = None
    """Repairs that pass the visible tests too and behave otherwise."""


async def by_search(attempt: Attempt, ctx: Context) -> Proposal:
    """Search without a model, around the failing program."""

    async def verify(candidate: Solution) -> Report:
        return await ctx.judge(candidate, attempt.tests)

    if ctx.task.project is not None:
        return await _in_project(attempt, ctx, ctx.task.project, verify)

    found = await search_repair(
        ctx.task,
        attempt.solution,
        attempt.tests,
        attempt.report,
        ctx.sandbox,
        budget_s=ctx.settings.search_s,
        wall_s=min(
            WALL_TIMES * ctx.settings.search_s, ctx.seconds_left - reserved_s(ctx.seconds_left)
        ),
        max_candidates=ctx.settings.max_candidates,
        progress=ctx.emit,
        verify=verify,
        known=ctx.screenings,
    )
    if found.solution is None and found.partial is not None:
        ctx.emit(
            PartialFound(
                diff=found.partial.diff(attempt.solution),
                passed=found.partial_passed,
                total=len(attempt.tests),
                note=f"not a fix: {found.partial.note}",
            )
        )
    if found.solution is not None:
        return Proposal(found.solution, "", found.candidates, found.alternatives)
    if found.candidates == 0:
        return Proposal(None, "the search found nothing to try")
    why = f"the search found no repair among {found.candidates:,} candidates" + (
        "" if found.cut_after is None
        else f" and was cut after {round(found.cut_after, 1):g} seconds of work"
    )
    return Proposal(None, why, found.candidates)


async def _in_project(
    attempt: Attempt, ctx: Context, project: Project,
    verify: Callable[[Solution], Awaitable[Report]],
) -> Proposal:
    """The search in the files of a project."""
    failing = {verdict.test for verdict in attempt.report.failing}
    found = await search_project(
        ctx.task, project, attempt.solution,
        [
            one.node for one in attempt.tests
            if isinstance(one, Script) and one.name in failing and one.node != REST
        ],
        ctx.sandbox, budget_s=ctx.settings.search_s,
        wall_s=min(
            WALL_TIMES * ctx.settings.search_s, ctx.seconds_left - reserved_s(ctx.seconds_left)
        ),
        max_candidates=ctx.settings.max_candidates, progress=ctx.emit, verify=verify,
    )
    if found.solution is not None:
        return Proposal(found.solution, found.solution.note, found.candidates)
    if found.problem:
        return Proposal(None, f"nothing could be searched: {found.problem}")
    files = ", ".join(one.file for one in found.suspects) or "no file that may be edited"
    return Proposal(
        None, f"the search found no repair among {found.candidates:,} candidates in {files}",
        found.candidates,
    )
