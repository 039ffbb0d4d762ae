"""Behaviours among the repairs that pass every test, and the call that tells them apart."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.trees import literal_value, readable_nodes
from agent.search.ranking.rank import weight
from agent.search.values import Candidate

MOST = 3
"""Behaviours that are put before a person."""
FAR = 1.2
"""So much dearer may the edit of a rival be, by its operator and its place; one by the same
operator may be as dear as it likes."""
LONGEST = 200
"""Characters of an answer that a person is asked to read; much longer ones come cut off."""


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
    """The behaviours of candidates, that of the text `chosen` first, the others by their likeliest
    candidate. One of which nothing is known beyond the tests is a behaviour of its own.

    Left out are those that are no rivals of the chosen one: far-fetched beside it, or no other
    behaviour but for types and for failing.
    """
    groups: dict[tuple[str, ...] | str, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda one: (weight(one), one.text)):
        groups.setdefault(candidate.answers or candidate.text, []).append(candidate)
    found = [Cluster(tuple(group)) for group in groups.values()]
    own = [one for one in found if any(c.text == chosen for c in one.candidates)]
    if not own:
        return ()
    first = own[0]
    # The chosen text speaks for its behaviour, whichever of its group is the cheapest.
    led = sorted(first.candidates, key=lambda one: one.text != chosen)
    return (
        Cluster(tuple(led)),
        *(one for one in found if one is not first and _competing(one.best, led[0])),
    )


def _competing(one: Candidate, own: Candidate) -> bool:
    """Whether a candidate may be what was meant instead of the chosen one."""
    is_far = one.operators != own.operators and one.cost - own.cost > FAR
    if is_far or (one.types and not own.types):
        return False
    return not (one.answers and own.answers) or differs(
        own.answers, one.answers, raised_exceptions(one.text)
    )


def differs(own: Sequence[str], other: Sequence[str], raised: frozenset[str]) -> bool:
    """Whether a rival answers some call otherwise than a repair: with another value, or with one
    of the exceptions that it is there to raise.

    Equal values of other types, as `1` and `True`, are no other behaviour. What only fails where
    the repair answers is no rival, and where one does not end nothing is known.
    """
    for mine, its in zip(own, other, strict=True):
        if mine == its or "" in (mine, its) or "~" in (mine, its):
            continue
        fails = its.startswith("!") and its[1:] not in raised
        if not fails and not _equal(mine, its):
            return True
    return False


def raised_exceptions(text: str) -> frozenset[str]:
    """The exceptions that a program raises by itself."""
    found = set()
    for node in readable_nodes(text):
        match node:
            case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
                found.add(name)
            case ast.Assert():
                found.add("AssertionError")
    return frozenset(found)


def _equal(one: str, other: str) -> bool:
    try:
        mine, its = literal_value(one), literal_value(other)
        return bool(mine == its) or (
            isinstance(mine, float) and isinstance(its, float) and math.isclose(mine, its)
        )
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False


def distinguishing_call(calls: Sequence[str], behaviours: Sequence[Sequence[str]]) -> int | None:
    """The place of the shortest call that sets the first behaviour apart from the second, if any
    does, and tells most of them apart; `None` where a person could not read any difference."""
    best: tuple[bool, int, int, int] | None = None
    if not all(behaviours):
        return None
    for place, call in enumerate(calls):
        answers = [one[place] for one in behaviours]
        if not all(map(is_readable, answers)):
            continue
        if all(one == answers[0] for one in answers):
            continue
        key = (answers[0] == answers[1], -len(set(answers)), len(call), place)
        best = key if best is None else min(best, key)
    return None if best is None else best[3]


def is_readable(answer: str) -> bool:
    """Whether an answer can be put to a person and become a test: a literal or an exception."""
    if len(answer) > LONGEST:
        return False
    if answer.startswith("!"):
        return is_exception(answer[1:])
    try:
        literal_value(answer)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return False
    return True


def is_exception(name: str) -> bool:
    """Whether Python itself has an exception of that name, which any test can name."""
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)
