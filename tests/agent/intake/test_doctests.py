"""Docstring examples become tests that agree with doctest itself."""

from __future__ import annotations

import doctest
import types

import pytest

from agent.core.domain import Example, Raises
from agent.intake.found import doctests

# Each program has doctests of one style; `broken` makes it wrong where doctest would notice.
PROGRAMS = {
    "values": (
        'def sq(x):\n    """\n    >>> sq(3)\n    9\n    >>> sq(-2)\n    4\n    """\n'
        "    return x * x\n",
        ("x * x", "x * 3"),
    ),
    "text and containers": (
        'def words(t):\n    """\n    >>> words("b a")\n    [\'b\', \'a\']\n    >>> words(\'\')\n'
        '    []\n    """\n    return t.split()\n',
        ("t.split()", "t.split('b')"),
    ),
    "state in one docstring": (
        'class Box:\n    """\n    >>> b = Box()\n    >>> b.put(2)\n    >>> b.items\n    [2]\n'
        '    >>> b.put(3)\n    >>> len(b.items)\n    2\n    """\n'
        "    def __init__(self):\n        self.items = []\n"
        "    def put(self, x):\n        self.items.append(x)\n",
        ("append(x)", "extend([x, x])"),
    ),
    "printed lines": (
        'def greet(n):\n    """\n    >>> greet(2)\n    hi\n    hi\n    >>> for i in range(2):\n'
        '    ...     i\n    0\n    1\n    """\n    for _ in range(n):\n        print("hi")\n',
        ('print("hi")', 'print("ho")'),
    ),
    "a traceback with a message": (
        'def root(x):\n    """\n    >>> root(-1)\n    Traceback (most recent call last):\n'
        '        ...\n    ValueError: negative: -1\n    """\n'
        "    if x < 0:\n        raise ValueError(f'negative: {x}')\n    return x ** 0.5\n",
        ("negative: {x}", "minus"),
    ),
    "ellipsis and whitespace": (
        'def show(x):\n    """\n    >>> show(3)  # doctest: +ELLIPSIS\n    \'<3 ...>\'\n'
        '    >>> list(range(4))  # doctest: +NORMALIZE_WHITESPACE\n    [0,   1,\n     2, 3]\n'
        '    """\n    return f"<{x} at {id(x)}>"\n',
        ('f"<{x} at', 'f"<{x}at'),
    ),
    "a repr of an object": (
        'class P:\n    """\n    >>> P(2)\n    P(2)\n    >>> x = P(3)\n    >>> x\n    P(3)\n'
        '    """\n'
        "    def __init__(self, n):\n        self.n = n\n"
        "    def __repr__(self):\n        return f'P({self.n})'\n",
        ("self.n = n", "self.n = 3"),
    ),
    "a blank line": (
        'def two():\n    """\n    >>> two()\n    a\n    <BLANKLINE>\n    b\n    """\n'
        "    print('a\\n\\nb')\n",
        ("a\\n\\nb", "a\\nb"),
    ),
}


def doctest_fails(program: str) -> bool:
    module = types.ModuleType("solution")
    exec(program, module.__dict__)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    for one in finder.find(module, "solution", module=False, globs=module.__dict__):
        runner.run(one, out=lambda text: None)
    return runner.failures > 0


@pytest.mark.parametrize("program, change", PROGRAMS.values(), ids=PROGRAMS)
def test_verdicts_agree_with_doctest(program, change, outcomes):
    broken = program.replace(*change)
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
    (PROGRAMS["values"][0], [
        Example(name="sq(3)", origin="doctest", call="sq(3)", expected="9"),
        Example(name="sq(-2)", origin="doctest", call="sq(-2)", expected="4"),
    ]),
    (RAISING, [Raises(name="f(1)", origin="doctest", call="f(1)", exception="KeyError")]),
    ('def f():\n    """\n    >>> f()  # doctest: +SKIP\n    3\n    >>> x = 2\n    """\n', []),
])
def test_a_call_with_a_literal_answer_or_an_exception_is_told_as_such(program, found):
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
