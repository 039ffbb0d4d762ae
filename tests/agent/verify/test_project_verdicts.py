"""Projects that act on their tests are not believed, and honest ones are."""

from __future__ import annotations

import asyncio
import hashlib
import math
import re
import time
from pathlib import Path

import pytest

from agent.core.domain import OTHER_TESTS, File, Project, Script, Solution, Task, Verdict
from agent.verify.belief import CONTRADICTS
from agent.verify.judge import check
from agent.verify.project import suite_judge
from agent.verify.project.suite_judge import NOT_ALONE
from agent.verify.project.suite_run import run_suite
from evaluation.verdicts import PROJECTS, VerdictCase, judge_as_project, read_cases
from sandbox.sandbox import Sandbox

pytestmark = pytest.mark.slow
FEW = 3
NAMED = frozenset(re.findall(
    r"`([\w-]+)`", (Path(__file__).parents[3] / "docs" / "threat-model.md").read_text("utf-8")
))
"""Forgeries that are told to pass, one by one."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for kind in ("forged", "honest"):
        if kind in metafunc.fixturenames:
            rows = [one for one in read_cases(PROJECTS) if one.kind == kind and one.id not in NAMED]
            rows.sort(key=lambda one: hashlib.sha256(one.id.encode()).digest())
            chosen = rows if metafunc.config.getoption("--whole") else rows[:FEW]
            metafunc.parametrize(kind, chosen, ids=[one.id for one in chosen])


@pytest.mark.nightly
async def test_a_forged_project_is_not_believed(forged: VerdictCase, jail: Sandbox) -> None:
    seen = await judge_as_project(forged, jail)

    assert seen.believed == ""


async def test_an_honest_project_is_believed(honest: VerdictCase, jail: Sandbox) -> None:
    seen = await judge_as_project(honest, jail)
    if (await jail.isolation()).level != "L4" and "no second process" in str(seen):
        pytest.skip("only a jail of level L4 can grant processes")

    assert seen.believed != ""
    assert (seen.differing, seen.unbelieved) == ([], [])


PLAIN_TESTS = """
import pytest

from shop.core import double


@pytest.mark.parametrize(("n", "wanted"), [(1, 2), (4, 8)])
def test_rows(n, wanted):
    assert double(n) == wanted


class TestDouble:
    def test_text(self):
        assert double("ab") == "abab"
        with pytest.raises(TypeError):
            double(None)


def test_its_kind():
    assert callable(double)
"""
HONEST = "def double(n):\n    return n * 2\n"
DECEIVING = """
import sys


def double(n):
    return n * 2 if "pytest" in sys.modules else 0
"""
NODES = (
    "test_rows[1-2]", "test_rows[4-8]", "TestDouble::test_text", "test_its_kind",
)


async def judged_under(
    jail: Sandbox, program: str, root: str = "", tests: str = PLAIN_TESTS,
    before: str | None = None, environment: tuple[str, ...] = (), seconds: float = math.inf,
) -> dict[str, Verdict]:
    """Verdicts of a small project by the tests' names; its package lies in an import root. It is a
    repair of a program `before`; else the program as it stands is judged."""
    folder = f"{root}/" if root else ""
    files = {
        f"{folder}shop/__init__.py": "", f"{folder}shop/core.py": program,
        "tests/test_core.py": tests,
    }
    project = Project(
        root="/none", name="shop", import_roots=(root, *([""] if root else [])),
        editable=(f"{folder}shop/__init__.py", f"{folder}shop/core.py"),
        environment=environment,
    )
    plain = await run_suite(files, project, (), jail)
    task = Task(
        project=project.model_copy(update={"tests": tuple(plain.outcomes)}),
        support=tuple(
            File(path=path, text=before if before and text == program else text)
            for path, text in files.items()
        ),
    )
    solution = Solution(
        files=tuple(File(path=one, text=files[one]) for one in project.editable),
        entry=f"{folder}shop/core.py",
    )
    wanted = [
        Script(name=one, origin="user", code=tests, node=one, file="tests/test_core.py")
        for one in plain.outcomes
    ]
    report = await check(solution, wanted, task, jail, until=time.monotonic() + seconds)
    return {one.name.partition("::")[2]: one for one in report.verdicts}


@pytest.mark.parametrize("root", ["", "src"])
@pytest.mark.nightly
async def test_plain_calls_of_a_project_are_compared_outside(root: str, jail: Sandbox) -> None:
    verdicts = await judged_under(jail, HONEST, root)

    assert {name: one.integrity for name, one in verdicts.items()} == dict(
        zip(NODES, ["isolated"] * 3 + ["in-process"], strict=True)
    )


@pytest.mark.parametrize("root", ["", "src"])
@pytest.mark.nightly
async def test_a_project_that_detects_tests_is_not_believed(root: str, jail: Sandbox) -> None:
    verdicts = await judged_under(jail, DECEIVING, root)

    assert [
        name for name, one in verdicts.items() if CONTRADICTS in one.disbelieved
    ] == [*NODES[:3]]


LIBRARY_TESTS = """
from datetime import date, timedelta
from decimal import Decimal
import pytest
from shop.core import due, vat


