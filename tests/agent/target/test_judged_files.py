"""Whole test files come out test by test as under pytest, or are refused for what they ran."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import pytest

from agent.core.domain import File, Report, Task
from agent.target.failures.excluded import exclusion_reason
from agent.target.interpreter import site_folders
from agent.target.task import TestText, make_task
from agent.verify.judge import check
from sandbox import open_sandbox

ADD = "def add(a, b):\n    return a + b\n"


def judged(
    tests: str, program: str = ADD, support: Mapping[str, str] | None = None, **wanted: list[str]
) -> Report:
    task = make_task(
        program, entry="calc.py", tests=[TestText(tests, "test_it.py")],
        support=[File(path=path, text=text) for path, text in (support or {}).items()],
        package_folders=site_folders(), **wanted,
    ).task
    assert task.solution is not None
    return asyncio.run(check(task.solution, task.tests, task, open_sandbox()))


def outcomes(report: Report) -> dict[str, str]:
    return {verdict.name: verdict.status for verdict in report.verdicts}


FOUND_BY_RUNNING = '''
import asyncio, pytest
from calc import add
from cases import Base

def made(a):
    def test():
        assert add(a, 1) == a + 1
    return test

test_made = made(3)
test_wrong = lambda: made(3)() or add(1, 1) == 3
class TestInherited(Base):
    wanted = 3
def pytest_generate_tests(metafunc):
    if "x" in metafunc.fixturenames:
        metafunc.parametrize("x", [1, 2])
def test_generated(x):
    assert add(x, 0) == x
class TestOuter:
    class TestInner:
        def test_deep(self): assert add(0, 0) == 0
if add(1, 1) == 3:
    def test_never(): assert False
def test_plain(): add(1, 2)
assert add(1, 2) == 3
'''
CASES = "class Base:\n    def test_base(self):\n        assert self.wanted == 3\n"


@pytest.mark.nightly
def test_tests_that_only_pytest_can_find_are_judged_too() -> None:
    report = judged(FOUND_BY_RUNNING, support={"cases.py": CASES})

    assert outcomes(report) == dict.fromkeys((
        "test_generated[1]", "test_generated[2]", "TestOuter::TestInner::test_deep", "test_plain",
        "test_made", "test_wrong", "TestInherited::test_base",
    ), "passed")
    assert {v.test for v in report.verdicts if v.name == "test_made"} == {"test_it.py::*"}


@pytest.mark.parametrize(("tests", "name", "line"), [
    ("import cases\nfrom calc import add\ndef test_a(): pass\nnone\n", "test_a", 4),
    ("from cases import *\nfrom calc import add\nnone\n", "test_it.py::*", 3),
])
def test_a_file_that_cannot_be_collected_says_why(tests: str, name: str, line: int) -> None:
    report = judged(tests, support={"cases.py": CASES})

    assert outcomes(report) == {name: "error"}
    message = report.verdicts[0].message
    assert message == f"NameError: name 'none' is not defined at test_it.py:{line}"


def test_a_file_that_sets_itself_aside_is_skipped() -> None:
    report = judged("import pytest, calc\npytest.skip('not today', allow_module_level=True)\n"
                    "def test_a(): assert calc.add(1, 1) == 3\n")

    assert [(v.name, v.status, v.message) for v in report.verdicts] == [
        ("test_a", "skipped", "Skipped: not today")
    ]


# A test file, what lies beside it, what is asked for, and how each test comes out.
FILES: dict[str, tuple[str, dict[str, str], dict[str, list[str]], dict[str, str]]] = {
    "a conftest": (
        "from calc import add\ndef test_in(two): assert add(1, 1) == two\n"
        "def test_out(): assert 0\n",
        {"conftest.py": "import pytest\n@pytest.fixture\ndef two(): return 2\n"
         "def pytest_collection_modifyitems(items):\n"
         "    items[:] = [item for item in items if item.name != 'test_out']\n"},
        {}, {"test_in": "passed"},
    ),
    "a plugin that it names": (
        "pytest_plugins = ['fix']\nfrom calc import add\n"
        "def test_a(two): assert add(1, 1) == two\n",
        {"fix.py": "import pytest\n@pytest.fixture\ndef two(): return 2\n"},
        {}, {"test_a": "passed"},
    ),
    "no import": (
        "import unittest\nassert add(0, 0) == 0\ndef test_f(): assert add(1, 1) == 2\n"
        "class Case(unittest.TestCase):\n    def test_it(self): self.assertEqual(add(1, 1), 3)\n",
        {}, {}, {"test_f": "passed", "Case::test_it": "failed"},
    ),
    "deselected tests": (
        "import pytest\nfrom calc import add\n@pytest.mark.parametrize('x', [1, 2])\n"
        "def test_p(x): assert add(x, 1) == 2\ndef test_q(): assert False\n"
        "test_r = lambda: add(1, 1)\n",
        {}, {"deselect": ["test_p[2]", "test_it.py::test_q", "test_r"]}, {"test_p[1]": "passed"},
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("tests", "support", "wanted", "seen"), FILES.values(), ids=FILES)
def test_a_file_comes_out_as_under_pytest(
    tests: str, support: dict[str, str], wanted: dict[str, list[str]], seen: dict[str, str]
) -> None:
    report = judged(tests, support=support, **wanted)

    assert outcomes(report) == seen
    assert all(one.passed is (one.status == "passed") for one in report.verdicts)


ASTRAY = {
    "a package's own file": (
        {"calc/__init__.py": ADD}, "from calc import add\n", "calc/__init__.py"
    ),
    "a module elsewhere": ({"app.py": ADD}, "from app import add\n", "app.py"),
    "a copy in a package": (
        {"build/__init__.py": "", "build/calc.py": ADD}, "from build.calc import add\n",
        "build/calc.py",
    ),
}


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("support", "line", "named"), ASTRAY.values(), ids=ASTRAY)
def test_tests_of_another_file_are_refused(support: dict[str, str], line: str, named: str) -> None:
    report = judged(f"{line}def test_a(): assert add(1, 1) == 2\n", support=support)

    assert f"Your tests import {named}, not calc.py" in report.wrong_file
    assert not report.passed


@pytest.mark.sampled(2)
@pytest.mark.parametrize("tests", [
    "import importlib\nadd = importlib.import_module('calc').add\n",
    "import runpy\nadd = runpy.run_path('calc.py')['add']\n",
    "names = {}\nexec(open('calc.py').read(), names)\nadd = names['add']\n",
    "import sys, calc\nadd = calc.add\ndel sys.modules['calc']\n",
    "from app import add\n",
])
def test_every_way_to_run_the_program_counts(tests: str) -> None:
    report = judged(f"{tests}def test_a(): assert add(1, 1) == 2\n",
                    support={"app.py": "from calc import add\n"})

    assert (report.wrong_file, outcomes(report)) == ("", {"test_a": "passed"})


def test_a_program_that_cannot_be_imported_is_still_the_one_that_was_tested() -> None:
    tests = "def test_a():\n    from calc import add\n    assert add(1, 1) == 2\n"

    assert judged(tests, "def add(a, b:\n").wrong_file == ""


def test_tests_that_import_nothing_show_nothing() -> None:
    assert "never import calc.py" in judged("def test_a(): assert 1 + 1 == 2\n").wrong_file


@pytest.mark.nightly
def test_a_test_of_the_programs_own_may_use_nothing_of_it() -> None:
    task = make_task(f"{ADD}def test_sure(): assert 1 + 1 == 2\n", entry="calc.py").task
    assert task.solution is not None

    report = asyncio.run(check(task.solution, task.tests, task, open_sandbox()))

    assert (report.wrong_file, outcomes(report)) == ("", {"test_sure": "passed"})


def test_a_package_that_tests_need_and_that_is_missing_is_named() -> None:
    report = judged("import nonesuch\nfrom calc import add\ndef test_a(): assert add(1, 1) == 3\n")

    assert report.verdicts[0].message.startswith("ModuleNotFoundError: No module named 'nonesuch'")
    assert "pip install nonesuch" in exclusion_reason(report.verdicts[0], Task())
