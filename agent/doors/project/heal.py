"""Healing a failing test suite where it lies: `heal run .`, `heal run tests/test_a.py::test_b`.

The whole suite runs first, in a jail, over a copy of the tree. What fails and was asked for is
healed; what fails besides is left as it is and told. Nothing is written into the tree without
`--apply`.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent.core.domain import (
    REST,
    File,
    Project,
    Report,
    Script,
    Solution,
    Task,
    tally,
)
from agent.core.events import Stamped
from agent.core.settings import Settings, data_folder
from agent.doors.commands import (
    Display,
    OpenSession,
    RunOptions,
    WriteOptions,
    against,
    keep_log,
    refuse_overwriting,
    watched,
)
from agent.doors.exits import HEALED, USAGE, exit_code
from agent.doors.project.branch import (
    Committed,
    Edited,
    commit_edits,
    refuse_what_cannot_be_committed,
)
from agent.doors.project.choice import UNITTEST, ProjectInputs, chosen, named_for_unittest
from agent.doors.project.obstacles import refuse_what_does_not_run
from agent.doors.project.shown import (
    commit_message,
    edits,
    found_words,
    judged_words,
    show,
    suite_words,
)
from agent.doors.writeback import Change, Refused, write_all_back, write_new
from agent.intake.errors import BadInput, NotFixable
from agent.judge.project_run import SuiteRun, project_report, run_suite, verdicts
from agent.log.result import Result, document, fold
from agent.project.grants import grants_of, hints
from agent.project.layout import Interpreter, find_interpreter, find_layout
from agent.project.tree import ProjectTree, read_tree
from agent.repair.syntax import compiles
from agent.tools.errors import ToolError
from agent.tools.python_run import python_arguments
from sandbox import Sandbox, open_sandbox

THE_REST = "the rest of the suite"
BACKUPS = "backups"
MOST_NOTICES = 5
BY_UNITTEST = "its test files are named as unittest has them (test*.py), and pytest is told so"


@dataclass(frozen=True)
class ProjectWriting:
    """What a user wants written beside what every command writes."""

    report: Path | None = None
    """For the heal in Markdown."""
    junit: Path | None = None
    """For the suite as the heal leaves it."""
    commit: bool = False
    """The repair becomes a commit on a branch of its own."""


def heal_project(
    opener: OpenSession, inputs: ProjectInputs, writing: WriteOptions, face: Display,
    options: RunOptions, papers: ProjectWriting = ProjectWriting(),
) -> int:
    """Heals the tests that fail, shows the patch, and writes where that was asked for."""
    refuse_overwriting(writing, ("--report", papers.report), ("--junit", papers.junit))
    if papers.commit:
        refuse_what_cannot_be_committed(find_layout(inputs.start).root)
    seen = _look(inputs, options.settings().model_copy(update={"ask": False}), face)
    log: tuple[Stamped, ...] = ()
    if seen.wanted or seen.broken:
        log = _healed(opener, seen, face)
        result = fold(log)
        if result.outcome == "healed":
            judged = judged_words(inputs.test_command)
            result = replace(result, reason=f"{result.reason}; {judged}")
    elif inputs.failed_outside:
        raise NotFixable(
            "environment", "what failed just now passes in the jail: the cause is none of the "
            "project's files (a variable, a file that is ignored or left out, the order of tests, "
            "the time)",
        )
    else:
        result = _healthy(seen, writing.least.integrity is not None)
    code = exit_code(result, writing.least)
    kept, refusals = keep_log(writing, log) if log else ([], [])
    asked = writing.apply or writing.out is not None or papers.commit
    if asked and (code != HEALED or not result.diff):
        kept.append("Nothing was written.")
        asked = False
    commits: list[Committed] = []
    for write in (*((_patch, _applied) if asked else ()), _papers):
        try:
            kept += write(result, writing, papers, seen)
        except Refused as error:
            refusals.append(str(error))
    if asked and papers.commit:
        try:
            commits.append(_committed(result, seen))
            kept.append(commits[0].words)
        except Refused as error:
            refusals.append(str(error))
    result = against(replace(result, error=" ".join([result.error, *refusals]).strip()),
                     writing.least)
    if face.json:
        face.data(_document(result, seen, commits))
    else:
        show(result, seen.tree.files, seen.wanted, face)
    for words in kept:
        face.terminal.say(words, "bold")
    for words in refusals:
        face.terminal.say(words, "bold red")
    return code or (USAGE if refusals else HEALED)


@dataclass(frozen=True)
class _Seen:
    """A project and how its suite comes out."""

    tree: ProjectTree
    project: Project
    interpreter: Interpreter
    settings: Settings
    run: SuiteRun
    wanted: Sequence[str]
    """The failing tests that are to be healed."""
    broken: Sequence[str]
    """Files that may be edited and do not compile."""
    seconds: float


def _look(inputs: ProjectInputs, settings: Settings, face: Display) -> _Seen:
    """Finds the project, says what was found, and runs its suite once."""
    started = time.monotonic()
    layout = find_layout(inputs.start)
    interpreter = find_interpreter(layout.root, inputs.python or "")
    asked = grants_of(layout.settings, layout.root)
    given = asked if inputs.grant else asked.harmless
    command = _command(inputs)
    tree = read_tree(layout, inputs.only, inputs.exclude)
    # What a test command starts is test code, whatever it is called.
    tree = replace(tree, exclude=(*tree.exclude, *named_in(command, tree.files)))
    by_unittest = not command and named_for_unittest(tree)
    project = Project(
        root=str(layout.root), name=layout.name, import_roots=layout.import_roots,
        arguments=(*(UNITTEST if by_unittest else ()), *inputs.pytest_arguments(layout)),
        editable=tuple(sorted(tree.editable)),
        loopback=given.loopback, environment=given.environment, readable=given.read,
        test_s=given.timeout_s, command=command, command_words=inputs.test_command,
    )
    face.terminal.say(found_words(tree, interpreter.words, inputs.test_command))
    if by_unittest:
        face.terminal.say(f"note: {BY_UNITTEST}", "yellow")
    for notice in tree.notices[:MOST_NOTICES]:
        face.terminal.say(f"note: {notice}", "yellow")

    if asked.opening:
        words = "its tests are given" if inputs.grant else "with --grant its tests would be given"
        face.terminal.say(f"note: {words} {asked.opening}", "yellow")

    async def look() -> _Seen:
        jailed = open_sandbox(settings.sandbox, settings.environment or None)
        run = await run_suite({**tree.files}, project, interpreter.sites, jailed)
        broken = _broken(tree) if run.problems else []
        if not broken:
            refuse_what_does_not_run(run, tree, interpreter.words)
        wanted = chosen(run.failing, [*run.rows], inputs, layout) if not broken else []
        if inputs.keyword and wanted:
            wanted = await _matching(inputs.keyword, wanted, tree, project, interpreter, jailed)
        return _Seen(
            tree, project, interpreter, settings, run, wanted, broken, time.monotonic() - started
        )

    seen = asyncio.run(look())
    if seen.broken:
        face.terminal.say(f"{seen.broken[0]} does not compile: no test that needs it can run")
    else:
        face.terminal.say(suite_words(seen.run, seen.wanted, inputs.test_command))
        failing = [
            (one.name, one.message) for one in verdicts(seen.run, [_rest()], project) if one.fails
        ]
        for hint in hints(failing, given, os.environ):
            face.terminal.say(f"note: {hint}", "yellow")
    return seen


def named_in(command: Sequence[str], files: Collection[str]) -> list[str]:
    """Files that a command names, as paths or as modules."""
    return [
        path for path in files
        if {path, path.removesuffix(".py").replace("/", ".")} & {*command}
    ]


def _command(inputs: ProjectInputs) -> tuple[str, ...]:
    """What Python is given for the test command; raises `BadInput` for what the jail cannot run."""
    if not inputs.test_command:
        return ()
    if inputs.nodes or inputs.keyword or inputs.last_failed or inputs.deselect or inputs.arguments:
        raise BadInput(
            "--test-cmd is one test, whose verdict is its exit code: no tests are chosen from it, "
            "and nothing is given to pytest"
        )
    try:
        return tuple(python_arguments(inputs.test_command))
    except ToolError as error:
        why, *_ = str(error).partition("; ")
        raise BadInput(f"--test-cmd takes `python …` or `pytest …`: {why}") from error


async def _matching(
    keyword: str, wanted: Sequence[str], tree: ProjectTree, project: Project,
    interpreter: Interpreter, jailed: Sandbox,
) -> list[str]:
    """Of these tests those that pytest's own `-k` chooses."""
    picked = project.model_copy(update={
        "arguments": (*project.arguments, "--collect-only", "-k", keyword)
    })
    run = await run_suite({**tree.files}, picked, interpreter.sites, jailed)
    if not run.collected and run.problems:
        raise NotFixable("invalid_tests", f"-k {keyword!r}: {run.problems[0]}")
    return [node for node in wanted if node in {*run.collected}]


