"""A calibrated estimate that a patch is right: logistic regression over its features.

`coefficients.toml` holds the weights, the means of the features, and how they were fitted;
`python -m evaluation.calibration` fits them again and measures them on suites that were not used
for fitting.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from agent.core.domain import Estimate, Solution
from agent.search.confidence.features import Features, Situation, features_of
from agent.search.values import REPEATED, TRANSLATED, Candidate

HELD_OUT = "held out"
"""1 if a held-out test passes that failed before, otherwise 0."""
KILLED = "killed"
"""The share of mutants of the repaired lines that the tests notice; 0 without mutants."""
FITTED = (
    "patches", "tried before", "reported mistake", "known mistake", "changed", "usual on average",
    "added", "suspicious", "lines", "functions", HELD_OUT, KILLED,
)
"""The features that have a weight."""
REASONS: dict[str, str] = {
    "patches": "other edits pass the tests as well",
    "tried before": "many edits were tried before one passed",
    "suspicious": "it contains code that a reviewer would reject",
    HELD_OUT: "no test that was held out confirms it",
    KILLED: "the tests would not detect other mistakes in the repaired lines",
}
"""The message for the feature that lowers the estimate most, of those that a user can check."""
OF_THE_TEXT = frozenset({"added", "suspicious", "usual on average"})
"""Features that the two texts determine."""
UNKNOWN = "patches like it were wrong too often"


@dataclass(frozen=True)
class Weight:
    """The coefficient of one feature."""

    weight: float
    """Added to the log-odds per unit."""
    mean: float
    """The mean of the feature over the fitted patches."""


@dataclass(frozen=True)
class Coefficients:
    """A fitted model."""

    intercept: float
    weights: Mapping[str, Weight]
    translated: float
    """Added for an exception that is caught and raised as the one that a test expects."""
    repeated: float
    """Added for one edit at several places, which many single edits were tried before."""
    competing: float
    """Added if a variant of the patch that behaves differently passes all tests, too."""
    agreed: float
    """Added if a search and a model find the same program."""
    model_log_odds: float
    """The log-odds of an average patch by a model."""
    draft_shift: float
    """Added for a repair of a program that a model wrote and that may be far from right."""
    project_shift: float
    """Added for a search's patch of one place that passes a project's large suite. Of several
    places, one may compensate for what another breaks."""
    draft_probability: float
    """The probability that a program written by a model is right if it passes the examples."""
    agreed_draft_probability: float
    """The same if another draft of the model answers further calls equally."""

    def estimate(self, features: Features, further: float = 0.0) -> Estimate:
        """The estimate from some features; `further` is added to its log-odds."""
        known = {name: features.get(name, 0.0) for name in self.weights}
        lowers = {
            name: by for name, one in self.weights.items()
            if name in features and (by := one.weight * (known[name] - one.mean)) < 0
        }
        lowest = min(lowers.keys() & REASONS, key=lambda name: lowers[name], default="")
        return Estimate(
            log_odds=further + self.intercept + sum(
                one.weight * known[name] for name, one in self.weights.items()
            ),
            reason=REASONS.get(lowest, UNKNOWN),
            features={name: round(value, 4) for name, value in features.items()},
        )


@cache
def fitted() -> Coefficients:
    """The installed coefficients."""
    table = tomllib.loads(files(__package__).joinpath("coefficients.toml").read_text("utf-8"))
    return Coefficients(
        table["intercept"], {name: Weight(*pair) for name, pair in table["features"].items()},
        **table["sources"],
    )


def likely_if_alone(solution: Solution) -> bool:
    """Whether a patch would probably be right if no other competed; also if it has no features."""
    estimate = solution.estimate
    if estimate is None or not estimate.features:
        return True
    model = fitted()
    alone = model.estimate({**estimate.features, "patches": 0.0}).log_odds
    return alone - model.estimate(estimate.features).log_odds + estimate.log_odds >= 0


def with_estimates(patches: Sequence[Candidate], now: Situation) -> tuple[Candidate, ...]:
    """The patches, all of which pass the tests, with their estimates; existing estimates stay."""
    return tuple(
        replace(one, estimate=one.estimate or fitted().estimate(
            features, fitted().repeated * (REPEATED in one.operators)
            + fitted().translated * (TRANSLATED in one.operators),
        ))
        for one, features in zip(patches, features_of(patches, now), strict=True)
    )


def model_patch_estimate(text: str, now: Situation) -> Estimate:
    """The estimate for a model's patch.

    Since few are tried, passing the tests is stronger evidence than for a search; features that
    describe a search take their means.
    """
    [features] = features_of([Candidate(text, 0.0, ("model",))], now)
    model = fitted()
    means = {name: one.mean for name, one in model.weights.items()}
    known = means | {name: features[name] for name in means if name in OF_THE_TEXT}
    return model.estimate(known, model.model_log_odds - model.estimate(means).log_odds)
