"""What a project is found to be, how its suite comes out, and the task to heal what fails of it."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from agent.core.domain import REST, File, Project, Report, Script, Solution, Task, counted, tally
from agent.core.events import Stamped
from agent.core.settings import Settings
from agent.interfaces.preparation import NOTE, Say, silent
from agent.interfaces.project.display import changed_words, found_words, judged_words, suite_words
from agent.interfaces.project.obstacles import (
    broken_by,
    left_out_words,
    refuse_what_does_not_run,
    unreadable_words,
    unreadable,
    waiting_words,
)
from agent.interfaces.project.selection import UNITTEST, chosen, named_for_unittest, node_at
from agent.interfaces.request import HealRequest
from agent.report.result import Result, fold
from agent.search.project.recency import changed_lines
from agent.target.errors import BadInput, NotFixable
from agent.target.interpreter import Interpreter, find_interpreter, refuse_without_pytest
from agent.target.repository.grants import Grants, grants_of, hints
from agent.target.repository.layout import find_layout, layout_at
from agent.target.repository.tree import ProjectTree, read_tree
from agent.tools.errors import NoPython, ToolError
from agent.tools.python_run import python_arguments
from agent.verify.judge import check
from agent.verify.project.suite_run import TEST_S, SuiteRun, run_suite, verdicts
from sandbox import Sandbox, open_sandbox

THE_REST = "the rest of the suite"
MAX_NOTICES = 5
BY_UNITTEST = "its test files are named as unittest has them (test*.py), and pytest is told so"


@dataclass(frozen=True)
class Inspection:
    """A project and how its suite comes out."""

    tree: ProjectTree
    project: Project
    interpreter: Interpreter
    settings: Settings
    run: SuiteRun
    wanted: Sequence[str]
    broken: Sequence[str]
    seconds: float
    request: HealRequest

    @property
    def is_red(self) -> bool:
        """Whether there is something to heal."""
        return bool(self.wanted or self.broken)


async def inspect_project(request: HealRequest, settings: Settings, say: Say = silent) -> Inspection:
    """Finds the project and runs its suite once. Raises: BadInput, NotFixable."""
    started = time.monotonic()
    tree, interpreter = await asyncio.to_thread(_found, request)
    layout = tree.layout
    asked = Grants() if request.alone else grants_of(layout.settings, layout.root)
    given = asked if request.grant else asked.harmless
    command = _command(request)
    # What a test command starts is test code, whatever it is called.
    tree = replace(tree, exclude=(*tree.exclude, *named_in(command, tree.files)))
    by_unittest = not command and named_for_unittest(tree)
    # Tests of unittest ask for no pytest; ours runs them, on our own Python.
    if not command and not (by_unittest and not interpreter.python):
        refuse_without_pytest(interpreter)
    project = Project(
        root=str(layout.root), name=layout.name, import_roots=layout.import_roots,
        arguments=(
            *(UNITTEST if by_unittest else ()), *request.arguments,
            *(f"--deselect={node_at(one, layout)}" for one in request.deselect),
        ),
        editable=tuple(sorted(tree.editable)), python=interpreter.python,
        loopback=given.loopback, environment=given.environment, readable=given.read,
        test_s=request.test_timeout or given.timeout_s, command=command,
        command_words=request.test_cmd,
    )
    say(found_words(tree, interpreter.words, request.test_cmd), "")
    if by_unittest:
        say(f"note: {BY_UNITTEST}", NOTE)
    for notice in tree.notices[:MAX_NOTICES]:
        say(f"note: {notice}", NOTE)
    if asked.opening:
        words = "its tests are given" if request.grant else "with --grant its tests would be given"
        say(f"note: {words} {asked.opening}", NOTE)
    sandbox = open_sandbox(settings.sandbox, settings.environment or None)
    run = await run_suite(
        {**tree.files}, project, interpreter.sites, sandbox,
        watch=lambda what, seconds: say(
            waiting_words(what, seconds, project.test_s or TEST_S), NOTE
        ),
    )
    unreadable_files = unreadable(tree) if run.problems or run.failing else []
    broken = broken_by(unreadable_files, run.problems, interpreter)
    if not broken:
        refuse_what_does_not_run(run, tree, interpreter.words, request.test_cmd)
    wanted = chosen(run.failing, [*run.rows], request, layout) if not broken else []
    if request.keyword and wanted:
        wanted = await _matching(request.keyword, wanted, tree, project, interpreter, sandbox)
    left = [path for path in unreadable_files if path not in broken]
    for path in left[:MAX_NOTICES]:
        say(f"note: {unreadable_words(path, interpreter)}", NOTE)
    if run.left_out:
        say(f"note: {left_out_words(run.left_out)}", NOTE)
    say(_uncompiled(broken) if broken else suite_words(run, wanted, request.test_cmd), "")
    tree = tree.without(left)
    inspected = Inspection(
        tree, project.model_copy(update={"editable": tuple(sorted(tree.editable))}), interpreter,
        settings, run, wanted, broken, time.monotonic() - started, request,
    )
    if broken or request.alone:  # of a stranger's files git and this machine say nothing
        return inspected
    return await asyncio.to_thread(_with_recency, inspected, request, given, say)


def _found(request: HealRequest) -> tuple[ProjectTree, Interpreter]:
    layout = layout_at(request.start) if request.alone else find_layout(request.start)
    interpreter = find_interpreter(layout.root, request.python or "")
    return read_tree(layout, request.only, request.exclude), interpreter


def _uncompiled(broken: Sequence[str]) -> str:
    return f"{broken[0]} does not compile: no test that needs it can run"


def _with_recency(inspected: Inspection, request: HealRequest, given: Grants, say: Say) -> Inspection:
    """Adds what changed lately, where a test is to be healed, and reports missing grants."""
    failing = [one for one in verdicts(inspected.run, [rest_of_suite()], inspected.project) if one.fails]
    for hint in hints([(one.name, one.message) for one in failing], given, os.environ):
        say(f"note: {hint}", NOTE)
    if not inspected.wanted:
        return inspected
    changed = changed_lines(
        inspected.tree.layout.root, inspected.tree.files, inspected.project.editable, request.since
    )
    if changed:
        say(changed_words([*changed], request.since), "")
    return replace(inspected, project=inspected.project.model_copy(
        update={"changed": tuple(sorted(changed.items()))}
    ))


def named_in(command: Sequence[str], files: Collection[str]) -> list[str]:
    """Files that a command names, as paths or as modules."""
    return [
        path for path in files
        if {path, path.removesuffix(".py").replace("/", ".")} & {*command}
    ]


def _command(request: HealRequest) -> tuple[str, ...]:
    """Raises: BadInput: the jail cannot run that command."""
    if not request.test_cmd:
        return ()
    if (
        request.nodes or request.keyword or request.last_failed or request.deselect
        or request.arguments
    ):
        raise BadInput(
            "--test-cmd is one test, whose verdict is its exit code: no tests are chosen from it, "
            "and nothing is given to pytest"
        )
    try:
        return tuple(python_arguments(request.test_cmd))
    except ToolError as error:
        why = error.why if isinstance(error, NoPython) else error
        raise BadInput(f"--test-cmd takes `python …` or `pytest …`: {why}") from error


async def _matching(
    keyword: str, wanted: Sequence[str], tree: ProjectTree, project: Project,
    interpreter: Interpreter, sandbox: Sandbox,
) -> list[str]:
    picked = project.model_copy(update={
        "arguments": (*project.arguments, "--collect-only", "-k", keyword)
    })
    run = await run_suite({**tree.files}, picked, interpreter.sites, sandbox)
    if not run.collected and run.problems:
        raise NotFixable("invalid_tests", f"-k {keyword!r}: {run.problems[0]}")
    return [node for node in wanted if node in {*run.collected}]


def task_to_heal(inspected: Inspection) -> Task:
    """The task to heal the failing tests that are wanted, or a file that does not compile; the rest
    of the suite stays as it is. Raises: NotFixable: nothing may be edited."""
    if not inspected.tree.editable:
        raise NotFixable(
            "environment", f"there is no module in {inspected.project.root} that may be edited: tests "
            "and settings never are; name modules with --only",
        )
    tree, wanted = inspected.tree, inspected.wanted
    tests = [
        Script(
            name=node, origin="user", code=tree.files.get(node.partition("::")[0], ""), node=node,
            file=node.partition("::")[0],
        )
        for node in wanted
    ]
    program = tuple(File(path=path, text=tree.files[path]) for path in sorted(tree.editable))
    entry = inspected.broken[0] if inspected.broken else _entry(tree, inspected.run, wanted)
    return Task(
        solution=Solution(files=program, entry=entry), tests=(*tests, rest_of_suite(wanted)),
        support=tuple(File(path=path, text=text) for path, text in tree.files.items()),
        sites=inspected.interpreter.sites, project=_with_excluded(inspected),
    )


def rest_of_suite(without: Sequence[str] = ()) -> Script:
    """All tests of the suite but these, as one."""
    return Script(name=THE_REST, origin="user", code="", node=REST, without=tuple(without))


def _entry(tree: ProjectTree, run: SuiteRun, wanted: Sequence[str]) -> str:
    """The innermost editable file where a test fails."""
    for node in wanted:
        file = str(run.rows[node].get("file", ""))
        if file in tree.editable:
            return file
    return min(tree.editable, key=lambda path: (path.endswith("__init__.py"), path))


def heal_result(inspected: Inspection, log: Sequence[Stamped]) -> Result:
    """What a heal came to, by the log of its run; without one there was nothing to heal."""
    if not log:
        return result_without_edit(inspected)
    result = fold(log)
    if result.outcome in ("healed", "proposed"):
        judged = judged_words(inspected.project.command_words)
        return replace(result, reason=f"{result.reason}; {judged}")
    return result


async def believed_report(inspected: Inspection) -> Report:
    """The suite's report of the project as it is, its passes asked whether they can be believed."""
    files = tuple(File(path=path, text=text) for path, text in inspected.tree.files.items())
    project = _with_excluded(inspected)
    task = Task(support=files, sites=inspected.interpreter.sites, project=project)
    sandbox = open_sandbox(inspected.settings.sandbox, inspected.settings.environment or None)
    nothing = Solution(files=(), entry="")
    return await check(nothing, [rest_of_suite()], task, sandbox)


