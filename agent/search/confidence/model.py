"""A calibrated estimate that a patch is right: logistic regression over its features.

`coefficients.toml` holds the weights, what each feature usually is, and how they were fitted;
`python -m evaluation.calibration` fits them again and prints how far they hold on suites that were
not used for fitting.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from agent.core.domain import Estimate, Solution
from agent.search.confidence.features import Features, Situation, features_of
from agent.search.values import Candidate

HELD_OUT = "held out"
"""1 where a test that failed before, and that the repair did not see, passes."""
KILLED = "killed"
"""The share of mutants of the repaired lines that the tests notice; 0 where there are none."""
REASONS: dict[str, str] = {
    "patches": "other edits pass the tests as well",
    "tried before": "many edits were tried before one passed",
    "reported mistake": "it does not follow from what Python reports",
    "known mistake": "it repairs no common mistake",
    "changed": "it changes little beyond what the tests check",
    "usual on average": "the new code is unusual",
    "added": "it adds hardly any code",
    "suspicious": "it contains code that a reviewer would reject",
    "lines": "the program is short",
    "functions": "the tests see little of so many functions",
    HELD_OUT: "no test that the repair did not see failed before and passes now",
    KILLED: "the tests do not detect mutants of the repaired lines",
}
"""What to say where a feature lowers the estimate most."""
FITTED = tuple(REASONS)
"""The features that have a weight."""
OF_THE_TEXT = frozenset({"added", "suspicious", "usual on average"})
"""Features that the two texts determine alone."""
UNKNOWN = "little is known of it"


@dataclass(frozen=True)
class Weight:
    """Of one feature: what a unit adds to the log-odds, and the mean over the fitted patches."""

    weight: float
    mean: float


@dataclass(frozen=True)
class Coefficients:
    """A fitted model."""

    intercept: float
    weights: Mapping[str, Weight]
    agreed: float
    """Added where a search and a model arrive at the same program."""
    of_a_model: float
    """The log-odds of an average patch by a model."""
    of_a_draft: float
    """Added where a program is repaired that a model wrote, and that never was nearly right."""
    of_a_project: float
    """Added for a search's patch that changes one place and passes a large suite of a project.
    With several places, one may compensate for what another breaks."""
    written: float
    """The probability that a program which a model wrote from words is right, if it passes the
    examples."""
    written_twice: float
    """The same where another draft of the model answers further calls in the same way."""

    def estimate(self, features: Features, further: float = 0.0) -> Estimate:
        """The estimate from some features, and from what else shifts its log-odds."""
        known = {name: features.get(name, 0.0) for name in self.weights}
        lowers = {
            name: one.weight * (known[name] - one.mean) for name, one in self.weights.items()
        }
        lowest = min(lowers, key=lambda name: lowers[name], default="")
        return Estimate(
            log_odds=further + self.intercept + sum(
                one.weight * known[name] for name, one in self.weights.items()
            ),
            reason=REASONS.get(lowest, UNKNOWN),
            features={name: round(value, 4) for name, value in features.items()},
        )


@cache
def fitted() -> Coefficients:
    """The coefficients that are installed."""
    table = tomllib.loads(files(__package__).joinpath("coefficients.toml").read_text("utf-8"))
    return Coefficients(
        table["intercept"],
        {name: Weight(*pair) for name, pair in table["features"].items()},
        **table["sources"],
    )


def natural(solution: Solution) -> bool:
    """Whether a patch would be likely right if no other competed with it, so that a person may be
    asked about it. One without an estimate of the search is."""
    estimate = solution.estimate
    if estimate is None or not estimate.features:
        return True
    model = fitted()
    alone = model.estimate({**estimate.features, "patches": 0.0}).log_odds
    return alone - model.estimate(estimate.features).log_odds + estimate.log_odds >= 0


def estimated(patches: Sequence[Candidate], now: Situation) -> tuple[Candidate, ...]:
    """The same patches, all of which pass the tests, with how likely each is right; one that has
    an estimate keeps it."""
    return tuple(
        replace(one, estimate=one.estimate or fitted().estimate(features))
        for one, features in zip(patches, features_of(patches, now), strict=True)
    )


def of_a_model(text: str, now: Situation) -> Estimate:
    """How likely a model's patch is right: few are tried, so that passing says more. The features
    of a search's competition do not apply and take their means."""
    [features] = features_of([Candidate(text, 0.0, ("model",))], now)
    model = fitted()
    means = {name: one.mean for name, one in model.weights.items()}
    known = means | {name: features[name] for name in means if name in OF_THE_TEXT}
    return model.estimate(known, model.of_a_model - model.estimate(means).log_odds)
