"""Checks whether a repair is the only one that fits the tests.

Other fitting patches come from the search and from variants of the repair. Changed conditions are
checked for branches that no test covers. Variants are pre-checked without a time limit, because
their number and the steps of each are limited. They count once the judge has passed them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from agent.core.domain import Alternative, Alternatives, Evidence, Report, Solution, Task, TestCase
from agent.search.inspection.widening import changed_conditions
from agent.search.precheck.fitting import PassingTexts, passing_texts
from agent.search.program import Program
from agent.search.ranking.competing import differs, raised_exceptions
from agent.search.variants.inputs import probes
from agent.search.variants.recombining import observing_calls, recombined_calls
from agent.search.variants.variants import patch_variants
from agent.search.wording import edit_in_words
from sandbox.sandbox import Sandbox

MAX_OTHERS = 3
MAX_JUDGED = 9
"""Limit of judged variants, one for each different behaviour."""

Judge = Callable[[Solution], Awaitable[Report]]


@dataclass(frozen=True)
class ProofCase:
    """A repair, and everything that is needed to prove it."""

    base: Solution
    repaired: Solution
    report: Report
    tests: tuple[TestCase, ...]
    """All deciding tests, including held-out ones."""
    others: Alternatives | None
    """Other repairs that may fit these tests."""
    task: Task
    sandbox: Sandbox
    test_s: float
    raised: str = ""
    """The exception that the original program raised in a failing test; empty if none."""

    @property
    def names(self) -> tuple[str, ...]:
        """The functions that tests of the repaired program can call; none if it does not parse."""
        try:
            return Program(self.repaired.text).functions
        except (SyntaxError, ValueError, RecursionError):
            return ()

    @property
    def codes(self) -> tuple[str, ...]:
        return tuple(test.code for test in self.tests)

    @property
    def changed_inputs(self) -> tuple[str, ...]:
        """The calls of the tests with changed and recombined arguments."""
        return tuple(dict.fromkeys((
            *probes(self.names, self.codes, stateful=True),
            *recombined_calls(self.repaired.text, self.names, self.codes),
        )))


@dataclass(frozen=True)
class ProofEvidence:
    """The evidence, and the repair with its competing variants if there are any."""

    evidence: Evidence
    competing: Alternatives | None = None


async def find_competing(
    case: ProofCase, judge: Judge, until: float, left_s: float
) -> ProofEvidence:
    """Judges the other repairs of the search, and then the variants of the repair.

    Args:
        until: The monotonic time at which judging the other repairs ends.
        left_s: The time limit for the variants.
    """
    known = await _judge_others(case, judge, until)
    if known.competing_patches or known.inconclusive:
        return ProofEvidence(known)
    try:
        async with asyncio.timeout(left_s):
            found = await _judge_variants(case, judge)
            evidence = found.evidence.model_copy(update={"refuted": known.refuted})
            return replace(found, evidence=evidence)
    except TimeoutError:
        unfinished = {"inconclusive": "not all variants of the repair were tried"}
        return ProofEvidence(known.model_copy(update=unfinished))


async def _judge_others(case: ProofCase, judge: Judge, until: float) -> Evidence:
    """Counts the other repairs of the search that fit all tests and those that do not. If there is
    no time to judge them, those that pass the visible tests count."""
    others, refuted, inconclusive = 0, 0, ""
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
            inconclusive = "not all other repairs were judged with all tests"
    return Evidence(competing_patches=others, refuted=refuted, inconclusive=inconclusive)


async def _judge_variants(case: ProofCase, judge: Judge) -> ProofEvidence:
    near = patch_variants(case.base.text, case.repaired.text)
    conditions = changed_conditions(case.base.text, case.repaired.text)
    sides = [(one.condition, text) for one in conditions for text in (one.always, one.never)]
    calls = (*case.changed_inputs, *observing_calls(case.repaired.text, case.names, case.codes))
    texts = (*near.texts, *(text for _, text in sides))
    if not texts:
        return ProofEvidence(Evidence())
    found = await passing_texts(case.repaired, texts, calls, case.tests, case.task, case.sandbox)
    variants = await _competing(case, judge, near.texts, found)
    first = len(near.texts)
    uncovered = [
        condition for index, (condition, text) in enumerate(sides, start=first)
        if index in found.indices and (await judge(_other(case, text))).passed
    ]
    alternatives = None
    if variants:
        chosen = Alternative(solution=case.repaired, answers=found.program_answers, confirmed=True)
        alternatives = Alternatives(calls=found.calls, behaviours=(chosen, *variants))
    return ProofEvidence(Evidence(
        competing_patches=len(variants), variants_tried=len(near.texts),
        uncovered=tuple(dict.fromkeys(uncovered)),
        inconclusive=f"{near.cut} variants of the repair were not tried" if near.cut else "",
    ), alternatives)


async def _competing(
    case: ProofCase, judge: Judge, texts: Sequence[str], found: PassingTexts
) -> tuple[Alternative, ...]:
    """A variant for each behaviour that differs from the repair's and passes the judge, the
    smallest change first."""
    behaviours: dict[tuple[str, ...], str] = {}
    for index, answers in zip(found.indices, found.answers, strict=True):
        if index < len(texts) and answers and found.program_answers and differs(
            found.program_answers, answers, raised_exceptions(texts[index])
        ):
            behaviours.setdefault(answers, texts[index])
    variants: list[Alternative] = []
    for answers, text in list(behaviours.items())[:MAX_JUDGED]:
        if len(variants) == MAX_OTHERS:
            break
        solution = _other(case, text)
        if (await judge(solution)).passed:
            variants.append(Alternative(
                solution=solution, note=solution.note, answers=answers, confirmed=True
            ))
    return tuple(variants)


def _other(case: ProofCase, text: str) -> Solution:
    return case.base.with_text(text, origin="search", note=edit_in_words(case.base.text, text))
