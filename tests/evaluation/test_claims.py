"""Claims against a hidden truth: what counts as right, and how far a confidence holds."""

from __future__ import annotations

import json
from pathlib import Path

from evaluation.calibration import reliability
from evaluation.cases import read_cases
from evaluation.claims import table


def test_only_what_the_hidden_truth_confirms_is_right(tmp_path: Path) -> None:
    file = tmp_path / "suite.jsonl"
    file.write_text(json.dumps({
        "id": "one", "buggy": "def f(x):\n    return x - 2\n",
        "fixed": "def f(x):\n    return x + 2\n", "tests": ["assert f(0) == 2"],
        "held_out": ["assert f(5) == 7"],
    }) + "\n")
    [case] = read_cases(file)
    assert case.passes({"program.py": "def f(x):\n    return 2\n"})
    assert not case.is_right({"program.py": "def f(x):\n    return 2\n"})
    assert case.is_right({"program.py": "def f(x):\n    return x + 2\n"})


def test_the_calibration_error_is_the_distance_of_confidence_and_share() -> None:
    lines = [*reliability([(0.95, True), (0.95, True), (0.95, False), (0.95, True)])]
    assert "expected calibration error 0.200" in lines
    assert "4 patches, 75% right" in lines


def test_a_proposal_is_no_claim() -> None:
    claim = {
        "id": "a", "suite": "s", "author": "", "outcome": "proposed", "proof": "E1",
        "confidence": 0.5, "features": {}, "right": True, "strategy": "search", "candidates": 1,
        "seconds": 1.0, "exit_code": 6, "diff": "x", "first_s": 0.5,
    }
    wrong = {**claim, "outcome": "healed", "exit_code": 0, "right": False}
    lines = [*table([claim, wrong])]  # type: ignore[list-item]
    assert lines[0].startswith("claimed (HEALED): 1 of 2, right 0, wrong 1")
    assert lines[1].startswith("proposed: 1 of 2, right 1, wrong 0")
