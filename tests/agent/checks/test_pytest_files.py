"""A test file runs under the real pytest, judged outside the solution."""

from __future__ import annotations

from typing import Any

import pytest

PROGRAM = '''
import os

class CalcError(ValueError):
    pass

class Stack:
    def __init__(self):
        self.items = []
    def push(self, x):
        self.items.append(x)
    def pop(self):
        return self.items.pop()

def add(a, b):
    return a + b

def load(path):
    with open(path) as file:
        return file.read()

def save(path, text):
    with open(path, "w") as file:
        file.write(text)

def greet(name):
    print("hello", name)

def root(x):
    if x < 0:
        raise CalcError(f"negative: {x}")
    return x ** 0.5

def helper():
    return 1

def use_helper():
    return helper()

def surroundings():
    return os.environ["WHO"], os.getcwd()

def ask():
    return int(input("? "))

def endless():
    while True:
        pass

def die():
    os._exit(3)

def boom():
    return 1 / 0
'''

FILE = '''
import io
import unittest

import pytest
import calc
from calc import CalcError, Stack, add, greet, load


@pytest.fixture
def stack():
    made = Stack()
    made.push(1)
    yield made
    made.items.clear()


@pytest.fixture(scope="module")
def shared():
    return Stack()


@pytest.mark.parametrize("a, b, e", [(1, 2, 3), pytest.param(2, 2, 5, id="wrong")])
def test_add(a, b, e):
    assert add(a, b) == e


def test_fixture(stack):
    stack.push(2)
    assert stack.pop() == 2
    assert stack.items == [1]


def test_files(tmp_path):
    (tmp_path / "x.txt").write_text("hi")
    assert load(tmp_path / "x.txt") == "hi"
    calc.save(tmp_path / "y.txt", "yo")
    assert (tmp_path / "y.txt").read_text() == "yo"


def test_output(capsys):
    greet("bob")
    assert capsys.readouterr().out == "hello bob\\n"


def test_raises():
    with pytest.raises(CalcError, match="negative: -1"):
        calc.root(-1)


def test_approx():
    assert calc.root(2) == pytest.approx(1.41421, abs=1e-4)


def test_patched_program(monkeypatch):
    monkeypatch.setattr(calc, "helper", lambda: 5)
    assert calc.use_helper() == 5
    monkeypatch.undo()
    assert calc.use_helper() == 1


def test_surroundings(monkeypatch, tmp_path):
    monkeypatch.setenv("WHO", "me")
    monkeypatch.chdir(tmp_path)
    assert calc.surroundings() == ("me", str(tmp_path))


def test_input(monkeypatch):
    monkeypatch.setattr("builtins.input", lambda prompt="": "7")
    assert calc.ask() == 7


def test_stdin(monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("9\\n"))
    assert calc.ask() == 9


class TestGroup:
    def setup_method(self):
        self.stack = Stack()

    def test_empty(self):
        assert self.stack.items == []

    def test_wrong(self):
        assert self.stack.items == [1]


class TestUnit(unittest.TestCase):
    def setUp(self):
        self.stack = Stack()

    def test_equal(self):
        self.stack.push(3)
        self.assertEqual(self.stack.items, [3])

    def test_unequal(self):
        self.assertEqual(add(1, 1), 3)

    def test_raises(self):
        with self.assertRaises(CalcError):
            calc.root(-4)
        self.assertAlmostEqual(calc.root(4), 2)


@pytest.mark.skip(reason="not now")
def test_skipped():
    assert False


@pytest.mark.xfail
def test_expected_to_fail():
    assert add(1, 1) == 3


def test_endless():
    calc.endless()


def test_dying():
    calc.die()


def test_after_the_dying():
    assert add(1, 1) == 2


def test_raising():
    calc.boom()


def test_shared(shared):
    shared.push(1)
    assert len(shared.items) >= 1
'''

PASSING = {
    "test_add[1-2-3]", "test_fixture", "test_files", "test_output", "test_raises", "test_approx",
    "test_patched_program", "test_surroundings", "test_input", "test_stdin",
    "TestGroup::test_empty", "TestUnit::test_equal", "TestUnit::test_raises",
    "test_after_the_dying", "test_shared",
}
NODES = (
    "test_add", "test_fixture", "test_files", "test_output", "test_raises", "test_approx",
    "test_patched_program", "test_surroundings", "test_input", "test_stdin",
    "TestGroup::test_empty", "TestGroup::test_wrong", "TestUnit::test_equal",
    "TestUnit::test_unequal", "TestUnit::test_raises", "test_skipped", "test_expected_to_fail",
    "test_endless", "test_dying", "test_after_the_dying", "test_raising", "test_shared",
    "test_absent",
)


