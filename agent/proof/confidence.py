"""How likely the patch of a run is right, from what its source, the proof and a second source show.

A search estimates its patches while it compares them (`agent/search/confidence`), and a remembered
fix carries the confidence with which it was stored. What comes to light afterwards (a held-out
test, a competing patch, agreement of two sources) shifts the log-odds.
"""

from __future__ import annotations

import math

from agent.core.domain import Estimate, Evidence, Proof, Solution, Strategy, TestCase
from agent.search.confidence.features import Situation
from agent.search.confidence.model import (
    HELD_OUT,
    KILLED,
    fitted,
    natural,
    of_a_model,
)
from agent.search.variants.mutants import differences

FEW_TESTS, MANY_TESTS = 4, 50
CERTAIN = Estimate.of(1.0)
"""Of a program that a person wrote or chose."""


def of_a_draft(agreed: bool = False, unsure: str = "") -> Estimate:
    """How likely a program is right that a small model wrote from words and that passes the
    examples; more if another draft `agreed` on further calls. `unsure` says what lowers it."""
    model = fitted()
    return Estimate.of(
        model.written_twice if agreed else model.written,
        unsure or "small models miss cases that no example shows",
    )


def confidence(
    solution: Solution, base: Solution, tests: tuple[TestCase, ...], proof: Proof,
    seen: Evidence | None, strategy: Strategy, *, chosen: bool = False, agreed: bool = False,
    drafted: bool = False, suite: int = 0,
) -> Estimate:
    """The estimate for the patch that `solution` is of `base`.

    Args:
        tests: The tests that the patch was made for.
        proof: What was shown of it.
        seen: What was looked at beyond the tests; `None` where nothing was.
        chosen: A person chose its behaviour among several; that does not make an unlikely patch
            right.
        agreed: A search and a model arrived at the same program independently.
        drafted: `base` was written from words by a model that is small, or whose program a search
            changed.
        suite: How many tests the suite of a project has; 0 outside of projects.
    """
    if strategy == "person" or (chosen and natural(solution)):
        return CERTAIN
    estimate = solution.estimate
    if estimate is not None and not estimate.features:
        return estimate  # of a remembered fix
    if estimate is None:
        [change, *_] = solution.changed_from(base) or [None]
        if change is None:
            return CERTAIN
        codes = tuple(test.code for test in tests)
        estimate = of_a_model(change.after, Situation(change.before, codes))
    model = fitted()
    features = dict(estimate.features) | {
        HELD_OUT: float(proof.level >= "E2"),
        KILLED: seen.killed / seen.mutants if seen is not None and seen.mutants else 0.0,
    }
    usual = model.estimate(estimate.features).log_odds
    shift = (
        model.agreed * agreed + model.of_a_draft * drafted
    )
    if strategy == "search" and _places(solution, base) == 1:
        shift += model.of_a_project * _share_of_a_suite(suite)
    return model.estimate(features, estimate.log_odds - usual + shift)


def _share_of_a_suite(tests: int) -> float:
    """How far so many tests count as the suite of a project: the estimate was fitted on patches
    that pass one to four, the shift on suites of fifty and more; between, by the logarithm."""
    share = math.log(max(tests, FEW_TESTS) / FEW_TESTS) / math.log(MANY_TESTS / FEW_TESTS)
    return min(1.0, share)


def _places(solution: Solution, base: Solution) -> int:
    """How many separate runs of lines a patch changes, over all its files."""
    return sum(
        kind != "equal" for one in solution.changed_from(base)
        for kind, *_ in differences(one.before, one.after)
    )
