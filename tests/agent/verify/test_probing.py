"""Calls beyond the tests', put to a program in processes that hold nothing else."""

from __future__ import annotations

import time

from agent.core.domain import Task
from agent.verify.examples.probing import BATCH_SIZE, ProbeAnswer, answers
from sandbox import open_sandbox
from tests.agent.values import program as solution
from tests.agent.values import table

PROGRAMS = table(__file__, "programs.toml")["probing"]
PROGRAM = PROGRAMS["program"]


async def asked(text: str, *calls: str, seconds: float = 5.0) -> list[tuple[str, str]]:
    found = await answers(
        solution(text), calls, Task(), open_sandbox(), wall_s=0.1,
        until=time.monotonic() + seconds,
    )
    return [(one.kind, one.words) for one in found]


async def test_each_call_has_its_own_answer_whatever_the_others_did() -> None:
    assert await asked(PROGRAM, "f(1)", "f(2)", "f(3)", "f(4)", "f(0)") == [
        ("raised", "KeyError"), ("ended", ""), ("untold", ""), ("endless", ""),
        ("value", '["s", ["a", "b", 0]]'),
    ]


async def test_calls_that_do_not_end_are_not_waited_for_again_and_again() -> None:
    found = await asked(PROGRAM, *["f(4)"] * (BATCH_SIZE - 1), "f(0)")
    assert [kind for kind, _ in found].count("endless") == 2
    assert found[-1] == ("unasked", "")


async def test_time_that_is_over_leaves_calls_unasked() -> None:
    assert await asked(PROGRAM, "f(0)", seconds=-1.0) == [("unasked", "")]


async def test_a_program_that_cannot_be_loaded_says_so() -> None:
    assert await asked("1 / 0\n", "f(0)") == [("unloaded", "ZeroDivisionError")]


async def test_the_program_is_loaded_afresh_for_each_call() -> None:
    counting = "seen = []\n\n\ndef f():\n    seen.append(1)\n    return len(seen)\n"
    assert await asked(counting, "f()", "f()") == [("value", "1"), ("value", "1")]


def test_failures_are_what_gives_no_value() -> None:
    assert [ProbeAnswer(kind).failed for kind in ("value", "untold", "unasked")] == [False] * 3
    assert [ProbeAnswer(kind).failed for kind in ("raised", "endless", "ended", "unloaded")] == (
        [True] * 4
    )