@pytest.mark.parametrize("day, days, want", [(date(2024, 2, 28), 1, date(2024, 2, 29))])
def test_due(day, days, want):
    assert due(day, timedelta(days)) == want


def test_vat():
    assert vat(Decimal("100")) == Decimal("19.00")
"""
LIBRARY_PROGRAM = """
import sys


def due(day, span):
    return day + span * {factor}


def vat(price):
    return price * 19 / 100 * {factor}
"""


async def test_numbers_and_dates_of_a_project_are_compared_outside(jail: Sandbox) -> None:
    program = LIBRARY_PROGRAM.format(factor=1)

    verdicts = await judged_under(jail, program, tests=LIBRARY_TESTS)

    assert [one.integrity for one in verdicts.values()] == ["isolated"] * 2


async def test_values_that_are_right_only_under_pytest_are_not_believed(jail: Sandbox) -> None:
    program = LIBRARY_PROGRAM.format(factor="('pytest' in sys.modules)")

    verdicts = await judged_under(jail, program, tests=LIBRARY_TESTS)

    assert [CONTRADICTS in one.disbelieved for one in verdicts.values()] == [True] * 2


WITH_A_FIXTURE = """
import pytest
from shop.core import first


@pytest.fixture
def names():
    return ["b", "a"]


def test_first(names):
    assert first(names, lambda name: names.index(name)) == "b"
"""
FROM_FRAMES = """
import sys


def first(names, rank):
    {seen} = sys._getframe(1).f_locals
    return {result}
"""
ONLY_IN_A_JAIL = """
import os


def first(names, rank):
    return names[0] if not os.path.exists("/etc/hosts") else names[-1]
