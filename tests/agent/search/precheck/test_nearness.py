"""The similarity of results, and descriptions that are the same in every process."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from agent.search.precheck.programs.nearness import alike, described, is_plain, nearness

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_smaller_differences_are_nearer() -> None:
    assert nearness(9, 10) > nearness(90, 10) > nearness("9", 10)
    assert nearness([1, 2, 4], [1, 2, 3]) > nearness([1, 5, 4], [1, 2, 3])
    assert nearness({1, 2}, {1, 2, 3}) > nearness({4}, {1, 2, 3})
    assert nearness({"a": 1}, {"a": 1, "b": 2}) > nearness({"a": 2}, {"a": 1, "b": 2})
    assert nearness("abd", "abc") > nearness(None, "abc")
    assert nearness(True, False) > nearness(0, False)


@given(PLAIN, PLAIN)
def test_nearness_stays_between_a_crash_and_the_right_answer(got: object, expected: object) -> None:
    assert 0.0 < nearness(got, expected) < 1.0


@given(PLAIN)
def test_plain_values_are_shown_as_literals(value: object) -> None:
    if len(described(value)) < 400 and is_plain(value):
        assert alike(ast.literal_eval(described(value)), value)


def test_foreign_objects_are_never_compared() -> None:
    class Loud:
        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

        __hash__ = None  # type: ignore[assignment]

    assert not is_plain([Loud()]) and described([Loud()]) == "<list>" and not alike(Loud(), Loud())
    assert nearness([Loud()], [Loud()]) > 0.0


def test_sets_are_sorted_and_huge_integers_described_by_their_length() -> None:
    assert described({"b", "a"}) == "{'a', 'b'}" and described(frozenset()) == "frozenset()"
    assert described(1 << 5_000) == "<an integer of 5001 bits>"


def test_long_values_that_differ_at_the_end_have_different_descriptions() -> None:
    assert described([0] * 1_000 + [1]) != described([0] * 1_000 + [2])
    assert described("a" * 1_000 + "b") != described("a" * 1_000 + "c")
