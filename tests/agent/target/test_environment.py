"""Packages that are missing, interpreters, and files beside the program; borrowed names."""

from __future__ import annotations

import pytest

from agent.core.domain import File, Task
from agent.target import task
from agent.target.discovery.pytest_files import borrowed
from agent.target.environment import (
    explain_missing_package,
    modules_in,
    standard_modules,
)
from agent.target.interpreter import Interpreter
from agent.target.task import TestText, from_page, make_task


def test_what_is_installed_or_beside_is_not_absent(tmp_path):
    (tmp_path / "polars").mkdir()
    (tmp_path / "orjson.cpython-311-x86_64-linux-gnu.so").write_bytes(b"")
    (tmp_path / "six.py").write_text("")
    task = Task(site_dirs=(str(tmp_path),), support=(File(path="beside.py", text=""),))
    names = ("polars", "orjson", "six", "beside", "json", "scipy")

    assert [name for name in names if explain_missing_package(name, task)] == ["scipy"]


def test_a_slip_for_a_package_that_is_not_installed_names_the_package():
    said = explain_missing_package("numpi", Task())
    assert "did you mean numpy?" in said and "pip install numpy" in said
    assert "pip install numpi" not in said


def test_a_module_that_nobody_knows_may_be_a_file_that_was_not_submitted():
    assert "--with helpers.py" in explain_missing_package("helpers", Task())
    assert "--with" not in explain_missing_package("scipy", Task())


def test_files_are_imported_by_their_paths_from_whichever_folder():
    assert modules_in(["src/tills/__init__.py", "src/tills/money.py", "rates.csv"]) == {
        "src.tills", "tills", "src.tills.money", "tills.money", "money",
    }


@pytest.mark.parametrize(("name", "absent"), [
    ("maths", False), ("colections", False), ("jsno", False), ("randon", False),
    ("urllib2", False), ("ConfigParser", False), ("ujson", True), ("pathlib2", True),
    ("regex", True),
])
def test_a_misspelt_module_is_recognised(name, absent):
    assert bool(explain_missing_package(name, Task())) is absent


def test_a_module_that_left_the_standard_library_is_standard_until_then():
    assert {"cgi", "asyncore"} <= standard_modules((3, 11))
    assert "cgi" not in standard_modules((3, 13))


def test_packages_of_another_version_are_noted(tmp_path, monkeypatch):
    other = Interpreter(tmp_path, (3, 9), ("/packages",), "--python")
    monkeypatch.setattr(task, "find_interpreter", lambda root, asked: other)
    program = tmp_path / "program.py"
    program.write_text("assert 1 + 1 == 2\n")
    found = task.from_command_line(task.Inputs(str(program), python="python3.9"))

    assert found.task.site_dirs == ("/packages",)
    assert any("3.9" in note and "compiled" in note for note in found.notices)


FACT = "def fact(n):\n    return n\n"
STAR = "from calc import *"


@pytest.mark.parametrize(("tests", "laid"), [
    ("def test_a():\n    assert fact(1) == 1\n",
     f"def test_a():\n    assert fact(1) == 1\n{STAR}\n"),
    ("\ndef test_a():\n    assert fact(1) == 1\n",
     f"{STAR}\ndef test_a():\n    assert fact(1) == 1\n"),
    ("import unittest\nclass A(unittest.TestCase):\n    def test_a(self): fact(1)\n",
     f"{STAR}; import unittest\nclass A(unittest.TestCase):\n    def test_a(self): fact(1)\n"),
    ('"""Tests."""\nfrom __future__ import annotations\nx = fact(1)\ndef test_a(): assert x\n',
     f'"""Tests."""\nfrom __future__ import annotations\n{STAR}; x = fact(1)\n'
     "def test_a(): assert x\n"),
    ("# On facts\n\nassert fact(1) == 1\ndef test_a(): assert fact(1)\n",
     f"# On facts\n{STAR}\nassert fact(1) == 1\ndef test_a(): assert fact(1)\n"),
])
def test_the_import_moves_no_line(tests: str, laid: str) -> None:
    assert borrowed(tests, FACT, "calc.py") == (laid, STAR)


@pytest.mark.parametrize("tests", [
    "from calc import fact\ndef test_a(): assert fact(1)\n",
    "from pkg.calc import add\ndef test_a(): assert fact(1)\n",
    "import calc\ndef test_a(): assert fact(1)\n",
    "from helpers import *\ndef test_a(): assert fact(1)\n",
    "def fact(n): return 1\ndef test_a(): assert fact(1)\n",
    "def test_a(fact): assert fact(1)\n",
    "import runpy\ndef test_a(): assert runpy.run_path('calc.py')['fact'](1) == fact\n",
    "def test_a(): assert other(1)\n",
])
def test_a_file_with_an_import_or_names_of_its_own_stays_as_it_is(tests: str) -> None:
    assert borrowed(tests, FACT, "calc.py") == (tests, "")


@pytest.mark.parametrize("more", [
    "def sum(xs):\n    return 0\n", "def test_of_its_own():\n    assert fact(1)\n",
    "__all__ = []\n", "def pytest_configure():\n    pass\n",
])
def test_where_a_star_would_bring_too_much_the_names_are_imported(more: str) -> None:
    _, line = borrowed("\ndef test_a(): assert fact(1)\n", FACT + more, "calc.py")

    assert line == "from calc import fact"


def test_the_run_says_that_names_were_lent() -> None:
    submitted = from_page(FACT, "def test_a():\n    assert fact(1) == 1\n")

    assert submitted.notices == (
        "The tests do not import the program, so `from solution import *` was added.",
    )


def test_a_module_that_is_no_name_is_lent_under_another() -> None:
    tests = [TestText("\ndef test_a(): assert fact(1)\n", "test_it.py")]
    first, _ = make_task(FACT, entry="my-calc.py", tests=tests).task.tests

    assert first.code.startswith("from solution import *\n")
