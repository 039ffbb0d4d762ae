"""Finds the texts that pass every test of a program, and their answers to calls beyond the tests.

Like every pre-check it is a hint, since candidates share a process with the tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.domain import Solution, Task, TestCase
from agent.search.precheck.precheck import open_prechecker
from agent.search.search import quick_calls
from sandbox.sandbox import Sandbox


@dataclass(frozen=True)
class PassingTexts:
    """The indices of the texts that pass, and the answers of the program and of these texts."""

    indices: tuple[int, ...] = ()
    calls: tuple[str, ...] = ()
    """The calls that the program answers quickly."""
    program_answers: tuple[str, ...] = ()
    """The program's answers; empty if it was not probed."""
    answers: tuple[tuple[str, ...], ...] = ()
    """The answers of each passing text; empty if it was not probed or ended its process."""


async def passing_texts(
    program: Solution, texts: Sequence[str], calls: Sequence[str], tests: Sequence[TestCase],
    task: Task, sandbox: Sandbox,
) -> PassingTexts:
    """Pre-checks all texts; those whose results have another type than the tests expect fail."""
    async with open_prechecker(task, program, tests, sandbox) as prechecker:
        places = sorted([
            place async for place, one in prechecker.precheck(texts, mode="early")
            if one.outcome == "ok" and not one.types
        ])
        quick: tuple[str, ...] = ()
        if places and calls:
            quick = quick_calls(tuple(calls), await prechecker.probe([program.text], calls))
        if not quick:
            return PassingTexts(tuple(places), answers=((),) * len(places))
        probed = await prechecker.probe([program.text, *(texts[one] for one in places)], quick)
    own, *others = (row or () for row in probed.rows)
    return PassingTexts(tuple(places), quick, own, tuple(others))
