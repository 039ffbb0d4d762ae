"""Tests that nobody can follow from outside are known before they run, and cost no waiting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agent.judge import witnesses
from agent.judge.nodes import EVERY
from agent.judge.observed.following import names_of_functions, unfollowable
from agent.judge.plain.plain_run import PlainRun, run_file

MODULES = frozenset({"calc"})
LOGS = "the test reads what the program logs"
COROUTINE = "a coroutine cannot cross"


@pytest.mark.parametrize(("code", "reasons"), [
    ("from calc import f\ndef test_a(): assert f(1) == 2\n", {}),
    ("def test_a(caplog): assert 'x' in caplog.text\n", {"test_a": LOGS}),
    ("def test_a(caplog): caplog.set_level(10)\n", {}),
    ("def shown(log): return log.x\ndef test_a(): shown(1)\ndef test_b(): pass\n", {}),
    (
        "class TestLog:\n"
        "    def test_a(self): self.assertLogs()\n"
        "    def test_b(self): pass\n",
        {"TestLog::test_a": LOGS},
    ),
    (
        "class TestLog:\n"
        "    def setUp(self): self.logs = self.assertLogs()\n"
        "    def test_a(self): pass\n",
        {"TestLog::test_a": LOGS},
    ),
    (
        "import pytest\n"
        "@pytest.fixture\ndef warned():\n    with pytest.warns(UserWarning): yield\n"
        "def test_a(warned): pass\ndef test_b(): pass\n",
        {"test_a": "the test asks what the program warns of"},
    ),
    (
        "import pytest, subprocess\n"
        "@pytest.fixture(autouse=True)\ndef started(): subprocess.run(['x'])\n"
        "def test_a(): pass\n",
        {EVERY: "the test starts the program itself, by subprocess"},
    ),
    ("import subprocess\ndef test_a(): pass\n", {}),
    (
        "import asyncio\nfrom calc import f\ndef test_a(): asyncio.run(f(1))\n",
        {"test_a": COROUTINE},
    ),
    ("import calc\nasync def test_a(): await calc.f(1)\n", {"test_a": COROUTINE}),
    ("import asyncio\nasync def test_a(): await asyncio.sleep(0)\n", {}),
    (
        "from unittest.mock import patch\n@patch('builtins.open')\ndef test_a(opened): pass\n",
        {"test_a": "the test replaces builtins.open, which the solution would have to see"},
    ),
    ("from unittest.mock import patch\n@patch('calc.now')\ndef test_a(now): pass\n", {}),
    ("def test_a(:", {}),
])
def test_what_nobody_can_follow_is_read_from_the_text(
    code: str, reasons: dict[str, str]
) -> None:
    assert unfollowable(code, MODULES) == reasons


def test_functions_are_named_as_pytest_names_them() -> None:
    code = "def test_a(): pass\nclass TestB:\n    def test_c(self): pass\n    def set(self): pass\n"

    assert names_of_functions(code) == ("test_a", "TestB::test_c")


LOGGING = """
import logging

def told(n):
    logging.getLogger("calc").warning("told %d", n)
    return n
"""
SILENT = """
from calc import told

def test_told(caplog):
    told(2)
    assert "told 2" in caplog.text

def test_silent(caplog):
    told(3)
    assert caplog.text is not None
"""


async def test_what_cannot_be_followed_is_spoilt_beside_the_plain_run(
    judge: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[str] = []

    async def counted(
        brought: Any, code: str, tests: Any, canary_kind: Any, only: Sequence[str], run: PlainRun
    ) -> None:
        runs.append(canary_kind)
        await run_file(brought, code, tests, canary_kind, only, run)

    monkeypatch.setattr(witnesses, "run_file", counted)

    report = await judge(LOGGING, SILENT, ("test_told", "test_silent"), entry="calc.py")

    assert {v.name: (v.status, v.integrity, v.vacuous) for v in report.verdicts} == {
        "test_told": ("passed", "in-process", True), "test_silent": ("passed", "in-process", True),
    }
    assert ({*runs[:2]}, runs[2:]) == ({"", "spoilt false"}, ["spoilt true"])


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
