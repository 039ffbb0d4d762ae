"""Chooses the approach of the next iteration from the results of the earlier ones; pure.

The approaches form a ladder, tried in order. One that makes progress is repeated; if one produces
the same program or failure again, the next is tried. Every iteration counts towards the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from agent.core.domain import Approach
from agent.core.state import Iteration, Stop

SUBMITTED_LADDER: tuple[Approach, ...] = ("search", "minimal", "tournament", "rewrite", "fresh")
"""For a program that a user submitted, or that tests of the user specify."""
DRAFT_LADDER: tuple[Approach, ...] = ("minimal", "tournament", "search", "rewrite", "fresh")
"""For a program that a model wrote from a description: an edit of it is a guess too."""
SMALL_MODEL_LADDER: tuple[Approach, ...] = ("search", "minimal", "fresh")
"""For a small model: the search, then samples, then other drafts from the description."""
MIN_CONFIDENCE = 0.3
"""Confidence of a diagnosis below which no small edit is requested."""
MAX_REPEATS = 2
"""Limit of iterations in a row with the same approach."""


@dataclass(frozen=True)
class RunSituation:
    """What the choice depends on besides the earlier iterations."""

    unspecified_draft: bool
    """A model wrote the program from a description, and tests of the user do not specify it."""
    has_model: bool
    may_search: bool
    max_iterations: int
    """Limit of iterations."""
    parallel_repairs: int
    """Candidates of a tournament; below 2 there is none."""
    confidence: float = 1.0
    """Of the newest diagnosis by a model."""
    suggested: Approach | None = None
    """The approach that this diagnosis suggests."""
    small_model: bool = False
    """The generator is a small model."""


@dataclass(frozen=True)
class Exhausted:
    """No further iteration is started."""

    why: Stop


def next_approach(iterations: Sequence[Iteration], situation: RunSituation) -> Approach | Exhausted:
    """The approach of the next iteration, or why there is none."""
    if len(iterations) >= situation.max_iterations:
        return Exhausted("iterations")
    ladder = DRAFT_LADDER if situation.unspecified_draft else SUBMITTED_LADDER
    ladder = SMALL_MODEL_LADDER if situation.small_model else ladder
    approaches = [one for one in ladder if _is_possible(one, situation)]
    start = 0
    if iterations:
        last = iterations[-1].approach
        start = approaches.index(last) if last in approaches else 0
        if not _should_repeat(iterations):
            start += 1
        if _alternates(iterations) and "fresh" in approaches:
            start = max(start, approaches.index("fresh"))
    tried = {one.approach for one in iterations}
    # A suggestion may skip approaches, not go back, and needs a confident debugger.
    confident = situation.confidence >= MIN_CONFIDENCE
    if situation.suggested in set(approaches[start:]) - tried and confident:
        start = approaches.index(situation.suggested)
    for one in approaches[start:]:
        if one == "search" and one in tried and not iterations[-1].refuted:
            continue
        if one == "minimal" and not confident and len(approaches[start:]) > 1:
            continue
        return one
    # At the end, try the approaches that a suggestion skipped.
    for one in approaches[:start]:
        if one not in tried and one != "search":
            return one
    return Exhausted("stuck" if situation.has_model else "no_model")


def _is_possible(approach: Approach, situation: RunSituation) -> bool:
    if approach == "search":
        return situation.may_search
    return situation.has_model and (approach != "tournament" or situation.parallel_repairs > 1)


def _should_repeat(iterations: Sequence[Iteration]) -> bool:
    """Whether to repeat the newest approach: it made progress, or it is a first small edit that
    failed in a new way."""
    last = iterations[-1]
    if last.refuted:
        return True  # one more test is visible now
    if last.approach == "search" or not last.program:
        return False
    in_a_row = len([*takewhile(lambda one: one.approach == last.approach, reversed(iterations))])
    if in_a_row >= MAX_REPEATS or repeats(iterations):
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
