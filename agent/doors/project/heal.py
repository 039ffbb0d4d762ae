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
    Say,
    WriteOptions,
    against,
    keep_log,
    refuse_overwriting,
    unsaid,
    watched,
)
from agent.doors.exits import HEALED, USAGE, Requirements, exit_code
from agent.doors.project.branch import (
    Committed,
    Edited,
    commit_edits,
    refuse_what_cannot_be_committed,
)
from agent.doors.project.choice import UNITTEST, ProjectInputs, chosen, named_for_unittest
from agent.doors.project.obstacles import refuse_what_does_not_run
from agent.doors.project.shown import (
    changed_words,
    commit_message,
    edits,
    found_words,
    judged_words,
    show,
    show_verdicts,
    suite_words,
    verdict_line,
)
from agent.doors.terminal import STANDING_STYLES
from agent.doors.writeback import Change, Refused, write_all_back, write_new
from agent.intake.errors import BadInput, NotFixable
from agent.judge.project_run import SuiteRun, run_suite, verdicts
from agent.log.result import Result, document, fold
from agent.log.words import counted
from agent.project.grants import Grants, grants_of, hints
from agent.project.layout import Interpreter, find_interpreter, find_layout
from agent.project.recency import changed_lines
from agent.project.tree import ProjectTree, read_tree
from agent.repair.syntax import compiles
from agent.tools.errors import ToolError
from agent.tools.python_run import python_arguments
from sandbox import Sandbox, open_sandbox

THE_REST = "the rest of the suite"
BACKUPS = "backups"
MOST_NOTICES = 5
MOST_TOLD = 3
"""Failing tests that are listed before the heal."""
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
    settings = options.settings().model_copy(update={"ask": False})
    seen = asyncio.run(look(inputs, settings, face.terminal.say))
    if inputs.failed_outside and not seen.is_red:
        raise NotFixable(
            "environment", "what failed just now passes in the jail: the cause is none of the "
            "project's files (a variable, a file that is ignored or left out, the order of tests, "
            "the time)",
        )
    _tell_failing(seen, face)
    log = _healed(opener, seen, face) if seen.is_red else ()
    result = concluded(seen, log)
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
        face.data(project_document(result, seen, commits))
    else:
        show(result, seen.tree.files, seen.wanted, face)
        if result.diff and not asked and code == HEALED:
            kept.append("Nothing is written yet: add --apply, --commit or --out FILE.")
    for words in kept:
        face.terminal.say(words, "bold")
    for words in refusals:
        face.terminal.say(words, "bold red")
    return code or (USAGE if refusals else HEALED)


def check_project(inputs: ProjectInputs, least: Requirements, face: Display) -> int:
    """Judges a project by its own suite, and repairs nothing."""
    seen = asyncio.run(look(inputs, Settings.from_env(), face.terminal.say))
    result = against(as_it_stands(seen), least)
    if face.json:
        face.data(project_document(result, seen))
    else:
        show_verdicts(result, seen.wanted, seen.project.root, face)
    return exit_code(result, least)


@dataclass(frozen=True)
class Seen:
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

    @property
    def is_red(self) -> bool:
        """Whether there is something to heal."""
        return bool(self.wanted or self.broken)


async def look(inputs: ProjectInputs, settings: Settings, say: Say = unsaid) -> Seen:
    """Finds the project, says what was found, and runs its suite once.

    Raises `BadInput` for what is no project, and `NotFixable` for a suite that does not run.
    """
    started = time.monotonic()
    tree, interpreter = await asyncio.to_thread(_found, inputs)
    layout = tree.layout
    asked = grants_of(layout.settings, layout.root)
    given = asked if inputs.grant else asked.harmless
    command = _command(inputs)
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
    say(found_words(tree, interpreter.words, inputs.test_command), "")
    if by_unittest:
        say(f"note: {BY_UNITTEST}", "yellow")
    for notice in tree.notices[:MOST_NOTICES]:
        say(f"note: {notice}", "yellow")
    if asked.opening:
        words = "its tests are given" if inputs.grant else "with --grant its tests would be given"
        say(f"note: {words} {asked.opening}", "yellow")
    jailed = open_sandbox(settings.sandbox, settings.environment or None)
    run = await run_suite({**tree.files}, project, interpreter.sites, jailed)
    broken = _broken(tree) if run.problems else []
    if not broken:
        refuse_what_does_not_run(run, tree, interpreter.words)
    wanted = chosen(run.failing, [*run.rows], inputs, layout) if not broken else []
    if inputs.keyword and wanted:
        wanted = await _matching(inputs.keyword, wanted, tree, project, interpreter, jailed)
    if broken:
        say(_uncompiled(broken), "")
    else:
        say(suite_words(run, wanted, inputs.test_command), "")
    seen = Seen(
        tree, project, interpreter, settings, run, wanted, broken, time.monotonic() - started
    )
    return seen if broken else await asyncio.to_thread(_with_recency, seen, inputs, given, say)


def _found(inputs: ProjectInputs) -> tuple[ProjectTree, Interpreter]:
    layout = find_layout(inputs.start)
    interpreter = find_interpreter(layout.root, inputs.python or "")
    return read_tree(layout, inputs.only, inputs.exclude), interpreter


