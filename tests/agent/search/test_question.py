"""The question between competing patches, and the test made of its answer."""

from __future__ import annotations

import pytest

from agent.core.domain import Alternative, Alternatives, CompetingPatches, Estimate, Example, Raises
from agent.search.ranking.question import (
    BadAnswer,
    answer_warning,
    answered_test,
    behaviours_passing,
    choices,
    describe_behaviours,
    matches_a_patch,
    question,
)
from tests.agent.values import program as solution

CALLS = ("f(3, [])", "f(0)", "f(12345)")


def alternative(text: str, *answers: str, confirmed: bool = True) -> Alternative:
    return Alternative(solution=solution(text), note=text, answers=answers, confirmed=confirmed)


A = alternative("a", "0", "1", "1")
B = alternative("b", "None", "1", "2")
C = alternative("c", "None", "1", "!KeyError")
BASE = solution("base")


def asked(*behaviours: Alternative) -> Alternatives:
    return Alternatives(calls=CALLS, behaviours=behaviours)


def competing(*behaviours: Alternative) -> CompetingPatches:
    found = question(asked(*behaviours), BASE)
    assert found is not None
    return found


def test_the_question_tells_most_behaviours_apart() -> None:
    patches = competing(A, B)
    assert describe_behaviours(patches) == "for `f(3, [])` A gives 0, B gives None"
    assert [one.solution for one in patches.behaviours] == [A.solution, B.solution]

    alike = alternative("d", "None", "1", "<Node>")
    patches = competing(A, B, alike)
    assert choices(patches) == ((("A",), ("0", "")), (("B", "C"), ("None", "")))
    assert describe_behaviours(patches) == (
        "for `f(3, [])` A gives 0, B and C give None; this call does not tell B and C apart"
    )

    more = [alternative(f"x{n}", str(n), "1", str(n)) for n in range(4, 8)]
    patches = competing(A, alternative("no", "9", "9", "9", confirmed=False), *more)
    assert [one.gives for one in patches.behaviours] == ["0", "4", "5"]


@pytest.mark.parametrize("said", ["True", "None"])
def test_what_equals_another_value_is_told_by_is(said: str) -> None:
    one = alternative("one", "1", "1", "1")
    other = alternative("other", said, said, "2")
    patches = competing(one, other)
    test = answered_test(patches, said)
    assert test is not None and test.code == f"assert {patches.call} is {said}"
    assert behaviours_passing(asked(one, other), test).behaviours == (other,)


@pytest.mark.parametrize("behaviours", [
    (), (A,), (A, alternative("same", "0", "1", "1")), (A, alternative("lost")),
    (A, alternative("odd", "<Node>", "<Node>", "<Node>")), (alternative("lost"), A),
])
def test_what_nobody_can_tell_apart_is_no_question(behaviours: tuple[Alternative, ...]) -> None:
    assert question(asked(*behaviours), BASE) is None


def test_an_answer_becomes_a_test() -> None:
    patches = competing(A, B, C)
    assert patches.call == "f(12345)"
    assert [(one.gives, one.raises) for one in patches.behaviours[1:]] == [
        ("2", ""), ("", "KeyError")
    ]
    assert answered_test(patches, " b ") == Example(
        name="f(12345) == 2", origin="user", call="f(12345)", expected="2"
    )
    assert answered_test(patches, "C") == Raises(
        name="f(12345) raises KeyError", origin="user", call="f(12345)", exception="KeyError"
    )
    assert answered_test(patches, "[7]") == Example(
        name="f(12345) == [7]", origin="user", call="f(12345)", expected="[7]"
    )
    assert answered_test(patches, "1, 2  # both") == Example(
        name="f(12345) == (1, 2)", origin="user", call="f(12345)", expected="(1, 2)"
    )
    assert isinstance(answered_test(patches, "raises ValueError"), Raises)
    assert answered_test(patches, "skip") is None