def _broken(tree: ProjectTree) -> list[str]:
    return [path for path in sorted(tree.editable) if not compiles(tree.files[path])]


def _healed(opener: OpenSession, seen: _Seen, face: Display) -> tuple[Stamped, ...]:
    """The log of a run over what is to be healed."""
    if not seen.tree.editable:
        raise NotFixable(
            "environment", f"there is no module in {seen.project.root} that may be edited: tests "
            "and settings never are; name modules with --only",
        )
    aside = tuple(node for node in seen.run.failing if node not in {*seen.wanted})
    project = seen.project.model_copy(update={"aside": aside, "tests": tuple(seen.run.rows)})
    task = task_of(seen.tree, project, seen.wanted, seen.run, seen.interpreter.sites)

    async def drive() -> tuple[Stamped, ...]:
        async with opener(seen.settings) as session:
            return await watched(session, await session.start(task, title=project.name), face)

    return asyncio.run(drive())


def task_of(
    tree: ProjectTree, project: Project, wanted: Sequence[str], run: SuiteRun,
    sites: tuple[str, ...],
) -> Task:
    """The task to heal these tests of a project, the rest of its suite staying as it is."""
    tests = [
        Script(
            name=node, origin="user", code=tree.files.get(node.partition("::")[0], ""), node=node,
            file=node.partition("::")[0],
        )
        for node in wanted
    ]
    program = tuple(File(path=path, text=tree.files[path]) for path in sorted(tree.editable))
    return Task(
        solution=Solution(files=program, entry=_entry(tree, run, wanted)),
        tests=(*tests, _rest(wanted)),
        support=tuple(File(path=path, text=text) for path, text in tree.files.items()),
        sites=sites, project=project,
    )


