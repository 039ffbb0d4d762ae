"""What a part of the search earns is counted by healing without it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.repair import edits, syntax
from agent.repair.ranking import rank
from evaluation.ablation import (
    KINDS,
    Healed,
    Part,
    concerned,
    earned,
    main,
    parts,
    taken_out,
)
from evaluation.suite import Row, read_suite

ROWS = (
    {
        "id": "sum", "entry_point": "add", "buggy": "def add(a, b):\n    return a - b\n",
        "setup": "", "tests": ["assert add(2, 1) == 3", "assert add(5, 2) == 7"],
        "held_out": ["assert add(9, 9) == 18"],
    },
    {
        "id": "colon", "entry_point": "two", "buggy": "def two()\n    return 2\n",
        "setup": "", "tests": ["assert two() == 2"], "held_out": ["assert two() == 2"],
    },
)


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_parts_are_taken_out_for_a_while() -> None:
    whole, blind = edits.EDITS, rank.BLIND

    gone = (Part("operator", "arithmetic"), Part("syntax", "words"), Part("ranking", "BLIND"))

    with taken_out(*gone):
        assert {one.name for one in whole} - {one.name for one in edits.EDITS} == {"arithmetic"}
        assert "words" not in {rule.__name__ for rule in syntax.RULES}
        assert rank.BLIND == 0.0

    assert edits.EDITS is whole
    assert blind == rank.BLIND
    assert "words" in {rule.__name__ for rule in syntax.RULES}
    assert {part.kind for part in parts()} == {*KINDS}


def test_a_part_earns_what_is_healed_with_it_alone() -> None:
    part = Part("ranking", "BLIND")
    whole = {"a": Healed(True, True), "b": Healed(True, False), "c": Healed(True, True)}
    without = {"a": Healed(True, False), "b": Healed(True, True), "c": Healed(False)}

    found = earned(part, whole, without)

    assert (found.rows, found.plausible, found.right, found.hindered) == (
        3, ("c",), ("a", "c"), ("b",),
    )
    assert not found.nothing
    assert earned(part, whole, whole).nothing


def test_only_rows_in_which_a_part_has_a_say_are_healed_again(suite: Path) -> None:
    rows = [row for row in read_suite(suite) if isinstance(row, Row)]
    whole = {"sum": Healed(True, True, operators=("arithmetic",)), "colon": Healed(True, True)}

    assert [row.id for row in concerned(Part("operator", "arithmetic"), rows, whole)] == ["sum"]
    assert concerned(Part("operator", "number"), rows, whole) == []
    assert [row.id for row in concerned(Part("syntax", "words"), rows, whole)] == ["colon"]


def test_the_command_prints_what_each_operator_earns(
    suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figures.json"

    code = main([
        "--suite", str(suite), "--parts", "operator", "--candidates", "300", "--out", str(out),
    ])

    said = capsys.readouterr().out
    assert code == 0
    assert "with everything: 2 of 2 pass their tests, 2 right" in said
    assert "operator 'arithmetic': in 1 repairs" in said
    figures = json.loads(out.read_text())
    assert figures["rows"]["sum"]["operators"] == ["arithmetic"]
    assert {one["name"] for one in figures["parts"]} == {one.name for one in edits.EDITS}


@pytest.mark.parametrize("names", [[one.name for one in edits.EDITS], ["operator"]])
def test_parts_are_taken_out_together(
    suite: Path, capsys: pytest.CaptureFixture[str], names: list[str]
) -> None:
    assert main(["--suite", str(suite), "--candidates", "300", "--without", *names]) == 0

    assert f"without {len(edits.EDITS)} parts: 1 of 2 pass" in capsys.readouterr().out


def test_the_operators_of_a_module_are_a_group() -> None:
    group = {part.name for part in parts() if part.called("operators")}
    assert "arithmetic" in group and 1 < len(group) < len(edits.EDITS)


def test_a_part_that_is_none_is_named(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--suite", str(suite), "--without", "magic"]) == 2
    assert "there is no part called magic" in capsys.readouterr().err


def test_a_suite_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text("{}\n")

    assert main(["--suite", str(tmp_path / "missing.jsonl")]) == 2
    assert "missing.jsonl" in capsys.readouterr().err
