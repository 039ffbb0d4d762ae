"""Finds a project, runs its suite, and builds the task to heal its failing tests."""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.core.domain import (
    OTHER_TESTS,
    File,
    Project,
    Report,
    Script,
    Solution,
    Task,
    counted,
    tally,
)
from agent.core.events import LogEntry
from agent.core.settings import Settings
from agent.interfaces.preparation import NOTE, Say, discard
from agent.interfaces.project.display import files_words, judged_words, suite_words, suspected_words
from agent.interfaces.project.obstacles import (
    blocking_files,
    check_suite_runs,
    crashing_imports,
    django_hints,
    ignored_options_message,
    note_on_partial_run,
    slow_test_message,
    uncollected_files,
    uncollected_message,
    unreadable,
    unreadable_message,
    unrun_tests,
)
from agent.interfaces.project.selection import (
    UNITTEST,
    chosen,
    command_without_pytest,
    likely_failing_files,
    named_for_unittest,
    needs_no_pytest,
    to_node_id,
)
from agent.interfaces.request import HealRequest
from agent.report.result import Result, fold
from agent.search.project.recency import changed_lines
from agent.target.errors import BadInput, NotFixable
from agent.target.interpreter import Interpreter, find_interpreter, refuse_without_pytest
from agent.target.repository.grants import Grants, grants_of, hints
from agent.target.repository.layout import find_layout, layout_at
from agent.target.repository.tree import ProjectTree, read_tree
from agent.tools.errors import NotPython, ToolError
from agent.tools.python_run import python_arguments
from agent.verify.judge import check
from agent.verify.project.suite_run import TEST_S, SuiteRun, run_suite, verdicts
from sandbox import Sandbox, open_sandbox

THE_REST = "the rest of the suite"
MAX_NOTICES = 5
FIRST_RUN_SHARE = 0.25
"""The share of a given time that the first run of a suite may take."""
BY_UNITTEST = "its test files have unittest names (test*.py), so pytest collects these"


@dataclass(frozen=True)
class Inspection:
    """A project and the result of its suite."""

    tree: ProjectTree
    project: Project
    interpreter: Interpreter
    settings: Settings
    run: SuiteRun
    to_heal: Sequence[str]  # ids of the failing tests that were chosen
    broken: Mapping[str, str]
    """Files that prevent the suite from running, and what they do."""
    seconds: float
    request: HealRequest
    uncollected: Sequence[str] = ()
    """Test files that pytest cannot collect; they are left out."""

    @property
    def needs_healing(self) -> bool:
        """Whether there is a failing test or broken file to heal."""
        return bool(self.to_heal or self.broken)


