"""The search for a repair, without a model and without running anything.

A generator: it yields questions, is sent their answers, and returns its findings.

    text does not compile    syntax edits until it does, then go on with the best of them
    examine the base         suspicion of each line, the crash, the types of the variables
    cheap single edits       cheapest first, until some pass every test
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
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b

from agent.repair.answers import blindness
from agent.repair.blame import WRONG_ANSWERS, crash_of, ochiai
from agent.repair.edits import Edit, single_edits, unreached
from agent.repair.edits.statements import deliberate_ends
from agent.repair.facts import (
    Answer,
    Budget,
    Candidate,
    Examine,
    Facts,
    Findings,
    Mode,
    Offer,
    Probe,
    Probed,
    Question,
    Screen,
    Screened,
    Trace,
)
from agent.repair.probes import probes
from agent.repair.program import Function, Program, Splice, spliced
from agent.repair.rank import behaved, described, ranked
from agent.repair.syntax import compiles, mended

Steps = Generator[Question, Answer, None]

FIRST_CHUNK, CHUNK = 40, 320
BEYOND = 1.2
"""After the first plausible candidate, how much dearer ones are still tried, for the ranking."""
MOST_BEYOND = 1_500
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
"""And of those, where the base told nothing of how long a healthy run takes."""
BEAM = ((12, 1_500), (8, 800), (6, 500))
"""How many partial fixes are grown by a further edit in each round, each by how many edits."""
SPLIT = 4.0
"""Single edits up to this cost come before the beam, dearer ones among it."""
ADVANCE = 0.08
"""How much nearer the failing tests must come to passing, in tests, for a partial fix."""
CHEAP, CHEAP_COUNT = 4.5, 140
KEPT_BONUS, BROKEN = 0.5, 1.0
"""What passing tests that stay so, or do not, add to a partial fix's score."""
PROBE_STEPS, LEAST_PROBES = 100_000, 12
"""Steps that all calls of one candidate beyond the tests may take, and calls made all the same."""
KEPT = 60
UNTESTED = {"function": 3.0, "method": 3.0, "constant condition": 3.0}
"""What these operators cost more where no test could tell their edits from a repair."""
SYNTAX_BASES = 3
LONG = 4_000
"""Characters of a text from which it is remembered by a digest."""


def search(source: str, facts: Facts, budget: Budget) -> Generator[Question, Answer, Findings]:
    """Searches for texts that pass every test; see the module for the questions it asks."""
    state = _State(source, facts, budget)
    bases = [Candidate(source, 0.0, "")]
    if not compiles(source):
        bases = yield from _mend(state)
        if state.accepted or not bases:
            return state.findings()
    for base in bases:
        yield from _repair(state, base)
        if state.accepted or state.spent:
            break
    return state.findings()


@dataclass(frozen=True, slots=True)
class _Planned:
    """A candidate that is not written out yet: all those of a long program together would fill
    the memory."""

    data: bytes
    splices: tuple[Splice, ...]
    cost: float
    operator: str
    edit: Edit
    rarity: float


@dataclass
class _Partial:
    """A candidate that comes further than its base, and how it came to be."""

    candidate: Candidate
    score: float
    """Tests passed and parts of tests gained, less what it breaks."""
    gained: int
    did: str
    line: int
    operator: str


