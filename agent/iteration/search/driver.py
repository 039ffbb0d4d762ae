"""Drives the search for a repair: runs the tests on candidates and judges those that pass.

Each suspect file has its own search, and the searches take turns: the next is the one that has
spent the least time relative to the suspicion of its file. Once a candidate passes every test,
files of similar suspicion are searched a little longer for competing patches. Then the judge tests
the offered candidates, the most likely first, until it confirms one.
"""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from agent.core.domain import Alternative, Alternatives, Report, Solution
from agent.core.events import Searched
from agent.core.trees import tree_of
from agent.search.confidence.features import Situation
from agent.search.confidence.model import with_estimates
from agent.search.edits import SUSPICION_WEIGHT
from agent.search.precheck.batches import ProcessorTime
from agent.search.project.suspects import Suspect
from agent.search.ranking.competing import MOST as MAX_COMPETING
from agent.search.ranking.competing import clusters
from agent.search.ranking.rank import ranked, weight
from agent.search.search import search
from agent.search.syntax import compiles
from agent.search.values import (
    Budget,
    Candidate,
    Facts,
    Findings,
    JudgeRequest,
    PrecheckRequest,
    PrecheckResult,
    ProbeRequest,
    ProbeResult,
    SearchReply,
    SearchRequest,
    Trace,
    TraceRequest,
)
from agent.search.wording import edit_in_words

PROGRESS_S = 0.2
WALL_TIMES = 8.0
"""Wall-clock limit of a search, as a multiple of its processor seconds."""
MAX_VERIFIED = 8
"""Candidates that are judged at a time."""
COMPETING_SHARE, COMPETING_S = 0.3, 1.0
"""How much longer other files are searched once a candidate passes: a share of the work so far,
and at least this many processor seconds."""
MAX_COMPETING_JUDGED_S = 15.0
"""Seconds after which no further competing patch is judged."""
SUSPICION_SHARE = 0.5
"""Once a file has a candidate, others need this share of its suspicion to be searched further."""
LEAST_SUSPICION = 0.05
TYPICAL_TRACE_S = 0.5
"""Typical seconds to trace the tests on one file."""

T = TypeVar("T")
VariableValues = tuple[tuple[str, str], ...]
Verify = Callable[[Solution], Awaitable[Report]]
Progress = Callable[[Searched], object]


class WallTimeExceeded(Exception):
    """A search reached its wall-clock limit while it waited for a result."""


class NothingToSearch(Exception):
    """The tests do not fail in a way that a search can use; the message says why."""


@dataclass
class SearchLimits:
    """The limits of a search.

    `budget_s` counts processor seconds of the jailed processes and of generating edits, so a busy
    machine makes a search slower but does not cut it earlier. `wall_s` is the wall-clock limit;
    once a candidate passes the pre-check, the search ends `for_judging_s` earlier.
    """

    budget_s: float
    wall_s: float
    max_candidates: int
    for_judging_s: float = 0.0
    cpu_time: ProcessorTime = field(default_factory=ProcessorTime)

    def __post_init__(self) -> None:
        self.end = time.monotonic() + self.wall_s

    @property
    def left_s(self) -> float:
        """Seconds until the wall-clock limit."""
        return self.end - time.monotonic()

    @asynccontextmanager
    async def wall_limited(self) -> AsyncIterator[None]:
        """Raises `WallTimeExceeded` in its body at the wall-clock limit."""
        try:
            async with asyncio.timeout(self.left_s) as clock:
                yield
        except TimeoutError:
            if not clock.expired():
                raise
            raise WallTimeExceeded from None

    @property
    def is_exhausted(self) -> bool:
        return self.cpu_time.spent_s > self.budget_s or self.left_s < 0


class Runner(Protocol):
    """Runs the tests on changed files of a program; its results are pre-checks, not verdicts."""

    further_candidates: int
    """Candidates of a file that are still tried after the first that passes every test."""
    chunk_size: int
    """Candidates for each call of `precheck`."""
    facts: Facts

    @property
    def files(self) -> Mapping[str, str]:
        """The text of each file under repair."""

    @property
    def suspects(self) -> Sequence[Suspect]:
        """The files that may contain the fault, the most likely first."""

    async def trace(self, file: str, text: str) -> Trace: ...

    async def precheck(
        self, file: str, request: PrecheckRequest, is_over: Callable[[], bool]
    ) -> Sequence[PrecheckResult | None]: ...

    async def probe(self, file: str, texts: Sequence[str], calls: Sequence[str]) -> ProbeResult: ...


