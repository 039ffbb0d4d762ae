"""How two witnesses make a verdict: the table of `belief`, row by row."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import Example, Verdict
from agent.judge.belief import (
    CONTRADICTS,
    LATE,
    Evidence,
    can_contradict,
    compared,
    keeps_to_calls,
    verdict,
)
from agent.judge.signs import ACTING, WRITTEN

TEST = Example(name="two", origin="user", call="f(1)", expected="2")
PASSED: dict[str, Any] = {"status": "passed", "wall_s": 0.5}
FOLLOWED: dict[str, Any] = {"status": "passed", "observed": []}


def told(**more: Any) -> Verdict:
    return Verdict(**{"name": "two", "test": "two", "origin": "user", **more})


PLAIN_WORD = [
    ({"status": "failed", "message": "f(1) gave 3, expected 2", "call": "f(1)", "expected": "2",
      "got": "3", "wall_s": 0.25},
     told(status="failed", message="f(1) gave 3, expected 2", call="f(1)", expected="2", got="3",
          wall_s=0.25)),
    ({"status": "error", "message": "KeyError: 1"}, told(status="error", message="KeyError: 1")),
    ({"status": "timeout", "message": "no end within 5 s"},
     told(status="timeout", message="no end within 5 s")),
    ({"status": "skipped", "message": "not now"}, told(status="skipped", message="not now")),
    ({"status": "xfailed", "message": "known"}, told(status="xfailed", message="known")),
    ({"status": "xpassed"}, told(status="xpassed")),
    ({"status": "wonderful", "got": 5, "wall_s": "long"}, told(status="error")),
]


@pytest.mark.parametrize(("row", "expected"), PLAIN_WORD)
def test_what_does_not_pass_is_the_plain_witness_s_word(
    row: dict[str, Any], expected: Verdict
) -> None:
    overruled = Evidence(row, observed=FOLLOWED, vacuous=True, written="a sign in the text")

    assert verdict(TEST, "two", overruled) == expected


BELIEVED = {
    "followed": (
        Evidence(PASSED, observed=FOLLOWED),
        told(status="passed", integrity="outside", wall_s=0.5),
    ),
    "followed, by a word of the program's": (
        Evidence(PASSED, observed={"status": "passed", "observed": ["== of E", "len of E"]}),
        told(status="passed", integrity="observed", reason="== of E; len of E", wall_s=0.5),
    ),
    "nobody asked": (
        Evidence(PASSED, unfollowed="the test replaces json.dumps"),
        told(status="passed", integrity="in-process", reason="the test replaces json.dumps",
             wall_s=0.5),
    ),
    "no answer in time": (
        Evidence(PASSED), told(status="passed", integrity="in-process", reason=LATE, wall_s=0.5),
    ),
    "not to be followed": (
        Evidence(PASSED, observed={"status": "unfollowable", "message": "a value cannot cross"}),
        told(status="passed", integrity="in-process", reason="a value cannot cross", wall_s=0.5),
    ),
    "otherwise from outside, once": (
        Evidence(
            PASSED, observed={"status": "failed", "message": "0 != 2", "feature": "it pickles"}
        ),
        told(status="passed", integrity="in-process", reason="it pickles (from outside: 0 != 2)",
             wall_s=0.5),
    ),
    "passes on spoilt answers too": (
        Evidence(PASSED, unfollowed="it patches", vacuous=True),
        told(status="passed", integrity="in-process", reason="it patches", vacuous=True,
             wall_s=0.5),
    ),
    "a sign in the text": (
        Evidence(PASSED, observed=FOLLOWED, written=WRITTEN["foreign-module"]),
        told(status="passed", integrity="in-process", reason=WRITTEN["foreign-module"],
             wall_s=0.5),
    ),
    "checks, and completed some": (
        Evidence({**PASSED, "checking": True, "checks": 2}, observed=FOLLOWED),
        told(status="passed", integrity="outside", wall_s=0.5),
    ),
}


@pytest.mark.parametrize("case", BELIEVED)
def test_a_pass_that_is_believed_says_how_far(case: str) -> None:
    seen, expected = BELIEVED[case]

    assert verdict(TEST, "two", seen) == expected
    assert expected.passed and not expected.fails


DOUBTED = {
    "contradicted": (Evidence(PASSED, observed=FOLLOWED, contradicted=True), CONTRADICTS),
    "seen acting": (
        Evidence(PASSED, signs=["it traces", "it traces"], observed=FOLLOWED), "it traces",
    ),
    "seen acting twice": (Evidence(PASSED, signs=["it traces", "it hunts"]), "it traces; it hunts"),
    "seen from outside": (
        Evidence(PASSED, observed={"status": "passed", "signs": [ACTING["swallowed"]]}),
        ACTING["swallowed"],
    ),
    "no check held": (
        Evidence({**PASSED, "checking": True, "checks": 0}, observed=FOLLOWED), ACTING["no-check"],
    ),
    "signs before a contradiction": (
        Evidence(PASSED, signs=["it traces"], contradicted=True, vacuous=True), "it traces",
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
    found = verdict(TEST, "two", Evidence({"status": status}, signs=["it skips"]))

    assert found == told(status=status, doubt="it skips", message="not believed: it skips")
    assert found.fails


def test_what_the_host_compared_rests_on_nobody_s_word() -> None:
    row = {**PASSED, "call": "f(1)", "expected": "2", "got": "2.0", "type_differs": True}

    assert compared(TEST, row) == told(
        status="passed", integrity="outside", call="f(1)", expected="2", got="2.0",
        type_differs=True, wall_s=0.5,
    )


@pytest.mark.parametrize(("row", "can"), [
    (None, False),
    ({"status": "failed", "plain": True}, True),
    ({"status": "error", "plain": True}, False),
    ({"status": "failed", "plain": False}, False),
    ({"status": "failed"}, False),
    ({"status": "passed", "plain": True}, False),
    ({"status": "unfollowable", "plain": True}, False),
    ({"status": "timeout", "plain": True}, False),
])
def test_only_a_failure_in_plain_calls_can_contradict(
    row: dict[str, Any] | None, can: bool
) -> None:
    assert can_contradict(row) is can


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
    assert keeps_to_calls(code, frozenset({"program"})) is keeps
