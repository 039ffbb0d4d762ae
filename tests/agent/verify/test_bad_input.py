"""Source and values of any kind give a named verdict each, and never an exception of ours."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import Example, Property, Raises, Script, Task, TestCase
from agent.verify.judge import check
from sandbox.sandbox import Sandbox
from tests.agent.values import program, table

TEXTS = {
    "empty": "",
    "a null byte": "x = '\0'\n",
    "only null bytes": "\0" * 1000,
    "a lone surrogate": "x = '\ud800'\n",
    "a byte order mark": "\ufeffdef f(n):\n    return n\n",
    "another encoding": "# -*- coding: utf-16 -*-\ndef f(n):\n    return n\n",
    "an unknown encoding": "# -*- coding: nowhere -*-\ndef f(n):\n    return n\n",
    "form feeds and carriage returns": "\x0cdef f(n):\r\n    return n\r",
    "open brackets": "(" * 100_000,
    "nested brackets": "(" * 10_000 + ")" * 10_000,
    "nested lists": "x = " + "[" * 150 + "]" * 150,
    "a long chain of signs": "x = " + "-" * 100_000 + "1",
    "a long sum": "x = 1" + " + 1" * 20_000,
    "a long chain of attributes": "x = f" + ".a" * 20_000,
    "nested calls": "f(" * 5_000 + ")" * 5_000,
    "deep indentation": "".join(" " * n + "if 1:\n" for n in range(150)) + " " * 150 + "pass\n",
    "a long line": "x = '" + "y" * 3_000_000 + "'\n",
    "a huge number": "x = " + "9" * 100_000,
    "an unfinished string": "x = '''" + "y" * 1000,
    "nonsense": "\x7f\x80 \u202e def (:",
}


def _tests(text: str) -> list[TestCase]:
    """One test of each kind that holds the text."""
    return [
        Example(name="example", origin="user", call=text, expected="1"),
        Example(name="expected", origin="user", call="f(1)", expected=text),
        Raises(name="raises", origin="user", call=text, exception="ValueError"),
        Property(name="property", origin="user", call="f(1)", predicate=text),
        Script(name="script", origin="user", code=text + "\nassert f(1) == 2\n"),
        Script(name="file", origin="user", node="test_a",
               code=text + "\ndef test_a():\n    assert 0\n"),
    ]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", TEXTS)
async def test_any_program_gets_a_verdict(kind: str, jail: Sandbox) -> None:
    tests: list[TestCase] = [
        Example(name="example", origin="user", call="f(1)", expected="2"),
        Script(name="script", origin="user", code="assert f(1) == 2"),
        Script(name="file", origin="user", node="test_a",
               code="from program import f\ndef test_a():\n    assert f(1) == 2\n"),
    ]
    report = await check(program(TEXTS[kind], "program.py"), tests, Task(), jail, run_program=True)
    assert [v.status in ("failed", "error") for v in report.verdicts] == [True] * 3
    assert all(verdict.message for verdict in report.verdicts)
    assert report.ending is not None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", TEXTS)
async def test_any_test_gets_a_verdict(kind: str, jail: Sandbox) -> None:
    echo = program("def f(n):\n    return n\n", "program.py")
    tests = _tests(TEXTS[kind])
    report = await check(echo, tests, Task(), jail, run_program=False)
    assert [v.name for v in report.verdicts] == [test.name for test in tests]
    assert not report.passed
    assert all(verdict.message or verdict.passed for verdict in report.verdicts)


VALUES = table(__file__, "programs.toml")["bad_input"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", VALUES)
async def test_any_value_gets_a_verdict(kind: str, jail: Sandbox) -> None:
    tests: list[TestCase] = [
        Example(name="example", origin="user", call="f(1)", expected="2"),
        Raises(name="raises", origin="user", call="f(1)", exception="KeyError"),
        Script(name="script", origin="user", code="x = f(1)\nassert x == 2"),
    ]
    report = await check(
        program(VALUES[kind], "program.py"), tests, Task(), jail, run_program=False, wall_s=1.0
    )
    assert [verdict.name for verdict in report.verdicts] == ["example", "raises", "script"]
    assert [verdict.name for verdict in report.verdicts if verdict.passed] == []
    assert all(verdict.message for verdict in report.verdicts)


async def test_judging_any_program_leaves_the_host_as_it_was(jail: Sandbox) -> None:
    right: Any = program("def f(n):\n    return n + 1\n", "program.py")
    test = Example(name="example", origin="user", call="f(1)", expected="2")
    assert (await check(right, [test], Task(), jail)).passed