@dataclass(frozen=True)
class SearchResult:
    """The result of a search; `solution` is confirmed by the judge."""

    solution: Solution | None
    candidates: int
    partial: Solution | None = None
    """The candidate that passes the most tests, if more than the base and not all."""
    alternatives: Alternatives | None = None
    """The behaviours that pass every test, if there are several."""
    cut_after: float | None = None
    """Processor seconds after which the limits cut the search; `None` if it was completed."""
    work_s: float = 0.0
    """Processor seconds spent, without judging."""
    suspects: tuple[Suspect, ...] = ()
    """The searched files, the most likely first."""
    first_candidate_s: float = 0.0
    """Seconds until the first candidate was tried."""
    problem: str = ""
    """Why nothing could be searched."""
    failure_values: Mapping[str, tuple[int | None, VariableValues]] = field(default_factory=dict)
    """For each traced file, its last line before the first failure and the values there."""


async def search_repair(
    open_runner: AbstractAsyncContextManager[Runner], base: Solution, limits: SearchLimits, *,
    progress: Progress, verify: Verify, verify_competing: Verify | None = None,
) -> SearchResult:
    """Searches until the judge confirms a candidate, a limit is reached, or no candidate is left.

    Competing patches are confirmed by `verify_competing`, if it is given.

    After a limit, only the best candidates found so far are still judged.
    """
    try:
        async with open_runner as runner:
            return await _Search(
                runner, base, limits, progress, verify, verify_competing or verify
            ).run()
    except NothingToSearch as error:
        return SearchResult(None, 0, problem=str(error))
    except WallTimeExceeded:
        return SearchResult(None, 0, cut_after=round(limits.cpu_time.spent_s, 3))


@dataclass
class _FileSearch:
    """The state of one file's search."""

    suspect: Suspect
    steps: Generator[SearchRequest, SearchReply, Findings]
    reply: SearchReply = None
    findings: Findings = field(default_factory=Findings)
    spent_s: float = 0.0
    has_reply: bool = True
    """`reply` is ready to be sent to `steps`."""
    done: bool = False
    has_pass: bool = False
    """A candidate passes every pre-checked test and was not offered yet."""
    awaits_judge: bool = False
    """It offered candidates, and continues only if the judge confirms none of them."""

    @property
    def turn_order(self) -> tuple[bool, float]:
        """The sort key for the next turn: the least time spent relative to the suspicion."""
        share = max(LEAST_SUSPICION, self.suspect.suspicion) ** 2
        return not self.has_pass, (self.spent_s or TYPICAL_TRACE_S) / share


