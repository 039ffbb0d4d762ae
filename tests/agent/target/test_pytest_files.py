"""A test file's functions are found by pytest's rules, without running it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from agent.core.domain import OTHER_TESTS, Script
from agent.target.discovery import pytest_files
from agent.target.errors import NotFixable

EVERY_STYLE = '''
import unittest
import pytest

def helper(): pass

def test_plain(): assert True

def testglued(): assert True

@pytest.fixture
def test_fixture_is_none(): return 1

@pytest.mark.parametrize("a", [1, 2])
def test_rows(a): assert a

class TestGroup:
    def test_one(self): assert True
    def helper(self): pass
    @staticmethod
    def test_static(): assert True
    class TestInner:
        def test_deep(self): assert True

class TestConstructed:
    def __init__(self): pass
    def test_never(self): assert True

class Base:
    def test_inherited(self): assert True

class TestChild(Base):
    pass

class Numbers(unittest.TestCase):
    def setUp(self): pass
    def test_case(self): self.assertEqual(1, 1)

class More(Numbers):
    def test_more(self): pass

class Async(unittest.IsolatedAsyncioTestCase):
    async def test_coroutine(self): pass

class TestOff:
    __test__ = False
    def test_off(self): assert True

if True:
    def test_conditional(): assert True

test_value = 3
'''


def nodes(text: str) -> list[str]:
    """The nodes that are known without running the file."""
    *found, rest = pytest_files.tests_from_file(text, "test_it.py")
    known = [test.node for test in found if test.kind == "script"]
    assert rest.kind == "script" and (rest.node, rest.excluded_nodes) == (OTHER_TESTS, tuple(known))
    return known


@pytest.mark.nightly
def test_the_same_tests_are_found_as_pytest_collects(tmp_path):
    (tmp_path / "test_it.py").write_text(EVERY_STYLE)
    shown = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider",
         "--rootdir", str(tmp_path), "-c", "/dev/null", "test_it.py"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    ).stdout
    collected = {
        line.partition("::")[2].partition("[")[0] for line in shown.splitlines() if "::" in line
    }

    # What stands under a condition is left to the rest.
    assert collected and {*nodes(EVERY_STYLE), "test_conditional"} == collected


def test_each_test_holds_the_whole_file():
    text = "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"

    assert pytest_files.tests_from_file(text, "test_calc.py") == (
        Script(name="test_add", origin="user", code=text, node="test_add", file="test_calc.py"),
        Script(
            name="test_calc.py::*", origin="user", code=text, node=OTHER_TESTS,
            excluded_nodes=("test_add",), file="test_calc.py",
        ),
    )


ONLY_RUNNING_TELLS = {
    "deleted": "def test_a(): pass\ndel test_a\n",
    "assigned": "def test_a(): pass\ntest_a = None\n",
    "conditional": "import sys\nif sys.path:\n    def test_a(): pass\n",
    "a base from elsewhere":
        "from cases import Base\nclass TestA(Base):\n    def test_a(self): pass\n",
    "a data class": "import dataclasses\n@dataclasses.dataclass\nclass TestA:\n"
    "    def test_a(self): pass\n",
    "multiplied": "from parameterized import parameterized\nimport unittest\n"
    "class A(unittest.TestCase):\n    @parameterized.expand([1])\n    def test_a(self, x): pass\n",
    "switched off": "def test_a(): pass\ntest_a.__test__ = False\n",
    "a property": "class TestA:\n    @property\n    def test_a(self): return 1\n",
    "hidden by a subclass": "class TestA:\n    test_a = None\n    def test_a(self): pass\n",
    "a decorator of its own": "make = len\n@make\ndef test_a(): pass\n",
    "imported": "from cases import *\n",
    "made": "import cases\ntest_a = cases.made()\n",
}


@pytest.mark.parametrize("text", ONLY_RUNNING_TELLS.values(), ids=ONLY_RUNNING_TELLS)
def test_what_only_running_a_file_tells_is_left_to_the_rest(text: str) -> None:
    assert nodes(text) == []


def test_a_configuration_that_changes_what_is_found_leaves_all_to_the_rest() -> None:
    text = "def test_a(): pass\n"
    conftest = "def pytest_collection_modifyitems(items): items[:] = []\n"

    (rest,) = pytest_files.tests_from_file(text, "test_it.py", [conftest])

    assert rest.name == "test_it.py::*"


@pytest.mark.parametrize("text, word", [
    ("def add_works():\n    assert add(1, 1) == 2\n", "add_works"),
    ("x = 1\n", "collects no test"),
    ("class TestIt:\n    def __init__(self): pass\n    def test_x(self): pass\n", "collects"),
])
def test_a_file_that_collects_nothing_is_refused_and_says_why(text, word):
    with pytest.raises(NotFixable, match=word) as refused:
        pytest_files.tests_from_file(text, "test_it.py")

    assert refused.value.category == "invalid_tests"


def test_coroutines_are_tests_and_lost_duplicates_are_named():
    text = (
        "def test_a(): assert 1\n"
        "def test_a(): assert 2\n"
        "async def test_b(): assert 3\n"
    )

    assert nodes(text) == ["test_a", "test_b"]
    (twice,) = pytest_files.notices_of_file(text, "test_it.py")
    assert "test_a" in twice and "lines 1 and 2" in twice
