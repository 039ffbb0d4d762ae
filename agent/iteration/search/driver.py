"""Drives the search for a repair: its questions go to the tests, its winners to the judge.

Each suspect file has a search of its own; a program of one file has one. They take turns: the one
goes on that has worked least for how likely the fault lies in its file. Once something passes every
test, the files that are as suspect are searched a little longer for rivals; then the judge sees
what was offered, the likeliest first, and the first that it confirms counts.
"""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol

from agent.core.domain import Alternative, Alternatives, Report, Solution
from agent.core.events import Searched
from agent.core.trees import tree_of
from agent.search.confidence.features import Situation
from agent.search.confidence.model import estimated
from agent.search.edits import PER_SUSPICION
from agent.search.precheck.batches import ProcessorTime
from agent.search.project.suspects import Suspect
from agent.search.ranking.competing import MOST as MAX_COMPETING
from agent.search.ranking.competing import clusters
from agent.search.ranking.rank import ranked, weight
from agent.search.search import search
from agent.search.syntax import compiles
from agent.search.values import (
    Answer,
    Budget,
    Candidate,
    Examine,
    Facts,
    Findings,
    Offer,
    Probe,
    Probed,
    Question,
    Screen,
    Screened,
    Trace,
)
from agent.search.wording import edit_in_words

PROGRESS_S = 0.2
WALL_TIMES = 8.0
"""How much longer than its processor seconds a search may take: on two processors with a dozen
other programs it takes less."""
MAX_VERIFIED = 8
"""Winners that are put before the judge at a time."""
COMPETING_SHARE, COMPETING_S = 0.3, 1.0
"""How much longer other files are searched once something passes: a share of the work so far, and
at least so many processor seconds."""
COMPETING_JUDGED_S = 15.0
"""The seconds in which the judging of a rival is begun."""
AS_SUSPECT = 0.5
"""Of the suspicion of the file that has something: whose file has less is not waited for."""
LEAST_SUSPICION = 0.05
BEGINNING_S = 0.5
"""What it takes about to watch the tests run one file's lines."""

Values = tuple[tuple[str, str], ...]
Verify = Callable[[Solution], Awaitable[Report]]
Progress = Callable[[Searched], object]
"""Hears how far a search has come."""


class TimeIsOver(Exception):
    """The outer limit of a search came while it waited for an answer."""


class NothingToSearch(Exception):
    """The tests give a search nothing to go by; the message says why."""


@dataclass
class SearchLimits:
    """What a search may take.

    `budget_s` are processor seconds, of the jailed processes and of the listing of edits: who else
    uses the machine makes a search slower and cuts it no earlier. `wall_s` is an outer limit.
    """

    budget_s: float
    wall_s: float
    max_candidates: int
    work: ProcessorTime = field(default_factory=ProcessorTime)

    def __post_init__(self) -> None:
        self.end = time.monotonic() + self.wall_s

    @property
    def left_s(self) -> float:
        """Seconds until the outer limit."""
        return self.end - time.monotonic()

    @asynccontextmanager
    async def bounding(self) -> AsyncIterator[None]:
        """Ends what is done inside by a `TimeIsOver` at the outer limit."""
        try:
            async with asyncio.timeout(self.left_s) as clock:
                yield
        except TimeoutError:
            if not clock.expired():
                raise
            raise TimeIsOver from None

    @property
    def spent(self) -> bool:
        return self.work.spent_s > self.budget_s or self.left_s < 0


class Runner(Protocol):
    """Runs the tests on other texts of the files of a program; what it says is no verdict."""

    beyond: int
    """Candidates of a file that are still tried after its first that passes every test."""
    chunk: int
    """Candidates that are asked about at once."""
    facts: Facts

    @property
    def files(self) -> Mapping[str, str]:
        """The texts under repair."""

    @property
    def suspects(self) -> Sequence[Suspect]:
        """The files in which the fault may lie, the likeliest first."""

    async def trace(self, file: str, text: str) -> Trace: ...

    async def screen(
        self, file: str, question: Screen, over: Callable[[], bool]
    ) -> Sequence[Screened | None]: ...

    async def probe(self, file: str, texts: Sequence[str], calls: Sequence[str]) -> Probed: ...


