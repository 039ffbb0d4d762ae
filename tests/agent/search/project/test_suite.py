"""A project's suite: run by its own pytest, and kept for many candidates."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Iterable
from itertools import count, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agent.core.domain import Project, Report
from agent.interfaces.project.obstacles import note_on_partial_run, unrun_tests
from agent.search.precheck.changes import change
from agent.search.project.programs.item_runs import ItemRun
from agent.search.project.programs.suite_session import _SHARED_BYTES, _Rows, _Suite
from agent.search.project.suite import CollectedSuite, TestRow, open_suite
from agent.target.errors import TimeIsUp
from agent.target.failures.excluded import with_exclusions
from agent.verify.jail_modules import pytest_bundle, pytest_site
from agent.verify.judge import check
from agent.verify.project import suite_run
from agent.verify.project.suite_run import missing_tests, run_suite, verdicts
from sandbox.sandbox import open_sandbox
from tests.agent.search.project.small_project import (
    FAILING,
    FILES,
    HEALED,
    PROJECT,
    base,
    pyproject,
    scripts,
    task,
)

MONEY = "src/till/money.py"


@pytest.fixture
async def suite() -> AsyncIterator[CollectedSuite]:
    async with open_suite(FILES, PROJECT, (), open_sandbox()) as kept:
        yield kept


async def test_outcomes_are_those_of_pytest() -> None:
    run = await run_suite(FILES, PROJECT, (), open_sandbox())
    assert {*run.failing} == FAILING
    assert (run.exit_code, run.problems) == (1, [])
    statuses = {node.rpartition("::")[2]: row["status"] for node, row in run.outcomes.items()}
    assert statuses["test_later"] == statuses["test_odd"] == "xfailed"
    assert statuses["test_never"] == "skipped"
    assert statuses["test_rate"] == statuses["test_files"] == "passed"


async def test_a_deadline_leaves_the_tests_without_a_row_that_did_not_end() -> None:
    slow = "import time\n\ndef test_slow():\n    time.sleep(60)\n\ndef test_last():\n    pass\n"
    files = {**FILES, "tests/test_a.py": slow}
    run = await run_suite(
        files, PROJECT, (), open_sandbox(), until=time.monotonic() + 8,
        first=["tests/test_money.py"],
    )
    ended = {node.partition("::")[0] for node in run.outcomes}
    assert run.unfinished
    assert (ended, run.problems) == ({"tests/test_money.py"}, [])
    assert {*run.failing} == FAILING
    assert "6 seconds" in note_on_partial_run(run, 6.0)
    assert unrun_tests(run) == {one for one in run.collected if "test_money" not in one}
    with pytest.raises(TimeIsUp, match="timeout"):
        note_on_partial_run(suite_run.SuiteRun(collected=["a"], unfinished=True), 6.0)

    only = await run_suite(
        files, PROJECT.model_copy(update={"only": tuple(FAILING)}), (), open_sandbox()
    )
    assert {*only.outcomes} == {*only.collected} == FAILING


ENDLESS = """import unittest
from till.money import forever

def test_first():
    forever()

class Cases(unittest.TestCase):
    def test_second(self):
        with self.assertRaises(ValueError):
            forever()

def test_third():
    try:
        forever()
    except BaseException:
        pass

def test_quick():
    pass
