"""Tests that no program can be judged by: what is reported, and of what nothing is."""

from __future__ import annotations

import pytest

from agent.target.discovery import snippets
from agent.target.errors import NotFixable
from agent.target.task import TestText, from_page, make_task
from agent.target.test_analysis.unusable import vacuous

PROGRAM = "def f(a, b=3):\n    return a + b\n\ndef g():\n    return 1\n"
COUNTED = "total = 0\n\ndef f(x):\n    global total\n    total += x\n    return total\n"
BOX = (
    "class Box:\n    def __init__(self):\n        self.n = 0\n\n"
    "    def put(self):\n        self.n += 1\n        return self.n\n\nbox = Box()\n"
)
RAISES = "import pytest\nwith pytest.raises(ValueError):\n    f(3)\n"

CONTRADICTING = (
    "assert f(2) == 4\nassert f(2) == 5",
    "assert f(2) == 4\nassert 5 == f(2)",
    "assert f([1,2]) == 4\nassert f([1, 2]) == 3, 'three'",
    "assert f({'a', 'b'}) == 1\nassert f({'b', 'a'}) == 2",
    "assert f(a=2) == 4\nassert f(a = 2) == 5",
    "assert f(1, 2) == 3\nassert f(1, b=2) == 4",
    "assert f(b=2, a=1) == 3\nassert f(1, 2) == 4",
    "assert f(2) is None\nassert f(2) == 4",
    "assert f('a') == 'aa'\nassert f(\"a\") == 'b'",
    RAISES + "assert f(3) == 5",
    "import solution as s\nassert s.f(3) == 1\nassert f(3) == 2",
)
AGREEING = (
    # Only what fixes an answer is compared.
    (PROGRAM, "assert f(3) > 2\nassert f(3) < 3"),
    (PROGRAM, "assert f(3) == 5\nassert f(3) < 'a'"),
    (PROGRAM, "assert f(2) == 4\nassert f(2) == 4.0"),
    (PROGRAM, "assert f(1) == 1\nassert f(1) is True"),
    # Other calls, and calls that come after others.
    (PROGRAM, "assert f(1) == 2\nassert f(True) == 3\nassert f(1.0) == 4"),
    (PROGRAM, "assert f(1) == 3\nassert f(1, 3) == 4"),
    (PROGRAM, "assert f(1) == 2 or f(3) == 5\nassert f(3) == 6"),
    (PROGRAM, "x = 2\nassert f(x) == 4\nx = 3\nassert f(x) == 5"),
    (PROGRAM, "import random\nassert f(random.random()) < 2\nassert f(2) == 4"),
    (PROGRAM, "def f(x):\n    return x\nassert f(2) == 2\nassert g() == 1"),
    (PROGRAM, "from math import floor as f\nassert f(3) == g()\nassert f(3) == 2"),
    (COUNTED, "assert f(2) == 2\nassert f(2) == 4"),
    (BOX, "assert box.put() == 1\nassert box.put() == 2"),
    # What stands in a pytest file is between its author and pytest.
    (PROGRAM, "def test_a():\n    assert f(3) == 4\n\ndef test_b():\n    assert f(3) == 5\n"),
)


@pytest.mark.parametrize("tests", CONTRADICTING)
def test_a_contradiction_names_its_pair(tests: str) -> None:
    with pytest.raises(NotFixable, match=r"contradict each other: `.*f.*` and `.*f.*`") as refused:
        from_page(PROGRAM, tests)

    assert refused.value.category == "invalid_tests"


@pytest.mark.parametrize(("code", "tests"), AGREEING)
def test_what_some_program_could_pass_is_no_contradiction(code: str, tests: str) -> None:
    assert from_page(code, tests).task.tests


def test_doctests_and_unwritten_programs_can_be_contradicted() -> None:
    code = 'def f(x):\n    """\n    >>> f(2)\n    4\n    """\n    return x\n'

    with pytest.raises(NotFixable, match=r"`assert f\(2\) == 5` and `assert f\(2\) == 4`"):
        from_page(code, "assert f(2) == 5")

    two = "assert f(1) == 1\nassert f(1) == 2"
    with pytest.raises(NotFixable, match="Two tests contradict each other: `assert f"):
        from_page(words="write f", tests=two)
    for one in ("f", "Any"):
        kept = f"assert {one}() == 1\nassert {one}() == 2"  # may count, or equal anything
        assert from_page(words="write f", tests=f"{kept}\nassert g(1) == 1").task.tests


