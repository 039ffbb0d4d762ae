"""The kind of a failure, and whether an edit of the program could help."""

from __future__ import annotations

import pytest

from agent.core.domain import (
    Diagnosis,
    Ending,
    Example,
    File,
    Report,
    Script,
    Solution,
    Task,
    Verdict,
)
from agent.target.failures.causes import classify, undefined_in_tests

TEST = Example(name="t", origin="user", call="f(1)", expected="1")


def task(text: str, **given: object) -> Task:
    solution = Solution(files=(File(path="main.py", text=text),), entry="main.py")
    return Task.model_validate({"solution": solution, **given})


def ended(exception: str, message: str = "", line: int | None = 1) -> Report:
    ending = Ending(kind="raised", exception=exception, message=message, line=line)
    return Report(solution="s", ending=ending)


def failed(message: str, status: str = "failed", **given: str) -> Report:
    verdict = Verdict.model_validate({
        "name": "t", "test": "t", "origin": "user", "status": status, "integrity": "isolated",
        "message": message, **given,
    })
    return Report(solution="s", verdicts=(verdict,))


ARGPARSE = (
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('n')\na = p.parse_args()\n"
)
USAGE = "import sys\nif len(sys.argv) < 2:\n    sys.exit('usage: N')\n"
SOCKET = "import socket\nsocket.create_connection(('a', 1))\n"
NO_NETWORK = "the jail allows no network"
REFUSED = Ending(
    kind="raised", exception="PermissionError", message="[Errno 13] Permission denied", line=2,
    refused=(NO_NETWORK,),
)
DELIBERATE = "The program exits deliberately at line "

