"""Chooses one of several programs of an iteration.

Passing programs rank first, then those that pass more tests, then those with the most common
results (independent programs are rarely wrong in the same way), then the smallest change.
Passing programs are also compared on further calls. If they differ, a person can be asked.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.domain import Alternative, Alternatives, Report, Solution, TestCase
from agent.core.state import ModelRepair
from agent.iteration.context import Context
from agent.search.program import Program
from agent.search.variants.inputs import probes
from agent.verify.examples import plain_values
from agent.verify.examples.probing import ProbeAnswer, answers

MAX_CALLS, MAX_CALLS_S = 24, 10.0
"""Limit of further calls on which passing programs are compared, and the seconds for them all."""

Answers = tuple[str, ...]


@dataclass(frozen=True)
class Winner:
    """The chosen candidate, and passing ones that behave differently."""

    chosen: ModelRepair
    others: Alternatives | None = None
    votes: int = 1
    """The number of passing candidates with the same results, itself included."""


async def best_of(
    ctx: Context, repairs: Sequence[ModelRepair], base: Solution, tests: Sequence[TestCase],
    more_tests: Sequence[str] = (),
) -> Winner:
    """Chooses one of at least one candidate of an iteration.

    Args:
        more_tests: Additional texts of tests from which calls are derived.
    """
    passing = [one for one in repairs if _passes(one)]
    if len(passing) < 2 or ctx.task.project is not None or len(base.files) > 1:
        return winner(repairs, base, (), {})
    calls = _calls(passing[0], [*(test.code for test in tests), *more_tests])
    results = {}
    until = time.monotonic() + min(MAX_CALLS_S, ctx.seconds_left / 4)
    for number, one in enumerate(repairs):
        if _passes(one) and one.solution is not None:
            given = await answers(
                one.solution, calls, ctx.task, ctx.sandbox, wall_s=ctx.test_s, until=until
            )
            results[number] = tuple(map(_in_words, given))
    return winner(repairs, base, calls, results)


def _calls(one: ModelRepair, tests: Sequence[str]) -> tuple[str, ...]:
    try:
        names = Program(one.solution.text if one.solution else "").functions
    except (SyntaxError, ValueError, RecursionError):
        return ()
    return tuple(probes(names, tests, MAX_CALLS))


def _in_words(answer: ProbeAnswer) -> str:
    match answer.kind:
        case "value":
            return plain_values.shown(answer.wire)
        case "raised":
            return f"!{answer.words}"
        case _:
            return ""


def winner(
    repairs: Sequence[ModelRepair], base: Solution, calls: tuple[str, ...],
    results: dict[int, Answers]
) -> Winner:
    """Chooses a candidate by the reports, and by the `results` of `calls` of passing ones; pure."""
    given = {
        number: (_test_results(one.report), results.get(number, ()))
        for number, one in enumerate(repairs) if one.solution is not None
    }
    agreeing = Counter(given.values())

    def rank_key(number: int) -> tuple[bool, tuple[int, int], int, int]:
        one = repairs[number]
        if one.solution is None or one.report is None:
            return (False, (-1, -1), 0, 0)
        return (
            one.report.passed, one.report.score, agreeing[given[number]],
            -len(one.solution.diff(base)),
        )

    ranked = sorted(range(len(repairs)), key=rank_key, reverse=True)
    chosen = ranked[0]
    behaviours: dict[Answers, int] = {}
    for number in ranked:
        if number in results:
            behaviours.setdefault(results[number], number)
    votes = sum(
        given[one] == given.get(chosen) and _passes(repairs[one]) for one in given
    ) if _passes(repairs[chosen]) else 1
    if chosen not in results or len(behaviours) < 2:
        return Winner(repairs[chosen], votes=votes)
    return Winner(repairs[chosen], Alternatives(calls=calls, behaviours=tuple(
        Alternative(solution=one, note=one.note, confirmed=True, answers=given_)
        for given_, number in behaviours.items()
        if (one := repairs[number].solution) is not None
    )), votes)


def _passes(one: ModelRepair) -> bool:
    return one.report is not None and one.report.passed


def _test_results(report: Report | None) -> tuple[tuple[str, str], ...]:
    """The calls of the tests and their results, as far as the report states them."""
    if report is None:
        return ()
    return tuple(sorted((one.call, one.got) for one in report.verdicts if one.call and one.got))