async def inspect_project(
    request: HealRequest, settings: Settings, say: Say = discard
) -> Inspection:
    """Finds the project and runs its suite, a second time if files must be left out.

    `say` receives each message for the user with its style. Raises `BadInput` for an invalid
    request or setting, and `NotFixable` if the suite cannot run for a reason outside of the code.
    """
    started = time.monotonic()
    tree, interpreter = await asyncio.to_thread(_found, request)
    layout = tree.layout
    requested = Grants() if request.is_untrusted_upload else grants_of(layout.settings, layout.root)
    granted = requested if request.grant else requested.safe
    command = _command(request)
    # Files that a test command starts are test code, whatever their name.
    tree = replace(tree, exclude=(*tree.exclude, *files_named_in(command, tree.files)))
    by_unittest = not command and named_for_unittest(tree)
    # unittest tests need no pytest in the project: they run with this package's pytest.
    if not command and (interpreter.python or not needs_no_pytest(tree)):
        refuse_without_pytest(interpreter, command_without_pytest(tree.files))
    project = Project(
        root=str(layout.root), name=layout.name, import_roots=layout.import_roots,
        arguments=(
            *(UNITTEST if by_unittest else ()), *request.arguments,
            *(f"--deselect={to_node_id(one, layout)}" for one in request.deselect),
        ),
        editable=tuple(sorted(tree.editable)), python=interpreter.python,
        loopback=granted.loopback, environment=granted.environment, readable=granted.read,
        test_s=request.test_timeout or granted.timeout_s, command=command,
        command_words=request.test_cmd,
    )
    say(files_words(tree, interpreter.words, request.test_cmd), "")
    if by_unittest:
        say(f"note: {BY_UNITTEST}", NOTE)
    for notice in tree.notices[:MAX_NOTICES]:
        say(f"note: {notice}", NOTE)
    if requested.risky_words:
        words = "its tests get" if request.grant else "with --grant its tests would get"
        say(f"note: {words} {requested.risky_words}", NOTE)
    sandbox = open_sandbox(settings.sandbox, settings.environment or None)

    until, first = math.inf, list[str]()
    if request.timeout and not command:
        until = started + FIRST_RUN_SHARE * request.timeout
        first = await asyncio.to_thread(likely_failing_files, layout, tree.files, request.nodes)

    async def ran(project: Project) -> SuiteRun:
        return await run_suite(
            {**tree.files}, project, interpreter.package_folders, sandbox,
            watch=lambda what, seconds: say(
                slow_test_message(what, seconds, project.test_s or TEST_S), NOTE
            ), until=until, first=first,
        )

    run = await ran(project)
    uncollected = uncollected_files(run, tree)
    if uncollected:
        without = project.model_copy(update={
            "arguments": (*project.arguments, *(f"--ignore={file}" for file in uncollected))
        })
        rest = await ran(without)
        if (rest.failing or rest.unfinished) and not rest.problems:
            say(f"note: {uncollected_message(run.problems)}", NOTE)
            run, project = rest, without
        else:
            uncollected = []
    if run.unfinished:
        say(f"note: {note_on_partial_run(run, time.monotonic() - started)}", NOTE)
        project = project.model_copy(update={"only": tuple(run.outcomes)})
    unreadable_files = unreadable(tree) if run.problems or run.failing else []
    broken = dict.fromkeys(
        blocking_files(unreadable_files, run.problems, interpreter), "does not compile"
    ) or {
        path: f"raises {error} when it is imported"
        for path, error in crashing_imports(run.problems, tree).items() if not run.outcomes
    }
    if not broken:
        check_suite_runs(run, tree, interpreter.words, request.test_cmd)
    to_heal = chosen(run.failing, [*run.outcomes], request, layout) if not broken else []
    if request.keyword and not broken:
        to_heal = await _matching(request.keyword, to_heal, tree, project, interpreter, sandbox)
    left = [path for path in unreadable_files if path not in broken]
    for path in left[:MAX_NOTICES]:
        say(f"note: {unreadable_message(path, interpreter)}", NOTE)
    if run.left_out:
        say(f"note: {ignored_options_message(run.left_out)}", NOTE)
    say(_blocked(broken) if broken else suite_words(run, to_heal, request.test_cmd), "")
    tree = tree.excluding(left)
    inspected = Inspection(
        tree, project.model_copy(update={"editable": tuple(sorted(tree.editable))}), interpreter,
        settings, run, to_heal, broken, time.monotonic() - started, request, uncollected,
    )
    if broken or request.is_untrusted_upload:  # an upload has no git history and no grants
        return inspected
    return await asyncio.to_thread(_with_recency, inspected, request, granted, say)


def _found(request: HealRequest) -> tuple[ProjectTree, Interpreter]:
    layout = layout_at(request.start) if request.is_untrusted_upload else find_layout(request.start)
    interpreter = find_interpreter(layout.root, request.python or "")
    return read_tree(layout, request.only, request.exclude), interpreter


def _blocked(broken: Mapping[str, str]) -> str:
    path, why = next(iter(broken.items()))
    return f"{path} {why}, so the tests that need it cannot run"


