"""Runs a project's suite by its own pytest, or its test command, in a fresh jail.

The files are the task's `support`, overridden by the solution's. pytest decides which tests there
are. Tests of the task are matched by node id; `OTHER_TESTS` stands for all others.
"""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from agent.core.domain import (
    NEUTRAL_STATUSES,
    OTHER_TESTS,
    JailStatus,
    Project,
    Script,
    Solution,
    Status,
    Task,
    TestCase,
    Verdict,
)
from agent.verify import jail_modules
from agent.verify.jail_level import jail_status_of
from agent.verify.plain.plain_run import authenticated_content
from agent.verify.project.command_run import MAX_S as COMMAND_S
from agent.verify.project.command_run import NO_TEST, run_command
from agent.verify.project.suite_double_check import CheckReports, WatchedFiles
from sandbox.sandbox import Process, Sandbox
from sandbox.types import Job, Json, Limits, Outcome, SandboxError, SandboxUnavailable

START_S = 120.0
TEST_S = 120.0
SPARE_S = 10.0
"""Additional seconds that the host waits, since a test's own timer measures processor time."""
LONG_S = 5.0
"""Tests that take longer are reported while they run."""
MAX_S = 3_600.0
MEMORY_MIB = 4_096
COMMAND = "python_command"
INTERNAL, USAGE = 3, 4
"""Exit codes of pytest for errors outside of any test."""
UNVERIFIED = "not verified: nothing was healed"
EXIT_CODE = "only the exit code of the test command was checked, whose process runs the program"
NOT_TO_HEAL = "failing already, and not among the tests to heal"

Watch = Callable[[str, float], object]
"""Called with a running test, or a file being collected, and its seconds so far."""


