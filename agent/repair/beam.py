"""Growing partial fixes by one more edit, and pairing cheap edits."""

from __future__ import annotations

from collections.abc import Generator

from agent.repair.edits import Edit
from agent.repair.facts import SYNTAX, Answer, Candidate, Question
from agent.repair.ground import ground
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
    state: Seen, seed: Partial, place: int, most: int
) -> Generator[Question, Answer, list[Planned]]:
    """A partial fix, each with one more edit."""
    trace = yield from examined(state, seed.candidate.text)
    try:
        known = ground(state, seed.candidate.text, trace)
    except (SyntaxError, ValueError, RecursionError):
        return []
    found = []
    for edit in known.edits(state)[:most]:
        cost = seed.candidate.cost + edit.cost + PER_PLACE * place - PER_SCORE * seed.score
        operators = (*seed.candidate.operators, edit.operator)
        rarity = seed.candidate.rarity + edit.rarity
        found.append(Planned(known.program.data, (edit.splice,), cost, operators, edit, rarity))
    return found


def edited(program: Program, base: Candidate, edit: Edit) -> Planned:
    return Planned(
        program.data, (edit.splice,), base.cost + edit.cost, (edit.operator,), edit, edit.rarity
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
                operators = (first.operator, second.operator)
                rarity = first.rarity + second.rarity
                found.append(Planned(program.data, (a, b), cost, operators, second, rarity))
    return found
