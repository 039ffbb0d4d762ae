"""A small model's drafts from words, and the predictions of a model: which patch they choose."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from agent.core.domain import Alternative, Alternatives, Estimate, File, Solution, Task
from agent.iteration.context import Context
from agent.propose import drafting
from agent.propose.drafting import FURTHER, MAX_DRAFTS, compared
from agent.propose.predictions import by_predictions, distinguishing_calls
from agent.propose.roles import GENERATOR
from llm.plan import Choice, ModelPlan
from sandbox import open_sandbox
from tests.agent.propose.test_rewriting import CASE, Surroundings, whole
from tests.agent.scripted import specs, told
from tests.llm.scripted import Answer, Scripted

FAILS, PASSES = "def f():\n    return 1\n", "def f():\n    return 2\n"


async def drafted(first: str, *others: str) -> tuple[str, Estimate | None, int]:
    """The draft that is taken, its estimate, and how many further ones were asked for."""
    model = Scripted([Answer((whole(text),)) for text in others])
    plan = ModelPlan("llamacpp", "", (Choice(GENERATOR, "llamacpp", "m", ""),))
    here = Surroundings(model, plan, Task(text="f gives two"))
    solution = Solution(files=(File(path="f.py", text=first),), entry="f.py", origin="model")
    taken, estimate = await compared(cast(Context, here), solution, (CASE,))
    return taken.text, estimate, len(model.asked)


async def test_further_drafts_are_asked_for_until_one_passes() -> None:
    text, estimate, asked = await drafted(FAILS, *(FAILS,) * (MAX_DRAFTS - 2), PASSES)

    assert (text, asked) == (PASSES, MAX_DRAFTS - 1)
    assert estimate is not None


async def test_a_first_draft_that_fails_stays_where_no_other_passes() -> None:
    assert await drafted(FAILS, *(FAILS,) * MAX_DRAFTS) == (FAILS, None, MAX_DRAFTS - 1)


async def test_a_draft_that_none_agrees_with_is_unlikely_to_be_right() -> None:
    _, estimate, asked = await drafted(PASSES, *(FAILS,) * FURTHER)

    assert asked == FURTHER
    assert estimate is not None and estimate.probability < 0.5


async def test_a_mended_draft_needs_a_second_that_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    async def around(_: object, __: object, draft: Solution, ___: object) -> tuple[Solution, int]:
        return draft.with_text(PASSES, origin="search"), 7

    monkeypatch.setattr(drafting, "search_if_allowed", around)
    monkeypatch.setattr(Surroundings, "sandbox", open_sandbox(), raising=False)
    monkeypatch.setattr(Surroundings, "test_s", 5.0, raising=False)
    alone, agreed = await drafted(FAILS, FAILS, FAILS), await drafted(FAILS, PASSES, PASSES)

    assert (alone[0], alone[2]) == (PASSES, FURTHER)
    assert alone[1] is not None and agreed[1] is not None
    assert alone[1].probability < 0.5 < agreed[1].probability
    assert agreed[2] == 1


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
    assert result.competing is not None and result.competing.call == "price(11)"
    assert result.competing.behaviours[0].gives == expected
    told_of = [one for one in result.notices if "`price(11)` gives 33" in one.text]
    assert len(told_of) == (expected == "33")


@pytest.mark.parametrize("given", [{}, {"enable_arbitration": False}])
async def test_without_words_no_model_is_asked(tmp_path: Path, given: dict[str, Any]) -> None:
    result, _, asked = await told(tmp_path, WORDS if given else "", PRICE, TESTS, given=given)
    assert (result.outcome, "n >= 10" in result.code, asked) == ("healed", True, [])


async def test_a_prediction_that_fails_leaves_the_repair_as_it_was(tmp_path: Path) -> None:
    result, _, _ = await told(tmp_path, WORDS, PRICE, TESTS, arbiter="I cannot say.")
    assert (result.outcome, "n >= 10" in result.code) == ("healed", True)
