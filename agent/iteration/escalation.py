"""Which way to a repair is taken next, from what the rounds so far came to; pure.

The ladder is climbed by what was seen: a way that comes nearer is taken again, one that repeats
itself, or fails in the same way, is left for the next, and the last step is the end. A round counts
whatever it produced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.domain import Approach
from agent.core.state import Iteration, Stop

SUBMITTED: tuple[Approach, ...] = ("search", "minimal", "tournament", "rewrite", "fresh")
"""For a program that a user submitted, or submitted tests for."""
DRAFTED: tuple[Approach, ...] = ("minimal", "tournament", "search", "rewrite", "fresh")
"""For a program that a model wrote from words: it is a guess, and so is an edit of it."""
SMALL: tuple[Approach, ...] = ("search", "minimal", "fresh")
"""For a small model: the search first, then samples, then other drafts of the words."""
UNSURE = 0.3
"""The confidence of a diagnosis below which no small edit is asked for."""
MAX_AGAIN = 2
"""Rounds in a row that go about it in the same way."""


@dataclass(frozen=True)
class RunSituation:
    """What is known beside the rounds."""

    drafted: bool
    """A model wrote the program from words, and tests of the user do not say what it does."""
    has_model: bool
    may_search: bool
    """Trusted tests say what the program does."""
    most: int
    """Rounds that are allowed."""
    parallel: int
    """Candidates of a tournament; below 2 there is none."""
    confidence: float = 1.0
    """Of the newest diagnosis by a model."""
    suggested: Approach | None = None
    """The way that this diagnosis would go."""
    small: bool = False
    """The model that repairs is a small one."""


@dataclass(frozen=True)
class NoMore:
    """No further round is tried."""

    why: Stop


def next_approach(rounds: Sequence[Iteration], now: RunSituation) -> Approach | NoMore:
    """The next way, or why there is none."""
    if len(rounds) >= now.most:
        return NoMore("iterations")
    all_ways = SMALL if now.small else DRAFTED if now.drafted else SUBMITTED
    ways = [one for one in all_ways if _can(one, now)]
    start = 0
    if rounds:
        last = rounds[-1]
        start = ways.index(last.approach) if last.approach in ways else 0
        if not _again(rounds):
            start += 1
        if _swings(rounds) and "fresh" in ways:
            start = max(start, ways.index("fresh"))
    tried = {one.approach for one in rounds}
    # Nobody climbs down by a word of the debugger's, nor is led by one who guesses.
    if now.suggested in set(ways[start:]) - tried and now.confidence >= UNSURE:
        start = ways.index(now.suggested)
    for way in ways[start:]:
        if way == "search" and way in tried and not rounds[-1].refuted:
            continue
        if way == "minimal" and now.confidence < UNSURE and len(ways[start:]) > 1:
            continue
        return way
    # What a word of the debugger's has passed over is tried before there is nothing left.
    for way in ways[:start]:
        if way not in tried and way != "search":
            return way
    return NoMore("stuck" if now.has_model else "no_model")


def _can(approach: Approach, now: RunSituation) -> bool:
    if approach == "search":
        return now.may_search
    return now.has_model and (approach != "tournament" or now.parallel > 1)


def _again(rounds: Sequence[Iteration]) -> bool:
    """Whether the newest round's way is worth another: it came nearer, or it is a first small edit
    that failed in a way of its own."""
    last = rounds[-1]
    if last.refuted:
        return True  # there is a test more to go by
    if last.approach == "search" or not last.program:
        return False
    in_a_row = 0
    for one in reversed(rounds):
        if one.approach != last.approach:
            break
        in_a_row += 1
    if in_a_row >= MAX_AGAIN or repeats(rounds):
        return False
    return last.better or last.approach == "minimal"


def repeats(rounds: Sequence[Iteration]) -> bool:
    """Whether the last iteration repeated the program, or the failure, of an earlier one."""
    *before, last = rounds
    programs = {one.program for one in before if one.program}
    signatures = {one.signature for one in before if one.signature}
    return last.program in programs or last.signature in signatures


def _swings(rounds: Sequence[Iteration]) -> bool:
    """Whether rounds go back and forth between the same programs."""
    programs = [one.program for one in rounds if one.program]
    return len(programs) > 2 and programs[-1] in programs[:-2]
