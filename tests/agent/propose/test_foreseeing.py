"""Which of several repairs that fit is kept, where a model predicts from the words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.core.domain import Alternative, Alternatives, File, Solution
from agent.propose.predictions import by_predictions, distinguishing_calls
from tests.agent.scripted import specs, told

PRICE = "def price(n):\n    if n > 10:\n        return n * 2\n    return n * 3\n"
TESTS = "assert price(10) == 20\nassert price(9) == 27\nassert price(1) == 3"
WORDS = "price(n) is thrice n, and twice n where n is ten alone."


def alternatives(*answers: tuple[str, ...]) -> Alternatives:
    return Alternatives(calls=("f(1)", "f(2)", "f(3)"), behaviours=tuple(
        Alternative(
            solution=Solution(files=(File(path="a.py", text=str(place)),), entry="a.py"),
            answers=one, confirmed=True,
        )
        for place, one in enumerate(answers)
    ))


def texts(found: Alternatives) -> list[str]:
    return [one.solution.text for one in found.behaviours]


def test_calls_that_tell_most_behaviours_apart_come_first() -> None:
    others = alternatives(("0", "1", "7"), ("0", "2", "8"), ("0", "3", "8"))
    assert distinguishing_calls(others) == ("f(2)", "f(3)")


def test_a_call_that_nobody_could_answer_in_words_is_not_asked() -> None:
    others = alternatives(("<object at 0x1>", "1", ""), ("<object at 0x2>", "2", "3"))
    assert distinguishing_calls(others) == ("f(2)",)


@pytest.mark.parametrize(("predicted", "order"), [
    ({"f(2)": "2"}, ["1", "0", "2"]),
    ({"f(2)": "2", "f(3)": "9"}, ["1", "0", "2"]),
    ({"f(3)": "raises KeyError"}, ["2", "0", "1"]),
    ({"f(1)": "0"}, ["0", "1", "2"]),
    ({"f(2)": "5"}, ["0", "1", "2"]),
    ({}, ["0", "1", "2"]),
])
def test_the_most_predicted_one_leads(predicted: dict[str, str], order: list[str]) -> None:
    others = alternatives(("0", "1", "7"), ("0", "2", "8"), ("0", "3", "!KeyError"))
    assert texts(by_predictions(others, predicted)) == order


@pytest.mark.parametrize(("expected", "kept"), [("33", "n == 10"), ("22", "n >= 10")])
async def test_a_prediction_only_orders_repairs(tmp_path: Path, expected: str, kept: str) -> None:
    result, _, asked = await told(
        tmp_path, WORDS, PRICE, TESTS, {"proof_s": 60.0}, arbiter=specs(("price(11)", expected)),
    )
    assert (result.outcome, kept in result.code, asked) == ("healed", True, ["arbiter"])
    assert result.rivals is not None and result.rivals.call == "price(11)"
    assert result.rivals.behaviours[0].gives == expected
    told_of = [one for one in result.notices if "`price(11)` gives 33" in one.text]
    assert len(told_of) == (expected == "33")


@pytest.mark.parametrize("given", [{}, {"enable_arbitration": False}])
async def test_without_words_no_model_is_asked(tmp_path: Path, given: dict[str, Any]) -> None:
    result, _, asked = await told(tmp_path, WORDS if given else "", PRICE, TESTS, given=given)
    assert (result.outcome, "n >= 10" in result.code, asked) == ("healed", True, [])


async def test_a_prediction_that_fails_leaves_the_repair_as_it_was(tmp_path: Path) -> None:
    result, _, _ = await told(tmp_path, WORDS, PRICE, TESTS, arbiter="I cannot say.")
    assert (result.outcome, "n >= 10" in result.code) == ("healed", True)
