"""The client of a project's collected suite in a jail; see `programs.suite_session`."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from agent.core.domain import Project
from agent.search.precheck.batches import ProcessorTime
from agent.search.precheck.changes import change
from agent.search.precheck.rows import candidate_rows, precheck_result
from agent.search.precheck.tracing import trace_of
from agent.search.values import Mode, PrecheckResult, Trace
from agent.verify.project.suite_run import suite_job
from sandbox.sandbox import Batch, Sandbox
from sandbox.types import Json, LostItem

START_S = 120.0
CHUNK = 60
SLICE_S = 0.4
"""Processor time after which the jail returns the results that it has."""
TEST_S = 10.0
"""The limit of processor seconds for one test of the base."""
ENDLESS_S = 1.0
"""The same for a test that did not end before."""
WAITING_S = 0.2
"""A test waits, and is not just delayed, if its wall time exceeds twice its CPU time by this."""
LEAST_S, FACTOR, MAX_S = 0.1, 8.0, 3.0
"""The limit for a candidate's test is a multiple of the base's time, within bounds."""


@dataclass(frozen=True)
class TestRow:
    """The outcome of one test of the base."""

    __test__ = False

    node: str
    passed: bool
    cpu_s: float
    exception: str = ""
    message: str = ""
    late: bool = False
    wall_s: float = 0.0

    @property
    def cost_s(self) -> float:
        """The processor seconds; of a test that mostly waits, its wall seconds."""
        return self.wall_s if self.wall_s > 2 * self.cpu_s + WAITING_S else self.cpu_s


@dataclass(frozen=True)
class Coverage:
    """The project's code that one test ran."""

    functions: Mapping[str, Mapping[int, int]]
    """By file, the first line of each function to its number of calls."""
    lines: Mapping[str, frozenset[int]] = field(default_factory=dict)