def _with_recency(
    inspected: Inspection, request: HealRequest, granted: Grants, say: Say
) -> Inspection:
    """Adds recently changed lines if there is a test to heal, and reports missing grants."""
    found = verdicts(inspected.run, [rest_of_suite()], inspected.project)
    failures = [(one.name, one.message) for one in found if one.fails]
    for hint in (
        *hints(failures, granted, os.environ),
        *django_hints([message for _, message in failures], inspected.tree),
    ):
        say(f"note: {hint}", NOTE)
    if not inspected.to_heal:
        return inspected
    changed = changed_lines(
        inspected.tree.layout.root, inspected.tree.files, inspected.project.editable, request.since
    )
    if changed:
        say(suspected_words([*changed], request.since), "")
    files = {node.partition("::")[0] for node in inspected.to_heal} & inspected.tree.files.keys()
    if not changed and changed_lines(
        inspected.tree.layout.root, inspected.tree.files, files, request.since
    ):
        say("note: the failing tests have changed since the last commit, the code has not. If a "
            "test expects a wrong value, correct the test.", NOTE)
    return replace(inspected, project=inspected.project.model_copy(
        update={"changed": tuple(sorted(changed.items()))}
    ))


def files_named_in(command: Sequence[str], files: Collection[str]) -> list[str]:
    """Returns the files that a command names, as paths or as modules."""
    return [
        path for path in files
        if {path, path.removesuffix(".py").replace("/", ".")} & {*command}
    ]


def _command(request: HealRequest) -> tuple[str, ...]:
    if not request.test_cmd:
        return ()
    if (
        request.nodes or request.keyword or request.last_failed or request.deselect
        or request.arguments
    ):
        raise BadInput(
            "--test-cmd cannot be combined with test names, -k, --lf, --deselect or pytest "
            "arguments, because the command counts as a single test"
        )
    try:
        return tuple(python_arguments(request.test_cmd))
    except ToolError as error:
        why = error.why if isinstance(error, NotPython) else error
        raise BadInput(f"--test-cmd must be `python …` or `pytest …`: {why}") from error


async def _matching(
    keyword: str, to_heal: Sequence[str], tree: ProjectTree, project: Project,
    interpreter: Interpreter, sandbox: Sandbox,
) -> list[str]:
    picked = project.model_copy(update={
        "arguments": (*project.arguments, "--collect-only", "-k", keyword)
    })
    run = await run_suite({**tree.files}, picked, interpreter.package_folders, sandbox)
    if not run.collected:
        why = run.problems[0] if run.problems else "matches no test; see pytest's -k"
        raise BadInput(f"-k {keyword!r} {why}")
    return [node for node in to_heal if node in {*run.collected}]


def task_to_heal(inspected: Inspection) -> Task:
    """Returns the task to heal the requested failing tests, or a file that blocks the suite.
    Raises `NotFixable` if there is no editable file."""
    if not inspected.tree.editable:
        raise NotFixable(
            "environment", f"there is no editable module in {inspected.project.root}; tests and "
            "settings are never edited. Name modules with --only",
        )
    tree, to_heal = inspected.tree, inspected.to_heal
    tests = [
        Script(
            name=node, origin="user", code=tree.files.get(node.partition("::")[0], ""), node=node,
            file=node.partition("::")[0],
        )
        for node in to_heal
    ]
    program = tuple(File(path=path, text=tree.files[path]) for path in sorted(tree.editable))
    entry = next(iter(inspected.broken), "") or _first_suspect(tree, inspected.run, to_heal)
    return Task(
        solution=Solution(files=program, entry=entry), tests=(*tests, rest_of_suite(to_heal)),
        support=tuple(File(path=path, text=text) for path, text in tree.files.items()),
        site_dirs=inspected.interpreter.package_folders, project=_with_excluded(inspected),
    )


def first_report(inspected: Inspection, task: Task) -> Report | None:
    """Returns the report on the unchanged project from the first run of its suite, without a check
    for tamper indicators. Returns `None` if that run cannot serve as a verdict: if a file blocks
    the suite, or if a test command is used."""
    assert task.solution is not None
    assert task.project is not None
    if inspected.broken or task.project.command:
        return None
    found = verdicts(inspected.run, task.tests, task.project)
    return Report(solution=task.solution.id, verdicts=tuple(found))