@dataclass(frozen=True)
class SearchResult:
    """What a search came to; `solution` has passed the judge."""

    solution: Solution | None
    candidates: int
    partial: Solution | None = None
    """The best that passes more tests than the base, but not all."""
    alternatives: Alternatives | None = None
    """Behaviours that pass every test too; `None` where there is no other."""
    cut_after: float | None = None
    """Processor seconds after which the limits cut the search; `None` where it came to its end."""
    work_s: float = 0.0
    """Processor seconds it took, without the judge's."""
    suspects: tuple[Suspect, ...] = ()
    """The files that were searched, the likeliest first."""
    first_s: float = 0.0
    """Seconds until the first candidate was tried."""
    problem: str = ""
    """Why nothing could be searched."""
    moments: Mapping[str, tuple[int | None, Values]] = field(default_factory=dict)
    """For each file looked at, its last line on the way to the first failure, and what was held
    there."""


async def search_repair(
    opening: AbstractAsyncContextManager[Runner], base: Solution, limits: SearchLimits, *,
    progress: Progress, verify: Verify,
) -> SearchResult:
    """Searches until a candidate passes the judge, the limits are reached, or nothing is left.

    `opening` gives what runs the tests. After the limits only the best found is still judged.
    """
    try:
        async with opening as runner:
            return await _Search(runner, base, limits, progress, verify).run()
    except NothingToSearch as error:
        return SearchResult(None, 0, problem=str(error))
    except TimeIsOver:
        return SearchResult(None, 0, cut_after=round(limits.work.spent_s, 3))


@dataclass
class _FileSearch:
    """One file's search on its way."""

    suspect: Suspect
    steps: Generator[Question, Answer, Findings]
    answer: Answer = None
    findings: Findings = field(default_factory=Findings)
    spent_s: float = 0.0
    is_answered: bool = True
    """The search has not gone on yet from its last answer."""
    done: bool = False
    is_close: bool = False
    """Something passes every test that it was screened by, and was not offered yet."""
    waits: bool = False
    """It has offered something, and goes on only if none of that is confirmed."""

    @property
    def turn(self) -> tuple[bool, float]:
        """Who has least goes on; one that would have to begin is counted as having begun."""
        share = max(LEAST_SUSPICION, self.suspect.suspicion) ** 2
        return not self.is_close, (self.spent_s or BEGINNING_S) / share


