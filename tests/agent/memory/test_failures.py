from __future__ import annotations

import pytest

from agent.core.domain import Example, File, Report, Script, Solution, Verdict
from agent.memory import FailureKey, failure_of, signature
from agent.memory.failures import nameless_message, nameless_test, normalised
from tests.agent.values import program

TEST = Example(name="t", origin="user", call="f(1)", expected="2")


def failing(message: str = "at 0x7f01: got 3", status: str = "failed") -> Report:
    verdict = Verdict(
        name="t", test="t", origin="user", status=status, integrity="isolated", message=message
    )
    return Report(solution="x", verdicts=(verdict,))


@pytest.mark.parametrize(("text", "test", "report", "same"), [
    ("def f(x):  # same\n\n    return (x)\n", TEST, failing("at 0x8e22: got 44"), True),
    ("def f(x):\n    return x + 1\n", TEST, failing(), False),
    ("def f(x):\n    return x\n", TEST.model_copy(update={"expected": "3"}), failing(), False),
    ("def f(x):\n    return x\n", TEST, failing("raised"), False),
], ids=["layout, comments and addresses", "program", "test", "failure"])
def test_another_program_test_or_failure_has_another_signature(
    text: str, test: Example, report: Report, same: bool
) -> None:
    base = signature(program("def f(x):\n    return x\n"), (TEST,), failing())
    assert (signature(program(text), (test,), report) == base) is same
    one, two = program("def f(:\n"), program("def f(\n")  # which do not parse
    assert signature(one, (), failing()) != signature(two, (), failing())


def test_failures_of_different_programs_are_alike() -> None:
    first = failure_of(
        program("def f(items):\n    return items['a']\n"), (TEST,),
        failing("KeyError: 'a' at line 2 (p.py)", "error"),
    )
    second = failure_of(
        program("X = 1\n\ndef total(row):\n    return row['sum']\n"), (TEST,),
        failing("KeyError: 'sum' at line 4 (p.py)", "error"),
    )
    assert (first.exception, first.place, first.shape) == ("KeyError", "Return", "error")
    assert first.alike == second.alike
    assert first.signature != second.signature
    assert FailureKey.from_json(first.to_json()) == first


@pytest.mark.parametrize(("message", "status"), [
    ("IndexError: list index out of range at line 2 (p.py)", "error"),
    ("KeyError: 'a' at line 1 (p.py)", "error"), ("f(1) gave 3, expected 2", "failed"),
    ("did not end within 5 s", "timeout"),
])
def test_another_exception_place_or_outcome_is_not_alike(message: str, status: str) -> None:
    code = program("def f(items):\n    return items['a']\n")
    base = failure_of(code, (TEST,), failing("KeyError: 'a' at line 2 (p.py)", "error"))
    assert failure_of(code, (TEST,), failing(message, status)).alike != base.alike


@pytest.mark.parametrize(("message", "like"), [
    ("name 'total' is not defined", "name 'sum' is not defined"),
    ("f() takes 2 positional arguments but 3 were given",
     "f() takes 1 positional arguments but 4 were given"),
    ("<Thing object at 0x7f00aa> has no len()", "<Thing object at 0x8e22> has no len()"),
    ("cannot open /data/anna/prices.csv", "cannot open /srv/x"),
])
def test_what_varies_in_a_message_is_left_out(message: str, like: str) -> None:
    assert normalised(message) == normalised(like)
    assert normalised(message) != normalised("another message")


def named(name: str, tests: str, message: str) -> FailureKey:
    """The failure of one program in a file of that name; `NAME` stands for its module."""
    text = "def f(x):\n    return x\n"
    solution = Solution(files=(File(path=f"{name}.py", text=text),), entry=f"{name}.py")
    test = Script(name="t", origin="user", code=tests.replace("NAME", name))
    return failure_of(solution, (test,), failing(message.replace("NAME", name), "error"))


@pytest.mark.parametrize(("tests", "message"), [
    ("assert f(1) == 2", "ValueError: no at line 2 (NAME.py)"),
    ("assert f(1) == 2", "TypeError: <NAME.Thing object at 0x7f01> is no number"),
    ("from NAME import f\nassert f(1) == 2", "AttributeError: module 'NAME' has no 'g'"),
    ("import os, NAME as m\nassert m.f(1) == 2", "NAME.Bad: no"),
    ("import NAME\nassert NAME.f(1) == 2", "ImportError: no 'g' from 'NAME' (/a/b/NAME.py)"),
])
def test_the_same_program_in_another_file_fails_the_same(tests: str, message: str) -> None:
    first, second = named("prices", tests, message), named("my_code", tests, message)
    assert first == second
    assert first.signature == named("solution", tests, message).signature


def test_a_name_that_is_not_the_files_stays() -> None:
    test = "import prices\nassert f('prices.x', total.prices) == NAME.x"
    assert nameless_test(test.replace("NAME", "prices"), "prices.py") == (
        "import solution\nassert f('solution.x', total.prices) == solution.x"
    )
    assert nameless_test("assert prices.x == 1", "prices.py") == "assert prices.x == 1"
    assert nameless_message("total.prices has no prices", "prices.py") == (
        "total.prices has no prices"
    )
