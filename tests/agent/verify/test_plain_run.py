"""The plain run: a test comes out as under pytest, whatever the others do meanwhile."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import File, Task
from agent.target.failures.excluded import with_exclusions
from agent.verify.plain import plain_run
from tests.agent.values import table

PROGRAMS = table(__file__, "plain_run.toml")
PROGRAM = PROGRAMS["program"]
OUTCOMES = PROGRAMS["outcomes"]
COLLECTED = PROGRAMS["collected"]
OTHERWISE = PROGRAMS["otherwise"]
BEYOND_CALLS = PROGRAMS["beyond_calls"]
USED = PROGRAMS["used"]
CHECKED_BY_HAND = PROGRAMS["checked_by_hand"]
FAILING_TWICE = PROGRAMS["failing_twice"]
AS_UNDER_PYTEST = {
    "test_passes": ("passed", ""),
    "test_fails": ("failed", "assert 2 == 3"),
    "test_raises": ("failed", "ZeroDivisionError: division by zero"),
    "test_setup": ("error", "setup: OSError: no table"),
    "test_teardown": ("error", "teardown: OSError: still open"),
    "test_rows[1-2]": ("passed", ""),
    "test_rows[wrong]": ("failed", "assert 3 == 5"),
    "test_skipped": ("skipped", "not now"),
    "test_skips": ("skipped", "not here"),
    "test_known": ("xfailed", ""),
    "test_mended": ("xpassed", ""),
    "test_strict": ("failed", "[XPASS(strict)] known"),
    "TestGroup::test_in": ("passed", ""),
    "Unit::test_equal": ("passed", ""),
    "Unit::test_unequal": ("failed", "AssertionError: 2 != 3"),
    "Unit::test_parts": ("failed", "AssertionError: 3 != 2"),
    "Unit::test_expected": ("xfailed", ""),
    "Unit::test_set_aside": ("skipped", "not now"),
    "Later::test_awaits": ("passed", ""),
    "Later::test_fails": ("failed", "AssertionError: 2 != 3"),
    "test_absent": ("error", "pytest collected no test test_absent"),
}


async def test_each_class_of_outcome_is_pytests(judge: Any) -> None:
    nodes = tuple(dict.fromkeys(name.partition("[")[0] for name in AS_UNDER_PYTEST))

    report = await judge(PROGRAM, OUTCOMES, nodes, entry="calc.py")

    found = {verdict.name: (verdict.status, verdict.message) for verdict in report.verdicts}
    assert found.keys() == AS_UNDER_PYTEST.keys()
    assert {name: status for name, (status, _) in found.items()} == {
        name: status for name, (status, _) in AS_UNDER_PYTEST.items()
    }
    assert {
        name: said for name, (_, said) in found.items() if AS_UNDER_PYTEST[name][1] not in said
    } == {}
    assert {v.integrity for v in report.verdicts if v.status == "passed"} == {
        "isolated", "in-process"
    }
    assert {v.integrity for v in report.verdicts if v.status != "passed"} == {None}


async def test_a_failure_is_shown_with_its_call_and_place(judge: Any) -> None:
    (verdict,) = (await judge(PROGRAM, OUTCOMES, ("test_fails",), entry="calc.py")).verdicts

    assert (verdict.call, verdict.expected, verdict.got) == ("add(1, 1)", "3", "2")

    tests = (
        "import unittest\nfrom calc import add\n"
        "class T(unittest.TestCase):\n"
        "    def test_it(self):\n"
        "        self.assertEqual(add(1, 1), 3)\n"
    )

    (verdict,) = (await judge(PROGRAM, tests, ("T::test_it",), entry="calc.py")).verdicts

    assert verdict.message == "AssertionError: 2 != 3 at line 5 (test_calc.py)"


async def test_a_test_that_ends_or_hangs_its_process_costs_only_itself(judge: Any) -> None:
    calls = {"before": "add(1, 1) == 2", "die": "die()", "endless": "endless()",
             "after": "add(1, 1) == 2"}
    file = "from calc import add, die, endless\n" + "".join(
        f"def test_{name}(): assert {call}\n" for name, call in calls.items()
    )

    in_file = await judge(
        PROGRAM, file, tuple(f"test_{name}" for name in calls), entry="calc.py", wall_s=0.5
    )
    alone = await judge(
        PROGRAM, {name: f"assert {call}" for name, call in calls.items()}, entry="calc.py",
        wall_s=0.5,
    )

    for report in (in_file, alone):
        assert [(v.status, v.message) for v in report.verdicts] == [
            ("passed", ""), ("error", "the program ended its process (exit code 3)"),
            ("timeout", "did not end within 0.5 s"), ("passed", ""),
        ]


async def test_an_end_that_the_test_catches_is_still_an_end(judge: Any) -> None:
    text = "import os\ndef die(): os._exit(0)\ndef endless():\n    while True: pass\n"
    caught = "try:\n    {}()\nexcept BaseException:\n    pass"

    report = await judge(
        text, {name: caught.format(name) for name in ("die", "endless")}, wall_s=0.5
    )

    assert [(v.status, v.message) for v in report.verdicts] == [
        ("error", "the program ended its process (exit code 0)"),
        ("timeout", "did not end within 0.5 s"),
    ]


async def test_an_import_that_never_ends_is_a_timeout(judge: Any) -> None:
    report = await judge("while True: pass", {"a": "assert f(1)", "b": "assert f(2)"}, wall_s=0.5)

    assert [v.status for v in report.verdicts] == ["timeout", "timeout"]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", COLLECTED)
async def test_a_file_that_cannot_be_collected_is_an_error(way: str, judge: Any) -> None:
    code, said = COLLECTED[way]

    (verdict,) = (await judge(PROGRAM, code, ("test_a",), entry="calc.py")).verdicts

    assert verdict.status == "error"
    assert said in verdict.message


async def test_a_program_that_cannot_be_imported_fails_each_test(judge: Any) -> None:
    code = "from calc import f\n\ndef test_a():\n    assert f() == 1\n\ndef test_b():\n    f()\n"

    report = await judge("x = 1\ny = x / 0\n", code, ("test_a", "test_b"), entry="calc.py")

    assert [(v.name, v.status) for v in report.verdicts] == [
        ("test_a", "error"), ("test_b", "error")
    ]
    assert all("ZeroDivisionError: division by zero" in v.message for v in report.verdicts)


async def test_a_hanging_collection_is_ended(judge: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_run, "START_S", 1.5)
    code = "import calc\ncalc.endless()\ndef test_a(): assert calc.add(1, 1) == 2\n"

    (verdict,) = (await judge(PROGRAM, code, ("test_a",), entry="calc.py", wall_s=0.5)).verdicts

    assert verdict.status == "error"
    assert "collecting the tests timed out" in verdict.message


async def test_what_passes_in_some_runs_only_is_flaky(judge: Any) -> None:
    text = """
