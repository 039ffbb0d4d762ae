"""The similarity of results, their descriptions, and the names of types and modules."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.domain import File, Solution, Task
from agent.search.precheck.members import importable, members
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


@pytest.mark.parametrize(("message", "known"), [
    ("'list' object has no attribute 'push'", "append"),
    ("'collections.deque' object has no attribute 'pop_left'", "popleft"),
    ("'Counter' object has no attribute 'common'", "most_common"),
    ("module 'math' has no attribute 'squareroot'", "sqrt"),
    ("cannot import name 'permutation' from 'itertools' (unknown location)", "permutations"),
])
def test_public_names_are_listed(message: str, known: str) -> None:
    found = members(message)
    assert known in found
    assert not [name for name in found if name.startswith("_")]


@pytest.mark.parametrize("message", [
    "", "'Shop' object has no attribute 'price'", "module 'shop' has no attribute 'price'",
    "cannot import name 'price' from 'shop' (shop.py)", "name 'list' is not defined",
])
def test_of_what_is_not_of_the_language_nothing_is_told(message: str) -> None:
    assert members(message) == ()


def test_modules_and_names_that_a_program_can_import_are_found(tmp_path: Path) -> None:
    (tmp_path / "polars").mkdir()
    own = File(path="src/shop/price.py", text="from math import ceil\ndef total(n): pass\n")
    solution = Solution(files=(File(path="main.py", text=""),), entry="main.py")
    task = Task(support=(own,), sites=(str(tmp_path),), solution=solution)
    found = importable("No module named 'shp'", task, solution)
    assert {"shop.price", "price", "main", "polars"} <= {*found}
    for module in ("shop.price", "price"):
        message = f"cannot import name 'totl' from '{module}' (price.py)"
        assert importable(message, task, solution) == ("ceil", "total")
    assert importable("cannot import name 'a' from 'json' (json.py)", task, solution) == ()
    assert importable("division by zero", task, solution) == ()
