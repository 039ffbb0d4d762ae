"""Rivals: who answers alike is one behaviour, and one short call tells behaviours apart."""

from __future__ import annotations

from agent.repair.facts import Candidate
from agent.repair.rank import behaved
from agent.repair.rivals import clusters, is_readable, telling_call


def candidate(text: str, cost: float, *answers: str) -> Candidate:
    return Candidate(text, cost, "number", answers=answers)


FIRST = candidate("a", 1.0, "0", "[]")
TWIN = candidate("b", 1.5, "0", "[]")
OTHER = candidate("c", 2.0, "1", "[]")
CALLS = ("f(3, [])", "f(0, [])")


def test_candidates_that_answer_alike_are_one_behaviour_led_by_the_chosen_one() -> None:
    found = clusters([OTHER, FIRST, TWIN], chosen="b")
    assert [[one.text for one in cluster.candidates] for cluster in found] == [["b", "a"], ["c"]]


def test_a_text_that_was_not_put_to_the_calls_behaves_as_nobody_knows() -> None:
    found = clusters([candidate("x", 1.0), candidate("y", 1.1), OTHER], chosen="x")
    assert [cluster.best.text for cluster in found] == ["x", "y", "c"]
    assert telling_call(CALLS, [(), OTHER.answers]) is None


def test_the_shortest_call_that_differs_tells_them_apart() -> None:
    assert telling_call(CALLS, [FIRST.answers, OTHER.answers]) == 0
    assert telling_call(CALLS, [("0", "None"), ("1", "[]")]) in (0, 1)
    assert telling_call(CALLS, [FIRST.answers, TWIN.answers]) is None


def test_the_call_that_tells_most_behaviours_apart_comes_before_a_shorter_one() -> None:
    three = [("1", "1"), ("1", "2"), ("2", "3")]
    assert telling_call(("f(1)", "f(1, 2)"), three) == 1


def test_a_difference_that_nobody_could_write_down_tells_nothing() -> None:
    assert not is_readable("<Node>") and not is_readable("~") and not is_readable("")
    assert not is_readable("1" * 201)
    assert is_readable("[1, 'a']") and is_readable("!ValueError")
    assert telling_call(("f(1)",), [("<A>",), ("<B>",)]) is None


def test_candidates_that_answer_alike_speak_for_each_other() -> None:
    alone = candidate("alone", 2.0)
    twins = candidate("one", 2.0), candidate("two", 2.0)
    rows = (("0",), ("1",), ("2",), ("2",))
    weighed = behaved((alone, *twins), rows)
    assert weighed[0].penalty > weighed[1].penalty == weighed[2].penalty


def test_a_crash_where_the_base_gave_a_value_speaks_against() -> None:
    calm, crashing = behaved(
        (candidate("calm", 2.0), candidate("crashing", 2.0)), (("0",), ("1",), ("!IndexError",))
    )
    assert crashing.penalty > calm.penalty
