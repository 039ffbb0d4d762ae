"""Statistics of sweeps against published values and against another implementation."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path

import pytest

from agent.core.measures import interval
from evaluation.sweep import (
    BadResults,
    PairedComparison,
    SweepRow,
    compare,
    main,
    mean_pass_at_k,
    pass_at_k,
    precision_recall,
)


def paired(both: int, only_first: int, only_second: int, neither: int) -> PairedComparison:
    pytest.importorskip("scipy", reason="the extra `statistics` is not installed")
    kinds = [(1, 1)] * both + [(1, 0)] * only_first + [(0, 1)] * only_second + [(0, 0)] * neither
    first, second = (
        {str(task): bool(kind[place]) for task, kind in enumerate(kinds)} for place in (0, 1)
    )
    return compare(first, second)


def test_a_paired_comparison_has_the_published_values() -> None:
    """Airway hyper-responsiveness in Fagerland, Lydersen and Laake, Statistics in Medicine 33
    (2014): Newcombe's interval 0.026 to 0.507, McNemar's exact p 0.0703."""
    found = paired(1, 1, 7, 12)
    assert found[:3] == (21, 1, 7)
    assert found.difference == pytest.approx(6 / 21)
    assert (round(found.low, 3), round(found.high, 3)) == (0.026, 0.507)
    assert round(found.p, 4) == 0.0703


def test_the_approval_ratings_of_agresti() -> None:
    """944 of 1,600 and 880 of 1,600: a difference of 0.04, within 0.02 to 0.06."""
    found = paired(794, 150, 86, 570)
    assert found.difference == pytest.approx(-0.04)
    assert (round(found.low, 2), round(found.high, 2)) == (-0.06, -0.02)


def test_without_a_difference_the_interval_contains_zero() -> None:
    assert paired(5, 0, 0, 5).p == 1.0
    for one in (paired(3, 0, 0, 0), paired(0, 0, 0, 3), paired(2, 4, 4, 1)):
        assert one.low < 0 < one.high


def test_settings_without_a_common_task_are_refused() -> None:
    pytest.importorskip("scipy", reason="the extra `statistics` is not installed")
    with pytest.raises(BadResults, match="no task in common"):
        compare({"a": True}, {"b": True})


@pytest.mark.parametrize(("right", "count"), [(0, 10), (7, 10), (10, 10), (81, 263)])
def test_wilsons_interval_is_that_of_scipy(right: int, count: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="the extra `statistics` is not installed")
    theirs = stats.binomtest(right, count).proportion_ci(method="wilson")
    assert interval(right, count) == pytest.approx((theirs.low, theirs.high), abs=1e-4)


@pytest.mark.parametrize("right", range(6))
def test_pass_at_k_is_the_share_of_draws_with_a_right_sample(right: int) -> None:
    samples = [True] * right + [False] * (5 - right)
    for k in range(1, 6):
        draws = [any(draw) for draw in combinations(samples, k)]
        assert pass_at_k(5, right, k) == pytest.approx(sum(draws) / math.comb(5, k))


def row(task: str, right: bool, sample: int = 1, confidence: float | None = 0.5) -> SweepRow:
    return SweepRow(task, sample, right, confidence is not None, confidence, 1.0)


def test_the_mean_of_pass_at_k_leaves_out_tasks_with_fewer_samples() -> None:
    rows = [row("a", True), row("a", False, 2), row("b", False), row("b", False, 2), row("c", True)]
    assert mean_pass_at_k(rows, 1) == pytest.approx((0.5 + 0 + 1) / 3)
    assert mean_pass_at_k(rows, 2) == pytest.approx(0.5)
    assert mean_pass_at_k(rows, 3) is None


def test_precision_and_recall_by_confidence() -> None:
    rows = [
        row("a", True, confidence=0.9), row("b", False, confidence=0.9),
        row("c", True, confidence=0.4), row("d", False, confidence=None),
        row("e", True, confidence=0.0),
    ]
    assert precision_recall(rows) == [(0.9, 2, 1), (0.4, 3, 2), (0.0, 4, 3)]


def write(folder: Path, name: str, lines: Sequence[dict[str, object]]) -> str:
    folder.mkdir()
    (folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return str(folder)


def line(key: str, right: bool | None) -> dict[str, object]:
    return {"id": key, "outcome": "healed" if right else "unresolved", "rank1_held_out": right,
            "confidence": 0.9 if right else None, "seconds": 1.0, "files": {"a.py": ""}}


def test_a_report_has_tables_plots_and_all_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for library in ("scipy", "matplotlib", "pyarrow"):
        pytest.importorskip(library, reason="the extra `statistics` is not installed")
    from pyarrow import parquet

    old = write(tmp_path / "old", "results.jsonl", [
        line("a", False), line("a#2", True), line("b", False), line("c", None),
    ])
    new = write(tmp_path / "new", "claims.jsonl", [
        {"id": "a", "right": True, "confidence": 0.8, "seconds": 2.0},
        {"id": "b", "right": None, "confidence": None, "seconds": 4.0},
    ])
    out = tmp_path / "out"

    assert main([f"old={old}", f"new={new}", "--out", str(out), "--k", "1", "2"]) == 0

    report = capsys.readouterr().out
    assert report == (out / "report.md").read_text("utf-8")
    assert "| old | 3 | 1 | 33.3% (6.1% to 79.2%) | 1 | 100.0% (20.7% to 100.0%) | 1.0 |" in report
    assert "| new | 2 | +50.0 (" in report and "| 0 | 1 | 1 |" in report
    assert "| old | 25.0% | 100.0% |" in report
    assert "| 0.7 | 1 | 1 | 100.0% (20.7% to 100.0%) | 50% |" in report
    assert {path.name for path in out.iterdir()} == {
        "report.md", "summary.json", "rows.jsonl", "rows.parquet", "rates.png",
        "precision-recall.png",
    }
    assert (out / "rates.png").read_bytes().startswith(b"\x89PNG")
    rows = parquet.read_table(out / "rows.parquet").to_pylist()
    assert [one["setting"] for one in rows] == ["old"] * 4 + ["new"] * 2
    assert rows[0]["files"] == '{"a.py": ""}'


@pytest.mark.parametrize(("content", "said"), [
    (None, "has no results: give the --out"), ("", "has no row whose truth is known"),
    ("{", "cannot be compared"),
])
def test_results_that_cannot_be_read_are_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, said: str
) -> None:
    if content is not None:
        (tmp_path / "results.jsonl").write_text(content, "utf-8")
    assert main([f"a={tmp_path}", "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