def rest_of_suite(excluded_nodes: Sequence[str] = ()) -> Script:
    """Returns all tests of the suite except these, as a single test."""
    return Script(
        name=THE_REST, origin="user", code="", node=OTHER_TESTS,
        excluded_nodes=tuple(excluded_nodes),
    )


def _first_suspect(tree: ProjectTree, run: SuiteRun, to_heal: Sequence[str]) -> str:
    """The editable file in which the first test to heal failed, else any editable file."""
    for node in to_heal:
        file = str(run.outcomes[node].get("file", ""))
        if file in tree.editable:
            return file
    return min(tree.editable, key=lambda path: (path.endswith("__init__.py"), path))


def heal_result(inspected: Inspection, log: Sequence[LogEntry]) -> Result:
    """Returns the result of a run from its log; an empty log means there was nothing to heal."""
    if not log:
        return result_without_edit(inspected)
    result = fold(log)
    if result.outcome in ("healed", "proposed"):
        project = inspected.project
        if result.report is not None and result.report.untested:
            ran = [one.name for one in result.report.verdicts]
            project = project.model_copy(update={"only": tuple(ran)})
        judged = judged_words(project)
        left = inspected.uncollected
        missing = f"; left out: {counted(len(left), 'test file')} not collected" if left else ""
        if untested := untested_count(result, inspected):
            missing += f"; left out: {counted(untested, 'test')} for lack of time"
        return replace(result, reason=f"{result.reason}; {judged}{missing}")
    return result


def untested_count(result: Result, inspected: Inspection) -> int:
    """Returns the number of tests that were not run on a result, for lack of time."""
    later = result.report.untested if result.report is not None else 0
    return later + (len(unrun_tests(inspected.run)) if inspected.run.unfinished else 0)


async def checked_report(inspected: Inspection) -> Report:
    """Runs the suite of the unchanged project with an integrity check, and returns the report."""
    files = tuple(File(path=path, text=text) for path, text in inspected.tree.files.items())
    project = _with_excluded(inspected)
    task = Task(support=files, site_dirs=inspected.interpreter.package_folders, project=project)
    sandbox = open_sandbox(inspected.settings.sandbox, inspected.settings.environment or None)
    nothing = Solution(files=(), entry="")
    return await check(nothing, [rest_of_suite()], task, sandbox)


def result_without_edit(inspected: Inspection, integrity_report: Report | None = None) -> Result:
    """Returns the result of the suite before any edit.

    Args:
        integrity_report: The report with an integrity check, if one was made.
    """
    others = [node for node in inspected.run.failing if node not in {*inspected.to_heal}]
    report = integrity_report or Report(solution="", verdicts=tuple(
        verdicts(inspected.run, [rest_of_suite()], _with_excluded(inspected))
    ))
    fail = "fails" if len(others) == 1 else "fail"
    left = f"; {counted(len(others), 'other')} {fail}, not selected" if others else ""
    is_unchecked = not (integrity_report or report.integrity or inspected.needs_healing)
    summary = f"{tally(report.verdicts)}{left}{'; integrity not checked' if is_unchecked else ''}"
    shown = any(one.passed for one in report.verdicts)
    needs_healing = inspected.needs_healing or bool(report.failing)
    jail = inspected.run.jail
    return Result(
        title=inspected.project.name, outcome="unresolved" if needs_healing else "healthy",
        proof=None if needs_healing else "E1" if shown else "E0",
        reason=_blocked(inspected.broken) if inspected.broken else summary if needs_healing
        else f"nothing to heal: {summary}",
        report=report, seconds=inspected.seconds, sandbox=jail.words if jail else "",
        level=jail.level if jail else "",
    )


def _with_excluded(inspected: Inspection) -> Project:
    run, to_heal = inspected.run, {*inspected.to_heal}
    others = tuple(node for node in run.failing if node not in to_heal)
    return inspected.project.model_copy(update={"excluded": others, "tests": tuple(run.outcomes)})