def result_without_edit(inspected: Inspection, believed: Report | None = None) -> Result:
    """What the suite says of the project before any edit; `believed` where that was asked."""
    others = [node for node in inspected.run.failing if node not in {*inspected.wanted}]
    report = believed or Report(
        solution="", verdicts=tuple(verdicts(inspected.run, [rest_of_suite()], _with_excluded(inspected)))
    )
    fail = "fails" if len(others) == 1 else "fail"
    left = f"; {counted(len(others), 'other')} {fail}, not asked for" if others else ""
    asked = "" if believed or report.integrity or inspected.is_red else "; integrity not asked"
    said = f"{tally(report.verdicts)}{left}{asked}"
    shown = any(one.passed for one in report.verdicts)
    is_red = inspected.is_red or bool(report.failing)
    return Result(
        title=inspected.project.name, outcome="unresolved" if is_red else "healthy",
        proof=None if is_red else "E1" if shown else "E0",
        reason=_uncompiled(inspected.broken) if inspected.broken else said if is_red
        else f"nothing to heal: {said}",
        report=report, seconds=inspected.seconds, sandbox=inspected.run.jail.words if inspected.run.jail else "",
        level=inspected.run.jail.level if inspected.run.jail else "",
    )


def _with_excluded(inspected: Inspection) -> Project:
    """The project, with failures excluded that are not to be healed."""
    others = tuple(node for node in inspected.run.failing if node not in {*inspected.wanted})
    return inspected.project.model_copy(update={"aside": others, "tests": tuple(inspected.run.rows)})
