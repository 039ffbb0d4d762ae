"""A test file's functions are found by pytest's rules, without running it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from agent import intake
from agent.intake import NotFixable
from agent.intake.pytest_files import notices_of_file

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

class TestOff:
    __test__ = False
    def test_off(self): assert True

if True:
    def test_conditional(): assert True

test_value = 3
'''


def nodes(text: str) -> list[str]:
    found = intake.tests_from_file(text, "test_it.py")
    return [test.node for test in found if test.kind == "script"]


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

    assert collected and set(nodes(EVERY_STYLE)) == collected


def test_each_test_holds_the_whole_file():
    text = "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    (test,) = intake.tests_from_file(text, "test_calc.py")

    assert (test.name, test.code, test.kind == "script" and test.node) == (
        "test_add", text, "test_add"
    )


def test_a_file_of_plain_asserts_is_read_as_a_snippet():
    tests = intake.tests_from_file("assert f(1) == 1\nassert f(2) == 4\n", "checks.py")

    assert [test.code for test in tests] == ["assert f(1) == 1", "assert f(2) == 4"]


@pytest.mark.parametrize("text, word", [
    ("def add_works():\n    assert add(1, 1) == 2\n", "add_works"),
    ("x = 1\n", "collects no test"),
    ("class TestIt:\n    def __init__(self): pass\n    def test_x(self): pass\n", "collects"),
    ("async def test_later():\n    assert f()\n", "test_later"),
])
def test_a_file_that_collects_nothing_is_refused_and_says_why(text, word):
    with pytest.raises(NotFixable, match=word) as refused:
        intake.tests_from_file(text, "test_it.py")

    assert refused.value.category == "invalid_tests"


def test_a_syntax_error_in_the_file_names_file_and_line():
    with pytest.raises(NotFixable, match=r"test_it\.py.*line 2"):
        intake.tests_from_file("def test_a():\n    assert (1\n", "test_it.py")


def test_coroutines_and_lost_duplicates_are_named():
    text = (
        "def test_a(): assert 1\n"
        "def test_a(): assert 2\n"
        "async def test_b(): assert 3\n"
    )

    assert nodes(text) == ["test_a"]
    coroutine, twice = notices_of_file(text, "test_it.py")
    assert "test_b (line 3)" in coroutine
    assert "test_a" in twice and "lines 1 and 2" in twice


def test_a_coroutine_of_unittest_s_own_case_is_a_test():
    text = (
        "import unittest\n"
        "class A(unittest.IsolatedAsyncioTestCase):\n"
        "    async def test_a(self): self.assertTrue(await f())\n"
    )

    assert nodes(text) == ["A::test_a"]
