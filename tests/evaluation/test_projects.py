"""Bugs planted in small projects: laid right, healed, counted, and what their rows say."""

from __future__ import annotations

import ast
import difflib
import json
import sys
from pathlib import Path

import pytest

from agent.verify.project.suite_run import SuiteRun
from evaluation import projects
from evaluation.planted import BadBench, plant, read_bench, read_project, with_bug
from evaluation.projects import complaints, differences, main
from sandbox import open_sandbox

BENCH = read_bench()
BUGS = {bug.id: bug for bug in BENCH.bug}
ROWS = {row.name: row for row in BENCH.project}
QUICK = "guild-ascension"


def test_every_bug_stands_in_one_or_two_places_and_changes_few_lines() -> None:
    assert (len(BUGS), len(ROWS)) == (96, 9)
    for bug in BENCH.bug:
        right = read_project(ROWS[bug.project])
        files = with_bug(right.files, bug)
        other = {path for path, text in files.items() if text != right.files[path]}
        assert other == {file for file, _, _ in bug.places}, bug.id
        assert other <= {*right.project.editable}, bug.id
        lines = 0
        for path in other:
            ast.parse(files[path])
            before, after = files[path].split("\n"), right.files[path].split("\n")
            matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
            lines += sum(
                max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in matcher.get_opcodes()
                if tag != "equal"
            )
        assert 1 <= lines <= 4, bug.id
        assert bug.failing and not any(map(bug.is_hidden, bug.failing)), bug.id


def test_hidden_tests_are_kept_from_the_repair() -> None:
    bug = BUGS[QUICK]
    one = plant(bug, read_project(ROWS[bug.project]))
    files = {file.path: file.text for file in one.task.support}
    assert bug.buggy in files[bug.file] and bug.fixed not in files[bug.file]
    assert {file.path: file.text for file in one.base.files}[bug.file] == files[bug.file]
    assert one.project.arguments == tuple(f"--deselect={node}" for node in bug.hidden)
    assert one.right.project.arguments == ()


def test_what_does_not_stand_there_cannot_be_planted() -> None:
    bug = BUGS[QUICK].model_copy(update={"fixed": "nowhere to be found"})
    with pytest.raises(BadBench, match="exactly once"):
        with_bug(read_project(ROWS[bug.project]).files, bug)


def test_a_hidden_function_is_hidden_with_all_its_parameters() -> None:
    bug = BUGS[QUICK].model_copy(update={"hidden": ("a.py::test_a", "a.py::test_b[1]")})
    assert [node for node in (
        "a.py::test_a", "a.py::test_a[x[0]]", "a.py::test_ab", "a.py::test_b[1]", "a.py::test_b[2]"
    ) if bug.is_hidden(node)] == ["a.py::test_a", "a.py::test_a[x[0]]", "a.py::test_b[1]"]


@pytest.mark.nightly
def test_a_bug_is_healed_and_its_line_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = ["--bug", QUICK, "--out", str(tmp_path)]
    assert main(wanted) == 0
    said = capsys.readouterr()
    assert f"{QUICK}: right in" in said.err
    assert said.out.endswith("outcomes other than plain pytest's: none\n")
    (kept,) = map(json.loads, (tmp_path / "results.jsonl").read_text("ascii").splitlines())
    assert (kept["healed"], kept["right"], kept["same"]) == (True, True, True)

    monkeypatch.setattr(projects, "heal_bug", None)
    assert main(wanted) == 0
    assert capsys.readouterr().out == said.out


@pytest.mark.nightly
async def test_rows_are_what_they_say(whole: bool) -> None:
    bugs = BENCH.bug if whole else (BUGS[QUICK],)
    assert [said async for said in complaints(BENCH, bugs, open_sandbox())] == []


@pytest.mark.nightly
async def test_a_wrong_row_is_reported() -> None:
    right = BUGS[QUICK]
    bug = right.model_copy(update={
        "failing": ("tests/rota/test_rota.py::TestDays::test_a_month", "a.py::test_gone"),
        "hidden": ("a.py::test_none",),
    })
    said = [one async for one in complaints(BENCH, [bug], open_sandbox())]
    assert said == [f"{QUICK}: {one}" for one in (
        "does not fail, or is hidden: a.py::test_gone",
        "does not fail, or is hidden: tests/rota/test_rota.py::TestDays::test_a_month",
        *(f"fails, and is not listed: {node}" for node in sorted((
            *right.failing, "tests/rota/test_rota.py::TestDays::test_ascension_of_another_year",
        ))),
        "no such hidden test: a.py::test_none",
    )]


SDIST = {
    "PKG-INFO": "Name: tally\n",
    "pytest.ini": "[pytest]\npythonpath = src\n",
    "src/tally/__init__.py": "def rise(start, end):\n    return end - start\n",
    "tests/test_tally.py": (
        "import datetime, pytest, tally\n"
        "def test_rise():\n    assert tally.rise(2, 5) == 3\n"
        "@pytest.mark.parametrize('at', [str(datetime.datetime.now())])\n"
        "def test_none(at):\n    assert tally.rise(1, 1) == 0\n"
    ),
    "tests/test_disk.py": "def test_red():\n    assert False\n",
}
ROW = """
[[project]]
name = "tally-1.0"
python = {python!r}
arguments = ["--deselect=tests/test_disk.py"]
"""
BUG = """
[[bug]]
id = "tally-rise"
project = "tally-1.0"
file = "src/tally/__init__.py"
fixed = "end - start"
buggy = "start - end"
kind = "operator"
level = "function"
reach = "small"
failing = ["tests/test_tally.py::test_rise"]
unseen = "import tally\\ndef test_fall(): assert tally.rise(5, 2) == {right}"
note = ""
"""


def unpacked(folder: Path, right: int) -> list[str]:
    """A bench of one made-up package as it comes, and the arguments that name it."""
    for path, text in SDIST.items():
        (folder / "tally-1.0" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "tally-1.0" / path).write_text(text, "utf-8")
    rows = ROW.format(python=sys.executable) + BUG.format(right=right)
    (folder / "bugs.toml").write_text(rows, "utf-8")
    return ["--bench", str(folder)]


@pytest.mark.nightly
def test_other_packages_are_healed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(unpacked(tmp_path, -3)) == 0
    assert "tally-rise: right in" in capsys.readouterr().err
    # No repair of this bug passes a wrong unseen test.
    assert main(unpacked(tmp_path, 30)) == 0
    assert "tally-rise: healed in" in capsys.readouterr().err


@pytest.mark.nightly
def test_a_package_matches_pytest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wanted = [*unpacked(tmp_path, 30), "--check"]
    assert main(wanted) == 1
    assert capsys.readouterr().out == (
        "tally-rise: the unseen tests fail without the bug\n1 bugs, 1 complaints\n"
    )


def test_outcomes_unlike_pytests_are_reported() -> None:
    run = SuiteRun({
        "a.py::test_a": {"status": "failed", "message": "no"},
        "a.py::test_b": {"status": "passed"}, "a.py::test_at[2]": {"status": "passed"},
    })
    plain = {"a.py::test_a": "passed", "a.py::test_at[1]": "passed", "a.py::test_c": "skipped"}
    assert [*differences(run, plain)] == [
        "not run and skipped under plain pytest: a.py::test_c",
        "passed and not run under plain pytest: a.py::test_b",
        "failed and passed under plain pytest: a.py::test_a no",
    ]
