"""Assert code and doctests become one test for each check, with what ran before it."""

from __future__ import annotations

import doctest
import types

import pytest

from agent.core.domain import Example, Raises, Script
from agent.target import parsing
from agent.target.discovery import doctests, snippets
from agent.target.errors import NotFixable
from tests.agent.values import table

ADD = "def add(a, b): ..."

# A snippet, the program, and the code of each test.
SPLIT = {
    "statements before an assert": (
        "acc = Account(); acc.deposit(5); assert acc.balance == 5", "",
        ["acc = Account()\nacc.deposit(5)\nassert acc.balance == 5"],
    ),
    "a message": ("assert f(1) == 2, 'one more'", "", ["assert f(1) == 2, 'one more'"]),
    "what a check does not need": (
        "import math\nlimit = 3\nassert f(limit) == 1\nassert g(2) == 4", "",
        ["limit = 3\nassert f(limit) == 1", "assert g(2) == 4"],
    ),
    "raises with a match": (
        "import pytest\nwith pytest.raises(ValueError, match='neg'):\n    root(-1)", "",
        ["import pytest\nwith pytest.raises(ValueError, match='neg'):\n    root(-1)"],
    ),
    "a renamed import": (
        "from solution import add as plus\nassert plus(1, 2) == 3", ADD,
        ["from solution import add as plus\nassert plus(1, 2) == 3"],
    ),
    "an import of the program": (
        "from solution import add\nassert add(1, 2) == 3", ADD, ["assert add(1, 2) == 3"],
    ),
    "an import of a library": (
        "from math import isqrt\nassert isqrt(f(4)) == 2\n", "",
        ["from math import isqrt\nassert isqrt(f(4)) == 2"],
    ),
    "a main guard": (
        "if __name__ == '__main__':\n    x = f(1)\n    assert x == 1\n", "",
        ["x = f(1)\nassert x == 1"],
    ),
    "a lone surrogate": (
        "assert f('\\ud800') == '\\udfff'", "", ["assert f('\\ud800') == '\\udfff'"],
    ),
}


@pytest.mark.parametrize(("code", "program", "split"), SPLIT.values(), ids=SPLIT)
def test_a_check_becomes_a_test_with_what_it_needs(code, program, split):
    assert [test.code for test in snippets.tests_from_snippet(code, program=program)] == split


def test_a_call_with_a_literal_answer_is_an_example_and_one_that_raises_too():
    tests = snippets.tests_from_snippet(
        "import pytest\nassert [4] == add([], b=[4])\ndouble(2) == 4\n"
        "with pytest.raises(ValueError):\n    root(-1)\n"
    )

    assert tests == (
        Example(name="assert [4] == add([], b=[4])", origin="user", call="add([], b=[4])",
                expected="[4]"),
        Example(name="assert double(2) == 4", origin="user", call="double(2)", expected="4"),
        Raises(name="with pytest.raises(ValueError): root(-1)", origin="user", call="root(-1)",
               exception="ValueError"),
    )


@pytest.mark.parametrize(("code", "program", "marked"), [
    ("assert '5' in output", "", True),
    ("output = f(1)\nassert '5' in output", "", False),
    ("assert output == 5 or f()", "output = 3\ndef f(): ...", False),
])
def test_reading_output_is_marked_unless_the_name_is_another_s(code, program, marked):
    (test,) = snippets.tests_from_snippet(code, program=program)

    assert isinstance(test, Script) and test.uses_output is marked


def test_names_are_short_and_unique():
    long = f"assert f({list(range(100))}) is None"
    names = [
        test.name for test in snippets.tests_from_snippet(f"{long}\n{long}\nassert f(2) is None")
    ]

    assert len(set(names)) == 3 and names[1].endswith("(2)")
    assert all(len(name) <= 64 for name in names)


def test_a_syntax_error_names_its_line():
    with pytest.raises(NotFixable, match="line 2") as refused:
        snippets.tests_from_snippet("assert f(1) == 1\nassert f(2 == 2")

    assert refused.value.category == "invalid_tests"


AGREEMENT = table(__file__, "programs.toml")["agreement"]


@pytest.mark.parametrize("row", AGREEMENT.values(), ids=AGREEMENT)
def test_tests_judged_apart_agree_with_the_snippet_as_a_whole(row, outcomes):
    tests = snippets.tests_from_snippet(row["snippet"], program=row["wrong"])

    assert outcomes(row["right"], tests) == [True] * len(row["kept"])
    assert outcomes(row["wrong"], tests) == row["kept"]


def test_a_long_snippet_over_a_stateful_program_stays_one_test(outcomes):
    program = "n = 0\ndef tick():\n    global n\n    n += 1\n    return n\n"
    snippet = "\n".join(f"assert tick() == {number}" for number in range(1, 60))
    tests = snippets.tests_from_snippet(snippet, program=program)

    assert len(tests) == 1
    assert outcomes(program, tests) == [True]
    assert outcomes(program.replace("+= 1", "+= 2"), tests) == [False]


@pytest.mark.parametrize("setup", [
    "", "data = {}\ndata['n'] = 1\n" * 20,
])
def test_a_snippet_is_read_statement_by_statement_however_many_checks_it_has(setup, monkeypatch):
    read = []
    for name in ("checks", "name_usage"):
        known = getattr(snippets, name)
        monkeypatch.setattr(snippets, name, lambda *n, known=known: read.append(n) or known(*n))
    code = setup + "".join(f"assert f({number}) == {number} + 1\n" for number in range(300))

    assert len(snippets.tests_from_snippet(code)) == 300
    assert len(read) < 10 * 340


@pytest.mark.parametrize(("setup", "checks"), [
    ("", 1_001),
    ("".join(f"register({number})\n" for number in range(300)), 100),
], ids=["of more checks than are judged one by one", "that each need much before them"])
def test_a_snippet_stays_one_test(setup, checks):
    code = setup + "".join(f"assert f({number}) == {number} + 1\n" for number in range(checks))

    assert [f"{test.code}\n" for test in snippets.tests_from_snippet(code)] == [code]


def test_many_alike_are_numbered_without_counting_from_one_each_time():
    class Asked(dict):
        times = 0

        def __contains__(self, name):
            Asked.times += 1
            return super().__contains__(name)

    names = [parsing.unique("f", taken) for taken in [Asked()] for _ in range(200)]

    assert names == ["f", *(f"f ({number})" for number in range(2, 201))]
    assert Asked.times < 3 * 200


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