@dataclass
class _Search:
    """All files' searches, what they are driven with, and what came of them."""

    runner: Runner
    base: Solution
    limits: SearchLimits
    progress: Progress
    verify: Verify
    started: float = field(default_factory=time.monotonic)
    searches: list[_FileSearch] = field(default_factory=list)
    left: bool = False
    """The search was cancelled."""
    tried: int = 0
    first_s: float = 0.0
    progress_at: float = 0.0
    plausible_shown: bool = False
    """Whether a candidate that passes every test was reported."""
    cut_after: float | None = None
    judged: set[tuple[str, str]] = field(default_factory=set)
    """Files and texts that the judge has seen."""
    found: tuple[Solution, Alternatives | None] | None = None
    moments: dict[str, tuple[int | None, Values]] = field(default_factory=dict)
    pool: list[tuple[float, _FileSearch, Candidate]] = field(default_factory=list)
    """What was offered and waits for rivals: how unlikely it is, its file, itself."""
    most_suspect: float = 0.0
    """The suspicion of the likeliest file that has offered something."""
    until_s: float = 0.0
    """The work at which rivals are waited for no longer."""
    went_beyond: bool = False
    """The judge was asked once more when the time was over."""

    def over(self) -> bool:
        """Whether no more is to be tried."""
        return self.left or self.found is not None or self.limits.spent

    async def run(self) -> SearchResult:
        for suspect in self.runner.suspects:
            text = self.runner.files[suspect.file]
            protected = await asyncio.to_thread(_own_asserts, text)
            self.searches.append(_FileSearch(suspect, search(
                text, replace(self.runner.facts, protected=protected), Budget(
                    candidates=self.limits.max_candidates, over=self.over,
                    beyond=self.runner.beyond, chunk=self.runner.chunk,
                ),
            )))
        try:
            await self._take_turns()
        finally:
            self.left = True  # the thread that lists edits sees it, and stops
        # More time helps only where candidates are left, and not their own cap ended the search.
        if self.found is None and self.tried < self.limits.max_candidates and not all(
            one.done for one in self.searches
        ):
            self.cut_after = round(self.limits.work.spent_s, 3)
        for one in self.searches:
            # The time ran out between finding and offering: what was found is still verified.
            if self.found is None and one.is_close:
                if one.is_answered:
                    await asyncio.to_thread(_advanced, one, self.limits.work)
                self._offered(one)
        if self.found is None and self.pool:
            await self._settle()
        self._show_progress(last=True)
        solution, alternatives = self.found or (None, None)
        partials = [
            (one.findings.partial, one) for one in self.searches if one.findings.partial is not None
        ]
        partial = max(partials, key=lambda it: (it[0].passed, -it[0].cost), default=None)
        return SearchResult(
            solution, self.tried,
            None if partial is None else self._solution(partial[1], partial[0]),
            alternatives, self.cut_after, self.limits.work.spent_s, tuple(self.runner.suspects),
            self.first_s, moments=self.moments,
        )

    async def _take_turns(self) -> None:
        while not self.over():
            waiting = [one for one in self.searches if not one.done and self._goes_on(one)]
            if waiting:
                try:
                    await self._step(min(waiting, key=lambda one: one.turn))
                except TimeIsOver:
                    return
            elif self.pool:
                await self._settle()
            else:
                return

    def _goes_on(self, one: _FileSearch) -> bool:
        """Whether a search still has its turns: all have until one offers something, or as many
        were tried as may be."""
        if self.tried >= self.limits.max_candidates:
            return one.is_close
        if not self.pool:
            return True
        near = one.suspect.suspicion >= AS_SUSPECT * self.most_suspect
        return one.is_close or (
            near and not one.waits and self.limits.work.spent_s < self.until_s
        )

    async def _step(self, one: _FileSearch) -> None:
        work = self.limits.work
        before_s = work.spent_s
        question = await asyncio.to_thread(_advanced, one, work)
        one.done = question is None and not self.over()  # what is over ends before its last stage
        self._show_progress()
        # What is offered is judged in the time kept for it.
        if question is not None and (isinstance(question, Offer) or not self.over()):
            one.answer, one.is_answered = await self._answered(one, question), True
        one.spent_s += work.spent_s - before_s

    async def _answered(self, one: _FileSearch, question: Question) -> Answer:
        file = one.suspect.file
        base = self.runner.files[file]
        match question:
            case Examine(text=text):
                async with self.limits.bounding():
                    seen = await self.runner.trace(file, text)
                if text == base:
                    self._keep_moment(file, seen)
                return seen
            case Probe(texts=texts, calls=calls):
                async with self.limits.bounding():
                    return await self.runner.probe(file, texts, calls)
            case Screen(candidates=texts):
                self.first_s = self.first_s or time.monotonic() - self.started
                answers = tuple(await self.runner.screen(file, question, self.over))
                self.tried += sum(
                    answer is not None and text != base
                    for text, answer in zip(texts, answers, strict=True)
                )
                one.is_close |= any(answer and answer.ended == "ok" for answer in answers)
                return answers
            case Offer():
                one.is_close = False
                self._offered(one)
                return False

    def _offered(self, one: _FileSearch) -> None:
        """Keeps the best candidates of a file for the judge."""
        work_s = self.limits.work.spent_s
        if not self.pool:
            self.until_s = work_s + max(COMPETING_S, COMPETING_SHARE * work_s)
        self.most_suspect = max(self.most_suspect, one.suspect.suspicion)
        one.waits = True
        less_likely = PER_SUSPICION * (1.0 - one.suspect.suspicion)
        file = one.suspect.file
        self.pool += [
            (weight(candidate) + less_likely, one, candidate)
            for candidate in ranked(estimated(one.findings.plausible, Situation(
                self.runner.files[file], self.runner.facts.tests, one.findings.base_answers,
            )))  # candidates cut off by the time limit have no estimate yet
            if (file, candidate.text) not in self.judged
        ]

    async def _settle(self) -> None:
        """Asks the judge about what was offered, the likeliest first."""
        pool = sorted(self.pool, key=lambda it: (it[0], it[1].suspect.file, it[2].text))
        self.pool = []
        for place, (_, one, candidate) in enumerate(pool[:MAX_VERIFIED]):
            if not self._may_judge():
                break
            self.judged.add((one.suspect.file, candidate.text))
            solution = self._solution(one, candidate)
            if (await self.verify(solution)).passed:
                rest = [
                    self._solution(other, further) for _, other, further in pool[place + 1 :]
                ]
                self.found = solution, await self._alternatives(one, candidate, solution, rest)
                return
        for one in self.searches:
            one.waits = False

    def _may_judge(self) -> bool:
        """Whether there is time for the judge: it may be asked once beyond the limit."""
        if self.limits.left_s >= 0:
            return True
        is_first, self.went_beyond = not self.went_beyond, True
        return is_first

    async def _alternatives(
        self, one: _FileSearch, chosen: Candidate, solution: Solution, rest: Sequence[Solution]
    ) -> Alternatives | None:
        """Other behaviours that pass the tests as far as is known, each with its likeliest
        repair; the judge has confirmed as many as a person is shown, time allowing. Where no call
        was made that could tell them apart, only those count that it has confirmed."""
        until = time.monotonic() + min(COMPETING_JUDGED_S, max(0.0, self.limits.left_s))
        calls = one.findings.calls
        own = Alternative(solution=solution, note=solution.note, confirmed=True)
        others = [Alternative(solution=it, note=it.note) for it in rest[: MAX_COMPETING - 1]]
        if calls:
            known = clusters(one.findings.plausible, chosen.text)
            own = own.model_copy(update={"answers": known[0].answers})
            others = [
                Alternative(
                    solution=self._solution(one, it.best), note=it.best.note, answers=it.answers
                )
                for it in known[1:] if (one.suspect.file, it.best.text) not in self.judged
            ]
        every = await confirmed_alternatives(
            Alternatives(calls=calls, behaviours=(own, *others)), self.verify,
            lambda: time.monotonic() > until,
        )
        kept = tuple(it for it in every.behaviours if it.confirmed or calls)
        return every.model_copy(update={"behaviours": kept}) if len(kept) > 1 else None

    def _solution(self, one: _FileSearch, candidate: Candidate) -> Solution:
        file = one.suspect.file
        note = candidate.note or edit_in_words(self.runner.files[file], candidate.text)
        return self.base.with_file(
            file, candidate.text, origin="search", estimate=candidate.estimate,
            note=f"{note} ({file})" if len(self.runner.files) > 1 else note,
        )

    def _keep_moment(self, file: str, seen: Trace) -> None:
        """What the first test that fails in a file held where it did."""
        failing = [one for one in seen.tests if not one.passed]
        for one in sorted(failing, key=lambda one: one.line is None):
            if one.line is not None or one.values:
                self.moments[file] = one.line, one.values
                return

    def _show_progress(self, last: bool = False) -> None:
        now = time.monotonic()
        seen = [one.findings for one in self.searches]
        plausible = sum(len(one.plausible) for one in seen)
        is_first = bool(plausible) and not self.plausible_shown
        total = max((one.total for one in seen), default=0)
        if not last and (not total or (now - self.progress_at < PROGRESS_S and not is_first)):
            return
        self.progress_at = now
        self.plausible_shown = bool(plausible)
        best = max([0, *(
            max(one.base_passed, one.partial.passed if one.partial else 0) for one in seen
        )])
        self.progress(Searched(
            candidates=self.tried, plausible=plausible,
            best_passed=total if plausible else best, total=total,
            wall_s=now - self.started, cut_after=self.cut_after,
        ))


