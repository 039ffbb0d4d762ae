"""The search for a repair in the files of a project, screened where its suite is kept.

Each suspect file has a search of its own. They take turns: the one goes on that has worked least
for how likely the fault lies in its file. Once something passes every test there, the files that
are as suspect are searched a little longer for rivals; then a fresh run of the whole suite judges
them, the likeliest first, and the first that it confirms counts.
"""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.core.domain import Alternative, Alternatives, Project, Report, Solution, Task
from agent.core.events import Searched
from agent.core.trees import nodes_of
from agent.judge.project_run import laid
from agent.project.blame import (
    SeenTest,
    Suspect,
    fields_beside,
    named_statements,
    names_read,
    suspects,
    with_top,
    words_told,
)
from agent.project.command_suite import MOST_TRIED, CommandSuite
from agent.project.recency import lately
from agent.project.suite import CHUNK, FACTOR, LEAST_S, MOST_S, Coverage, Suite, TestRow, open_suite
from agent.repair.confidence.features import Situation
from agent.repair.confidence.model import estimated
from agent.repair.edits import PER_SUSPICION
from agent.repair.facts import (
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
    Trace,
)
from agent.repair.ranking.rank import ranked, weight
from agent.repair.screening.company import company
from agent.repair.search import search
from agent.repair.wording import edit_in_words
from sandbox.sandbox import Sandbox

MOST_FAILING, MOST_PASSING = 12, 25
"""Tests by which candidates are screened: failing ones, and those that run the same functions."""
MOST_FILES = 6
MOST_VERIFIED = 8
BEYOND = 400
"""Candidates that are still tried in its file after the first that passes every test."""
RIVALS_SHARE, RIVALS_S = 0.3, 1.0
"""How much longer other files are searched then: a share of the work so far, and at least so many
processor seconds."""
MOST_RIVALS, RIVALS_JUDGED_S = 2, 10.0
"""Repairs that are judged beside the one that is taken, and the seconds in which one is begun."""
AS_SUSPECT = 0.5
"""Of the suspicion of the file that has something: whose file has less is not waited for."""
LEAST_FAILING, FAILING_S = 3, 0.1
"""Of many failing tests, which often fail alike, no more than take so long in all."""
PASSING_S = 0.3
"""Passing tests that take longer in all are left to the judge."""
LOOKED_AT, LOOKED_S = 60, 1.0
"""So many passing tests at a time are run where the suite is kept, until all take so long."""
COVERED_S = 0.5
"""Of the passing tests the quickest are asked what they run, until they take so long in all: being
watched they take several times that."""
LEAST_SUSPICION = 0.05
BEGINNING_S = 0.5
"""What it takes about to watch the tests run one file's lines."""

Values = tuple[tuple[str, str], ...]
Verify = Callable[[Solution], Awaitable[Report]]


@dataclass(frozen=True)
class ProjectFound:
    """What a search came to; `solution` has passed the judge."""

    solution: Solution | None
    candidates: int
    candidate: Candidate | None = None
    suspects: tuple[Suspect, ...] = ()
    """The files in which the fault may lie, the likeliest first."""
    first_s: float = 0.0
    """Seconds until the first candidate was tried."""
    work_s: float = 0.0
    cut_after: float | None = None
    alternatives: Alternatives | None = None
    """The solution, and others that pass the judge too."""
    problem: str = ""
    """Why nothing could be searched."""
    partial: Solution | None = None
    """The best that passes more of the tests it was screened by than the base: not a fix."""
    partial_passed: int = 0
    screened_by: int = 0
    moments: Mapping[str, tuple[int | None, Values]] = field(default_factory=dict)
    """For each file looked at, its last line on the way to the first failure, and what was held
    there."""