async def test_a_file_of_many_styles_is_judged_as_pytest_would(judge: Any) -> None:
    report = await judge(PROGRAM, FILE, NODES, entry="calc.py", wall_s=1.0)
    verdicts = {v.name: v for v in report.verdicts}
    assert {name for name, v in verdicts.items() if v.passed} == PASSING
    assert {v.integrity for v in report.verdicts} == {"outside"}
    others = {name: (v.status, v.message) for name, v in verdicts.items() if not v.passed}
    assert others == {
        "test_add[wrong]": ("failed", "add(2, 2) gave 4, expected 5"),
        "TestGroup::test_wrong": ("failed", "self.stack.items gave [], expected [1]"),
        "TestUnit::test_unequal": ("failed", "add(1, 1) gave 2, expected 3"),
        "test_endless": ("timeout", "no end within 1 s"),
        "test_dying": ("error", "the solution ended its process (exit code 3)"),
        "test_raising": ("error", "ZeroDivisionError: division by zero at line 54 (calc.py)"),
        "test_absent": ("error", "pytest collected no test test_absent"),
    }
    assert verdicts["test_add[wrong]"].test == "test_add"
    assert verdicts["test_add[wrong]"].got == "4"
    assert verdicts["test_add[wrong]"].expected == "5"


async def test_a_program_that_cannot_be_imported_fails_each_node_with_its_line(judge: Any) -> None:
    code = "from calc import f\n\ndef test_a():\n    assert f() == 1\n\ndef test_b():\n    f()\n"
    report = await judge("x = 1\ny = x / 0\n", code, ("test_a", "test_b"), entry="calc.py")
    assert [(v.name, v.status, v.message) for v in report.verdicts] == [
        (name, "error", "ZeroDivisionError: division by zero at line 2 (calc.py)")
        for name in ("test_a", "test_b")
    ]


async def test_a_solution_cannot_make_pytest_skip_a_test(judge: Any) -> None:
    text = "import unittest\nREADY = False\ndef f():\n    raise unittest.SkipTest('no')\n"
    code = (
        "import pytest\nimport program\n\n"
        "@pytest.mark.skipif(not program.READY, reason='not ready')\n"
        "def test_flag():\n    assert program.f() == 1\n\n"
        "def test_call():\n    assert program.f() == 1\n"
    )
    report = await judge(text, code, ("test_flag", "test_call"))
    assert [(v.name, v.status) for v in report.verdicts] == [
        ("test_flag", "error"), ("test_call", "error")
    ]


SKIPPED_BY_THE_PROGRAM = {
    "a fixture that fails so": (
        "@pytest.fixture\ndef one():\n    return program.f()\n\n"
        "def test_it(one):\n    assert one == 1\n"
    ),
    "a fixture that asks": (
        "@pytest.fixture\ndef one():\n    if not program.READY:\n        pytest.skip('no')\n\n"
        "def test_it(one):\n    assert program.f() == 1\n"
    ),
    "a mark of the whole file": (
        "pytestmark = pytest.mark.skipif(not program.READY, reason='no')\n\n"
        "def test_it():\n    assert program.f() == 1\n"
    ),
    "a condition in a text": (
        "@pytest.mark.skipif('not program.READY', reason='no')\n"
        "def test_it():\n    assert program.f() == 1\n"
    ),
    "no parameters": (
        "def cases():\n    return program.cases()\n\n"
        "@pytest.mark.parametrize('case', cases())\n"
        "def test_it(case):\n    assert case == 1\n"
    ),
    "an xfail in the test": (
        "def test_it():\n    if not program.READY:\n        pytest.xfail('no')\n"
        "    assert program.f() == 1\n"
    ),
}


@pytest.mark.parametrize("way", SKIPPED_BY_THE_PROGRAM)
async def test_a_test_that_the_program_has_skipped_has_not_passed(way: str, judge: Any) -> None:
    text = (
        "import unittest\nREADY = False\ndef f():\n    raise unittest.SkipTest('no')\n"
        "def cases():\n    return []\n"
    )
    code = "import pytest\nimport program\n\n" + SKIPPED_BY_THE_PROGRAM[way]
    (verdict,) = (await judge(text, code, ("test_it",))).verdicts
    assert verdict.status == "error"


