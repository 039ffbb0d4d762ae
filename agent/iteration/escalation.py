"""Chooses the approach of the next iteration from the results of the earlier ones; pure.

The approaches form a ladder. An approach that makes progress is repeated; one that produces the
same program or failure again is left for the next. Every iteration counts, whatever it produced.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from agent.core.domain import Approach
from agent.core.state import Iteration, Stop

SUBMITTED: tuple[Approach, ...] = ("search", "minimal", "tournament", "rewrite", "fresh")
"""For a program that a user submitted, or that tests of the user specify."""
DRAFTED: tuple[Approach, ...] = ("minimal", "tournament", "search", "rewrite", "fresh")
"""For a program that a model wrote from a description: an edit of it is a guess too."""
SMALL: tuple[Approach, ...] = ("search", "minimal", "fresh")
"""For a small model: the search, then samples, then other drafts from the description."""
UNSURE = 0.3
"""Confidence of a diagnosis below which no small edit is requested."""
MAX_AGAIN = 2
"""Limit of iterations in a row with the same approach."""


@dataclass(frozen=True)
class RunSituation:
    """What the choice depends on besides the earlier iterations."""

    drafted: bool
    """A model wrote the program from a description, and tests of the user do not specify it."""
    has_model: bool
    may_search: bool
    most: int
    """Limit of iterations."""
    parallel: int
    """Candidates of a tournament; below 2 there is none."""
    confidence: float = 1.0
    """Of the newest diagnosis by a model."""
    suggested: Approach | None = None
    """The approach that this diagnosis suggests."""
    small: bool = False
    """The generator is a small model."""


@dataclass(frozen=True)
class NoMore:
    """No further iteration is started."""

    why: Stop


def next_approach(iterations: Sequence[Iteration], now: RunSituation) -> Approach | NoMore:
    """The approach of the next iteration, or why there is none."""
    if len(iterations) >= now.most:
        return NoMore("iterations")
    ladder = SMALL if now.small else DRAFTED if now.drafted else SUBMITTED
    approaches = [one for one in ladder if _can(one, now)]
    start = 0
    if iterations:
        last = iterations[-1].approach
        start = approaches.index(last) if last in approaches else 0
        if not _again(iterations):
            start += 1
        if _alternates(iterations) and "fresh" in approaches:
            start = max(start, approaches.index("fresh"))
    tried = {one.approach for one in iterations}
    # A suggestion is followed only up the ladder, and only if the debugger is confident.
    if now.suggested in set(approaches[start:]) - tried and now.confidence >= UNSURE:
        start = approaches.index(now.suggested)
    for one in approaches[start:]:
        if one == "search" and one in tried and not iterations[-1].refuted:
            continue
        if one == "minimal" and now.confidence < UNSURE and len(approaches[start:]) > 1:
            continue
        return one
    # At the end, try the approaches that a suggestion skipped.
    for one in approaches[:start]:
        if one not in tried and one != "search":
            return one
    return NoMore("stuck" if now.has_model else "no_model")


def _can(approach: Approach, now: RunSituation) -> bool:
    if approach == "search":
        return now.may_search
    return now.has_model and (approach != "tournament" or now.parallel > 1)


def _again(iterations: Sequence[Iteration]) -> bool:
    """Whether to repeat the newest approach: it made progress, or it is a first small edit that
    failed in a new way."""
    last = iterations[-1]
    if last.refuted:
        return True  # one more test is visible now
    if last.approach == "search" or not last.program:
        return False
    in_a_row = len([*takewhile(lambda one: one.approach == last.approach, reversed(iterations))])
    if in_a_row >= MAX_AGAIN or repeats(iterations):
        return False
    return last.better or last.approach == "minimal"


def repeats(iterations: Sequence[Iteration]) -> bool:
    """Whether the last iteration repeated the program or the failure of an earlier one."""
    *before, last = iterations
    programs = {one.program for one in before if one.program}
    signatures = {one.signature for one in before if one.signature}
    return last.program in programs or last.signature in signatures


def _alternates(iterations: Sequence[Iteration]) -> bool:
    """Whether iterations alternate between the same programs."""
    programs = [one.program for one in iterations if one.program]
    return len(programs) > 2 and programs[-1] in programs[:-2]
