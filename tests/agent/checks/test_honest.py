"""Honest tests are judged as plain Python judges them."""

from __future__ import annotations

import runpy
import sys
import types
from pathlib import Path
from typing import Any

import pytest

CORPUS = runpy.run_path(str(Path(__file__).with_name("corpus.py")))
CASES = CORPUS["CASES"]


def _plain(text: str, test: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a test passes where everything shares one process."""
    module = types.ModuleType("program")
    for name in ("program", "solution"):
        monkeypatch.setitem(sys.modules, name, module)
    exec(compile(CORPUS["HEADER"] + text, "program.py", "exec"), module.__dict__)
    try:
        exec(compile(test, "<test>", "exec"), dict(module.__dict__))
    except (Exception, pytest.fail.Exception):
        return False
    return True


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_each_case_tells_its_programs_apart_in_plain_python(
    case: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _plain(case.good, case.test_code, monkeypatch)
    assert not _plain(case.bad, case.test_code, monkeypatch)


async def test_all_honest_tests_of_the_right_program_pass_and_none_in_process(judge: Any) -> None:
    report = await judge(CORPUS["GOOD"], {case.name: case.test_code for case in CASES})
    assert [(v.name, v.message) for v in report.verdicts if not v.passed] == []
    # Only the solution's own operators are taken on its word.
    assert {v.name for v in report.verdicts if v.integrity != "outside"} == {
        "dataclass", "frozen_dataclass", "enumeration", "operators_of_the_program",
        "ordering_of_the_program", "indexing_of_the_program", "set_of_objects",
    }
    assert {v.integrity for v in report.verdicts} == {"outside", "observed"}


async def test_no_honest_test_of_the_wrong_program_passes(judge: Any) -> None:
    report = await judge(CORPUS["BAD"], {case.name: case.test_code for case in CASES})
    assert len(report.verdicts) == len(CASES) >= 60
    assert [v.name for v in report.verdicts if v.passed] == []