async def test_a_missing_name_in_the_program_is_told_for_the_whole_file(judge: Any) -> None:
    code = "from program import gone\n\ndef test_a():\n    assert gone() == 1\n"
    (verdict,) = (await judge("def here(): pass\n", code, ("test_a",))).verdicts
    assert verdict.status == "error"
    assert "ImportError: cannot import name 'gone'" in verdict.message


async def test_a_conftest_among_the_support_files_gives_its_fixtures(judge: Any) -> None:
    from agent.domain import File, Task

    task = Task(support=(
        File(path="conftest.py", text="import pytest\n@pytest.fixture\ndef seven(): return 7\n"),
        File(path="lib.py", text="def inc(x): return x + 1\n"),
    ))
    code = (
        "import lib\nfrom program import f\n\n"
        "def test_a(seven):\n    assert f(seven) == 8 and lib.inc(1) == 2\n"
    )
    text = "import lib\n\ndef f(x):\n    return lib.inc(x)\n"
    (verdict,) = (await judge(text, code, ("test_a",), task=task)).verdicts
    assert (verdict.status, verdict.message) == ("passed", "")


async def test_collection_that_ends_the_solution_is_told(judge: Any) -> None:
    code = "from program import f\nX = f()\n\ndef test_a():\n    assert X == 1\n"
    (verdict,) = (await judge("import os\ndef f(): os._exit(0)\n", code, ("test_a",))).verdicts
    assert verdict.status == "error"
    assert "ended" in verdict.message


async def test_helpers_of_the_tests_stay_away_from_the_solution(judge: Any) -> None:
    from agent.domain import File, Task

    task = Task(support=(
        File(path="helpers.py", text="def check(got):\n    assert got == 41 + 1\n"),
        File(path="rows.txt", text="7\n"),
    ))
    code = (
        "import helpers\nfrom pathlib import Path\nfrom program import f, g\n\n"
        "def test_f():\n    helpers.check(f())\n\n"
        "def test_g():\n    assert g() == int(Path('rows.txt').read_text())\n"
    )
    text = (
        "def f():\n    try:\n        import helpers\n    except ImportError:\n"
        "        return 42\n    return 0\n\ndef g():\n    return int(open('rows.txt').read())\n"
    )
    report = await judge(text.replace("import helpers", "__import__('helpers')"), code,
                         ("test_f", "test_g"), task=task)
    assert [(v.status, v.message) for v in report.verdicts] == [("passed", ""), ("passed", "")]


async def test_the_text_of_the_tests_is_not_on_disk(judge: Any) -> None:
    code = (
        "import os, glob\n\ndef test_a():\n    "
        "assert not [p for p in glob.glob('**', recursive=True) if os.path.isfile(p) and "
        "'needle' in open(p).read()]\n"
    )
    (verdict,) = (await judge("x = 1\n", "import program\n" + code, ("test_a",))).verdicts
    assert (verdict.status, verdict.message) == ("passed", "")


async def test_a_test_file_with_a_syntax_error_is_told(judge: Any) -> None:
    (verdict,) = (await judge("x = 1\n", "def test_a(:\n    pass\n", ("test_a",))).verdicts
    assert verdict.status == "error"
    assert "SyntaxError" in verdict.message


async def test_what_failed_outside_stands_beside_what_one_process_passes(judge: Any) -> None:
    text = (
        "import sys\nclass K:\n    pass\n"
        "alone = sys.modules['__jail__'].jail.peer is None\n"
        "def f(n):\n    return K() if n == 2 else 8 if alone else 0\n"
    )
    code = (
        "import pickle\nimport pytest\nfrom program import f\n\n"
        "@pytest.mark.parametrize('n', [1, 2])\ndef test_it(n):\n"
        "    assert n == 2 or f(n) == 8\n    assert n == 1 or pickle.dumps(f(n))\n"
    )
    report = await judge(text, code, ("test_it",))
    assert [(v.name, v.status, v.integrity) for v in report.verdicts] == [
        ("test_it[1]", "failed", "outside"), ("test_it", "passed", "in-process"),
    ]