@dataclass
class SuiteRun:
    outcomes: dict[str, dict[str, Json]] = field(default_factory=dict)
    collected: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Why files could not be collected, or why the run ended early."""
    left_out: list[str] = field(default_factory=list)
    unfinished: bool = False
    """The deadline ended the run; tests without an outcome did not run."""
    exit_code: int | None = None
    jail: JailStatus | None = None
    reports: CheckReports = field(default_factory=CheckReports)

    @property
    def failing(self) -> list[str]:
        return [node for node, row in self.outcomes.items() if _fails(row)]


def project_files(task: Task, solution: Solution | None) -> dict[str, str]:
    """The project's files, overridden by the solution's."""
    files = {one.path: one.text for one in task.support}
    return files | {one.path: one.text for one in (solution.files if solution else ())}


def verdicts(run: SuiteRun, tests: Sequence[TestCase], project: Project) -> list[Verdict]:
    """One verdict for each test that ran, and one for each requested test that did not run."""
    named = {test.node: test for test in tests if isinstance(test, Script)}
    rest = named.get(OTHER_TESTS)
    found = []
    for node, row in run.outcomes.items():
        test = named.get(node) or rest
        if test is None or (test is rest and node in rest.excluded_nodes):
            continue
        status: Status = row["status"]  # type: ignore[assignment]
        found.append(Verdict(
            name=node, test=test.name, origin=test.origin, status=status,
            integrity="in-process" if status == "passed" and project.command else None,
            reason="" if status != "passed" else EXIT_CODE if project.command else UNVERIFIED,
            excluded=NOT_TO_HEAL if node in project.excluded and _fails(row) else "",
            message=_message(row), wall_s=float(row.get("wall_s", 0.0)),  # type: ignore[arg-type]
        ))
    why = "; ".join(run.problems) or (
        NO_TEST if project.command else "pytest collected no such test"
    )
    known = {*run.outcomes, OTHER_TESTS}
    missing = {node: test for node, test in named.items() if node not in known}
    if rest is not None:
        expected = {*project.tests} - {*rest.excluded_nodes}
        missing |= dict.fromkeys(missing_tests(expected, [*run.outcomes]), rest)
        if run.problems and not missing:
            missing[rest.name] = rest
    found += [
        Verdict(name=node, test=test.name, origin=test.origin, status="error", message=why)
        for node, test in missing.items()
    ]
    return found


def missing_tests(before: Collection[str], now: Sequence[str]) -> list[str]:
    """Tests that ran before and are missing now.

    Parameter ids may change in each run, such as by the clock, so that of a parametrized function
    only the number of tests counts.
    """
    left = Counter(_function(node) for node in now if node not in before and "[" in node)
    found = []
    for node in sorted({*before} - {*now}):
        if "[" in node and left[_function(node)]:
            left[_function(node)] -= 1
        else:
            found.append(node)
    return found


def _function(node: str) -> str:
    return node.partition("[")[0]


def _fails(row: dict[str, Json]) -> bool:
    return row["status"] != "passed" and row["status"] not in NEUTRAL_STATUSES


def _message(row: dict[str, Json]) -> str:
    message = str(row.get("message", ""))
    file, line, refused = row.get("file"), row.get("line"), row.get("refused")
    location = f" at {file}:{line}" if message and file and line else ""
    return f"{message}{location}{f'; {refused}' if refused else ''}"


async def run_suite(
    files: Mapping[str, str], project: Project, package_folders: tuple[str, ...], sandbox: Sandbox,
    seed: int = 0, watch: Watch = lambda what, seconds: None, watching: WatchedFiles | None = None,
    until: float = math.inf, first: Sequence[str] = (),
) -> SuiteRun:
    """Runs the project's pytest, or its test command, over these files, once.

    Args:
        watch: Called for a long-running test, repeatedly with growing intervals.
        watching: Files that are watched for tamper indicators; by default none.
        until: A deadline on the monotonic clock; the tests that have not ended then have no row.
        first: The test files that run first.
    """
    if project.command:
        return await _run_test_command(dict(files), project, package_folders, sandbox, seed)
    key = secrets.token_bytes(32)
    watching = watching or WatchedFiles((), ())
    job = await suite_job("plain_suite", dict(files), project, package_folders, sandbox, {
        "key": key.hex(), "program": [*watching.program], "tests": [*watching.tests],
        "expecting": {**watching.expecting}, "only": [*(watching.only or project.only)],
        "first": [*first], "is_limit_given": bool(project.test_s),
        "limit_s": min(project.test_s or TEST_S, max(1.0, (until - time.monotonic()) / 3)),
    })
    run = SuiteRun(jail=jail_status_of(await sandbox.isolation(job), sandbox.name))
    limits = replace(job.limits, wall_s=MAX_S)
    async with sandbox.start(replace(job, limits=limits, seed=seed)) as process:
        with closing(_SlowReporter(watch)) as slow:
            await _listen(process, key, run, slow, project.test_s or TEST_S, until)
        if run.failing:
            await _add_refusals(process, run)
    return run


async def _add_refusals(process: Process, run: SuiteRun) -> None:
    """Adds the jail's refusals to tests that failed for lack of a permission."""
    from agent.verify.examples.examples import lacks_permission

    if any(lacks_permission(row) for row in run.outcomes.values()):
        refusals = (await process.kill()).refusals
        for row in run.outcomes.values():
            if refusals and lacks_permission(row) and not row.get("refused"):
                row["refused"] = "; ".join(refusals)


async def _run_test_command(
    files: dict[str, str], project: Project, package_folders: tuple[str, ...], sandbox: Sandbox,
    seed: int,
) -> SuiteRun:
    job = await suite_job(COMMAND, files, project, package_folders, sandbox)
    jail = jail_status_of(await sandbox.isolation(job), sandbox.name)
    if jail.level == "L2":
        raise SandboxError("a test command needs files, and this jail (L2) cannot open any")
    ran = await run_command(
        job, project.command, sandbox, seed=seed, wall_s=project.test_s or COMMAND_S,
    )
    if not ran.tested:
        return SuiteRun(jail=jail)
    last = ran.places[-1] if ran.places else None
    return SuiteRun({project.command_words: {
        "status": ran.status, "message": ran.message, "wall_s": ran.outcome.wall_s,
        "file": last.file if last else "", "line": last.line if last else 0,
    }}, [project.command_words], jail=jail)