def _uncompiled(broken: Sequence[str]) -> str:
    return f"{broken[0]} does not compile: no test that needs it can run"


def _with_recency(seen: Seen, inputs: ProjectInputs, given: Grants, say: Say) -> Seen:
    """The same with what of the project changed lately, where a test is to be healed; says that,
    and which grants are missed."""
    failing = [one for one in verdicts(seen.run, [_rest()], seen.project) if one.fails]
    for hint in hints([(one.name, one.message) for one in failing], given, os.environ):
        say(f"note: {hint}", "yellow")
    if not seen.wanted:
        return seen
    changed = changed_lines(
        seen.tree.layout.root, seen.tree.files, seen.project.editable, inputs.since
    )
    if changed:
        say(changed_words([*changed], inputs.since), "")
    return replace(seen, project=seen.project.model_copy(
        update={"changed": tuple(sorted(changed.items()))}
    ))


def _tell_failing(seen: Seen, face: Display) -> None:
    """Lists the first tests that are to be healed."""
    failing = [
        one for one in verdicts(seen.run, [_rest()], seen.project)
        if one.fails and one.name in {*seen.wanted}
    ]
    for one in failing[:MOST_TOLD]:
        face.terminal.say(verdict_line(one, face.terminal), STANDING_STYLES[one.standing])
    if len(failing) > MOST_TOLD:
        face.terminal.say(f"  and {len(failing) - MOST_TOLD} more")


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


def _healed(opener: OpenSession, seen: Seen, face: Display) -> tuple[Stamped, ...]:
    """The log of a run over what is to be healed."""
    task = task_to_heal(seen)

    async def drive() -> tuple[Stamped, ...]:
        async with opener(seen.settings) as session:
            run = await session.start(task, title=seen.project.name)
            return await watched(session, run, face, calm=True)

    return asyncio.run(drive())


def task_to_heal(seen: Seen) -> Task:
    """The task of a run over what is to be healed; raises `NotFixable` where nothing may be."""
    if not seen.tree.editable:
        raise NotFixable(
            "environment", f"there is no module in {seen.project.root} that may be edited: tests "
            "and settings never are; name modules with --only",
        )
    aside = tuple(node for node in seen.run.failing if node not in {*seen.wanted})
    project = seen.project.model_copy(update={"aside": aside, "tests": tuple(seen.run.rows)})
    return task_of(seen.tree, project, seen.wanted, seen.run, seen.interpreter.sites)


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


def concluded(seen: Seen, log: Sequence[Stamped]) -> Result:
    """What a heal came to, by the log of its run; without one there was nothing to heal."""
    if not log:
        return as_it_stands(seen)
    result = fold(log)
    if result.outcome == "healed":
        judged = judged_words(seen.project.command_words)
        return replace(result, reason=f"{result.reason}; {judged}")
    return result


def as_it_stands(seen: Seen) -> Result:
    """What the suite says of the project before any edit."""
    others = [node for node in seen.run.failing if node not in {*seen.wanted}]
    aside = seen.project.model_copy(update={"aside": tuple(others)})
    report = Report(solution="", verdicts=tuple(verdicts(seen.run, [_rest()], aside)))
    fail = "fails" if len(others) == 1 else "fail"
    left = f"; {counted(len(others), 'other')} {fail}, not asked for" if others else ""
    said = f"{tally(report.verdicts, 'tests')}{left}"
    shown = any(one.passed for one in report.verdicts)
    return Result(
        title=seen.project.name, outcome="unresolved" if seen.is_red else "healthy",
        proof=None if seen.is_red else "E1" if shown else "E0",
        reason=_uncompiled(seen.broken) if seen.broken else said if seen.is_red
        else f"nothing to heal: {said}",
        report=report, seconds=seen.seconds, sandbox=seen.run.jail.words if seen.run.jail else "",
        level=seen.run.jail.level if seen.run.jail else "",
    )


def project_document(
    result: Result, seen: Seen, commits: Sequence[Committed] = ()
) -> dict[str, object]:
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


def _edited(result: Result, seen: Seen) -> list[Edited]:
    """Each file that the repair changes."""
    return [
        Edited(path, seen.tree.files[path].encode("utf-8", "surrogateescape"),
               text.encode("utf-8", "surrogateescape"))
        for path, text in result.files if text != seen.tree.files[path]
    ]


def _patch(
    result: Result, writing: WriteOptions, papers: ProjectWriting, seen: Seen
) -> list[str]:
    """Writes the patch."""
    if writing.out is None:
        return []
    patch = result.diff.encode("utf-8", "surrogateescape")
    write_new(writing.out, patch, overwrite=writing.force)
    return [f"Wrote {writing.out}; in {seen.project.root} `git apply` takes it."]


def _applied(
    result: Result, writing: WriteOptions, papers: ProjectWriting, seen: Seen
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


def _committed(result: Result, seen: Seen) -> Committed:
    """Makes the repair a commit."""
    failed = {node: seen.run.rows[node] for node in seen.wanted}
    message = commit_message(result, failed, seen.project.command_words)
    return commit_edits(seen.tree.layout.root, _edited(result, seen), message)


def _papers(
    result: Result, writing: WriteOptions, papers: ProjectWriting, seen: Seen
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
