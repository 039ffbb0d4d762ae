"""A calibrated estimate that a patch is right: logistic regression over its features.

`coefficients.toml` holds the weights, what each feature usually is, and how they were fitted;
`python -m evaluation.calibration` fits them again and prints how far they hold on suites that were
not used for fitting.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from agent.core.domain import Estimate, Solution
from agent.repair.confidence.features import MOST_LEAD, Features, Situation, features_of
from agent.repair.facts import Candidate

HELD_OUT = "held out"
"""1 where a test that failed before, and that the repair did not see, passes."""
OTHERS_FIT = "others fit"
"""1 where a competing patch passes all tests and behaves differently."""
REFUTED = "refuted"
"""`log1p` of how many variations of the patch were tried, none of which fits the tests."""
KILLED = "killed"
"""The share of mutants of the repaired lines that the tests notice; 0 where there are none."""
REASONS: dict[str, str] = {
    "patches": "many other edits pass the tests as well",
    "lead": "another behaviour that passes takes an edit as usual as this one",
    "dearer": "another edit for the same behaviour is more usual",
    "tried before": "many edits were tried before one passed",
    "other type": "a result has another type than the test expects",
    "reported mistake": "it does not follow from what Python reports",
    "known mistake": "it repairs no common mistake",
    "no test": "only the crash is known, and no test says what is right",
    "changed": "it changes results that the tests do not check",
    "always the same": "it gives the same result for all inputs tried",
    "usual on average": "the new code is unusual",
    "added": "it adds much code",
    "suspicious": "it contains code that a reviewer would reject",
    "lines": "the tests see little of so much code",
    "functions": "the tests see little of so many functions",
    "classes": "the state of objects is hard to constrain by few tests",
    HELD_OUT: "no test that the repair did not see failed before and passes now",
    OTHERS_FIT: "another patch that behaves differently passes the tests as well",
    REFUTED: "few variations of the patch could be tried",
    KILLED: "the tests do not notice slips in the repaired lines",
}
"""What to say where a feature lowers the estimate most."""
FITTED = tuple(REASONS)
"""The features that have a weight."""
OF_THE_TEXT = frozenset({"added", "suspicious", "usual on average"})
"""Features that the two texts determine alone."""
NO_COMPETITION = {"patches": 0.0, "dearer": 0.0, "lead": MOST_LEAD}
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
    told = tomllib.loads(files(__package__).joinpath("coefficients.toml").read_text("utf-8"))
    return Coefficients(
        told["intercept"],
        {name: Weight(*pair) for name, pair in told["features"].items()},
        **told["sources"],
    )


def natural(solution: Solution) -> bool:
    """Whether a patch would be likely right if no other competed with it, so that a person may be
    asked about it. One without an estimate of the search is."""
    estimate = solution.estimate
    if estimate is None or not estimate.features:
        return True
    model = fitted()
    alone = model.estimate({**estimate.features, **NO_COMPETITION}).log_odds
    return alone - model.estimate(estimate.features).log_odds + estimate.log_odds >= 0


def estimates(patches: Sequence[Candidate], now: Situation) -> list[Estimate]:
    """How likely each of some patches is right, all of which pass the tests."""
    return [fitted().estimate(features) for features in features_of(patches, now)]


def of_a_model(text: str, now: Situation) -> Estimate:
    """How likely a model's patch is right: few are tried, so that passing says more. The features
    of a search's competition do not apply and take their means."""
    [features] = features_of([Candidate(text, 0.0, ("model",))], now)
    model = fitted()
    means = {name: one.mean for name, one in model.weights.items()}
    known = means | {name: features[name] for name in means if name in OF_THE_TEXT}
    return model.estimate(known, model.of_a_model - model.estimate(means).log_odds)
