"""A verdict is never the word of the code it judges."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent.cli import app

FORGERIES = runpy.run_path(str(Path(__file__).with_name("forgeries.py")))
TESTS: dict[str, str] = FORGERIES["TESTS"]
LEVELS = ("subprocess", "L2", "L3", "L4")
FEW = ("table", "any error", "block", "state")
"""For attacks that cost a fresh pair of processes with each test."""
COSTLY = frozenset({
    "ends at import", "ends in the call", "killed", "patched builtins", "patched json",
    "patched codec", "wire of a library function", "overwrites what the test holds",
    "writes into every descriptor", "writes into descriptors in the call", "reads the channel",
    "closes every descriptor", "floods from threads", "a huge answer", "a huge number",
    "exceptions that steer the judge", "an endless wait", "a thread that races the report",
    "a verdict to the host", "a huge message to the tests", "a generator without end",
    "its own load", "answers to questions not asked", "answers read from other processes",
})
NEEDS_FILES = frozenset({"hunts in files", "answers read from other processes"})


@pytest.mark.parametrize("jail", LEVELS, indirect=True)
async def test_the_right_program_passes_every_test_the_forgers_face(judge: Any) -> None:
    report = await judge(FORGERIES["RIGHT"], TESTS)
    assert [(v.name, v.message) for v in report.verdicts if not v.passed] == []


@pytest.mark.parametrize("jail", LEVELS, indirect=True)
@pytest.mark.parametrize("attack", FORGERIES["ATTACKS"])
async def test_a_forged_verdict_is_not_believed(
    attack: str, judge: Any, request: pytest.FixtureRequest
) -> None:
    level = request.node.callspec.params["jail"]
    if level == "L2" and attack in NEEDS_FILES:
        pytest.skip("at L2 there is no file to read the answers from")
    text = FORGERIES["WRONG"] + FORGERIES["ATTACKS"][attack]
    # Elsewhere the same judge meets the same messages; all tests at one level are enough.
    few = attack in COSTLY or level != "L4"
    tests = {name: TESTS[name] for name in (FEW if few else TESTS)}
    report = await judge(text, tests, wall_s=1.0)
    right_by_itself = RIGHT_BY_ITSELF.get(attack, frozenset())
    assert {v.name for v in report.verdicts if v.passed} <= right_by_itself
    assert len(report.verdicts) == len(tests)
    assert not report.passed


CALLS = ("f(5) == 8", "f(1) == 2", "f(7) == 13", "Q().size == 1")
"""Examples: the host itself compares all but the last."""


def _checked(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """Exit code and words of `python -m agent check`."""
    monkeypatch.setenv("HEAL_TEST_S", "1")
    path = folder / "program.py"
    path.write_text(text, "utf-8")
    tests = [part for call in CALLS for part in ("--tests", f"assert {call}")]
    done = CliRunner().invoke(app, ["check", str(path), *tests])
    return done.exit_code, done.output


def test_the_terminal_reports_a_pass_of_the_right_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FORGERIES["RIGHT"].replace("self.size = 0", "self.size = 1")
    code, words = _checked(text, tmp_path, monkeypatch)
    assert code == 0
    assert words.splitlines()[-1].startswith("ALL PASS · proof E1 · ")


@pytest.mark.parametrize("attack", FORGERIES["ATTACKS"])
def test_the_terminal_never_reports_a_pass_for_a_forgery(
    attack: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = FORGERIES["WRONG"] + FORGERIES["ATTACKS"][attack]
    code, words = _checked(text, tmp_path, monkeypatch)
    assert code != 0
    assert words.splitlines()[-1] == "NOT ALL PASS"


RIGHT_BY_ITSELF = {
    # These do raise what the test asks for, so the test is right to pass.
    attack: frozenset({"any error", "a type error"}) for attack in FORGERIES["ATTACKS"]
}


EQUAL = """
class E:
    def __eq__(self, other): return True
    def __hash__(self): return 5

def f(n): return E()
"""


async def test_an_object_equal_to_everything_fails_with_the_reason(judge: Any) -> None:
    (verdict,) = (await judge(EQUAL, "assert f(2) == 5")).verdicts
    assert (verdict.status, verdict.integrity) == ("failed", "outside")
    assert "class E is never equal to a plain value" in verdict.message


async def test_a_solution_that_ends_its_process_does_not_pass_as_raising(judge: Any) -> None:
    code = "try:\n    f(1)\nexcept BaseException:\n    pass"
    (verdict,) = (await judge("import os\ndef f(n): os._exit(0)", code)).verdicts
    assert verdict.status == "error"
    assert verdict.message == "the solution ended its process (exit code 0)"


async def test_a_value_that_cannot_cross_does_not_pass_as_raising(judge: Any) -> None:
    text = "def f(n):\n    x = []\n    for _ in range(9999): x = [x]\n    return x"
    code = "import pytest\nwith pytest.raises(BaseException):\n    f(1)"
    (verdict,) = (await judge(text, code)).verdicts
    assert (verdict.status, verdict.message) == (
        "error", "a value is nested more than 120 levels deep"
    )


async def test_a_deadline_that_the_test_swallows_is_still_a_timeout(judge: Any) -> None:
    text = "def f(n):\n    while True: pass"
    code = "try:\n    f(1)\nexcept BaseException:\n    pass"
    (verdict,) = (await judge(text, code, wall_s=0.5)).verdicts
    assert (verdict.status, verdict.message) == ("timeout", "no end within 0.5 s")


async def test_an_import_that_never_ends_is_a_timeout(judge: Any) -> None:
    report = await judge("while True: pass", {"a": "assert f(1)", "b": "assert f(2)"}, wall_s=0.5)
    assert [v.status for v in report.verdicts] == ["timeout", "timeout"]


async def test_the_solution_does_not_find_expected_values_in_its_memory(judge: Any) -> None:
    text = """
