"""Pre-checks candidates in the order of their cost, retries slow ones, and combines edits.

A limit of steps ends endless candidates at the same place each time. It is low, since most
candidates that exceed it are endless; those that may only be slow are retried with a higher one.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, islice

from agent.core.common_ends import common_start
from agent.search.edits import Edit
from agent.search.localisation import localise_faults
from agent.search.program import Program, Splice, spliced
from agent.search.state import PartialFix, SearchState, SlowCandidate, Steps, ask_trace, record
from agent.search.values import (
    REPEATED,
    SYNTAX,
    Candidate,
    Mode,
    PrecheckRequest,
    SearchReply,
    SearchRequest,
)

FIRST_CHUNK = 40
COST_MARGIN = 2.5
"""How much more a candidate may cost than the first plausible one, to find competing patches."""
PROMISING = ((40, 20.0), (12, 4_000.0))
"""Retries of candidates that passed a failing test and then exceeded their steps, as (number
of candidates, factor of the steps)."""
UNPROMISING = ((8, 20.0),)
"""The same for the cheapest candidates that passed no test."""
CHUNKS_BETWEEN_RETRIES = 5
"""Chunks of candidates between two such retries."""
MAX_SLOW, SLOW_FACTOR = 240, 20.0
"""The same for all other slow candidates."""
MAX_SLOWEST, SLOWEST_FACTOR = 12, 4_000.0
"""The same, if the base does not show how long a correct run takes."""
FIRST_RETRY_FACTORS, RETRY_FACTOR_EACH = 4_000.0, 1.0
"""The limit for the sum of the factors of all retries: at first, and added per tried candidate."""
BEAM = ((12, 1_500), (8, 800), (6, 500))
"""Levels of the beam: how many partial fixes are extended, each with how many edits."""
COST_PER_RANK, COST_PER_SCORE = 0.25, 0.8
"""Added to the cost of an extended partial fix for its rank, and subtracted for its score."""
CHEAP_COST, MAX_CHEAP = 4.5, 140
REPEATED_COST, MAX_REPEATED, MAX_REPETITIONS = 1.0, 6, 200
"""Added to the cost of an edit that is made at several places; how many they may be; and how many
such candidates are tried."""
_TOKEN = re.compile(r"\w+|\s+|[^\w\s]+")
_NAME = re.compile(r"[^\W\d][\w.]*")
PAIR_COST = 2.0
"""Added to the cost of a pair of edits, neither of which is known to help."""


@dataclass(frozen=True, slots=True)
class PlannedCandidate:
    """A candidate as splices: all texts of a long program's candidates would fill the memory."""

    data: bytes
    splices: tuple[Splice, ...]
    cost: float
    operators: tuple[str, ...]
    edit: Edit


def precheck(state: SearchState, candidates: Iterable[PlannedCandidate], limit: int) -> Steps:
    """Pre-checks candidates in order, until `limit` or some way beyond the first plausible one."""
    pending = iter(candidates)
    size = FIRST_CHUNK
    stop_cost = _stop_cost(state)
    stop_at = limit if stop_cost is None else state.tried + state.budget.further_candidates
    chunks = 0
    while state.tried < min(limit, stop_at):
        chunk = _chunk(state, pending, min(size, min(limit, stop_at) - state.tried), stop_cost)
        if not chunk:
            return
        chunks += 1
        if chunks % CHUNKS_BETWEEN_RETRIES == 0 and stop_cost is None:
            yield from retry_promising(state)
        mode: Mode = "fit" if stop_cost is None else "early"
        texts = tuple(one.text for one, _ in chunk)
        answers = yield PrecheckRequest(
            texts, mode, state.progress(), limit_factor=state.limit_factor,
            prepare=partial(state.prepare, state.budget.chunk_size),
        )
        assert isinstance(answers, tuple)
        for (candidate, edit), answer in zip(chunk, answers, strict=True):
            state.tried += answer is not None
            if answer is not None:
                record(state, candidate, edit, answer)
        if stop_cost is None and (stop_cost := _stop_cost(state)) is not None:
            stop_at = state.tried + state.budget.further_candidates
        size = state.budget.chunk_size


def _stop_cost(state: SearchState) -> float | None:
    """The highest cost of further candidates; `None` before the first plausible one."""
    costs = [one.cost for one in state.unoffered]
    return min(costs) + COST_MARGIN if costs else None


def retry_promising(state: SearchState) -> Steps:
    """Retries slow candidates that passed a failing test, and a few others, since a test with
    many cases passes only if all of them pass."""
    yield from retry(state, PROMISING, least=1)
    if not state.unoffered:
        yield from retry(state, UNPROMISING, most=UNPROMISING[0][0])


