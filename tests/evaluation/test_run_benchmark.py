"""The benchmark's command: rows in, lines out, and the truth never before the repair."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agent.core.events import from_jsonl
from evaluation import healing as healing_module
from evaluation import run_benchmark
from evaluation.cases import Case, read_cases
from evaluation.executors import LocalExecutor, measure
from evaluation.figures import figures
from evaluation.healing import CaseRow, HealedCase, heal_case, line_of, measure_case, settings_for
from evaluation.lines import JsonLinesFile
from evaluation.run_benchmark import TASKS, main, writer

AREA = "def area(width, height):\n    return width + height\n"
TESTS = ("assert area(2, 5) == 10", "assert area(1, 1) == 1")
ROW: dict[str, Any] = {
    "id": "shapes/area", "entry_point": "area", "setup": "", "buggy": AREA, "tests": list(TESTS),
    "held_out": ["assert area(7, 8) == 56"], "kind": "logic", "author": "seen",
}
SECRET = 4_815_162_342


def suite(folder: Path, *rows: object) -> str:
    path = folder / "suite.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def lines(folder: Path) -> list[CaseRow]:
    text = (folder / "results.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


@pytest.fixture(autouse=True)
def _without_a_dotenv(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_benchmark, "warn_of_dotenv", lambda: None)


# The command.


def test_rows_give_lines_and_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = suite(
        tmp_path, ROW, {**ROW, "id": "wrong", "held_out": ["assert area(7, 8) == 1"]},
        {**ROW, "id": "odd", "tests": ["assert ("]},
    )
    out = tmp_path / "out"

    assert main(["--suite", path, "--provider", "mock", "--out", str(out)]) == 0

    first, second, third = lines(out)
    assert first.keys() == CaseRow.__annotations__.keys()
    assert (first["id"], first["outcome"], first["proof"]) == ("shapes/area", "healed", "E1")
    assert first["files"] == {"solution.py": AREA.replace("+", "*")}
    assert "+    return width * height" in first["diff"]
    assert first["candidates"] > 0
    assert (first["rank1_held_out"], second["rank1_held_out"]) == (True, False)
    assert first["files"] == second["files"]
    assert [third["outcome"], third["rank1_held_out"]] == ["refused", False]
    said = capsys.readouterr()
    assert "the tests do not parse" in said.err.lower() or "tests[0] does not parse" in said.err
    assert "no model" in said.err
    assert "outcomes: healed 2, refused 1" in said.out
    summary = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    assert summary["figures"]["all"]["correct"] == 1
    assert summary["budget_s"] == 10
    assert summary["cores"] == os.cpu_count() and summary["measured"]
    assert "version" in summary
    log = from_jsonl((out / "logs" / "shapes%2Farea.jsonl").read_text(encoding="utf-8"))
    assert log[-1].event.kind == "run_finished"


@pytest.mark.nightly
def test_word_tasks_are_the_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--provider", "mock", "--validate-reference", "--max-iterations", "2", "--task-ids"]
    out = ["--out", str(tmp_path)]

    assert main([*given, "log_levels_001", "boundary_pages_001", *out]) == 0

    logs, paged = lines(tmp_path)
    assert (logs["id"], logs["outcome"]) == ("log_levels_001", "healed")
    assert (paged["id"], paged["outcome"]) == ("boundary_pages_001", "healthy")
    assert logs["rank1_held_out"] and paged["rank1_held_out"]
    assert (logs["iterations"], paged["iterations"]) == (1, 0)
    said = capsys.readouterr()
    assert "a task text begins with its row's own draft" in said.err
    assert "first pass 1/2  50%, healed 1, final 2/2 100%, unresolved 0" in said.out
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert summary["max_iterations"] == 2


@pytest.mark.parametrize(("change", "why"), [
    ({"fixed": AREA}, "shapes/area: the fixed program fails the tests"),
    ({"fixed": AREA.replace("+", "*"), "held_out": ["assert area(7, 8) == 1"]},
     "shapes/area: the fixed program fails the truth"),
])
def test_a_row_that_contradicts_itself_ends_the_benchmark_before_it_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: dict[str, object], why: str
) -> None:
    path = suite(tmp_path, {**ROW, **change})
    out = tmp_path / "out"
    assert main(["--suite", path, "--out", str(out), "--validate-reference"]) == 2
    assert why in capsys.readouterr().err
    assert not out.exists()


def test_eight_tasks_of_six_kinds_are_there() -> None:
    rows = read_cases(TASKS)
    assert len(rows) == 8
    assert len({row.kind for row in rows}) == 6
    assert rows[0].id == "interval_merge_001"


@pytest.mark.parametrize(("given", "prices", "more", "said"), [
    (["--task-ids", "shapes/area", "no"], "", "", "has no row 'no'"),
    (["--provider", "mock"], "none.yaml", "", "none.yaml cannot be read"),
    (["--provider", "qwen"], "", "", "qwen needs a key: set QWEN_API_KEY"),
    ([], "", "{oh\n", "suite.jsonl, line 2 is not JSON"),
    (["--only", "none of them"], "", "", "has no row whose id contains 'none of them'"),
])
def test_what_cannot_be_used_is_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    given: list[str], prices: str, more: str, said: str,
) -> None:
    monkeypatch.setenv("HEAL_PRICES", str(tmp_path / prices) if prices else "")
    path = Path(suite(tmp_path, ROW))
    path.write_text(path.read_text(encoding="utf-8") + more, encoding="utf-8")

    assert main(["--suite", str(path), "--out", str(tmp_path / "out"), *given]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


# What a repair is brought.


async def test_nothing_of_the_truth_reaches_the_run_and_rows_do_not_help_each_other() -> None:
    row = Case(
        id="a", program=AREA, tests=TESTS,
        held_out=(f"assert area(1, {SECRET}) == {SECRET}",), entry_point="area",
        fixed=f"def area(w, h):\n    return w * h  # {SECRET}\n", plus_inputs=([SECRET, 1],),
    )
    settings = settings_for("mock", 10, None)

    with_truth = await heal_case(row, settings)
    without = await heal_case(Case(id="a", program=AREA, tests=TESTS), settings)

    assert with_truth.line["rank1_held_out"] is True
    assert without.line["rank1_held_out"] is None
    assert with_truth.line["files"] == without.line["files"]
    assert with_truth.line["candidates"] == without.line["candidates"] > 0
    assert len(with_truth.log) > 10
    assert not [entry for entry in with_truth.log if str(SECRET) in entry.to_json()]


async def test_a_program_that_is_not_healed_is_not_right() -> None:
    row = Case(
        id="a", program=AREA, held_out=("assert area(1, 1) == 2",),
        tests=("assert area(1, 1) == 'a'", "assert area(1, 1) == 'b'"),
    )

    found = await heal_case(row, settings_for("mock", 10, 5))

    assert found.line["outcome"] not in ("healed", "healthy")
    assert (found.line["rank1_held_out"], found.line["any_held_out"]) == (False, False)


# Going on.


def case(key: str) -> Case:
    return Case(id=key, task="Write it.")


def healing(row: Case) -> HealedCase:
    return HealedCase(line_of(row, "unresolved"))


def doubled(monkeypatch: pytest.MonkeyPatch, act: Callable[[Case], HealedCase]) -> list[str]:
    """Puts a double in the place of the healing; returns the ids it was asked for."""
    asked: list[str] = []

    async def heal_case(row: Case, settings: object) -> HealedCase:
        asked.append(row.id)
        await asyncio.sleep(0)
        return act(row)

    monkeypatch.setattr(healing_module, "heal_case", heal_case)
    return asked


async def go(folder: Path, *ids: str) -> None:
    given = {"provider": "mock", "budget_s": 10, "candidates": None}
    results: JsonLinesFile[CaseRow] = JsonLinesFile(folder / "results.jsonl")
    await measure(
        {key: case(key) for key in ids}, partial(measure_case, given=given),
        LocalExecutor(1, (), None), results, writer(results),
    )


async def test_rows_that_are_done_are_not_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = doubled(monkeypatch, healing)
    await go(tmp_path, "a", "b")
    with (tmp_path / "results.jsonl").open("ab") as file:
        file.write(json.dumps(line_of(case("c"), "healed")).encode()[:40])

    await go(tmp_path, "a", "b", "c", "d")

    assert asked == ["a", "b", "c", "d"]
    assert [line["id"] for line in lines(tmp_path)] == ["a", "b", "c", "d"]


async def test_a_fault_costs_its_own_row_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def act(row: Case) -> HealedCase:
        if row.id == "b":
            raise ZeroDivisionError("of ours")
        return healing(row)

    doubled(monkeypatch, act)
    await go(tmp_path, "a", "b", "c")

    assert [line["outcome"] for line in lines(tmp_path)] == ["unresolved", "failed", "unresolved"]
    assert "ZeroDivisionError: of ours" in capsys.readouterr().err


async def test_an_interrupt_leaves_whole_rows_and_ends_what_was_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = []

    async def heal_case(row: Case, settings: object) -> HealedCase:
        try:
            await asyncio.sleep(0 if row.id == "a" else 60)
        finally:
            ended.append(row.id)
        return healing(row)

    monkeypatch.setattr(healing_module, "heal_case", heal_case)
    task = asyncio.create_task(go(tmp_path, "a", "b"))
    while not (tmp_path / "results.jsonl").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert [line["id"] for line in lines(tmp_path)] == ["a"]
    assert ended == ["a", "b"]


# Figures.


def line(key: str, outcome: str = "healed", **changes: object) -> CaseRow:
    return {**line_of(case(key), outcome), **changes}  # type: ignore[typeddict-item]


def test_figures_count_what_is_right_by_what_can_be_told() -> None:
    found = figures(
        [
            line("a", proof="E2", seconds=1.0, rank1_held_out=True, any_held_out=True),
            line("b", proof="E2", seconds=2.0, rank1_held_out=False, any_held_out=True),
            line("c", proof="E1", seconds=3.0),
            line(
                "d", "unresolved", iterations=2, seconds=10.0, rank1_held_out=False,
                any_held_out=False,
            ),
        ],
    )
    assert found == {
        "rows": 4, "outcomes": {"healed": 3, "unresolved": 1}, "with_truth": 3, "first_pass": 0,
        "plausible": 3, "iterations_mean": 0.5, "correct": 1, "any": 2, "healed_with_truth": 2,
        "by_proof": {"E2": {"healed": 2, "correct": 1}}, "overclaimed": ["b"],
        "seconds_median": 2.5,
        "seconds_p90": 10.0, "candidates_median": 0,
    }
