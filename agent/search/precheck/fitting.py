"""Finds the texts that pass every test of a program, and their answers to calls beyond the tests.

Like every pre-check it is a hint, since candidates share a process with the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.domain import Solution, Task, TestCase
from agent.search.precheck.precheck import screening
from agent.search.search import quick_calls
from sandbox.sandbox import Sandbox


@dataclass(frozen=True)
class Fitting:
    """The indices of the texts that pass, and the answers of the program and of these texts."""

    places: tuple[int, ...] = ()
    calls: tuple[str, ...] = ()
    """The calls that the program answers quickly."""
    own: tuple[str, ...] = ()
    """The program's answers; empty if it was not probed."""
    answers: tuple[tuple[str, ...], ...] = ()
    """The answers of each passing text; empty if it was not probed or ended its process."""


async def fitting(
    program: Solution, texts: Sequence[str], calls: Sequence[str], tests: Sequence[TestCase],
    task: Task, sandbox: Sandbox,
) -> Fitting:
    """Pre-checks all texts; those whose results have another type than the tests expect fail."""
    async with screening(task, program, tests, sandbox) as screener:
        places = sorted([
            place async for place, one in screener.screen(texts, mode="early")
            if one.ended == "ok" and not one.types
        ])
        quick: tuple[str, ...] = ()
        if places and calls:
            quick = quick_calls(tuple(calls), await screener.probe([program.text], calls))
        if not quick:
            return Fitting(tuple(places), answers=((),) * len(places))
        probed = await screener.probe([program.text, *(texts[one] for one in places)], quick)
    own, *others = (row or () for row in probed.rows)
    return Fitting(tuple(places), quick, own, tuple(others))
