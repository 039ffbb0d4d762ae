"""Tests that test nothing are found, and tests that test something are left alone."""

from __future__ import annotations

import pytest

from agent import intake

PROGRAM = "def f(x):\n    return x\n\nclass Box:\n    pass\n\nLIMIT = 3\n"

NOTHING = {
    "assert True": "always true",
    "assert 1": "always true",
    "assert 'f(1) == 2'": "always true",
    "assert (f(1) == 2, 'message')": "tuple",
    "assert [f(1)]": "always true",
    "assert f(1) == 2 or True": "always true",
    "assert True or f(1) == 2": "always true",
    "assert not (f(1) == 2 and False)": "always true",
    "f(1) == 2 or 'message'": "always true",
    "assert 2 > 1": "always true",
    "assert 1 + 1 == 2": "never uses the program",
    "x = 3\nassert x == 3": "never uses the program",
    "import math\nassert math.sqrt(4) == 2": "never uses the program",
    "def f(x): return 1\nassert f(1) == 1": "never uses the program",
    "import pytest\nwith pytest.raises(ValueError):\n    int('x')": "never uses the program",
    "def check(g):\n    assert g(1) == 1\n": "nothing calls it",
    "f(3)": "no assert",
    "if False:\n    assert f(1) == 2": "never reached",
    "if True:\n    pass\nelse:\n    assert f(1) == 2": "never reached",
    "while 0:\n    assert f(1) == 2": "never reached",
    "for x in []:\n    assert f(x) == 2": "never reached",
    "for x in range(0):\n    assert f(x) == 2": "never reached",
    "try:\n    assert f(1) == 2\nexcept AssertionError:\n    pass": "failure is caught",
    "try:\n    assert f(1) == 2\nexcept:\n    print('no')": "failure is caught",
    "try:\n    if f(1):\n        assert f(1) == 2\nexcept (OSError, Exception):\n    pass":
        "failure is caught",
    "try:\n    assert f(1) == 2\nexcept ValueError:\n    raise\nexcept Exception:\n    pass":
        "failure is caught",
    "import contextlib\nwith contextlib.suppress(AssertionError):\n    assert f(1) == 2":
        "failure is caught",
    "assert callable(f)": "always true",
    "assert callable(f) and callable(Box)": "always true",
}

SOMETHING = (
    "try:\n    assert f(1) == 2\nexcept AssertionError:\n    raise ValueError",
    "try:\n    assert f(1) == 2\nexcept ValueError:\n    pass",
    "try:\n    f(1)\nexcept ValueError:\n    pass\nelse:\n    assert False",
    "try:\n    assert f(1) == 2\n    ok = True\nexcept AssertionError:\n    ok = False\nassert ok",
    "import pytest\ntry:\n    assert f(1)\nexcept AssertionError:\n    pytest.fail('no')",
    "import pytest\ntry:\n    f(1)\n    pytest.fail('no')\nexcept Exception:\n    pass",
    "import pytest\ntry:\n    with pytest.raises(OSError):\n        f(1)\n"
    "except Exception:\n    pass",
    "for x in [1]:\n    assert f(x) == 2",
    "if f(1):\n    assert f(1) == 2",
    "if False:\n    pass\nelse:\n    assert f(1) == 2",
    "assert callable(f(1))",
    "assert callable(missing)",
    "assert f(1)",
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
    "assert fn(1) == 1",
    "import io, contextlib\nb = io.StringIO()\nwith contextlib.redirect_stdout(b):\n    f(1)\n"
    "assert b.getvalue() == ''",
    "for a in [1]:\n    assert f(a) == a",
    "if f(1) != 1:\n    raise AssertionError('no')",
    "assert LIMIT == 3",
)


@pytest.mark.parametrize("code", NOTHING)
def test_a_snippet_that_tests_nothing_is_found(code):
    reasons = intake.vacuous(intake.tests_from_snippet(code, program=PROGRAM), PROGRAM)

    assert [NOTHING[code] in reason for reason in reasons.values()] == [True]


@pytest.mark.parametrize("code", SOMETHING)
def test_a_snippet_that_tests_something_is_kept(code):
    assert intake.vacuous(intake.tests_from_snippet(code, program=PROGRAM), PROGRAM) == {}


PLAIN = "def f(x):\n    return x\n\ndef pieces(x):\n    yield x\n"


@pytest.mark.parametrize(
    "code",
    ["assert f(1) == f(1)", "x = f(1)\nassert x == x", "assert not f(1) != f(1)",
     "assert f(f(1)) <= f(f(1))", "assert f(1) == 2 or f(1) == f(1)"],
)
def test_a_thing_compared_with_itself_tests_nothing(code):
    tests = intake.tests_from_snippet(code, program=PLAIN)
    reason = intake.vacuous(tests, PLAIN)[tests[0].name]

    assert "compares a thing with itself" in reason or "is always true" in reason


@pytest.mark.parametrize(
    ("program", "code"),
    [
        # Whether two are equal is what such a class says, and what such a test asks.
        (PROGRAM, "assert Box() == Box()"),
        (PROGRAM, "x = Box()\nassert x == x"),
        ("import random\n" + PLAIN, "assert f(1) == f(1)"),
        ("n = 0\n\ndef f(x):\n    global n\n    n += 1\n    return n\n", "assert f(1) == f(1)"),
        (PLAIN, "assert f([1]) is f([1])"),
        (PLAIN, "assert pieces(1) == pieces(1)"),
        (PLAIN, "assert f(1) != f(1)"),
        (PLAIN, "assert f(1) == f(2)"),
        (PLAIN, "assert f(1) == 2 and True"),
        (PLAIN, "assert f(1) or f(2)"),
    ],
)
def test_what_may_fail_is_no_truism(program, code):
    assert intake.vacuous(intake.tests_from_snippet(code, program=program), program) == {}


def test_a_reason_counts_lines_in_the_user_s_text():
    code = "a = f(1)\nassert a == 1\n\nassert True\n"
    with_lines = intake.make_task(PROGRAM, tests=[intake.TestText(code)]).notices

    assert len(with_lines) == 1 and "(line 4)" in with_lines[0]


@pytest.mark.parametrize("code", ["f(1)", "assert True", "if False:\n        assert f(1) == 2"])
def test_what_a_test_of_a_file_shows_is_for_the_judge_to_say(code: str) -> None:
    brought = intake.paste(PROGRAM, f"from solution import f\n\ndef test_a():\n    {code}\n")

    assert brought.task.tests[0].name == "test_a" and brought.notices == ()
