"""The search for a repair, without a model and without running anything.

A generator: it yields questions, is sent their answers, and returns its findings.

    syntax                   syntax edits until the text compiles; the best results are the bases
    trace the base           suspicion of each line, the crash, the types of the variables
    missing names            one after another, as the exceptions report them
    cheap single edits       cheapest first, until some pass every test; then the cheapest of them
                             at several places at once
    all stages again         on the text with all missing names repaired, if there is one
    a beam                   partial fixes with a second edit, by cost among the other single edits
                             and pairs of two cheap ones; then the best of those with a third
    the rest                 single edits in functions that no failing test entered, and statements
                             that none executed; before the beam if a test timed out, which may
                             have executed them later

Each stage submits its candidates to the judge; if none is accepted, the search continues. Within
its budget the result depends only on its input.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Generator
from dataclasses import replace
from itertools import islice, takewhile

from agent.core.trees import is_parsable, parse
from agent.search.confidence.features import Situation
from agent.search.confidence.model import with_estimates
from agent.search.localisation import WRONG_ANSWERS, CachedIterable, localise_faults
from agent.search.missing import repair_missing_names
from agent.search.program import Function, Program
from agent.search.ranking.rank import ranked
from agent.search.state import MAX_PLAUSIBLE, PartialFix, SearchState, Steps, ask_trace, check_base
from agent.search.syntax import compiles, repaired
from agent.search.trials import (
    BEAM,
    MAX_SLOW,
    MAX_SLOWEST,
    SLOW_FACTOR,
    SLOWEST_FACTOR,
    cheap_pairs,
    edited,
    extensions,
    precheck,
    repeated,
    retry,
    retry_promising,
    seeds_of,
)
from agent.search.values import (
    SYNTAX,
    Budget,
    Candidate,
    Facts,
    Findings,
    JudgeRequest,
    PrecheckRequest,
    ProbeRequest,
    ProbeResult,
    SearchReply,
    SearchRequest,
    Trace,
)
from agent.search.variants.inputs import probes
from agent.search.variants.recombining import observing_calls, recombined_calls

CHEAPEST = 160
"""The number of single edits after which the cheapest are tried at several places."""
MAX_SINGLE_COST = 4.0
"""Single edits up to this cost are tried before the beam, all others in it."""
PROBE_STEPS, LEAST_PROBES = 100_000, 12
"""The step limit of all probing calls of one candidate, and how many are made regardless of it."""
SYNTAX_BASES = 3


def search(
    source: str, facts: Facts, budget: Budget
) -> Generator[SearchRequest, SearchReply, Findings]:
    """Searches for texts that pass every test; the module's docstring lists the stages."""
    state = SearchState(source, facts, budget)
    bases = [Candidate(source, 0.0, ())]
    if not compiles(source):
        bases = yield from _repair_syntax(state)
        if state.accepted or not bases:
            return state.findings()
    for base in bases:
        yield from _repair(state, base)
        if state.is_over:
            break
    return state.findings()


def _repair(state: SearchState, base: Candidate, is_intermediate: bool = False) -> Steps:
    """All stages after the syntax on one base text; `is_intermediate` after repairs of names."""
    trace = yield from ask_trace(state, base.text)
    if trace.tests and not trace.failing:
        return  # no test could show progress
    try:
        known = localise_faults(state, base.text, trace)
    except (SyntaxError, ValueError, RecursionError):
        return
    state.failing = frozenset(trace.failing or {0})
    state.passing = frozenset(range(len(trace.tests))) - state.failing
    if base.text == state.source:
        state.base_passed, state.total = len(state.passing), max(1, len(trace.tests))
        state.completed_lines = _completed_lines(known.program, trace)
    program = known.program
    if not state.facts.tests and _ends_deliberately(program, trace):
        return
    fixed_base = None if is_intermediate else (yield from repair_missing_names(state, base, trace))
    yield from _offer(state)
    if state.accepted:
        return
    edits = known.edits(state)
    state.prepare = edits.prepare
    yield from check_base(state, base)
    cheap = takewhile(lambda edit: edit.cost <= MAX_SINGLE_COST, edits)
    rest = (
        edited(program, base, edit)
        for unreached in sorted(known.closed, key=lambda one: isinstance(one, Function))
        for edit in known.edits(state, within=unreached)
    )
    cheapest = (edited(program, base, edit) for edit in cheap)
    for some in (islice(cheapest, CHEAPEST), cheapest):
        yield from precheck(state, some, state.budget.candidates)
        yield from precheck(state, repeated(program, base, edits.known), state.budget.candidates)
    yield from retry_promising(state)
    # The last edit taken from the iterable may not have been tried.
    others = islice(edits, max(0, edits.count - 1), None)
    singles = CachedIterable(edited(program, base, edit) for edit in others)
    if state.unoffered:
        yield from precheck(state, singles, state.budget.candidates)
    if (yield from _offer(state)):
        return
    ends = [test.exception for place, test in enumerate(trace.tests) if place in state.failing]
    mostly_crashes = 2 * sum(one not in WRONG_ANSWERS for one in ends) > len(state.failing)
    if mostly_crashes:
        # The base does not show how long a correct run takes, so slow candidates may be correct.
        yield from retry(state, ((MAX_SLOW, SLOW_FACTOR),))
        if (yield from _offer(state)):
            return
    if "TimeoutError" in ends:
        yield from precheck(state, rest, state.budget.candidates)
        if (yield from _offer(state)):
            return
    if fixed_base is not None:
        before = state.failing, state.passing, state.base
        yield from _repair(state, fixed_base, is_intermediate=True)
        state.failing, state.passing, state.base = before
        if state.is_over:
            return
    further = [*singles, *cheap_pairs(program, base, edits)]
    for most, each in BEAM:
        seeds = seeds_of(state, most)
        state.extended.update(seed.candidate.text for seed in seeds)
        for rank, seed in enumerate(seeds):
            further += yield from extensions(state, seed, rank, each)
        further.sort(key=lambda planned: planned.cost)
        limit = min(state.budget.candidates, state.tried + state.budget.pairs)
        yield from precheck(state, further, limit)
        yield from retry_promising(state)
        if (yield from _offer(state)):
            return
        further = []
    yield from precheck(state, rest, state.budget.candidates)
    if not (yield from _offer(state)):
        attempts = (
            (MAX_SLOW, SLOW_FACTOR), *([(MAX_SLOWEST, SLOWEST_FACTOR)] if mostly_crashes else [])
        )
        yield from retry(state, attempts, is_last=True)
        yield from _offer(state)


