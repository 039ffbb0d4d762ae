"""Texts that no person wrote: a line of thousands of statements, a table of thousands of rows."""

from __future__ import annotations

import ast

import pytest

from agent.repair.blame import idle_nodes
from agent.repair.edits import EDITS, single_edits
from agent.repair.program import Program
from agent.repair.program.scopes import NEAR, nearest
from agent.repair.wording import described

MANY = 700
LINE = "def f(x):\n    " + "; ".join(f"v{n}=x-{n}" for n in range(MANY)) + "; return v3-v5\n"
RIGHT = LINE.replace("return v3-v5", "return v3+v5")


def place_of(program: Program, idle: frozenset[ast.AST]) -> int:
    """How many edits are tried before the right one."""
    operators = tuple(one for one in EDITS if one.name in ("arithmetic", "number"))
    edits = single_edits(program, {2: 1.0}, operators=operators, idle=idle)
    start = program.text.index("v3-v5") + 2
    return next(
        place for place, edit in enumerate(edits)
        if edit.operator == "arithmetic" and edit.splice.start <= start < edit.splice.end
    )


def test_what_nothing_reads_is_tried_late() -> None:
    program = Program(LINE)
    assert place_of(program, frozenset()) > MANY
    assert place_of(program, idle_nodes(program)) < 40


@pytest.mark.parametrize(("text", "tests"), [
    ("a = 5 - 3\ndef g(): return a", ""), ("a = 5 - 3\nprint(a)", ""),
    ("import me; a = 5 - 3; me.a", ""), ("class A:\n    a = 5 - 3", ""),
    ("a = 5 - 3\ngetattr(1, 'a')", ""), ("a = 5 - 3; locals()", ""),
    ("def g():\n    global a\n    a = 5 - 3", ""), ("a = 5 - 3; b = a; print(b)", ""),
    ("a = print(5 - 3)", ""), ("a = 5 - 3", "a"), ("a[0] = 5 - 3", ""), ("a.b = 5 - 3", ""),
])
def test_what_may_be_read_somewhere_is_not_idle(text: str, tests: str) -> None:
    filling = "; ".join(f"w{n} = {n}" for n in range(1_000))
    program = Program(f"{filling}\n{text}\n")
    idle = idle_nodes(program, frozenset({tests}))
    (value,) = [node for node in program.nodes if isinstance(node, ast.BinOp)]
    assert value not in idle


def test_only_values_of_a_long_text_are_idle() -> None:
    filling = "; ".join(f"w{n} = {n}" for n in range(1_000))
    program = Program(f"{filling}\nunread = 5 - 3\n")
    (value,) = [node for node in program.nodes if isinstance(node, ast.BinOp)]
    (target,) = [
        node for node in program.nodes if isinstance(node, ast.Name) and node.id == "unread"
    ]
    idle = idle_nodes(program)
    assert (value in idle, target in idle) == (True, False)
    assert idle_nodes(Program("unread = 5 - 3\n")) == frozenset()


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
    assert described(LINE, RIGHT) == "changed `-` to `+` in line 2"
    both = RIGHT.replace("v9=x-9", "v9=x+9")
    assert described(LINE, both) == "changed several places of line 2"
