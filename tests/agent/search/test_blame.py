"""Fault localisation: suspicious lines are those that failing tests ran and passing ones did not.
"""

from agent.core.domain import SuspiciousLine
from agent.search.localisation import crash_of, ochiai, suspicious_lines
from agent.search.values import Crash, Trace, TracedTest
from agent.search.wording import edit_in_words

TRACE = Trace(
    (
        TracedTest(True, frozenset({1, 2, 4})),
        TracedTest(False, frozenset({1, 2, 3}), "ZeroDivisionError", "division by zero", 3,
               (("n", "0"),)),
    )
)


def test_lines_of_failing_tests_are_the_most_suspicious() -> None:
    suspicion = ochiai(TRACE)

    assert suspicion[3] == 1.0
    assert 0 < suspicion[2] < 1.0
    assert suspicion[4] == 0.0

    assert ochiai(Trace((TracedTest(True, frozenset({1})),))) == {}


def test_a_wrong_answer_is_no_crash() -> None:
    wrong = Trace((TracedTest(False, frozenset({1}), "AssertionError", "", None),))

    assert crash_of(TRACE) == Crash(
        "ZeroDivisionError", "division by zero", 3, values=(("n", "0"),)
    )
    assert crash_of(wrong) is None


def test_definitions_and_imports_are_the_least_suspicious() -> None:
    text = '"""Notes."""\nimport os\ndef f(n):\n    return n\n'
    wrong = TracedTest(False, frozenset({1, 2, 3, 4}), "AssertionError", "", None, (("n", "1"),))
    lines = suspicious_lines(Trace((wrong,)), text)

    assert [(line.line, line.values) for line in lines] == [
        (4, (("n", "1"),)), (1, ()), (2, ()), (3, ())
    ]


def test_suspicious_lines_have_the_values_at_the_failure() -> None:
    lines = suspicious_lines(TRACE, "def f(n):\n    if n:\n        x = 1 / n\n    return 0\n")

    assert lines[0] == SuspiciousLine(
        line=3, suspicion=1.0, text="x = 1 / n", values=(("n", "0"),)
    )


def test_an_edit_is_described() -> None:
    assert edit_in_words("a = b[0]\n", "a = b[-1]\n") == "`0` → `-1` in line 1"
    assert edit_in_words("x = a - b - c\n", "x = a - b + c\n") == "`b - c` → `b + c` in line 1"
    assert edit_in_words("x\n", "if a:\n    x\n") == "line 1 → `if a: x`"
    assert edit_in_words("x\ny\n", "y\n") == "removed `x` from line 1"
    assert edit_in_words("x\n", "import os\nx\n") == "added `import os` at the start"
    assert edit_in_words("f(a)\n", "f(a, b)\n") == "added `, b` in line 1"


def test_asserts_below_the_code_are_no_suspicious_lines() -> None:
    text = "def f(n):\n    return n + 1\n\nif True:\n    assert f(1) == 1\nassert f(\n    2) == 3\n"
    lines = frozenset({1, 2, 4, 5, 6, 7})
    wrong = TracedTest(False, lines, "AssertionError", "", 5, (("n", "1"),))

    found = suspicious_lines(Trace((wrong,)), text)

    assert [(one.line, one.values) for one in found] == [(2, (("n", "1"),)), (4, ()), (1, ())]