class CollectedSuite:
    """A collected suite in its jail."""

    def __init__(self, batch: Batch, files: Mapping[str, str]) -> None:
        self._batch = batch
        self.files = files
        self.nodes: tuple[str, ...] = ()
        self.loaded: frozenset[str] = frozenset()
        """Files of the project that were imported while the suite was collected."""
        self.problems: tuple[str, ...] = ()
        self.endless: Collection[int] = ()
        """Numbers of tests that did not end in an earlier run."""
        self.work = ProcessorTime()
        self.until = math.inf
        """The deadline on the monotonic clock."""

    async def collect(self) -> None:
        """Sets the node ids of the tests, the imported files and the problems of the collection."""
        answer = await self._ask({"ask": "collected"}, START_S)
        match answer:
            case {"tests": list(nodes), "loaded": list(loaded), "problems": list(problems)}:
                self.nodes = tuple(map(str, nodes))
                self.loaded = frozenset(map(str, loaded))
                self.problems = tuple(map(str, problems))
            case {"problem": str(problem)}:
                self.problems = (problem,)
            case LostItem() as lost:
                self.problems = (lost.stderr.strip() or lost.limit or lost.ended,)

    async def baseline(self, numbers: Sequence[int]) -> dict[int, TestRow]:
        """Runs tests on the base; tests that end their process or miss the deadline are missing."""
        found: dict[int, TestRow] = {}
        pending = [*numbers]
        limit_s = self._limit_s(numbers)
        while pending and time.monotonic() < self.until:
            rows = await self._ask(
                {"ask": "baseline", "tests": [*pending], "limits": _limits(limit_s),
                 "wall_s": TEST_S * 12}, TEST_S * 13,
            )
            for row in rows if isinstance(rows, list) else []:
                match row:
                    case [int(number), bool(passed), float(cpu_s), str(exc), str(said), bool(late),
                          float(wall_s)]:
                        found[number] = TestRow(
                            self.nodes[number], passed and not late, cpu_s, exc, said, late, wall_s
                        )
            # The first test without a row ended the process.
            pending = [one for one in pending if one not in found][1:]
        return found

    async def coverage(
        self, numbers: Sequence[int], files: Sequence[str], lines: bool
    ) -> dict[int, Coverage]:
        """The code of these files that each test runs."""
        rows = await self._ask(
            {"ask": "coverage", "tests": [*numbers], "files": [*files], "lines": lines,
             "limits": _limits(self._limit_s(numbers)), "wall_s": TEST_S * 6}, TEST_S * 7,
        )
        found = {}
        for row in rows if isinstance(rows, list) else []:
            match row:
                case [int(number), dict(functions), dict(ran)]:
                    found[number] = Coverage(
                        {str(f): {int(a): int(b) for a, b in cast(Any, calls)}
                         for f, calls in functions.items()},
                        {str(f): frozenset(cast(Any, some)) for f, some in ran.items()},
                    )
        return found

    async def trace(self, file: str, numbers: Sequence[int], text: str | None = None) -> Trace:
        """Traces these tests in one file, or in another text of it."""
        base = self.files[file]
        rows = await self._ask(
            {"ask": "watch", "file": file, "base": base,
             "change": None if text is None else [*change(base, text)], "tests": [*numbers],
             "limits": _limits(self._limit_s(numbers)), "wall_s": TEST_S * 3}, TEST_S * 4,
        )
        traces = [cast(Json | LostItem, row) for row in rows] if isinstance(rows, list) else []
        return trace_of([*traces, *[LostItem("killed")] * (len(numbers) - len(traces))])

    async def precheck(
        self, file: str, texts: Sequence[str], order: Sequence[int], failing: int, mode: Mode,
        cpu_s: float, *, order_dependent: Sequence[int] = (),
    ) -> list[PrecheckResult | None]:
        """Pre-checks texts of one file.

        Args:
            file: The path of the file.
            texts: Its candidate texts.
            order: The numbers of the tests, in their order.
            failing: How many of the first tests fail with the base.
            mode: Which tests are run, see `Mode`.
            cpu_s: The limit of processor seconds for one test.
            order_dependent: The tests that fail only after others, if there are any; each text then
                runs in its own copy of the suite.

        Returns:
            `None` for a text of which nothing is known.
        """
        base = self.files[file]
        results: list[PrecheckResult | None] = [None] * len(texts)
        done = 0
        while done < len(texts) and time.monotonic() < self.until:
            chunk = texts[done : done + CHUNK]
            answer = await self._ask(
                {"ask": "screen", "file": file, "base": base,
                 "changes": [[*change(base, one)] for one in chunk], "order": [*order],
                 "failing": [*(order_dependent or order[:failing])],
                 "together": bool(order_dependent),
                 "mode": mode, "limits": _limits(cpu_s), "slice_s": SLICE_S,
                 "wall_s": 20 * SLICE_S + 5 * cpu_s * len(order)}, 60.0 + 5 * cpu_s * len(order),
            )
            match answer:
                case [int() | float() as spent_s, list(rows)]:
                    self.work.spent_s += spent_s
                    read = candidate_rows(rows) or []
                case _:
                    read = []
            for index, row in enumerate(read[: len(chunk)]):
                lost = row[0] == "lost"
                results[done + index] = None if lost else precheck_result(row, len(order))
            done += max(1, len(read))
        return results

    def _limit_s(self, numbers: Sequence[int]) -> float:
        return ENDLESS_S if {*numbers} & {*self.endless} else TEST_S

    async def _ask(self, item: dict[str, Json], wall_s: float) -> Json | LostItem:
        answer: Json | LostItem = None
        left_s = max(0.0, self.until - time.monotonic())
        match item:
            case {"wall_s": float(inner_s)}:
                item = {**item, "wall_s": min(inner_s, left_s)}
        async for _, reply in self._batch.replies([item], min(wall_s, left_s + TEST_S)):
            answer = reply
        return answer


@asynccontextmanager
async def open_suite(
    files: dict[str, str], project: Project, package_folders: tuple[str, ...], sandbox: Sandbox
) -> AsyncIterator[CollectedSuite]:
    """Collects the suite of a project with these files; its processes end with the context."""
    job = await suite_job("suite_session", files, project, package_folders, sandbox)
    async with sandbox.batch(job) as batch:
        suite = CollectedSuite(batch, files)
        await suite.collect()
        yield suite


def _limits(cpu_s: float) -> Json:
    """The fields of `CandidateLimits` after the steps."""
    return [cpu_s, cpu_s * 3 + 1.0, 2 * cpu_s + 1.0]
