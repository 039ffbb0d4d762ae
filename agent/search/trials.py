"""Screening candidates in the order of their cost, and what did not end once more; growing partial
fixes by one more edit, and pairing cheap edits.

A budget of steps ends endless candidates at the same place each time. It is short, since most
that exceed it are endless; those that may only be slow are tried again with more.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice

from agent.search.edits import Edit
from agent.search.localisation import localized
from agent.search.program import Program, Splice, spliced
from agent.search.state import Partial, SearchState, Slow, Steps, examined, note
from agent.search.values import SYNTAX, Answer, Candidate, Mode, Question, Screen

FIRST_CHUNK = 40
BEYOND = 2.5
"""After the first plausible candidate, how much dearer ones are still tried: for the ranking, and
to know of other behaviours that would pass too."""
PROMISING = ((40, 20.0), (12, 4_000.0))
"""How many candidates that passed a failing test and then did not end are tried again, with how
many times the steps."""
CHANCE = ((8, 20.0),)
"""The same of the cheapest that passed none."""
BETWEEN = 5
"""Chunks of candidates between two such trials."""
SLOW, PATIENCE = 240, 20.0
"""The same of others that did not end."""
SLOWEST, LONG_PATIENCE = 12, 4_000.0
"""The same, if the base shows nothing of how long a healthy run takes."""
FIRST_WAITS, WAITS = 4_000.0, 1.0
"""How many times the usual steps all that is tried again may be given, at first and for each
candidate tried."""
BEAM = ((12, 1_500), (8, 800), (6, 500))
"""How many partial fixes are grown by a further edit in each round, each by how many edits."""
PER_PLACE, PER_SCORE = 0.25, 0.8
"""What a partial fix's place among the others adds to the cost of its edits, and what its score
takes off."""
CHEAP, CHEAP_COUNT = 4.5, 140
PAIR = 2.0
"""What it adds to a pair's cost that neither edit was seen to help."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A candidate that is not written out yet: all those of a long program together would fill
    the memory."""

    data: bytes
    splices: tuple[Splice, ...]
    cost: float
    operators: tuple[str, ...]
    edit: Edit


def screened(state: SearchState, candidates: Iterable[Planned], limit: int) -> Steps:
    """Screens candidates in order, a little beyond the first that pass every test."""
    pending = iter(candidates)
    size = FIRST_CHUNK
    stop_cost = _beyond(state)
    stop_at = limit if stop_cost is None else state.tried + state.budget.beyond
    chunks = 0
    while state.tried < min(limit, stop_at):
        chunk = _chunk(state, pending, min(size, min(limit, stop_at) - state.tried), stop_cost)
        if not chunk:
            return
        chunks += 1
        if chunks % BETWEEN == 0 and stop_cost is None:
            yield from again_promising(state)
        mode: Mode = "fit" if stop_cost is None else "early"
        texts = tuple(one.text for one, _ in chunk)
        answers = yield Screen(texts, mode, state.progress(), patience=state.patience)
        assert isinstance(answers, tuple)
        for (candidate, edit), answer in zip(chunk, answers, strict=True):
            state.tried += answer is not None
            if answer is not None:
                note(state, candidate, edit, answer)
        if stop_cost is None and (stop_cost := _beyond(state)) is not None:
            stop_at = state.tried + state.budget.beyond
        size = state.budget.chunk


def _beyond(state: SearchState) -> float | None:
    """The cost up to which candidates are tried once some are plausible."""
    costs = [one.cost for one in state.fresh]
    return min(costs) + BEYOND if costs else None


def again_promising(state: SearchState) -> Steps:
    """Gives more steps to what passed a failing test before it did not end, and to a few more:
    a test that goes through many cases passes all at once or not at all."""
    yield from again(state, PROMISING, least=1)
    if not state.fresh:
        yield from again(state, CHANCE, most=CHANCE[0][0])


def again(
    state: SearchState, rounds: Iterable[tuple[int, float]],
    *, least: int = 0, most: int | None = None, is_last: bool = False,
) -> Steps:
    """Gives candidates that did not end more steps, if they passed `least` tests before, and no
    more than `most` of them; the others stay for another time.

    Those come first that passed most. Failing tests are run first, so one that passed any
    of its tests is a repair, or a part of one, that may only be slow. Endless ones must not set
    the pace: unless it `is_last`, so many are tried as keeps step with the fresh candidates.
    """
    slow = sorted((one for one in state.slow if one.candidate.passed >= least), key=_promise)
    slow, left = slow[:most], slow[len(slow[:most]) :]
    state.slow = [one for one in state.slow if one.candidate.passed < least] + left
    for count, patience in rounds:
        slow.sort(key=_promise)
        had = [one for one in slow if one.patience >= patience]
        asked = [one for one in slow if one.patience < patience][:count]
        afforded = len(asked) if is_last else _afforded(state, patience)
        state.slow += asked[afforded:]
        asked = asked[:afforded]
        slow = had
        for first in range(0, len(asked), FIRST_CHUNK):
            chunk = asked[first : first + FIRST_CHUNK]
            texts = tuple(one.candidate.text for one in chunk)
            answers = yield Screen(texts, "fit", state.progress(), patience=patience)
            assert isinstance(answers, tuple)
            for (candidate, edit, _), answer in zip(chunk, answers, strict=True):
                if answer is None:
                    continue
                state.tried += 1
                state.waited += patience
                if answer.score > candidate.passed > 0:
                    # What comes further with more steps needs them, and so may all that follow.
                    state.patience = max(state.patience, min(patience, PATIENCE))
                if answer.ended == "timeout":
                    slow.append(Slow(replace(candidate, passed=answer.score), edit, patience))
                else:
                    note(state, candidate, edit, answer)
            if state.fresh:
                return


def _promise(one: Slow) -> tuple[int, float]:
    return -one.candidate.passed, one.candidate.cost


def _afforded(state: SearchState, patience: float) -> int:
    """How many candidates may be given so much patience now."""
    return max(0, int((FIRST_WAITS + WAITS * state.tried - state.waited) // patience))


def _chunk(
    state: SearchState,
    pending: Iterator[Planned],
    size: int,
    stop_cost: float | None,
) -> list[tuple[Candidate, Edit]]:
    chunk: list[tuple[Candidate, Edit]] = []
    for planned in pending:
        if stop_cost is not None and planned.cost > stop_cost:
            break
        text = spliced(planned.data, planned.splices)
        if hash(text) not in state.seen:
            state.seen.add(hash(text))
            candidate = Candidate(text, planned.cost, planned.operators)
            chunk.append((candidate, planned.edit))
            if len(chunk) >= size:
                break
    return chunk


def seeds_of(state: SearchState, most: int) -> list[Partial]:
    """The best partial fixes that were not grown yet, each of another behaviour."""
    seeds: list[Partial] = []
    counts: dict[tuple[int, str], int] = {}
    behaviours: set[str] = set()
    order = sorted(
        state.partials,
        key=lambda one: (-one.score, one.candidate.cost, one.candidate.text),
    )
    for one in order:
        if one.operator == SYNTAX or one.candidate.text in state.grown:
            continue
        key = (one.line, one.operator)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= 2 and not (one.did and one.did in behaviours):
            behaviours.add(one.did)
            seeds.append(one)
        if len(seeds) == most:
            break
    return seeds


def grown(
    state: SearchState, seed: Partial, place: int, most: int
) -> Generator[Question, Answer, list[Planned]]:
    """A partial fix, each with one more edit."""
    trace = yield from examined(state, seed.candidate.text)
    try:
        known = localized(state, seed.candidate.text, trace)
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = []
    for edit in islice(known.edits(state), most):
        cost = seed.candidate.cost + edit.cost + PER_PLACE * place - PER_SCORE * seed.score
        operators = (*seed.candidate.operators, edit.operator)
        found.append(Planned(known.program.data, (edit.splice,), cost, operators, edit))
    return found


def edited(program: Program, base: Candidate, edit: Edit) -> Planned:
    return Planned(program.data, (edit.splice,), base.cost + edit.cost, (edit.operator,), edit)


def cheap_pairs(
    program: Program, base: Candidate, edits: Iterable[Edit]
) -> list[Planned]:
    """Two cheap edits at places that do not overlap."""
    cheap = [edit for edit in edits if edit.cost < CHEAP][:CHEAP_COUNT]
    found = []
    for place, first in enumerate(cheap):
        for second in cheap[place + 1 :]:
            a, b = first.splice, second.splice
            if a.end <= b.start or b.end <= a.start:
                cost = base.cost + first.cost + second.cost + PAIR
                operators = (first.operator, second.operator)
                found.append(Planned(program.data, (a, b), cost, operators, second))
    return found
