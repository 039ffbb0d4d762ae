"""Which of several candidates of a round is taken.

Those that pass come before those that do not, then the one that passes more, then the one whose
answers most others give too: independent programs that agree are rarely wrong alike. Of those that
are left the smallest change is taken. Several that pass are put to further calls; where they answer
otherwise, the call that tells them apart is the question for a person.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.domain import Alternative, Alternatives, Report, Solution, TestCase
from agent.core.state import Try
from agent.iteration.context import Context
from agent.search.program import Program
from agent.search.variants.inputs import probes
from agent.verify.examples import plain_values
from agent.verify.examples.probing import ProbeAnswer, answers

MAX_CALLS, MAX_CALLS_S = 24, 10.0
"""Calls beyond the tests' that programs which all pass are put to, and seconds for all of them."""

Answers = tuple[str, ...]


@dataclass(frozen=True)
class Winner:
    """The candidate that is taken, and those that pass too and answer otherwise."""

    chosen: Try
    others: Alternatives | None = None
    votes: int = 1
    """How many candidates that pass answer as it does, itself among them."""


async def held(
    ctx: Context, tries: Sequence[Try], base: Solution, tests: Sequence[TestCase],
    further: Sequence[str] = (),
) -> Winner:
    """The best of a round; there is one at least. `further` are texts of tests after which calls
    are made too."""
    passing = [one for one in tries if _passes(one)]
    if len(passing) < 2 or ctx.task.project is not None or len(base.files) > 1:
        return winner(tries, base, (), {})
    calls = _calls(passing[0], [*(test.code for test in tests), *further])
    answers_of = {}
    until = time.monotonic() + min(MAX_CALLS_S, ctx.seconds_left / 4)
    for number, one in enumerate(tries):
        if _passes(one) and one.solution is not None:
            given = await answers(
                one.solution, calls, ctx.task, ctx.sandbox, wall_s=ctx.test_s, until=until
            )
            answers_of[number] = tuple(map(_in_words, given))
    return winner(tries, base, calls, answers_of)


def _calls(one: Try, tests: Sequence[str]) -> tuple[str, ...]:
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
    tries: Sequence[Try], base: Solution, calls: tuple[str, ...], answers_of: dict[int, Answers]
) -> Winner:
    """The best by reports, and by what passing ones answered to `calls`, by their place; pure."""
    given = {
        number: (_of_tests(one.report), answers_of.get(number, ()))
        for number, one in enumerate(tries) if one.solution is not None
    }
    agreeing = Counter(given.values())

    def worth(number: int) -> tuple[bool, tuple[int, int], int, int]:
        one = tries[number]
        if one.solution is None or one.report is None:
            return (False, (-1, -1), 0, 0)
        return (
            one.report.passed, one.report.score, agreeing[given[number]],
            -len(one.solution.diff(base)),
        )

    ranked = sorted(range(len(tries)), key=worth, reverse=True)
    chosen = ranked[0]
    behaviours: dict[Answers, int] = {}
    for number in ranked:
        if number in answers_of:
            behaviours.setdefault(answers_of[number], number)
    votes = sum(
        given[one] == given.get(chosen) and _passes(tries[one]) for one in given
    ) if _passes(tries[chosen]) else 1
    if chosen not in answers_of or len(behaviours) < 2:
        return Winner(tries[chosen], votes=votes)
    return Winner(tries[chosen], Alternatives(calls=calls, behaviours=tuple(
        Alternative(solution=one, note=one.note, confirmed=True, answers=given_)
        for given_, number in behaviours.items()
        if (one := tries[number].solution) is not None
    )), votes)


def _passes(one: Try) -> bool:
    return one.report is not None and one.report.passed


def _of_tests(report: Report | None) -> tuple[tuple[str, str], ...]:
    """What a program gave for each call of the tests that tells it."""
    if report is None:
        return ()
    return tuple(sorted((one.call, one.got) for one in report.verdicts if one.call and one.got))
