"""Tests that nobody can follow from outside are known before they run, and cost no waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pytest

from agent.core.domain import Script
from agent.judge import groups, witnesses
from agent.judge.groups import Group
from agent.judge.observed.following import unfollowable
from agent.judge.plain.canary import CanaryKind
from agent.judge.plain.plain_run import PlainRun, run_tests
from agent.judge.subject import Subject
from tests.agent.values import table

LOGS = "the test reads what the program logs"
COROUTINE = "a coroutine cannot cross"
CAUGHT = "def test_a(caplog): assert 'x' in caplog.text\n"


@pytest.mark.parametrize(("code", "reason"), [
    ("from calc import f\ndef test_a(): assert f(1) == 2\n", ""),
    (CAUGHT, LOGS),
    (CAUGHT + "def test_b(): pass\n", ""),
    (CAUGHT + "class TestB:\n    async def test_c(self): await f()\n", LOGS),
    ("def test_a(caplog): caplog.set_level(10)\n", ""),
    ("with self.assertLogs(): f(1)", LOGS),
    ("import asyncio\nassert asyncio.run(f(1)) == 2", COROUTINE),
    ("import pytest\ndef test_a():\n    with pytest.warns(UserWarning): f()\n",
     "the test asks what the program warns of"),
    ("import subprocess\ndef test_a(): subprocess.run(['x'])\n",
     "the test starts the program itself"),
    ("import subprocess\ndef test_a(): pass\n", ""),
    ("def test_a(:", ""),
])
def test_what_nobody_can_follow_is_read_from_the_text(code: str, reason: str) -> None:
    assert unfollowable(code) == reason


def test_of_many_tests_no_more_are_read_once_one_may_be_followed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []
    monkeypatch.setattr(groups, "unfollowable", lambda code: read.append(code) or "")
    tests = [Script(name=f"{n}", origin="user", code=f"assert f({n}) == {n}") for n in range(50)]

    assert Group(cast(Subject, None), tests).unfollowable == ""
    assert read == ["assert f(0) == 0"]


PROGRAMS = table(__file__, "programs.toml")["following"]
LOGGING = PROGRAMS["logging"]
SILENT = PROGRAMS["silent"]


async def test_what_cannot_be_followed_is_spoilt_beside_the_plain_run(
    judge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []

    async def counted(
        group: Group, run: PlainRun, keys: Sequence[str] = (), canary: CanaryKind = ""
    ) -> None:
        runs.append(canary)
        await run_tests(group, run, keys, canary)

    monkeypatch.setattr(witnesses, "run_tests", counted)

    report = await judge(LOGGING, SILENT, ("test_told", "test_silent"), entry="calc.py")

    assert {v.name: (v.status, v.integrity, v.vacuous) for v in report.verdicts} == {
        "test_told": ("passed", "in-process", False), "test_silent": ("passed", "in-process", True),
    }
    assert ({*runs[:2]}, runs[2:]) == ({"", "spoilt false"}, [
        "spoilt true", "spoilt idle", "elsewhere",
    ])


@pytest.mark.parametrize(("program", "test", "integrity"), [
    (
        "def total(xs):\n    xs.clear()\n    return 0\n",
        "xs = [1, 2]\nassert total(xs) == sum(xs)", "in-process",
    ),
    ("def total(xs):\n    return sum(xs)\n", "xs = [1, 2]\nassert total(xs) == sum(xs)", "outside"),
    ("def tidy(xs):\n    xs.sort()\n", "xs = [2, 1]\ntidy(xs)\nassert xs == [1, 2]", "outside"),
])
async def test_an_answer_beside_a_changed_argument_is_not_taken_from_outside(
    judge: Any, program: str, test: str, integrity: str
) -> None:
    (verdict,) = (await judge(program, {"it": test})).verdicts

    assert (verdict.status, verdict.integrity) == ("passed", integrity)