class _SlowReporter:
    """Reports what has been running for long, while it runs."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, what: str) -> None:
        self.close()
        self._schedule(what, LONG_S, LONG_S)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _schedule(self, what: str, more_s: float, after_s: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(more_s, self._report, what, after_s)

    def _report(self, what: str, after_s: float) -> None:
        self._watch(what, after_s)
        self._schedule(what, after_s, 2 * after_s)


async def _listen(
    process: Process, key: bytes, run: SuiteRun, slow: _SlowReporter, test_s: float, until: float
) -> None:
    running_test, collects, receive_timeout_s, count = "", "", START_S, 0
    running: set[str] = set()
    while True:
        received = await process.receive(min(receive_timeout_s, max(0.0, until - time.monotonic())))
        if isinstance(received, Outcome):
            run.unfinished = received.ended == "timeout" and time.monotonic() >= until
            if run.unfinished:
                return
            ending = _ending(received, test_s if running_test else receive_timeout_s)
            if running_test:
                status = "timeout" if received.ended == "timeout" else "error"
                run.outcomes[running_test] = {"status": status, "message": ending}
            run.problems.append(f"{running_test or collects or 'pytest'} {ending}")
            return
        message = authenticated_content(received, key, count)
        if message is None:
            run.reports.indicators.append(("", "forged-message", ""))
            continue
        count += 1
        match message:
            case {"collects": str(file)}:
                collects = file
                slow.begin(file)
            case {"collected": list(nodes), "left_out": list(options)}:
                run.collected = [*map(str, nodes)]
                run.left_out = [*map(str, options)]
                collects = "" if nodes else collects
            case {"begin": str(node)}:
                running_test, receive_timeout_s = node, test_s + SPARE_S
                running.add(node)
                slow.begin(node)
            case {"ended": str(node), "status": str(status), "message": str(text),
                  "file": str(file), "line": int(line), "wall_s": float(wall_s),
                  "refused": str(refused)}:
                if node not in running:
                    run.reports.indicators.append((node, "forged-message", ""))
                running.discard(node)
                run.outcomes[node] = {
                    "status": status, "message": text, "file": file, "line": line,
                    "wall_s": wall_s, "refused": refused,
                }
                running_test, receive_timeout_s = "", START_S
                slow.close()
            case {"sign": str(rule), "detail": str(detail), "test": str(test)}:
                run.reports.indicators.append((test, rule, detail))
            case {"check": str()}:
                run.reports.checks.append(message)
            case {"ends": str(how), "test": str(test)}:
                run.reports.ends.add((how, test))
            case {"done": int(code), "problems": list(problems)}:
                run.problems += map(str, problems)
                run.exit_code = code
                if code in (USAGE, INTERNAL) and not problems:
                    problem = _start_problem(await process.receive(START_S))
                    run.problems.append(
                        f"{collects} ends its process (SystemExit)"
                        if collects and "SystemExit" in problem else problem
                    )
                elif run.outcomes and len(run.outcomes) < len({*run.collected}):
                    run.problems.append(f"{[*run.outcomes][-1]} ends its process (pytest.exit)")
                return


def _ending(ended: Outcome, receive_timeout_s: float) -> str:
    if ended.ended == "timeout":
        return f"did not end within {receive_timeout_s:g} seconds"
    how = f"exit code {ended.exit_code}" if ended.exit_code is not None else ended.signal
    return f"ends its process ({ended.limit or how or ended.ended})"


def _start_problem(ended: Json | Outcome) -> str:
    lines = ended.stderr.strip().split("\n") if isinstance(ended, Outcome) else []
    errors = [
        line.removeprefix("ERROR:").removeprefix("E  ").strip() for line in lines
        if line.startswith(("E  ", "ERROR:", "ImportError")) or ": error: " in line
    ]
    reasons = [error for error in errors if not error.startswith("usage:")] or lines[-1:]
    return f"pytest does not start: {' '.join(reasons)}"


async def suite_job(
    program: str, files: dict[str, str], project: Project, package_folders: tuple[str, ...],
    sandbox: Sandbox, more: Mapping[str, Json] = {},
) -> Job:
    """A job that runs one of our programs over a project's files, with `more` in its payload."""
    folders = (*package_folders, *project.readable)
    job = replace(
        jail_modules.base_suite_job(folders, project.python, project.loopback),
        program=jail_modules.program(program),
        payload={
            "roots": [*project.import_roots], "args": [*project.arguments],
            "environment": {
                name: os.environ[name] for name in project.environment if name in os.environ
            },
            **more,
        },
        files=files,
        limits=Limits(
            wall_s=START_S, cpu_s=MAX_S, output_bytes=64_000_000, memory_mib=MEMORY_MIB,
            open_files=256,
        ),
    )
    # Measured on the job itself, since another jail would need another start.
    if (await sandbox.isolation(job)).level == "L2":
        if project.python:
            raise SandboxUnavailable(
                f"this jail opens no files, so {project.python} cannot run; install and start "
                "this package with that interpreter"
            )
        texts = await asyncio.to_thread(jail_modules.pytest_in_memory)
        job = replace(job, modules={**texts, **job.modules}, package_folders=folders)
    return job
