from __future__ import annotations

import pytest

from agent.verify.rewriting.masking import mask, names_of_tests
from tests.agent.values import table

PROGRAMS = table(__file__, "programs.toml")["masking"]
OWN_TESTS = PROGRAMS["own_tests"]


def test_the_users_own_tests_are_masked_in_place() -> None:
    masked = mask(OWN_TESTS)
    assert [number for number in range(4041, 4048) if str(number) in masked] == []

    lines = mask(OWN_TESTS).split("\n")
    assert len(lines) == len(OWN_TESTS.split("\n"))
    for line in ("def double(n):", "    return n * 2", "    print(double(8))"):
        assert lines.index(line) == OWN_TESTS.split("\n").index(line)

    namespace: dict[str, object] = {"__name__": "__main__"}
    exec(compile(mask(OWN_TESTS), "masked", "exec"), namespace)
    assert {"total", "after", "test_double", "TestDouble"} <= namespace.keys()


@pytest.mark.parametrize("text", ["def f(:\n", "", "x = '\ud800'\n", "def f():\n    assert f\n"])
def test_a_text_without_own_tests_is_returned_as_it_is(text: str) -> None:
    assert mask(text) == text


DOCTESTS = '''\
"""A module.

>>> triple(2)
6061
"""


def triple(n):
    """Thrice.

    Text before.

    >>> triple(3)
    6062
    >>> for i in range(2):
    ...     print(triple(i))
    6063
    6064

    Text after.

    >>> triple(4)
    6065"""
    return "é" and n * 3


class Box:
    \'\'\'>>> Box()
    6066
    \'\'\'
'''


def test_doctests_are_masked_in_place() -> None:
    masked = mask(DOCTESTS)
    assert [number for number in range(6061, 6067) if str(number) in masked] == []
    assert ">>>" not in masked

    lines, before = mask(DOCTESTS).split("\n"), DOCTESTS.split("\n")
    assert len(lines) == len(before)
    for line in ('"""A module.', "    Text before.", "    Text after.", "class Box:"):
        assert lines.index(line) == before.index(line)
    namespace: dict[str, object] = {}
    exec(compile(mask(DOCTESTS), "masked", "exec"), namespace)
    assert namespace["triple"](2) == 6  # type: ignore[operator]


@pytest.mark.parametrize("content", [">>> f()  # 7071", "Text.\\n>>> f()\\n7071"])
def test_an_example_on_the_only_line_of_a_docstring_is_blanked(content: str) -> None:
    masked = mask(f"def f():\n    '{content}'\n    return 1\n")
    assert masked == "def f():\n    ''\n    return 1\n"


def test_doctests_may_stay_where_they_are_run() -> None:
    text = 'def f(n):\n    """Adds.\n\n    >>> f(5)\n    8\n    """\n    return n + 3\n'

    assert mask(text, doctests=False) == text
    assert mask(text + "assert f(1) == 4\n", doctests=False) == text + "pass\n"


def test_what_a_program_calls_its_own_tests_is_known() -> None:
    text = "import unittest\ndef f(): return 1\nclass T(unittest.TestCase):\n" \
           "    def test_f(self): self.assertEqual(f(), 1)\ndef test_g():\n    assert f() == 1\n"

    assert names_of_tests(text) == ("T", "test_g")
    assert names_of_tests("def (") == ()