def retry(
    state: SearchState, attempts: Iterable[tuple[int, float]],
    *, least: int = 0, most: int | None = None, is_last: bool = False,
) -> Steps:
    """Retries slow candidates with more steps, those first that passed the most tests.

    Failing tests are run first, so a candidate that passed a test is a repair, or a part of one,
    that may only be slow.

    Args:
        attempts: For each pass how many candidates are retried, and the factor of their steps.
        least: The number of tests that a candidate must have passed.
        most: The number of candidates that are considered.
        is_last: Whether their number is unlimited. Otherwise it is proportional to the number of
            candidates tried, since most slow ones are endless.
    """
    slow = sorted((one for one in state.slow if one.candidate.passed >= least), key=_promise)
    slow, left = slow[:most], slow[len(slow[:most]) :]
    state.slow = [one for one in state.slow if one.candidate.passed < least] + left
    for count, factor in attempts:
        slow.sort(key=_promise)
        chosen = [one for one in slow if one.limit_factor < factor][:count]
        slow = [one for one in slow if one.limit_factor >= factor]
        affordable = len(chosen) if is_last else _affordable(state, factor)
        state.slow += chosen[affordable:]
        chosen = chosen[:affordable]
        for first in range(0, len(chosen), FIRST_CHUNK):
            chunk = chosen[first : first + FIRST_CHUNK]
            texts = tuple(one.candidate.text for one in chunk)
            answers = yield PrecheckRequest(texts, "fit", state.progress(), limit_factor=factor)
            assert isinstance(answers, tuple)
            for (candidate, edit, _), answer in zip(chunk, answers, strict=True):
                if answer is None:
                    continue
                state.tried += 1
                state.retry_factors += factor
                if answer.score > candidate.passed > 0:
                    # Correct runs of this program need more steps: later candidates get them too.
                    state.limit_factor = max(state.limit_factor, min(factor, SLOW_FACTOR))
                if answer.outcome == "timeout":
                    slow.append(
                        SlowCandidate(replace(candidate, passed=answer.score), edit, factor)
                    )
                else:
                    record(state, candidate, edit, answer)
            if state.unoffered:
                return


def _promise(one: SlowCandidate) -> tuple[int, float]:
    return -one.candidate.passed, one.candidate.cost


def _affordable(state: SearchState, factor: float) -> int:
    """The number of candidates that may be retried with this factor now."""
    return max(0, int(
        (FIRST_RETRY_FACTORS + RETRY_FACTOR_EACH * state.tried - state.retry_factors) // factor
    ))


def _chunk(
    state: SearchState, pending: Iterator[PlannedCandidate], size: int, stop_cost: float | None
) -> list[tuple[Candidate, Edit]]:
    """The next candidates whose texts were not tried before."""
    chunk: list[tuple[Candidate, Edit]] = []
    for planned in pending:
        if stop_cost is not None and planned.cost > stop_cost:
            break
        text = spliced(planned.data, planned.splices)
        if hash(text) not in state.tried_hashes:
            state.tried_hashes.add(hash(text))
            candidate = Candidate(text, planned.cost, planned.operators)
            chunk.append((candidate, planned.edit))
            if len(chunk) >= size:
                break
    return chunk


def seeds_of(state: SearchState, most: int) -> list[PartialFix]:
    """The best partial fixes that were not extended yet, with different behaviours."""
    seeds: list[PartialFix] = []
    counts: Counter[tuple[int, str]] = Counter()
    behaviours: set[str] = set()
    order = sorted(
        state.partials, key=lambda one: (-one.score, one.candidate.cost, one.candidate.text)
    )
    for one in order:
        if one.operator == SYNTAX or one.candidate.text in state.extended:
            continue
        counts[one.line, one.operator] += 1
        is_known = one.behaviour and one.behaviour in behaviours
        if counts[one.line, one.operator] <= 2 and not is_known:
            behaviours.add(one.behaviour)
            seeds.append(one)
        if len(seeds) == most:
            break
    return seeds


def extensions(
    state: SearchState, seed: PartialFix, rank: int, most: int
) -> Generator[SearchRequest, SearchReply, list[PlannedCandidate]]:
    """A partial fix with each of its first `most` further edits."""
    trace = yield from ask_trace(state, seed.candidate.text)
    try:
        known = localise_faults(state, seed.candidate.text, trace)
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = []
    for edit in islice(known.edits(state), most):
        cost = seed.candidate.cost + edit.cost + COST_PER_RANK * rank - COST_PER_SCORE * seed.score
        operators = (*seed.candidate.operators, edit.operator)
        found.append(PlannedCandidate(known.program.data, (edit.splice,), cost, operators, edit))
    return found


