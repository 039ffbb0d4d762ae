"""A test file beside a program has the program's names, and keeps its lines."""

from __future__ import annotations

import pytest

from agent.target.discovery.pytest_files import borrowed
from agent.target.task import TestText, from_page, make_task

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
