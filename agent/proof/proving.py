"""Gathers what proof above E1 rests on: rivals, changed inputs, mutants of the repaired lines,
re-runs.

Whatever is seen here comes from processes that hold the program alone, or from the judge. Each
part is only looked at where the one before has shown what it can: most repairs that are not
proven cost a few calls. A budget of seconds may cut it short, which is reported;
it does not cut the search for competing patches.
"""

from __future__ import annotations

import ast
import asyncio
import random
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from agent.core.domain import Evidence, Solution
from agent.core.trees import parse
from agent.proof.uniqueness import Judge, ProofCase, ProofEvidence, rivalry
from agent.search.ranking.competing import raised_exceptions
from agent.search.variants.inputs import probes, sequences
from agent.search.variants.mutants import Mutant, mutants, repaired_lines, surrounding_lines
from agent.verify.confirmation import OTHER_HASHES
from agent.verify.examples import plain_values
from agent.verify.examples.examples import ExampleCall, example_call
from agent.verify.examples.plain_values import NotPlain, Unplain
from agent.verify.examples.probing import ProbeAnswer, answers
from agent.verify.judge import check
from agent.verify.subject import Seeds

ENOUGH_PROBES = 100
ENOUGH_MUTANTS = 5
"""Where the repaired lines have fewer, the function around them is mutated."""
CALL_S = 0.25
"""A changed input that takes longer, and many times longer than a test, counts as endless."""
MUTANT_S = 0.5
"""A test that takes a mutant longer, and many times longer than it took the repair, fails."""
SLOWER = 20.0
COMPETING_S = 60.0
"""How long rivals are looked for where nothing else says how long a run may take."""
OVERTIME_S = 0.25
"""How long what has begun may go on after the budget."""
SIDE_BY_SIDE = 3
"""Mutants before the judge at once."""
_OTHER = OTHER_HASHES[1]
RERUNS = (Seeds(0, 1), Seeds(_OTHER, 2), Seeds(_OTHER, 3), Seeds(_OTHER, 4), Seeds(_OTHER, 5))
"""Five seeds of `random`, and one other hash seed, which the confirmation may have used too: its
interpreter takes longer to start than all five take together."""


async def gather_evidence(
    case: ProofCase, judge: Judge, budget_s: float, left_s: float = COMPETING_S
) -> ProofEvidence:
    """The evidence there is within the budget; what E3 does not have, E4 does not look for.

    Rivals are looked for to the end, as far as the run's `left_s` seconds go, and the budget
    begins when that is done.
    """
    begun = time.monotonic()
    found = await rivalry(case, judge, begun + budget_s, left_s)
    left_s -= time.monotonic() - begun
    budget_s = min(budget_s, max(left_s, 0.0))
    try:
        async with asyncio.timeout(budget_s + OVERTIME_S):
            return replace(found, evidence=await _gathered(case, found.evidence, budget_s))
    except TimeoutError:
        unsettled = "the look at changed inputs and slips did not come to an end"
        return replace(
            found, evidence=found.evidence.model_copy(update={"inconclusive": unsettled})
        )


async def _gathered(case: ProofCase, seen: Evidence, budget_s: float) -> Evidence:
    until = time.monotonic() + budget_s
    found = await _probed(case, seen, until)
    if holds_at_e1(found):
        return found
    if not reaches_e3(found):
        return await _mutated(case, found, until)
    judged, rerun = await asyncio.gather(_mutated(case, found, until), _rerun(case, until))
    return judged.model_copy(update={
        "reruns": rerun.reruns, "disagreeing": rerun.disagreeing, "cut": judged.cut or rerun.cut,
    })


def holds_at_e1(seen: Evidence) -> bool:
    """Whether something else is known to fit, or one side of a changed condition to be open."""
    return bool(seen.others or seen.uncovered)


