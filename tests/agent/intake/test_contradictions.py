"""Tests that no program can pass together are told as a pair; all others are believed."""

from __future__ import annotations

import pytest

from agent.intake import NotFixable, paste

DOUBLE = "def f(x):\n    return x + x\n\ndef g():\n    return 1\n"
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
        "assert f(2) is True\nassert f(2) is not True",
        "assert f('a') == 'aa'\nassert f(\"a\") == 'b'",
        "import pytest\nwith pytest.raises(ValueError):\n    f(2)\nassert f(2) == 4",
        "def test_a():\n    assert f(2) == 4\n\ndef test_b():\n    assert f(2) == 5\n",
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