import os
def f(n):
    try: os.close(os.open("seen", os.O_CREAT | os.O_EXCL))
    except FileExistsError: return 0
    return n + 3 if "_pytest" in __import__("sys").modules else 0
"""
    code = "from calc import f\nimport math\ndef test_a():\n    assert f(5) == 8\n"

    (verdict,) = (await judge(text, code, ("test_a",), entry="calc.py")).verdicts

    assert verdict.fails


@pytest.mark.parametrize("way", OTHERWISE)
async def test_a_program_right_only_under_test_is_not_believed(way: str, judge: Any) -> None:
    text = f"import os, sys\ndef f(n):\n    return n + 3 if {OTHERWISE[way]} else 0\n"
    code = "from calc import f\n\ndef test_it():\n    assert f(5) == 8\n"

    (verdict,) = (await judge(text, code, ("test_it",), entry="calc.py")).verdicts

    assert (verdict.status, verdict.passed) == ("passed", False)
    assert "it behaves differently under test" in verdict.disbelieved


@pytest.mark.sampled(2)
@pytest.mark.parametrize("way", BEYOND_CALLS)
async def test_a_program_whose_tests_do_more_is_believed(way: str, judge: Any) -> None:
    code = "import calc\n" + BEYOND_CALLS[way]

    (verdict,) = (await judge(USED, code, ("test_it",), entry="calc.py")).verdicts

    assert (verdict.passed, verdict.disbelieved) == (True, "")
    assert verdict.integrity in ("in-process", "isolated")
    assert not verdict.vacuous


async def test_conftest_and_helpers_lie_beside_the_tests(judge: Any) -> None:
    task = Task(support=(
        File(path="conftest.py", text="import pytest\n@pytest.fixture\ndef seven(): return 7\n"),
        File(path="helpers.py", text="def check(got):\n    assert got == 42\n"),
        File(path="lib.py", text="def inc(x): return x + 1\n"),
        File(path="rows.txt", text="7\n"),
    ))
    code = (
        "import helpers\nfrom pathlib import Path\nfrom program import f, g\n\n"
        "def test_f(seven):\n    helpers.check(f(seven))\n\n"
        "def test_g():\n    assert g() == int(Path('rows.txt').read_text())\n"
    )
    text = (
        "import lib\ndef f(n): return lib.inc(n) + 34\n"
        "def g(): return int(open('rows.txt').read())\n"
    )

    report = await judge(text, code, ("test_f", "test_g"), task=task)

    assert [(v.status, v.integrity, v.disbelieved) for v in report.verdicts] == [
        ("passed", "in-process", ""), ("passed", "in-process", "")
    ]


@pytest.mark.parametrize("jail", ["L2"], indirect=True)
async def test_without_files_a_test_file_gets_advice(judge: Any) -> None:
    file = "from program import f\ndef test_it():\n    assert f(1) == 2\n"
    snippet = "made = f(2)\nassert made == 3"

    (refused,) = (await judge("def f(n): return n + 1\n", file, ("test_it",))).verdicts
    (passed,) = (await judge("def f(n): return n + 1\n", snippet)).verdicts

    assert refused.status == "error"
    assert refused.message.startswith("a test file needs files, and at this level")
    assert (passed.passed, passed.integrity) == (True, "isolated")


@pytest.mark.nightly
async def test_garbage_that_fails_to_end_does_not_end_the_run(judge: Any) -> None:
    program = (
        "class Handle:\n"
        "    def __init__(self): self.own = self\n"
        "    def __del__(self): self.close()\n"
    )
    tests = (
        "import gc\nfrom program import Handle\n\n"
        "def test_it():\n"
        "    gc.collect()\n"
        "    gc.set_threshold(4_000)\n"
        "    assert [Handle() for _ in range(50)]\n\n"
        "def test_after(): assert Handle().own\n"
    ) + "".join(f"\ndef more_{n}(): return [{n}, ({n}, {{{n}: {n}}})]\n" for n in range(2_000))

    report = await judge(program, tests, ("test_it", "test_after"))

    assert [verdict.status for verdict in report.verdicts] == ["passed", "passed"]


@pytest.mark.nightly
async def test_a_check_that_a_test_leaves_out_by_itself_is_no_evidence(judge: Any) -> None:
    tests = (
        "from calc import add\n\n"
        "def test_it():\n"
        "    try:\n"
        "        import not_to_be_found\n"
        "        assert not_to_be_found.add(1, 1) == add(1, 1)\n"
        "    except ImportError:\n"
        "        pass\n"
    )

    (verdict,) = (await judge(PROGRAM, tests, ("test_it",), entry="calc.py")).verdicts

    assert (verdict.status, verdict.disbelieved, verdict.vacuous) == ("passed", "", True)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("way", CHECKED_BY_HAND)
async def test_a_check_by_hand_is_a_check(way: str, judge: Any) -> None:
    code = "from calc import add, boom\n" + CHECKED_BY_HAND[way]

    (verdict,) = (await judge(PROGRAM, code, ("test_it",), entry="calc.py")).verdicts

    assert (verdict.status, verdict.disbelieved, verdict.vacuous) == ("passed", "", False)


async def test_what_fails_in_its_teardown_too_is_an_error(judge: Any) -> None:
    report = await judge(PROGRAM, FAILING_TWICE, ("test_both", "test_skipped"), entry="calc.py")

    assert [(v.status, v.message.partition(" at ")[0]) for v in report.verdicts] == [
        ("error", "assert 2 == 3"), ("error", "teardown: OSError: still open"),
    ]


async def test_a_pass_that_asks_nothing_shows_nothing(judge: Any) -> None:
    tests = "from calc import add\ndef test_it(): add(1, 2)\n"

    (verdict,) = (await judge(PROGRAM, tests, ("test_it",), entry="calc.py")).verdicts

    assert (verdict.status, verdict.vacuous, verdict.is_evidence) == ("passed", True, False)


@pytest.mark.parametrize(("started", "aside"), [
    ("subprocess.run(['echo', 'hi'])", "the jail can run only Python"),
    ("os.system('exit 0'); assert calc.add(1, 1) == 3", ""),
])
async def test_a_test_that_lacks_a_tool_is_excluded(judge: Any, started: str, aside: str) -> None:
    tests = (
        "import os, subprocess\nimport calc\n"
        f"def test_it():\n    calc.add(1, 1)\n    {started}\n"
    )

    report = await judge(PROGRAM, tests, ("test_it",), entry="calc.py")
    (verdict,) = with_exclusions(report, Task()).verdicts

    assert verdict.status in ("failed", "error")
    assert verdict.message.endswith("; the jail can run only Python")
    assert verdict.excluded == aside


@pytest.mark.nightly
async def test_no_folder_of_a_test_tells_its_parameters_and_main_is_pytest(judge: Any) -> None:
    program = (
        "import __main__\n\ndef told(path):\n"
        "    return path.parent.name.startswith('pytest-') and path.name, __main__.__file__[-18:]\n"
    )
    file = (
        "import pytest\nfrom program import told\n\n@pytest.mark.parametrize('n', [2, 7])\n"
        "def test_it(tmp_path, n):\n"
        "    name, main = told(tmp_path)\n    assert name in ('test_it0', 'test_it1')\n"
        "    assert main.replace('\\\\', '/') == 'pytest/__main__.py'\n"
    )

    report = await judge(program, file, ("test_it",))

    assert [verdict.status for verdict in report.verdicts] == ["passed", "passed"]
