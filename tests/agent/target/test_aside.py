"""A failure that is not the program's own is set aside; a repair cannot hide among those."""

from __future__ import annotations

import pytest

from agent.core.domain import (
    OTHER_TESTS,
    Example,
    File,
    Origin,
    Report,
    Script,
    Solution,
    Status,
    Task,
    Verdict,
)
from agent.target.failures.excluded import (
    exclusion_reason,
    exclusion_words,
    with_exclusions,
    with_lost_tests,
    without_excluded_tests,
)

CODE = "import lazy_thing\ndef test_a(): pass\n"
ONE = Script(name="test_a", origin="user", code=CODE, node="test_a")
OTHER = Script(name="test_b", origin="user", code=CODE, node="test_b")
ALL_ELSE = Script(
    name="test_it.py::*", origin="user", code=CODE, node=OTHER_TESTS,
    excluded_nodes=("test_a", "test_b")
)
SOLUTION = Solution(files=(File(path="calc.py", text="x = 1\n"),), entry="calc.py")
TASK = Task(solution=SOLUTION, tests=(ONE, OTHER, ALL_ELSE))
JAIL = "; the jail opens only the program's own files; the jail allows no network"


def seen(
    name: str, status: Status = "failed", message: str = "", test: str = "", origin: Origin = "user"
) -> Verdict:
    return Verdict(
        name=name, test=test or name, origin=origin, status=status, message=message,
        integrity="isolated" if status == "passed" else None,
    )


OUTSIDE = {
    "setup: fixture 'spam' not found": "the fixture spam is not available",
    "file tests/test_a.py, line 4\n  def test_a(spam):\nE       fixture 'spam' not found\n> x":
        "the fixture spam is not available",
    "Failed: async def functions are not natively supported. at line 177": "coroutines",
    "urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution>":
        "allows no network",
    "_tkinter.TclError: no display name and no $DISPLAY environment variable at line 3":
        "has no display",
    "socket.gaierror: [Errno -2] Name or service not known at line 3 (calc.py)":
        "allows no network",
    f"PermissionError: [Errno 13] Permission denied at line 232 (socket.py){JAIL}":
        "allows no network",
    f"PermissionError: [Errno 1] Operation not permitted at line 1 (subprocess.py){JAIL}":
        "no second process",
    f"PermissionError: [Errno 13] Permission denied: '/etc/passwd'{JAIL}": "opens only the",
    "OSError: [Errno 30] Read-only file system: '/etc/x' at line 2 (test_it.py)": "opens only the",
    "ModuleNotFoundError: No module named 'polars' at line 3 (test_it.py)": "polars is not",
    "it did not run": "internal error",
}


@pytest.mark.parametrize(("message", "word"), OUTSIDE.items(), ids=OUTSIDE)
def test_environment_failures_are_excluded(message: str, word: str) -> None:
    assert word in exclusion_reason(seen("test_a", message=message), TASK)


@pytest.mark.parametrize("message", [
    "AssertionError: assert 3 == 4",
    "ModuleNotFoundError: No module named 'calk' at line 1 (test_it.py)",
    "ModuleNotFoundError: No module named 'maths' at line 1 (calc.py)",
    f"FileNotFoundError: [Errno 2] No such file or directory: 'x.txt'{JAIL}",
    "PermissionError: not yours",
    f"PermissionError: [Errno 13] Permission denied: 'mine.txt'{JAIL}",
    "KeyError: \"fixture 'spam' not found\"",
    "it came to no end",
])
def test_the_programs_own_failures_are_not_excluded(message: str) -> None:
    assert exclusion_reason(seen("test_a", message=message), TASK) == ""


def test_a_fixture_of_the_program_itself_may_be_what_is_broken() -> None:
    message = "file tests/test_a.py, line 4\n  def test_a(spam):\nE       fixture 'spam' not found"
    plugin = Solution(files=(File(path="plugin.py", text="def spam(): pass\n"),), entry="plugin.py")
    assert exclusion_reason(seen("test_a", message=message), TASK) != ""
    task = TASK.model_copy(update={"solution": plugin})
    assert exclusion_reason(seen("test_a", message=message), task) == ""


def test_a_failing_doctest_counts_alone_or_where_it_is_asked_for() -> None:
    example = Example(name="f(1)", origin="doctest", call="f(1)", expected="1")
    failing = seen("f(1)", origin="doctest")
    beside = TASK.model_copy(update={"tests": (ONE, example)})

    assert "--doctests" in exclusion_reason(failing, beside)
    assert exclusion_reason(failing, beside.model_copy(update={"doctests": True})) == ""
    assert exclusion_reason(failing, TASK.model_copy(update={"tests": (example,)})) == ""


def test_an_excluded_test_neither_fails_nor_passes() -> None:
    report = with_exclusions(Report(solution="x", verdicts=(
        seen("test_a", message="setup: fixture 'a' not found"), seen("test_b", "passed"),
    )), TASK)

    assert report.passed and not report.failing and report.score == (1, 1)
    words = exclusion_words(report)
    assert words.startswith("`test_a` is excluded: the fixture a is not available")


def test_excluded_tests_do_not_count() -> None:
    report = Report(solution="x", verdicts=(
        seen("test_a[1]", test="test_a"),
        seen("test_a[2]", test="test_a").model_copy(update={"excluded": "no network"}),
        seen("test_b").model_copy(update={"excluded": "no network"}),
    ))

    (left,) = without_excluded_tests(TASK.tests, report)
    assert left == ONE.model_copy(update={"excluded_nodes": ("test_a[2]",)})
    # What is watched is judged again with each repair, which may mend it.
    assert without_excluded_tests(TASK.tests, report, ["test_a[2]", "test_b"])[:2] == (
        TASK.tests[:2]
    )


def test_the_rest_of_a_file_stays_until_pytest_has_looked() -> None:
    unread = Report(solution="x", verdicts=(seen("test_a", "error"), seen("test_b", "error")))
    made = Report(solution="x", verdicts=(
        seen("test_a"), seen("test_b"), seen("test_c", test="test_it.py::*"),
    ))

    assert without_excluded_tests(TASK.tests, unread) == TASK.tests
    assert without_excluded_tests(TASK.tests, made) == TASK.tests


def test_a_test_that_a_repair_has_skipped_or_lost_has_not_passed() -> None:
    first = Report(solution="x", verdicts=(
        seen("test_a"), seen("test_b", "skipped"), seen("test_c", "passed", test="test_it.py::*"),
    ))
    now = Report(solution="y", verdicts=(seen("test_a", "skipped"), seen("test_b", "skipped")))

    report = with_lost_tests(now, first, TASK.tests)

    assert {v.name for v in report.failing} == {"test_a", "test_c"}
    assert with_lost_tests(first, first, TASK.tests) == first
