"""Tests that no program can pass together are told as a pair; all others are believed."""

from __future__ import annotations

import pytest

from agent import intake
from agent.intake import NotFixable, TestText, make_task, paste
from agent.intake.asked.contradictions import contradiction

DOUBLE = "def f(x):\n    return x + x\n\ndef g():\n    return 1\n"
PAIR = "def f(a, b=3):\n    return a + b\n"
COUNTED = "total = 0\n\ndef f(x):\n    global total\n    total += x\n    return total\n"


@pytest.mark.parametrize(
    "tests",
    [
        "assert f(2) == 4\nassert f(2) == 5",
        "assert f(2) == 4\nassert f(2) != 4",
        "assert f(2) == 4\nassert 5 == f(2)",
        "assert f([1,2]) == 4\nassert f([1, 2]) == 3, 'three'",
        "assert f({'a', 'b'}) == 1\nassert f({'b', 'a'}) == 2",
        "assert f(x=2) == 4\nassert f(x = 2) == 5",
        "assert f(2)\nassert not f(2)",
        "assert f(2) == 0\nassert f(2)",
        "assert f(2) is None\nassert f(2) == 4",
        "assert f('a') == 'aa'\nassert f(\"a\") == 'b'",
        "import pytest\nwith pytest.raises(ValueError):\n    f(2)\nassert f(2) == 4",
    ],
)
def test_a_contradiction_is_told_with_its_pair(tests: str) -> None:
    with pytest.raises(NotFixable, match=r"contradict each other: `.*f.*` and `.*f.*`") as refused:
        paste(DOUBLE, tests)

    assert refused.value.category == "invalid_tests"


def test_a_doctest_of_the_program_can_contradict_a_test() -> None:
    code = 'def f(x):\n    """\n    >>> f(2)\n    4\n    """\n    return x\n'

    with pytest.raises(NotFixable, match=r"`assert f\(2\) == 5` and `assert f\(2\) == 4`"):
        paste(code, "assert f(2) == 5")


@pytest.mark.parametrize(
    "tests",
    [
        "assert f(1, 2) == 3\nassert f(1, b=2) == 4",
        "assert f(b=2, a=1) == 3\nassert f(1, 2) == 4",
        "assert f(3) < 2\nassert f(3) == 5",
        "assert f(3) == 5\nassert 2 > f(3)",
        "assert f('a') <= 'b'\nassert f('a') == 'c'",
        "assert not f(3) == 4\nassert f(3) == 4",
        "assert 1 < f(3) < 9\nassert f(3) == 9",
        "import pytest\nwith pytest.raises(ValueError):\n    f(3)\nassert f(3) < 2",
        "import pytest\nwith pytest.raises(ValueError, match='no'):\n    f(3)\nassert f(3) == 5",
        "import solution as s\nassert s.f(3) == 1\nassert f(3) == 2",
    ],
)
def test_a_contradiction_is_seen_however_it_is_written(tests: str) -> None:
    with pytest.raises(NotFixable, match="contradict each other"):
        paste(PAIR, tests)


@pytest.mark.parametrize(
    "tests",
    [
        # Two bounds fix no answer.
        "assert f(3) > 2\nassert f(3) < 3",
        "assert not f(3) < 2\nassert not f(3) >= 2",
        "assert f(3) <= 2\nassert f(3) >= 2",
        "assert f(3) == 5\nassert f(3) < 'a'",
        "assert f(3) > 5\nassert f(3)",
        "assert f(1) == 2 or f(3) == 5\nassert f(3) == 6",
        "assert not (f(3) == 5 and f(1) == 2)\nassert f(3) == 5",
        # What stands in a pytest file is between its author and pytest.
        "def test_a():\n    assert f(3) == 4\n\ndef test_b():\n    assert f(3) == 5\n",
    ],
)
def test_what_some_answer_fits_is_no_contradiction(tests: str) -> None:
    assert paste(PAIR, tests).task.tests


def test_another_function_of_the_same_name_is_not_the_program_s() -> None:
    code = "from math import floor as f\nassert f(3) == 1\nassert f(3) == 2"
    tests = intake.tests_from_snippet(code)

    assert contradiction(tests, PAIR) is None


def test_tests_that_another_default_reconciles_are_no_contradiction() -> None:
    assert len(paste(PAIR, "assert f(1) == 3\nassert f(1, 3) == 4").task.tests) == 2


@pytest.mark.parametrize(
    ("code", "tests"),
    [
        (DOUBLE, "assert f(2) == 4\nassert f(2) == 4.0"),
        (DOUBLE, "assert f(1) == 2\nassert f(True) == 3"),
        (DOUBLE, "assert f(1) == 2\nassert f(1.0) == 3"),
        (DOUBLE, "assert f(1) == 1\nassert f(1) is True"),
        (DOUBLE, "assert f(2) != 4\nassert f(2) != 5"),
        (DOUBLE, "x = 2\nassert f(x) == 4\nx = 3\nassert f(x) == 5"),
        (DOUBLE, "import random\nassert f(random.random()) < 2\nassert f(2) == 4"),
        (DOUBLE, "def f(x):\n    return x\nassert f(2) == 2\nassert g() == 1"),
        # A value that the program keeps may change between two tests of one file.
        (COUNTED, "def test_a():\n    assert f(2) == 2\n\ndef test_b():\n    assert f(2) == 4\n"),
        (COUNTED, "assert f(2) == 2\nassert f(2) == 4"),
        (
            DOUBLE,
            "import pytest\n\n@pytest.fixture(autouse=True)\ndef ready():\n    yield\n\n"
            "def test_a():\n    assert f(2) == 4\n\ndef test_b():\n    assert f(2) == 5\n",
        ),
        (
            "class Box:\n    def __init__(self):\n        self.n = 0\n\n"
            "    def put(self):\n        self.n += 1\n        return self.n\n\nbox = Box()\n",
            "assert box.put() == 1\nassert box.put() == 2",
        ),
    ],
)
def test_what_some_program_could_pass_is_no_contradiction(code: str, tests: str) -> None:
    assert paste(code, tests).task.tests


ODD = "class Odd{}:\n    def {}(self, *other):\n        return True\n\n"


@pytest.mark.parametrize(
    ("method", "tests"),
    [
        ("__eq__", "assert f(2) == 4\nassert f(2) == 5"),
        ("__ne__", "assert f(2) == 4\nassert f(2) != 4"),
        ("__bool__", "assert f(2)\nassert not f(2)"),
        ("__len__", "assert f(2)\nassert f(2) == 0"),
        ("__lt__", "assert f(2) < 3\nassert f(2) == 4"),
        ("__ge__", "assert f(2) >= 9\nassert f(2) == 4"),
    ],
)
def test_what_a_class_says_of_itself_contradicts_nothing(method: str, tests: str) -> None:
    with pytest.raises(NotFixable, match="contradict each other"):
        _each(ODD.format("", "other") + DOUBLE, tests)

    _each(ODD.format("", method) + DOUBLE, tests)


def test_what_a_class_from_elsewhere_says_of_itself_is_not_known() -> None:
    code = f"from fractions import Fraction\n\n{ODD.format('(Fraction)', 'other')}{DOUBLE}"

    _each(code, "assert f(2) == 4\nassert f(2) == 5")


def _each(code: str, tests: str) -> None:
    """Each line is a text of its own: with classes about, what came before may matter."""
    make_task(code, tests=[TestText(one) for one in tests.split("\n")])