async def search_project(
    task: Task, project: Project, base: Solution, failing: Sequence[str], sandbox: Sandbox, *,
    budget_s: float, wall_s: float, max_candidates: int, progress: Callable[[Searched], object],
    verify: Verify,
) -> ProjectFound:
    """Searches until a candidate passes the judge, the budget is spent, or nothing is left.

    `failing` are the node ids to go by. `budget_s` are processor seconds, `wall_s` an outer limit.
    """
    end = time.monotonic() + wall_s
    if project.command:
        kept = CommandSuite(laid(task, base), project, task.sites, sandbox, end)
        row = await kept.collect()
        if row.passed:
            return ProjectFound(None, 0, problem="the command ends well when it is run once more")
        return await _ProjectSearch(
            kept, project, base, {0: row}, [0], verify, progress, budget_s, end,
            min(max_candidates, MOST_TRIED),
        ).run()
    async with open_suite(laid(task, base), project, task.sites, sandbox) as suite:
        wanted = {*failing}
        numbers = [number for number, node in enumerate(suite.nodes) if node in wanted]
        if not numbers:
            why = "; ".join(suite.problems) or "pytest collects none of the failing tests"
            return ProjectFound(None, 0, problem=why)
        suite.until = end
        rows = await suite.baseline(numbers)
        waiting = _others(suite.nodes, numbers)
        while waiting and sum(row.cpu_s for row in rows.values() if row.passed) < LOOKED_S:
            rows |= await suite.baseline(waiting[:LOOKED_AT])
            del waiting[:LOOKED_AT]
        going_by = [number for number in numbers if number in rows and not rows[number].passed]
        quiet = [number for number in numbers if number in rows and rows[number].passed]
        beside = await _beside_others(suite, quiet, rows) if quiet else []
        if beside:
            going_by = [one for one in numbers if one in rows and not rows[one].passed]
        if not any(number in rows for number in numbers):
            return ProjectFound(None, 0, problem="the failing tests came to no end where the suite "
                                f"is kept, within {wall_s:.3g} s")
        if not going_by:
            return ProjectFound(None, 0, problem="the tests pass when they are run once more")
        return await _ProjectSearch(
            suite, project, base, rows, going_by, verify, progress, budget_s,
            end, max_candidates, beside,
        ).run()


async def _beside_others(
    suite: Suite, quiet: Sequence[int], rows: dict[int, TestRow]
) -> list[int]:
    """Tests beside which some of the failing ones fail that pass without them; how these do there
    is written into the rows."""

    async def fails(before: Sequence[int], number: int) -> bool:
        found = await suite.baseline([*before, number])
        return number in found and not found[number].passed

    beside: set[int] = set()
    together = await suite.baseline(range(max(quiet) + 1))
    for number in quiet:
        if number not in together or together[number].passed:
            continue
        if not (beside and await fails(sorted(one for one in beside if one < number), number)):
            beside |= {*await company(
                range(number), lambda before, at=number: fails(before, at)  # type: ignore[misc]
            )}
    order = sorted({*beside, *quiet})
    rows |= {**together, **(await suite.baseline(order) if beside else {})}
    return sorted(beside)


def _others(nodes: Sequence[str], numbers: Sequence[int]) -> list[int]:
    """All other tests, those first that stand in a file with one of these."""
    files = {nodes[number].partition("::")[0] for number in numbers}
    others = {*range(len(nodes))} - {*numbers}
    return sorted(others, key=lambda one: (nodes[one].partition("::")[0] not in files, one))


