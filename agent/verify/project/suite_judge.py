"""Judges a solution by a project's suite: the outcomes of its tests, and which passes count.

The project's own pytest decides the outcome of each test. If a repair passes, the tests run again
with other expectations (`suite_double_check`), and each test file is judged like a file that was
submitted alone: plain calls are repeated in a process without tests, answers are replaced, and it
runs again in another environment. For this, paths are relative to the import root of the module
that the test file imports.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from agent.core.domain import OTHER_TESTS, File, Project, Report, Script, Solution, Task, TestCase
from agent.verify.belief import CONTRADICTS
from agent.verify.confirmation import HASH_SEEDS
from agent.verify.evidence import gather_evidence
from agent.verify.examples.repeated import repeat_calls
from agent.verify.groups import Group
from agent.verify.jail_modules import imports
from agent.verify.plain.double_check import double_checked
from agent.verify.project.suite_double_check import (
    DoubleCheck,
    select_double_checked,
    text_indicators,
    watched_files,
    with_integrity,
)
from agent.verify.project.suite_run import project_files, run_suite, verdicts
from agent.verify.subject import Subject, module_name
from agent.verify.tamper_indicators import may_equal_anything, message_of, reaching_code
from sandbox.sandbox import Sandbox

MAX_PAIRS = 6
"""Maximum number of judged pairs of a test file and a module that it imports."""
NOT_ALONE = "its file was not judged alone: {}"
NOT_IN_TIME = "not verified, for lack of time"
VERIFYING_S = 20.0
"""Seconds for the runs that verify passes, if there is a limit; at most half of what is left."""
CALL_S = 5.0
"""Limit of a call, or a test of a file."""


class Judge(Protocol):
    """Judges a solution by tests of files, as `judge.check` does."""

    def __call__(
        self, solution: Solution, tests: Sequence[TestCase], task: Task, sandbox: Sandbox, *,
        wall_s: float, recheck: bool,
    ) -> Awaitable[Report]: ...


async def project_report(
    solution: Solution, tests: Sequence[TestCase], task: Task, project: Project, sandbox: Sandbox,
    judge: Judge, seed: int = 0, verify_passes: bool = True, until: float = math.inf,
) -> Report:
    """Judges a solution by the whole suite, or by some tests alone.

    Args:
        tests: If one has the node `OTHER_TESTS`, the whole suite runs.
        judge: Judges tests of a file.
        seed: The hash seed of the interpreter.
        verify_passes: Whether passes are verified by further runs.
        until: When the judgement must end, on the monotonic clock. The files of `tests` run first.
            Other tests that have no time to run do not count, but are `untested`.
    """
    nodes = [test.node for test in tests if isinstance(test, Script)]
    wanted = [node for node in nodes if node != OTHER_TESTS]
    if OTHER_TESTS not in nodes and not project.command:
        project = project.model_copy(update={"arguments": (*project.arguments, *nodes)})
    files = project_files(task, solution)
    watching = watched_files(files, project.editable)
    left_s = until - time.monotonic()
    run = await run_suite(
        files, project, task.site_dirs, sandbox, seed, watching=watching,
        until=until - min(VERIFYING_S, left_s / 2) if math.isfinite(until) else until,
        first=[node.partition("::")[0] for node in wanted],
    )
    untested = len({*project.tests} - run.outcomes.keys()) if run.unfinished else 0
    if untested:
        project = project.model_copy(update={"tests": tuple(run.outcomes)})
    report = Report(
        solution=solution.id, verdicts=tuple(verdicts(run, tests, project)), untested=untested,
    )
    if project.command:
        return report
    result = DoubleCheck()
    texts = "\n".join(files[path] for path in watching.tests)
    if verify_passes and report.passed:
        watching = replace(watching, only=select_double_checked(report, wanted))
        only = watching.only
        passing = frozenset(verdict.name for verdict in report.verdicts if verdict.passed)
        untried = {*only} - {*wanted} if len(only) < len(passing) else ()
        left_s = until - time.monotonic()
        try:
            # With another hash seed, so that passes that depend on the order of a set fail.
            async with asyncio.timeout(left_s if math.isfinite(left_s) else None) as clock:
                alone, (result, reports) = await asyncio.gather(
                    judge_files(
                        files, project, task, sandbox, judge, only, wanted or only,
                        [one.name for one in report.verdicts if not one.passed],
                    ),
                    double_checked(
                        files, project, task.site_dirs, sandbox, watching, texts, HASH_SEEDS[1],
                        untried,
                    ),
                )
        except TimeoutError:
            if not clock.expired():
                raise
            return report.model_copy(update={"verdicts": tuple(
                one.model_copy(update={"reason": NOT_IN_TIME if one.passed else one.reason})
                for one in report.verdicts
            )})
        result = replace(
            result, isolated=frozenset(alone.isolated), refuted={**alone.refuted, **result.refuted},
            vacuous=frozenset(alone.vacuous), left_out=passing - {*only}, unjudged=alone.unjudged,
        )
        run.reports.indicators += reports.indicators + text_indicators(files, watching)
    judged = with_integrity(report.verdicts, run.reports.indicators, result, wanted, texts)
    return report.model_copy(update={"verdicts": tuple(judged)})


@dataclass
class FileJudgement:
    """The result of judging a project's test files alone, by node id."""

    isolated: set[str] = field(default_factory=set)
    refuted: dict[str, str] = field(default_factory=dict)
    vacuous: set[str] = field(default_factory=set)
    unjudged: dict[str, str] = field(default_factory=dict)


