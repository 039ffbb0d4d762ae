"""Examples are compared by the host, which alone knows what the answer should be."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from agent.core.domain import Example, Raises, Script, Task, TestCase, Verdict
from agent.verify.examples.examples import example_call
from agent.verify.judge import check
from sandbox.sandbox import Sandbox
from sandbox.types import Job
from tests.agent.values import program, table


class Pairless:
    """A jail without pairs, around one that has them; counts the jobs it starts."""

    def __init__(self, jail: Sandbox) -> None:
        self._jail = jail
        self.started = 0

    def start(self, job: Job) -> AbstractAsyncContextManager[Any]:
        self.started += 1
        return self._jail.start(job)


async def _judged(
    jail: Any, text: str, examples: Mapping[str, str], wall_s: float = 5.0
) -> list[Verdict]:
    """Verdicts on examples, call to expected literal, or to `!` and the exception's name."""
    tests: list[TestCase] = [
        Raises(name=call, origin="user", call=call, exception=expected[1:])
        if expected.startswith("!") else
        Example(name=call, origin="user", call=call, expected=expected)
        for call, expected in examples.items()
    ]
    report = await check(program(text, "program.py"), tests, Task(), jail, wall_s=wall_s)
    assert [verdict.name for verdict in report.verdicts] == list(examples)
    return list(report.verdicts)


@pytest.mark.parametrize(("call", "expected"), [
    ("f(2)", "4"), ("f([1, -2], k={'a': (None, 1.5)})", "[]"), ("Box(3).value()", "3"),
    ("f(g(1), h)", "0"), ("tools.f(1)", "0"),
])
def test_literal_calls_are_compared_by_the_host(call: str, expected: str) -> None:
    assert example_call(Example(name="n", origin="user", call=call, expected=expected)) is not None


@pytest.mark.parametrize(("call", "expected"), [
    ("sorted(f(2))", "[]"), ("f(2) + 1", "4"), ("f(*[1])", "1"), ("f(**{'a': 1})", "1"),
    ("f(len([1]))", "1"), ("math.sqrt(4)", "2"), ("f(lambda: 1)", "1"), ("f.__call__(1)", "1"),
    ("f('\0')", "1"), ("(" * 500 + "f(1)" + ")" * 500, "1"), ("f(1)", "[" * 99 + "]" * 99),
    ("f(1)", str([0] * 3000)), ("f([x for x in 'ab'])", "1"), ("f(f'{1}')", "1"),
])
def test_all_others_are_not(call: str, expected: str) -> None:
    assert example_call(Example(name="n", origin="user", call=call, expected=expected)) is None


def test_only_builtin_exceptions_are_known_without_the_tests_process() -> None:
    assert example_call(Raises(name="n", origin="user", call="f(1)", exception="KeyError"))
    for name in ("json.JSONDecodeError", "BankError", "print", "int"):
        assert example_call(Raises(name="n", origin="user", call="f(1)", exception=name)) is None


async def test_one_process_answers_and_a_late_answer_is_a_timeout(jail: Sandbox) -> None:
    alone = Pairless(jail)
    text = "seen = []\ndef f(n):\n    seen.append(n)\n    return seen\n"
    verdicts = await _judged(alone, text, {"f(1)": "[1]", "f(2)": "[2]", "f('x')": "['x']"})
    assert [(v.status, v.integrity) for v in verdicts] == [("passed", "isolated")] * 3
    # And another in which they run once more before they are believed.
    assert alone.started == 2

    text = "def f(n):\n    while n == 1: pass\n    return n\n"
    late, first, last = await _judged(jail, text, {"f(1)": "1", "f(2)": "2", "f(3)": "0"}, 0.5)
    assert (late.status, late.message) == ("timeout", "did not end within 0.5 s")
    assert (first.status, last.status) == ("passed", "failed")


PROGRAMS = table(__file__, "programs.toml")["examples_special"]
SPECIAL = PROGRAMS["special"]


VALUES = [
    ("nan", "0.0", "failed", False),
    ("list of nan", "[0.0]", "failed", False),
    ("-0.0", "0.0", "passed", False),
    ("inf", "1e999", "passed", False),
    ("True", "1", "passed", True),
    ("3.0", "3", "passed", True),
    ("deep", "[[[[1]]]]", "passed", True),
    ("set", "{1, 2, 3}", "passed", False),
    ("set", "[1, 2, 3]", "failed", False),
    ("dict", "{'a': 2, 'b': 1}", "passed", False),
    ("bytes", "'a'", "failed", False),
    ("bytearray", "b'a'", "passed", True),
    ("surrogate", "'\\ud800'", "passed", False),
    ("tuple", "[1]", "failed", False),
    ("frozen", "{1}", "passed", True),
    ("big", str(2**90), "passed", False),
    ("Decimal", "3", "passed", False),
    # Not plain: these are heard by the witnesses, and most of them by the plain one alone.
    ("Text", "'a'", "passed", False),
    ("Colour", "1", "passed", False),
    ("Pair", "(1, 2)", "passed", False),
    ("Point", "1", "failed", False),
    ("Ordered", "{'a': 2, 'b': 1}", "passed", False),
]