@dataclass
class _State:
    """What the search has seen so far."""

    source: str
    facts: Facts
    budget: Budget
    tried: int = 0
    accepted: bool = False
    seen: set[str] = field(default_factory=set)
    """Marks of the texts that were tried."""
    plausible: dict[str, Candidate] = field(default_factory=dict)
    slow: list[tuple[Candidate, Edit]] = field(default_factory=list)
    """Candidates that did not end within their steps."""
    offered: set[str] = field(default_factory=set)
    partials: list[_Partial] = field(default_factory=list)
    grown: set[str] = field(default_factory=set)
    """Partial fixes that were tried with a further edit."""
    patience: float = 1.0
    """How many times the usual steps a candidate is given."""
    base: Screened = field(default_factory=lambda: Screened((), "lost"))
    """How the text that is now under repair does."""
    base_passed: int = 0
    total: int = 0
    calls: tuple[str, ...] = ()

    @property
    def spent(self) -> bool:
        return self.tried >= self.budget.candidates

    def findings(self, *, fresh_only: bool = False) -> Findings:
        """All that was found, or what was not offered yet."""
        fresh = [
            one for one in self.plausible.values()
            if not (fresh_only and one.text in self.offered)
        ]
        partial = self._best()
        return Findings(
            plausible=tuple(self._told(one) for one in ranked(fresh)[:KEPT]),
            calls=self.calls,
            partial=None if partial is None else self._told(partial),
            tried=self.tried,
            base_passed=self.base_passed,
            total=self.total,
        )

    def progress(self) -> Findings:
        """The findings without words, for questions that nobody may read."""
        return Findings(
            plausible=tuple(self.plausible.values())[:KEPT],
            partial=self._best(),
            tried=self.tried,
            base_passed=self.base_passed,
            total=self.total,
        )

    def _best(self) -> Candidate | None:
        """The partial fix that passes most tests, if those are more than the base passes."""
        best = max(
            (one.candidate for one in self.partials),
            key=lambda one: (one.passed, -one.cost),
            default=None,
        )
        return best if best is not None and best.passed > self.base_passed else None

    def _told(self, candidate: Candidate) -> Candidate:
        return replace(candidate, note=described(self.source, candidate.text))


def _repair(state: _State, base: Candidate) -> Steps:
    """All stages on one base text."""
    try:
        program = Program(base.text)
    except (SyntaxError, ValueError, RecursionError):
        return
    trace = yield from _examine(state, base.text)
    if trace is None:
        trace = Trace(())
    failing = set(trace.failing)
    if trace.tests and not failing:
        return  # nothing fails here, so nothing could be seen to get better
    failing = failing or {0}
    passing = {index for index in range(len(trace.tests)) if index not in failing}
    if base.text == state.source:
        state.base_passed, state.total = len(passing), max(1, len(trace.tests))
    crash = crash_of(trace)
    if not state.facts.tests and _is_deliberate(program, trace):
        return
    program = Program(
        base.text, types=trace.types, crash=crash, names=state.facts.names,
        moments=trace.moments, answers=trace.answers,
    )
    protected = _shifted(state.facts.protected, state.source, base.text)
    if not state.facts.tests:
        protected = (*protected, *deliberate_ends(program))
    suspicion = ochiai(trace)
    closed = unreached(program, suspicion)
    over = state.budget.over
    edits = _priced(
        state, single_edits(program, suspicion, protected, closed=frozenset(closed), over=over)
    )
    yield from _measure(state, base)
    singles = [_edited(program, base, edit) for edit in edits]
    first = bisect_right(edits, SPLIT, key=lambda edit: edit.cost)
    rest = (
        _edited(program, base, edit)
        for function in closed
        for edit in _priced(
            state, single_edits(program, suspicion, protected, within=function, over=over)
        )
    )
    yield from _screen(state, singles[:first], failing, passing, state.budget.candidates)
    yield from _screen_promising(state, failing, passing)
    yield from _offer(state)
    if state.accepted or state.spent:
        return
    ends = [test.exception for place, test in enumerate(trace.tests) if place in failing]
    untold = 2 * sum(exception not in WRONG_ANSWERS for exception in ends) > len(failing)
    if untold:
        # The base tells nothing of how long a healthy run takes: long runs may be right.
        yield from _screen_slow(state, failing, passing, ((SLOW, PATIENCE),))
        yield from _offer(state)
        if state.accepted or state.spent:
            return
    if "TimeoutError" in ends:
        yield from _screen(state, rest, failing, passing, state.budget.candidates)
        yield from _offer(state)
        if state.accepted or state.spent:
            return
    further = singles[first:] + _cheap_pairs(program, base, edits)
    for most, each in BEAM:
        seeds = _seeds(state, most)
        state.grown.update(seed.candidate.text for seed in seeds)
        for place, seed in enumerate(seeds):
            further += yield from _grown(state, seed, place, each)
        further.sort(key=lambda planned: planned.cost)
        limit = min(state.budget.candidates, state.tried + state.budget.pairs)
        yield from _screen(state, further, failing, passing, limit)
        yield from _screen_promising(state, failing, passing)
        yield from _offer(state)
        if state.accepted or state.spent:
            return
        further = []
    yield from _screen(state, rest, failing, passing, state.budget.candidates)
    yield from _offer(state)
    if not state.accepted and not state.spent:
        rounds = ((SLOW, PATIENCE), *([(SLOWEST, LONG_PATIENCE)] if untold else []))
        yield from _screen_slow(state, failing, passing, rounds)
        yield from _offer(state)


