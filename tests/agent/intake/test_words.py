"""Examples among words become tests only where there is no doubt."""

from __future__ import annotations

import pytest

from agent import intake

CLEAR = {
    "f(2, 3) == 5": ["assert f(2, 3) == 5"],
    "`f([1])` -> `[1]`, and f(2) returns 4. g(3) gives 4.": [
        "assert f([1]) == [1]", "assert f(2) == 4", "assert g(3) == 4",
    ],
    "f(2) should return 5 but returns 6": ["assert f(2) == 5"],
    "count('a b a') returns {'a': 2, 'b': 1}": ["assert count('a b a') == {'a': 2, 'b': 1}"],
    "f(2) == 4, f(3) == 9": ["assert f(2) == 4", "assert f(3) == 9"],
    "f(2) is 4.5. That is all.": ["assert f(2) == 4.5"],
    "f('(') => ')'": ["assert f('(') == ')'"],
    "f(a=1) returns (1, 2)": ["assert f(a=1) == (1, 2)"],
    "Example:\n>>> f(2)\n4\n": ["assert f(2) == 4"],
}

DOUBTFUL = (
    "f(2) returns 6 instead of 5",
    "f(2) returns 5 but should return 4",
    "f(2) should not return 4",
    "f(2) doesn't return what it should: f(2) == 4",
    "f(2) returns 4 items",
    "f(x) == x * 2",
    "f(2) == 4, 5",
    "currently f(2) returns 4",
    "m.f(2) returns 4",
    "f(2 returns 4",
    "f(2) returns four",
)


@pytest.mark.parametrize("words", CLEAR)
def test_clear_examples_are_tests_of_the_task(words):
    tests = intake.tests_from_words(words)

    assert [test.code for test in tests] == CLEAR[words]
    assert {test.origin for test in tests} == {"task"}


@pytest.mark.parametrize("words", DOUBTFUL)
def test_doubtful_sentences_are_left_out(words):
    assert intake.tests_from_words(words) == ()


def test_a_named_exception_is_a_test():
    (test,) = intake.tests_from_words("root(-1) raises a ValueError.")

    assert (test.kind, test.call, test.exception) == ("raises", "root(-1)", "ValueError")


def test_only_functions_of_the_program_count():
    words = "f(2) == 4 and g(2) == 8 and\n>>> h(1)\n2"

    assert [t.code for t in intake.tests_from_words(words, frozenset({"g"}))] == [
        "assert g(2) == 8"
    ]


def test_the_same_example_twice_is_one_test():
    assert len(intake.tests_from_words("f(2) == 4. Again: f(2) returns 4.")) == 1
