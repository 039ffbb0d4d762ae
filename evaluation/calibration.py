"""Fits the confidence of patches, and measures its calibration.

    python -m evaluation.calibration CLAIMS [CLAIMS …]         prints the calibration
    python -m evaluation.calibration CLAIMS … --fit            fits and prints `coefficients.toml`

CLAIMS are files `claims.jsonl` of `evaluation.claims` with patches whose correctness is known. The
first form prints a reliability table, the Brier score with that of the base rate, and the expected
calibration error (ten bins of equal width); it is meaningful only for suites that were not fitted.
The second fits a logistic regression with a quadratic penalty (Newton's method), prints its
cross-validation by suite and author, and writes the coefficients to standard output.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.search.confidence.model import FITTED
from evaluation.claims import Claim
from evaluation.lines import JsonLinesFile

BINS = 10
PENALTY = 15.0
"""The penalty on the squared weights of standardised features."""
STEPS = 30
CASE_WEIGHT = 2.0
"""The weight of a patch of a realistic case; a patch of a single function counts 1."""


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evaluation.calibration", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("claims", type=Path, nargs="+", metavar="CLAIMS")
    parser.add_argument("--fit", action="store_true")
    args = parser.parse_args()
    known = [
        one for path in args.claims for one in JsonLinesFile[Claim](path).by_id.values()
        if one["right"] is not None and one["confidence"] is not None
    ]
    if not known:
        parser.error("these files contain no patch whose correctness is known")
    if not args.fit:
        print("\n".join(reliability([
            (one["confidence"] or 0.0, bool(one["right"])) for one in known
        ])))
        return 0
    print("\n".join(reliability(_cross_validated(known))), file=sys.stderr)
    print("\n".join(_coefficients(known)))
    return 0


def reliability(known: Sequence[tuple[float, bool]]) -> Iterator[str]:
    """Yields the table and the scores for pairs of a confidence and a patch's correctness."""
    error = 0.0
    yield "confidence     patches   mean   right"
    for place in range(BINS):
        some = [
            (predicted, right) for predicted, right in known
            if min(BINS - 1, int(predicted * BINS)) == place
        ]
        if some:
            mean = sum(predicted for predicted, _ in some) / len(some)
            share = sum(right for _, right in some) / len(some)
            error += len(some) * abs(mean - share) / len(known)
            bounds = f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}"
            yield f"{bounds} {len(some):>11}   {mean:.2f}   {share:.2f}"
    base = sum(right for _, right in known) / len(known)
    brier = sum((predicted - right) ** 2 for predicted, right in known) / len(known)
    yield f"{len(known)} patches, {base:.0%} right"
    yield f"Brier score {brier:.3f}; always the base rate {base * (1 - base):.3f}"
    yield f"expected calibration error {error:.3f}"


def _cross_validated(known: Sequence[Claim]) -> list[tuple[float, bool]]:
    """The confidence of each patch by a model fitted without its suite and author."""
    found = []
    groups = sorted({_group(one) for one in known})
    for group in groups:
        fit = _fit([one for one in known if _group(one) != group])
        for one in known:
            if _group(one) == group:
                odds = fit[0] + sum(
                    weight * one["features"].get(name, 0.0) for name, weight in fit[1].items()
                )
                found.append((1 / (1 + math.exp(-odds)), bool(one["right"])))
    return found


def _group(one: Claim) -> str:
    return f"{one['suite']} {one['author']}"


def _fit(known: Sequence[Claim]) -> tuple[float, dict[str, float]]:
    """The intercept and the weights of raw features."""
    import numpy as np

    values = np.array([[one["features"].get(name, 0.0) for name in FITTED] for one in known])
    right = np.array([float(bool(one["right"])) for one in known])
    counts = np.array([CASE_WEIGHT if one["suite"].startswith("people") else 1.0 for one in known])
    mean, spread = values.mean(0), values.std(0)
    spread[spread == 0] = 1.0
    scaled = np.hstack([np.ones((len(known), 1)), (values - mean) / spread])
    penalty = np.diag([0.0, *[PENALTY] * len(FITTED)])
    weights = np.zeros(scaled.shape[1])
    for _ in range(STEPS):
        predicted = 1 / (1 + np.exp(-scaled @ weights))
        gradient = scaled.T @ (counts * (predicted - right)) + penalty @ weights
        hessian = (scaled * (counts * predicted * (1 - predicted))[:, None]).T @ scaled + penalty
        weights = weights - np.linalg.solve(hessian, gradient)
    raw = weights[1:] / spread
    return float(weights[0] - raw @ mean), {
        name: float(weight) for name, weight in zip(FITTED, raw, strict=True)
    }


def _coefficients(known: Sequence[Claim]) -> Iterator[str]:
    intercept, weights = _fit(known)
    suites = sorted({_group(one).strip() for one in known})
    yield f"# Fitted by `python -m evaluation.calibration … --fit` on {len(known)} patches of:"
    yield f"# {', '.join(suites)}."
    yield "# For each feature: the weight of a unit in the log-odds, and the feature's mean."
    yield f"intercept = {intercept:.4f}"
    yield "\n[features]"
    for name, weight in weights.items():
        mean = sum(one["features"].get(name, 0.0) for one in known) / len(known)
        yield f'"{name}" = [{weight:.4f}, {mean:.4f}]'


if __name__ == "__main__":
    raise SystemExit(main())