@pytest.mark.parametrize(("answer", "expected"), [
    ("30.0 kB", "'30.0 kB'"), ("12", "'12'"), ("'12'", "'12'"), ("None", "None"),
])
def test_text_needs_no_quotes_where_every_behaviour_gives_text(answer: str, expected: str) -> None:
    one, other = (alternative(str(n), *[f"'{n}.0 B'"] * 3) for n in (1, 2))
    test = answered_test(competing(one, other), answer)
    assert test is not None
    assert test.code.partition(" == ")[2] == expected or test.code.endswith(f" is {expected}")


@pytest.mark.parametrize(("texts", "answer", "fact"), [
    (("'C'", "'D'"), "B", "counts as the label of a patch, which gives 'D'"),
    (("'C'", "'D'"), "'B'", "None of the patches gives 'B'"),
    (("'C'", "'D'"), "maybe", "None of the patches gives 'maybe'"),
    (("'B'", "'A'"), "b", "counts as the label"), (("'C'", "'B'"), "B", ""),
    (("'C'", "'D'"), "D", ""), (("'C'", "'D'"), "skip", ""),
    (("1", "2"), "B", ""), (("1", "2"), "2", ""), (("1", "2"), "3", "None of the patches gives 3"),
])
def test_an_answer_that_may_not_be_meant_is_questioned(
    texts: tuple[str, str], answer: str, fact: str
) -> None:
    one, other = (alternative(text, *[text] * 3) for text in texts)
    found = answer_warning(competing(one, other), answer)
    assert (fact in found) if fact else not found, found


@pytest.mark.parametrize("unlikely", [0, 1])
def test_nobody_is_asked_about_a_patch_that_is_unlikely_by_itself(unlikely: int) -> None:
    patches = [A, B, C]
    estimate = Estimate(log_odds=-4.0, features={"tried before": 9.0, "suspicious": 3.0})
    patches[unlikely] = A.model_copy(update={
        "solution": solution("odd").model_copy(update={"estimate": estimate}),
        "answers": patches[unlikely].answers,
    })
    found = question(asked(*patches), BASE)
    assert (found is None) == (unlikely == 0)
    assert found is None or [one.solution for one in found.behaviours] == [A.solution, C.solution]


@pytest.mark.parametrize("answer", [
    "Z", "", "none", "print(1)", "raises print", "raises Nothing", f"[{'-1,' * 1_000}]",
])
def test_what_answers_nothing_is_refused(answer: str) -> None:
    with pytest.raises(BadAnswer):
        answered_test(competing(A, B), answer)


def test_behaviours_that_contradict_the_answer_are_removed() -> None:
    given = Example(name="t", origin="user", call="f(3, [])", expected="None")
    assert behaviours_passing(asked(A, B, C, alternative("lost")), given).behaviours == (B, C)
    raising = Raises(name="t", origin="user", call="f(12345)", exception="KeyError")
    assert behaviours_passing(asked(A, B, C), raising).behaviours == (C,)
    spelt = Example(name="t", origin="user", call="f(0)", expected="0x1")
    assert behaviours_passing(asked(A, B), spelt).behaviours == (A, B)
    nothing = Example(name="t", origin="user", call="f(12345)", expected="'KeyError'")
    assert behaviours_passing(asked(A, B, C), nothing).behaviours == ()


def test_without_calls_repairs_are_described_by_their_edits() -> None:
    unjudged = alternative("d", confirmed=False)
    patches = question(Alternatives(calls=(), behaviours=(alternative("a"), unjudged)), BASE)
    assert patches is not None
    assert (patches.call, describe_behaviours(patches)) == ("", "A: a; B: d")
    assert "+d" in patches.behaviours[1].diff
    assert question(Alternatives(calls=(), behaviours=(alternative("a"),)), BASE) is None


@pytest.mark.parametrize(("answer", "given"), [
    ("0", True), ("B", True), ("None", True), ("raises KeyError", True), ("2.5", False),
    ("raises ValueError", False), ("0.0", True), ("True", False),
])
def test_a_value_of_no_shown_patch_is_recognised(answer: str, given: bool) -> None:
    patches = competing(A, B, alternative("c", "!KeyError", "1", "2"))
    test = answered_test(patches, answer)
    assert test is not None and matches_a_patch(patches, test) is given
