"""Gathers the evidence for proof levels above E1: competing patches, changed inputs, mutants of the
repaired lines, and re-runs.

The evidence comes from processes that run only the program, or from the judge. A check is skipped
if an earlier one already limits the proof, so most unproven repairs cost only a few calls. A time
budget may cut the checks, which is reported; it does not cut the search for competing patches.
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
from agent.proof.uniqueness import Judge, ProofCase, ProofEvidence, find_competing
from agent.search.ranking.competing import raised_exceptions
from agent.search.variants.inputs import probes, sequences
from agent.search.variants.mutants import Mutant, mutants, repaired_lines, surrounding_lines
from agent.verify.confirmation import HASH_SEEDS
from agent.verify.examples import plain_values
from agent.verify.examples.examples import ExampleCall, example_call
from agent.verify.examples.plain_values import BadWireForm, Unplain
from agent.verify.examples.probing import ProbeAnswer, answers
from agent.verify.judge import check
from agent.verify.subject import Seeds

ENOUGH_PROBES = 100
ENOUGH_MUTANTS = 5
"""If the repaired lines have fewer mutants, the function around them is mutated."""
CALL_S, MUTANT_S = 0.25, 0.5
"""The least time limits for a changed input, and for a test of a mutant."""
SLOWEST_TEST_FACTOR = 20.0
"""The limits are at least this multiple of the slowest test's time."""
COMPETING_S = 60.0
"""Time limit for finding competing patches if the run has none."""
OVERTIME_S = 0.25
"""How long running checks may continue after the budget."""
PARALLEL_MUTANTS = 3
_OTHER = HASH_SEEDS[1]
RERUNS = (Seeds(0, 1), Seeds(_OTHER, 2), Seeds(_OTHER, 3), Seeds(_OTHER, 4), Seeds(_OTHER, 5))
"""Five seeds of `random`, and only one other hash seed: each needs its own interpreter, which takes
longer to start than all five runs. The confirmation may have started it already."""


async def gather_evidence(
    case: ProofCase, judge: Judge, budget_s: float, left_s: float = COMPETING_S
) -> ProofEvidence:
    """Gathers the evidence for a repair; checks for E4 are skipped if E3 is not reached.

    Args:
        budget_s: Seconds for all checks after the search for competing patches.
        left_s: The run's remaining seconds, which also limit that search.
    """
    start = time.monotonic()
    found = await find_competing(case, judge, start + budget_s, left_s)
    left_s -= time.monotonic() - start
    budget_s = min(budget_s, max(left_s, 0.0))
    try:
        async with asyncio.timeout(budget_s + OVERTIME_S):
            return replace(found, evidence=await _gather(case, found.evidence, budget_s))
    except TimeoutError:
        unfinished = {"inconclusive": "the checks of changed inputs and mutants were not completed"}
        return replace(found, evidence=found.evidence.model_copy(update=unfinished))


async def _gather(case: ProofCase, seen: Evidence, budget_s: float) -> Evidence:
    until = time.monotonic() + budget_s
    found = await _probe(case, seen, until)
    if is_limited_to_e1(found):
        return found
    if not reaches_e3(found):
        return await _test_mutants(case, found, until)
    judged, rerun = await asyncio.gather(_test_mutants(case, found, until), _rerun(case, until))
    return judged.model_copy(update={
        "reruns": rerun.reruns, "disagreeing": rerun.disagreeing, "cut": judged.cut or rerun.cut,
    })


def is_limited_to_e1(seen: Evidence) -> bool:
    """Whether another patch fits, or the tests cover only one branch of a changed condition."""
    return bool(seen.competing_patches or seen.uncovered)


def reaches_e3(seen: Evidence) -> bool:
    """Whether the evidence from changed inputs and competing patches is enough for E3."""
    failed = seen.new_failures or seen.inconsistent or seen.newly_accepted
    refuted = failed or is_limited_to_e1(seen)
    return seen.probes >= ENOUGH_PROBES and not refuted and not seen.inconclusive


async def _run_calls(
    case: ProofCase, solution: Solution, called: Sequence[str], until: float
) -> tuple[ProbeAnswer, ...]:
    return await answers(
        solution, called, case.task, case.sandbox, wall_s=time_limit_s(case, CALL_S), until=until
    )


def time_limit_s(case: ProofCase, least_s: float) -> float:
    """The time limit for one run of the program, relative to its slowest test."""
    slowest = max((verdict.wall_s for verdict in case.report.verdicts), default=0.0)
    return min(case.test_s, max(least_s, SLOWEST_TEST_FACTOR * slowest))


def _test_calls(case: ProofCase) -> list[ExampleCall]:
    """The calls of the tests, including sequences of calls on an object."""
    examples = (example_call(test) for test in case.tests)
    found = [one for one in examples if one is not None and not one.exception]
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


