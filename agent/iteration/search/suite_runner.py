"""Runs the candidates of a project with its test suite in a jail, or with its test command.

Candidates are pre-checked with the failing tests and passing tests that run the same functions.
The coverage of both decides which files are suspect.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from agent.core.domain import Project, Solution, Task
from agent.core.trees import nodes_of
from agent.iteration.search.driver import NothingToSearch, SearchLimits
from agent.search.precheck.members import importable, members
from agent.search.precheck.polluters import polluters
from agent.search.precheck.precheck import open_prechecker
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
    CoveredTest,
    Suspect,
    named_statements,
    names_read,
    sibling_fields,
    strings_in_tests,
    suspects,
    with_module_level,
)
from agent.search.ranking.competing import differs
from agent.search.values import Facts, PrecheckRequest, PrecheckResult, ProbeResult, Trace
from agent.verify.project.suite_judge import as_program
from agent.verify.project.suite_run import project_files
from sandbox.sandbox import Sandbox

MAX_FAILING, MAX_PASSING = 12, 25
"""How many failing and passing tests candidates are pre-checked with."""
MAX_FILES = 6
FURTHER_CANDIDATES = 400
"""Candidates of a file that are still tried after the first that passes every test."""
MIN_FAILING, MAX_FAILING_S = 3, 0.1
"""Failing tests for the pre-check: at least this many, more while they take less time in all."""
MAX_PASSING_S = 0.3
"""Total time of the passing tests for the pre-check; the others are left to the judge."""
BASELINE_TESTS, BASELINE_S = 60, 1.0
"""Passing tests that are run at a time for a baseline, until all take this long."""
MAX_COVERED_S = 0.5
"""Total time of the passing tests whose coverage is measured, the fastest first. With coverage
they take several times as long."""


@asynccontextmanager
async def suite_runner(
    task: Task, project: Project, base: Solution, failing: Sequence[str], sandbox: Sandbox,
    limits: SearchLimits, slow: Collection[str] = (), endless: Collection[str] = (),
) -> AsyncIterator[SuiteRunner]:
    """Opens a runner for the candidates of a project's files.

    Args:
        failing: Node ids of the tests to repair.
        slow: Node ids of tests that took long; if they pass, they are not run.
        endless: Node ids of tests that did not end.

    Raises:
        NothingToSearch: These tests do not fail in the jailed suite.
    """
    if project.command:
        yield await _command_runner(task, project, base, sandbox, limits)
        return
    async with open_suite(project_files(task, base), project, task.site_dirs, sandbox) as suite:
        wanted = {*failing}
        numbers = [number for number, node in enumerate(suite.nodes) if node in wanted]
        if not numbers and suite.problems and not wanted:
            yield await _command_runner(task, _import_project(project, base), base, sandbox, limits)
            return
        if not numbers:
            why = "; ".join(suite.problems) or "pytest collects none of the failing tests"
            raise NothingToSearch(why)
        suite.until, suite.work = limits.end, limits.cpu_time
        suite.endless = [one for one in numbers if suite.nodes[one] in endless]
        rows = await suite.baseline(numbers)
        waiting = [
            one for one in _other_tests(suite.nodes, numbers) if suite.nodes[one] not in slow
            and (suite.nodes[one] in project.only or not project.only)
        ]
        while waiting and sum(row.cost_s for row in rows.values() if row.passed) < BASELINE_S:
            rows |= await suite.baseline(waiting[:BASELINE_TESTS])
            del waiting[:BASELINE_TESTS]
        passing = [number for number in numbers if number in rows and rows[number].passed]
        polluting = await _polluting_tests(suite, passing, rows) if passing else []
        still_failing = [number for number in numbers if number in rows and not rows[number].passed]
        if not any(number in rows for number in numbers):
            limit = f"{limits.wall_s:.3g} s"
            raise NothingToSearch(f"the failing tests did not finish in the suite in {limit}")
        if not still_failing:
            raise NothingToSearch("the tests pass when they are run again")
        yield await SuiteRunner(
            suite, task, project, sandbox, rows, still_failing, polluting
        ).prepare()


async def _command_runner(
    task: Task, project: Project, base: Solution, sandbox: Sandbox, limits: SearchLimits
) -> SuiteRunner:
    suite = CommandSuite(project_files(task, base), project, task.site_dirs, sandbox, limits.end)
    suite.work = limits.cpu_time
    row = await suite.collect()
    if row.passed:
        raise NothingToSearch("the command succeeds when it is run again")
    limits.max_candidates = min(limits.max_candidates, MAX_TRIED)
    return await SuiteRunner(suite, task, project, sandbox, {0: row}, [0]).prepare()


def _import_project(project: Project, base: Solution) -> Project:
    """The project with one test, the import of the entry of `base`, its only editable file."""
    path = base.entry
    for root in project.import_roots:
        path = path.removeprefix(f"{root}/") if root else path
    module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    command = ("-c", f"import {module}")
    return project.model_copy(update={
        "command": command, "command_words": f"import {module}", "editable": (base.entry,),
    })


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


def _other_tests(nodes: Sequence[str], numbers: Sequence[int]) -> list[int]:
    """All other tests, those in the same files first."""
    files = {nodes[number].partition("::")[0] for number in numbers}
    others = {*range(len(nodes))} - {*numbers}
    return sorted(others, key=lambda one: (nodes[one].partition("::")[0] not in files, one))


@dataclass
class SuiteRunner:
    """Runs some tests of a suite on changed texts of the files that they cover; see `Runner`."""

    suite: CollectedSuite | CommandSuite
    task: Task
    project: Project
    sandbox: Sandbox
    rows: dict[int, TestRow]
    failing: Sequence[int]
    polluting: Sequence[int] = ()
    """Tests that make failing ones fail; with any, all pre-checked tests run in suite order."""
    suspects: Sequence[Suspect] = ()
    facts: Facts = field(default_factory=Facts)
    further_candidates: int = FURTHER_CANDIDATES
    chunk_size: int = CHUNK
    prechecked_failing: list[int] = field(default_factory=list)
    """The failing tests that candidates are pre-checked with."""
    prechecked: list[int] = field(default_factory=list)
    """All tests that candidates are pre-checked with."""
    read_names: list[frozenset[str]] = field(default_factory=list)
    """The names that each test of `prechecked` reads."""
    functions: dict[str, dict[str, ast.stmt]] = field(default_factory=dict)
    """The functions of each test file, by name."""

    def __post_init__(self) -> None:
        self.files = self.suite.files

    async def prepare(self) -> SuiteRunner:
        """Measures coverage, and returns this runner with its tests and suspect files chosen."""
        editable = {*self.project.editable} & self.suite.loaded
        files = {self._file_of(number) for number in self.failing}
        passing = self._within_time(MAX_COVERED_S, sorted(
            (number for number, row in self.rows.items() if row.passed),
            key=lambda one: (self._file_of(one) not in files, self.rows[one].cost_s, one),
        ))
        quick = self._within_time(MAX_FAILING_S, sorted(
            self.failing, key=lambda one: (self.rows[one].cost_s, one)
        ), MIN_FAILING)
        failing = self.prechecked_failing = [
            one for one in self.failing if one in quick
        ][:MAX_FAILING]
        if self.polluting:
            # A failing run includes the tests that make it fail.
            run = await self.suite.coverage(
                sorted({*self.polluting, *failing, *passing}), sorted(editable), lines=False
            )
            before = [run[one] for one in self.polluting if one in run]
            failing_runs = {one: _merged([*before, run[one]]) for one in failing if one in run}
            passing_runs = {one: row for one, row in run.items() if one not in failing_runs}
        else:
            failing_runs = await self.suite.coverage(failing, sorted(editable), lines=False)
            passing_runs = await self.suite.coverage(passing, sorted(editable), lines=False)
        self.prechecked = [*failing, *self._related_passing([*failing_runs.values()], passing_runs)]
        if self.polluting:
            self.prechecked = sorted({*self.prechecked, *self.polluting})
        self.read_names = [self._names_read(self.suite.nodes[number]) for number in self.prechecked]
        failed, passed = (
            [CoveredTest(one, self._names_read(self.suite.nodes[at])) for at, one in some.items()]
            for some in (failing_runs, passing_runs)
        )
        found = suspects(self.suite.files, editable, failed, passed)
        found = changed_first(found, self.suite.files, dict(self.project.changed))
        self.suspects = found[:MAX_FILES]
        self.facts = Facts(
            tests=tuple(self._code(self.suite.nodes[number]) for number in self.prechecked),
            test_strings=strings_in_tests(
                [self._code(self.suite.nodes[number]) for number in failing],
                [self.suite.nodes[number].partition("[")[2] for number in failing],
            ),
            sibling_fields=sibling_fields(self.suite.files[one.file] for one in self.suspects),
        )
        return self

    async def trace(self, file: str, text: str) -> Trace:
        changed = None if text == self.files[file] else text
        seen = await self.suite.trace(file, self.prechecked, changed)
        # A failing test covers the lines of the tests that make it fail, too.
        lines = frozenset[int]().union(
            *(seen.tests[self.prechecked.index(one)].covered for one in self.polluting)
        )
        seen = replace(seen, order_dependent=bool(self.polluting), tests=tuple(
            one if one.passed else replace(
                one, covered=one.covered | lines,
                known_names=(
                    one.known_names or members(one.message) or importable(one.message, self.files)
                ),
            ) for one in seen.tests
        ))
        return with_module_level(text, seen, self.read_names)

    async def probe(self, file: str, texts: Sequence[str], calls: Sequence[str]) -> ProbeResult:
        """The answer of each text to each call, in processes that run only its module.

        If all texts give the answers of the first one, which is under repair, none are returned.
        """
        roots = [
            one for one in self.project.import_roots if file.startswith(f"{one}/" if one else "")
        ]
        if self.project.python or self.project.command or not roots:
            return ProbeResult(tuple(None for _ in texts))
        base, task = as_program(self.files, self.project, self.task, roots[0], file)
        async with open_prechecker(
            task, base, (), self.sandbox, processes=1, cpu_time=self.suite.work
        ) as prechecker:
            found = await prechecker.probe(texts, calls)
        before, *rows = found.rows
        distinguishes = not before or not rows or any(
            differs(before, row, frozenset()) for row in rows if row is not None
        )
        return found if distinguishes else ProbeResult(tuple(None for _ in texts))

    async def precheck(
        self, file: str, request: PrecheckRequest, is_over: Callable[[], bool]
    ) -> Sequence[PrecheckResult | None]:
        rows = [self.rows[number] for number in self.prechecked]
        slowest_s = max((one.cpu_s for one in rows if not one.late), default=0.0)
        return await self.suite.precheck(
            file, request.candidates, self.prechecked, len(self.prechecked_failing), request.mode,
            min(MAX_S, max(LEAST_S, FACTOR * slowest_s)),
            order_dependent=self.prechecked_failing if self.polluting else (),
        )

    def _file_of(self, number: int) -> str:
        return self.suite.nodes[number].partition("::")[0]

    def _within_time(self, most_s: float, numbers: Iterable[int], least: int = 1) -> list[int]:
        """Selects tests in order while they take at most `most_s` in all, and at least `least`."""
        found: list[int] = []
        spent_s = 0.0
        for number in numbers:
            cost_s = self.rows[number].cost_s
            if spent_s + cost_s <= most_s or len(found) < least:
                found.append(number)
                spent_s += cost_s
        return found

    def _related_passing(
        self, failing: Sequence[Coverage], passing: dict[int, Coverage]
    ) -> list[int]:
        """Passing tests, those first that run the most functions which failing tests run too."""
        entered = {function for one in failing for function in _entered_functions(one)}
        near = sorted(
            (-len(entered & _entered_functions(one)), number) for number, one in passing.items()
            if entered & _entered_functions(one)
        )
        return self._within_time(MAX_PASSING_S, (number for _, number in near), 0)[:MAX_PASSING]

    def _test_node(self, node: str) -> ast.stmt | None:
        path, _, name = node.partition("::")
        if path not in self.functions:
            self.functions[path] = named_statements(self.suite.files.get(path, ""))
        return self.functions[path].get(name.partition("[")[0])

    def _code(self, node: str) -> str:
        if isinstance(self.suite, CommandSuite):
            return self.suite.code
        found = self._test_node(node)
        return ast.unparse(found) if found is not None else "pass"

    def _names_read(self, node: str) -> frozenset[str]:
        """The names that a test reads."""
        if isinstance(self.suite, CommandSuite):
            return names_read(nodes_of(self.suite.code))
        found = self._test_node(node)
        return names_read(ast.walk(found)) if found is not None else frozenset()


def _merged(runs: Sequence[Coverage]) -> Coverage:
    functions: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for one in runs:
        for file, calls in one.functions.items():
            functions[file].update(calls)
    return Coverage(dict(functions))


def _entered_functions(one: Coverage) -> set[tuple[str, int]]:
    return {(file, line) for file, lines in one.functions.items() for line in lines}
