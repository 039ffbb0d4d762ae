"""How a project's whole suite comes out: its own pytest, in a fresh jail, over files laid anew.

The files are the task's `support` with the solution's in their place. Which tests there are is
pytest's to say; a test of the task is found by its node id, and any other counts as the rest.
"""

from __future__ import annotations

import asyncio
import os
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace

from agent.core.domain import (
    EXCLUDED,
    REST,
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
from agent.verify.jail_level import jail_of
from agent.verify.plain.plain_run import authentic
from agent.verify.project.command_run import MAX_S as COMMAND_S
from agent.verify.project.command_run import NO_TEST, run_command
from agent.verify.project.suite_double_check import (
    Told,
    Watching,
)
from sandbox.sandbox import Process, Sandbox
from sandbox.types import Job, Json, Limits, Outcome, SandboxError, SandboxUnavailable

START_S = 120.0
TEST_S = 120.0
"""The longest that one test may take by the wall clock."""
LONG_S = 5.0
"""What takes longer is told while it runs."""
MAX_S = 3_600.0
MEMORY_MIB = 4_096
COMMAND = "python_command"
"""The program that runs a test command."""
INTERNAL, USAGE = 3, 4
"""Exit codes with which pytest gives up without a test to blame."""
NOBODY = "not asked: nothing was healed"
EXIT_CODE = "only the exit code of the test command was seen, in whose process the program is too"
NOT_ASKED = "failing already, and not among the tests to heal"

Watch = Callable[[str, float], object]
"""Told of a test, or a file that is collected, and for how many seconds it has been running."""


@dataclass
class SuiteRun:
    """What one run of the suite told."""

    rows: dict[str, dict[str, Json]] = field(default_factory=dict)
    """Node id to how it came out."""
    collected: list[str] = field(default_factory=list)
    """The node ids that were chosen to run."""
    problems: list[str] = field(default_factory=list)
    """Why files could not be collected, or why the run ended early."""
    left_out: list[str] = field(default_factory=list)
    """Options of the project's pytest that do not count here."""
    exit_code: int | None = None
    jail: JailStatus | None = None
    """What held the tests back."""
    told: Told = field(default_factory=Told)
    """What was seen beside, where it was watched."""

    @property
    def failing(self) -> list[str]:
        """The node ids of tests that fail."""
        return [node for node, row in self.rows.items() if _fails(row)]


def laid(task: Task, solution: Solution | None) -> dict[str, str]:
    """The project's files with the solution's."""
    files = {one.path: one.text for one in task.support}
    return files | {one.path: one.text for one in (solution.files if solution else ())}


def verdicts(run: SuiteRun, tests: Sequence[TestCase], project: Project) -> list[Verdict]:
    """One verdict for each test that ran, and one for each that was asked for and did not."""
    named = {one.node: one for one in tests if isinstance(one, Script)}
    rest = named.get(REST)
    found = []
    for node, row in run.rows.items():
        test = named.get(node) or rest
        if test is None or (test is rest and node in rest.without):
            continue
        status: Status = row["status"]  # type: ignore[assignment]
        found.append(Verdict(
            name=node, test=test.name, origin=test.origin, status=status,
            integrity="in-process" if status == "passed" and project.command else None,
            reason="" if status != "passed" else EXIT_CODE if project.command else NOBODY,
            aside=NOT_ASKED if node in project.aside and _fails(row) else "",
            message=_message(row), wall_s=float(row.get("wall_s", 0.0)),  # type: ignore[arg-type]
        ))
    untested = NO_TEST if project.command else "pytest collected no such test"
    why = "; ".join(run.problems) or untested
    missing = {node: test for node, test in named.items() if node not in {*run.rows, REST}}
    if rest is not None:
        missing |= dict.fromkeys(gone({*project.tests} - {*rest.without}, [*run.rows]), rest)
        if run.problems and not missing:
            missing[rest.name] = rest
    found += [
        Verdict(name=node, test=test.name, origin=test.origin, status="error", message=why)
        for node, test in missing.items()
    ]
    return found


def gone(before: Collection[str], now: Sequence[str]) -> list[str]:
    """Tests that ran before and are missing now. A parameter may be named otherwise in each run,
    such as by the clock, so that a function counts that has fewer tests than it had."""
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
    return row["status"] != "passed" and row["status"] not in EXCLUDED


def _message(row: dict[str, Json]) -> str:
    said = str(row.get("message", ""))
    file, line, refused = row.get("file"), row.get("line"), row.get("refused")
    place = f" at {file}:{line}" if said and file and line else ""
    return f"{said}{place}{f'; {refused}' if refused else ''}"


async def run_suite(
    files: Mapping[str, str], project: Project, sites: tuple[str, ...], sandbox: Sandbox,
    seed: int = 0, watch: Watch = lambda what, seconds: None, seen: Watching | None = None,
) -> SuiteRun:
    """Runs the project's pytest, or its test command, over these files, once. `watch` is told what
    is running, after so many seconds, and again after twice as many. With `seen`, what the program
    does to its tests is watched."""
    if project.command:
        return await _by_command(dict(files), project, sites, sandbox, seed)
    key = secrets.token_bytes(32)
    some = seen or Watching((), ())
    job = await suite_job("plain_suite", dict(files), project, sites, sandbox, {
        "key": key.hex(), "program": [*some.program],
        "tests": [*some.tests], "expecting": {**some.expecting}, "only": [*some.only],
    })
    run = SuiteRun(jail=jail_of(await sandbox.isolation(job), sandbox.name))
    limits = replace(job.limits, wall_s=MAX_S)
    async with sandbox.start(replace(job, limits=limits, seed=seed)) as process:
        with closing(_Waiting(watch)) as waiting:
            await _hear(process, key, run, waiting, project.test_s or TEST_S)
        if run.failing:
            await _say_refusals(process, run)
    return run


async def _say_refusals(process: Process, run: SuiteRun) -> None:
    """Says of tests that fail for want of a permission what the jail refused."""
    from agent.verify.examples.examples import lacks_permission

    if any(lacks_permission(row) for row in run.rows.values()):
        refusals = (await process.kill()).refusals
        for row in run.rows.values():
            if refusals and lacks_permission(row) and not row.get("refused"):
                row["refused"] = "; ".join(refusals)


async def _by_command(
    files: dict[str, str], project: Project, sites: tuple[str, ...], sandbox: Sandbox, seed: int,
) -> SuiteRun:
    """A suite of one test: the command."""
    job = await suite_job(COMMAND, files, project, sites, sandbox)
    jail = jail_of(await sandbox.isolation(job), sandbox.name)
    if jail.level == "L2":
        raise SandboxError("a test command needs files, which this jail opens none of (L2)")
    ran = await run_command(
        job, project.command, sandbox, seed=seed, wall_s=project.test_s or COMMAND_S,
    )
    if not ran.tested:
        return SuiteRun(jail=jail)
    place = ran.places[-1] if ran.places else None
    return SuiteRun({project.command_words: {
        "status": ran.status, "message": ran.message, "wall_s": ran.outcome.wall_s,
        "file": place.file if place else "", "line": place.line if place else 0,
    }}, [project.command_words], jail=jail)


class _Waiting:
    """Tells of what runs for long, while it runs."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, what: str) -> None:
        """Something begins, and what ran before has ended."""
        self.close()
        self._wait(what, LONG_S, LONG_S)

    def close(self) -> None:
        """Nothing is waited for."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self, what: str, more_s: float, after_s: float) -> None:
        self._timer = asyncio.get_running_loop().call_later(more_s, self._tell, what, after_s)

    def _tell(self, what: str, after_s: float) -> None:
        self._watch(what, after_s)
        self._wait(what, after_s, 2 * after_s)


async def _hear(
    process: Process, key: bytes, run: SuiteRun, waiting: _Waiting, test_s: float
) -> None:
    begun, collects, patience_s, count = "", "", START_S, 0
    running: set[str] = set()
    while True:
        received = await process.receive(patience_s)
        if isinstance(received, Outcome):
            said = _ending(received, patience_s)
            if begun:
                status = "timeout" if received.ended == "timeout" else "error"
                run.rows[begun] = {"status": status, "message": said}
            run.problems.append(f"{begun or collects or 'pytest'} {said}")
            return
        message = authentic(received, key, count)
        if message is None:
            run.told.indicators.append(("", "forged-word", ""))
            continue
        count += 1
        match message:
            case {"collects": str(file)}:
                collects = file
                waiting.begin(file)
            case {"collected": list(nodes), "left_out": list(options)}:
                run.collected = [*map(str, nodes)]
                run.left_out = [*map(str, options)]
                collects = "" if nodes else collects
            case {"begin": str(node)}:
                begun, patience_s = node, test_s
                running.add(node)
                waiting.begin(node)
            case {"ended": str(node), "status": str(status), "message": str(said),
                  "file": str(file), "line": int(line), "wall_s": float(wall_s),
                  "refused": str(refused)}:
                if node not in running:
                    run.told.indicators.append((node, "forged-word", ""))
                running.discard(node)
                run.rows[node] = {
                    "status": status, "message": said, "file": file, "line": line,
                    "wall_s": wall_s, "refused": refused,
                }
                begun, patience_s = "", START_S
                waiting.close()
            case {"sign": str(sign), "detail": str(detail), "test": str(test)}:
                run.told.indicators.append((test, sign, detail))
            case {"check": str()}:
                run.told.checks.append(message)
            case {"ends": str(how), "test": str(test)}:
                run.told.ends.add((how, test))
            case {"done": int(code), "problems": list(problems)}:
                run.problems += map(str, problems)
                run.exit_code = code
                if code in (USAGE, INTERNAL) and not problems:
                    said = _own_words(await process.receive(START_S))
                    run.problems.append(
                        f"{collects} ends its process (SystemExit)"
                        if collects and "SystemExit" in said else said
                    )
                elif run.rows and len(run.rows) < len({*run.collected}):
                    run.problems.append(f"{[*run.rows][-1]} ends its process (pytest.exit)")
                return


def _ending(ended: Outcome, patience_s: float) -> str:
    """How a process ended that should have gone on."""
    if ended.ended == "timeout":
        return f"did not end within {patience_s:g} seconds"
    how = f"exit code {ended.exit_code}" if ended.exit_code is not None else ended.signal
    return f"ends its process ({ended.limit or how or ended.ended})"


def _own_words(ended: Json | Outcome) -> str:
    """Why pytest does not run, as it says at its end."""
    lines = ended.stderr.strip().split("\n") if isinstance(ended, Outcome) else []
    said = [
        one.removeprefix("ERROR:").removeprefix("E  ").strip() for one in lines
        if one.startswith(("E  ", "ERROR:", "ImportError")) or ": error: " in one
    ]
    told = [one for one in said if not one.startswith("usage:")] or lines[-1:]
    return f"pytest does not start: {' '.join(told)}"


async def suite_job(
    program: str, files: dict[str, str], project: Project, sites: tuple[str, ...], sandbox: Sandbox,
    more: Mapping[str, Json] = {},
) -> Job:
    """A jail's job that runs one of our programs over a project's files, with its pytest; `more`
    is what it is told beside."""
    job = replace(
        jail_modules.base_suite_job(
            (*sites, *project.readable), project.python, project.loopback
        ),
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
    # The jail that is looked at is the job's own: a second one takes as long to start.
    if (await sandbox.isolation(job)).level == "L2":
        if project.python:
            raise SandboxUnavailable(
                f"where no file can be opened, {project.python} cannot run; start this with it"
            )
        texts = await asyncio.to_thread(jail_modules.pytest_in_memory)
        job = replace(job, modules={**texts, **job.modules}, sites=(*sites, *project.readable))
    return job
