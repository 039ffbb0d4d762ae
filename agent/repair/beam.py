"""Growing partial fixes by one more edit, and pairing cheap edits."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace

from agent.repair.blame import crash_of, ochiai
from agent.repair.edits import Edit, single_edits, unreached
from agent.repair.edits.statements import deliberate_ends
from agent.repair.facts import Answer, Candidate, Question
from agent.repair.program import Program
from agent.repair.seen import Partial, Seen, examined
from agent.repair.trials import Planned

BEAM = ((12, 1_500), (8, 800), (6, 500))
"""How many partial fixes are grown by a further edit in each round, each by how many edits."""
PER_PLACE, PER_SCORE = 0.25, 0.8
"""What a partial fix's place among the others adds to the cost of its edits, and what its score
takes off."""
CHEAP, CHEAP_COUNT = 4.5, 140
PAIR = 2.0
"""What it adds to a pair's cost that neither edit was seen to help."""
UNTESTED = {"function": 3.0, "method": 3.0, "constant condition": 3.0}
"""What these operators cost more where no test could tell their edits from a repair."""


def seeds_of(state: Seen, most: int) -> list[Partial]:
    """The best partial fixes that were not grown yet, each of another behaviour."""
    seeds: list[Partial] = []
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


def grown(
    state: Seen, seed: Partial, place: int, most: int
) -> Generator[Question, Answer, list[Planned]]:
    """A partial fix, each with one more edit."""
    trace = yield from examined(state, seed.candidate.text)
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
    protected = shifted(state.facts.protected, state.source, seed.candidate.text)
    if not state.facts.tests:
        protected = (*protected, *deliberate_ends(program))
    found = []
    suspicion = ochiai(trace) if trace else {}
    closed = frozenset(unreached(program, suspicion))
    edits = priced(
        state,
        single_edits(program, suspicion, protected, closed=closed, over=state.budget.over),
    )
    for edit in edits[:most]:
        cost = seed.candidate.cost + edit.cost + PER_PLACE * place - PER_SCORE * seed.score
        operator = f"{seed.operator}, {edit.operator}"
        rarity = seed.candidate.rarity + edit.rarity
        found.append(Planned(program.data, (edit.splice,), cost, operator, edit, rarity))
    return found


def edited(program: Program, base: Candidate, edit: Edit) -> Planned:
    return Planned(
        program.data, (edit.splice,), base.cost + edit.cost, edit.operator, edit, edit.rarity
    )


def cheap_pairs(
    program: Program, base: Candidate, edits: list[Edit]
) -> list[Planned]:
    """Two cheap edits at places that do not overlap."""
    cheap = [edit for edit in edits if edit.cost < CHEAP][:CHEAP_COUNT]
    found = []
    for place, first in enumerate(cheap):
        for second in cheap[place + 1 :]:
            a, b = first.splice, second.splice
            if a.end <= b.start or b.end <= a.start:
                cost = base.cost + first.cost + second.cost + PAIR
                operator = f"{first.operator}, {second.operator}"
                rarity = first.rarity + second.rarity
                found.append(Planned(program.data, (a, b), cost, operator, second, rarity))
    return found


def priced(state: Seen, edits: list[Edit]) -> list[Edit]:
    """The edits by what they cost in this search, cheapest first."""
    if state.facts.tests:
        return edits
    dearer = (replace(edit, cost=edit.cost + UNTESTED.get(edit.operator, 0.0)) for edit in edits)
    return sorted(dearer, key=lambda edit: edit.cost)


def shifted(
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
