"""A pass rests on one process where the program has a hand in what the test compares, or would
say by its own operators how far an object of it is from what is expected."""

from __future__ import annotations

from typing import Any

import pytest

from tests.agent.values import table

PROGRAMS = table(__file__, "vouching.toml")
POINT = PROGRAMS["point"]
DESCRIBED = PROGRAMS["described"]
FORGED = PROGRAMS["forged"]
HONEST = PROGRAMS["honest"]

@pytest.mark.parametrize("way", FORGED)
async def test_what_the_program_has_a_hand_in_is_in_process(way: str, judge: Any) -> None:
    program, test = FORGED[way]

    (verdict,) = (await judge(program, {"it": test})).verdicts

    assert (verdict.status, verdict.integrity) == ("passed", "in-process")


async def test_a_descriptor_of_the_program_in_a_class_of_the_test_is_not_followed(
    judge: Any,
) -> None:
    test = "class Box:\n    size = Always()\nbox = Box()\nbox.size = 1\nassert box.size == 1"

    (verdict,) = (await judge(DESCRIBED, {"it": test})).verdicts

    assert verdict.integrity != "outside"
    assert verdict.integrity != "observed"


async def test_everyday_objects_are_followed(judge: Any) -> None:
    program = f"{POINT}\ndef same(one): return one\ndef tidy(xs): xs.sort()\n"

    report = await judge(program, HONEST)

    assert [v.name for v in report.verdicts if v.status == "passed"] == [*HONEST]
    assert {v.integrity for v in report.verdicts} <= {"outside", "observed"}


KIN = PROGRAMS["kin"]


JUDGING = (
    "assert abs(f(5) - 8) < 1e-9", "assert float(8 - f(5)) == 0", "assert (f(5) - 8).days == 0",
)
SPEAKING = (
    "assert f(5).count(8) == 1", "assert f(5).index(8) == 0",
    "assert f(5).difference({8}) == set()",
)


async def test_what_rests_on_the_word_of_a_class_that_the_test_does_not_name(judge: Any) -> None:
    report = await judge(KIN, {code: code for code in (*JUDGING, *SPEAKING)})

    assert [(v.name, v.status, v.integrity) for v in report.verdicts] == [
        *((code, "passed", "in-process") for code in JUDGING),
        *((code, "passed", "observed") for code in SPEAKING),
    ]
    assert {"would judge itself" in v.reason for v in report.verdicts[:3]} == {True}
    assert {"of the solution's class E" in v.reason for v in report.verdicts[3:]} == {True}


async def test_a_class_that_the_test_names_may_calculate(judge: Any) -> None:
    text = """
class Money:
    def __init__(self, cents): self.cents = cents
    def __add__(self, other): return Money(self.cents + other)
    def __abs__(self): return abs(self.cents)
"""
    (verdict,) = (await judge(text, "assert abs(Money(3) + 4) == 7")).verdicts

    assert (verdict.status, verdict.integrity) == ("passed", "observed")
