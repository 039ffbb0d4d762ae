"""Which of several plausible candidates to believe first."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from agent.repair.facts import Candidate

WRONG_TYPE = 2.0
"""Cost of results that equal the expected ones but are of another type, as `0` and `False`."""
RARE = 0.25
"""What rarity adds among candidates that all pass: an operator with hundreds of edits passes a
few tests by chance."""
ALIKE = 1.0
"""Cost of answering otherwise than the candidates that are likely by their edits."""
CRASHING = 1.5
"""Cost of an exception on every call to which the base gave a value."""
SURPRISING = 0.15
"""Cost of one nat of surprise at the most unusual shape of code that an edit writes."""
WIDENING = 3.0
"""Cost of a condition changed so that no test takes one of its sides."""
BLIND = 100.0
"""Cost of an answer that is the same for all arguments: behind every other."""


def ranked(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best first: cheap edits whose results have the types the tests expect."""
    once: dict[str, Candidate] = {}
    for candidate in candidates:
        known = once.get(candidate.text)
        if known is None or candidate.cost < known.cost:
            once[candidate.text] = candidate
    return tuple(sorted(once.values(), key=lambda one: (weight(one), one.text)))


def written(candidate: Candidate) -> float:
    """What its edits cost and how unusual their code is, whatever it then does."""
    return candidate.cost + SURPRISING * candidate.surprise


def weight(candidate: Candidate) -> float:
    return (
        written(candidate) + candidate.penalty + RARE * candidate.rarity
        + WRONG_TYPE * bool(candidate.types) + WIDENING * candidate.widens
        + BLIND * candidate.blind
    )


def behaved(
    candidates: Sequence[Candidate], answers: Sequence[tuple[str, ...] | None]
) -> tuple[Candidate, ...]:
    """The candidates with what they answer beyond the tests, and what that adds to their cost.

    The first of the answers are the base's. Candidates that answer alike speak for each other;
    an exception where the base gave a value speaks against.
    """
    base, *others = answers
    mass: dict[tuple[str, ...], float] = {}
    for candidate, own in zip(candidates, others, strict=True):
        if own is not None:
            mass[own] = mass.get(own, 0.0) + math.exp(-weight(candidate))
    whole = sum(mass.values())
    found = []
    for candidate, own in zip(candidates, others, strict=True):
        if own is None:
            found.append(replace(candidate, penalty=CRASHING))
            continue
        penalty = -ALIKE * math.log(mass[own] / whole)
        if base is not None:
            pairs = list(zip(base, own, strict=True))
            worse = sum(is_failure(now) and not is_failure(was) for was, now in pairs)
            penalty += CRASHING * worse / len(pairs)
        found.append(replace(candidate, answers=own, penalty=penalty))
    return tuple(found)


def is_failure(answer: str) -> bool:
    """Whether a call ended in an exception or not at all."""
    return answer.startswith(("!", "~"))
