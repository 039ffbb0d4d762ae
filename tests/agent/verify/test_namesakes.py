"""A program's own files: those that are called like modules of Python, and how they are named."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import File
from agent.verify.tamper_indicators import RUNTIME_INDICATORS

CHANGES_THE_RUNNER = """\
import sys


def passed(self):
    return None


if "_pytest.python" in sys.modules:
    sys.modules["_pytest.python"].Function.runtest = passed
"""
OUT_OF_REACH = "from program import f\n\ndef test_it():\n    assert eval('f(5)') == 8\n"


@pytest.mark.parametrize(
    "name", ["collections", "dataclasses", "linecache", "random", "signal", "traceback", "typing"]
)
async def test_a_file_of_the_same_name_is_not_run_for_our_module(name: str, judge: Any) -> None:
    own = File(path=f"{name}.py", text=CHANGES_THE_RUNNER)

    report = await judge("def f(x):\n    return 0\n", OUT_OF_REACH, ("test_it",), files=(own,))

    (verdict,) = report.verdicts
    assert (verdict.status, verdict.got, verdict.disbelieved) == ("failed", "0", "")


async def test_what_a_program_imports_by_such_a_name_is_its_own(judge: Any) -> None:
    own = File(path="queue.py", text="def first(items):\n    return items[0]\n")
    program = "from queue import first\n\ndef f(x):\n    return first([x + 3])\n"

    test = "from program import f\n\ndef test_it():\n    assert f(5) == 8\n"

    report = await judge(program, test, ("test_it",), files=(own,))

    (verdict,) = report.verdicts
    assert (verdict.status, verdict.integrity) == ("passed", "isolated")


async def test_each_affected_test_is_doubted(judge: Any) -> None:
    program = "import gc\n\n\ndef f(x):\n    gc.get_objects()\n    return x + 3\n"
    tests = (
        "from program import f\n\ndef test_a():\n    assert f(5) == 8\n\n"
        "def test_b():\n    assert f(1) == 4\n"
    )

    report = await judge(program, tests, ("test_a", "test_b"))

    assert [
        RUNTIME_INDICATORS["collector"] in verdict.disbelieved for verdict in report.verdicts
    ] == [True, True]


async def test_a_message_names_a_file_as_its_user_does(judge: Any) -> None:
    program = "import os\n\n\ndef f(x):\n    raise ValueError(os.path.abspath('a.txt'))\n"

    report = await judge(program, "assert f(1) == 2\n")

    (verdict,) = report.verdicts
    assert verdict.message.startswith("ValueError: a.txt")
