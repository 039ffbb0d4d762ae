"""A project's test command as a suite of one test.

Each candidate is a new run of the command, so only few can be tried.
"""

from __future__ import annotations

import ast
import asyncio
import time
from collections.abc import Mapping, Sequence

from agent.core.domain import Project
from agent.core.trees import nodes_or_empty
from agent.search.precheck.batches import ProcessorTime
from agent.search.project.suite import Coverage, TestRow
from agent.search.values import Mode, PrecheckResult, Trace, TracedTest
from agent.verify.project.command_run import MAX_S, CommandRun, run_command
from agent.verify.project.suite_run import COMMAND, suite_job
from sandbox.sandbox import Sandbox

MAX_TRIED = 100
"""Candidates of one search."""
AT_ONCE = 2
FURTHER_CANDIDATES = 40
"""Candidates that are still tried after the first that passes."""
LONGER, LEAST_S = 5.0, 5.0
"""The time limit of a run as a multiple of the base's time, and the lowest limit."""


class CommandSuite:
    """The interface of `agent.search.project.suite.CollectedSuite` for a test command."""

    def __init__(
        self, files: Mapping[str, str], project: Project, package_folders: tuple[str, ...],
        sandbox: Sandbox, until: float,
    ) -> None:
        self.files = files
        self.nodes: tuple[str, ...] = (project.command_words,)
        self.loaded = frozenset[str]()
        """Files that the command executed."""
        self.problems: tuple[str, ...] = ()
        self.work = ProcessorTime()
        self._project, self._package_folders, self._sandbox = project, package_folders, sandbox
        self._until = until
        self._left = MAX_TRIED
        self._base_run: CommandRun | None = None

    async def collect(self) -> TestRow:
        """Runs the command on the base, and sets the files that it executes."""
        run = self._base_run = await self._run({}, [*self._project.editable])
        self.loaded = frozenset(run.lines) or frozenset(self._project.editable)
        return TestRow(self.nodes[0], run.passed, run.outcome.wall_s, "", run.message)

    @property
    def code(self) -> str:
        """The test functions in the tracebacks that the command printed."""
        found: dict[str, None] = {}
        for place in self._base_run.places if self._base_run is not None else ():
            if place.file not in self._project.editable:
                found |= dict.fromkeys(_functions_at(self.files[place.file], place.line))
        return "\n".join(found) or "pass"

    async def coverage(
        self, numbers: Sequence[int], files: Sequence[str], lines: bool
    ) -> dict[int, Coverage]:
        """The code that the command runs; empty without `numbers`."""
        if not numbers or self._base_run is None:
            return {}
        # If no calls were recorded, as in other processes, all files are equally suspicious.
        return {0: Coverage({file: self._base_run.functions.get(file) or {1: 1} for file in files})}

    async def trace(self, file: str, numbers: Sequence[int], text: str | None = None) -> Trace:
        """Traces the command in one file, or in another text of it."""
        run = self._base_run if text is None else await self._run({file: text}, [file])
        assert run is not None
        lines = run.lines.get(file) or frozenset(range(1, self.files[file].count("\n") + 2))
        last = next((place.line for place in reversed(run.places) if place.file == file), None)
        return Trace((TracedTest(run.passed, lines, *run.crash, last),))

    async def precheck(
        self, file: str, texts: Sequence[str], order: Sequence[int], failing: int, mode: Mode,
        cpu_s: float, *, order_dependent: Sequence[int] = (),
    ) -> list[PrecheckResult | None]:
        """Runs the command with each text; `None` for texts that were not tried.

        After one passes, at most `FURTHER_CANDIDATES` more are tried. The other arguments are those
        of `CollectedSuite.precheck` and have no effect.
        """
        found: list[PrecheckResult | None] = []
        began = time.monotonic()
        while len(found) < len(texts) and self._left > 0 and time.monotonic() < self._until:
            some = texts[len(found) : len(found) + min(AT_ONCE, self._left)]
            self._left -= len(some)
            runs = await asyncio.gather(*(self._run({file: one}, []) for one in some))
            found += [_precheck_result(run) for run in runs]
            if any(run.passed for run in runs):
                self._left = min(self._left, FURTHER_CANDIDATES)
        self.work.spent_s += time.monotonic() - began
        return found + [None] * (len(texts) - len(found))

    async def _run(self, changed: Mapping[str, str], watched: Sequence[str]) -> CommandRun:
        base_s = self._base_run.outcome.wall_s if self._base_run is not None else MAX_S
        left_s = max(1.0, self._until - time.monotonic())
        limit_s = min(MAX_S, max(LEAST_S, LONGER * base_s), left_s)
        files = {**self.files, **changed}
        job = await suite_job(COMMAND, files, self._project, self._package_folders, self._sandbox)
        return await run_command(
            job, self._project.command, self._sandbox, watched=watched, wall_s=limit_s
        )


def _functions_at(text: str, line: int) -> list[str]:
    """The source of the innermost function around a line; empty outside of functions."""
    around = [
        node for node in nodes_or_empty(text)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return [ast.unparse(max(around, key=lambda node: node.lineno))] if around else []


def _precheck_result(run: CommandRun) -> PrecheckResult:
    if run.passed:
        return PrecheckResult((True,), "ok")
    late = run.status == "timeout"
    return PrecheckResult(
        (False,), "timeout" if late else "failed", *run.crash, behaviour=run.message
    )
