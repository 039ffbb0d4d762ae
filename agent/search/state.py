"""The state of a search, and the findings made of it."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from agent.search.edits import Edit
from agent.search.ranking.blindness import blindness, prints
from agent.search.ranking.rank import idle_operations, ranked
from agent.search.values import (
    Budget,
    Candidate,
    Facts,
    Findings,
    PrecheckRequest,
    PrecheckResult,
    SearchReply,
    SearchRequest,
    Trace,
    TraceRequest,
)
from agent.search.wording import edit_in_words

Steps = Generator[SearchRequest, SearchReply, None]

MIN_PROGRESS = 0.08
"""The least progress of a partial fix, in tests."""
KEEPS_BONUS, BREAKS_PENALTY = 0.5, 1.0
"""Added to a partial fix's score if it breaks no passing test, and subtracted if it breaks one."""
MAX_PLAUSIBLE = 60
"""Most plausible candidates in one report of the findings."""


@dataclass
class PartialFix:
    """A partial fix: a candidate that gets further than its base."""

    candidate: Candidate
    score: float
    """The progress of the failing tests, in tests, less what it breaks."""
    behaviour: str
    line: int
    operator: str
    """The operator of its last edit; `SYNTAX` for a repair of the syntax."""


class SlowCandidate(NamedTuple):
    """A candidate that exceeded its steps, and the factor by which these were raised."""

    candidate: Candidate
    edit: Edit
    limit_factor: float


@dataclass
class SearchState:
    """What a search has found so far."""

    source: str
    facts: Facts
    budget: Budget
    tried: int = 0
    accepted: bool = False
    prepare: Callable[[int], object] = lambda count: None
    """Generates a number of further edits in advance."""
    tried_hashes: set[int] = field(default_factory=set)
    """Hashes of the texts that were tried; the texts would need much memory."""
    plausible: dict[str, Candidate] = field(default_factory=dict)
    slow: list[SlowCandidate] = field(default_factory=list)
    """Candidates that exceeded their steps and may end with more."""
    retry_factors: float = 0.0
    """The sum of the factors by which the steps of repeated candidates were raised."""
    offered: set[str] = field(default_factory=set)
    partials: list[PartialFix] = field(default_factory=list)
    extended: set[str] = field(default_factory=set)
    """Partial fixes that were tried with a further edit."""
    limit_factor: float = 1.0
    """The factor by which the steps of each candidate are raised."""
    base: PrecheckResult = field(default_factory=lambda: PrecheckResult((), "lost"))
    """The pre-check of the text under repair."""
    failing: frozenset[int] = frozenset()
    passing: frozenset[int] = frozenset()
    """The indices of the tests that fail, and pass, with that text."""
    base_passed: int = 0
    total: int = 0
    completed_lines: frozenset[int] = frozenset()
    """Lines of the source that ran to their end."""
    calls: tuple[str, ...] = ()
    base_answers: tuple[str, ...] = ()

    @property
    def unoffered(self) -> list[Candidate]:
        """Plausible candidates that were not offered yet."""
        return [one for one in self.plausible.values() if one.text not in self.offered]

    @property
    def is_budget_spent(self) -> bool:
        return self.tried >= self.budget.candidates

    @property
    def is_over(self) -> bool:
        return self.accepted or self.is_budget_spent

    def findings(self, shown: Iterable[Candidate] | None = None) -> Findings:
        """The findings with descriptions of the edits; `shown` limits the plausible ones."""
        plausible = ranked(self.plausible.values() if shown is None else shown)[:MAX_PLAUSIBLE]
        found = self.progress()
        return replace(
            found, plausible=tuple(map(self._described, plausible)), calls=self.calls,
            base_answers=self.base_answers,
            partial=found.partial and self._described(found.partial),
        )

    def progress(self) -> Findings:
        """The findings without descriptions, unranked; cheap enough for every question."""
        return Findings(
            plausible=tuple(self.plausible.values())[:MAX_PLAUSIBLE], partial=self._best(),
            tried=self.tried, base_passed=self.base_passed, total=self.total,
        )

    def _best(self) -> Candidate | None:
        """The partial fix that passes the most tests, if it passes more than the base."""
        best = max(
            (one.candidate for one in self.partials), key=lambda one: (one.passed, -one.cost),
            default=None,
        )
        return best if best is not None and best.passed > self.base_passed else None

    def _described(self, candidate: Candidate) -> Candidate:
        return replace(candidate, note=edit_in_words(self.source, candidate.text))


def record(state: SearchState, candidate: Candidate, edit: Edit, answer: PrecheckResult) -> None:
    """Records a pre-checked candidate as plausible, slow or a partial fix, or discards it."""
    checked = replace(candidate, passed=answer.score, types=answer.types, tried=state.tried)
    if answer.outcome == "ok":
        blind = blindness(state.source, checked.text, state.facts.tests)
        if "silent" in checked.types:
            checked = replace(checked, types=())
            blind = "refused" if prints(state.source, state.completed_lines) else blind
        if blind != "refused":
            idle = idle_operations(checked.text) > idle_operations(state.source)
            state.plausible[checked.text] = replace(checked, blind=bool(blind), idle=idle)
        return
    if answer.outcome == "timeout":
        state.slow.append(SlowCandidate(checked, edit, state.limit_factor))
    if answer.behaviour and answer.behaviour == state.base.behaviour:
        return
    passed = dict(enumerate(answer.passed))
    score = answer.progress(state.base, sorted(state.failing))
    if any(
        mark and index in state.failing for index, mark in passed.items()
    ) or score >= MIN_PROGRESS:
        kept = [mark for index, mark in passed.items() if index in state.passing]
        score += KEEPS_BONUS * all(kept) - BREAKS_PENALTY * (False in kept)
        state.partials.append(
            PartialFix(checked, score, answer.behaviour, edit.splice.line, edit.operator)
        )


def ask_trace(state: SearchState, text: str) -> Generator[SearchRequest, SearchReply, Trace]:
    """Asks for the trace of a text."""
    answer = yield TraceRequest(text, state.progress())
    assert isinstance(answer, Trace)
    return answer


def check_base(state: SearchState, base: Candidate) -> Steps:
    """Pre-checks the base, for comparison with its candidates."""
    answers = yield PrecheckRequest((base.text,), "fit", state.progress())
    assert isinstance(answers, tuple)
    state.tried += 1
    state.tried_hashes.add(hash(base.text))
    if answers[0] is not None:
        state.base = answers[0]
