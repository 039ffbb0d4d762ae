"""What the tracer sees of a run and notes of a frame, the same on every Python."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.search.precheck.programs.trace import Watcher
from agent.verify import jail_modules

PROGRAM = '''import collections
total = 0
for step in range(3):
    total += step


def inner(x):
    if x > 2:
        raise ValueError("too much")
    return x * 2


def numbers(n):
    for number in range(n):
        yield number


def outer(xs):
    found = []
    for x in [*xs, *numbers(2)]:
        try:
            found.append(inner(x))
        except ValueError as error:
            found.append(str(error))
    collections.Counter(found)
    return found
'''

ASK = """
import json, sys
from _judge.programs.running import CandidateLimits, Harness
from _judge.programs import trace
told, out = json.loads(sys.argv[1]), sys.stdout
harness = Harness(told, sys.argv[2])
limits = CandidateLimits(100_000, 5.0, 5.0)
print(json.dumps([trace._traced(harness, [n], limits) for n in range(3)]), file=out)
"""


def seen(python: str, folder: Path, base: str = PROGRAM) -> list[dict[str, object]]:
    """What the tracer tells of the tests, run by an interpreter with nothing installed."""
    modules = jail_modules.modules()
    for name, text in modules.items():
        is_package = any(other.startswith(f"{name}.") for other in modules)
        path = folder / (name.replace(".", "/") + ("/__init__.py" if is_package else ".py"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    tests = ["assert outer([1, 5]) == [2]", "assert outer([]) == [0, 2]", "inner(9)"]
    told = {
        "entry": "solution.py", "base": base, "stdin": "", "argv": [],
        "tests": [{"code": code, "uses_output": False, "node": ""} for code in tests],
    }
    ended = subprocess.run(
        [python, "-I", "-c", f"import sys; sys.path.insert(0, {str(folder)!r})\n{ASK}",
         json.dumps(told), str(folder)],
        capture_output=True, text=True, timeout=20, check=False,
    )
    assert ended.returncode == 0, ended.stderr
    answer: list[dict[str, object]] = json.loads(ended.stdout)
    return answer


def test_functions_of_a_long_module_are_traced(tmp_path: Path) -> None:
    long = PROGRAM + "\n".join(f"value{n} = {n}" for n in range(5_000)) + "\n"
    first, *_ = seen(sys.executable, tmp_path, long)

    assert dict(first["hits"])[8] == 4  # type: ignore[call-overload]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("minor", [11, 12, 13])
def test_every_interpreter_tells_the_same(minor: int, tmp_path: Path) -> None:
    python = shutil.which(f"python3.{minor}")
    works = python and subprocess.run(
        [python, "-c", ""], capture_output=True, check=False
    ).returncode == 0
    if not python or not works:
        pytest.skip(f"there is no Python 3.{minor} here")

    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    assert seen(python, tmp_path / "one") == seen(sys.executable, tmp_path / "two")


def left(name: str) -> Any:
    code = SimpleNamespace(co_filename="main.py", co_name=name, co_names=("a", "later"))
    return SimpleNamespace(f_code=code, f_lineno=1, f_locals={"a": 1, "other": ""})


@pytest.mark.parametrize("name, types", [
    ("<module>", {"a": {"int"}}),
    ("f", {"a": {"int"}, "other": {"str"}}),
])
def test_a_part_of_a_module_has_its_own_names(name: str, types: dict[str, set[str]]) -> None:
    seen = Watcher("main.py")

    seen._returned(left(name), None)

    assert seen.types == types