async def judge_files(
    files: Mapping[str, str], project: Project, task: Task, sandbox: Sandbox, judge: Judge,
    passing: Sequence[str], whole: Collection[str], failing: Collection[str] = (),
) -> FileJudgement:
    """Judges tests of a project's files, each file alone.

    Nothing is judged where the tests need another interpreter, environment variables, folders
    outside of the project or the network.

    Args:
        files: The judged project, path to text.
        judge: Judges tests of a file.
        passing: Node ids of passing tests.
        whole: The tests that are judged completely; for others only plain calls are repeated.
        failing: Node ids of failing tests. Calls of a parametrized test may be those of another
            row, so a failing one explains another answer.
    """
    found = FileJudgement()
    needs = ", ".join(what for what, has in {
        "its own interpreter": project.python, "variables": project.environment,
        "folders outside of it": project.readable, "the loopback network": project.loopback,
    }.items() if has)
    if needs:
        found.unjudged |= dict.fromkeys(passing, NOT_ALONE.format(f"the project needs {needs}"))
        return found
    by_file: dict[str, list[str]] = {}
    for node in passing:
        by_file.setdefault(node.partition("::")[0], []).append(node)
    pairs = [
        (path, root, module) for path in by_file if path in files
        for root, module in _imported(files[path], files, project)
    ]
    firsts = {path: module for path, _, module in reversed(pairs)}
    judged = {path for path, _, _ in pairs[:MAX_PAIRS]}
    for path in by_file.keys() - judged:
        why = f"only {MAX_PAIRS} files are" if path in firsts else "it imports no editable module"
        found.unjudged |= dict.fromkeys(by_file[path], NOT_ALONE.format(why))

    async def judge_pair(path: str, root: str, module: str) -> None:
        subject = Subject(*as_program(files, project, task, root, module), sandbox, CALL_S)
        tests = [
            Script(name=node, origin="user", code=files[path], node=key, file=path)
            for node in by_file[path] for key in [node.partition("::")[2]]
        ]
        wanted = [test for test in tests if test.name in whole and firsts[path] == module]
        if wanted:
            before = {one.path: one.text for one in task.support}
            base = replace(subject, solution=as_program(before, project, task, root, module)[0])
            await _judge_file(Group(subject, wanted, files[path]), base, judge, found)
        left = [test for test in tests if test not in wanted]
        held, against = await repeat_calls(
            Group(subject, left, files[path]), [one.node for one in left]
        )
        found.isolated |= {f"{path}::{key}" for key in held}
        for key, call in against.items():
            found.refuted[f"{path}::{key}"] = f"{CONTRADICTS}: {call}"

    await asyncio.gather(*(judge_pair(*pair) for pair in pairs[:MAX_PAIRS]))
    failing_functions = {node.partition("[")[0] for node in failing if "[" in node}
    found.refuted = {
        node: doubt for node, doubt in found.refuted.items()
        if node.partition("[")[0] not in failing_functions or not doubt.startswith(CONTRADICTS)
    }
    found.isolated -= found.refuted.keys()
    return found


async def _judge_file(group: Group, base: Subject, judge: Judge, found: FileJudgement) -> None:
    """Judges the tests of one file.

    Tamper indicators that the unrepaired program (`base`) has too do not count against a repair.
    """
    subject = group.subject
    report = await judge(
        subject.solution, group.tests, subject.task, subject.sandbox, wall_s=subject.wall_s,
        recheck=False,  # the suite is double-checked anyway
    )
    found.isolated |= {one.name for one in report.verdicts if one.integrity == "isolated"}
    found.vacuous |= {verdict.name for verdict in report.verdicts if verdict.vacuous}
    doubts = {one.name: one.disbelieved for one in report.verdicts if one.disbelieved}
    certain = (CONTRADICTS, message_of("environment"))
    found.refuted |= {node: doubt for node, doubt in doubts.items() if doubt.startswith(certain)}
    doubts = {node: doubt for node, doubt in doubts.items() if node not in found.refuted}
    if not doubts or base.solution.files == subject.solution.files:
        return
    _, rows = await gather_evidence(replace(group, subject=base), verify_passes=False)
    known = [message for row in rows.values() for message in row.indicators]
    known += [reaching_code(file.text) for file in base.solution.files]
    if may_equal_anything(base.solution.text):
        known.append(message_of("equal-to-all"))
    for node, doubt in doubts.items():
        fresh = [one for one in doubt.split("; ") if not one.startswith(tuple(filter(None, known)))]
        if fresh:
            found.refuted[node] = "; ".join(fresh)


def _imported(text: str, files: Mapping[str, str], project: Project) -> Iterator[tuple[str, str]]:
    names = imports(text)
    for path in project.editable:
        for root in project.import_roots:
            prefix = f"{root}/" if root else ""
            if path in files and path.startswith(prefix) and (
                module_name(path.removeprefix(prefix)) in names
            ):
                yield root, path
                break


def as_program(
    files: Mapping[str, str], project: Project, task: Task, root: str, module: str
) -> tuple[Solution, Task]:
    """The project as a program whose entry is one of its modules, and a task with the rest."""
    prefix = f"{root}/" if root else ""
    found = {path: File(path=path.removeprefix(prefix), text=text) for path, text in files.items()}
    program = [file for path, file in found.items() if path in project.editable]
    support = [file for path, file in found.items() if path not in project.editable]
    return (
        Solution(files=tuple(program), entry=module.removeprefix(prefix)),
        Task(support=tuple(support), site_dirs=task.site_dirs),
    )