"""


async def test_an_endless_test_ends_as_a_timeout_at_its_line_and_the_others_run() -> None:
    files = FILES | {
        MONEY: FILES[MONEY] + "\n\ndef forever():\n    while True:\n        pass\n",
        "tests/test_endless.py": ENDLESS,
    }
    run = await run_suite(
        files, PROJECT.model_copy(update={"test_s": 1.0}), (), open_sandbox()
    )
    rows = {node.rpartition("::")[2]: row for node, row in run.outcomes.items()}
    loop = {len(files[MONEY].splitlines()), len(files[MONEY].splitlines()) - 1}
    for name in ("test_first", "test_second", "test_third"):
        assert rows[name]["status"] == "timeout"
        assert rows[name]["file"] == MONEY and rows[name]["line"] in loop
        assert "did not end within 1 seconds" in str(rows[name]["message"])
    assert rows["test_quick"]["status"] == rows["test_rate"]["status"] == "passed"
    assert (run.problems, run.unfinished) == ([], False)


def test_a_test_that_waits_costs_its_wall_seconds() -> None:
    assert TestRow("t", True, 0.01, wall_s=1.0).cost_s == 1.0
    assert TestRow("t", True, 0.5, wall_s=1.1).cost_s == 0.5


async def test_a_report_has_the_line_of_each_failure() -> None:
    report = await check(base(), scripts([*FAILING]), task(), open_sandbox())
    failing = {one.name: one for one in report.failing}
    assert failing.keys() == FAILING
    assert "tests/test_money.py:40" in failing["tests/test_money.py::Cases::test_shares"].message
    healed = base().with_file(MONEY, HEALED)
    report = await check(healed, scripts([*FAILING]), task(), open_sandbox())
    # What was expected to fail passes now, which sets it aside.
    assert report.passed and not report.failing
    assert report.integrity == "in-process"


async def test_a_missing_test_is_an_error() -> None:
    report = await check(
        base(), scripts(["tests/test_money.py::test_gone"]), task(), open_sandbox()
    )
    gone = next(one for one in report.verdicts if one.test.endswith("test_gone"))
    assert gone.status == "error"


async def test_known_failures_are_excluded() -> None:
    aside = Project.model_validate({**PROJECT.model_dump(), "excluded": tuple(FAILING)})
    excluded = task().model_copy(update={"project": aside})
    report = await check(base(), scripts([]), excluded, open_sandbox())
    assert not report.failing
    assert sum(bool(one.excluded) for one in report.verdicts) == len(FAILING)


async def test_only_tests_that_the_jail_refuses_something_are_excluded() -> None:
    files = FILES | {"tests/test_out.py": (
        "import socket, subprocess, sys\n"
        "def test_program():\n    subprocess.run(['git', 'status'], check=True)\n"
        "def test_python():\n    subprocess.run([sys.executable, '-c', '1 / 0'], check=True)\n"
        "def test_network():\n    socket.create_connection(('192.0.2.1', 80), 1)\n"
    )}
    run = await run_suite(files, PROJECT, (), open_sandbox())
    told = with_exclusions(
        Report(solution="", verdicts=tuple(verdicts(run, scripts([]), PROJECT))), task()
    )
    aside = {one.name.rpartition("::")[2] for one in told.verdicts if one.excluded}
    assert aside == {"test_program", "test_network"}


@pytest.mark.parametrize(("named", "argument"), [
    ("", ""), ("langsmith anyio asyncio hypothesis", ""),
    ("", "--deselect=anyio/asyncio/hypothesis/langsmith"),
])
@pytest.mark.nightly
async def test_slow_plugins_are_loaded_only_by_name(named: str, argument: str) -> None:
    files = {"test_loaded.py": (
        f"import sys\n\n\ndef test_loaded(pytestconfig):  # {named}\n"
        "    plugins = pytestconfig.pluginmanager\n"
        "    assert any('lang' + 'smith' in one for one in sys.modules)\n"
        "    assert plugins.has_plugin('any' + 'io') and plugins.has_plugin('async' + 'io')\n"
        "    assert plugins.has_plugin('hypo' + 'thesispytest')\n"
    )}
    project = Project(
        root="/none", name="loaded", import_roots=("",), editable=(),
        arguments=(argument,) if argument else (),
    )
    named = named or argument
    run = await run_suite(files, project, (), open_sandbox())
    status = run.outcomes["test_loaded.py::test_loaded"]["status"]
    assert status == ("passed" if named else "failed")
    async with open_suite(files, project, (), open_sandbox()) as kept:
        (row,) = (await kept.baseline([0])).values()
    assert row.passed is bool(named)


async def test_a_plugin_named_by_the_environment_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--hypothesis-seed=1")
    files = {"test_a.py": "def test_a():\n    pass\n"}
    project = Project(
        root="/none", name="a", import_roots=("",), editable=(), environment=("PYTEST_ADDOPTS",)
    )
    run = await run_suite(files, project, (), open_sandbox())
    assert (run.problems, run.outcomes["test_a.py::test_a"]["status"]) == ([], "passed")


SUBTESTS = """
import unittest

