"""Examples among words become tests only where there is no doubt."""

from __future__ import annotations

import time

import pytest

from agent.target.discovery import words as module

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
    "Wrong: f(2) == 5. Right: f(2) == 4": ["assert f(2) == 4"],
    "Actual: f(2) == 5\nExpected: f(2) == 4": ["assert f(2) == 4"],
    "Before:\n  >>> f(2)\n  5\nAfter:\n  >>> f(2)\n  4\n": ["assert f(2) == 4"],
    "I want f(2) == 4, and f(3) is 9!": ["assert f(2) == 4", "assert f(3) == 9"],
    "So f(2)\nreturns 4, as expected. Examples:\n```\nf(3) == 9\n```": [
        "assert f(2) == 4", "assert f(3) == 9",
    ],
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
    "f(2) == 1.414...",
    "f(9) gives [1, 2, ...]",
    "f(1) is 1.2.3",
    "f(1) is 1:00",
    "f(4) is 4! = 24",
    "f(2) returns 1.4142 (rounded here)",
    "f(10, 3) returns 3 and a remainder of 1",
    "f(10, 3) returns 3, remainder 1",
    "f(255) is 0xff as a string",
    "f(4) is 5, expected 16",
    "f(4) gives 5\ninstead of 16",
    "f(2) returns 4\nitems",
    "currently\nf(4) returns 5",
    "I get:\n\n    f(4) == 5\n",
    "I get:\n\n>>> f(4)\n5\n",
    "Try it:\n\n>>> f(4)\n5\n\nwhich is wrong",
    "A common mistake is f(2) == 5",
    "A widespread error is f(2) == 5",
    "It is out of the question that f(2) returns 5",
    "unlike the first version, where f(2) == 5, it is right",
    "f(2) gives 4, except on leap days",
    "f(-1) raises ValueError but should return 0",
)


@pytest.mark.parametrize("words", CLEAR)
def test_clear_examples_are_tests_of_the_task(words):
    tests = module.tests_from_words(words)

    assert [test.code for test in tests] == CLEAR[words]
    assert {test.origin for test in tests} == {"task"}


@pytest.mark.parametrize("words", DOUBTFUL)
def test_doubtful_sentences_are_left_out(words):
    assert module.tests_from_words(words) == ()


def test_a_named_exception_is_a_test():
    (test,) = module.tests_from_words("root(-1) raises a ValueError.")

    assert (test.kind, test.call, test.exception) == ("raises", "root(-1)", "ValueError")


def test_only_functions_of_the_program_count():
    words = "f(2) == 4 and g(2) == 8 and\n>>> h(1)\n2"

    assert [t.code for t in module.tests_from_words(words, frozenset({"g"}))] == [
        "assert g(2) == 8"
    ]


def test_the_same_example_twice_is_one_test():
    assert len(module.tests_from_words("f(2) == 4. Again: f(2) returns 4.")) == 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("words", [
    "f(1) == " * 25_000, "f(" * 100_000, "f(1) == 1\n" * 20_000, ">>> f(1)\n1\n\n" * 15_000,
    ":\n" * 100_000, "word\n" * 40_000, "`" * 200_000, "f(1) == [" * 22_000,
])
def test_no_text_takes_long_to_read(words):
    begun = time.process_time()

    assert len(module.tests_from_words(words)) <= 1_000
    assert time.process_time() - begun < 10
