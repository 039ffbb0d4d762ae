"""The search for a repair, without a model and without running anything.

A generator: it yields questions, is sent their answers, and returns its findings.

    text does not compile    syntax edits until it does, then go on with the best of them
    examine the base         suspicion of each line, the crash, the types of the variables
    missing names            each as the exception names it
    cheap single edits       cheapest first, until some pass every test
    all stages again         on the text in which no name is missing, where one was
    a beam                   edits after which a failing test passes, or fails nearer to passing,
                             each with a second edit; by cost among them the dearer single edits
                             and pairs of two cheap ones; then the best of those with a third
    the rest                 single edits in functions that no failing test entered; before the
                             beam where a test was cut off and may have got further

Whenever a stage finds something it is offered; if nothing of it is accepted the search
goes on. Within its budget the result depends on the input alone.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Generator
from dataclasses import replace
from itertools import islice, takewhile

from agent.core.trees import is_legible, parse
from agent.search.confidence.features import Situation
from agent.search.confidence.model import estimated
from agent.search.localisation import WRONG_ANSWERS, Drawn, localized
from agent.search.missing import repaired_names
from agent.search.program import Function, Program
from agent.search.ranking.rank import ranked
from agent.search.state import KEPT, Partial, SearchState, Steps, examined, measured
from agent.search.syntax import compiles, repaired
from agent.search.trials import (
    BEAM,
    LONG_PATIENCE,
    PATIENCE,
    SLOW,
    SLOWEST,
    again,
    again_promising,
    cheap_pairs,
    edited,
    grown,
    screened,
    seeds_of,
)
from agent.search.values import (
    SYNTAX,
    Answer,
    Budget,
    Candidate,
    Facts,
    Findings,
    Offer,
    Probe,
    Probed,
    Question,
    Screen,
    Trace,
)
from agent.search.variants.inputs import probes
from agent.search.variants.recombining import observing_calls, recombined_calls

SPLIT = 4.0
"""Single edits up to this cost come before the beam, dearer ones among it."""
PROBE_STEPS, LEAST_PROBES = 100_000, 12
"""Steps that all calls of one candidate beyond the tests may take, and calls made all the same."""
SYNTAX_BASES = 3


def search(source: str, facts: Facts, budget: Budget) -> Generator[Question, Answer, Findings]:
    """Searches for texts that pass every test; see the module for the questions it asks."""
    state = SearchState(source, facts, budget)
    bases = [Candidate(source, 0.0, ())]
    if not compiles(source):
        bases = yield from _mend(state)
        if state.accepted or not bases:
            return state.findings()
    for base in bases:
        yield from _repair(state, base)
        if state.accepted or state.spent:
            break
    return state.findings()


def _onwards(state: SearchState, base: Candidate) -> Steps:
    """All stages on a text that lies between the base under repair and its repair."""
    before = state.failing, state.passing, state.base
    yield from _repair(state, base, is_between=True)
    state.failing, state.passing, state.base = before


def _repair(state: SearchState, base: Candidate, is_between: bool = False) -> Steps:
    """All stages on one base text."""
    trace = yield from examined(state, base.text)
    if trace.tests and not trace.failing:
        return  # nothing fails here, so nothing could be seen to get better
    try:
        known = localized(state, base.text, trace)
    except (SyntaxError, ValueError, RecursionError):
        return
    state.failing = frozenset(trace.failing or {0})
    state.passing = frozenset(range(len(trace.tests))) - state.failing
    if base.text == state.source:
        state.base_passed, state.total = len(state.passing), max(1, len(trace.tests))
        state.reached = _reached(known.program, trace)
    program = known.program
    if not state.facts.tests and _is_deliberate(program, trace):
        return
    between = None if is_between else (yield from repaired_names(state, base, trace))
    yield from offered(state)
    if state.accepted:
        return
    edits = known.edits(state)
    yield from measured(state, base)
    cheap = takewhile(lambda edit: edit.cost <= SPLIT, edits)
    rest = (
        edited(program, base, edit)
        for function in known.closed
        for edit in known.edits(state, within=function)
    )
    yield from screened(
        state, (edited(program, base, edit) for edit in cheap), state.budget.candidates
    )
    yield from again_promising(state)
    # The last one drawn may not have been tried.
    dearer = islice(edits, max(0, edits.count - 1), None)
    singles = Drawn(edited(program, base, edit) for edit in dearer)
    if state.fresh:
        yield from screened(state, singles, state.budget.candidates)
    yield from offered(state)
    if state.accepted or state.spent:
        return
    ends = [test.exception for place, test in enumerate(trace.tests) if place in state.failing]
    untold = 2 * sum(exception not in WRONG_ANSWERS for exception in ends) > len(state.failing)
    if untold:
        # The base tells nothing of how long a healthy run takes: long runs may be right.
        yield from again(state, ((SLOW, PATIENCE),))
        yield from offered(state)
        if state.accepted or state.spent:
            return
    if "TimeoutError" in ends:
        yield from screened(state, rest, state.budget.candidates)
        yield from offered(state)
        if state.accepted or state.spent:
            return
    if between is not None:
        yield from _onwards(state, between)
        if state.accepted or state.spent:
            return
    further = [*singles, *cheap_pairs(program, base, edits)]
    for most, each in BEAM:
        seeds = seeds_of(state, most)
        state.grown.update(seed.candidate.text for seed in seeds)
        for place, seed in enumerate(seeds):
            further += yield from grown(state, seed, place, each)
        further.sort(key=lambda planned: planned.cost)
        limit = min(state.budget.candidates, state.tried + state.budget.pairs)
        yield from screened(state, further, limit)
        yield from again_promising(state)
        yield from offered(state)
        if state.accepted or state.spent:
            return
        further = []
    yield from screened(state, rest, state.budget.candidates)
    yield from offered(state)
    if not state.accepted and not state.spent:
        rounds = ((SLOW, PATIENCE), *([(SLOWEST, LONG_PATIENCE)] if untold else []))
        yield from again(state, rounds, is_last=True)
        yield from offered(state)


def _reached(program: Program, trace: Trace) -> frozenset[int]:
    """Lines that ran to their end: one that raised did so only if it is in a loop."""
    looped = {
        line for node in program.nodes if isinstance(node, ast.For | ast.While)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    return frozenset(
        line for test in trace.tests for line in test.covered
        if line != test.line or line in looped
    )


def _is_deliberate(program: Program, trace: Trace) -> bool:
    """Whether a program without tests ends by a `raise` or an `assert` of its own."""
    lines = {test.line for test in trace.tests if not test.passed}
    return any(
        node.lineno <= line <= (node.end_lineno or node.lineno)
        for node in ast.walk(program.tree)
        if isinstance(node, ast.Raise | ast.Assert)
        for line in lines
        if line is not None
    )


def _mend(state: SearchState) -> Generator[Question, Answer, list[Candidate]]:
    """Texts that compile; those that pass everything are offered, the best go on as bases."""
    texts = repaired(state.source, state.budget.syntax)
    found = [Candidate(text, cost, (SYNTAX,)) for cost, text in texts if is_legible(text)]
    answers = yield Screen(tuple(one.text for one in found), "full", state.progress())
    scored: list[tuple[int, Candidate]] = []
    assert isinstance(answers, tuple)
    for candidate, answer in zip(found, answers, strict=True):
        state.seen.add(hash(candidate.text))
        if answer is None:
            continue
        state.tried += 1
        state.total = max(state.total, len(answer.passed))
        checked = Candidate(
            candidate.text, candidate.cost, (SYNTAX,), "", answer.score, answer.types
        )
        if answer.ended == "ok":
            state.plausible[checked.text] = checked
        else:
            state.partials.append(Partial(checked, answer.score, answer.did, 0, SYNTAX))
            scored.append((answer.score, checked))
    yield from offered(state)
    scored.sort(key=lambda one: (-one[0], one[1].cost))
    return [candidate for _, candidate in scored[:SYNTAX_BASES]]


def offered(state: SearchState) -> Steps:
    """Shows what is plausible and was not shown before, once it is known how it behaves."""
    kept = ranked(state.fresh)[:KEPT]
    if not kept:
        return
    calls = _calls(state, kept[0].text)
    if calls:
        # Calls that the likeliest candidate does not end would hold up all others.
        answer = yield Probe((kept[0].text,), calls, state.progress())
        assert isinstance(answer, Probed)
        calls = quick_calls(calls, answer)
    if calls:
        texts = (state.source, *(one.text for one in kept))
        answer = yield Probe(texts, calls, state.progress())
        assert isinstance(answer, Probed)
        base, *rows = answer.rows
        kept = tuple(
            replace(one, answers=row or ()) for one, row in zip(kept, rows, strict=True)
        )
        state.calls, state.base_answers = calls, base or ()
    kept = estimated(kept, _situation(state))
    state.plausible.update({one.text: one for one in kept})
    accepted = yield Offer(state.findings(kept))
    state.offered.update(one.text for one in kept)
    state.accepted = accepted is True


def _situation(state: SearchState) -> Situation:
    return Situation(state.source, state.facts.tests, state.base_answers)


def _calls(state: SearchState, text: str) -> tuple[str, ...]:
    """Calls beyond the tests'; where these only use objects, what may be done with them."""
    names, tests = _names(state.source), state.facts.tests
    plain = probes(names, tests)
    if not plain:
        plain = (*probes(names, tests, counting=True), *recombined_calls(text, names, tests))
    return tuple(dict.fromkeys((*plain, *observing_calls(text, names, tests))))


def quick_calls(calls: tuple[str, ...], pilot: Probed) -> tuple[str, ...]:
    """The calls that one candidate ended, the quickest as far as all together stay bounded."""
    row = pilot.rows[0]
    if row is None:
        return ()
    ended = [place for place, answer in enumerate(row) if answer not in ("", "~")]
    kept: set[int] = set()
    spent = 0
    for place in sorted(ended, key=lambda one: (pilot.steps[0][one], one)):
        spent += pilot.steps[0][place]
        if spent <= PROBE_STEPS or len(kept) < LEAST_PROBES:
            kept.add(place)
    return tuple(call for place, call in enumerate(calls) if place in kept)


def _names(source: str) -> frozenset[str]:
    """The functions and classes that tests of a program can call."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(re.findall(r"^(?:def|class|async def)\s+(\w+)", source, re.MULTILINE))
    return frozenset(
        node.name for node in tree.body if isinstance(node, Function | ast.ClassDef)
    )
