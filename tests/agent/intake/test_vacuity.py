"""Snippets that ask the program nothing are found, and those that ask something left alone."""

from __future__ import annotations

import pytest

from agent.intake.asked.unusable import vacuous
from agent.intake.found import snippets
from agent.intake.task import TestText, from_page, make_task

PROGRAM = "def f(x):\n    return x\n\nclass Box:\n    pass\n\nLIMIT = 3\n"

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
    reasons = vacuous(snippets.tests_from_snippet(code, program=PROGRAM), PROGRAM)

    assert [NOTHING[code] in reason for reason in reasons.values()] == [True]


@pytest.mark.parametrize("code", SOMETHING)
def test_a_snippet_that_may_ask_something_is_kept(code: str) -> None:
    assert vacuous(snippets.tests_from_snippet(code, program=PROGRAM), PROGRAM) == {}


def test_a_reason_counts_lines_in_the_user_s_text() -> None:
    code = "a = f(1)\nassert a == 1\n\nassert True\n"
    (notice,) = make_task(PROGRAM, tests=[TestText(code)]).notices

    assert "(line 4)" in notice


def test_what_a_test_of_a_file_shows_is_for_the_judge_to_say() -> None:
    brought = from_page(PROGRAM, "from solution import f\n\ndef test_a():\n    assert True\n")

    assert brought.task.tests[0].name == "test_a" and brought.notices == ()
