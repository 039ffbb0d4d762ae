"""The names of the types and modules in which one was not found."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.domain import File, Solution, Task
from agent.search.precheck.members import importable, members


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