ODD = "class Odd{}:\n    def {}(self, *other):\n        return True\n\n"


def test_classes_with_their_own_equality_contradict_nothing() -> None:
    with pytest.raises(NotFixable, match="contradict each other"):
        _each(ODD.format("", "other") + PROGRAM, "assert f(2) == 4\nassert f(2) == 5")

    _each(ODD.format("", "__eq__") + PROGRAM, "assert f(2) == 4\nassert f(2) == 5")

    code = f"from fractions import Fraction\n\n{ODD.format('(Fraction)', 'other')}{PROGRAM}"

    _each(code, "assert f(2) == 4\nassert f(2) == 5")


def _each(code: str, tests: str) -> None:
    """Each line is a text of its own: with classes about, what came before may matter."""
    make_task(code, tests=[TestText(one) for one in tests.split("\n")])


ECHO = "def f(x):\n    return x\n\nclass Box:\n    pass\n\nLIMIT = 3\n"

NOTHING = {
    "assert True": "always true",
    "assert 'f(1) == 2'": "always true",
    "assert (f(1) == 2, 'message')": "tuple",
    "assert [f(1)]": "always true",
    "assert True or f(1) == 2": "always true",
    "f(1) == 2 or 'message'": "always true",
    "assert 1 + 1 == 2": "never uses the program",
    "x = 3\nassert x == 3": "never uses the program",
    "import math\nassert math.sqrt(4) == 2": "never uses the program",
    "def f(x): return 1\nassert f(1) == 1": "never uses the program",
    "import pytest\nwith pytest.raises(ValueError):\n    int('x')": "never uses the program",
    "def check(g):\n    assert g(1) == 1\n": "nothing calls it",
    "f(3)": "no assert",
}

SOMETHING = (
    "import pytest\ntry:\n    f(1)\n    pytest.fail('no')\nexcept Exception:\n    pass",
    "assert callable(missing)",
    "assert Box",
    "assert not f(0)",
    "assert output == ''",
    "x = f(1)\ny = [x]\nassert y == [1]",
    "xs = []\nxs.append(f(1))\nassert xs == [1]",
    "def check(g):\n    assert g(1) == 1\ncheck(f)",
    "import solution\nassert solution.f(1) == 1",
    "from calc import *\nassert f(1) == 1",
    "import importlib\nm = importlib.import_module('solution')\nassert m.f(1) == 1",
    "assert eval('f(1)') == 1",
    "import io, contextlib\nb = io.StringIO()\nwith contextlib.redirect_stdout(b):\n    f(1)\n"
    "assert b.getvalue() == ''",
    "if f(1) != 1:\n    raise AssertionError('no')",
    "assert LIMIT == 3",
    "assert f(1) == f(1)",
    # What is never reached, or caught, the judge sees.
    "if False:\n    assert f(1) == 2",
    "try:\n    assert f(1) == 2\nexcept AssertionError:\n    pass",
)


@pytest.mark.parametrize("code", NOTHING)
def test_a_snippet_that_asks_nothing_is_found(code: str) -> None:
    reasons = vacuous(snippets.tests_from_snippet(code, program=ECHO), ECHO)

    assert [NOTHING[code] in reason for reason in reasons.values()] == [True]


@pytest.mark.parametrize("code", SOMETHING)
def test_a_snippet_that_may_ask_something_is_kept(code: str) -> None:
    assert vacuous(snippets.tests_from_snippet(code, program=ECHO), ECHO) == {}


def test_notices_count_the_users_lines_and_skip_files() -> None:
    code = "a = f(1)\nassert a == 1\n\nassert True\n"
    (notice,) = make_task(ECHO, tests=[TestText(code)]).notices

    assert "(line 4)" in notice

    submitted = from_page(ECHO, "from solution import f\n\ndef test_a():\n    assert True\n")

    assert submitted.task.tests[0].name == "test_a" and submitted.notices == ()