async def _probe(case: ProofCase, known: Evidence, until: float) -> Evidence:
    """Runs the repair on changed inputs, and the original program on those where it may differ:
    where the repair fails, or all if the original program raises exceptions on purpose.

    The calls of the tests are mixed in. If their results differ from the expected ones, which the
    judge saw, the program depends on chance or on earlier calls.
    """
    called = case.changed_inputs
    if len(called) < ENOUGH_PROBES:
        return known.model_copy(update={"probes": len(called)})
    tests = _test_calls(case)
    mixed = [*called, *(one.call for one in tests)]
    # Shuffled over the processes and within each, always in the same order.
    order = random.Random(0).sample(range(len(mixed)), len(mixed))
    replies = await _run_calls(case, case.repaired, [mixed[index] for index in order], until)
    seen = dict(zip(order, replies, strict=True))
    refusals = raised_exceptions(case.base.text)
    compared = [index for index in range(len(called)) if seen[index].failed or refusals]
    again = [called[index] for index in compared]
    test_calls = [one.call for one in tests if refusals]
    replied = await _run_calls(case, case.base, [*again, *test_calls], until) if again else ()
    before = dict(zip(compared, replied, strict=False))
    # If the original program wrongly rejects a test's call, it may wrongly reject others too.
    of_tests = replied[len(again) :]
    is_wrong = case.raised in refusals or any(one.words in refusals for one in of_tests)
    new = [
        called[index] for index in compared
        # If the original program cannot be loaded, each failure counts as new.
        if seen[index].failed and before[index].kind in ("value", "untold", "unloaded")
    ]
    accepted = [
        f"`{called[index]}` was rejected before and is accepted now" for index in compared
        if seen[index].kind == "value" and before[index].kind == "raised"
        and before[index].words in refusals and not is_wrong
    ]
    unasked = {
        index for index in range(len(called))
        if "unasked" in (seen[index].kind, before.get(index, seen[index]).kind)
    }
    inconsistent = [
        one.call for index, one in enumerate(tests, start=len(called))
        if not _agrees(one, seen[index])
    ]
    return known.model_copy(update={
        "probes": len(called) - len(new) - len(unasked), "new_failures": tuple(new),
        "inconsistent": tuple(dict.fromkeys(inconsistent)),
        "newly_accepted": tuple(accepted[:1]),
        "inconclusive": known.inconclusive or (
            "" if time.monotonic() < until else "not all changed inputs were tried"
        ),
    })


def _agrees(test: ExampleCall, answer: ProbeAnswer) -> bool:
    """Whether a test's call gives the expected result; true if that is unknown."""
    if answer.kind in ("untold", "unasked"):
        return True
    if answer.kind != "value" or plain_values.parts(answer.wire) != test.parts:
        return False
    try:
        return bool(plain_values.decode(answer.wire) == test.expected)
    except BadWireForm:
        return False


async def _test_mutants(case: ProofCase, seen: Evidence, until: float) -> Evidence:
    """Runs the tests on mutants of the repaired lines; equivalent mutants do not count."""
    made, around = _make_mutants(case)
    limit = asyncio.Semaphore(PARALLEL_MUTANTS)
    wall_s = time_limit_s(case, MUTANT_S)

    async def is_killed(mutant: Mutant) -> bool | None:
        async with limit:
            if time.monotonic() >= until:
                return None
            report = await check(
                _mutant(case, mutant), case.tests, case.task, case.sandbox, wall_s=wall_s,
                fail_fast=True, verify_passes=False,
            )
            return not report.passed

    fates = await asyncio.gather(*map(is_killed, made))
    survivors = [one for one, killed in zip(made, fates, strict=True) if killed is False]
    called = probes(case.names, case.codes, stateful=True)
    expected = await _run_calls(case, case.repaired, called, until) if survivors else ()
    replies = await asyncio.gather(
        *(_run_calls(case, _mutant(case, one), called, until) for one in survivors)
    )
    alike = [one for one, given in zip(survivors, replies, strict=True) if _alike(expected, given)]
    killed = sum(fate is True for fate in fates)
    differing = [one for one in survivors if one not in alike]
    late = None in fates or (survivors and time.monotonic() >= until)
    return seen.model_copy(update={
        "mutants": killed + len(differing), "killed": killed, "equivalent": len(alike),
        "survivors": tuple(one.note for one in differing), "whole_function": around,
        "cut": "not all mutants were judged" if late else "",
    })


def _make_mutants(case: ProofCase) -> tuple[tuple[Mutant, ...], bool]:
    """The mutants that differ from the original program, and whether they cover the whole function
    around the repaired lines."""
    before, after = case.base.text, case.repaired.text
    lines = repaired_lines(before, after)
    around = False
    made = mutants(after, lines)
    if sum(one.text != before for one in made) < ENOUGH_MUTANTS:
        made, around = mutants(after, lines | surrounding_lines(before, after)), True
    return tuple(one for one in made if one.text != before), around


def _mutant(case: ProofCase, mutant: Mutant) -> Solution:
    return case.repaired.with_text(mutant.text, note=mutant.note)


def _alike(answers: Sequence[ProbeAnswer], other: Sequence[ProbeAnswer]) -> bool:
    """Whether all results are known and the same."""
    return all(
        a.kind not in ("untold", "unasked") and (a.kind, a.words) == (b.kind, b.words)
        for a, b in zip(answers, other, strict=True)
    )


async def _rerun(case: ProofCase, until: float) -> Evidence:
    """Runs the tests again with different seeds."""
    known = {verdict.name: verdict.status for verdict in case.report.trusted}
    differing: dict[str, None] = {}
    for count, seeds in enumerate(RERUNS):
        if time.monotonic() >= until:
            return Evidence(
                reruns=count, disagreeing=tuple(differing),
                cut=f"the tests were run again only {count} of {len(RERUNS)} times",
            )
        report = await check(
            case.repaired, case.tests, case.task, case.sandbox, wall_s=case.test_s, seeds=seeds,
            verify_passes=False,
        )
        again = {verdict.name: verdict.status for verdict in report.trusted}
        differing.update(dict.fromkeys(
            name for name in sorted(known.keys() | again.keys())
            if known.get(name) != again.get(name)
        ))
    return Evidence(reruns=len(RERUNS), disagreeing=tuple(differing))
