"""Asserts and test functions in the user's own file are tests, and stay untouched."""

from __future__ import annotations

import ast

import pytest

from agent.core.domain import TestCase
from agent.target import program as programs
from agent.target.program import keeps_own_tests, protected_lines, without_added_asserts
from agent.verify.rewriting.masking import mask

SOLUTION_AND_TESTS = '''\
import pytest
from collections import Counter

LIMIT = 3
ROWS = [("aab", {"a": 2, "b": 1})]


def count(text):
    """Counts letters."""
    return dict(Counter(text[:LIMIT]))


def same(got, want):
    assert got == want


@pytest.fixture
def sample():
    return "ab"


@pytest.mark.parametrize("text, want", ROWS)
def test_rows(text, want):
    same(count(text), want)


def test_sample(sample):
    assert count(sample) == {"a": 1, "b": 1}


def test_drive(car):
    return car.speed > 3


if __name__ == "__main__":
    print(count("abc"))
'''


def own(text: str, entry: str = "solution.py") -> tuple[TestCase, ...]:
    return tuple(test for _, test in programs.tests_from_program(text, entry))


# A program, and the code of each own assert with what it makes anew.
OWN = {
    "plain": ("def f(x):\n    return x\n\nassert f(2) == 2\n", ["assert f(2) == 2"]),
    "a value that stays": (
        "total = 0\nfor i in range(1, 5):\n    total =+ i\nassert total == 10\nprint(total)\n",
        ["assert total == 10"],
    ),
    "what reads the surroundings": (
        "n = int(input())\nassert double(n) == 4\nn = 3\ndef double(x): return 2 * x\n",
        ["assert double(n) == 4"],
    ),
    "a program that does not parse": (
        "def f(x)\n    return x\n\nassert f(2) == 2\nassert f(\n    3\n) == 3\n",
        ["assert f(2) == 2", "assert f(3) == 3"],
    ),
    "a solution that is named like a test": (
        "def test_prime(n):\n    return n > 1\n\ndef testable(x):\n    assert x\n", [],
    ),
}
# A program whose asserts see what others changed, a change of it, and which of them pass then.
CARRIED = {
    "a value that changes later": (
        "class Box:\n    def __init__(self):\n        self.items = []\n"
        "    def put(self, x):\n        self.items.append(x)\n"
        "b = Box()\nb.put(1)\nassert b.items == [1]\nb.put(2)\nassert b.items == [1, 2]\n",
        ("append(x)", "insert(0, x)"), [True, False],
    ),
    "a value that an assert changes": (
        "def take(stack):\n    return stack.pop()\n"
        "stack = [1, 2, 3]\nassert take(stack) == 3\nassert take(stack) == 2\n",
        ("pop()", "pop(0)"), [False, True],
    ),
}


@pytest.mark.parametrize(("program", "codes"), OWN.values(), ids=OWN)
def test_own_asserts_are_tests_of_the_user(program, codes):
    assert [test.code for test in own(program)] == codes
    assert {test.origin for test in own(program)} <= {"user"}


@pytest.mark.parametrize(("program", "change", "kept"), CARRIED.values(), ids=CARRIED)
def test_an_own_assert_sees_what_it_would_see_in_its_place(program, change, kept, outcomes):
    assert outcomes(mask(program), own(program)) == [True, True]
    assert outcomes(mask(program).replace(*change), own(program)) == kept


def test_test_functions_in_the_program_are_taken_out_with_what_serves_only_them():
    tests = own(SOLUTION_AND_TESTS, "letters.py")

    assert [test.name for test in tests] == ["test_rows", "test_sample"]
    code = tests[0].code
    line = "def test_sample(sample):"
    assert code.split("\n").index(line) == SOLUTION_AND_TESTS.split("\n").index(line)
    tree = ast.parse(code)
    defined = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert defined == ["same", "sample", "test_rows", "test_sample"]
    assert "from letters import count" in code
    assert "ROWS = " in code and "LIMIT = " not in code and "Counter" not in code


def test_protected_lines_are_those_of_asserts_and_of_the_test_part():
    program = "def f(x):\n    assert x\n    return x\nassert f(\n    2\n) == 2\nx = 1\n"

    assert protected_lines(program) == {4, 5, 6}
    lines = SOLUTION_AND_TESTS.split("\n")
    protected = [lines[n - 1] for n in sorted(protected_lines(SOLUTION_AND_TESTS))]
    assert "ROWS = [(\"aab\", {\"a\": 2, \"b\": 1})]" in protected
    assert "@pytest.fixture" in protected
    assert "LIMIT = 3" not in protected and "def count(text):" not in protected


def test_what_the_judge_masks_is_protected():
    program = (
        "x = [1]\nassert x, 'two\\nlines'\ndef f():\n    assert x\n"
        "assert (\n    f() is None\n)\n"
    )
    masked = mask(program).split("\n")
    changed = {
        number
        for number, line in enumerate(program.split("\n"), start=1)
        if number > len(masked) or masked[number - 1] != line
    }

    assert changed and changed <= protected_lines(program)


@pytest.mark.parametrize("after, kept", [
    ("def f(x):\n    return x + 1\n\nassert f(1) == 2\nassert f(2) == 3\n", True),
    ("# a comment\ndef f(x):\n    return 2\nassert   f(1)==2\nx = 1\nassert f(2) == 3\n", True),
    ("def f(x):\n    return x\nassert f(1) == 1\nassert f(2) == 3\n", False),
    ("def f(x):\n    return x\nassert f(1) == 2\n", False),
    ("def f(x):\n    return x\n\nif False:\n    pass\n", False),
])
def test_keeps_own_tests_sees_a_changed_or_missing_own_test(after, kept):
    before = "def f(x)\n    return x\n\nassert f(1) == 2\nassert f(2) == 3\n"

    assert keeps_own_tests(before, after) is kept


def test_asserts_that_a_model_adds_to_a_program_are_left_out() -> None:
    before = "def f(x):\n    return x\n\nassert f(0) == 0\n"
    after = "def f(x):\n    assert x\n    return x\n\nassert f(0) == 0\n"
    added = f"{after}assert f(\n    1\n) == 1\nprint(f(2))\n"

    assert without_added_asserts(added, before) == f"{after}print(f(2))\n"
    assert without_added_asserts("x = 1\nassert x\n", "") == "x = 1\n"


def test_the_own_tests_of_a_program_are_looked_for_once() -> None:
    text = "def f(n):\n    return n\n\nassert f(1) == 1\n"

    assert programs.own_tests(text) is programs.own_tests(text)
