"""Plain values in words that are the same in every process."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.trees import literal_source

ATOMS = st.none() | st.booleans() | st.integers() | st.text() | st.binary()
PLAIN = st.recursive(
    ATOMS | st.sets(ATOMS, max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(ATOMS, inner, max_size=3),
    max_leaves=8,
)


@given(PLAIN)
def test_what_is_spelt_is_read_again(value: object) -> None:
    assert ast.literal_eval(literal_source(value)) == value


@pytest.mark.parametrize(("value", "words"), [
    ({"pear", "fig"}, "{'fig', 'pear'}"), ([{("b", 2), ("a", 1)}], "[{('a', 1), ('b', 2)}]"),
    (frozenset({"b", "a"}), "frozenset({'a', 'b'})"),
    ((frozenset(), set()), "(frozenset(), set())"), ({(1,): {True}}, "{(1,): {True}}"),
])
def test_sets_are_sorted_wherever_they_stand(value: object, words: str) -> None:
    assert literal_source(value) == words


def test_what_holds_no_others_may_be_written_in_another_way() -> None:
    assert literal_source({"a": [1, 2]}, lambda atom: f"<{atom}>") == "{<a>: [<1>, <2>]}"
