"""Which way to a repair comes next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.core.domain import Approach
from agent.core.state import Iteration
from agent.iteration.escalation import UNSURE, NoMore, RunSituation, next_approach

NOW = RunSituation(
    drafted=False, has_model=True, may_search=True, most=9, parallel=3, confidence=0.8
)


def failed(*ways: Approach) -> list[Iteration]:
    """Rounds that each brought a program of its own, and came no nearer."""
    return [
        Iteration(approach=way, program=f"p{number}", signature=f"s{number}")
        for number, way in enumerate(ways)
    ]


@pytest.mark.parametrize(("rounds", "suggested", "follows"), [
    (["search"], None, "minimal"),
    (["search"], "rewrite", "rewrite"),
    (["search"], "fresh", "fresh"),
    (["search"], "search", "minimal"),  # which has been tried
    (["search", "rewrite"], "rewrite", "fresh"),  # and so has this
    (["search", "rewrite"], "minimal", "fresh"),  # nobody climbs down
    (["search", "minimal"], "tournament", "tournament"),
])
def test_a_way_that_the_debugger_suggests_is_gone_upward(
    rounds: list[Approach], suggested: Approach | None, follows: Approach
) -> None:
    assert next_approach(failed(*rounds), replace(NOW, suggested=suggested)) == follows


def test_a_guess_and_a_way_that_is_not_open_lead_nowhere() -> None:
    guess = replace(NOW, suggested="fresh", confidence=UNSURE / 2)
    assert next_approach(failed("search"), guess) == "tournament"
    alone = replace(NOW, suggested="tournament", parallel=1)
    assert next_approach(failed("search"), alone) == "minimal"
    words = replace(NOW, drafted=True, may_search=False, suggested="search")
    assert next_approach([], words) == "minimal"


def test_what_was_suggested_is_no_way_past_the_end() -> None:
    assert next_approach(failed("search"), replace(NOW, suggested="rewrite", most=1)) == NoMore(
        "iterations"
    )


def test_what_a_suggestion_has_passed_over_is_tried_before_there_is_nothing_left() -> None:
    tried = ["search", "fresh"]
    while isinstance(way := next_approach(failed(*tried), replace(NOW, suggested="fresh")), str):
        tried.append(way)
    assert tried == ["search", "fresh", "minimal", "minimal", "tournament", "rewrite", "fresh"]
    assert way == NoMore("stuck")


@pytest.mark.parametrize("drafted", [False, True])
def test_a_small_model_is_asked_after_the_search_and_only_in_ways_that_fit_it(
    drafted: bool,
) -> None:
    small = replace(NOW, small=True, drafted=drafted)
    assert next_approach([], small) == "search"
    assert next_approach([], replace(small, may_search=False)) == "minimal"
    assert next_approach(failed("search"), small) == "minimal"
    assert next_approach(failed("search", "minimal", "minimal"), small) == "fresh"
    assert isinstance(next_approach(failed("search", "minimal", "minimal", "fresh"), small), NoMore)
