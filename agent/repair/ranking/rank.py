"""Which of several plausible candidates to believe first."""

from __future__ import annotations

from collections.abc import Iterable

from agent.repair.facts import Candidate

WRONG_TYPE = 2.0
"""Cost of results that equal the expected ones but are of another type, as `0` and `False`."""
BLIND = 100.0
"""Cost of an answer that is the same for all arguments: behind every other."""


def ranked(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best first: cheap edits whose results have the types the tests expect."""
    return tuple(sorted(candidates, key=lambda one: (weight(one), one.text)))


def weight(candidate: Candidate) -> float:
    """How unlikely it is that a candidate is what was meant."""
    return candidate.cost + WRONG_TYPE * bool(candidate.types) + BLIND * candidate.blind
