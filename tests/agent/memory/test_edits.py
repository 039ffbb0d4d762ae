from __future__ import annotations

import ast
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.edits import is_small_edit, reapply_edit, uses_only_known_names

BEFORE = "def f(a, b):\n    return a * 7 + b\n"
AFTER = "def f(a, b):\n    return a * 9 + b\n"
SHORT = "def g(x):\n    x = x + 1\n    return x\n"


@pytest.mark.parametrize(("now", "made"), [
    (BEFORE, AFTER),
    ("# mine\ndef f( a, b ):\n  return a*7 + b  # why\n",
     "# mine\ndef f( a, b ):\n  return a * 9 + b  # why\n"),
    ("def f(a, b):\r\n    return (a * 7) + b\r\n", "def f(a, b):\r\n    return a * 9 + b\r\n"),
    ("def f(a, b):\n    return (a  # first\n            * 7 + b)\n", None),
    ("def f(a, b):\n    return a * 8 + b\n", None), ("def f(:\n", None),
])
def test_the_same_program_in_another_layout_keeps_its_comments(now: str, made: str | None) -> None:
    assert reapply_edit(BEFORE, AFTER, now) == made


@pytest.mark.parametrize("after", [
    SHORT.replace("    x = x + 1\n", ""), SHORT.replace("    x = x + 1\n", "    x = x - 1\n"),
    SHORT.replace("    return", "    if x:\n        x = 0\n    return"),
    "import os\n" + SHORT, SHORT + "y = g(1)\n",
])
def test_lines_are_changed_added_and_left_out_in_another_program_that_has_them(after: str) -> None:
    around = "class A:\n" + "".join(f"    {line}\n" for line in SHORT.splitlines()) + "# the end\n"
    made = reapply_edit(SHORT, after, around, anywhere=True)
    assert made is not None and made.endswith("# the end\n")
    assert ast.dump(ast.parse(made).body[0]) == ast.dump(
        ast.parse("class A:\n" + "".join(f"    {line}\n" for line in after.splitlines())).body[0]
    )


def test_lines_that_another_program_has_twice_or_not_at_all_are_not_changed() -> None:
    after = SHORT.replace("+ 1", "- 1")
    assert reapply_edit(SHORT, after, SHORT + SHORT.replace("g", "h"), anywhere=True) is None
    assert reapply_edit(SHORT, after, SHORT.replace("x", "y"), anywhere=True) is None
    assert reapply_edit(SHORT, after, f"{SHORT}y = 1\n") is None


NAMES = st.sampled_from([*string.ascii_lowercase, "total", "items", "len"])
OPERATORS = st.sampled_from("+ - * / // % < <= == and or".split())
PROGRAMS = st.lists(st.tuples(NAMES, NAMES, OPERATORS, NAMES), min_size=1, max_size=6).map(
    lambda lines: "def f(a, b):\n" + "".join(
        f"    {name} = {left} {operator} {right}  # {name}\n"
        for name, left, operator, right in lines
    )
)


def test_two_changes_of_equal_lines_are_not_made_in_a_single_one() -> None:
    before = "def f(a, b):\n    a = b - a\n    a = a - a\n    a = b - a\n"
    after = "def f(a, b):\n    a = a + a\n    a = a - a\n    a = a + total\n"
    assert reapply_edit(before, after, "def f(a, b):\n    a = b - a\n", anywhere=True) is None


@given(PROGRAMS, PROGRAMS, PROGRAMS)
def test_an_edit_keeps_syntax_and_all_other_lines(before: str, after: str, other: str) -> None:
    made = reapply_edit(before, after, f"z = 1\n{other}z = 2\n", anywhere=True)
    if made is not None:
        ast.parse(made)
        fresh = {line.partition("#")[0].rstrip() for line in after.split("\n")}
        assert all(
            line in other or line.startswith("z") or line.partition("#")[0].rstrip() in fresh
            for line in made.split("\n")
        )


@given(PROGRAMS, PROGRAMS)
def test_an_edit_made_again_in_its_own_program_gives_what_it_gave(before: str, after: str) -> None:
    made = reapply_edit(before, after, f"# mine\n{before}")
    assert made is None or ast.dump(ast.parse(made)) == ast.dump(ast.parse(after))


AREA = "def area(width, height):\n"


@pytest.mark.parametrize(("after", "local"), [
    (f"{AREA}    return width * height\n", True),
    (f"import math\n\n{AREA}    return width + height\n", True),
    (f"{AREA}    if not width:\n        return 0\n    return width + height\n", True),
    ("def area(w, h):\n    return 10\n", False), ("print('hello')\n", False), ("", False),
    (f"{AREA}    return {{(2, 5): 10, (1, 1): 1}}[width, height]\n", False),
])
def test_a_small_edit_is_no_other_program(after: str, local: bool) -> None:
    assert is_small_edit(f"{AREA}    return width + height\n", after) is local


@pytest.mark.parametrize(("after", "modest"), [
    (f"{AREA}    return width * height\n", True),
    (f"{AREA}    return max(width, 0) if height else None\n", True),
    (f"import os\n{AREA}    return width + height\n", False),
    (f"{AREA}    return eval('width')\n", False), (f"{AREA}    return width.__class__\n", False),
])
def test_somebody_elses_edit_brings_no_names_that_reach_out(after: str, modest: bool) -> None:
    assert uses_only_known_names(f"{AREA}    return width + height\n", after) is modest
