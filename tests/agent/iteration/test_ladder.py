"""The choice of the next approach."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.core.domain import Approach
from agent.core.state import Iteration
from agent.iteration.escalation import MIN_CONFIDENCE, Exhausted, RunSituation, next_approach

NOW = RunSituation(
    unspecified_draft=False, has_model=True, may_search=True, max_iterations=9, parallel_repairs=3,
    confidence=0.8,
)


def failed(*ways: Approach) -> list[Iteration]:
    """Iterations with different programs and failures, and no progress."""
    return [
        Iteration(approach=way, program=f"p{number}", signature=f"s{number}")
        for number, way in enumerate(ways)
    ]


@pytest.mark.parametrize(("rounds", "suggested", "follows"), [
    (["search"], None, "minimal"),
    (["search"], "rewrite", "rewrite"),
    (["search"], "fresh", "fresh"),
    (["search"], "search", "minimal"),  # already tried
    (["search", "rewrite"], "rewrite", "fresh"),  # already tried
    (["search", "rewrite"], "minimal", "fresh"),  # only upward
    (["search", "minimal"], "tournament", "tournament"),
])
def test_a_way_that_the_debugger_suggests_is_gone_upward(
    rounds: list[Approach], suggested: Approach | None, follows: Approach
) -> None:
    assert next_approach(failed(*rounds), replace(NOW, suggested=suggested)) == follows


def test_an_unsure_or_unavailable_suggestion_is_ignored() -> None:
    guess = replace(NOW, suggested="fresh", confidence=MIN_CONFIDENCE / 2)
    assert next_approach(failed("search"), guess) == "tournament"
    alone = replace(NOW, suggested="tournament", parallel_repairs=1)
    assert next_approach(failed("search"), alone) == "minimal"
    words = replace(NOW, unspecified_draft=True, may_search=False, suggested="search")
    assert next_approach([], words) == "minimal"


def test_a_suggestion_does_not_exceed_the_limit_of_iterations() -> None:
    last = replace(NOW, suggested="rewrite", max_iterations=1)
    assert next_approach(failed("search"), last) == Exhausted(
        "iterations"
    )


def test_approaches_that_a_suggestion_skipped_are_tried_at_the_end() -> None:
    tried = ["search", "fresh"]
    while isinstance(way := next_approach(failed(*tried), replace(NOW, suggested="fresh")), str):
        tried.append(way)
    assert tried == ["search", "fresh", "minimal", "minimal", "tournament", "rewrite", "fresh"]
    assert way == Exhausted("stuck")


@pytest.mark.parametrize("drafted", [False, True])
def test_a_small_model_is_asked_after_the_search_and_only_for_edits(drafted: bool) -> None:
    small = replace(NOW, small_model=True, unspecified_draft=drafted)
    assert next_approach([], small) == "search"
    assert next_approach([], replace(small, may_search=False)) == "minimal"
    assert next_approach(failed("search"), small) == "minimal"
    assert next_approach(failed("search", "minimal", "minimal"), small) == "fresh"
    tried = failed("search", "minimal", "minimal", "fresh")
    assert isinstance(next_approach(tried, small), Exhausted)
