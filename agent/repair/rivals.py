"""Behaviours among the repairs that pass every test, and the call that tells them apart."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from agent.repair.facts import Candidate
from agent.repair.rank import weight

MOST = 3
"""Behaviours that are put before a person."""


@dataclass(frozen=True)
class Cluster:
    """Candidates that answer every call alike; the first is the likeliest."""

    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate:
        return self.candidates[0]

    @property
    def answers(self) -> tuple[str, ...]:
        return self.best.answers


def clusters(candidates: Sequence[Candidate], chosen: str) -> tuple[Cluster, ...]:
    """The behaviours of candidates that were probed, that of the text `chosen` first, the others
    by their likeliest candidate."""
    groups: dict[tuple[str, ...], list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda one: (weight(one), one.text)):
        if candidate.answers:
            groups.setdefault(candidate.answers, []).append(candidate)
    found = [Cluster(tuple(group)) for group in groups.values()]
    own = [one for one in found if any(c.text == chosen for c in one.candidates)]
    if not own:
        return ()
    first = own[0]
    # The chosen text speaks for its behaviour, whichever of its group is the cheapest.
    led = sorted(first.candidates, key=lambda one: one.text != chosen)
    return (Cluster(tuple(led)), *(one for one in found if one is not first))


def telling_call(calls: Sequence[str], behaviours: Sequence[Sequence[str]]) -> int | None:
    """The place of the shortest call that sets the first behaviour apart from another, and tells
    most of them apart; `None` where a person could not read any difference."""
    best: tuple[int, int, int] | None = None
    for place, call in enumerate(calls):
        answers = [one[place] for one in behaviours]
        if not all(map(is_readable, answers)):
            continue
        if all(one == answers[0] for one in answers):
            continue
        key = (-len(set(answers)), len(call), place)
        best = key if best is None else min(best, key)
    return None if best is None else best[2]


def is_readable(answer: str) -> bool:
    """Whether an answer can be put to a person and become a test: a literal or an exception."""
    if answer.startswith("!"):
        return answer[1:].isidentifier()
    try:
        ast.literal_eval(answer)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True
