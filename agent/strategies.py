"""Ways to repair, by rising cost; each is `async (attempt, ctx) -> Proposal`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from agent.attempts import Attempt, Proposal, reserved_s
from agent.context import Context
from agent.domain import Report, Solution
from agent.domain import Strategy as StrategyName
from agent.events import PartialFound, Searched
from agent.rewriting import by_model
from agent.searching import WALL_TIMES, SearchProgress, heal_by_search


async def by_search(attempt: Attempt, ctx: Context) -> Proposal:
    """Search without a model, around the failing program."""

    async def progress(seen: SearchProgress) -> None:
        ctx.emit(
            Searched(
                candidates=seen.candidates, plausible=seen.plausible,
                best_passed=seen.best_passed, total=seen.total, wall_s=seen.wall_s,
                cut_after=seen.cut_after,
            )
        )

    async def verify(candidate: Solution) -> Report:
        return await ctx.judge(candidate, attempt.tests)

    found = await heal_by_search(
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
        progress=progress,
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
        return Proposal(found.solution, found.note, found.candidates, found.alternatives)
    if found.candidates == 0:
        return Proposal(None, "the search found nothing to try")
    note = f"the search found no repair among {found.candidates:,} candidates" + (
        "" if found.cut_after is None
        else f" and was cut after {round(found.cut_after, 1):g} seconds of work"
    )
    return Proposal(None, note, found.candidates)


STRATEGIES: dict[StrategyName, Callable[[Attempt, Context], Awaitable[Proposal]]] = {
    "search": by_search,
    "model": by_model,
}
"""Strategies in the order of their cost; of those that run side by side, the first in this order
that brings a verified program wins."""

FREE: tuple[StrategyName, ...] = ("search",)
"""Strategies that ask no model. The others run once these have found nothing."""
PAID: tuple[StrategyName, ...] = tuple(name for name in STRATEGIES if name not in FREE)
