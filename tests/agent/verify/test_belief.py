"""From what was seen of a test to its verdict: the table of `belief`, row by row."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import Example, Verdict
from agent.verify.belief import (
    CONTRADICTS,
    PARTLY_IN_PROCESS,
    RunEvidence,
    compared,
    only_calls_program,
    verdict,
)
from agent.verify.tamper_indicators import RUNTIME_INDICATORS, TEXT_INDICATORS

TEST = Example(name="two", origin="user", call="f(1)", expected="2")
PASSED: dict[str, Any] = {"status": "passed", "wall_s": 0.5}


def told(**more: Any) -> Verdict:
    return Verdict(**{"name": "two", "test": "two", "origin": "user", **more})


PLAIN_WORD = [
    ({"status": "failed", "message": "f(1) gave 3, expected 2", "call": "f(1)", "expected": "2",
      "got": "3", "wall_s": 0.25},
     told(status="failed", message="f(1) gave 3, expected 2", call="f(1)", expected="2", got="3",
          wall_s=0.25)),
    ({"status": "error", "message": "KeyError: 1"}, told(status="error", message="KeyError: 1")),
    ({"status": "timeout", "message": "did not end within 5 s"},
     told(status="timeout", message="did not end within 5 s")),
    ({"status": "skipped", "message": "not now"}, told(status="skipped", message="not now")),
    ({"status": "xfailed", "message": "known"}, told(status="xfailed", message="known")),
    ({"status": "xpassed"}, told(status="xpassed")),
    ({"status": "wonderful", "got": 5, "wall_s": "long"}, told(status="error")),
]


@pytest.mark.parametrize(("row", "expected"), PLAIN_WORD)
def test_a_failed_test_is_reported_as_by_pytest(row: dict[str, Any], expected: Verdict) -> None:
    overruled = RunEvidence(
        row, is_isolated=True, vacuous=True, text_indicator="a sign in the text"
    )

    assert verdict(TEST, "two", overruled) == expected


BELIEVED = {
    "all its checks compared outside": (
        RunEvidence(PASSED, is_isolated=True),
        told(status="passed", integrity="isolated", wall_s=0.5),
    ),
    "not all of them": (
        RunEvidence(PASSED),
        told(status="passed", integrity="in-process", reason=PARTLY_IN_PROCESS, wall_s=0.5),
    ),
    "passes on wrong answers too": (
        RunEvidence(PASSED, vacuous=True),
        told(
            status="passed", integrity="in-process", reason=PARTLY_IN_PROCESS, vacuous=True,
            wall_s=0.5,
        ),
    ),
    "a sign in the text": (
        RunEvidence(PASSED, is_isolated=True, text_indicator=TEXT_INDICATORS["foreign-module"]),
        told(
            status="passed", integrity="in-process", reason=TEXT_INDICATORS["foreign-module"],
            wall_s=0.5,
        ),
    ),
    "checks, and completed some": (
        RunEvidence({**PASSED, "checking": True, "checks": 2}, is_isolated=True),
        told(status="passed", integrity="isolated", wall_s=0.5),
    ),
}


@pytest.mark.parametrize("case", BELIEVED)
def test_a_pass_that_is_believed_says_how_far(case: str) -> None:
    seen, expected = BELIEVED[case]

    assert verdict(TEST, "two", seen) == expected
    assert expected.passed and not expected.fails


DOUBTED = {
    "answered otherwise": (
        RunEvidence(PASSED, contradicted="f(1) gave 0, expected 2"),
        f"{CONTRADICTS}: f(1) gave 0, expected 2",
    ),
    "seen acting": (RunEvidence(PASSED, indicators=["it traces", "it traces"]), "it traces"),
    "seen acting twice": (
        RunEvidence(PASSED, indicators=["it traces", "it hunts"]),
        "it traces; it hunts",
    ),
    "no check held": (
        RunEvidence({**PASSED, "checking": True, "checks": 0}),
        RUNTIME_INDICATORS["no-check"],
    ),
    "signs before a contradiction": (
        RunEvidence(PASSED, indicators=["it traces"], contradicted="f(1) gave 0", vacuous=True),
        "it traces",
    ),
}


@pytest.mark.parametrize("case", DOUBTED)
def test_a_pass_that_is_not_believed_says_why(case: str) -> None:
    seen, doubt = DOUBTED[case]

    found = verdict(TEST, "two", seen)

    assert found == told(
        status="passed", doubt=doubt, message=f"not believed: {doubt}", wall_s=0.5
    )
    assert found.fails and not found.passed


@pytest.mark.parametrize("status", ["skipped", "xfailed", "xpassed"])
def test_a_test_that_the_program_sets_aside_fails(status: str) -> None:
    found = verdict(TEST, "two", RunEvidence({"status": status}, indicators=["it skips"]))

    assert found == told(status=status, doubt="it skips", message="not believed: it skips")
    assert found.fails


def test_what_the_host_compared_is_isolated() -> None:
    row = {**PASSED, "call": "f(1)", "expected": "2", "got": "2.0", "type_differs": True}

    assert compared(TEST, row) == told(
        status="passed", integrity="isolated", call="f(1)", expected="2", got="2.0",
        type_differs=True, wall_s=0.5,
    )


@pytest.mark.parametrize(("code", "keeps"), [
    ("from program import f\nassert f(1) == 2", True),
    ("from elsewhere import f\nassert f(1) == 2", False),
    ("@pytest.fixture\ndef made(): ...", False),
    ("@pytest.mark.parametrize('n', [1])\ndef test_it(n): ...", True),
    ("import math\nassert math.isclose(f(1), 2)", True),
    ("def test_it(monkeypatch): ...", False),
    ("import unittest.mock as mock\nwith mock.patch('time.time'): ...", False),
    ("import os\nos.environ['A'] = '1'", False),
    ("import doctest\ndoctest.testmod(program)", False),
    ("assert output in capsys.readouterr().out", False),
])
def test_a_test_that_changes_more_than_calls_do_says_so_in_words(code: str, keeps: bool) -> None:
    assert only_calls_program(code, frozenset({"program"})) is keeps
