"""What a search is told of the types and modules in which a name was missed."""

from __future__ import annotations

import pytest

from agent.repair.screening.members import members


@pytest.mark.parametrize(("message", "known"), [
    ("'list' object has no attribute 'push'", "append"),
    ("'collections.deque' object has no attribute 'pop_left'", "popleft"),
    ("'Counter' object has no attribute 'common'", "most_common"),
    ("module 'math' has no attribute 'squareroot'", "sqrt"),
    ("cannot import name 'permutation' from 'itertools' (unknown location)", "permutations"),
])
def test_the_public_names_of_a_type_or_a_module_are_told(message: str, known: str) -> None:
    found = members(message)
    assert known in found
    assert not [name for name in found if name.startswith("_")]


@pytest.mark.parametrize("message", [
    "", "'Shop' object has no attribute 'price'", "module 'shop' has no attribute 'price'",
    "cannot import name 'price' from 'shop' (shop.py)", "name 'list' is not defined",
])
def test_of_what_is_not_of_the_language_nothing_is_told(message: str) -> None:
    assert members(message) == ()
