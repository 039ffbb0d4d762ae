"""How unusual code is, and that it decides between edits that pass every test."""

from __future__ import annotations

import ast

import pytest

from agent.repair.facts import Candidate
from agent.repair.naturalness import shapes, surprise
from agent.repair.rank import ranked
from agent.repair.search import surprising
from evaluation.corpus import WIDTH, table

BASE = """import math

def area(x, y, z):
    if x + y == z:
        return True
    return False

def other(n):
    print(n)
    return n * 2
"""


def asked(before: str, after: str) -> float:
    nats = surprise(before, after)
    assert nats is not None
    return nats


@pytest.mark.parametrize(("usual", "odd"), [
    ("x + z > y", "z + z > y"),
    ("x + y > z", "x + y + 1 == z - 1"),
    ("x == z", "x & y == z"),
    ("not x", "x == x"),
])
def test_what_is_seldom_written_surprises_more(usual: str, odd: str) -> None:
    plain, strange = (asked(BASE, BASE.replace("x + y == z", one)) for one in (usual, odd))
    assert plain < strange


def test_only_what_an_edit_writes_counts() -> None:
    assert surprise(BASE, BASE) == 0
    assert surprise(BASE, BASE.replace("    print(n)\n", "")) == 0
    odd = "\n\ndef odd():\n    return 7 << {} ** None\n"
    changed = BASE.replace("x + y == z", "x + y > z")
    plain = asked(BASE, changed)
    assert plain > 0
    assert surprise(BASE + odd, changed + odd) == plain


@pytest.mark.parametrize("text", ["def broken(:\n", "x = 1\n" * 10_000, "\0"])
def test_of_what_cannot_be_read_it_is_not_known(text: str) -> None:
    assert surprise("", text) is None
    assert surprise(text, "") is None


def test_a_change_inside_a_text_of_many_lines_is_read_whole() -> None:
    text = 'def f(a):\n    s = """\nbody\n"""\n    return a < 1\n'
    assert asked(text, text.replace("a < 1", "a < 1 and a << 1")) > 0


def test_of_two_repairs_the_usual_code_comes_first() -> None:
    one, other = (
        Candidate(text, 2.0, ("operator",), surprise=asked(BASE, text))
        for text in (BASE.replace("x + y", "y + y"), BASE.replace("x + y", "y + x"))
    )
    assert ranked([one, other]) == (other, one)


def test_the_table_is_of_counts_and_its_lines_are_short() -> None:
    tree = ast.parse("\n".join(f"x{n} = {n} + y" for n in range(5)))
    lines = list(table(shapes(tree)))
    assert "Module body Assign 5" in lines
    assert "BinOp.Add right Name 5" in lines
    assert not any(line.startswith("BinOp.Add left 0") for line in lines)  # each number once
    assert all(len(line) <= WIDTH for line in lines)


def test_where_one_candidate_cannot_be_measured_none_is_ranked_by_it() -> None:
    usual, odd = (BASE.replace("x + y", one) for one in ("y + x", "y + y"))
    vast = BASE + "table = [" + "1, " * 10_000 + "]\n"
    cheap, dear = Candidate(odd, 2.0, ("operator",)), Candidate(usual, 2.1, ("operator",))
    assert surprising(BASE, (cheap, dear))[0].text == usual
    assert surprising(BASE, (cheap, dear, Candidate(vast, 9.0, ("operator",))))[0] == cheap