def _rest(without: Sequence[str] = ()) -> Script:
    """All tests of the suite but these, as one."""
    return Script(name=THE_REST, origin="user", code="", node=REST, without=tuple(without))


def _entry(tree: ProjectTree, run: SuiteRun, wanted: Sequence[str]) -> str:
    """The file that is looked at first: the one that does not compile, or the innermost that may
    be edited where a test fails."""
    if not wanted:
        return _broken(tree)[0]
    for node in wanted:
        file = str(run.rows[node].get("file", ""))
        if file in tree.editable:
            return file
    return min(tree.editable, key=lambda path: (path.endswith("__init__.py"), path))


def _healthy(seen: _Seen, asks: bool) -> Result:
    """The result of a suite in which nothing that was asked for fails. How far that is believed is
    asked only where a user `asks`: it takes two more runs."""
    aside = seen.project.model_copy(update={
        "aside": tuple(seen.run.failing), "tests": tuple(seen.run.rows),
    })
    report = Report(solution="", verdicts=tuple(verdicts(seen.run, [_rest()], aside)))
    if asks:
        files = tuple(File(path=path, text=text) for path, text in seen.tree.files.items())
        task = Task(support=files, sites=seen.interpreter.sites, project=aside)
        jailed = open_sandbox(seen.settings.sandbox, seen.settings.environment or None)
        report = asyncio.run(
            project_report(Solution(files=(), entry=""), [_rest()], task, aside, jailed)
        )
    said = "" if report.integrity else "; integrity not asked"
    others = len(seen.run.failing)
    left = f"; those {others} fail, and were not asked for" if others else ""
    return Result(
        title=seen.project.name, outcome="unresolved" if report.failing else "healthy",
        proof="E1" if any(one.passed for one in report.verdicts) else "E0",
        reason=f"nothing to heal: {tally(report.verdicts, 'tests')}{left}{said}",
        report=report, seconds=seen.seconds, sandbox=seen.run.jail.words if seen.run.jail else "",
        level=seen.run.jail.level if seen.run.jail else "",
    )


