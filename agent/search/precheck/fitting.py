"""Which of many texts pass every test of a program, and what those answer beyond the tests.

Like every pre-check it is a hint: candidates share a process with the tests. A caller that
relies on one puts it
before the judge.
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
    """The texts that pass, by their places, and what the program itself and they answer."""

    places: tuple[int, ...] = ()
    calls: tuple[str, ...] = ()
    """Those that the program itself answers soon; the others would hold up every text."""
    own: tuple[str, ...] = ()
    """The program's answers, in words; empty where it was not asked."""
    answers: tuple[tuple[str, ...], ...] = ()
    """Those of the texts that pass; empty for one that was not asked or ended its process."""


async def fitting(
    program: Solution, texts: Sequence[str], calls: Sequence[str], tests: Sequence[TestCase],
    task: Task, sandbox: Sandbox,
) -> Fitting:
    """Screens all texts to the end. Those that pass only with values of another type than the
    tests expect are left out."""
    async with screening(task, program, tests, sandbox) as screener:
        places = sorted([
            place async for place, seen in screener.screen(texts, mode="early")
            if seen.ended == "ok" and not seen.types
        ])
        soon: tuple[str, ...] = ()
        if places and calls:
            soon = quick_calls(tuple(calls), await screener.probe([program.text], calls))
        if not soon:
            return Fitting(tuple(places), answers=((),) * len(places))
        asked = await screener.probe([program.text, *(texts[one] for one in places)], soon)
    own, *others = (row or () for row in asked.rows)
    return Fitting(tuple(places), soon, own, tuple(others))