def edited(program: Program, base: Candidate, edit: Edit) -> PlannedCandidate:
    """The base with a single edit."""
    return PlannedCandidate(
        program.data, (edit.splice,), base.cost + edit.cost, (edit.operator,), edit
    )


def cheap_pairs(program: Program, base: Candidate, edits: Iterable[Edit]) -> list[PlannedCandidate]:
    """The base with two cheap edits that do not overlap."""
    cheap = [edit for edit in edits if edit.cost < CHEAP_COST][:MAX_CHEAP]
    found = []
    for first, second in combinations(cheap, 2):
        a, b = first.splice, second.splice
        if a.end <= b.start or b.end <= a.start:
            cost = base.cost + first.cost + second.cost + PAIR_COST
            operators = (first.operator, second.operator)
            found.append(PlannedCandidate(program.data, (a, b), cost, operators, second))
    return found


def repeated(program: Program, base: Candidate, edits: Iterable[Edit]) -> list[PlannedCandidate]:
    """The base with the same cheap edit at all places of a function, or of the module."""
    groups: dict[tuple[object, ...], list[Edit]] = {}
    tokens = {
        program.start(node) + offset: text for node in program.nodes
        if isinstance(node, ast.Constant | ast.Attribute) for offset, text in _token(program, node)
    }
    functions = sorted(
        (program.start(one), program.end(one)) for one in program.defined if one.body
    )
    for edit in edits:
        if edit.cost < CHEAP_COST and edit.splice.end > edit.splice.start:
            edit = replace(edit, splice=_trimmed(program, edit.splice))  # noqa: PLW2901
            splice = edit.splice
            old = program.between(splice.start, splice.end)
            around = [one for one in functions if one[0] <= splice.start < one[1]]
            key: tuple[object, ...] = (edit.operator, *_shape(old, splice.text))
            groups.setdefault((*key, around[-1] if around else None), []).append(edit)
            groups.setdefault((*key, "module"), []).append(edit)
            if tokens.get(splice.start) == old:  # also where no operator offers the replacement
                places = [at for at, text in tokens.items() if text == old]
                groups.setdefault((*key, "tokens"), [
                    replace(edit, splice=replace(splice, start=at, end=at + len(old.encode())))
                    for at in places
                ])
    found: dict[tuple[Splice, ...], PlannedCandidate] = {}
    for key, some in groups.items():
        separate: list[Edit] = []
        for edit in sorted(some, key=lambda one: one.splice.start):
            if not separate or separate[-1].splice.end <= edit.splice.start:
                separate.append(edit)
        if 1 < len(separate) <= MAX_REPEATED:
            first = min(separate, key=lambda one: one.cost)
            cost = base.cost + first.cost + REPEATED_COST
            cost += {"module": 0.6, "tokens": 0.3}.get(str(key[-1]), 0.5)
            splices = tuple(one.splice for one in separate)
            found.setdefault(splices, PlannedCandidate(
                program.data, splices, cost, (REPEATED, first.operator), first
            ))
    return sorted(found.values(), key=lambda one: one.cost)[:MAX_REPETITIONS]


def _token(program: Program, node: ast.expr) -> Iterator[tuple[int, str]]:
    """The text of a string, or the name of an attribute, with its place in the node."""
    match node:
        case ast.Constant(value=str() as text):
            if program.code(node) in (f"'{text}'", f'"{text}"'):
                yield 1, text
        case ast.Attribute(attr=name):
            yield len(program.code(node).encode()) - len(name.encode()), name


def _trimmed(program: Program, splice: Splice) -> Splice:
    """A replacement without the tokens that both sides begin and end with; nested calls overlap
    otherwise."""
    old = _TOKEN.findall(program.between(splice.start, splice.end))
    new = _TOKEN.findall(splice.text)
    first = common_start(old, new)
    last = common_start(old[first:][::-1], new[first:][::-1])
    if first + last == len(old):
        return splice
    before, after = "".join(old[:first]), "".join(old[len(old) - last:])
    return replace(
        splice, start=splice.start + len(before.encode()), end=splice.end - len(after.encode()),
        text="".join(new[first:len(new) - last]),
    )


def _shape(old: str, new: str) -> tuple[str, str]:
    """A replacement with numbers for the names that both sides have."""
    kept = [one for one in dict.fromkeys(_NAME.findall(old)) if one in _NAME.findall(new)]
    numbers = {name: f"\0{place}" for place, name in enumerate(kept)}
    old, new = (_NAME.sub(lambda one: numbers.get(one[0], one[0]), text) for text in (old, new))
    return old, new
