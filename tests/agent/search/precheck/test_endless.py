"""Endless programs are distinguished from slow ones; uncertain ones count as slow."""

import sys
from typing import Any

import pytest

from agent.search.precheck.programs import endless, ticks
from tests.agent.values import table

LIMIT, LOOK_AT = 2_000, 50

PROGRAMS = table(__file__, "endless.toml")
ENDLESS, ENDS = PROGRAMS["endless"], PROGRAMS["ends"]


def run(text: str) -> Any:
    """The steps of a program that is looked at, once it has ended."""
    watch = endless.LoopWatch(text)
    steps = ticks.StepBudget(LIMIT, LOOK_AT, watch)
    names = {"__name__": "shop", "__tick__": steps.tick, "__ticks__": steps.ticks}
    try:
        exec(compile(ticks.with_counters(text), "shop.py", "exec"), names)
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


def test_an_exhausted_counter_stays_exhausted() -> None:
    steps = run(
        "while True:\n    try:\n        while True: pass\n    except BaseException: break\n"
    )

    assert steps.repeats
    with pytest.raises(StopIteration):
        steps.tick()


@pytest.mark.parametrize(
    ("step", "grows_unbounded"),
    [("n = 3 * n + 2", True), ("n = n + 1", False), ("n = n + m; m = n - m", False)],
)
def test_a_number_that_grows_too_fast_runs_away(step: str, grows_unbounded: bool) -> None:
    text = f"def f(n, m):\n    while n:\n        {step}\n"
    steps = ticks.StepBudget(LIMIT)
    names: dict[str, Any] = {"__tick__": steps.tick, "__ticks__": steps.ticks}
    exec(ticks.with_counters(text), names)
    with pytest.raises(StopIteration) as ended:
        names["f"](1, 1)

    told = endless.grows_unbounded(ended.value, steps.used)
    assert told is grows_unbounded


def test_no_code_of_the_program_runs_for_its_traceback() -> None:
    class Odd(int):
        def bit_length(self) -> int:
            raise AssertionError("the program's own code runs")

    def raises(value: int) -> None:
        raise ValueError(value)

    with pytest.raises(ValueError, match="1") as ended:
        raises(Odd(1))
    assert not endless.grows_unbounded(ended.value, sys.maxsize)
