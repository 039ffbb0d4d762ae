"""An object that meets the expected value does not say how far it is from it."""

from __future__ import annotations

from typing import Any

import pytest

KIN = """
class E:
    days = 0
    def __sub__(self, other): return E()
    __rsub__ = __sub__
    def __abs__(self): return 0
    def __float__(self): return 0.0
    def count(self, item): return 1
    def index(self, item): return 0
    def difference(self, other): return set()

def f(n): return E()
"""


@pytest.mark.parametrize("code", [
    "assert abs(f(5) - 8) < 1e-9",
    "assert float(8 - f(5)) == 0",
    "assert (f(5) - 8).days == 0",
])
async def test_an_operator_of_a_class_that_the_test_does_not_name_is_not_followed(
    judge: Any, code: str
) -> None:
    (verdict,) = (await judge(KIN, code)).verdicts

    assert (verdict.status, verdict.integrity) == ("passed", "in-process")
    assert "would judge itself" in verdict.reason


@pytest.mark.parametrize("code", [
    "assert f(5).count(8) == 1",
    "assert f(5).index(8) == 0",
    "assert f(5).difference({8}) == set()",
])
async def test_what_rests_on_its_word_says_so(judge: Any, code: str) -> None:
    (verdict,) = (await judge(KIN, code)).verdicts

    assert verdict.integrity == "observed"
    assert "of the solution's class E" in verdict.reason


async def test_a_class_that_the_test_names_may_calculate(judge: Any) -> None:
    text = """
class Money:
    def __init__(self, cents): self.cents = cents
    def __add__(self, other): return Money(self.cents + other)
    def __abs__(self): return abs(self.cents)
"""
    (verdict,) = (await judge(text, "assert abs(Money(3) + 4) == 7")).verdicts

    assert (verdict.status, verdict.integrity) == ("passed", "observed")
