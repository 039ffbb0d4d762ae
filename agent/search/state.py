"""What a search has seen so far, and what it has to show for it."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from agent.search.edits import Edit
from agent.search.ranking.blindness import blindness, prints
from agent.search.ranking.rank import idle_operations, ranked
from agent.search.values import (
    Answer,
    Budget,
    Candidate,
    Examine,
    Facts,
    Findings,
    Question,
    Screen,
    Screened,
    Trace,
)
from agent.search.wording import edit_in_words

Steps = Generator[Question, Answer, None]

ADVANCE = 0.08
"""How much nearer the failing tests must come to passing, in tests, for a partial fix."""
KEPT_BONUS, BROKEN = 0.5, 1.0
"""What passing tests that stay so, or do not, add to a partial fix's score."""
KEPT = 60
"""Plausible candidates that are shown at once."""


@dataclass
class Partial:
    """A candidate that comes further than its base, and how it came to be."""

    candidate: Candidate
    score: float
    """Tests passed and parts of tests gained, less what it breaks."""
    did: str
    line: int
    operator: str
    """Of its last edit; `SYNTAX` where it is one of many that mend a text."""


class Slow(NamedTuple):
    """A candidate that did not end, and how many times the usual steps it was given."""

    candidate: Candidate
    edit: Edit
    patience: float


@dataclass
class SearchState:
    """What the search has seen so far."""

    source: str
    facts: Facts
    budget: Budget
    tried: int = 0
    accepted: bool = False
    seen: set[int] = field(default_factory=set)
    """Hashes of the texts that were tried, which together may be long."""
    plausible: dict[str, Candidate] = field(default_factory=dict)
    slow: list[Slow] = field(default_factory=list)
    """Candidates that did not end within their steps, and may not be endless."""
    waited: float = 0.0
    """How many times the usual steps were given, all in all, to candidates that are tried again."""
    offered: set[str] = field(default_factory=set)
    partials: list[Partial] = field(default_factory=list)
    grown: set[str] = field(default_factory=set)
    """Partial fixes that were tried with a further edit."""
    patience: float = 1.0
    """How many times the usual steps a candidate is given."""
    base: Screened = field(default_factory=lambda: Screened((), "lost"))
    """How the text that is now under repair does."""
    failing: frozenset[int] = frozenset()
    passing: frozenset[int] = frozenset()
    """The tests of that text, by their places."""
    base_passed: int = 0
    total: int = 0
    reached: frozenset[int] = frozenset()
    """Lines of the source that ran to their end."""
    calls: tuple[str, ...] = ()
    base_answers: tuple[str, ...] = ()

    @property
    def fresh(self) -> list[Candidate]:
        """Plausible candidates that were not offered yet."""
        return [one for one in self.plausible.values() if one.text not in self.offered]

    @property
    def spent(self) -> bool:
        return self.tried >= self.budget.candidates

    def findings(self, shown: Iterable[Candidate] | None = None) -> Findings:
        """All that was found, or some plausible ones of it, best first, with notes in words."""
        plausible = self.plausible.values() if shown is None else shown
        partial = self._best()
        return Findings(
            plausible=tuple(self._told(one) for one in ranked(plausible)[:KEPT]),
            calls=self.calls,
            base_answers=self.base_answers,
            partial=None if partial is None else self._told(partial),
            tried=self.tried,
            base_passed=self.base_passed,
            total=self.total,
        )

    def progress(self) -> Findings:
        """The findings without words, for questions that nobody may read."""
        return Findings(
            plausible=tuple(self.plausible.values())[:KEPT],
            partial=self._best(),
            tried=self.tried,
            base_passed=self.base_passed,
            total=self.total,
        )

    def _best(self) -> Candidate | None:
        """The partial fix that passes most tests, if those are more than the base passes."""
        best = max(
            (one.candidate for one in self.partials),
            key=lambda one: (one.passed, -one.cost),
            default=None,
        )
        return best if best is not None and best.passed > self.base_passed else None

    def _told(self, candidate: Candidate) -> Candidate:
        return replace(candidate, note=edit_in_words(self.source, candidate.text))


def note(
    state: SearchState,
    candidate: Candidate,
    edit: Edit,
    answer: Screened,
) -> None:
    checked = replace(candidate, passed=answer.score, types=answer.types, tried=state.tried)
    if answer.ended == "ok":
        blind = blindness(state.source, checked.text, state.facts.tests)
        if "silent" in checked.types:
            checked = replace(checked, types=())
            blind = "refused" if prints(state.source, state.reached) else blind
        if blind != "refused":
            idle = idle_operations(checked.text) > idle_operations(state.source)
            state.plausible[checked.text] = replace(checked, blind=bool(blind), idle=idle)
        return
    if answer.ended == "timeout":
        state.slow.append(Slow(checked, edit, state.patience))
    if answer.did and answer.did == state.base.did:
        return
    told_of = range(len(answer.passed))
    gained = sum(1 for index in told_of if index in state.failing and answer.passed[index])
    score = answer.progress(state.base, sorted(state.failing))
    if gained or score >= ADVANCE:
        marks = [answer.passed[index] for index in told_of if index in state.passing]
        score += KEPT_BONUS * all(marks) - BROKEN * (False in marks)
        state.partials.append(
            Partial(checked, score, answer.did, edit.splice.line, edit.operator)
        )


def examined(state: SearchState, text: str) -> Generator[Question, Answer, Trace]:
    answer = yield Examine(text, state.progress())
    assert isinstance(answer, Trace)
    return answer


def measured(state: SearchState, base: Candidate) -> Steps:
    """How the base fails, for what is an advance over it."""
    answers = yield Screen((base.text,), "fit", state.progress())
    assert isinstance(answers, tuple)
    state.tried += 1
    state.seen.add(hash(base.text))
    if answers[0] is not None:
        state.base = answers[0]
