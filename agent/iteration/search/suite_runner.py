"""What a search in a project runs its candidates with: its suite, kept in a jail, or its command.

Of a large suite, candidates are screened by the failing tests and by those that enter the same
functions; which files are suspect follows from what both ran.
"""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from agent.core.domain import Project, Solution, Task
from agent.core.trees import nodes_of
from agent.iteration.search.driver import NothingToSearch, SearchLimits
from agent.search.precheck.polluters import polluters
from agent.search.project.command_suite import MAX_TRIED, CommandSuite
from agent.search.project.recency import changed_first
from agent.search.project.suite import (
    CHUNK,
    FACTOR,
    LEAST_S,
    MAX_S,
    CollectedSuite,
    Coverage,
    TestRow,
    open_suite,
)
from agent.search.project.suspects import (
    SeenTest,
    Suspect,
    fields_beside,
    named_statements,
    names_read,
    strings_in_tests,
    suspects,
    with_module_level,
)
from agent.search.values import Facts, Probed, Screen, Screened, Trace
from agent.verify.project.suite_run import project_files
from sandbox.sandbox import Sandbox

MAX_FAILING, MAX_PASSING = 12, 25
"""Tests by which candidates are screened: failing ones, and those that run the same functions."""
MAX_FILES = 6
BEYOND = 400
"""Candidates that are still tried in its file after the first that passes every test."""
LEAST_FAILING, FAILING_S = 3, 0.1
"""Of many failing tests, which often fail alike, no more than take so long in all."""
PASSING_S = 0.3
"""Passing tests that take longer in all are left to the judge."""
LOOKED_AT, LOOKED_S = 60, 1.0
"""So many passing tests at a time are run where the suite is kept, until all take so long."""
COVERED_S = 0.5
"""Of the passing tests the quickest are asked what they run, until they take so long in all: being
watched they take several times that."""


@asynccontextmanager
async def suite_runner(
    task: Task, project: Project, base: Solution, failing: Sequence[str], sandbox: Sandbox,
    limits: SearchLimits,
) -> AsyncIterator[SuiteRunner]:
    """Runs candidates of a project's files. `failing` are the node ids to go by. Raises a
    `NothingToSearch` where these do not fail here."""
    if project.command:
        kept = CommandSuite(project_files(task, base), project, task.sites, sandbox, limits.end)
        kept.work = limits.work
        row = await kept.collect()
        if row.passed:
            raise NothingToSearch("the command ends well when it is run once more")
        limits.max_candidates = min(limits.max_candidates, MAX_TRIED)
        yield await SuiteRunner(kept, project, {0: row}, [0]).looked()
        return
    async with open_suite(project_files(task, base), project, task.sites, sandbox) as suite:
        wanted = {*failing}
        numbers = [number for number, node in enumerate(suite.nodes) if node in wanted]
        if not numbers:
            why = "; ".join(suite.problems) or "pytest collects none of the failing tests"
            raise NothingToSearch(why)
        suite.until, suite.work = limits.end, limits.work
        rows = await suite.baseline(numbers)
        waiting = _others(suite.nodes, numbers)
        while waiting and sum(row.cpu_s for row in rows.values() if row.passed) < LOOKED_S:
            rows |= await suite.baseline(waiting[:LOOKED_AT])
            del waiting[:LOOKED_AT]
        quiet = [number for number in numbers if number in rows and rows[number].passed]
        beside = await _beside_others(suite, quiet, rows) if quiet else []
        going_by = [number for number in numbers if number in rows and not rows[number].passed]
        if not any(number in rows for number in numbers):
            raise NothingToSearch(
                "the failing tests came to no end where the suite is kept, within "
                f"{limits.wall_s:.3g} s"
            )
        if not going_by:
            raise NothingToSearch("the tests pass when they are run once more")
        yield await SuiteRunner(suite, project, rows, going_by, beside).looked()