def _completed_lines(program: Program, trace: Trace) -> frozenset[int]:
    """The lines that completed; a line that raised an exception counts only if it is in a loop."""
    looped = {
        line for node in program.nodes if isinstance(node, ast.For | ast.While)
        for line in range(node.lineno, (node.end_lineno or 0) + 1)
    }
    return frozenset(
        line for test in trace.tests for line in test.covered
        if line != test.line or line in looped
    )


def _ends_deliberately(program: Program, trace: Trace) -> bool:
    """Whether a program without tests ends by a `raise` or an `assert` of its own."""
    lines = [test.line for test in trace.tests if not test.passed and test.line is not None]
    return any(
        node.lineno <= line <= (node.end_lineno or node.lineno)
        for node in ast.walk(program.tree) if isinstance(node, ast.Raise | ast.Assert)
        for line in lines
    )


def _repair_syntax(state: SearchState) -> Generator[SearchRequest, SearchReply, list[Candidate]]:
    """Offers the repairs of the syntax that pass every test; returns the best others."""
    texts = repaired(state.source, state.budget.syntax)
    found = [Candidate(text, cost, (SYNTAX,)) for cost, text in texts if is_parsable(text)]
    answers = yield PrecheckRequest(tuple(one.text for one in found), "full", state.progress())
    failing: list[Candidate] = []
    assert isinstance(answers, tuple)
    for candidate, answer in zip(found, answers, strict=True):
        state.tried_hashes.add(hash(candidate.text))
        if answer is None:
            continue
        state.tried += 1
        state.total = max(state.total, len(answer.passed))
        checked = replace(candidate, passed=answer.score, types=answer.types)
        if answer.outcome == "ok":
            state.plausible[checked.text] = checked
        else:
            state.partials.append(PartialFix(checked, answer.score, answer.behaviour, 0, SYNTAX))
            failing.append(checked)
    yield from _offer(state)
    return sorted(failing, key=lambda one: (-one.passed, one.cost))[:SYNTAX_BASES]


def _offer(state: SearchState) -> Generator[SearchRequest, SearchReply, bool]:
    """Probes and offers new plausible candidates; returns whether the search is over."""
    kept = ranked(state.unoffered)[:MAX_PLAUSIBLE]
    if not kept:
        return state.is_over
    calls = _calls(state, kept[0].text)
    if calls:
        # Calls that do not end with the likeliest candidate would slow down all probes.
        answer = yield ProbeRequest((kept[0].text,), calls, state.progress())
        assert isinstance(answer, ProbeResult)
        calls = quick_calls(calls, answer)
    if calls:
        texts = (state.source, *(one.text for one in kept))
        answer = yield ProbeRequest(texts, calls, state.progress())
        assert isinstance(answer, ProbeResult)
        base, *rows = answer.rows
        kept = tuple(replace(one, answers=row or ()) for one, row in zip(kept, rows, strict=True))
        if any(row is not None for row in answer.rows):
            state.calls, state.base_answers = calls, base or ()
    kept = with_estimates(kept, Situation(state.source, state.facts.tests, state.base_answers))
    state.plausible.update({one.text: one for one in kept})
    accepted = yield JudgeRequest(state.findings(kept))
    state.offered.update(one.text for one in kept)
    state.accepted = accepted is True
    return state.is_over


def _calls(state: SearchState, text: str) -> tuple[str, ...]:
    """Returns calls that no test makes; if the tests only use objects, calls of their methods."""
    names, tests = _names(state.source), state.facts.tests
    plain = probes(names, tests)
    if not plain:
        plain = (*probes(names, tests, stateful=True), *recombined_calls(text, names, tests))
    return tuple(dict.fromkeys((*plain, *observing_calls(text, names, tests))))


def quick_calls(calls: tuple[str, ...], pilot: ProbeResult) -> tuple[str, ...]:
    """Returns calls that end with the candidate of `pilot`, the fastest within `PROBE_STEPS`."""
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
    return frozenset(node.name for node in tree.body if isinstance(node, Function | ast.ClassDef))
