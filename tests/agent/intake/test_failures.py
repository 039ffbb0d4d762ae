"""The kind of a failure, and whether an edit of the program could help."""

from __future__ import annotations

import pytest

from agent import intake
from agent.domain import Diagnosis, Ending, Example, File, Report, Solution, Task, Verdict


def task(text: str, **given) -> Task:
    solution = Solution(files=(File(path="main.py", text=text),), entry="main.py")
    return Task(solution=solution, **given)


def ended(exception: str, message: str = "", line: int | None = 1) -> Report:
    ending = Ending(kind="raised", exception=exception, message=message, line=line)
    return Report(solution="s", ending=ending)


def failed(message: str, status: str = "failed", **given) -> Report:
    verdict = Verdict(name="t", test="t", origin="user", status=status, integrity="outside",
                      message=message, **given)
    return Report(solution="s", verdicts=(verdict,))


NOT_FIXABLE = {
    "missing_package": ("import polars\n", "ModuleNotFoundError", "No module named 'polars'"),
    "input_exhausted": ("n = int(input())\n", "EOFError", "EOF when reading a line"),
    "deliberate_exit": ("raise ValueError('stop here')\n", "ValueError", "stop here"),
    "environment": ("open('/etc/none')\n", "FileNotFoundError",
                    "[Errno 2] No such file or directory: '/etc/none'"),
}


@pytest.mark.parametrize("category", NOT_FIXABLE)
def test_what_no_edit_can_mend_is_not_fixable(category):
    text, exception, message = NOT_FIXABLE[category]
    found = intake.classify(ended(exception, message), task(text))

    assert (found.category, found.fixable) == (category, False)
    assert found.evidence == (f"{exception}: {message} at line 1",)


@pytest.mark.parametrize("text, exception, message, word", [
    ("import os\nos.environ['TOKEN']\n", "KeyError", "'TOKEN'", "TOKEN"),
    ("import socket\nsocket.create_connection(('a', 1))\n", "gaierror", "Name not known",
     "network"),
    ("import socket\nsocket.create_connection(('a', 1))\n", "socket.gaierror", "Name not known",
     "network"),
    ("x = 1\nopen('data.csv')\n", "PermissionError", "[Errno 13] denied: 'data.csv'", "data.csv"),
])
def test_the_surroundings_are_named(text, exception, message, word):
    found = intake.classify(ended(exception, message, 2), task(text))

    assert (found.category, found.fixable) == ("environment", False)
    assert word in found.cause


def test_a_refusal_that_names_no_file_is_not_taken_for_one():
    text = "import subprocess\ndef f():\n    return subprocess.run(['ls'])\n"
    seen = "PermissionError: [Errno 1] Operation not permitted at line 3 (solution.py)"

    found = intake.classify(failed(seen, "error"), task(text))

    assert (found.category, found.fixable) == ("environment", False)
    assert "no second process" in found.cause
    assert "file" not in found.cause


def test_arguments_that_were_not_given_are_the_surroundings_matter():
    text = "import sys\nprint(sys.argv[1])\n"
    report = ended("IndexError", "list index out of range", 2)

    assert intake.classify(report, task(text)) == Diagnosis(
        category="environment", fixable=False, confidence=0.85,
        cause="The program asks for arguments, and none were given. Give them after --.",
        evidence=("IndexError: list index out of range at line 2",),
    )
    assert "more arguments" in intake.classify(report, task(text, argv=("a",))).cause
    assert intake.classify(report, task("import sys\nprint([][1])\n")).fixable


def test_a_key_error_elsewhere_is_a_crash():
    found = intake.classify(ended("KeyError", "'TOKEN'"), task("d = {}\nd['TOKEN']\n"))

    assert (found.category, found.fixable) == ("crash", True)


def test_a_file_that_is_brought_under_a_like_name_is_a_bug():
    found = intake.classify(
        ended("FileNotFoundError", "[Errno 2] No such file: 'dta.csv'"),
        task("open('dta.csv')\n", support=(File(path="data.csv", text="1"),)),
    )

    assert (found.category, found.fixable) == ("crash", True)


@pytest.mark.parametrize("text, line", [
    ("raise SystemError('no')\n", 1),
    ("def f(x):\n    raise ValueError('negative')\nf(-1)\n", 2),
    ("def f(x):\n    assert x > 0, 'negative'\nf(-1)\n", 2),
    ("import sys\nif True:\n    sys.exit('bad')\n", 3),
])
def test_an_end_the_program_chose_is_no_crash_to_silence(text, line):
    found = intake.classify(ended("ValueError", "x", line), task(text))

    assert (found.category, found.fixable) == ("deliberate_exit", False)
    assert f"line {line}" in found.cause


def test_with_tests_a_deliberate_end_can_be_mended():
    test = Example(name="t", origin="user", call="f(1)", expected="1")
    text = "def f(x):\n    raise ValueError('no')\n"
    report = failed("ValueError: no at line 2 (main.py)", status="error")
    found = intake.classify(report, task(text, tests=(test,)))

    assert (found.category, found.fixable) == ("crash", True)