"""


@pytest.mark.parametrize("program", [
    FROM_FRAMES.format(seen="seen", result="seen['names'][0]"), ONLY_IN_A_JAIL,
])
async def test_a_repair_is_judged_as_strictly_as_a_file(program: str, jail: Sandbox) -> None:
    before = "def first(names, rank):\n    return names[-1]\n"

    verdicts = await judged_under(jail, program, tests=WITH_A_FIXTURE, before=before)
    if program is ONLY_IN_A_JAIL and (await jail.isolation()).level != "L4":
        pytest.skip("only a jail of level L4 hides the file that the program looks for")

    assert [one.status for one in verdicts.values()] == ["passed"]
    assert verdicts["test_first"].disbelieved


async def test_what_a_program_did_before_is_not_held_against_its_repair(jail: Sandbox) -> None:
    before, after = (
        FROM_FRAMES.format(seen="_", result=f"names[{index}]") for index in (-1, 0)
    )

    verdicts = await judged_under(jail, after, tests=WITH_A_FIXTURE, before=before)

    assert verdicts["test_first"].passed


async def test_a_repair_that_answers_anything_is_no_evidence(jail: Sandbox) -> None:
    tests = "import shop.core\n\n\ndef test_it():\n    assert shop.core.double(1) is not None\n"
    before = "def double(n):\n    return None\n"

    verdicts = await judged_under(jail, HONEST, tests=tests, before=before)

    assert verdicts["test_it"].vacuous


async def test_a_file_that_is_not_judged_alone_says_why(jail: Sandbox) -> None:
    verdicts = await judged_under(jail, HONEST, environment=("SHOP=1",))

    assert {one.integrity for one in verdicts.values()} == {"in-process"}
    assert all(NOT_ALONE.format("the project needs variables") in one.reason
               for one in verdicts.values())


@pytest.mark.nightly
async def test_calls_that_depend_on_a_session_fixture_are_ignored(jail: Sandbox) -> None:
    tests = f"{PLAIN_TESTS}\n\n@pytest.fixture(autouse=True)\ndef factor(monkeypatch):\n" \
        "    monkeypatch.setattr('shop.core.FACTOR', 2)\n"
    verdicts = await judged_under(
        jail, "FACTOR = 3\n\n\ndef double(n):\n    return n * FACTOR\n", tests=tests
    )

    assert {one.disbelieved for one in verdicts.values()} == {""}


@pytest.mark.parametrize("program", [
    "import pytest\n\n\ndef double(n):\n    pytest.skip('not today')\n",
    "import pytest\n\n\ndef double(n):\n    pytest.xfail('not today')\n",
])
async def test_a_skipped_target_test_is_not_healed(program: str, jail: Sandbox) -> None:
    verdicts = await judged_under(jail, program)

    assert [name for name, one in verdicts.items() if one.disbelieved] == [*NODES[:3]]


@pytest.mark.parametrize(("path", "is_believed"), [
    ("shop/answers.txt", True), ("tests/answers.txt", False),
])
async def test_a_program_reads_only_its_data(path: str, is_believed: bool, jail: Sandbox) -> None:
    program = f"def four():\n    return int(open({path!r}).read())\n"

    seen = await judge_as_project(VerdictCase(
        "reads", "honest" if is_believed else "forged", program,
        "from shop.core import four\n\n\ndef test_four():\n    assert four() == 4\n",
        support=(("shop/__init__.py", ""), (path, "4")), entry="shop/core.py",
        test_path="tests/test_core.py", before=program if is_believed else "",
    ), jail)

    assert bool(seen.believed) == is_believed


SLOW_TESTS = """
import time

from shop.core import double


def test_it():
    assert double(2) == 4


def test_slow():
    time.sleep(300)
"""


async def test_what_has_no_time_to_run_does_not_count_and_is_counted(jail: Sandbox) -> None:
    files = (
        File(path="shop/core.py", text=HONEST), File(path="test_a.py", text=SLOW_TESTS),
    )
    nodes = ("test_a.py::test_it", "test_a.py::test_slow")
    project = Project(root="/none", name="shop", editable=("shop/core.py",), tests=nodes)
    tests = [
        Script(name=nodes[0], origin="user", code="", node=nodes[0]),
        Script(name="rest", origin="user", code="", node=OTHER_TESTS, excluded_nodes=nodes[:1]),
    ]
    solution = Solution(files=files[:1], entry="shop/core.py")
    report = await check(
        solution, tests, Task(support=files, project=project), jail, until=time.monotonic() + 12.0
    )
    assert report.passed and report.untested == 1
    assert [one.name for one in report.verdicts] == [nodes[0]]


async def test_a_judgement_without_time_says_that_passes_are_not_verified(
    jail: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def endless(*args: object) -> None:
        await asyncio.sleep(600)

    monkeypatch.setattr(suite_judge, "double_checked", endless)
    verdicts = await judged_under(jail, HONEST, seconds=5.0)
    assert {*verdicts} == {*NODES}
    for one in verdicts.values():
        assert (one.passed, one.reason, one.integrity) == (True, suite_judge.NOT_IN_TIME, None)