def _measure(state: _State, base: Candidate) -> Steps:
    """How the base fails, for what is an advance over it."""
    answers = yield Screen((base.text,), "fit", state.progress())
    assert isinstance(answers, tuple)
    state.tried += 1
    state.seen.add(_mark(base.text))
    if answers[0] is not None:
        state.base = answers[0]


def _priced(state: _State, edits: list[Edit]) -> list[Edit]:
    """The edits by what they cost in this search, cheapest first."""
    if state.facts.tests:
        return edits
    dearer = (replace(edit, cost=edit.cost + UNTESTED.get(edit.operator, 0.0)) for edit in edits)
    return sorted(dearer, key=lambda edit: edit.cost)


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


def _edited(program: Program, base: Candidate, edit: Edit) -> _Planned:
    return _Planned(
        program.data, (edit.splice,), base.cost + edit.cost, edit.operator, edit, edit.rarity
    )


def _mend(state: _State) -> Generator[Question, Answer, list[Candidate]]:
    """Texts that compile; those that pass everything are offered, the best go on as bases."""
    texts = mended(state.source, state.budget.syntax)
    found = [Candidate(text, cost, "syntax") for cost, text in texts]
    answers = yield Screen(tuple(one.text for one in found), "full", state.progress())
    scored: list[tuple[int, Candidate]] = []
    assert isinstance(answers, tuple)
    for candidate, answer in zip(found, answers, strict=True):
        state.tried += 1
        state.seen.add(_mark(candidate.text))
        if answer is None:
            continue
        state.total = max(state.total, len(answer.passed))
        told = Candidate(candidate.text, candidate.cost, "syntax", "", answer.score, answer.types)
        if answer.ended == "ok":
            state.plausible[told.text] = told
        else:
            state.partials.append(
                _Partial(told, answer.score, answer.score, answer.did, 0, "syntax")
            )
            scored.append((answer.score, told))
    yield from _offer(state)
    scored.sort(key=lambda one: (-one[0], one[1].cost))
    return [candidate for _, candidate in scored[:SYNTAX_BASES]]


def _examine(state: _State, text: str) -> Generator[Question, Answer, Trace | None]:
    answer = yield Examine(text, state.progress())
    return answer if isinstance(answer, Trace) else None


def _offer(state: _State) -> Steps:
    """Shows what is plausible and was not shown before, once it is known how it behaves."""
    fresh = [one for one in state.plausible.values() if one.text not in state.offered]
    if not fresh:
        return
    kept = ranked(fresh)[:KEPT]
    calls = probes(_offered_names(state.source), state.facts.tests)
    if len(kept) > 1 and calls:
        # Calls that the likeliest candidate does not end would hold up all others.
        answer = yield Probe((kept[0].text,), calls, state.progress())
        assert isinstance(answer, Probed)
        calls = _quick(calls, answer)
    if len(kept) > 1 and calls:
        texts = (state.source, *(one.text for one in kept))
        answer = yield Probe(texts, calls, state.progress())
        assert isinstance(answer, Probed)
        kept = behaved(kept, answer.rows)
        state.plausible.update({one.text: one for one in kept})
        state.calls = calls
    accepted = yield Offer(state.findings(fresh_only=True))
    state.offered.update(one.text for one in fresh)
    state.accepted = accepted is True


def _quick(calls: tuple[str, ...], pilot: Probed) -> tuple[str, ...]:
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


