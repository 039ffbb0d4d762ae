"""What a line of a suite must hold, and how it is told apart from the truth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.suite import BadRow, BadSuite, Broken, Row, Truth, read_suite, spread

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


def test_a_row_keeps_what_is_brought_apart_from_the_truth(tmp_path: Path) -> None:
    assert read_suite(written(tmp_path, ROW, "")) == (
        Row(
            id="a",
            broken=Broken("import math\ndef area(): pass\n", ("assert area() == 1",)),
            truth=Truth(
                ("assert area() == 1",), "import math\narea = 1\n", "area", ([1, [2]],)
            ),
            groups=(("author", "seen"), ("kind", "logic")),
        ),
    )


def test_a_task_in_words_needs_neither_program_nor_tests(tmp_path: Path) -> None:
    (row,) = read_suite(written(tmp_path, {"id": "b", "task": " Write area(). "}))
    assert isinstance(row, Row)
    assert row.broken == Broken("", (), "Write area().")


def test_a_row_without_any_truth_says_so(tmp_path: Path) -> None:
    bare = {key: ROW[key] for key in ("id", "buggy", "tests", "fixed")}
    (row,) = read_suite(written(tmp_path, bare))
    assert isinstance(row, Row)
    assert not row.truth.known


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"id": "b",', "line 2 is not JSON"),
        ([1], "line 2 is no JSON object"),
        ({**ROW, "id": 7}, "line 2: a row needs an `id`"),
        ({**ROW, "id": "a\nb"}, "line 2: a row needs an `id`"),
        (ROW, "line 2: the id 'a' is that of line 1 too"),
    ],
)
def test_a_line_that_is_no_row_is_named(tmp_path: Path, line: object, said: str) -> None:
    path = written(tmp_path, ROW, line)
    with pytest.raises(BadSuite) as refused:
        read_suite(path)
    assert str(path) in str(refused.value)
    assert said in str(refused.value)


@pytest.mark.parametrize("make", [lambda path: path.write_bytes(b"\xff"), lambda path: None])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, make) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "suite.jsonl"
    make(path)
    with pytest.raises(BadSuite, match="cannot be read"):
        read_suite(path)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"buggy": None}, "`buggy`: a row without a `task` needs a program"),
        ({"buggy": " "}, "`buggy`: a row without a `task` needs a program"),
        ({"setup": 3}, "`setup`: Input should be a valid string"),
        ({"tests": []}, "`tests`: a row without a `task` needs one at least"),
        ({"tests": "assert area()"}, "`tests`: Input should be a valid tuple"),
        ({"tests": [1]}, "`tests.0`: Input should be a valid string"),
        ({"held_out": ["assert ("]}, "`held_out.0`: Value error, it does not parse"),
        ({"held_out": ["a\0"]}, "`held_out.0`: Value error"),
        ({"entry_point": "area()"}, "`entry_point`: String should match"),
        ({"entry_point": ""}, "`entry_point` must be named where there are `plus_inputs`"),
        ({"plus_inputs": {}}, "`plus_inputs`: Input should be a valid tuple"),
        ({"plus_inputs": [[1], 2]}, "`plus_inputs.1`: Input should be a valid list"),
    ],
)
def test_a_row_that_cannot_be_used_says_why(
    tmp_path: Path, change: dict[str, object], why: str
) -> None:
    (row,) = read_suite(written(tmp_path, {**ROW, **change}))
    assert isinstance(row, BadRow)
    assert row.why.startswith(why)


def test_few_of_many_rows_are_taken_from_all_over() -> None:
    assert spread(range(10), 4) == (0, 2, 5, 7)
    assert spread(range(3), 4) == (0, 1, 2)
