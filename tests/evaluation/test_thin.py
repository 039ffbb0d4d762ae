"""The rows with thin tests are what they say, and the figures name what claims too much."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.run_benchmark import settings_for
from evaluation.thin import OWN, BadCases, Case, Fate, fates, read_cases, table
from tests.evaluation.test_bench_suites import failures

ROWS = [json.loads(line) for line in OWN.read_text(encoding="utf-8").splitlines()]


def test_there_are_a_hundred_rows_on_many_subjects() -> None:
    subjects = {row["id"].split("-", 1)[1].split("-")[0] for row in ROWS}
    assert (len(ROWS) >= 100, len(subjects) >= 12) == (True, True)
    assert len(read_cases(OWN)) == len(ROWS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_the_right_program_passes_tests_and_truth_and_the_broken_one_does_not(
    row: dict[str, Any],
) -> None:
    given = {**row, "setup": ""}
    assert failures(given, row["fixed"], [*row["tests"].splitlines(), row["truth"]]) == []
    assert failures(given, row["program"], row["tests"].splitlines())


def test_a_line_that_is_no_row_is_told(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"id": "a", "program": "x = 1"}\n', encoding="utf-8")
    with pytest.raises(BadCases, match="line 1"):
        read_cases(path)


def test_the_figures_name_wrong_repairs_from_e2_on() -> None:
    lines = list(table((
        Fate("a", "healed", "E4", right=True), Fate("b", "healed", "E2", why="too much"),
        Fate("c", "healed", "E1"), Fate("d", "unresolved"),
    )))
    assert lines == [
        "rows 4, healed 3, right 1, wrong 2", "E1: 0 right, 1 wrong", "E2: 0 right, 1 wrong",
        "E4: 1 right, 0 wrong", "E2 or above: 2, wrong 1 (50.0%)", "  b at E2: too much",
    ]


async def test_a_row_is_healed_by_its_tests_and_judged_by_its_truth() -> None:
    program = "def double(x):\n    return x + 3\n"
    tests = "assert double(2) == 4\nassert double(0) == 0\nassert double(5) == 10"
    found = await fates(
        (
            Case("right", program, tests, "assert double(7) == 14"),
            Case("wrong", program, tests, "assert double(7) == 15"),
        ),
        settings_for("mock", 10.0, None),
    )
    assert [(fate.id, fate.outcome, fate.right) for fate in found] == [
        ("right", "healed", True), ("wrong", "healed", False),
    ]