def _offered_names(source: str) -> frozenset[str]:
    """The functions and classes that tests of a program can call."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset(re.findall(r"^(?:def|class|async def)\s+(\w+)", source, re.MULTILINE))
    return frozenset(
        node.name for node in tree.body if isinstance(node, Function | ast.ClassDef)
    )


def _screen(
    state: _State,
    candidates: Iterable[_Planned],
    failing: set[int],
    passing: set[int],
    limit: int,
) -> Steps:
    """Screens candidates in order, a little beyond the first that pass every test."""
    pending = iter(candidates)
    size = FIRST_CHUNK
    stop_cost: float | None = None
    stop_at = limit
    chunks = 0
    while state.tried < min(limit, stop_at):
        chunk = _chunk(state, pending, min(size, min(limit, stop_at) - state.tried), stop_cost)
        if not chunk:
            return
        chunks += 1
        if chunks % BETWEEN == 0 and stop_cost is None:
            yield from _screen_promising(state, failing, passing)
        mode: Mode = "fit" if stop_cost is None else "early"
        texts = tuple(one.text for one, _ in chunk)
        answers = yield Screen(texts, mode, state.progress(), patience=state.patience)
        assert isinstance(answers, tuple)
        for (candidate, edit), answer in zip(chunk, answers, strict=True):
            state.tried += 1
            if answer is not None:
                _note(state, candidate, edit, answer, failing, passing)
        if stop_cost is None and any(one not in state.offered for one in state.plausible):
            best = min(c.cost for t, c in state.plausible.items() if t not in state.offered)
            stop_cost, stop_at = best + BEYOND, state.tried + MOST_BEYOND
        size = CHUNK


def _screen_promising(state: _State, failing: set[int], passing: set[int]) -> Steps:
    """Gives more steps to what passed a failing test before it did not end, and to a few more:
    a test that goes through many cases passes all at once or not at all."""
    yield from _screen_slow(state, failing, passing, PROMISING, least=1)
    if not any(text not in state.offered for text in state.plausible):
        yield from _screen_slow(state, failing, passing, CHANCE, most=CHANCE[0][0])


def _screen_slow(
    state: _State, failing: set[int], passing: set[int], rounds: Iterable[tuple[int, float]],
    *, least: int = 0, most: int | None = None,
) -> Steps:
    """Gives candidates that did not end more steps, if they passed `least` tests before, and no
    more than `most` of them; the others stay for another time.

    Those come first that passed most. Failing tests are run first, so one that passed any
    of its tests is a repair, or a part of one, that may only be slow.
    """
    slow = [one for one in state.slow if one[0].passed >= least]
    slow.sort(key=lambda one: (-one[0].passed, one[0].cost))
    taken = slow[:most]
    state.slow = [one for one in state.slow if one[0].passed < least] + slow[len(taken) :]
    slow = taken
    for count, patience in rounds:
        slow.sort(key=lambda one: (-one[0].passed, one[0].cost))
        slow, asked = [], slow[:count]
        for first in range(0, len(asked), FIRST_CHUNK):
            chunk = asked[first : first + FIRST_CHUNK]
            texts = tuple(one.text for one, _ in chunk)
            answers = yield Screen(texts, "fit", state.progress(), patience=patience)
            assert isinstance(answers, tuple)
            for (candidate, edit), answer in zip(chunk, answers, strict=True):
                state.tried += 1
                if answer is None:
                    continue
                if answer.score > candidate.passed > 0:
                    # What comes further with more steps needs them, and so may all that follow.
                    state.patience = max(state.patience, min(patience, PATIENCE))
                if answer.ended == "timeout":
                    slow.append((replace(candidate, passed=answer.score), edit))
                else:
                    _note(state, candidate, edit, answer, failing, passing)
            if any(text not in state.offered for text in state.plausible):
                return


def _chunk(
    state: _State,
    pending: Iterator[_Planned],
    size: int,
    stop_cost: float | None,
) -> list[tuple[Candidate, Edit]]:
    chunk: list[tuple[Candidate, Edit]] = []
    for planned in pending:
        if stop_cost is not None and planned.cost > stop_cost:
            break
        text = spliced(planned.data, planned.splices)
        if _mark(text) not in state.seen:
            state.seen.add(_mark(text))
            candidate = Candidate(text, planned.cost, planned.operator, rarity=planned.rarity)
            chunk.append((candidate, planned.edit))
            if len(chunk) >= size:
                break
    return chunk


def _mark(text: str) -> str:
    """A text, or a short sign of a long one."""
    if len(text) <= LONG:
        return text
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _note(
    state: _State,
    candidate: Candidate,
    edit: Edit,
    answer: Screened,
    failing: set[int],
    passing: set[int],
) -> None:
    told = replace(candidate, passed=answer.score, types=answer.types)
    if answer.ended == "ok":
        blind = blindness(state.source, told.text, state.facts.tests)
        if blind != "refused":
            state.plausible[told.text] = replace(told, blind=bool(blind))
        return
    if answer.ended == "timeout":
        state.slow.append((told, edit))
    if answer.did and answer.did == state.base.did:
        return
    gained = sum(1 for index in failing if index < len(answer.passed) and answer.passed[index])
    score = answer.progress(state.base, failing)
    if gained or score >= ADVANCE:
        marks = [answer.passed[index] for index in passing if index < len(answer.passed)]
        score += KEPT_BONUS * all(marks) - BROKEN * (False in marks)
        state.partials.append(
            _Partial(told, score, gained, answer.did, edit.splice.line, edit.operator)
        )


def _seeds(state: _State, most: int) -> list[_Partial]:
    """The best partial fixes that were not grown yet, each of another behaviour."""
    seeds: list[_Partial] = []
    counts: dict[tuple[int, str], int] = {}
    behaviours: set[str] = set()
    order = sorted(
        state.partials,
        key=lambda one: (-one.score, one.candidate.cost, one.candidate.text),
    )
    for one in order:
        if one.operator == "syntax" or one.candidate.text in state.grown:
            continue
        key = (one.line, one.operator)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= 2 and not (one.did and one.did in behaviours):
            behaviours.add(one.did)
            seeds.append(one)
        if len(seeds) == most:
            break
    return seeds


def _grown(
    state: _State, seed: _Partial, place: int, most: int
) -> Generator[Question, Answer, list[_Planned]]:
    """A partial fix, each with one more edit."""
    trace = yield from _examine(state, seed.candidate.text)
    try:
        program = Program(
            seed.candidate.text,
            types=trace.types if trace else None,
            crash=crash_of(trace) if trace else None,
            names=state.facts.names,
            moments=trace.moments if trace else (),
            answers=trace.answers if trace else (),
        )
    except (SyntaxError, ValueError, RecursionError):
        return []
    protected = _shifted(state.facts.protected, state.source, seed.candidate.text)
    if not state.facts.tests:
        protected = (*protected, *deliberate_ends(program))
    found = []
    suspicion = ochiai(trace) if trace else {}
    closed = frozenset(unreached(program, suspicion))
    edits = _priced(
        state,
        single_edits(program, suspicion, protected, closed=closed, over=state.budget.over),
    )
    for edit in edits[:most]:
        cost = seed.candidate.cost + edit.cost + 0.25 * place - 0.8 * seed.score
        operator = f"{seed.operator}, {edit.operator}"
        rarity = seed.candidate.rarity + edit.rarity
        found.append(_Planned(program.data, (edit.splice,), cost, operator, edit, rarity))
    return found


def _cheap_pairs(
    program: Program, base: Candidate, edits: list[Edit]
) -> list[_Planned]:
    """Two cheap edits at places that do not overlap."""
    cheap = [edit for edit in edits if edit.cost < CHEAP][:CHEAP_COUNT]
    found = []
    for place, first in enumerate(cheap):
        for second in cheap[place + 1 :]:
            a, b = first.splice, second.splice
            if a.end <= b.start or b.end <= a.start:
                cost = base.cost + first.cost + second.cost + 2.0
                operator = f"{first.operator}, {second.operator}"
                rarity = first.rarity + second.rarity
                found.append(_Planned(program.data, (a, b), cost, operator, second, rarity))
    return found


def _shifted(
    protected: tuple[tuple[int, int], ...], source: str, text: str
) -> tuple[tuple[int, int], ...]:
    """Protected lines of the source where they stand after an edit."""
    if not protected:
        return ()
    old, new = source.splitlines(), text.splitlines()
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    shift = len(new) - len(old)
    return tuple(
        (first, last) if last <= same else (first + shift, last + shift)
        for first, last in protected
    )
