"""What the tracer notes of a frame."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import agent.checks.programs as programs


def left(name: str) -> Any:
    code = SimpleNamespace(co_filename="main.py", co_name=name, co_names=("a", "later"))
    return SimpleNamespace(f_code=code, f_lineno=1, f_locals={"a": 1, "other": ""})


@pytest.mark.parametrize("name, types", [
    ("<module>", {"a": {"int"}}),
    ("f", {"a": {"int"}, "other": {"str"}}),
])
def test_a_part_of_a_module_tells_only_of_the_names_it_touches(
    monkeypatch: pytest.MonkeyPatch, name: str, types: dict[str, set[str]]
) -> None:
    monkeypatch.syspath_prepend(str(Path(programs.__file__).parent))
    monkeypatch.delitem(sys.modules, "trace", raising=False)
    module = importlib.import_module("trace")
    seen = module.Watcher("main.py")

    seen(left(name), "return", None)

    assert seen.types == types
    for own in ("trace", "running", "pieces", "ticks"):
        sys.modules.pop(own, None)
