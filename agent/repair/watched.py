"""Which plausible candidates let through what nobody has looked at: they rank behind the others."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import replace

from agent.repair.facts import Answer, Candidate, Question, Screen, Screened
from agent.repair.rank import ranked
from agent.repair.seen import Seen
from agent.repair.widening import changed_conditions, dropped_guards, turns_on_a_tests_literal

LONGEST = 20_000
"""Characters of a program whose candidates' conditions are tried."""
MOST = 24
"""Candidates of one offer whose conditions are tried, the likeliest first."""


def watched(
    state: Seen, kept: Sequence[Candidate]
) -> Generator[Question, Answer, tuple[Candidate, ...]]:
    """The candidates, best first, those marked that widen what is accepted: one side of a
    condition they changed can be had for nothing, a guard is gone, or they turn on a literal of
    the tests."""
    if len(kept) < 2 or len(state.source) > LONGEST:
        return tuple(kept)
    sides = [
        (place, text)
        for place, one in enumerate(kept[:MOST])
        for changed in changed_conditions(state.source, one.text)
        for text in (changed.always, changed.never)
    ]
    open_sides: set[int] = set()
    if sides:
        answers = yield Screen(tuple(text for _, text in sides), "early", state.progress())
        assert isinstance(answers, tuple)
        open_sides = {
            place for (place, _), seen in zip(sides, answers, strict=True)
            if isinstance(seen, Screened) and seen.ended == "ok"
        }
    marked = tuple(
        replace(one, widens=True)
        if place in open_sides or dropped_guards(state.source, one.text)
        or turns_on_a_tests_literal(state.source, one.text, state.facts.tests) else one
        for place, one in enumerate(kept)
    )
    state.plausible.update({one.text: one for one in marked})
    return ranked(marked)
