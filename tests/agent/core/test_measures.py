from __future__ import annotations

import pytest

from agent.core.measures import cyclomatic_complexity, has_docstrings, line_count, measure_all

BRANCHING = """\
def f(values, flag):
    \'\'\'Say what it is.\'\'\'
    for value in values:
        if value and flag or value > 3:
            try:
                return [one for one in value if one if flag]
            except TypeError:
                pass

    return 1 if flag else 2
"""


def test_each_way_through_a_program_counts_once() -> None:
    # one, for, if, and, or, comprehension, its two conditions, except, conditional expression
    assert cyclomatic_complexity(BRANCHING) == 10
    assert cyclomatic_complexity("x = 1\n") == 1


@pytest.mark.parametrize(("text", "has"), [
    (BRANCHING, True), ("def f():\n    return 1\n", False), ("def _f():\n    return 1\n", False),
    ("'what it is'\ndef _f():\n    return 1\n", True),
    ("class A:\n    'a'\n    def f(self):\n        return 1\n", False),
])
def test_public_names_are_documented_or_the_module_is(text: str, has: bool) -> None:
    assert has_docstrings(text) is has


def test_a_text_that_cannot_be_read_has_lines_alone() -> None:
    assert measure_all("def f(:\n\n") == {
        "cyclomatic_complexity": None, "line_count": 1, "has_docstrings": None,
    }
    assert line_count(BRANCHING) == 9