# Program, what was seen, and the category with words of the cause.
NOT_FIXABLE: dict[str, tuple[Task, Report, str, tuple[str, ...]]] = {
    "a missing package": (
        task("import polars\n"), ended("ModuleNotFoundError", "No module named 'polars'"),
        "missing_package", ("The package polars",),
    ),
    "a package by another name": (
        task("from sklearn.tree import x\n"),
        ended("ModuleNotFoundError", "No module named 'sklearn.tree'"),
        "missing_package", ("pip install scikit-learn",),
    ),
    "no input": (
        task("n = int(input())\n"), ended("EOFError", "EOF when reading a line"),
        "input_exhausted", ("--stdin",),
    ),
    "no input, of which a number is read": (
        task("import sys\nn = int(sys.stdin.readline())\n"),
        ended("ValueError", "invalid literal for int() with base 10: ''", 2),
        "input_exhausted", ("--stdin", "none was given"),
    ),
    "no input, of which words are read": (
        task("import sys\nwords = sys.stdin.read().split()\nprint(words[0])\n"),
        ended("IndexError", "list index out of range", 3), "input_exhausted", ("--stdin",),
    ),
    "no input, by its output": (
        task("import sys\na, b = sys.stdin.read().split()\nprint(a)\n"),
        failed("ValueError: not enough values to unpack (expected 2, got 0) at line 2 (a.py)",
               "error"),
        "input_exhausted", ("--stdin",),
    ),
    "no input from pytest": (
        task("def ask():\n    return int(input())\n"),
        failed("OSError: pytest: reading from stdin while output is captured!  Consider using "
               "`-s`. at line 2 (a.py)", "error"),
        "input_exhausted", ("monkeypatch.setattr('sys.stdin'",),
    ),
    "a missing file": (
        task("open('/etc/none')\n"), ended("FileNotFoundError", "[Errno 2] No such: '/etc/none'"),
        "environment", ("does not find the file /etc/none",),
    ),
    "a file that may not be used": (
        task("x = 1\nopen('data.csv')\n"), ended("PermissionError", "[Errno 13] no: 'data.csv'", 2),
        "environment", ("may not use the file data.csv",),
    ),
    "a variable of the environment": (
        task("import os\nos.environ['TOKEN']\n"), ended("KeyError", "'TOKEN'", 2),
        "environment", ("TOKEN",),
    ),
    "a variable, in a program that raises KeyError elsewhere": (
        task("import os\ndef f(): raise KeyError('x')\nos.environ['TOKEN']\n"),
        ended("KeyError", "'TOKEN'", 3), "environment", ("TOKEN",),
    ),
    "a network": (
        task(SOCKET), ended("gaierror", "Name not known", 2), "environment", ("network",),
    ),
    "a network, with its module": (
        task(SOCKET), ended("socket.gaierror", "Name not known", 2), "environment", ("network",),
    ),
    "a refusal that names no file": (
        task("import subprocess\ndef f():\n    return subprocess.run(['ls'])\n"),
        failed("PermissionError: [Errno 1] Operation not permitted at line 3 (a.py)", "error"),
        "environment", ("no second process", "needs what the sandbox does not allow"),
    ),
    "what the jail refused": (
        task(SOCKET), Report(solution="s", ending=REFUSED), "environment", (NO_NETWORK,),
    ),
    "arguments": (
        task("import sys\nprint(sys.argv[1])\n", argv=("a",)),
        ended("IndexError", "list index out of range", 2), "environment", ("more arguments",),
    ),
    "arguments for argparse, before a test": (
        task(ARGPARSE, tests=(TEST,)), failed("SystemExit: 2 at line 4 (main.py)", "error"),
        "environment", ("arguments, and none were given", "after --", "__main__"),
    ),
    "arguments, before a test": (
        task(USAGE, tests=(TEST,)), failed("SystemExit: usage: N at line 3 (main.py)", "error"),
        "environment", ("arguments, and none were given", "after --", "__main__"),
    ),
    "a raise of its own": (
        task("raise SystemError('no')\n"), ended("SystemError", "no"), "deliberate_exit",
        (DELIBERATE + "1: raise SystemError('no')",),
    ),
    "a raise in a function": (
        task("def f(x):\n    raise ValueError('negative')\nf(-1)\n"), ended("ValueError", "x", 2),
        "deliberate_exit", (DELIBERATE + "2",),
    ),
    "an assert": (
        task("def f(x):\n    assert x > 0, 'negative'\nf(-1)\n"), ended("AssertionError", "x", 2),
        "deliberate_exit", (DELIBERATE + "2",),
    ),
    "an exit": (
        task("import sys\nif True:\n    sys.exit('bad')\n"), ended("SystemExit", "bad", 3),
        "deliberate_exit", (DELIBERATE + "3",),
    ),
}
FIXABLE: dict[str, tuple[Task, Report, str, tuple[str, ...]]] = {
    "another failure of a program that the jail refused something": (
        task(SOCKET), Report(solution="s", ending=REFUSED.model_copy(
            update={"exception": "KeyError", "message": "'x'"}
        )), "crash", (),
    ),
    "syntax": (
        task("x = 1\ny = (2\n"), ended("SyntaxError", "invalid"), "syntax", ("not parse: line 2",),
    ),
    "a module that is misspelt": (
        task("import maths\n"), ended("ModuleNotFoundError", "No module named 'maths'"), "import",
        ("did you mean math?",),
    ),
    "a module of its own that is misspelt": (
        task("import shp\n", support=(File(path="shop.py", text=""),)),
        ended("ModuleNotFoundError", "No module named 'shp'"), "import", ("did you mean shop?",),
    ),
    "a number that a test hands over, where input is read elsewhere": (
        task("import sys\ndef f(text):\n    return int(text)\ndef main(): f(sys.stdin.read())\n"),
        failed("ValueError: invalid literal for int() with base 10: '' at line 3 (a.py)", "error"),
        "crash", (),
    ),
    "a name": (
        task("print(totl)\n"), ended("NameError", "name 'totl' is not defined"), "name", (),
    ),
    "an attribute of a module": (
        task("import math\nmath.squareroot(2)\n"),
        ended("AttributeError", "module 'math' has no attribute 'squareroot'"), "name", (),
    ),
    "a crash": (task("1 / 0\n"), ended("ZeroDivisionError", "division by zero"), "crash", ()),
    "a key": (task("d = {}\nd['TOKEN']\n"), ended("KeyError", "'TOKEN'"), "crash", ()),
    "an index": (
        task("import sys\nprint([][1])\n"), ended("IndexError", "out of range", 2), "crash", (),
    ),
    "a file that is here under a like name": (
        task("open('dta.csv')\n", support=(File(path="data.csv", text="1"),)),
        ended("FileNotFoundError", "[Errno 2] No such file: 'dta.csv'"), "crash", (),
    ),
    "a file whose folder was listed": (
        task("import os\nfor name in os.listdir('x'):\n    open(name)\n"),
        ended("FileNotFoundError", "[Errno 2] No such file: 'a.txt'", 3), "crash", (),
    ),
    "a file that the test made, or not": (
        task("def read(path):\n    return open(path)\n"),
        failed("FileNotFoundError: [Errno 2] No such file or directory: "
               "'/somewhere/a/tmp/pytest-of-project/pytest-0/test_it0/no.txt' at line 2 (a.py)",
               "error"),
        "crash", (),
    ),
    "a connection that a test has fail": (
        task("def load(get):\n    return get()\n", tests=(Script(
            name="t", origin="user", code="def broken(): raise ConnectionError('no')\nload(broken)",
        ),)),
        failed("ConnectionError: no at line 2 (a.py)", "error"), "crash", (),
    ),
    "an exception that is handed on": (
        task("try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise error\n"),
        ended("ZeroDivisionError", "division by zero", 4), "crash", (),
    ),
    "an end of its own, with tests": (
        task("def f(x):\n    raise ValueError('no')\n", tests=(TEST,)),
        failed("ValueError: no at line 2 (main.py)", "error"), "crash", (),
    ),
    "an exit that tests speak against": (
        task("import sys\nREADY = []\nif not READY:\n    sys.exit('not ready')\n", tests=(TEST,)),
        failed("SystemExit: not ready at line 4 (main.py)", "error"), "deliberate_exit",
        ("The program exits at line 4: not ready before the test has its result",),
    ),
    "a recursion": (
        task("def f(): f()\nf()\n"), ended("RecursionError", "maximum depth"), "endless", (),
    ),
    "a program without an end": (
        task("while True: pass\n"),
        Report(solution="s", ending=Ending(kind="timeout", limit="wall time 5 s")), "endless", (),
    ),
    "a test without an end": (task("while True: pass\n"), failed("", "timeout"), "endless", ()),
    "a wrong answer": (
        task("def f(x): return x + 3\n"), failed("", call="f(2)", expected="4", got="5"),
        "wrong_result", ("f(2) gives 5 where 4 is expected",),
    ),
    "a wrong answer for large arguments": (
        task("def f(x, by): return x\n"),
        failed("", name="test_f", call=f"f({[*range(90)]}, by=2)", expected="4", got="5" * 99),
        "wrong_result",
        (f"test_f: f({str([*range(90)])[:59]}…, by=2) gives {'5' * 59}… where 4 is expected",),
    ),
    "an exception of its own": (
        task("class Insufficient(Exception): pass\n"),
        failed("Insufficient: 10 > 10 at line 4 (bank.py)"), "wrong_result",
        ("1 of 1 test fails: t: Insufficient: 10 > 10 at line 4 (bank.py)",),
    ),
}