def test_pieces(subtests):
    for piece in (1, 2, 3):
        with subtests.test(piece=piece):
            assert piece != 2

class Pieces(unittest.TestCase):
    def test_failing(self):
        for piece in (1, 2):
            with self.subTest(piece=piece):
                self.assertEqual(piece, 1)

    def test_skipping(self):
        with self.subTest("one"):
            raise unittest.SkipTest("not here")

    def test_passing(self):
        with self.subTest("one"):
            self.assertTrue(True)
"""


async def test_subtests_fail_their_test_and_skip_only_themselves() -> None:
    files, alone = {"test_pieces.py": SUBTESTS}, PROJECT.model_copy(update={"import_roots": ("",)})
    run = await run_suite(files, alone, (), open_sandbox())
    assert {node.rpartition("::")[2]: row["status"] for node, row in run.outcomes.items()} == {
        "test_pieces": "failed", "test_failing": "failed", "test_skipping": "passed",
        "test_passing": "passed",
    }
    async with open_suite(files, alone, (), open_sandbox()) as kept:
        rows = await kept.baseline([*range(4), *range(4)])
        assert {row.node for row in rows.values() if not row.passed} == {*run.failing}


def test_a_case_may_have_another_id_in_each_run() -> None:
    before = ["a.py::test_at[10:01]", "a.py::test_at[noon]", "a.py::test_all", "a.py::test_b[1]"]
    now = ["a.py::test_at[10:02]", "a.py::test_at[noon]", "a.py::test_every"]
    assert missing_tests(before, now) == ["a.py::test_all", "a.py::test_b[1]"]
    assert missing_tests(before, [*before, "a.py::test_b[2]"]) == []


def test_a_projects_own_pytest_is_used(tmp_path: Path) -> None:
    for name in ("pytest", "_pytest", "pluggy", "packaging", "iniconfig"):
        assert pytest_bundle((str(tmp_path),)).package_folders == (str(tmp_path), pytest_site())
        (tmp_path / name).mkdir()
    assert pytest_bundle((str(tmp_path),)).package_folders == (str(tmp_path),)


async def test_nothing_runs_after_the_deadline(suite: CollectedSuite) -> None:
    suite.until = 0.0
    assert await suite.baseline([0]) == {}
    assert await suite.precheck(MONEY, [HEALED], [0], 1, "full", 0.3) == [None]


async def test_coverage_has_functions_and_lines(suite: CollectedSuite) -> None:
    number = suite.nodes.index("tests/test_money.py::test_split[2]")
    (seen,) = (await suite.coverage([number], [MONEY], lines=True)).values()
    assert seen.functions == {MONEY: {11: 1}}
    assert seen.lines == {MONEY: {12, 13}}


async def test_the_repr_of_a_failed_assert_is_not_covered() -> None:
    purse = "\n\nclass Purse:\n    def __repr__(self):\n        return 'purse'\n"
    files = FILES | {
        MONEY: FILES[MONEY] + purse,
        "tests/test_purse.py": (
            "import unittest\n"
            "from till.money import Purse, split\n"
            "class Cases(unittest.TestCase):\n"
            "    def test_full(self):\n"
            "        self.assertEqual(Purse(), split(2, 2))\n"
            "def test_full():\n"
            "    assert Purse() == split(2, 2)\n"
        ),
    }
    async with open_suite(files, PROJECT, (), open_sandbox()) as suite:
        numbers = [at for at, node in enumerate(suite.nodes) if node.endswith("::test_full")]
        seen = await suite.coverage(numbers, [MONEY], lines=True)
        assert [one.lines for one in seen.values()] == [{MONEY: {12, 13}}] * 2


async def test_a_trace_has_the_values_at_the_failure(suite: CollectedSuite) -> None:
    number = suite.nodes.index("tests/test_money.py::test_split[4]")
    trace = await suite.trace(MONEY, [number])
    (test,) = trace.tests
    assert not test.passed
    assert ("share", "2") in test.values


async def test_candidates_have_the_results_of_new_runs(suite: CollectedSuite) -> None:
    text = FILES[MONEY]
    rate = suite.nodes.index("tests/test_money.py::Cases::test_rate")
    files = suite.nodes.index("tests/test_money.py::test_files")
    order = [number for number, node in enumerate(suite.nodes) if node in FAILING]
    texts = [
        text, HEALED, text.replace("people - 1", "people - 2"), text.replace("(people - 1)", "("),
        text.replace("'usd': 0.9", "'usd': 0.5"), text.replace("(people - 1)", "people()"),
        text.replace("share = amount", "while True: pass; share = amount"), HEALED,
    ]
    found = await suite.precheck(MONEY, texts, [*order, rate, files], len(order), "full", 0.3)
    ends = [one.outcome if one else None for one in found]
    assert ends == ["failed", "ok", "failed", "syntax", "failed", "failed", "timeout", "ok"]
    assert found[4] is not None and found[4].passed == (False, False, False, False, True)
    assert found[2] is not None and found[0] is not None
    assert found[2].similarity < found[0].similarity


async def test_state_that_one_candidate_leaves_is_not_seen_by_others(suite: CollectedSuite) -> None:
    text = FILES[MONEY]
    spoils = text.replace("    return [share]", "    RATES.clear(); return [share]")
    order = [suite.nodes.index("tests/test_money.py::Cases::test_shares")]
    order.append(suite.nodes.index("tests/test_money.py::test_total"))
    found = await suite.precheck(MONEY, [spoils, HEALED, text], order, 1, "full", 0.3)
    assert [one.outcome if one else None for one in found] == ["failed", "ok", "failed"]


async def test_a_doctest_runs_for_each_candidate() -> None:
    text = (
        "LIMITS = (1, 2)\n"
        "\n"
        "\n"
        "def most(values):\n"
        '    """\n'
        "    >>> most([1, 3]), LIMITS\n"
        "    (3, (1, 3))\n"
        '    """\n'
        "    return max(values)\n"
    )
    files = FILES | {"src/till/most.py": text}
    arguments = ("--doctest-modules", "src")
    project = PROJECT.model_copy(update={"arguments": arguments})
    right = text.replace("(1, 2)", "(1, 3)", 1)
    texts = [text, right, right.replace("max(", "min("), text, right]
    async with open_suite(files, project, (), open_sandbox()) as kept:
        number = kept.nodes.index("src/till/most.py::till.most.most")
        found = await kept.precheck("src/till/most.py", texts, [number], 1, "full", 0.3)
    assert [one.outcome if one else None for one in found] == [
        "failed", "ok", "failed", "failed", "ok",
    ]


