"""What repeats itself is told from what is only slow, and doubt counts for the program."""

import sys
from typing import Any

import pytest

import agent.checks.programs.endless
import agent.checks.programs.ticks

LIMIT, LOOK_AT = 2_000, 50

ENDLESS = {
    "nothing moves": "i = 0\nwhile i < 3:\n    pass\n",
    "only a count moves": "def f():\n    i = c = 0\n    while i < 3:\n        c += 1\nf()\n",
    "a list only grows": (
        "def f(left):\n    merged, i = [], 0\n    while i < len(left):\n"
        "        merged.append(left[i])\nf([1, 2])\n"
    ),
    "a loop in a loop": (
        "def f(xs):\n    low = 0\n    while low < 5:\n        for x in xs:\n            y = x\n"
        "f([1, 2, 3])\n"
    ),
    "an object that leads to itself": (
        "class Node:\n    def __init__(self):\n        self.next = self\n"
        "def last(node):\n    while node.next:\n        node = node.next\nlast(Node())\n"
    ),
}

ENDS = {
    "a count": "def f():\n    i = 0\n    while i < 900:\n        i += 1\nf()\n",
    "a count that is read": (
        "def f():\n    c = 0\n    while True:\n        c += 1\n        if c > 900: break\nf()\n"
    ),
    "a list that is read": (
        "def f():\n    xs = []\n    while True:\n        xs.append(1)\n"
        "        if len(xs) > 900: break\nf()\n"
    ),
    "a variable of the module": (
        "N = 0\ndef up():\n    global N\n    N += 1\ndef f():\n    while N < 400: up()\nf()\n"
    ),
    "a variable of a function around": (
        "def counter():\n    at = [0]\n    def up():\n        at[0] += 1\n        return at[0]\n"
        "    return up\ndef f():\n    up = counter()\n    while up() < 400: pass\nf()\n"
    ),
    "an attribute": (
        "class Till:\n    def __init__(self):\n        self.n = 0\n    def up(self):\n"
        "        self.n += 1\n    def run(self):\n        while self.n < 400: self.up()\n"
        "Till().run()\n"
    ),
    "an iterator": (
        "def f():\n    it = iter(range(900))\n    while next(it, None) is not None: pass\nf()\n"
    ),
    "chance": (
        "import random\nrandom.seed(1)\ndef f():\n    while random.random() < .995: pass\nf()\n"
    ),
    "a loop that is entered often": (
        "def f():\n    for x in [1] * 500:\n        while x < 1: pass\nf()\n"
    ),
    "a generator that has no end": (
        "def ones():\n    while True:\n        yield 1\n"
        "def f():\n    total = 0\n    for one in ones():\n        total += one\n"
        "        if total > 400: break\nf()\n"
    ),
}


def run(text: str) -> Any:
    """The steps of a program that is looked at, once it has ended."""
    ticks = agent.checks.programs.ticks
    watch = agent.checks.programs.endless.Watch(text)
    steps = ticks.Steps(LIMIT, LOOK_AT, watch)
    names = {"__name__": "shop", "__tick__": steps.tick, "__ticks__": steps.ticks}
    try:
        exec(compile(ticks.counted(text), "shop.py", "exec"), names)
    except StopIteration:
        assert steps.exhausted
    return steps


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS)
def test_what_comes_round_to_where_it_was_is_endless(text: str) -> None:
    steps = run(text)

    assert steps.repeats
    assert steps.used < LOOK_AT + 20


@pytest.mark.parametrize("text", ENDS.values(), ids=ENDS)
def test_what_moves_on_in_any_way_is_not(text: str) -> None:
    assert not run(text).repeats


def test_a_counter_that_was_ended_stays_ended() -> None:
    steps = run(
        "while True:\n    try:\n        while True: pass\n    except BaseException: break\n"
    )

    assert steps.repeats
    with pytest.raises(StopIteration):
        steps.tick()


@pytest.mark.parametrize(
    ("step", "runs_away"),
    [("n = 3 * n + 2", True), ("n = n + 1", False), ("n = n + m; m = n - m", False)],
)
def test_a_number_that_grows_by_more_than_a_bit_a_step_runs_away(
    step: str, runs_away: bool
) -> None:
    text = f"def f(n, m):\n    while n:\n        {step}\n"
    ticks = agent.checks.programs.ticks
    steps = ticks.Steps(LIMIT)
    names: dict[str, Any] = {"__tick__": steps.tick, "__ticks__": steps.ticks}
    exec(ticks.counted(text), names)
    with pytest.raises(StopIteration) as ended:
        names["f"](1, 1)

    told = agent.checks.programs.endless.runs_away(ended.value, steps.used)
    assert told is runs_away


def test_an_error_of_the_program_is_looked_through_without_its_help() -> None:
    class Odd(int):
        def bit_length(self) -> int:
            raise AssertionError("the program's own code runs")

    def raises(value: int) -> None:
        raise ValueError(value)

    with pytest.raises(ValueError, match="1") as ended:
        raises(Odd(1))
    assert not agent.checks.programs.endless.runs_away(ended.value, sys.maxsize)