async def test_equality_is_pythons_on_the_values_that_crossed(jail: Sandbox) -> None:
    tests: list[TestCase] = [
        Example(name=name, origin="user", call=f"f({name!r})", expected=expected)
        for name, expected, _, _ in VALUES
    ]

    report = await check(program(SPECIAL, "program.py"), tests, Task(), jail)

    assert [(v.test, v.status, v.type_differs) for v in report.verdicts] == [
        (name, status, differs) for name, _, status, differs in VALUES
    ]
    assert {v.test for v in report.verdicts if v.integrity == "in-process"} == {
        "Text", "Colour", "Pair", "Ordered"
    }


async def test_the_host_and_the_tests_process_say_the_same(jail: Sandbox) -> None:
    text = "def f(n): return {1: [0, 'a'], 2: (1,), 3: {'k': {2}}}[n]\n"
    pairs = {"f(1)": "[1, 'a']", "f(2)": "(1, 2)", "f(3)": "{'k': {2}}", "f(4)": "0"}
    mine = await _judged(jail, text, pairs)
    scripts = [
        Script(name=call, origin="user", code=f"assert {call} == {expected}")
        for call, expected in pairs.items()
    ]
    theirs = (await check(program(text, "program.py"), scripts, Task(), jail)).verdicts
    # Only where the host compares is it known who said that a test does not pass.
    assert [v.model_copy(update={"wall_s": 0.0}) for v in theirs] == [
        v.model_copy(update={"wall_s": 0.0, "integrity": v.integrity if v.passed else None})
        for v in mine
    ]


async def test_a_raised_exception_has_its_place(jail: Sandbox) -> None:
    text = "def f(n):\n    if n:\n        raise KeyError(n)\n    return n\n"
    verdicts = await _judged(jail, text, {
        "f(1)": "!KeyError", "f(2)": "!LookupError", "f(3)": "!ValueError", "f(0)": "!KeyError",
        "f(4)": "4",
    })
    assert [v.status for v in verdicts] == ["passed", "passed", "error", "failed", "error"]
    assert verdicts[2].message == "KeyError: 3 at line 3 (program.py)"
    assert verdicts[3].message == "f(0) gave 0: it did not raise KeyError"
    assert (verdicts[4].got, verdicts[4].call) == ("KeyError: 4", "f(4)")


NAMED = table(__file__, "programs.toml")["examples"]
NAMED |= {
    "a null byte": ("def f(n):\n    return '\0'", "source code string cannot contain null bytes"),
    "deep nesting": (
        "def f(n):\n    return " + "(" * 5000 + "1" + ")" * 5000, "too many nested parentheses"
    ),
    "an endless chain": ("def f(n):\n    return " + "-" * 200_000 + "1", "Error"),
    "a lone surrogate": ("def f(n):\n    return '\ud800'", ""),
}


@pytest.mark.parametrize("case", NAMED)
async def test_bad_answers_are_named_and_cost_only_their_own_test(case: str, jail: Sandbox) -> None:
    text, said = NAMED[case]
    (verdict,) = await _judged(jail, text, {"f(1)": "2"})
    assert verdict.status in ("failed", "error")
    assert said in verdict.message


async def test_an_answer_made_slow_to_rebuild_is_not_rebuilt(jail: Sandbox) -> None:
    # Each of these numbers has the same hash; a set of so many takes minutes to make.
    text = """
import sys
def f(n):
    return 0
sys.modules['_judge.programs.answer_calls'].encode = lambda v: [
    "s", [["i", hex(k * (2**61 - 1))] for k in range(20_000)]
]
"""
    (verdict,) = await _judged(jail, text, {"f(1)": "{1, 2}"}, 5.0)
    assert verdict.status == "failed"


@pytest.mark.parametrize("text", [
    "print('x' * 5_000_000)\ndef f(n):\n    return n\n",
    "def f(n):\n    print('x' * 1_100_000)\n    return n\n",
])
async def test_a_program_that_prints_a_lot_answers_as_before(jail: Any, text: str) -> None:
    found = await _judged(jail, text, {"f(1)": "1", "f(2)": "2", "f(3)": "4"})

    assert [one.status for one in found] == ["passed", "passed", "failed"]