ARGPARSE = (
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('n')\na = p.parse_args()\n"
)
USAGE = "import sys\nif len(sys.argv) < 2:\n    sys.exit('usage: N')\n"


@pytest.mark.parametrize(("text", "seen"), [
    (ARGPARSE, "SystemExit: 2 at line 4 (main.py)"),
    (USAGE, "SystemExit: usage: N at line 3 (main.py)"),
])
def test_a_program_that_wants_its_arguments_before_it_can_be_tested_is_told_so(text, seen):
    test = Example(name="t", origin="user", call="f(1)", expected="1")
    found = intake.classify(failed(seen, status="error"), task(text, tests=(test,)))

    assert (found.category, found.fixable) == ("environment", False)
    assert "it asks for arguments, and none were given" in found.cause
    assert "after --" in found.cause and "__main__" in found.cause


def test_an_end_that_tests_speak_against_is_told_as_such_and_may_be_mended():
    test = Example(name="t", origin="user", call="f(1)", expected="1")
    text = "import sys\nREADY = []\nif not READY:\n    sys.exit('not ready')\n"
    report = failed("SystemExit: not ready at line 4 (main.py)", status="error")
    found = intake.classify(report, task(text, tests=(test,)))

    assert (found.category, found.fixable) == ("deliberate_exit", True)
    assert found.cause == (
        "The program ends itself at line 4: not ready, before the test has its answer"
    )


def test_an_exception_handed_on_is_a_crash_and_not_chosen():
    text = "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise error\n"
    found = intake.classify(ended("ZeroDivisionError", "division by zero", 4), task(text))

    assert (found.category, found.fixable) == ("crash", True)


FIXABLE = {
    "syntax": ("def f(:\n", "SyntaxError", "invalid syntax"),
    "import": ("import maths\n", "ModuleNotFoundError", "No module named 'maths'"),
    "name": ("print(totl)\n", "NameError", "name 'totl' is not defined"),
    "crash": ("1 / 0\n", "ZeroDivisionError", "division by zero"),
    "endless": ("def f(): f()\nf()\n", "RecursionError", "maximum recursion depth exceeded"),
}


@pytest.mark.parametrize("category", FIXABLE)
def test_ordinary_bugs_are_fixable_by_their_kind(category):
    text, exception, message = FIXABLE[category]
    found = intake.classify(ended(exception, message), task(text))

    assert (found.category, found.fixable) == (category, True)


def test_an_import_hint_names_the_module_that_was_meant():
    found = intake.classify(
        ended("ModuleNotFoundError", "No module named 'maths'"), task("import maths\n")
    )

    assert "did you mean math?" in found.cause


def test_a_wrong_attribute_of_a_module_is_a_name():
    found = intake.classify(
        ended("AttributeError", "module 'math' has no attribute 'squareroot'"),
        task("import math\nmath.squareroot(2)\n"),
    )

    assert found.category == "name"


@pytest.mark.parametrize("report", [
    Report(solution="s", ending=Ending(kind="timeout", limit="wall time 5 s")),
    failed("", status="timeout"),
])
def test_a_timeout_is_an_endless_bug_and_fixable(report):
    found = intake.classify(report, task("while True: pass\n"))

    assert (found.category, found.fixable) == ("endless", True)


def test_a_wrong_result_names_call_got_and_expected():
    report = failed("", call="f(2)", expected="4", got="5")
    found = intake.classify(report, task("def f(x): return x + 3\n"))

    assert found.category == "wrong_result"
    assert found.cause == "f(2) gives 5 where 4 is expected"


def test_an_exception_of_the_programs_own_is_told_in_its_words():
    report = failed("Insufficient: 10 > 10 at line 4 (bank.py)")
    found = intake.classify(report, task("class Insufficient(Exception): pass\n"))

    assert found.cause == "1 of 1 tests fail: t: Insufficient: 10 > 10 at line 4 (bank.py)"


def test_one_wrong_result_keeps_a_missing_file_from_ending_the_heal():
    wrong = failed("", call="f(2)", expected="4", got="5").verdicts[0]
    broken = failed("FileNotFoundError: [Errno 2] 'x.csv' at line 3 (main.py)").verdicts[0]
    report = Report(solution="s", verdicts=(wrong, broken.model_copy(update={"name": "u"})))
    found = intake.classify(report, task("def f(x): return x + 3\n"))

    assert found.fixable


def test_a_message_of_a_verdict_is_read_as_exception_message_and_line():
    report = failed("ZeroDivisionError: division by zero at line 7 (solution.py)")
    (failure,) = intake.failures_of(report)

    assert (failure.name, failure.message, failure.line) == (
        "ZeroDivisionError", "division by zero", 7
    )


def test_a_program_that_does_not_parse_blames_its_line():
    found = intake.classify(Report(solution="s"), task("x = 1\ny = (2\n"))

    assert [line.line for line in found.blamed] == [2]
    assert "line 2" in found.cause


def test_missing_packages_are_seen_under_the_name_the_message_gives():
    found = intake.classify(
        ended("ModuleNotFoundError", "No module named 'sklearn.tree'"),
        task("from sklearn.tree import x\n"),
    )

    assert not found.fixable and "pip install scikit-learn" in found.cause
