"""Docstring examples become tests that agree with doctest itself."""

from __future__ import annotations

import doctest
import types

import pytest

from agent.core.domain import Example, Raises
from agent.target.discovery import doctests
from tests.agent.values import table

PROGRAMS = table(__file__, "programs.toml")["doctests"]


def doctest_fails(program: str) -> bool:
    module = types.ModuleType("solution")
    exec(program, module.__dict__)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    for one in finder.find(module, "solution", module=False, globs=module.__dict__):
        runner.run(one, out=lambda text: None)
    return runner.failures > 0


@pytest.mark.parametrize("row", PROGRAMS.values(), ids=PROGRAMS)
def test_verdicts_agree_with_doctest(row, outcomes):
    program = row["program"]
    broken = program.replace(*row["change"])
    tests = doctests.tests_from_doctests(program)

    assert broken != program and tests
    assert {test.origin for test in tests} == {"doctest"}
    assert not doctest_fails(program) and all(outcomes(program, tests))
    assert doctest_fails(broken) and not all(outcomes(broken, tests))


RAISING = (
    'def f(x):\n    """\n    >>> f(1)\n    Traceback (most recent call last):\n    KeyError\n'
    '    """\n    raise KeyError\n'
)
UNFINISHED = 'def f(x)\n    """Doubles.\n\n    >>> f(2)\n    4\n    """\n    return x\n'


@pytest.mark.parametrize(("program", "found"), [
    (PROGRAMS["values"]["program"], [
        Example(name="sq(3)", origin="doctest", call="sq(3)", expected="9"),
        Example(name="sq(-2)", origin="doctest", call="sq(-2)", expected="4"),
    ]),
    (RAISING, [Raises(name="f(1)", origin="doctest", call="f(1)", exception="KeyError")]),
    ('def f():\n    """\n    >>> f()  # doctest: +SKIP\n    3\n    >>> x = 2\n    """\n', []),
])
def test_literal_answers_and_exceptions_are_examples(program, found):
    assert list(doctests.tests_from_doctests(program)) == found


def test_doctests_of_a_program_that_does_not_parse_are_found():
    (test,) = doctests.tests_from_doctests(UNFINISHED)

    assert "f(2)" in test.code and "4" in test.code


def test_a_call_that_prints_its_answer_is_not_taken_for_a_value(outcomes):
    program = 'def show(x):\n    """\n    >>> show(3)\n    3\n    """\n    print(x)\n'
    tests = doctests.tests_from_doctests(program)

    assert [test.kind for test in tests] == ["script"]
    assert outcomes(program, tests) == [True]
    assert outcomes(program.replace("print(x)", "return x + 1"), tests) == [False]


def test_pasted_prompts_are_tests_of_the_user():
    (test,) = doctests.tests_from_prompts(">>> f(2)\n4\n", "def f(x):\n    return x\n")

    assert test == Example(name="f(2)", origin="user", call="f(2)", expected="4")