async def test_a_case_of_unittest_has_the_same_message_each_time(suite: CollectedSuite) -> None:
    shares = suite.nodes.index("tests/test_money.py::Cases::test_shares")
    worse = FILES[MONEY].replace("(people - 1)", "(people - 2)")
    found = await suite.precheck(MONEY, [worse, FILES[MONEY], worse], [shares], 1, "full", 0.3)
    assert [one.message if one else "" for one in found] == ["3 != 9", "6 != 9", "3 != 9"]


async def test_a_module_that_is_hidden_by_an_installed_one_is_reported() -> None:
    files = {
        "src/iniconfig/__init__.py": "def twice(n):\n    return n\n",
        "test_a.py": "import iniconfig\ndef test_a():\n    assert iniconfig\n",
    }
    project = PROJECT.model_copy(update={"import_roots": ("src", "")})
    run = await run_suite(files, project, (), open_sandbox())
    assert "src/iniconfig" in " ".join(run.problems)


@pytest.mark.parametrize(("options", "left_out"), [
    ("-x --pdb --junitxml=out/r.xml --strict-markers", ["-x or --maxfail", "--pdb"]),
    ("-n auto --cov=till --cov-fail-under=100", ["--cov", "-n"]),
    ("--maxfail=1 -p no:randomly -W error::ResourceWarning -vv --ff --sw", [
        "-x or --maxfail", "--stepwise", "--ff",
    ]),
    ("-p no:cacheprovider -p no:warnings --import-mode=importlib", []),
])
async def test_no_option_changes_a_verdict(options: str, left_out: list[str]) -> None:
    files = FILES | {"pyproject.toml": pyproject("till", options)}
    run = await run_suite(files, PROJECT, (), open_sandbox())
    assert ({*run.failing}, run.problems, run.exit_code) == (FAILING, [], 1)
    assert run.left_out == left_out
    assert len(run.outcomes) == len(run.collected) == 9
    async with open_suite(files, PROJECT, (), open_sandbox()) as kept:
        rows = await kept.baseline(range(len(kept.nodes)))
        assert {row.node for row in rows.values() if not row.passed} == FAILING
        assert kept.loaded >= {"src/till/__init__.py", MONEY}


