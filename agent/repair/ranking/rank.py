"""Which of several plausible candidates to believe first."""

from __future__ import annotations

from collections.abc import Iterable

from agent.repair.facts import Candidate

WRONG_TYPE = 2.0
"""Cost of results that equal the expected ones but are of another type, as `0` and `False`."""
WIDENING = 1.0
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


def weight(candidate: Candidate) -> float:
    """How unlikely it is that a candidate is what was meant."""
    return (
        candidate.cost + WRONG_TYPE * bool(candidate.types) + WIDENING * candidate.widens
        + BLIND * candidate.blind
    )
