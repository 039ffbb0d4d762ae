"""Texts that no person wrote: a line of thousands of statements, a table of thousands of rows."""

from __future__ import annotations

import pytest

from agent.repair.edits import single_edits
from agent.repair.program import Program
from agent.repair.program.scopes import NEAR, nearest
from agent.repair.wording import edit_in_words

MANY = 700
LINE = "def f(x):\n    " + "; ".join(f"v{n}=x-{n}" for n in range(MANY)) + "; return v3-v5\n"
RIGHT = LINE.replace("return v3-v5", "return v3+v5")


def test_of_very_many_variables_the_parameters_and_the_nearest_are_brought_in() -> None:
    program = Program(LINE)
    (function,) = program.defined
    names = program.variables(function.body[350])
    assert len(names) <= NEAR
    assert {"x", "v349", "v350", "v351"} <= {*names}
    assert "v600" not in names


def test_the_nearest_come_first_and_each_once() -> None:
    places = [(1, "a"), (4, "b"), (6, "a"), (9, "c"), (30, "d")]
    assert nearest(places, 5, 3) == ("b", "a", "c")
    assert nearest(places, 40, 2) == ("d", "c")
    assert nearest([], 5, 3) == ()


@pytest.mark.parametrize("row", ["{n}", "[{n}, -{n}]", "('k', {{'n': {n}}})"])
def test_a_vast_table_is_no_material_and_is_no_value_to_edit(row: str) -> None:
    rows = ", ".join(row.format(n=n) for n in range(1_100))
    program = Program(f"T = [{rows}]\n\ndef pick(a):\n    return T[a] - 1\n")
    end = program.data.index(b"]\n")
    edits = single_edits(program, {1: 1.0, 4: 1.0})
    assert edits
    assert not [edit for edit in edits if 4 <= edit.splice.start < end < edit.splice.end + 2]


def test_an_edit_of_a_very_long_line_is_told_by_what_differs() -> None:
    assert edit_in_words(LINE, RIGHT) == "changed `-` to `+` in line 2"
    both = RIGHT.replace("v9=x-9", "v9=x+9")
    assert edit_in_words(LINE, both) == "changed several places of line 2"