import gc
def f(n):
    sought = int("".join(["1234", "321"]))
    for one in gc.get_objects():
        if isinstance(one, (list, tuple)) and any(x == sought for x in one if type(x) is int):
            return sought
    return 0
"""
    first, second = (await judge(text, {
        "a": "assert f(1) == 1234321", "b": "expected = [1234321]\nassert f(1) == expected[0]"
    })).verdicts
    assert (first.status, second.status) == ("failed", "failed")


async def test_a_failed_assert_tells_the_solution_nothing(judge: Any) -> None:
    text = """
heard = []
class block:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace):
        heard.append(str(error) + str(getattr(error, "args", "")))
        return True
def f(n): return 0
"""
    code = """
try:
    with block():
        assert f(1) == 987654, "987654 was expected"
except AssertionError:
    pass
assert "987654" not in "".join(heard), heard
"""
    (verdict,) = (await judge(text, code)).verdicts
    assert verdict.passed


async def test_the_solution_cannot_have_its_own_files_run_beside_the_tests(judge: Any) -> None:
    # unittest.__main__ imports every test*.py of the current folder.
    text = '''
import sys, types
class E(Exception): pass
E.__module__ = "unittest.__main__"
sys.modules["unittest.__main__"] = types.ModuleType("unittest.__main__")
sys.modules["unittest.__main__"].E = E
FORGERY = """
import gc
for one in gc.get_objects():
    if type(one).__name__ == "Court":
        one.verdict = lambda *told: {"status": "passed"}
"""
def f(n):
    with open("test_forgery.py", "w") as file:
        file.write(FORGERY)
    raise E
'''
    code = """
from program import f
def test_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert f(1) == 2
"""
    (verdict,) = (await judge(text, code, ("test_it",))).verdicts
    assert (verdict.status, verdict.got) == ("error", "E")


async def test_the_solution_cannot_read_behind_what_the_test_gives_it(judge: Any) -> None:
    text = """
import gc
def f(key):
    (link,) = [one for one in gc.get_objects() if type(one).__name__ == "Link"]
    show = link.request("get", "{0.__globals__} {0.__code__.co_consts}", "format")
    return link.request("call", show, (key,), {})
"""
    (verdict,) = (await judge(text, "def key(n):\n    return 987654\nassert not f(key)")).verdicts
    assert (verdict.status, verdict.got) == (
        "error", "AttributeError: the test does not give this away"
    )


async def test_exceptions_of_the_library_are_known_by_their_bases(judge: Any) -> None:
    text = "import json\ndef f(n): return json.loads('{')"
    code = "try:\n    f(1)\nexcept ValueError as error:\n    assert error.pos == 1"
    (verdict,) = (await judge(text, code)).verdicts
    assert verdict.passed


@pytest.mark.parametrize("lie", [
    "mock.assert_called_once_with = lambda *a: None",
    "mock.configure_mock(assert_called_once_with=lambda *a: None)",
    "getattr(mock, 'configure_' + 'mock')(assert_called_once_with=lambda *a: None)",
])
async def test_a_mock_of_the_test_cannot_be_told_what_to_say(lie: str, judge: Any) -> None:
    text = f"def f(mock):\n    mock(1)\n    try:\n        {lie}\n    except AttributeError: pass\n"
    code = "from unittest.mock import Mock\nm = Mock()\nf(m)\nm.assert_called_once_with(8)"
    (verdict,) = (await judge(text, code)).verdicts
    assert verdict.status == "failed"


async def test_a_check_of_the_test_that_the_solution_replaces_is_its_own_word(judge: Any) -> None:
    text = "def f(spy):\n    spy.check = lambda *a: None\n    spy.seen = 1\n"
    code = "class Spy:\n    def check(self, n): assert n == 0\ns = Spy()\nf(s)\ns.check(8)\n"
    (verdict,) = (await judge(text, code)).verdicts
    assert (verdict.integrity, verdict.reason) == (
        "observed", "the solution replaces check of an object of the test"
    )


@pytest.mark.parametrize("text", [
    "class L(str):\n    def startswith(self, *a): return True\ndef f(n): return L()",
    "class L:\n    def startswith(self, *a): return True\ndef f(n): return L()",
    "class L:\n    def __getattr__(self, name): return lambda *a: True\ndef f(n): return L()",
])
async def test_the_answer_of_an_object_in_a_strings_place_is_its_own_word(
    text: str, judge: Any
) -> None:
    (verdict,) = (await judge(text, "assert f(1).startswith('hello')")).verdicts
    assert (verdict.integrity, verdict.reason) == (
        "observed", "startswith of the solution's class L"
    )
