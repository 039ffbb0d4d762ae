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


LEVELS = ("subprocess", "L2", "L3", "L4")
NEED_FILES = {"file_errors"}


def _tests(request: pytest.FixtureRequest) -> dict[str, str]:
    """All tests that the level in question lets run."""
    without_files = request.node.callspec.params["jail"] == "L2"
    return {
        case.name: case.test_code for case in CASES
        if not (without_files and case.name in NEED_FILES)
    }


@pytest.mark.parametrize("jail", LEVELS, indirect=True)
async def test_all_honest_tests_of_the_right_program_pass_and_none_in_process(
    judge: Any, request: pytest.FixtureRequest
) -> None:
    report = await judge(CORPUS["GOOD"], _tests(request))
    assert [(v.name, v.message) for v in report.verdicts if not v.passed] == []
    # Only the solution's own operators are taken on its word.
    assert {v.name for v in report.verdicts if v.integrity != "outside"} == {
        "dataclass", "frozen_dataclass", "enumeration", "operators_of_the_program",
        "ordering_of_the_program", "indexing_of_the_program", "set_of_objects",
    }
    assert {v.integrity for v in report.verdicts} == {"outside", "observed"}


@pytest.mark.parametrize("jail", LEVELS, indirect=True)
async def test_no_honest_test_of_the_wrong_program_passes(
    judge: Any, request: pytest.FixtureRequest
) -> None:
    tests = _tests(request)
    report = await judge(CORPUS["BAD"], tests)
    assert len(report.verdicts) == len(tests) >= 60
    assert [v.name for v in report.verdicts if v.passed] == []


@pytest.mark.parametrize("jail", ["L2"], indirect=True)
async def test_where_no_file_can_be_opened_a_test_file_is_told_what_to_do(judge: Any) -> None:
    file = "from program import f\ndef test_it():\n    assert f(1) == 2\n"
    patching = file.replace("def test_it():", "def test_it(monkeypatch):") + (
        "    monkeypatch.setattr('math.pi', 3)\n"
    )
    for code in (file, patching):
        (verdict,) = (await judge("def f(n): return n + 1\n", code, ("test_it",))).verdicts
        assert verdict.status == "error"
        assert verdict.message.startswith("a test file needs files, and at this level")
    snippet = (
        "import pytest\nassert f(1) == pytest.approx(2)\nwith pytest.raises(TypeError):\n    f('')"
    )
    (verdict,) = (await judge("def f(n): return n + 1\n", snippet)).verdicts
    assert (verdict.status, verdict.integrity) == ("passed", "outside")