def reaches_e3(seen: Evidence) -> bool:
    """Whether changed inputs, and what else fits the tests, let a repair be called E3."""
    refuted = seen.new_failures or seen.inconsistent or seen.doubts or holds_at_e1(seen)
    return seen.probes >= ENOUGH_PROBES and not refuted and not seen.inconclusive


async def _ask(
    case: ProofCase, solution: Solution, called: Sequence[str], until: float
) -> tuple[ProbeAnswer, ...]:
    return await answers(
        solution, called, case.task, case.sandbox, wall_s=patience(case, CALL_S), until=until
    )


def patience(case: ProofCase, least_s: float) -> float:
    """Seconds for one run of the program: a long one takes a while to be loaded alone."""
    slowest = max((verdict.wall_s for verdict in case.report.verdicts), default=0.0)
    return min(case.test_s, max(least_s, SLOWER * slowest))


def _own(case: ProofCase) -> list[ExampleCall]:
    """What the tests themselves ask: calls, and what they do with an object."""
    asked = (example_call(test) for test in case.tests)
    found = [one for one in asked if one is not None and not one.exception]
    names = frozenset(case.names)
    for test in case.tests:
        try:
            used = [*sequences(parse(test.code), names)]
        except (SyntaxError, ValueError, RecursionError):
            continue
        for use in used:
            value = ast.literal_eval(use.expected)
            with suppress(Unplain):
                parts = plain_values.parts(plain_values.encode(value))
                found.append(ExampleCall(ast.unparse(use.call), (), value, parts=parts))
    return found


async def _probed(case: ProofCase, known_of: Evidence, until: float) -> Evidence:
    """Changed inputs put to the repair; to the program as it came, those on which it fails, or on
    which that program may have refused to answer.

    Among them are the tests' own calls: a program that answers these otherwise than before the
    judge depends on chance or on what it was asked before, and its other answers say nothing.
    """
    called = case.changed_inputs
    if len(called) < ENOUGH_PROBES:
        return known_of.model_copy(update={"probes": len(called)})
    tests = _own(case)
    mixed = [*called, *(one.call for one in tests)]
    # Shuffled over all processes and over the time of each, in the same way every time.
    order = random.Random(0).sample(range(len(mixed)), len(mixed))
    replies = await _ask(case, case.repaired, [mixed[place] for place in order], until)
    seen = dict(zip(order, replies, strict=True))
    refusals = raised_exceptions(case.base.text)
    asked_again = [
        place for place in range(len(called)) if seen[place].failed or refusals
    ]
    again = [called[place] for place in asked_again]
    own = [one.call for one in tests if refusals]
    replied = await _ask(case, case.base, [*again, *own], until) if again else ()
    before = dict(zip(asked_again, replied, strict=False))
    # What was refused wrongly in a test may have been refused wrongly elsewhere.
    unfair = case.raised in refusals or any(
        one.words in refusals for one in replied[len(again) :]
    )
    new = [
        called[place] for place in asked_again
        # A program that cannot be loaded shows nothing: each failure counts as new.
        if seen[place].failed and before[place].kind in ("value", "untold", "unloaded")
    ]
    accepted = [
        f"`{called[place]}` was refused before and is accepted now" for place in asked_again
        if seen[place].kind == "value" and before[place].kind == "raised"
        and before[place].words in refusals and not unfair
    ]
    unasked = {
        place for place in range(len(called))
        if "unasked" in (seen[place].kind, before.get(place, seen[place]).kind)
    }
    wavering = [
        one.call for place, one in enumerate(tests, start=len(called))
        if not _agrees(one, seen[place])
    ]
    return known_of.model_copy(update={
        "probes": len(called) - len(new) - len(unasked), "new_failures": tuple(new),
        "inconsistent": tuple(dict.fromkeys(wavering)),
        "doubts": tuple(accepted[:1]),
        "inconclusive": known_of.inconclusive or (
            "" if time.monotonic() < until else "the changed inputs were not all tried"
        ),
    })