@pytest.mark.parametrize(("fixable", "row"), [
    *((False, row) for row in NOT_FIXABLE.values()), *((True, row) for row in FIXABLE.values()),
], ids=[*NOT_FIXABLE, *FIXABLE])
def test_a_failure_is_classified(fixable, row):
    submitted, report, category, words = row
    found = classify(report, submitted)

    assert (found.category, found.fixable) == (category, fixable)
    assert all(word in found.cause for word in words)


def test_a_diagnosis_has_its_evidence():
    report = ended("IndexError", "list index out of range", 2)

    assert classify(report, task("import sys\nprint(sys.argv[1])\n")) == Diagnosis(
        category="environment", fixable=False, confidence=0.85,
        cause="The program asks for arguments, and none were given. Provide them after --.",
        evidence=("IndexError: list index out of range at line 2",),
    )


@pytest.mark.parametrize(("code", "message", "found"), [
    ("assert clmp(1) == 1", "NameError: name 'clmp' is not defined at line 1 of the test",
     ("clmp", "clamp")),
    ("from m import clmp", "ImportError: cannot import name 'clmp' from 'm' (m.py) at line 1",
     ("clmp", "clamp")),
    ("m.clmp(1)", "AttributeError: module 'm' has no attribute 'clmp' at line 1",
     ("clmp", "clamp")),
    ("assert frob(1)", "NameError: name 'frob' is not defined at line 1 of the test", ("frob", "")),
    # What the program itself uses, what another module lacks, and what no test says.
    ("assert hidden(1)", "NameError: name 'hidden' is not defined at line 2 (m.py)", None),
    ("from math import sqr", "ImportError: cannot import name 'sqr' from 'math'", None),
    ("assert clamp(1)", "NameError: name 'clmp' is not defined at line 2 (m.py)", None),
    ("assert clmp(1)", "TypeError: no", None),
])
def test_a_name_that_tests_alone_use_is_found_with_what_may_be_meant(code, message, found):
    program = Solution(
        files=(File(path="m.py", text="def clamp(x):\n    return hidden(x)\n"),), entry="m.py"
    )
    test = Script(name="t", origin="user", code=code)
    undefined = undefined_in_tests(failed(message, "error"), (test,), program)
    assert undefined == ({"t": found} if found else {})


def test_one_wrong_result_keeps_a_missing_file_from_ending_the_heal():
    wrong = failed("", call="f(2)", expected="4", got="5").verdicts[0]
    broken = failed("FileNotFoundError: [Errno 2] 'x.csv' at line 3 (main.py)").verdicts[0]
    report = Report(solution="s", verdicts=(wrong, broken.model_copy(update={"name": "u"})))

    assert classify(report, task("def f(x): return x + 3\n")).fixable


def test_code_nested_too_deeply_is_a_syntax_error_and_not_ours():
    found = classify(Report(solution="s"), task("x = " + "-" * 100_000 + "1\n"))

    assert found.category == "syntax" and "nested" in found.cause
