"""The estimate that a patch is right, and its features."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from agent.core.domain import Estimate, Evidence, File, Proof, Solution, Strategy
from agent.proof.confidence import confidence
from agent.search.confidence import naturalness
from agent.search.confidence.features import Situation, features_of
from agent.search.confidence.model import FITTED, fitted, model_patch_estimate, with_estimates
from agent.search.values import Candidate

BASE = "def area(width, height):\n    check(width)\n    return width + height\n"
RIGHT = BASE.replace("+", "*")
TESTS = ("assert area(3, 4) == 12",)


def patch(text: str, **given: object) -> Candidate:
    return Candidate(text, 2.0, ("arithmetic",), **given)  # type: ignore[arg-type]


def features(text: str, **given: object) -> dict[str, float]:
    return features_of([patch(text, **given)], Situation(BASE, TESTS))[0]


def likely(patches: Sequence[Candidate], now: Situation) -> list[Estimate]:
    return [one.estimate for one in with_estimates(patches, now) if one.estimate is not None]


@pytest.mark.parametrize("text", [
    RIGHT.replace("    check(width)\n", ""),
    RIGHT + "    return 0\n",
    "try:\n    import fast\nexcept ImportError:\n    pass\n" + RIGHT,
    RIGHT.replace("width * height", "width * height or width * height"),
    RIGHT.replace("check(width)", "raise Wrong"),
], ids=["drops a call", "dead code", "swallows", "equal operands", "undefined exception"])
def test_what_a_reviewer_would_reject_lowers_the_estimate(text: str) -> None:
    [clean], bad = likely([patch(RIGHT)], Situation(BASE, TESTS)), features(text)
    assert features(RIGHT)["suspicious"] == 0 < bad["suspicious"]
    assert fitted().estimate({**clean.features, "suspicious": 1.0}).log_odds < clean.log_odds


def test_patches_that_behave_differently_compete() -> None:
    now = Situation(BASE, TESTS, ("3", "5"))
    alone = likely([patch(RIGHT, answers=("2", "6"))], now)[0]
    beside = likely(
        [patch(RIGHT, answers=("2", "6"))] + [
            patch(RIGHT.replace("height\n", f"height + {n}\n"), answers=("2", f"{6 + n}"))
            for n in range(5)
        ], now,
    )[0]
    assert beside.probability < alone.probability


def test_estimates_are_probabilities_of_features() -> None:
    now = Situation(BASE, TESTS, ("3", "5", "!ValueError", "~"))
    [found] = features_of([patch(RIGHT, answers=("3", "6", "0", "1"))], now)
    assert found["changed"] == 0.5

    assert math.isclose(Estimate.of(0.7).probability, 0.7)
    assert 0 < Estimate.of(0.0).probability < Estimate.of(1.0).probability <= 1

    measured = {*features(RIGHT)}
    assert {*fitted().weights} == {*FITTED}
    assert {*FITTED} - measured == {"held out", "killed"}


def test_a_models_patch_is_likelier_than_one_of_many_that_a_search_tried() -> None:
    now = Situation(BASE, TESTS)
    searched = likely([patch(RIGHT, tried=5_000)], now)[0]
    assert model_patch_estimate(RIGHT, now).probability > searched.probability


def test_usual_code_is_more_likely_than_unusual_code() -> None:
    usual = naturalness.added(BASE, BASE.replace("check(width)", "check(len(width))"))
    unusual = naturalness.added(BASE, BASE.replace("check(width)", "check(len(width, 'utf-8'))"))
    assert min(usual) > min(unusual)


@pytest.mark.parametrize("strategy", ["search", "model"])
def test_a_repair_of_a_models_draft_is_less_likely_right(strategy: Strategy) -> None:
    base = Solution(files=(File(path="a.py", text="x = 1\n"),), entry="a.py")
    patch = base.with_text("x = 2\n")

    def odds(from_draft: bool) -> float:
        proof = Proof(level="E1", why="")
        return confidence(patch, base, (), proof, None, strategy, from_draft=from_draft).log_odds

    assert odds(True) - odds(False) == pytest.approx(fitted().draft_shift)


ONE_PLACE, TWO_PLACES = "x = 2\ny = 1\nz = 1\n", "x = 2\ny = 1\nz = 2\n"


@pytest.mark.parametrize(("strategy", "text", "suite", "more"), [
    ("search", ONE_PLACE, 50, 1.0), ("search", ONE_PLACE, 900, 1.0), ("search", ONE_PLACE, 14, 0.5),
    ("search", ONE_PLACE, 4, 0.0), ("search", ONE_PLACE, 2, 0.0), ("model", ONE_PLACE, 50, 0.0),
    ("search", TWO_PLACES, 50, 0.0),
])
def test_a_searchs_patch_of_one_place_is_likelier_where_a_large_suite_passes(
    strategy: Strategy, text: str, suite: int, more: float
) -> None:
    base = Solution(files=(File(path="a.py", text="x = 1\ny = 1\nz = 1\n"),), entry="a.py")
    patch = base.with_text(text, estimate=fitted().estimate({"patches": 0.0}))

    def odds(suite: int) -> float:
        proof = Proof(level="E1", why="")
        return confidence(patch, base, (), proof, None, strategy, suite=suite).log_odds

    gained = (odds(suite) - odds(0)) / fitted().project_shift
    assert gained == pytest.approx(more, abs=0.01)


def test_a_variant_that_behaves_differently_and_passes_makes_a_patch_less_likely() -> None:
    base = Solution(files=(File(path="a.py", text="x = 1\n"),), entry="a.py")

    def odds(known: int, rivals: int) -> float:
        features = {"patches": math.log(known)}
        patch = base.with_text("x = 2\n", estimate=fitted().estimate(features))
        proof, seen = Proof(level="E1", why=""), Evidence(competing_patches=rivals)
        return confidence(patch, base, (), proof, seen, "search").log_odds

    assert odds(1, 0) - odds(1, 1) > 1.0
    assert odds(3, 1) == odds(3, 0), "the search knew of them when it estimated"


@pytest.mark.parametrize(("operators", "gained"), [
    (("repeated", "arithmetic"), fitted().repeated),
    (("translated exception",), fitted().translated),
])
def test_some_edits_are_likelier_than_their_features_say_or_less(
    operators: tuple[str, ...], gained: float
) -> None:
    now = Situation(BASE, TESTS)
    [usual] = with_estimates([Candidate(RIGHT, 2.0, ("arithmetic",), tried=200)], now)
    [other] = with_estimates([Candidate(RIGHT, 2.0, operators, tried=200)], now)

    assert usual.estimate is not None and other.estimate is not None
    assert other.estimate.log_odds - usual.estimate.log_odds == pytest.approx(gained)
