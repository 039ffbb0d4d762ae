"""Prepares a request: reads a file, or finds a project and runs its suite once. Also builds the
result of the run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent.core.domain import Integrity, Report, Task
from agent.core.events import LogEntry
from agent.core.settings import Settings
from agent.interfaces.request import HealRequest, UsageError
from agent.report.result import Result, document, fold
from agent.report.words import STATUS_SYMBOLS
from agent.target.errors import NotFixable

if TYPE_CHECKING:
    from agent.interfaces.project.branch import Committed
    from agent.interfaces.project.discovery import Inspection
    from agent.loop.session import Session
    from agent.target.task import PreparedTask

OpenSession = Callable[[Settings], AbstractAsyncContextManager["Session"]]
Say = Callable[[str, str], None]
NOTE = "yellow"


def discard(text: str, style: str) -> None:
    """Discards a message."""


@dataclass(frozen=True)
class Preparation:
    """A prepared request: `submitted` is a file's task and `inspected` a project. Both are `None`
    for a resumed run."""

    title: str = ""
    submitted: PreparedTask | None = None
    inspected: Inspection | None = None
    notices: tuple[str, ...] = ()
    """Messages that were not shown yet."""

    @property
    def task(self) -> Task | None:
        """The task to heal; `None` for a project without failures. Raises `NotFixable`."""
        if self.inspected is None:
            return self.submitted.task if self.submitted is not None else None
        from agent.interfaces.project.discovery import task_to_heal

        return task_to_heal(self.inspected) if self.inspected.needs_healing else None

    @property
    def spent_s(self) -> float:
        """Seconds for the first run of a project's suite, which count towards a time limit."""
        return 0.0 if self.inspected is None else self.inspected.seconds

    def first_report(self, task: Task) -> Report | None:
        """The report on the unchanged project, whose suite has run already; else `None`."""
        if self.inspected is None:
            return None
        from agent.interfaces.project.discovery import first_report

        return first_report(self.inspected, task)

    def heal_result(self, log: Sequence[LogEntry]) -> Result:
        """Returns the result of a run from its log; an empty log means nothing was to heal."""
        if self.inspected is None:
            return fold(log)
        from agent.interfaces.project.discovery import heal_result

        return heal_result(self.inspected, log)

    def document(self, result: Result, commits: Sequence[Committed] = ()) -> dict[str, Any]:
        """Returns a result as a JSON document."""
        if self.inspected is None:
            return document(result)
        from agent.interfaces.project.reports import project_document

        return project_document(result, self.inspected, commits)


NO_REQUEST = Preparation()


async def suite_result(prepared: Preparation, integrity: Integrity | None) -> Result:
    """Returns the result of an unchanged project, with its integrity if that is required."""
    from agent.interfaces.project.discovery import checked_report, result_without_edit

    inspected = prepared.inspected
    assert inspected is not None, "a single file is judged by a session"
    asks = integrity is not None and not inspected.broken
    return result_without_edit(inspected, await checked_report(inspected) if asks else None)


async def checked(
    opener: OpenSession, request: HealRequest, settings: Settings, say: Say
) -> tuple[Preparation, Result]:
    """Runs the tests of an unchanged program or project. Raises the errors of `prepare` and
    `judged`."""
    prepared = await prepare(request, settings, say)
    if prepared.inspected is not None:
        return prepared, await suite_result(prepared, request.require_integrity)
    async with opener(settings) as session:
        return prepared, await judged(session, prepared.task, prepared.title, say)


async def judged(
    session: Session, task: Task | None, title: str = "", say: Say = discard,
    visitor: str | None = None,
) -> Result:
    """Runs the tests of a task's program. Raises `NotFixable`, `UsageError`."""
    from agent.iteration.models import LOCAL_USER
    from agent.target.failures.excluded import exclusion_words, with_exclusions

    if task is None or task.solution is None:
        raise UsageError("There is no program to test. Give a PATH.")
    started = time.monotonic()
    jail = await session.jail(task)
    say(f"sandbox: {jail.words}", "dim")
    report = await session.judge(task, task.solution, visitor or LOCAL_USER)
    if report.wrong_file:
        raise NotFixable("invalid_tests", report.wrong_file)
    report = with_exclusions(report, task)
    aside = exclusion_words(report)
    if aside:
        say(f"note: {aside}.", NOTE)
    shown = any(verdict.passed for verdict in report.verdicts) or not aside
    failed = any(verdict.fails for verdict in report.verdicts)
    good = shown and report.passed and not failed
    return Result(
        title=title,
        # If no test could judge the program, no edit can repair it.
        outcome="healthy" if good else "unresolved" if shown or failed else "not_fixable",
        proof=("E0" if report.weakest is None else "E1") if good else None,
        reason=_no_evidence_words(report) if good else "" if shown or failed else f"{aside}.",
        code=task.solution.text,
        files=tuple((file.path, file.text) for file in task.solution.files),
        report=report,
        stdout=report.ending.stdout if report.ending else "",
        seconds=time.monotonic() - started,
        sandbox=jail.words,
        level=jail.level,
    )


def _no_evidence_words(report: Report) -> str:
    if report.weakest is not None:
        return ""
    if not report.verdicts:
        return "there is no test; only the exit of the program was checked"
    return f"no test shows anything: each is skipped, or {STATUS_SYMBOLS['vacuous'].meaning}"


async def prepare(request: HealRequest, settings: Settings, say: Say) -> Preparation:
    """Prepares a request; runs the suite of a project once. Raises `BadInput`, `NotFixable`."""
    if not request.is_project:
        from agent.target.task import from_command_line

        submitted = await asyncio.to_thread(from_command_line, request)
        for notice in submitted.notices:
            say(f"note: {notice}", NOTE)
        return Preparation(request.title, submitted)
    from agent.interfaces.project.discovery import inspect_project

    inspected = await inspect_project(request, settings, say)
    if request.failed_outside and not inspected.needs_healing:
        raise NotFixable(
            "environment", "the tests that failed pass in the jail, so the cause is outside of the "
            "project's files. Check the import path, environment variables, ignored files, the "
            "order of the tests and the time",
        )
    return Preparation(inspected.project.name, inspected=inspected)