def _agrees(test: ExampleCall, answer: ProbeAnswer) -> bool:
    """Whether a test's call was answered as the test expects; true if that is unknown."""
    if answer.kind in ("untold", "unasked"):
        return True
    if answer.kind != "value" or plain_values.parts(answer.wire) != test.parts:
        return False
    try:
        return bool(plain_values.decode(answer.wire) == test.expected)
    except NotPlain:
        return False


async def _mutated(case: ProofCase, seen: Evidence, until: float) -> Evidence:
    """Mutants of the repaired lines before the judge; equivalent ones are left out."""
    made, around = _made(case)
    seats = asyncio.Semaphore(SIDE_BY_SIDE)
    wall_s = patience(case, MUTANT_S)

    async def is_killed(mutant: Mutant) -> bool | None:
        async with seats:
            if time.monotonic() >= until:
                return None
            report = await check(
                _mutant(case, mutant), case.tests, case.task, case.sandbox, wall_s=wall_s,
                first_failure=True, observe=False,
            )
            return not report.passed

    fates = await asyncio.gather(*map(is_killed, made))
    survivors = [one for one, killed in zip(made, fates, strict=True) if killed is False]
    called = probes(case.names, case.codes, counting=True)
    own = await _ask(case, case.repaired, called, until) if survivors else ()
    replies = await asyncio.gather(
        *(_ask(case, _mutant(case, one), called, until) for one in survivors)
    )
    alike = [one for one, given in zip(survivors, replies, strict=True) if _alike(own, given)]
    killed = sum(fate is True for fate in fates)
    differing = [one for one in survivors if one not in alike]
    late = None in fates or (survivors and time.monotonic() >= until)
    return seen.model_copy(update={
        "mutants": killed + len(differing), "killed": killed, "equivalent": len(alike),
        "survivors": tuple(one.note for one in differing), "around": around,
        "cut": "the slips put in were not all judged" if late else "",
    })


def _made(case: ProofCase) -> tuple[tuple[Mutant, ...], bool]:
    """The mutants, and whether they are of the whole function around the repaired lines.

    One that is the program as it came is none: that tests notice it is what the repair is for.
    """
    before, after = case.base.text, case.repaired.text
    lines = repaired_lines(before, after)
    around = False
    made = mutants(after, lines)
    if sum(one.text != before for one in made) < ENOUGH_MUTANTS:
        made, around = mutants(after, lines | surrounding_lines(before, after)), True
    return tuple(one for one in made if one.text != before), around


def _mutant(case: ProofCase, mutant: Mutant) -> Solution:
    return case.repaired.with_text(mutant.text, note=mutant.note)


def _alike(own: Sequence[ProbeAnswer], other: Sequence[ProbeAnswer]) -> bool:
    """Whether all answers are known and the same."""
    return all(
        a.kind not in ("untold", "unasked") and (a.kind, a.words) == (b.kind, b.words)
        for a, b in zip(own, other, strict=True)
    )


async def _rerun(case: ProofCase, until: float) -> Evidence:
    """The tests again and again, with other seeds each time."""
    known = {verdict.name: verdict.status for verdict in case.report.trusted}
    differing: dict[str, None] = {}
    for count, seeds in enumerate(RERUNS):
        if time.monotonic() >= until:
            return Evidence(
                reruns=count, disagreeing=tuple(differing),
                cut="the tests were not run again as often as it takes",
            )
        report = await check(
            case.repaired, case.tests, case.task, case.sandbox, wall_s=case.test_s, seeds=seeds,
            observe=False,
        )
        again = {verdict.name: verdict.status for verdict in report.trusted}
        differing.update(dict.fromkeys(
            name for name in sorted(known.keys() | again.keys())
            if known.get(name) != again.get(name)
        ))
    return Evidence(reruns=len(RERUNS), disagreeing=tuple(differing))
