"""Which programs of a row are right, asked after the repair and decided outside of them.

Held-out asserts are judged as any test is. Without them the row's fixed program is the measure:
it and the program in question answer the same calls, each in a jailed process of its own, and
the host compares. An exception of the same type is the same answer; what happens to arguments
is not looked at. A call says nothing where the fixed program has no answer that can be told.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Any

from agent.core.domain import File, Solution, Task
from agent.intake.environment import site_folders
from agent.intake.found.snippets import tests_from_snippet
from agent.intake.task import PASTED
from agent.judge import check
from agent.judge.compared import plain
from agent.judge.compared.examples import asking
from agent.judge.compared.plain import Garbled
from agent.judge.subject import Subject
from evaluation.suite import Row, Truth
from sandbox import Json, Outcome, Sandbox

CALL_S = 5.0
MOST_LATE = 3
"""After so many calls without an answer's end the fixed program is asked no more."""
MOST_ITEMS = 1_000
"""So much of an iterator is compared."""
CLOSE = 1e-9
"""The relative difference of floats that are the same sum in another order."""

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")


@dataclass(frozen=True)
class Gave:
    """A call's plain value, in its wire form."""

    wire: Json


@dataclass(frozen=True)
class Raised:
    """The name of what a call raised."""

    name: str


@dataclass(frozen=True)
class Untold:
    """No answer, or none that can be compared; `ended` is the process that gave none."""

    ended: bool = False


Answer = Gave | Raised | Untold


async def refuted(row: Row, sandbox: Sandbox) -> str:
    """What is wrong with a row by its own measure: its fixed program fails its tests, or its truth.
    Empty where nothing is, or where it has no fixed program. Raises `SandboxError`."""
    if not row.truth.fixed:
        return ""
    fixed = _reference_of(row.truth)
    sites = site_folders().sites
    shown = Truth(held_out=row.broken.tests)
    if row.broken.tests and not await _holds(shown, fixed, sites, sandbox):
        return "the fixed program fails the tests"
    if row.truth.held_out and not await _holds(row.truth, fixed, sites, sandbox):
        return "the fixed program fails what is held out"
    return ""


async def right(
    truth: Truth, programs: Sequence[Solution], sites: tuple[str, ...], sandbox: Sandbox
) -> tuple[bool, ...] | None:
    """Whether each of the programs is right; `None` where nothing tells. Raises `SandboxError`."""
    if truth.held_out:
        return tuple([await _holds(truth, one, sites, sandbox) for one in programs])
    if not truth.known:
        return None
    told = await _reference(truth, sites, sandbox)
    if not told:
        return None
    return tuple([await _agrees(truth, told, one, sites, sandbox) for one in programs])


async def _holds(
    truth: Truth, program: Solution, sites: tuple[str, ...], sandbox: Sandbox
) -> bool:
    tests = [
        test for code in truth.held_out for test in tests_from_snippet(code, program.text)
    ]
    report = await check(program, tests, Task(sites=sites), sandbox, run_program=False)
    return bool(report.verdicts) and report.passed


async def _reference(
    truth: Truth, sites: tuple[str, ...], sandbox: Sandbox
) -> dict[str, Gave | Raised]:
    """Calls, and what the fixed program answers. What is not plain is asked for in words."""
    fixed = _reference_of(truth)
    told: dict[str, Gave | Raised] = {}
    untold: list[list[Json]] = []
    late = 0
    for in_words, inputs in ((False, list(truth.inputs)), (True, untold)):
        calls = [_call(truth.entry_point, given, in_words) for given in inputs]
        async with aclosing(_answers(truth, fixed, calls, sites, sandbox)) as answers:
            async for index, answer in answers:
                match answer:
                    case Untold(ended=ended):
                        late += ended
                        if not in_words and not ended:
                            untold.append(inputs[index])
                    case Gave(wire=str(text)) if in_words and _ADDRESS.search(text):
                        pass  # each run has another
                    case _:
                        told[calls[index]] = answer
                if late >= MOST_LATE:
                    return told
    return told


def _reference_of(truth: Truth) -> Solution:
    return Solution(files=(File(path=PASTED, text=truth.fixed),), entry=PASTED)


async def _agrees(
    truth: Truth, told: dict[str, Gave | Raised], program: Solution, sites: tuple[str, ...],
    sandbox: Sandbox,
) -> bool:
    calls = list(told)
    async with aclosing(_answers(truth, program, calls, sites, sandbox)) as answers:
        async for index, answer in answers:
            if not same(told[calls[index]], answer):
                return False
    return True


def same(left: Answer, right: Answer) -> bool:
    """Whether two answers are the same result."""
    match left, right:
        case Gave(wire=one), Gave(wire=other):
            try:
                return one == other or _equal(plain.decode(one), plain.decode(other))
            except Garbled:
                return False
        case Raised(name=one), Raised(name=other):
            return one == other
    return False


def _equal(left: Any, right: Any) -> bool:
    """Equality as a test sees it, but for the last digits of floats and for NaN."""
    # Any: whatever a program returned, in Python's own types.
    if left == right:
        return True
    if isinstance(left, float) and isinstance(right, float):
        return math.isclose(left, right, rel_tol=CLOSE) or (math.isnan(left) and math.isnan(right))
    if isinstance(left, list | tuple) and type(left) is type(right) and len(left) == len(right):
        return all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict) and left.keys() == right.keys():
        return all(_equal(left[key], right[key]) for key in left)
    return False


def _call(entry_point: str, given: list[Json], in_words: bool) -> str:
    """A call as Python text; the arguments travel as JSON, which has NaN where literals do not."""
    call = f"{entry_point}(*__import__('json').loads({json.dumps(given)!r}))"
    if not in_words:
        return call
    items = f"list(__import__('itertools').islice(value, {MOST_ITEMS}))"
    return f"(lambda value: {items} if hasattr(value, '__next__') else repr(value))({call})"


async def _answers(
    truth: Truth, program: Solution, calls: Sequence[str], sites: tuple[str, ...],
    sandbox: Sandbox,
) -> AsyncGenerator[tuple[int, Answer], None]:
    """An answer for each call, in order; a call that ends the process costs its own alone."""
    done = 0
    while done < len(calls):
        subject = Subject(program, Task(sites=sites), sandbox, CALL_S)
        asks = [(call, [truth.entry_point.partition(".")[0]]) for call in calls[done:]]
        async with asking(subject, asks, CALL_S) as asked:
            for _ in asks:
                answer: Answer = Untold()
                with suppress(Garbled):
                    answer = _answer(await asked.answer())
                done += 1
                yield done - 1, answer
                if isinstance(answer, Untold) and answer.ended:
                    break


def _answer(reply: Mapping[str, Json] | Outcome) -> Answer:
    match reply:
        case Outcome():
            return Untold(ended=True)
        case {"value": wire}:
            return Gave(wire)
        case {"raised": {"name": str(name)}, "loaded": True}:
            return Raised(name)
    return Untold()
