"""Estimates how likely the patch of a run is right.

A search estimates its patches (`agent/search/confidence`), and a remembered fix has the confidence
with which it was saved. Later evidence (a held-out test, killed mutants, agreement of two sources)
shifts the log-odds.
"""

from __future__ import annotations

import math

from agent.core.domain import Estimate, Evidence, Proof, Solution, Strategy, TestCase
from agent.search.confidence.features import Situation
from agent.search.confidence.model import (
    HELD_OUT,
    KILLED,
    fitted,
    likely_if_alone,
    model_patch_estimate,
)
from agent.search.variants.mutants import differences

FEW_TESTS, MANY_TESTS = 4, 50
CERTAIN = Estimate.of(0.99)
"""For a program that a person wrote or chose; people are wrong too."""


def draft_estimate(agreed: bool = False, unsure: str = "") -> Estimate:
    """The estimate for a program that a small model wrote from a description and that passes the
    examples.

    Args:
        agreed: Another draft gives the same results on further calls.
        unsure: The reason for a low estimate.
    """
    model = fitted()
    return Estimate.of(
        model.agreed_draft_probability if agreed else model.draft_probability,
        unsure or "small models miss cases that no example shows",
    )


def confidence(
    solution: Solution, base: Solution, tests: tuple[TestCase, ...], proof: Proof,
    seen: Evidence | None, strategy: Strategy, *, chosen: bool = False, agreed: bool = False,
    from_draft: bool = False, suite: int = 0,
) -> Estimate:
    """The confidence that the patch from `base` to `solution` is right.

    Args:
        tests: The tests that the patch was made for.
        proof: The proof of the patch.
        seen: The evidence in addition to the tests, if any.
        chosen: A person chose its behaviour among several. An unnatural patch stays unlikely.
        agreed: A search and a model found the same program independently.
        from_draft: `base` is the draft of a small model, or a draft that a search changed.
        suite: The number of tests in a project's suite; 0 outside of projects, and if only a part
            of it ran.

    Returns:
        The patch's own estimate shifted by the later evidence; `CERTAIN` if a person wrote or chose
        it, or if nothing was changed.
    """
    if strategy == "person" or (chosen and likely_if_alone(solution)):
        return CERTAIN
    estimate = solution.estimate
    if estimate is not None and not estimate.features:
        return estimate  # of a remembered fix
    if estimate is None:
        [change, *_] = solution.changed_from(base) or [None]
        if change is None:
            return CERTAIN
        codes = tuple(test.code for test in tests)
        estimate = model_patch_estimate(change.after, Situation(change.before, codes))
    model = fitted()
    features = dict(estimate.features) | {
        HELD_OUT: float(proof.level >= "E2"),
        KILLED: seen.killed / seen.mutants if seen is not None and seen.mutants else 0.0,
    }
    rivals = seen.competing_patches if seen is not None else 0
    features["patches"] = max(features.get("patches", 0.0), math.log1p(rivals))
    usual = model.estimate(estimate.features).log_odds
    shift = model.agreed * agreed + model.draft_shift * from_draft
    if rivals and not estimate.features.get("patches"):  # unknown when the search estimated it
        shift += model.competing
    if strategy == "search" and _changed_block_count(solution, base) == 1:
        shift += model.project_shift * _suite_shift_weight(suite)
    return model.estimate(features, estimate.log_odds - usual + shift)


def _suite_shift_weight(tests: int) -> float:
    """The weight of the shift for project suites: 0 up to four tests, on which the estimate was
    fitted, 1 from fifty, on which the shift was fitted, and logarithmic between."""
    share = math.log(max(tests, FEW_TESTS) / FEW_TESTS) / math.log(MANY_TESTS / FEW_TESTS)
    return min(1.0, share)


def _changed_block_count(solution: Solution, base: Solution) -> int:
    """The number of separate blocks of lines that a patch changes."""
    return sum(
        kind != "equal" for one in solution.changed_from(base)
        for kind, *_ in differences(one.before, one.after)
    )