async def _beside_others(
    suite: CollectedSuite, quiet: Sequence[int], rows: dict[int, TestRow]
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
            beside |= {*await polluters(
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
class SuiteRunner:
    """Some tests of a suite on other texts of the files that they run; see `Runner`."""

    suite: CollectedSuite | CommandSuite
    project: Project
    rows: dict[int, TestRow]
    failing: Sequence[int]
    beside: Sequence[int] = ()
    """Tests beside which failing ones fail: all that screen then run in their order."""
    suspects: Sequence[Suspect] = ()
    facts: Facts = field(default_factory=Facts)
    beyond: int = BEYOND
    chunk: int = CHUNK
    screened_by: list[int] = field(default_factory=list)
    """The failing tests among those by which candidates are screened."""
    order: list[int] = field(default_factory=list)
    asked: list[frozenset[str]] = field(default_factory=list)
    """Names that each of these tests reads itself."""
    named: dict[str, dict[str, ast.stmt]] = field(default_factory=dict)
    """The functions of files of tests."""

    def __post_init__(self) -> None:
        self.files = self.suite.files

    async def looked(self) -> SuiteRunner:
        """The same, once it is known which files to search, and by which tests."""
        editable = {*self.project.editable} & self.suite.loaded
        files = {self._file_of(number) for number in self.failing}
        passing = self._within(COVERED_S, sorted(
            (number for number, row in self.rows.items() if row.passed),
            key=lambda one: (self._file_of(one) not in files, self.rows[one].cpu_s, one),
        ))
        quick = self._within(FAILING_S, sorted(
            self.failing, key=lambda one: (self.rows[one].cpu_s, one)
        ), LEAST_FAILING)
        failing = self.screened_by = [one for one in self.failing if one in quick][:MAX_FAILING]
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
        self.order = [*failing, *self._near([*seen.values()], healthy)]
        if self.beside:
            self.order = sorted({*self.order, *self.beside})
        self.asked = [self._asked(self.suite.nodes[number]) for number in self.order]
        failed, passed = (
            [SeenTest(one, self._asked(self.suite.nodes[at])) for at, one in some.items()]
            for some in (seen, healthy)
        )
        found = suspects(self.suite.files, editable, failed, passed)
        found = changed_first(found, self.suite.files, dict(self.project.changed))
        self.suspects = found[:MAX_FILES]
        self.facts = Facts(
            tests=tuple(self._code(self.suite.nodes[number]) for number in self.order),
            words=strings_in_tests(
                [self._code(self.suite.nodes[number]) for number in failing],
                [self.suite.nodes[number].partition("[")[2] for number in failing],
            ),
            beside=fields_beside(self.suite.files[one.file] for one in self.suspects),
        )
        return self

    async def trace(self, file: str, text: str) -> Trace:
        changed = None if text == self.files[file] else text
        seen = await self.suite.trace(file, self.order, changed)
        # The lines of those beside which a test fails are its own too.
        lines = frozenset[int]().union(
            *(seen.tests[self.order.index(one)].covered for one in self.beside)
        )
        seen = replace(seen, together=bool(self.beside), tests=tuple(
            one if one.passed else replace(one, covered=one.covered | lines) for one in seen.tests
        ))
        return with_module_level(text, seen, self.asked)

    async def probe(self, file: str, texts: Sequence[str], calls: Sequence[str]) -> Probed:
        return Probed(tuple(None for _ in texts))

    async def screen(
        self, file: str, question: Screen, over: Callable[[], bool]
    ) -> Sequence[Screened | None]:
        slowest_s = max(self.rows[number].cpu_s for number in self.order)
        return await self.suite.screen(
            file, question.candidates, self.order, len(self.screened_by), question.mode,
            min(MAX_S, max(LEAST_S, FACTOR * slowest_s)),
            together=self.screened_by if self.beside else (),
        )

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

    def _near(self, failing: Sequence[Coverage], passing: dict[int, Coverage]) -> list[int]:
        """Passing tests that enter most of the functions that the failing ones enter."""
        entered = {place for one in failing for place in _entered(one)}
        near = sorted(
            (-len(entered & _entered(one)), number) for number, one in passing.items()
            if entered & _entered(one)
        )
        return self._within(PASSING_S, (number for _, number in near), 0)[:MAX_PASSING]

    def _test(self, node: str) -> ast.stmt | None:
        """The function of a test, if its file has it."""
        path, _, name = node.partition("::")
        if path not in self.named:
            self.named[path] = named_statements(self.suite.files.get(path, ""))
        return self.named[path].get(name.partition("[")[0])

    def _code(self, node: str) -> str:
        """The text of a test."""
        if isinstance(self.suite, CommandSuite):
            return self.suite.code
        found = self._test(node)
        return ast.unparse(found) if found is not None else "pass"

    def _asked(self, node: str) -> frozenset[str]:
        """Names that a test reads itself."""
        if isinstance(self.suite, CommandSuite):
            return names_read(nodes_of(self.suite.code))
        found = self._test(node)
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
