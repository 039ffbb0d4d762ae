"""Drives the search for a repair: its questions go to the sandbox, its winners to the judge."""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import cast

from agent.core.domain import Alternative, Alternatives, Report, Solution, Task, TestCase
from agent.core.events import Searched
from agent.core.trees import tree_of
from agent.healing.screenings import SearchCache
from agent.repair.confidence.features import Situation
from agent.repair.confidence.model import estimated
from agent.repair.facts import (
    Answer,
    Budget,
    Candidate,
    Examine,
    Facts,
    Findings,
    Offer,
    Probe,
    Question,
    Screen,
    Screened,
    Trace,
)
from agent.repair.ranking.rank import ranked
from agent.repair.ranking.rivals import MOST as MOST_RIVALS
from agent.repair.ranking.rivals import clusters
from agent.repair.screening.batches import ProcessorTime
from agent.repair.screening.cases import by_case
from agent.repair.screening.screening import Screener, screening
from agent.repair.screening.tracing import hanging, trace
from agent.repair.search import search
from agent.repair.syntax import compiles
from agent.repair.wording import edit_in_words
from sandbox.sandbox import Sandbox

PROGRESS_S = 0.2
WALL_TIMES = 8.0
"""How much longer than its processor seconds a search may take: on two processors with a dozen
other programs it takes less."""
MOST_VERIFIED = 8
"""Winners of one offer that are put before the judge."""

Verify = Callable[[Solution], Awaitable[Report]]


@dataclass(frozen=True)
class SearchResult:
    """What a search came to; `solution` has passed the judge."""

    solution: Solution | None
    candidates: int
    partial: Solution | None = None
    alternatives: Alternatives | None = None
    """Behaviours that pass every test too; `None` where there is no other."""
    cut_after: float | None = None
    """Processor seconds after which the budget cut the search; `None` where it came to its end."""
    work_s: float = 0.0
    """Processor seconds it took, without the judge's."""


Progress = Callable[[Searched], object]
"""Hears how far a search has come."""


async def search_repair(
    task: Task,
    base: Solution,
    tests: Sequence[TestCase],
    report: Report,
    sandbox: Sandbox,
    *,
    budget_s: float,
    max_candidates: int,
    progress: Progress,
    verify: Verify,
    known: SearchCache | None = None,
    wall_s: float | None = None,
    together: bool = False,
) -> SearchResult:
    """Searches until a candidate passes the judge, the budget is spent, or nothing is left.

    `budget_s` are processor seconds, of the jailed processes and of the listing of edits: who else
    uses the machine makes a search slower and cuts it no earlier. `wall_s` is an outer limit, by
    default several times as long. After either only the best found is still judged.

    A base that does not compile is screened against the same tests as any other. `known` is what
    an earlier search of the run has seen.
    """
    outer_s = budget_s * WALL_TIMES if wall_s is None else wall_s
    known = known or SearchCache()
    tests, report = by_case(tests, report)
    known.begin(base, tests)
    driver = _Driver(
        task, base, tests, report, sandbox, budget_s, time.monotonic() + outer_s, progress, verify,
        known, hanging(tests, report), ProcessorTime(), together,
    )
    protected = await asyncio.to_thread(_own_asserts, base.text)
    return await driver.run(protected, Budget(candidates=max_candidates, over=driver.over))


