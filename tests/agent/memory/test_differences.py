"""What two programs share at both ends is passed over, and changes nothing that is found."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.memory.differences import TooDifferent, _blocks, _same_ends, differences

PIECES = (
    "x = 1\n", "y = 2; z = 3\n", "@once\ndef f(a):\n    return a\n",
    "@twice\ndef f(a):\n    return a\n", "if x:\n    y = 1\n", "else:\n    y = 2\n",
    '"""Two\nlines."""\n', "import os\n", "# a note\n", "\n", "\r\n", "y = \\\n  4\n", "z = 5\r",
)
programs = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)


def is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


@given(programs.filter(is_python), programs.filter(is_python))
def test_statements_that_are_passed_over_are_the_same(before: str, after: str) -> None:
    old, new = ast.parse(before).body, ast.parse(after).body
    lines = [text.replace("\r\n", "\n").replace("\r", "\n").split("\n") for text in (before, after)]
    head, tail = _same_ends(lines[0], lines[1], old, new)
    assert head + tail <= min(len(old), len(new))
    first = [ast.dump(one) for one in old[:head] + old[len(old) - tail :]]
    assert first == [ast.dump(one) for one in new[:head] + new[len(new) - tail :]]


@pytest.mark.parametrize("changed", ["x = 1\n", "y = 3; z = 3\n", "", "x = 1\n" * 3])
def test_an_edit_of_a_long_program_is_found_as_without_passing_over(changed: str) -> None:
    before = "".join(f"def f{number}(a):\n    return a\n\n\n" for number in range(20))
    middle = "def f9(a):\n    return a\n"
    after = before.replace(middle, changed)
    whole = _blocks(ast.parse(before).body, ast.parse(after).body)
    found = differences(before, after)
    assert [shown(one.old) + shown(one.new) for one in found] == [
        shown(one.old) + shown(one.new) for one in whole
    ]


def shown(nodes: tuple[ast.AST, ...]) -> list[str]:
    return [ast.dump(node) for node in nodes]


def test_too_many_regions_are_refused() -> None:
    before = "".join(f"def f{number}(a):\n    return a + {number}\n" for number in range(9))
    with pytest.raises(TooDifferent):
        differences(before, before.replace("+", "-"))