async def test_a_slow_test_is_reported_while_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_run, "LONG_S", 0.2)
    files = FILES | {"tests/test_slow.py": (
        "import time\n\n\ndef test_slow():\n    time.sleep(1.5)\n\n\ndef test_quick():\n    pass\n"
    )}
    told: list[tuple[str, float]] = []
    run = await run_suite(files, PROJECT, (), open_sandbox(), watch=lambda *seen: told.append(seen))
    slow = [seconds for what, seconds in told if what == "tests/test_slow.py::test_slow"]
    assert slow[:2] == [0.2, 0.4]
    assert run.outcomes["tests/test_slow.py::test_slow"]["status"] == "passed"


def test_rows_of_a_copy_keep_their_order_if_the_shared_memory_is_full() -> None:
    reading, writing = os.pipe()
    rows = _Rows(writing)
    texts = ["a", "b" * (_SHARED_BYTES - 500), "c" * 600, "d"]
    for text in texts:
        rows.write([text])
    os.close(writing)
    with open(reading, "rb") as pipe:
        by_pipe = pipe.read()
    assert by_pipe.count(b"\n") == 2
    assert rows.received(by_pipe) == [[text] for text in texts]
    assert _Rows(-1).received(b'["cut sh') == []


def rows_of(said: Iterable[str], failing: int = 1) -> list[Any]:
    """What is told of two candidates where the tests, one after another, fail with these words."""
    words = iter(said)
    suite = _Suite(SimpleNamespace(folder="/nowhere", payload={}, files={}))
    live: Any = SimpleNamespace(text="", path="a.py", switch_to=lambda text: None)

    def timed(*_: Any) -> tuple[ItemRun, float, list[Any]]:
        return ItemRun(False, AssertionError(next(words))), 0.0, []

    suite._timed = timed  # type: ignore[method-assign]
    told: list[Any] = []
    suite._candidates(
        live,
        {"order": [*range(failing)], "failing": [*range(failing)], "mode": "fit",
         "limits": [1.0, 1.0, 1.0], "slice_s": 60.0},
        [[*change("", "x")], [*change("", "y")]], told.append,
    )
    return told


def test_a_changing_message_is_no_evidence_of_left_state() -> None:
    assert False not in rows_of(map(str, count()))
    assert False not in rows_of(repeat("as ever"))
    assert rows_of(["before", "a", "b", "after", "after"])[-1] is False


def test_a_candidate_that_fails_like_the_base_is_not_run_to_the_end() -> None:
    alike = [row[1] for row in rows_of(repeat("as ever"), 5)]
    assert alike == ["000--", "000--"]
    otherwise = [row[1] for row in rows_of(map(str, count()), 5)[:2]]
    assert otherwise == ["00000", "00000"]
