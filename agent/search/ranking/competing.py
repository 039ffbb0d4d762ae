"""Competing patches: repairs that behave differently, and a call that distinguishes them."""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.trees import literal_value, nodes_or_empty
from agent.search.ranking.rank import weight
from agent.search.values import Candidate

MOST = 3
"""Behaviours in one question to a person."""
MAX_EXTRA_COST = 1.2
"""How much more a competing patch by another operator may cost than the chosen one."""
LONGEST = 200
"""Characters of an answer that a person is asked to read; longer ones may be cut off."""


@dataclass(frozen=True)
class Cluster:
    """Candidates with the same answers to all calls; the first is the likeliest."""

    candidates: tuple[Candidate, ...]

    @property
    def best(self) -> Candidate:
        return self.candidates[0]

    @property
    def answers(self) -> tuple[str, ...]:
        return self.best.answers


def clusters(candidates: Sequence[Candidate], chosen: str) -> tuple[Cluster, ...]:
    """Groups candidates by their answers; a candidate that was not probed forms its own group.

    Returns the group of the text `chosen`, led by it, and those of its competing patches, ranked;
    nothing if it is not among the candidates. Much costlier candidates do not compete with it, nor
    do those whose answers differ only by type or by an unintended exception.
    """
    groups: dict[tuple[str, ...] | str, list[Candidate]] = {}
    for candidate in sorted(candidates, key=lambda one: (weight(one), one.text)):
        groups.setdefault(candidate.answers or candidate.text, []).append(candidate)
    for key, group in groups.items():
        if any(one.text == chosen for one in group):
            own = sorted(group, key=lambda one: one.text != chosen)
            others = [other for name, other in groups.items() if name != key]
            return (
                Cluster(tuple(own)),
                *(Cluster(tuple(one)) for one in others if _competing(one[0], own[0])),
            )
    return ()


def _competing(one: Candidate, own: Candidate) -> bool:
    """Whether a candidate competes with the chosen one."""
    is_far = one.operators != own.operators and one.cost - own.cost > MAX_EXTRA_COST
    if is_far or (one.types and not own.types):
        return False
    return not (one.answers and own.answers) or differs(
        own.answers, one.answers, raised_exceptions(one.text)
    )


def differs(own: Sequence[str], other: Sequence[str], raised: frozenset[str]) -> bool:
    """Whether another patch answers some call with an unequal value or with an intended exception.

    Timeouts and calls that were not made are ignored, and so are exceptions that are not among
    those `raised` by the other patch itself. `1` and `True` do not differ.
    """
    for mine, its in zip(own, other, strict=True):
        if mine == its or "" in (mine, its) or "~" in (mine, its):
            continue
        fails = its.startswith("!") and its[1:] not in raised
        if not fails and not _equal(mine, its):
            return True
    return False


def raised_exceptions(text: str) -> frozenset[str]:
    """The exceptions that a program raises by `raise` or `assert`."""
    found = set()
    for node in nodes_or_empty(text):
        match node:
            case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
                found.add(name)
            case ast.Assert():
                found.add("AssertionError")
    return frozenset(found)


def _equal(one: str, other: str) -> bool:
    mine, its = answer_literal(one), answer_literal(other)
    if mine is None or its is None:
        return False
    return mine == its or (
        isinstance(mine[0], float) and isinstance(its[0], float) and math.isclose(mine[0], its[0])
    )


def answer_literal(answer: str) -> tuple[object] | None:
    """The value of an answer in a one-tuple; `None` for an answer that is no literal."""
    try:
        return (literal_value(answer),)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def distinguishing_call(calls: Sequence[str], behaviours: Sequence[Sequence[str]]) -> int | None:
    """The index of the call that best distinguishes behaviours, given by their answers to `calls`.

    Prefers a call that separates the first two behaviours, then one that separates the most, then a
    short one. `None` if a person could read no difference.
    """
    if not all(behaviours):
        return None
    keys = []
    for place, (call, *answers) in enumerate(zip(calls, *behaviours, strict=False)):
        # Answers that a test cannot distinguish count as one: 1 and 1.0 do, 1 and True do not.
        firsts = [
            next(other for other in answers if other == one or (
                _equal(other, one) and {one, other}.isdisjoint({"True", "False", "None"})
            )) for one in answers
        ]
        if all(map(is_readable, answers)) and len(set(firsts)) > 1:
            keys.append((firsts[0] == firsts[1], -len(set(firsts)), len(call), place))
    return min(keys)[3] if keys else None


def is_readable(answer: str) -> bool:
    """Whether a person can read an answer, and a test can expect it: a literal or an exception."""
    if len(answer) > LONGEST:
        return False
    if answer.startswith("!"):
        return is_exception(answer[1:])
    return answer_literal(answer) is not None


def is_exception(name: str) -> bool:
    """Whether a name is that of a built-in exception."""
    kind = getattr(builtins, name, None)
    return isinstance(kind, type) and issubclass(kind, BaseException)