@dataclass
class _Search:
    """The searches of all files."""

    runner: Runner
    base: Solution
    limits: SearchLimits
    progress: Progress
    verify: Verify
    verify_competing: Verify
    started: float = field(default_factory=time.monotonic)
    searches: list[_FileSearch] = field(default_factory=list)
    stopped: bool = False
    tried: int = 0
    first_candidate_s: float = 0.0
    progress_at: float = 0.0
    plausible_shown: bool = False
    cut_after: float | None = None
    judged: set[tuple[str, str]] = field(default_factory=set)
    """Files and texts that were judged."""
    found: tuple[Solution, Alternatives | None] | None = None
    failure_values: dict[str, tuple[int | None, VariableValues]] = field(default_factory=dict)
    offered: list[tuple[float, _FileSearch, Candidate]] = field(default_factory=list)
    """Offered candidates that are not judged yet: their weight (less is more likely), file, and the
    candidate."""
    max_offered_suspicion: float = 0.0
    """The highest suspicion of a file with an offered candidate."""
    until_s: float = 0.0
    """Processor seconds at which the search for competing patches ends."""
    judged_after_limit: bool = False
    """The judge was called once after the wall-clock limit."""

    def is_over(self) -> bool:
        if self.stopped or self.found is not None or self.limits.is_exhausted:
            return True
        is_late = self.limits.left_s < self.limits.for_judging_s
        return is_late and (bool(self.offered) or any(one.has_pass for one in self.searches))

    async def run(self) -> SearchResult:
        for suspect in self.runner.suspects:
            text = self.runner.files[suspect.file]
            protected = await asyncio.to_thread(_module_asserts, text)
            self.searches.append(_FileSearch(suspect, search(
                text, replace(self.runner.facts, protected=protected), Budget(
                    candidates=self.limits.max_candidates, is_over=self.is_over,
                    further_candidates=self.runner.further_candidates,
                    chunk_size=self.runner.chunk_size,
                ),
            )))
        try:
            await self._take_turns()
        finally:
            self.stopped = True  # the thread that generates edits checks it
        # The search was cut if candidates are left and their number was not the limit.
        if self.found is None and self.tried < self.limits.max_candidates and not all(
            one.done for one in self.searches
        ):
            self.cut_after = round(self.limits.cpu_time.spent_s, 3)
        for one in self.searches:
            # The time ran out before these candidates were offered; they are still judged.
            if self.found is None and one.has_pass:
                if one.has_reply:
                    await asyncio.to_thread(_advance, one, self.limits.cpu_time)
                self._add_offers(one)
        if self.found is None and self.offered:
            await self._judge_offers()
        self._show_progress(last=True)
        solution, alternatives = self.found or (None, None)
        partials = [
            (one, one.findings.partial) for one in self.searches if one.findings.partial is not None
        ]
        partial = max(partials, key=lambda it: (it[1].passed, -it[1].cost), default=None)
        return SearchResult(
            solution, self.tried, None if partial is None else self._solution(*partial),
            alternatives, self.cut_after, self.limits.cpu_time.spent_s, tuple(self.runner.suspects),
            self.first_candidate_s, failure_values=self.failure_values,
        )

    async def _take_turns(self) -> None:
        while not self.is_over():
            waiting = [one for one in self.searches if not one.done and self._may_continue(one)]
            if waiting:
                try:
                    await self._step(min(waiting, key=lambda one: one.turn_order))
                except WallTimeExceeded:
                    return
            elif self.offered:
                await self._judge_offers()
            else:
                return

    def _may_continue(self, one: _FileSearch) -> bool:
        """Whether a search gets further turns. Every search does until one offers a candidate or
        the limit of candidates is reached."""
        if self.tried >= self.limits.max_candidates:
            return one.has_pass
        if not self.offered:
            return True
        near = one.suspect.suspicion >= SUSPICION_SHARE * self.max_offered_suspicion
        return one.has_pass or (
            near and not one.awaits_judge and self.limits.cpu_time.spent_s < self.until_s
        )

    async def _step(self, one: _FileSearch) -> None:
        cpu_time = self.limits.cpu_time
        before_s = cpu_time.spent_s
        request = await asyncio.to_thread(_advance, one, cpu_time)
        one.done = request is None and not self.is_over()  # a search that is cut is not done
        self._show_progress()
        # Offers are accepted after the limits too: judging has time of its own.
        if request is not None and (isinstance(request, JudgeRequest) or not self.is_over()):
            one.reply, one.has_reply = await self._reply(one, request), True
        one.spent_s += cpu_time.spent_s - before_s

    async def _reply(self, one: _FileSearch, request: SearchRequest) -> SearchReply:
        file = one.suspect.file
        base = self.runner.files[file]
        match request:
            case TraceRequest(text=text):
                async with self.limits.wall_limited():
                    seen = await self.runner.trace(file, text)
                if text == base:
                    self._save_failure_values(file, seen)
                return seen
            case ProbeRequest(texts=texts, calls=calls):
                async with self.limits.wall_limited():
                    return await self.runner.probe(file, texts, calls)
            case PrecheckRequest(candidates=texts):
                self.first_candidate_s = self.first_candidate_s or time.monotonic() - self.started
                found, _ = await asyncio.gather(
                    self.runner.precheck(file, request, self.is_over),
                    asyncio.to_thread(_timed, request.prepare, self.limits.cpu_time),
                )
                answers = tuple(found)
                self.tried += sum(
                    answer is not None and text != base
                    for text, answer in zip(texts, answers, strict=True)
                )
                one.has_pass |= any(answer and answer.outcome == "ok" for answer in answers)
                return answers
            case JudgeRequest():
                one.has_pass = False
                self._add_offers(one)
                return False

    def _add_offers(self, one: _FileSearch) -> None:
        """Adds the best candidates of a file to those that will be judged."""
        work_s = self.limits.cpu_time.spent_s
        if not self.offered:
            self.until_s = work_s + max(COMPETING_S, COMPETING_SHARE * work_s)
        self.max_offered_suspicion = max(self.max_offered_suspicion, one.suspect.suspicion)
        one.awaits_judge = True
        less_likely = SUSPICION_WEIGHT * (1.0 - one.suspect.suspicion)
        file = one.suspect.file
        self.offered += [
            (weight(candidate) + less_likely, one, candidate)
            for candidate in ranked(with_estimates(one.findings.plausible, Situation(
                self.runner.files[file], self.runner.facts.tests, one.findings.base_answers,
            )))  # candidates cut off by the time limit have no estimate yet
            if (file, candidate.text) not in self.judged
        ]

    async def _judge_offers(self) -> None:
        """Judges the offered candidates, the most likely first, until one is confirmed."""
        pool = sorted(self.offered, key=lambda it: (it[0], it[1].suspect.file, it[2].text))
        self.offered = []
        for index, (_, one, candidate) in enumerate(pool[:MAX_VERIFIED]):
            if not self._may_judge():
                break
            self.judged.add((one.suspect.file, candidate.text))
            solution = self._solution(one, candidate)
            if (await self.verify(solution)).passed:
                rest = [self._solution(at, further) for _, at, further in pool[index + 1 :]]
                self.found = solution, await self._alternatives(one, candidate, solution, rest)
                return
        for one in self.searches:
            one.awaits_judge = False

    def _may_judge(self) -> bool:
        """Whether a candidate may be judged: always before the limit, and once after it."""
        if self.limits.left_s >= 0:
            return True
        is_first, self.judged_after_limit = not self.judged_after_limit, True
        return is_first

    async def _alternatives(
        self, one: _FileSearch, chosen: Candidate, solution: Solution, rest: Sequence[Solution]
    ) -> Alternatives | None:
        """The behaviours that pass the tests, each with its most likely repair.

        Judges at most as many as are shown to a person, while there is time. If no calls were made
        that could distinguish them, only confirmed ones are returned.
        """
        until = time.monotonic() + min(MAX_COMPETING_JUDGED_S, max(0.0, self.limits.left_s))
        calls = one.findings.calls
        current = Alternative(solution=solution, note=solution.note, confirmed=True)
        others = [Alternative(solution=it, note=it.note) for it in rest[: MAX_COMPETING - 1]]
        if calls:
            known = clusters(one.findings.plausible, chosen.text)
            current = current.model_copy(update={"answers": known[0].answers})
            others = [
                Alternative(
                    solution=self._solution(one, it.best), note=it.best.note, answers=it.answers
                )
                for it in known[1:] if (one.suspect.file, it.best.text) not in self.judged
            ]
        every = await confirmed_alternatives(
            Alternatives(calls=calls, behaviours=(current, *others)), self.verify_competing,
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

    def _save_failure_values(self, file: str, seen: Trace) -> None:
        """Saves the line and values of the first test that fails in a file."""
        failing = [one for one in seen.tests if not one.passed]
        for one in sorted(failing, key=lambda one: one.line is None):
            if one.line is not None or one.values:
                self.failure_values[file] = one.line, one.values
                return

    def _show_progress(self, last: bool = False) -> None:
        now = time.monotonic()
        seen = [one.findings for one in self.searches]
        plausible = sum(len(one.plausible) for one in seen)
        is_first = bool(plausible) and not self.plausible_shown
        total = max((one.total for one in seen), default=0)
        if not last and (not total or (now - self.progress_at < PROGRESS_S and not is_first)):
            return
        self.progress_at, self.plausible_shown = now, bool(plausible)
        best = max((
            max(one.base_passed, one.partial.passed if one.partial else 0) for one in seen
        ), default=0)
        self.progress(Searched(
            candidates=self.tried, plausible=plausible,
            best_passed=total if plausible else best, total=total,
            wall_s=now - self.started, cut_after=self.cut_after,
        ))


async def confirmed_alternatives(
    alternatives: Alternatives, verify: Verify, is_over: Callable[[], bool]
) -> Alternatives:
    """Removes behaviours that the judge refutes.

    Judges until as many are confirmed as a person is shown, or `is_over` returns true; the
    remaining ones are returned unjudged.
    """
    settled: list[Alternative] = []
    waiting = [*alternatives.behaviours]
    while waiting and len(settled) < MAX_COMPETING and not is_over():
        one = waiting.pop(0)
        if one.confirmed:
            settled.append(one)
        elif (await verify(one.solution)).passed:
            settled.append(one.model_copy(update={"confirmed": True}))
    return alternatives.model_copy(update={"behaviours": (*settled, *waiting)})


def _advance(one: _FileSearch, cpu_time: ProcessorTime) -> SearchRequest | None:
    """Advances a search to its next request and saves its findings so far.

    Runs in a thread, because generating thousands of edits would block the event loop.
    """
    one.has_reply = False
    try:
        request = _timed(lambda: one.steps.send(one.reply), cpu_time)
        one.findings = request.findings
        return request
    except StopIteration as stop:
        one.findings = stop.value
        return None


def _timed(call: Callable[[], T], cpu_time: ProcessorTime) -> T:
    """Runs a call and adds its processor time in this thread to `cpu_time`."""
    began = time.thread_time()
    try:
        return call()
    finally:
        cpu_time.spent_s += time.thread_time() - began


def _module_asserts(text: str) -> tuple[tuple[int, int], ...]:
    """Lines of asserts at module level: they are tests and are never edited."""
    if not compiles(text):
        return ()
    return tuple(
        (node.lineno, node.end_lineno or node.lineno)
        for node in tree_of(text).body
        if isinstance(node, ast.Assert)
    )
