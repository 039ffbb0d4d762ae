"""What a line of a suite must hold, how it is kept from the truth, and what counts as right."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from evaluation.cases import BadSuite, Case, read_cases
from evaluation.healing import is_right
from sandbox import open_sandbox

HALF = "def half(number):\n    return number / 2\n"
ROW = {
    "id": "a", "entry_point": "area", "setup": "import math\n", "buggy": "def area(): pass\n",
    "tests": ["assert area() == 1"], "held_out": ["assert area() == 1"], "fixed": "area = 1\n",
    "plus_inputs": [[1, [2]]], "kind": "logic", "author": "seen", "doc": "left alone",
}


def written(folder: Path, *lines: object) -> Path:
    path = folder / "suite.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def test_a_row_is_read_with_or_without_its_truth(tmp_path: Path) -> None:
    [case] = read_cases(written(tmp_path, ROW, ""))
    assert case.submitted == {"program.py": "import math\ndef area(): pass\n"}
    assert case.reference == {"program.py": "import math\narea = 1\n"}
    assert (case.test_text, case.author, case.kind) == ("assert area() == 1\n", "seen", "logic")

    [case] = read_cases(written(tmp_path, {"id": "b", "task": " Write area(). ", "buggy": "x"}))
    assert (case.mode, case.task, case.program, case.draft) == ("task", "Write area().", "", "x")
    assert not case.has_truth

    bare = {key: ROW[key] for key in ("id", "buggy", "tests", "fixed")}
    [case] = read_cases(written(tmp_path, bare))
    assert not case.has_truth


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "b",', "line 2 is not JSON"),
        ([1], "line 2: "),
        ({**ROW, "id": 7}, "line 2: 1 validation error for Case\nid"),
        (ROW, "line 2: another row has the id 'a' too"),
        ({**ROW, "id": "b", "buggy": None}, "needs a program"),
        ({**ROW, "id": "b", "tests": []}, "one test at least"),
        ({**ROW, "id": "b", "tests": [1]}, "tests.0"),
        ({**ROW, "id": "b", "held_out": ["assert ("]}, "what is held out does not parse"),
        ({**ROW, "id": "b", "entry_point": "area()"}, "entry_point\n  String should match"),
        ({**ROW, "id": "b", "entry_point": ""}, "`entry_point` must be named"),
        ({**ROW, "id": "b", "plus_inputs": [[1], 2]}, "plus_inputs.1"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: object, said: str) -> None:
    path = written(tmp_path, ROW, line)
    with pytest.raises(BadSuite) as refused:
        read_cases(path)
    assert str(path) in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize("make", [lambda path: path.write_bytes(b"\xff"), lambda path: None])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, make: Callable[[Path], None]) -> None:
    path = tmp_path / "suite.jsonl"
    make(path)
    with pytest.raises(BadSuite, match="cannot be read"):
        read_cases(path)


def by_example(fixed: str, *inputs: list[object]) -> Case:
    return Case.model_validate({
        "id": "a", "buggy": "x = 1", "tests": ["assert x"], "fixed": fixed, "entry_point": "f",
        "plus_inputs": inputs,
    })


@pytest.mark.parametrize(("case", "right", "wrong"), [
    (Case.model_validate({**ROW, "plus_inputs": [], "held_out": [
        "assert half(4) == 2", "n = 3\nassert half(n) == 1.5",
    ]}), HALF, HALF.replace("/", "//")),
    (by_example("def f(n):\n    return n / 2\n", [4], [3]), "f = lambda n: n * 0.5", "x = 1"),
    (by_example("def f(n):\n    return [1][n]\n", [0], [5]),
     "def f(n):\n    if n:\n        raise IndexError('other words')\n    return 1\n",
     "def f(n):\n    if n:\n        raise ValueError\n    return 1\n"),
    (by_example("def f(ns):\n    ns.sort()\n    return ns[0]\n", [[3, 1]]), "f = min", "f = max"),
    (by_example("def f(n):\n    while True:\n        yield n\n", [1]),
     "from itertools import repeat as f\n", "def f(n):\n    yield n\n"),
    (by_example("def f(n):\n    return [n, 0.1 + 0.2]\n", [float("nan")]),
     "def f(n):\n    return [n, 0.3]\n", "def f(n):\n    return (n, 0.3)\n"),
], ids=["held out", "fixed program", "exceptions", "arguments", "iterators", "floats"])
async def test_the_truth_rejects_wrong_programs(case: Case, right: str, wrong: str) -> None:
    sandbox = open_sandbox()
    assert await is_right(case, {"program.py": right}, sandbox)
    assert not await is_right(case, {"program.py": wrong}, sandbox)
    assert not await is_right(case, {"program.py": "raise SystemExit"}, sandbox)


@pytest.mark.parametrize("program", [
    "import json\njson.dumps = lambda value: '[\"gives\", \"float\", \"2.0\"]'\nf = len\n",
    "class Any(float):\n    def __eq__(self, other):\n        return True\nf = Any\n",
])
async def test_a_program_does_not_judge_its_own_answers(program: str) -> None:
    case = by_example("def f(n):\n    return n / 2\n", [4], [3])

    assert not await is_right(case, {"program.py": program}, open_sandbox())
