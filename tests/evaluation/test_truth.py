"""What counts as right, decided outside of the program in question."""

from __future__ import annotations

import math

import pytest

from evaluation import truth as truths
from evaluation.suite import Truth
from evaluation.truth import Gave, Raised, Untold, right, same
from sandbox import open_sandbox
from tests.agent.values import program

HALF = "def half(number):\n    return number / 2\n"


async def answered(truth: Truth, *texts: str) -> tuple[bool, ...] | None:
    return await right(truth, [program(text) for text in texts], (), open_sandbox())


def by_example(fixed: str, *inputs: list[object], entry: str = "f") -> Truth:
    return Truth(fixed=fixed, entry_point=entry, inputs=inputs)  # type: ignore[arg-type]


async def test_held_out_asserts_must_all_pass() -> None:
    truth = Truth(held_out=("assert half(4) == 2", "n = 3\nassert half(n) == 1.5"))

    assert await answered(truth, HALF, HALF.replace("/", "//")) == (True, False)


async def test_held_out_asserts_stand_over_a_fixed_program() -> None:
    truth = Truth(
        held_out=("assert half(4) == 2",), fixed="def half(n):\n    return 0\n",
        entry_point="half", inputs=([4],),
    )
    assert await answered(truth, HALF) == (True,)


async def test_without_them_the_fixed_program_answers_the_inputs() -> None:
    truth = by_example(HALF, [4], [3], entry="half")

    assert await answered(truth, HALF, "half = lambda n: n // 2\n", "other = 1\n") == (
        True, False, False,
    )


async def test_nothing_to_tell_by_is_no_verdict() -> None:
    assert await answered(Truth(fixed=HALF, entry_point="half"), HALF) is None
    assert await answered(by_example("other = 1\n", [4]), HALF) is None
    assert await answered(by_example("1 / 0\n", [4]), HALF) is None


async def test_an_exception_of_the_same_type_is_the_same_answer() -> None:
    truth = by_example("def f(n):\n    return [1][n]\n", [0], [5])

    assert await answered(
        truth,
        "def f(n):\n    if n:\n        raise IndexError('other words')\n    return 1\n",
        "def f(n):\n    if n:\n        raise ValueError\n    return 1\n",
        "def f(n):\n    return 1\n",
    ) == (True, False, False)


async def test_what_a_function_does_to_its_arguments_is_not_compared() -> None:
    truth = by_example("def f(ns):\n    ns.sort()\n    return ns[0]\n", [[3, 1]])

    assert await answered(truth, "def f(ns):\n    return min(ns)\n") == (True,)


async def test_arguments_that_no_literal_spells_arrive() -> None:
    truth = by_example("def f(n):\n    return [n, 1]\n", [math.nan], [math.inf], ["'\n\\"])

    assert await answered(truth, "def f(n):\n    return [n] + [1]\n") == (True,)


async def test_iterators_are_compared_by_what_they_give_and_objects_by_their_words() -> None:
    endless = "def f(n):\n    while True:\n        yield n\n"
    assert await answered(
        by_example(endless, [1]),
        "from itertools import repeat\ndef f(n):\n    return repeat(n)\n",
        "def f(n):\n    yield n\n",
    ) == (True, False)

    dated = "import datetime\ndef f(n):\n    return datetime.date(2024, 1, n)\n"
    assert await answered(by_example(dated, [1], [31]), dated, dated.replace("1, n", "1, 1")) == (
        True, False,
    )
    assert await answered(by_example("def f():\n    return object()\n", []), HALF) is None


async def test_a_call_that_ends_the_fixed_program_says_nothing_and_the_others_do() -> None:
    fixed = "import os\ndef f(n):\n    if n == 2:\n        os._exit(0)\n    return n\n"
    truth = by_example(fixed, [1], [2], [3])

    assert await answered(truth, "def f(n):\n    return n\n", "def f(n):\n    return 1\n") == (
        True, False,
    )


async def test_a_program_that_does_not_answer_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(truths, "CALL_S", 0.3)
    loops = "def f(n):\n    while n:\n        pass\n    return n\n"
    truth = by_example("def f(n):\n    return n\n", [0], [1])

    assert await answered(truth, loops) == (False,)
    assert await answered(by_example(loops, [0], [1]), "def f(n):\n    return n\n") == (True,)


def test_answers_are_the_same_as_results_are() -> None:
    assert same(Gave(["l", [0.1 + 0.2, 1]]), Gave(["l", [0.3, 1.0]]))
    assert same(Gave(["f", "nan"]), Gave(["f", "nan"]))
    assert same(Gave(["s", [1, 2]]), Gave(["s", [2, 1]]))
    assert same(Gave(["d", ["a", 1, "b", 0.3]]), Gave(["d", ["b", 0.1 + 0.2, "a", 1]]))
    assert not same(Gave(["l", [1]]), Gave(["t", [1]]))
    assert not same(Gave(0.3), Gave(0.3001))
    assert not same(Gave(["nonsense"]), Gave(["l", []]))
    assert not same(Gave("ValueError"), Raised("ValueError"))
    assert not same(Untold(), Untold())
