"""Competing patches: clusters of equal answers, and the call that distinguishes them."""

from __future__ import annotations

from dataclasses import replace

from agent.search.ranking.competing import (
    clusters,
    differs,
    distinguishing_call,
    is_readable,
    raised_exceptions,
)
from agent.search.values import Candidate


def candidate(text: str, cost: float, *answers: str) -> Candidate:
    return Candidate(text, cost, ("number",), answers=answers)


FIRST = candidate("a", 1.0, "0", "[]")
TWIN = candidate("b", 1.5, "0", "[]")
OTHER = candidate("c", 2.0, "1", "[]")
CALLS = ("f(3, [])", "f(0, [])")


def test_equal_answers_form_a_cluster() -> None:
    found = clusters([OTHER, FIRST, TWIN], chosen="b")
    assert [[one.text for one in cluster.candidates] for cluster in found] == [["b", "a"], ["c"]]

    found = clusters([candidate("x", 1.0), candidate("y", 1.1), OTHER], chosen="x")
    assert [cluster.best.text for cluster in found] == ["x", "y", "c"]
    assert distinguishing_call(CALLS, [(), OTHER.answers]) is None


def test_the_shortest_call_that_distinguishes_most_is_chosen() -> None:
    assert distinguishing_call(CALLS, [FIRST.answers, OTHER.answers]) == 0
    assert distinguishing_call(CALLS, [("0", "None"), ("1", "[]")]) in (0, 1)
    assert distinguishing_call(CALLS, [FIRST.answers, TWIN.answers]) is None

    three = [("1", "1"), ("1", "2"), ("2", "3")]
    assert distinguishing_call(("f(1)", "f(1, 2)"), three) == 1

    assert not is_readable("<Node>") and not is_readable("~") and not is_readable("")
    assert not is_readable("1" * 201)
    assert is_readable("[1, 'a']") and is_readable("!ValueError")
    assert distinguishing_call(("f(1)",), [("<A>",), ("<B>",)]) is None


def test_only_answers_that_matter_differ() -> None:
    assert not differs(("0.30000000000000004",), ("0.3",), frozenset())
    assert differs(("0.31",), ("0.3",), frozenset())

    assert not differs(("1", "0"), ("True", "0.0"), frozenset())
    assert not differs(("1",), ("!IndexError",), frozenset())
    assert not differs(("1",), ("~",), frozenset())
    assert differs(("1",), ("!ValueError",), frozenset({"ValueError"}))
    assert differs(("1", "2"), ("1", "3"), frozenset())


def test_a_much_costlier_edit_by_another_operator_does_not_compete() -> None:
    own = replace(candidate("own", 1.0, "1"), operators=("comparison",))
    far = replace(candidate("far", 3.0, "2"), operators=("guard",))
    near = replace(candidate("near", 1.5, "3"), operators=("guard",))
    same = replace(candidate("same", 9.0, "4"), operators=("comparison",))
    found = clusters([own, far, near, same], chosen="own")
    assert [one.best.text for one in found] == ["own", "near", "same"]


def test_exceptions_of_raise_and_assert_are_found() -> None:
    text = "def f(n):\n    assert n\n    if n:\n        raise ValueError('n')\n    raise KeyError\n"
    assert raised_exceptions(text) == {"ValueError", "KeyError", "AssertionError"}
