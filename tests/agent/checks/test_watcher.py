"""What the tracer notes of a frame."""

from types import SimpleNamespace
from typing import Any

import pytest

from agent.checks.programs.trace import Watcher


def left(name: str) -> Any:
    code = SimpleNamespace(co_filename="main.py", co_name=name, co_names=("a", "later"))
    return SimpleNamespace(f_code=code, f_lineno=1, f_locals={"a": 1, "other": ""})


@pytest.mark.parametrize("name, types", [
    ("<module>", {"a": {"int"}}),
    ("f", {"a": {"int"}, "other": {"str"}}),
])
def test_a_part_of_a_module_tells_only_of_the_names_it_touches(
    name: str, types: dict[str, set[str]]
) -> None:
    seen = Watcher("main.py")

    seen._returned(left(name), None)

    assert seen.types == types
