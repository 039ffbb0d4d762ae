from __future__ import annotations

import ast
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory import Edit, edit_between
from agent.memory.locality import brings_no_names, is_local
from agent.memory.placing import applied, returned
from tests.agent.values import table

EDITS: dict[str, dict[str, str]] = table(__file__, "edits.toml")


def edit(before: str, after: str) -> Edit:
    made = edit_between(before, after)
    assert made is not None
    return made


PLUS = edit("def f(a, b):\n    return a + b\n", "def f(a, b):\n    return a - b\n")


@pytest.mark.parametrize("case", EDITS.values(), ids=EDITS)
def test_an_edit_is_taken_over_in_the_words_of_the_new_place(case: dict[str, str]) -> None:
    assert applied(edit(case["before"], case["after"]), case["other"], 5) == (case["mended"],)


def test_an_edit_is_offered_at_every_place_that_it_fits() -> None:
    other = "def g(x, y):\n    return x + y\n\n\ndef h(p, q):\n    return p + q\n"
    assert applied(PLUS, other, 5) == (
        other.replace("x + y", "x - y"), other.replace("p + q", "p - q")
    )


def test_a_name_from_elsewhere_is_tried_as_each_name_of_the_new_place() -> None:
    made = edit(
        "def f(total, x):\n    y = x\n    return y\n",
        "def f(total, x):\n    y = x\n    return total\n",
    )
    assert applied(made, "def g(a, b):\n    c = b\n    return c\n", 5) == (
        "def g(a, b):\n    c = b\n    return a\n", "def g(a, b):\n    c = b\n    return b\n",
    )


def test_an_edit_of_several_places_gives_up_where_they_are_too_many() -> None:
    before = "def f(a):\n    b = a\n    c = b\n    return c + 1\n"
    after = "def f(a):\n    b = -a\n    c = -b\n    return c - 1\n"
    made = edit(before, after)
    assert len(made.hunks) == 3
    # Every line is a place for the first hunk, every pair of lines one for two; none for all.
    lines = "".join(f"x{number} = x{number - 1}\n" for number in range(1, 1_500))
    assert applied(made, lines, 5) == ()


def test_the_pattern_keeps_the_structure_and_none_of_the_authors_words() -> None:
    made = edit(
        "def f(secret, other):\n    return secret.weight + other['colour'] + 731\n",
        "def f(secret, other):\n    return secret.weight - other['colour'] + 731\n",
    )
    assert made.context == "return NAME1.ATTR1 + NAME2[TEXT1] + NUMBER1"
    assert made.hunks[0].model_dump() == {
        "kind": "line", "context": made.context, "old": made.context,
        "new": "return NAME1.ATTR1 - NAME2[TEXT1] + NUMBER1",
    }
    assert not re.search("secret|weight|colour|731", made.to_json())


@pytest.mark.parametrize("after", [
    "def f(x):\n    return 917\n", "def f(x):\n    return 'answer'\n",
    "def f(x):\n    return {(1, 2): 10}[x]\n", "def f(x):\n    return f'{x}-answer'\n",
    "import os\n\ndef f(x):\n    return x\n", "def other(y, z):\n    return z\n",
    "def g(x):\n    return 1\n\n\ndef f(x):\n    return g(x)\n",
    "def f(x):\n    return x  # the same\n", "def f(x:\n    return x\n",
])
def test_answers_and_inventions_are_not_carried_over(after: str) -> None:
    assert edit_between("def f(x):\n    return x\n", after) is None


def test_too_many_changes_are_no_edit_of_another_program() -> None:
    before = "".join(f"def f{number}(a):\n    return a + {number}\n" for number in range(9))
    assert edit_between(before, before.replace("+", "-")) is None
    assert edit_between("def f(:\n", "def f():\n    pass\n") is None


def test_neither_the_programs_own_tests_nor_its_comments_are_edited_away() -> None:
    held = edit("assert f(1)\n", "assert not f(1)\n")
    other = "def g(x, y):\n    return x + y\n\n\nassert g(1)\n"
    assert applied(PLUS, other, 5) == (other.replace("+", "-"),)
    assert applied(held, other, 5) == ()
    assert applied(PLUS, "def g(x, y):\n    return (x  # first\n            + y)\n", 5) == ()


def test_the_same_program_in_another_layout_keeps_its_comments() -> None:
    before = "def f(a, b):\n    return a * 7 + b\n"
    after = "def f(a, b):\n    return a * 9 + b\n"
    now = "# my notes\ndef f( a, b ):\n    return a*7 + b  # why\n"
    assert returned(before, after, now) == now.replace("7", "9")
    texts = [text.replace("a * ", "f'{a:>{b}}' * ") for text in (before, after)]
    assert returned(*texts, texts[0] + "# the end\n") == texts[1] + "# the end\n"


def test_a_statement_that_python_cannot_write_anew_is_passed_over() -> None:
    odd = "def h(x):\n    return f'{f\"\u200b{x}\"}'\n"  # up to Python 3.11
    other = odd + "def g(x, y):\n    return x + y\n"
    assert applied(PLUS, other, 5) == (other.replace("x + y", "x - y"),)


NAMES = st.sampled_from([*string.ascii_lowercase, "total", "items", "len"])
OPERATORS = st.sampled_from("+ - * / // % < <= == and or".split())
PROGRAMS = st.lists(st.tuples(NAMES, NAMES, OPERATORS, NAMES), min_size=1, max_size=6).map(
    lambda lines: "def f(a, b):\n" + "".join(
        f"    {name} = {left} {operator} {right}  # {name}\n"
        for name, left, operator, right in lines
    )
)


@given(PROGRAMS, PROGRAMS, PROGRAMS)
def test_an_edit_keeps_valid_syntax_and_every_other_byte(
    before: str, after: str, other: str
) -> None:
    made = edit_between(before, after)
    if made is None:
        return
    for text in applied(made, other, 4):
        ast.parse(text)
        old, new = other.split("\n"), text.split("\n")
        changed = sum(line not in old for line in new)
        assert changed <= sum(hunk.new.count("\n") + 1 for hunk in made.hunks)


@given(PROGRAMS, PROGRAMS)
def test_an_edit_returned_to_its_own_program_gives_what_it_gave(before: str, after: str) -> None:
    again = returned(before, after, before)
    assert again is None or ast.dump(ast.parse(again)) == ast.dump(ast.parse(after))


AREA = "def area(width, height):\n"


@pytest.mark.parametrize(("after", "local"), [
    (f"{AREA}    return width * height\n", True),
    (f"import math\n\n{AREA}    return width + height\n", True),
    (f"{AREA}    if not width:\n        return 0\n    return width + height\n", True),
    ("def area(w, h):\n    return 10\n", False), ("print('hello')\n", False), ("", False),
    (f"{AREA}    return {{(2, 5): 10, (1, 1): 1}}[width, height]\n", False),
])
def test_a_small_edit_is_told_from_another_program(after: str, local: bool) -> None:
    assert is_local(f"{AREA}    return width + height\n", after) is local


@pytest.mark.parametrize(("after", "modest"), [
    (f"{AREA}    return width * height\n", True),
    (f"{AREA}    return max(width, 0) if height else None\n", True),
    (f"import os\n{AREA}    return width + height\n", False),
    (f"{AREA}    return eval('width')\n", False), (f"{AREA}    return width.__class__\n", False),
])
def test_somebody_elses_edit_brings_no_names_that_reach_out(after: str, modest: bool) -> None:
    assert brings_no_names(f"{AREA}    return width + height\n", after) is modest