async def confirmed_alternatives(
    every: Alternatives, verify: Verify, is_over: Callable[[], bool]
) -> Alternatives:
    """The behaviours without those that the judge refutes; as many are put before it as a person
    is shown, until it is over. The others stay as they are."""
    settled: list[Alternative] = []
    waiting = [*every.behaviours]
    while waiting and len(settled) < MAX_COMPETING and not is_over():
        one = waiting.pop(0)
        if one.confirmed:
            settled.append(one)
        elif (await verify(one.solution)).passed:
            settled.append(one.model_copy(update={"confirmed": True}))
    return every.model_copy(update={"behaviours": (*settled, *waiting)})


def _advanced(one: _FileSearch, work: ProcessorTime) -> Question | None:
    """The search's next question, if it has one; what it has found is kept. It thinks in a thread
    of its own, since listing thousands of edits would hold up everyone else."""
    began = time.thread_time()
    one.is_answered = False
    try:
        question = one.steps.send(one.answer)
        one.findings = question.so_far
        return question
    except StopIteration as stop:
        one.findings = stop.value
        return None
    finally:
        work.spent_s += time.thread_time() - began


def _own_asserts(text: str) -> tuple[tuple[int, int], ...]:
    """Lines of asserts at module level: they are tests and are never edited."""
    if not compiles(text):
        return ()
    return tuple(
        (node.lineno, node.end_lineno or node.lineno)
        for node in tree_of(text).body
        if isinstance(node, ast.Assert)
    )
