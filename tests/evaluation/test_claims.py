"""Claims against a hidden truth: what counts as right, and how far a confidence holds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation import cases
from evaluation.calibration import reliability
from evaluation.cases import Case, read_cases
from evaluation.claims import heal_case, table
from evaluation.with_model import question


def project_proof(folder: Path, row: dict[str, object]) -> Case:
    """The only case of a suite of one line."""
    file = folder / "suite.jsonl"
    file.write_text(json.dumps({"id": "one", **row}) + "\n")
    [case] = read_cases(file)
    return case


def test_the_hidden_truth_decides(tmp_path: Path) -> None:
    case = project_proof(tmp_path, {
        "buggy": "def f(x):\n    return x - 2\n",
        "fixed": "def f(x):\n    return x + 2\n", "tests": ["assert f(0) == 2"],
        "held_out": ["assert f(5) == 7"],
    })
    assert case.passes({"program.py": "def f(x):\n    return 2\n"})
    assert not case.is_right({"program.py": "def f(x):\n    return 2\n"})
    assert case.is_right({"program.py": "def f(x):\n    return x + 2\n"})

    case = project_proof(tmp_path, {
        "mode": "asserts", "program": "def f(x):\n    return x - 2\n",
        "tests": "assert f(0) == 2", "truth": "assert f(5) == 7",
        "fixed": "def f(x):\n    return x + 2\n",
    })
    assert case.is_right(case.reference)
    assert not case.is_right({"program.py": "def f(x):\n    return 2\n"})
    assert not case.is_right({"program.py": "def f(x):\n    raise SystemExit(0)\n"})


@pytest.mark.nightly
def test_the_reference_program_is_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cases, "TRUTH_S", 5.0)
    case = project_proof(tmp_path, {
        "mode": "asserts", "program": "def area(w, h):\n    return w + h\n",
        "tests": "assert area(2, 5) == 10\nassert area(3, 3) == 9", "support": {},
        "truth": "while True: pass", "fixed": "def area(w, h):\n    return w * h\n",
    })
    claim = heal_case(case, "suite")
    assert claim["diff"]
    assert claim["right"] is True


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


def test_questions_show_the_task_or_the_failure(tmp_path: Path) -> None:
    case = project_proof(tmp_path, {
        "task": "Write f(x), which adds two. f(0) returns 2.", "tests": [],
        "entry_point": "f", "fixed": "def f(x):\n    return x + 2\n",
        "held_out": ["assert f(5) == 7"],
    })
    constant = {"program.py": "def f(x):\n    return 2\n"}
    assert (case.mode, case.program, case.failure()) == ("task", "", "")
    assert case.passes(constant)
    assert not case.is_right(constant)
    assert "adds two" in question(case)

    case = project_proof(tmp_path, {
        "mode": "crash", "program": "print(nme)\n", "truth": "print('TRUTH OK')",
    })
    assert "print(nme)" in question(case)
    assert "The error is:\nNameError: name 'nme' is not defined" in question(case)
