"""Whether a repair is the only one that fits: the rivals the search came upon, those that stand
around the repair, and the conditions that no test watches.

Siblings are screened to the end, not until a clock: how many there are is bounded, and so is each
by its steps. What screening calls a rival counts once the judge has passed it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from agent.core.domain import Alternative, Alternatives, Evidence, Report, Solution, Task, TestCase
from agent.search.inspection.widening import changed_conditions
from agent.search.precheck.fitting import Fitting, fitting
from agent.search.program import Program
from agent.search.ranking.competing import differs, raised_exceptions
from agent.search.variants.inputs import probes
from agent.search.variants.recombining import observing_calls, recombined_calls
from agent.search.variants.variants import patch_variants
from agent.search.wording import edit_in_words
from sandbox.sandbox import Sandbox

MAX_OTHERS = 3
MAX_JUDGED = 9
"""Siblings of behaviours of their own that are put before the judge."""

Judge = Callable[[Solution], Awaitable[Report]]


@dataclass(frozen=True)
class ProofCase:
    """A repair, and all that it is proven by."""

    base: Solution
    repaired: Solution
    report: Report
    tests: tuple[TestCase, ...]
    """All that may forbid success, held-out ones too."""
    others: Alternatives | None
    """Other repairs that may fit these tests as well."""
    task: Task
    sandbox: Sandbox
    test_s: float
    raised: str = ""
    """The exception by which the program as it came failed a test."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the tests of the repaired program can call; none where it does not parse."""
        try:
            return Program(self.repaired.text).functions
        except (SyntaxError, ValueError, RecursionError):
            return ()

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(test.code for test in self.tests)

    @property
    def changed_inputs(self) -> tuple[str, ...]:
        """Calls beyond the tests': with changed and recombined arguments."""
        return tuple(dict.fromkeys((
            *probes(self.names, self.codes, counting=True),
            *recombined_calls(self.repaired.text, self.names, self.codes),
        )))


@dataclass(frozen=True)
class ProofEvidence:
    """The evidence, and the repair with its rivals where they were found around it."""

    evidence: Evidence
    rivals: Alternatives | None = None


async def rivalry(case: ProofCase, judge: Judge, until: float, left_s: float) -> ProofEvidence:
    """Looks for rivals: those that are known until a moment of the monotonic clock, then around
    the repair. Only a run whose `left_s` seconds are over cuts that short."""
    known = await _known(case, judge, until)
    if known.others or known.inconclusive:
        return ProofEvidence(known)
    try:
        async with asyncio.timeout(left_s):
            found = await _around(case, judge)
            evidence = found.evidence.model_copy(update={"refuted": known.refuted})
            return replace(found, evidence=evidence)
    except TimeoutError:
        unsettled = "what else might stand in its place was not all tried"
        return ProofEvidence(known.model_copy(update={"inconclusive": unsettled}))


async def _known(case: ProofCase, judge: Judge, until: float) -> Evidence:
    """How many other repairs of the search fit all tests, and how many the held-out ones refute.
    Without time to judge them, those count that passed the tests shown."""
    others, refuted, left = 0, 0, ""
    for one in case.others.behaviours if case.others is not None else ():
        if others == MAX_OTHERS:
            break
        if one.solution.text == case.repaired.text:
            continue
        if time.monotonic() < until:
            fits = (await judge(one.solution)).passed
            others, refuted = others + fits, refuted + (not fits)
        else:
            others += one.confirmed
            left = "other repairs were not all judged by all tests"
    return Evidence(others=others, refuted=refuted, inconclusive=left)


async def _around(case: ProofCase, judge: Judge) -> ProofEvidence:
    near = patch_variants(case.base.text, case.repaired.text)
    conditions = changed_conditions(case.base.text, case.repaired.text)
    sides = [(one.condition, text) for one in conditions for text in (one.always, one.never)]
    calls = (
        *case.changed_inputs, *observing_calls(case.repaired.text, case.names, case.codes),
    )
    texts = (*near.texts, *(text for _, text in sides))
    if not texts:
        return ProofEvidence(Evidence())
    found = await fitting(case.repaired, texts, calls, case.tests, case.task, case.sandbox)
    rivals = await _confirmed(case, judge, near.texts, found)
    first = len(near.texts)
    unwatched = [
        condition for place, (condition, text) in enumerate(sides, start=first)
        if place in found.places and (await judge(_other(case, text))).passed
    ]
    alternatives = None
    if rivals:
        own = Alternative(solution=case.repaired, answers=found.own, confirmed=True)
        alternatives = Alternatives(calls=found.calls, behaviours=(own, *rivals))
    return ProofEvidence(Evidence(
        others=len(rivals), variants_tried=len(near.texts),
        uncovered=tuple(dict.fromkeys(unwatched)),
        inconclusive=f"{near.cut} of the repair's siblings were not tried" if near.cut else "",
    ), alternatives)


async def _confirmed(
    case: ProofCase, judge: Judge, texts: Sequence[str], found: Fitting
) -> tuple[Alternative, ...]:
    """A rival for each behaviour that is another than the repair's, nearest first; the judge has
    passed it."""
    behaviours: dict[tuple[str, ...], str] = {}
    for place, answers in zip(found.places, found.answers, strict=True):
        if place < len(texts) and answers and found.own and differs(
            found.own, answers, raised_exceptions(texts[place])
        ):
            behaviours.setdefault(answers, texts[place])
    rivals: list[Alternative] = []
    for answers, text in list(behaviours.items())[:MAX_JUDGED]:
        if len(rivals) == MAX_OTHERS:
            break
        solution = _other(case, text)
        if (await judge(solution)).passed:
            rivals.append(Alternative(
                solution=solution, note=solution.note, answers=answers, confirmed=True
            ))
    return tuple(rivals)


def _other(case: ProofCase, text: str) -> Solution:
    return case.base.with_text(
        text, origin="search", note=edit_in_words(case.base.text, text)
    )