@dataclass
class _FileSearch:
    """One file's search on its way."""

    suspect: Suspect
    steps: Generator[Question, Answer, Findings]
    answer: Answer = None
    spent_s: float = 0.0
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
class _ProjectSearch:
    """All files' searches, what they are driven with, and what came of them."""

    suite: Suite | CommandSuite
    project: Project
    base: Solution
    rows: dict[int, TestRow]
    failing: Sequence[int]
    verify: Verify
    progress: Callable[[Searched], object]
    budget_s: float
    end: float
    max_candidates: int
    beside: Sequence[int] = ()
    """Tests beside which failing ones fail: all that screen then run in their order."""
    started: float = field(default_factory=time.monotonic)
    tried: int = 0
    plausible: int = 0
    best_passed: int = 0
    """Of the tests that candidates are screened by."""
    thought_s: float = 0.0
    """Processor seconds that listing and ranking took."""
    first_s: float = 0.0
    screened_by: list[int] = field(default_factory=list)
    """The failing tests among them."""
    order: list[int] = field(default_factory=list)
    codes: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    asked: list[frozenset[str]] = field(default_factory=list)
    """Names that each of these tests reads itself."""
    named: dict[str, dict[str, ast.stmt]] = field(default_factory=dict)
    """The functions of files of tests."""
    judged: set[tuple[str, str]] = field(default_factory=set)
    found: tuple[Solution, Candidate] | None = None
    partials: dict[str, Candidate] = field(default_factory=dict)
    """The best partial fix of each file."""
    moments: dict[str, tuple[int | None, Values]] = field(default_factory=dict)
    pool: list[tuple[float, str, Candidate]] = field(default_factory=list)
    """What was offered and waits for rivals: how unlikely it is, its file, itself."""
    most_suspect: float = 0.0
    """The suspicion of the likeliest file that has offered something."""
    until_s: float = 0.0
    """The work at which rivals are waited for no longer."""
    rivals: list[Solution] = field(default_factory=list)
    """Others that the judge passes too."""
    went_beyond: bool = False
    """The suite ran once more when the time was over."""

    @property
    def work_s(self) -> float:
        return self.thought_s + self.suite.work_s

    def over(self) -> bool:
        """Whether no more is to be tried."""
        return (
            self.found is not None or self.work_s > self.budget_s or time.monotonic() > self.end
            or self.tried >= self.max_candidates
        )

    async def run(self) -> ProjectFound:
        blamed = await self._suspects()
        facts = Facts(
            tests=self.codes, words=self.words,
            beside=fields_beside(self.suite.files[one.file] for one in blamed),
        )
        searches = [
            _FileSearch(one, search(
                self.suite.files[one.file], facts,
                Budget(
                    candidates=self.max_candidates, over=self.over, beyond=BEYOND, chunk=CHUNK,
                ),
            ))
            for one in blamed
        ]
        while not self.over():
            waiting = [one for one in searches if not one.done and self._goes_on(one)]
            if waiting:
                await self._step(min(waiting, key=lambda one: one.turn))
            elif self.pool:
                await self._settle(searches)
            else:
                break
        # More time helps only where candidates are left, and not their own cap ended the search.
        cut = (
            self.found is None and self.tried < self.max_candidates
            and not all(one.done for one in searches)
        )
        for one in searches:
            # The time ran out between finding and offering: what was found is still verified.
            if self.found is None and one.is_close and not one.done:
                question, _ = await asyncio.to_thread(_advanced, one)
                if question is not None:
                    self._offered(one, question.so_far)
        if self.found is None and self.pool:
            await self._settle(searches)
        self._tell()
        solution, candidate = self.found or (None, None)
        file, partial = max(
            self.partials.items(), key=lambda one: (one[1].passed, -one[1].cost),
            default=("", None),
        )
        return ProjectFound(
            solution, self.tried, candidate, tuple(blamed), self.first_s, self.work_s,
            round(self.work_s, 3) if cut else None, self._alternatives(),
            partial=None if partial is None else self._solution(file, partial),
            partial_passed=partial.passed if partial is not None else 0,
            screened_by=len(self.order), moments=self.moments,
        )

    async def _suspects(self) -> list[Suspect]:
        """Whom to search, and by which tests."""
        editable = {*self.project.editable} & self.suite.loaded
        files = {self._file_of(number) for number in self.failing}
        passing = self._within(COVERED_S, sorted(
            (number for number, row in self.rows.items() if row.passed),
            key=lambda one: (self._file_of(one) not in files, self.rows[one].cpu_s, one),
        ))
        quick = self._within(FAILING_S, sorted(
            self.failing, key=lambda one: (self.rows[one].cpu_s, one)
        ), LEAST_FAILING)
        failing = self.screened_by = [one for one in self.failing if one in quick][:MOST_FAILING]
        if self.beside:
            # What they take belongs to a failing run.
            run = await self.suite.coverage(
                sorted({*self.beside, *failing, *passing}), sorted(editable), lines=False
            )
            taken = [run[one] for one in self.beside if one in run]
            seen = {one: _joined([*taken, run[one]]) for one in failing if one in run}
            healthy = {one: row for one, row in run.items() if one not in seen}
        else:
            seen = await self.suite.coverage(failing, sorted(editable), lines=False)
            healthy = await self.suite.coverage(passing, sorted(editable), lines=False)
        self.order = [*failing, *self._beside([*seen.values()], healthy)]
        if self.beside:
            self.order = sorted({*self.order, *self.beside})
        self.codes = tuple(self._code(self.suite.nodes[number]) for number in self.order)
        self.words = words_told(
            [self._code(self.suite.nodes[number]) for number in failing],
            [self.suite.nodes[number].partition("[")[2] for number in failing],
        )
        self.asked = [self._asked(self.suite.nodes[number]) for number in self.order]
        failed, passed = (
            [SeenTest(one, self._asked(self.suite.nodes[at])) for at, one in some.items()]
            for some in (seen, healthy)
        )
        found = suspects(self.suite.files, editable, failed, passed)
        return lately(found, self.suite.files, dict(self.project.changed))[:MOST_FILES]

    def _file_of(self, number: int) -> str:
        return self.suite.nodes[number].partition("::")[0]

    def _within(self, most_s: float, numbers: Iterable[int], least: int = 1) -> list[int]:
        """The first of some tests, without those that would take them beyond so long in all; so
        many at least."""
        found: list[int] = []
        spent_s = 0.0
        for number in numbers:
            cpu_s = self.rows[number].cpu_s
            if spent_s + cpu_s <= most_s or len(found) < least:
                found.append(number)
                spent_s += cpu_s
        return found

    def _beside(
        self, failing: Sequence[Coverage], passing: dict[int, Coverage]
    ) -> list[int]:
        """Passing tests that enter most of the functions that the failing ones enter."""
        entered = {place for one in failing for place in _entered(one)}
        near = sorted(
            (-len(entered & _entered(one)), number) for number, one in passing.items()
            if entered & _entered(one)
        )
        return self._within(PASSING_S, (number for _, number in near), 0)[:MOST_PASSING]

    async def _step(self, one: _FileSearch) -> None:
        before_s = self.work_s
        question, thought_s = await asyncio.to_thread(_advanced, one)
        self.thought_s += thought_s
        one.done = question is None and not self.over()  # what is over ends before its last stage
        if question is not None:
            if question.so_far.partial is not None:
                self.partials[one.suspect.file] = question.so_far.partial
            one.answer = await self._answered(one, question)
            self._tell()
        one.spent_s += self.work_s - before_s

    async def _answered(self, one: _FileSearch, question: Question) -> Answer:
        file = one.suspect.file
        base = self.suite.files[file]
        match question:
            case Examine(text=text):
                trace = await self.suite.trace(file, self.order, None if text == base else text)
                trace = self._with_others(trace)
                if text == base:
                    self._keep_moment(file, trace)
                return with_top(text, trace, self.asked)
            case Screen(candidates=texts, mode=mode):
                self.first_s = self.first_s or time.monotonic() - self.started
                slowest_s = max(self.rows[number].cpu_s for number in self.order)
                answers = await self.suite.screen(
                    file, texts, self.order, len(self.screened_by), mode,
                    min(MOST_S, max(LEAST_S, FACTOR * slowest_s)),
                    together=self.screened_by if self.beside else (),
                )
                self.tried += sum(answer is not None for answer in answers)
                passing = sum(1 for answer in answers if answer and answer.ended == "ok")
                self.plausible += passing
                one.is_close |= passing > 0
                scores = [answer.score for answer in answers if answer]
                self.best_passed = max([self.best_passed, *scores])
                return tuple(answers)
            case Probe(texts=texts):
                return Probed(tuple(None for _ in texts))
            case Offer(so_far=findings):
                one.is_close = False
                self._offered(one, findings)
                return False

    def _with_others(self, trace: Trace) -> Trace:
        """The same, where the lines of those beside which a test fails are its own too."""
        lines = frozenset[int]().union(
            *(trace.tests[self.order.index(one)].covered for one in self.beside)
        )
        return replace(trace, together=bool(self.beside), tests=tuple(
            one if one.passed else replace(one, covered=one.covered | lines) for one in trace.tests
        ))

    def _goes_on(self, one: _FileSearch) -> bool:
        """Whether a search still has its turns: all have until one offers something."""
        if not self.pool:
            return True
        near = one.suspect.suspicion >= AS_SUSPECT * self.most_suspect
        return one.is_close or (near and not one.waits and self.work_s < self.until_s)

    def _offered(self, one: _FileSearch, findings: Findings) -> None:
        """Keeps the best candidates of a file for the judge."""
        file = one.suspect.file
        if not self.pool:
            self.until_s = self.work_s + max(RIVALS_S, RIVALS_SHARE * self.work_s)
        self.most_suspect = max(self.most_suspect, one.suspect.suspicion)
        one.waits = True
        less_likely = PER_SUSPICION * (1.0 - one.suspect.suspicion)
        self.pool += [
            (weight(candidate) + less_likely, file, candidate)
            for candidate in ranked(estimated(findings.plausible, Situation(
                self.suite.files[file], self.codes, findings.base_answers,
            )))  # candidates cut off by the time limit have no estimate yet
            if (file, candidate.text) not in self.judged
        ]

    async def _settle(self, searches: Sequence[_FileSearch]) -> None:
        """Asks the judge about what was offered, the likeliest first."""
        pool = sorted(self.pool, key=lambda one: (one[0], one[1], one[2].text))
        self.pool = []
        for place, (_, file, candidate) in enumerate(pool[:MOST_VERIFIED]):
            if not self._may_judge():
                break
            self.judged.add((file, candidate.text))
            solution = self._solution(file, candidate)
            if (await self.verify(solution)).passed:
                self.found = solution, candidate
                await self._judge_rivals(pool[place + 1 :])
                return
        for one in searches:
            one.waits = False

    async def _judge_rivals(self, pool: Sequence[tuple[float, str, Candidate]]) -> None:
        """Keeps those of the likeliest others that pass too, as many as there is time for."""
        until = min(self.end, time.monotonic() + RIVALS_JUDGED_S)
        for _, file, candidate in pool[:MOST_RIVALS]:
            if time.monotonic() > until:
                break
            solution = self._solution(file, candidate)
            if (await self.verify(solution)).passed:
                self.rivals.append(solution)

    def _solution(self, file: str, candidate: Candidate) -> Solution:
        note = candidate.note or edit_in_words(self.suite.files[file], candidate.text)
        return self.base.with_file(
            file, candidate.text, origin="search", note=f"{note} ({file})",
            estimate=candidate.estimate,
        )

    def _alternatives(self) -> Alternatives | None:
        """What was found with its rivals; `None` without any."""
        if self.found is None or not self.rivals:
            return None
        return Alternatives(calls=(), behaviours=tuple(
            Alternative(solution=one, note=one.note, confirmed=True)
            for one in (self.found[0], *self.rivals)
        ))

    def _keep_moment(self, file: str, trace: Trace) -> None:
        """What the first test that fails in a file held where it did."""
        failing = [one for one in trace.tests if not one.passed]
        for one in sorted(failing, key=lambda one: one.line is None):
            if one.line is not None or one.values:
                self.moments[file] = one.line, one.values
                return

    def _may_judge(self) -> bool:
        """Whether there is time for a run of the suite: one at most may go beyond the limit."""
        if time.monotonic() <= self.end:
            return True
        is_first, self.went_beyond = not self.went_beyond, True
        return is_first

    def _tell(self) -> None:
        self.progress(Searched(
            candidates=self.tried, plausible=self.plausible, best_passed=self.best_passed,
            total=len(self.order),
            wall_s=time.monotonic() - self.started,
        ))

    def _tests_of(self, path: str) -> dict[str, ast.stmt]:
        """The functions of a file of tests by their names."""
        if path not in self.named:
            self.named[path] = named_statements(self.suite.files.get(path, ""))
        return self.named[path]

    def _code(self, node: str) -> str:
        """The text of a test."""
        if isinstance(self.suite, CommandSuite):
            return self.suite.code
        path, _, name = node.partition("::")
        found = self._tests_of(path).get(name.partition("[")[0])
        return ast.unparse(found) if found is not None else "pass"

    def _asked(self, node: str) -> frozenset[str]:
        """Names that a test reads itself."""
        path, _, name = node.partition("::")
        if isinstance(self.suite, CommandSuite):
            return names_read(nodes_of(self.suite.code))
        found = self._tests_of(path).get(name.partition("[")[0])
        return names_read(ast.walk(found)) if found is not None else frozenset()


def _joined(runs: Sequence[Coverage]) -> Coverage:
    """What several tests ran, as one."""
    functions: dict[str, dict[int, int]] = {}
    for one in runs:
        for file, calls in one.functions.items():
            known = functions.setdefault(file, {})
            for line, count in calls.items():
                known[line] = known.get(line, 0) + count
    return Coverage(functions)


def _entered(one: Coverage) -> set[tuple[str, int]]:
    return {(file, line) for file, lines in one.functions.items() for line in lines}


def _advanced(one: _FileSearch) -> tuple[Question | None, float]:
    """The search's next question, and the processor seconds that it took to think of it."""
    began = time.thread_time()
    try:
        return one.steps.send(one.answer), time.thread_time() - began
    except StopIteration:
        return None, time.thread_time() - began
