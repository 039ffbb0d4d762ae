"""Runs the candidates of a project with its test suite, kept in a jail, or with its test command.

Candidates are screened with the failing tests and with passing tests that run the same functions.
The coverage of both decides which files are suspect.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
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
"""How many failing and passing tests candidates are screened with."""
MAX_FILES = 6
BEYOND = 400
"""Candidates of a file that are still tried after the first that passes every test."""
LEAST_FAILING, FAILING_S = 3, 0.1
"""Failing tests for screening: at least this many, and more while they take less time in all."""
PASSING_S = 0.3
"""Total time of the passing tests for screening; the others are left to the judge."""
BASELINE_TESTS, BASELINE_S = 60, 1.0
"""Passing tests that are run at a time for a baseline, until all take this long."""
COVERED_S = 0.5
"""Total time of the passing tests whose coverage is measured, the fastest first. With coverage
they take several times as long."""


@asynccontextmanager
async def suite_runner(
    task: Task, project: Project, base: Solution, failing: Sequence[str], sandbox: Sandbox,
    limits: SearchLimits,
) -> AsyncIterator[SuiteRunner]:
    """Opens a runner for the candidates of a project's files.

    Args:
        failing: Node ids of the tests to repair.

    Raises:
        NothingToSearch: These tests do not fail in the kept suite.
    """
    if project.command:
        kept = CommandSuite(project_files(task, base), project, task.sites, sandbox, limits.end)
        kept.work = limits.work
        row = await kept.collect()
        if row.passed:
            raise NothingToSearch("the command succeeds when it is run again")
        limits.max_candidates = min(limits.max_candidates, MAX_TRIED)
        yield await SuiteRunner(kept, project, {0: row}, [0]).prepared()
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
        while waiting and sum(row.cpu_s for row in rows.values() if row.passed) < BASELINE_S:
            rows |= await suite.baseline(waiting[:BASELINE_TESTS])
            del waiting[:BASELINE_TESTS]
        passing = [number for number in numbers if number in rows and rows[number].passed]
        polluting = await _polluting_tests(suite, passing, rows) if passing else []
        still_failing = [number for number in numbers if number in rows and not rows[number].passed]
        if not any(number in rows for number in numbers):
            limit = f"{limits.wall_s:.3g} s"
            raise NothingToSearch(f"the failing tests did not finish in the kept suite in {limit}")
        if not still_failing:
            raise NothingToSearch("the tests pass when they are run again")
        yield await SuiteRunner(suite, project, rows, still_failing, polluting).prepared()


async def _polluting_tests(
    suite: CollectedSuite, passing: Sequence[int], rows: dict[int, TestRow]
) -> list[int]:
    """Finds the tests that make some of the `passing` ones fail when they run before them.

    Updates `rows` with the results of these tests when they run together.
    """

    async def fails(before: Sequence[int], number: int) -> bool:
        found = await suite.baseline([*before, number])
        return number in found and not found[number].passed

    polluting: set[int] = set()
    together = await suite.baseline(range(max(passing) + 1))
    for number in passing:
        if number not in together or together[number].passed:
            continue
        before = sorted(one for one in polluting if one < number)
        if not (polluting and await fails(before, number)):
            polluting |= {*await polluters(
                range(number), lambda before, at=number: fails(before, at)  # type: ignore[misc]
            )}
    order = sorted({*polluting, *passing})
    rows |= {**together, **(await suite.baseline(order) if polluting else {})}
    return sorted(polluting)


def _others(nodes: Sequence[str], numbers: Sequence[int]) -> list[int]:
    """All other tests, those in the same files first."""
    files = {nodes[number].partition("::")[0] for number in numbers}
    others = {*range(len(nodes))} - {*numbers}
    return sorted(others, key=lambda one: (nodes[one].partition("::")[0] not in files, one))


@dataclass
class SuiteRunner:
    """Runs some tests of a suite on changed texts of the files that they cover; see `Runner`."""

    suite: CollectedSuite | CommandSuite
    project: Project
    rows: dict[int, TestRow]
    failing: Sequence[int]
    polluting: Sequence[int] = ()
    """Tests that make failing ones fail; with any, all screened tests run in suite order."""
    suspects: Sequence[Suspect] = ()
    facts: Facts = field(default_factory=Facts)
    beyond: int = BEYOND
    chunk: int = CHUNK
    screened_by: list[int] = field(default_factory=list)
    """The failing tests that candidates are screened with."""
    order: list[int] = field(default_factory=list)
    """All tests that candidates are screened with."""
    read_names: list[frozenset[str]] = field(default_factory=list)
    """The names that each test of `order` reads."""
    functions: dict[str, dict[str, ast.stmt]] = field(default_factory=dict)
    """The functions of each test file, by name."""

    def __post_init__(self) -> None:
        self.files = self.suite.files

    async def prepared(self) -> SuiteRunner:
        """Measures coverage, and returns this runner with its tests and suspect files chosen."""
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
        if self.polluting:
            # A failing run includes the tests that make it fail.
            run = await self.suite.coverage(
                sorted({*self.polluting, *failing, *passing}), sorted(editable), lines=False
            )
            before = [run[one] for one in self.polluting if one in run]
            failing_runs = {one: _joined([*before, run[one]]) for one in failing if one in run}
            passing_runs = {one: row for one, row in run.items() if one not in failing_runs}
        else:
            failing_runs = await self.suite.coverage(failing, sorted(editable), lines=False)
            passing_runs = await self.suite.coverage(passing, sorted(editable), lines=False)
        self.order = [*failing, *self._near([*failing_runs.values()], passing_runs)]
        if self.polluting:
            self.order = sorted({*self.order, *self.polluting})
        self.read_names = [self._read(self.suite.nodes[number]) for number in self.order]
        failed, passed = (
            [SeenTest(one, self._read(self.suite.nodes[at])) for at, one in some.items()]
            for some in (failing_runs, passing_runs)
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
        # A failing test covers the lines of the tests that make it fail, too.
        lines = frozenset[int]().union(
            *(seen.tests[self.order.index(one)].covered for one in self.polluting)
        )
        seen = replace(seen, together=bool(self.polluting), tests=tuple(
            one if one.passed else replace(one, covered=one.covered | lines) for one in seen.tests
        ))
        return with_module_level(text, seen, self.read_names)

    async def probe(self, file: str, texts: Sequence[str], calls: Sequence[str]) -> Probed:
        return Probed(tuple(None for _ in texts))

    async def screen(
        self, file: str, question: Screen, over: Callable[[], bool]
    ) -> Sequence[Screened | None]:
        slowest_s = max(self.rows[number].cpu_s for number in self.order)
        return await self.suite.screen(
            file, question.candidates, self.order, len(self.screened_by), question.mode,
            min(MAX_S, max(LEAST_S, FACTOR * slowest_s)),
            together=self.screened_by if self.polluting else (),
        )

    def _file_of(self, number: int) -> str:
        return self.suite.nodes[number].partition("::")[0]

    def _within(self, most_s: float, numbers: Iterable[int], least: int = 1) -> list[int]:
        """Selects tests in order while they take at most `most_s` in all, and at least `least`."""
        found: list[int] = []
        spent_s = 0.0
        for number in numbers:
            cpu_s = self.rows[number].cpu_s
            if spent_s + cpu_s <= most_s or len(found) < least:
                found.append(number)
                spent_s += cpu_s
        return found

    def _near(self, failing: Sequence[Coverage], passing: dict[int, Coverage]) -> list[int]:
        """Passing tests, those first that run the most functions which failing tests run too."""
        entered = {place for one in failing for place in _entered(one)}
        near = sorted(
            (-len(entered & _entered(one)), number) for number, one in passing.items()
            if entered & _entered(one)
        )
        return self._within(PASSING_S, (number for _, number in near), 0)[:MAX_PASSING]

    def _test(self, node: str) -> ast.stmt | None:
        path, _, name = node.partition("::")
        if path not in self.functions:
            self.functions[path] = named_statements(self.suite.files.get(path, ""))
        return self.functions[path].get(name.partition("[")[0])

    def _code(self, node: str) -> str:
        if isinstance(self.suite, CommandSuite):
            return self.suite.code
        found = self._test(node)
        return ast.unparse(found) if found is not None else "pass"

    def _read(self, node: str) -> frozenset[str]:
        """The names that a test reads."""
        if isinstance(self.suite, CommandSuite):
            return names_read(nodes_of(self.suite.code))
        found = self._test(node)
        return names_read(ast.walk(found)) if found is not None else frozenset()


def _joined(runs: Sequence[Coverage]) -> Coverage:
    functions: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for one in runs:
        for file, calls in one.functions.items():
            functions[file].update(calls)
    return Coverage(dict(functions))


def _entered(one: Coverage) -> set[tuple[str, int]]:
    return {(file, line) for file, lines in one.functions.items() for line in lines}