def _document(result: Result, seen: _Seen, commits: Sequence[Committed]) -> dict[str, object]:
    """The result's document, with what only a project has."""
    return document(result) | {"project": {
        "root": seen.project.root, "name": seen.project.name,
        "python": str(seen.interpreter.executable),
        "settings": seen.tree.layout.configuration or None,
        "test_command": seen.project.command_words or None,
        "failed_before": [*seen.run.failing],
        "changed": [
            {"file": path, "line": line} for path, line in edits(seen.tree.files, result)
        ],
        "commit": vars(commits[0]) if commits else None,
    }}


def _edited(result: Result, seen: _Seen) -> list[Edited]:
    """Each file that the repair changes."""
    return [
        Edited(path, seen.tree.files[path].encode("utf-8", "surrogateescape"),
               text.encode("utf-8", "surrogateescape"))
        for path, text in result.files if text != seen.tree.files[path]
    ]


def _patch(
    result: Result, writing: WriteOptions, papers: ProjectWriting, seen: _Seen
) -> list[str]:
    """Writes the patch."""
    if writing.out is None:
        return []
    patch = result.diff.encode("utf-8", "surrogateescape")
    write_new(writing.out, patch, overwrite=writing.force)
    return [f"Wrote {writing.out}; in {seen.project.root} `git apply` takes it."]


def _applied(
    result: Result, writing: WriteOptions, papers: ProjectWriting, seen: _Seen
) -> list[str]:
    """Writes the files; what they were is kept outside of the tree."""
    if not writing.apply:
        return []
    root = seen.tree.layout.root
    folder, _ = data_folder(seen.settings)
    backups = write_all_back([
        Change(root / one.path, one.seen, one.healed,
               (folder / BACKUPS / result.run_id / one.path).parent, root)
        for one in _edited(result, seen)
    ])
    return [f"Wrote {place}; what it was is kept in {backup}." for place, backup in backups.items()]


def _committed(result: Result, seen: _Seen) -> Committed:
    """Makes the repair a commit."""
    failed = {node: seen.run.rows[node] for node in seen.wanted}
    message = commit_message(result, failed, seen.project.command_words)
    return commit_edits(seen.tree.layout.root, _edited(result, seen), message)


def _papers(
    result: Result, writing: WriteOptions, papers: ProjectWriting, seen: _Seen
) -> list[str]:
    """Writes the report and the suite, however the heal ended."""
    from agent.doors.project.reports import junit, markdown

    kept = []
    if papers.report is not None:
        text = markdown(
            against(result, writing.least), seen.run, seen.wanted, seen.tree.files,
            seen.project.name, seen.project.command_words,
        )
        write_new(
            papers.report, text.encode("utf-8", "surrogateescape"), overwrite=writing.force
        )
        kept.append(f"The report is in {papers.report}.")
    if papers.junit is not None:
        write_new(papers.junit, junit(result.report), overwrite=writing.force)
        kept.append(f"The suite is in {papers.junit}.")
    return kept