@dataclass
class _Driver:
    """One search, what it is driven with, and what came of it."""

    task: Task
    base: Solution
    tests: Sequence[TestCase]
    report: Report
    sandbox: Sandbox
    budget_s: float
    end: float
    progress: Progress
    verify: Verify
    known: SearchCache
    hanging: frozenset[int]
    work: ProcessorTime
    together: bool = False
    """Tests are known to fail together with others alone."""
    started: float = field(default_factory=time.monotonic)
    left: bool = False
    """Whoever waited for the search has gone."""
    progress_at: float = 0.0
    plausible_shown: bool = False
    """Whether it was told that something passes every test."""
    cut_after: float | None = None
    judged: set[str] = field(default_factory=set)
    """Texts the judge has seen."""
    found: SearchResult | None = None
    seen: Trace | None = None
    """What each test of the base does, where that compiles."""
    latest: Findings = field(default_factory=Findings)

    def over(self) -> bool:
        """Whether no more is to be tried."""
        return self.left or self._spent()

    def _spent(self) -> bool:
        return self.work.spent_s >= self.budget_s or time.monotonic() > self.end

    async def run(self, protected: tuple[tuple[int, int], ...], budget: Budget) -> SearchResult:
        try:
            if await self._screens(protected, budget):
                await self._screens(protected, budget)
        finally:
            self.left = True  # the thread that lists edits sees it, and stops
        self._show_progress(last=True)
        if self.found is None and self.latest.plausible:
            # The time ran out between finding and offering: what was found is still verified.
            await self._verified(self.latest)
        found = self.found or self._unfound()
        return replace(found, cut_after=self.cut_after, work_s=self.work.spent_s)

    async def _screens(self, protected: tuple[tuple[int, int], ...], budget: Budget) -> bool:
        """Searches, unless tests that the judge saw pass cannot pass where candidates are screened,
        for they start processes or take long: these are left to the judge, and the search is to
        begin again."""
        try:
            async with asyncio.timeout(self.end - time.monotonic()):
                self.seen = await self._seen()
        except TimeoutError:
            self._cut(True)
            return False
        async with screening(
            self.task, self.base, self.tests, self.sandbox, hanging=self.hanging, work=self.work,
            together=self.seen is not None and self.seen.together,
        ) as screener:
            try:
                async with asyncio.timeout(self.end - time.monotonic()):
                    baseline = await screener.baseline()
            except TimeoutError:
                self._cut(True)
                return False
            fit = [
                test for place, test in enumerate(self.tests)
                if baseline.is_screenable(place) or not self._is_passed(test)
            ]
            if len(fit) < len(self.tests):
                self.budget_s += self.work.spent_s  # what the others took is not the search's
                self.tests, self.hanging = fit, hanging(fit, self.report)
                self.known.begin(self.base, fit)
                return True
            facts = Facts(tests=tuple(test.code for test in self.tests), protected=protected)
            await self._driven(search(self.base.text, facts, budget), screener)
            return False

    async def _seen(self) -> Trace | None:
        """What one run of each test of the base shows; none where it does not compile."""
        if not compiles(self.base.text):
            return None
        return self.known.trace_of(self.base, self.tests) or await trace(
            self.base, self.tests, self.task, self.sandbox, hanging=self.hanging,
            work=self.work, report=self.report, together=self.together,
        )

    def _is_passed(self, test: TestCase) -> bool:
        """Whether the judge saw the program that is repaired pass a test; after a repair that did
        not stand, the report is that one's."""
        verdicts = [one for one in self.report.verdicts if one.test == test.name]
        return (
            self.report.solution == self.base.id and bool(verdicts)
            and all(one.passed for one in verdicts)
        )

    async def _driven(
        self, steps: Generator[Question, Answer, Findings], screener: Screener
    ) -> None:
        """Answers the search's questions to its end, or until its time is over."""
        answer: Answer = None
        while self.found is None:
            question = await asyncio.to_thread(_advanced, steps, answer, self.work)
            if isinstance(question, Findings):
                self.latest = question
                # What was listed in haste, as the time ran out, is not all there is.
                self._cut(self._spent())
                return
            self.latest = question.so_far
            self._show_progress()
            if self._cut(self._spent()):
                return
            try:
                # What is offered is judged in the time kept for it; screening ends by itself.
                async with asyncio.timeout(
                    None if isinstance(question, Offer | Screen)
                    else self.end - time.monotonic()
                ) as clock:
                    answer = await self._answered(screener, question)
            except TimeoutError:
                if not clock.expired():
                    raise
                self._cut(True)
                return

    def _cut(self, cut: bool) -> bool:
        if cut:
            self.cut_after = round(self.work.spent_s, 3)
        return cut

    async def _answered(self, screener: Screener, question: Question) -> Answer:
        match question:
            case Examine(text=text):
                if text == self.base.text and self.seen is not None:
                    return self.seen
                solution = self.base.with_text(text)
                return await trace(
                    solution, self.tests, self.task, self.sandbox, work=self.work
                )
            case Probe(texts=texts, calls=calls):
                return await screener.probe(texts, calls)
            case Screen():
                return await self._screened(screener, question)
            case Offer(so_far=findings):
                return await self._verified(findings)

    async def _screened(self, screener: Screener, question: Screen) -> tuple[Screened | None, ...]:
        results = [self.known.known(text, question.mode) for text in question.candidates]
        fresh = [place for place, result in enumerate(results) if result is None]
        texts = [question.candidates[place] for place in fresh]
        try:
            async with asyncio.timeout(self.end - time.monotonic()) as clock, aclosing(
                screener.screen(texts, mode=question.mode, patience=question.patience)
            ) as replies:
                async for index, screened in replies:
                    results[fresh[index]] = screened
                    if texts[index] != self.base.text:
                        self.known.note(texts[index], question.mode, screened)
                    if self._spent():
                        break  # what was screened until now still counts
        except TimeoutError:
            if not clock.expired():
                raise
        return tuple(results)

    async def _verified(self, findings: Findings) -> bool:
        """Whether the judge confirms one of the best candidates."""
        # Those that the time was over for did not compete yet.
        plausible = ranked(estimated(findings.plausible, Situation(
            self.base.text, tuple(test.code for test in self.tests), findings.base_answers,
        )))
        fresh = [one for one in plausible if one.text not in self.judged]
        for candidate in fresh[:MOST_VERIFIED]:
            report = await self._judged(candidate)
            if report.passed:
                self.found = SearchResult(
                    self._solution(candidate), findings.tried,
                    alternatives=await self._alternatives(findings, candidate),
                )
                return True
        return False

    async def _judged(self, candidate: Candidate) -> Report:
        self.judged.add(candidate.text)
        return await self.verify(self._solution(candidate))

    async def _alternatives(
        self, findings: Findings, chosen: Candidate
    ) -> Alternatives | None:
        """Other behaviours that pass the tests as far as is known, each with its likeliest
        repair; the judge has confirmed as many as a person is shown, time allowing."""
        found = clusters(findings.plausible, chosen.text)
        if len(found) < 2:
            return None
        own, *others = (
            Alternative(
                solution=self._solution(one.best), note=one.best.note, answers=one.answers
            )
            for one in found
        )
        fresh = [one for one in others if one.solution.text not in self.judged]
        every = Alternatives(
            calls=findings.calls,
            behaviours=(own.model_copy(update={"confirmed": True}), *fresh),
        )
        return await confirmed_alternatives(every, self.verify, self._spent)

    def _solution(self, candidate: Candidate) -> Solution:
        note = candidate.note or edit_in_words(self.base.text, candidate.text)
        return self.base.with_text(
            candidate.text, origin="search", note=note, estimate=candidate.estimate
        )

    def _unfound(self) -> SearchResult:
        partial = self.latest.partial
        if partial is None:
            return SearchResult(None, self.latest.tried)
        return SearchResult(None, self.latest.tried, self._solution(partial))

    def _show_progress(self, last: bool = False) -> None:
        now = time.monotonic()
        seen = self.latest
        is_first = bool(seen.plausible) and not self.plausible_shown
        if now - self.progress_at < PROGRESS_S and not last and not is_first:
            return
        self.progress_at = now
        self.plausible_shown = bool(seen.plausible)
        best = seen.total if seen.plausible else max(
            seen.base_passed, seen.partial.passed if seen.partial else 0
        )
        self.progress(Searched(
            candidates=seen.tried, plausible=len(seen.plausible), best_passed=best,
            total=seen.total, wall_s=now - self.started, cut_after=self.cut_after,
        ))


async def confirmed_alternatives(
    every: Alternatives, verify: Verify, is_over: Callable[[], bool]
) -> Alternatives:
    """The behaviours without those that the judge refutes; as many are put before it as a person
    is shown, until it is over. The others stay as they are."""
    settled: list[Alternative] = []
    waiting = [*every.behaviours]
    while waiting and len(settled) < MOST_RIVALS and not is_over():
        one = waiting.pop(0)
        if one.confirmed:
            settled.append(one)
        elif (await verify(one.solution)).passed:
            settled.append(one.model_copy(update={"confirmed": True}))
    return every.model_copy(update={"behaviours": (*settled, *waiting)})


def _advanced(
    steps: Generator[Question, Answer, Findings], answer: Answer, work: ProcessorTime
) -> Question | Findings:
    """The search's next question, or what it found. It thinks in a thread of its own, since
    listing thousands of edits would hold up everyone else."""
    began = time.thread_time()
    try:
        return steps.send(answer)
    except StopIteration as stop:
        return cast(Findings, stop.value)
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
