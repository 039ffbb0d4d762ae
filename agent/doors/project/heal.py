"""Healing a failing test suite where it lies: `heal run .`, `heal run tests/test_a.py::test_b`.

The whole suite runs first, in a jail, over a copy of the tree. What fails and was asked for is
healed; what fails besides is left as it is and told. Nothing is written into the tree without
`--apply`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
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
from agent.doors.project.choice import ProjectInputs, chosen
from agent.doors.project.obstacles import (
    broken_by,
    left_out_words,
    refuse_what_does_not_run,
    unread_words,
    unreadable,
    waiting_words,
)
from agent.doors.project.shown import JUDGED, edits, found_words, show, suite_words
from agent.doors.writeback import Change, Refused, write_all_back, write_new
from agent.intake.errors import NotFixable
from agent.judge.project_run import SuiteRun, run_suite, verdicts
from agent.log.result import Result, document, fold
from agent.project.interpreter import Interpreter, find_interpreter, with_pytest
from agent.project.layout import find_layout
from agent.project.tree import ProjectTree, read_tree
from sandbox import Sandbox, open_sandbox

THE_REST = "the rest of the suite"
BACKUPS = "backups"
MOST_NOTICES = 5


@dataclass(frozen=True)
class ProjectWriting:
    """What a user wants written beside what every command writes."""

    report: Path | None = None
    """For the heal in Markdown."""
    junit: Path | None = None
    """For the suite as the heal leaves it."""


def heal_project(
    opener: OpenSession, inputs: ProjectInputs, writing: WriteOptions, face: Display,
    options: RunOptions, papers: ProjectWriting = ProjectWriting(),
) -> int:
    """Heals the tests that fail, shows the patch, and writes where that was asked for."""
    refuse_overwriting(writing, ("--report", papers.report), ("--junit", papers.junit))
    seen = _look(inputs, options.settings().model_copy(update={"ask": False}), face)
    log: tuple[Stamped, ...] = ()
    if seen.wanted or seen.broken:
        log = _healed(opener, seen, face)
        result = fold(log)
        if result.outcome == "healed":
            result = replace(result, reason=f"{result.reason}; {JUDGED}")
    else:
        result = _healthy(seen)
    code = exit_code(result, writing.least)
    kept, refusals = keep_log(writing, log) if log else ([], [])
    for write in (_patch, _papers):
        try:
            kept += write(result, code, writing, papers, seen)
        except Refused as error:
            refusals.append(str(error))
    result = against(replace(result, error=" ".join([result.error, *refusals]).strip()),
                     writing.least)
    if face.json:
        face.data(_document(result, seen))
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
    unread: Sequence[str] = ()
    """Files that cannot be parsed here, and are not what keeps the suite from running."""


def _look(inputs: ProjectInputs, settings: Settings, face: Display) -> _Seen:
    """Finds the project, says what was found, and runs its suite once."""
    started = time.monotonic()
    layout = find_layout(inputs.start)
    interpreter = with_pytest(find_interpreter(layout.root, inputs.python or ""))
    tree = read_tree(layout, inputs.only, inputs.exclude)
    project = Project(
        root=str(layout.root), name=layout.name, import_roots=layout.import_roots,
        arguments=inputs.pytest_arguments(layout), editable=tuple(sorted(tree.editable)),
        loopback=bool(layout.settings.get("loopback", False)), python=interpreter.python,
    )
    face.terminal.say(found_words(tree, interpreter.words))
    for notice in tree.notices[:MOST_NOTICES]:
        face.terminal.say(f"note: {notice}", "yellow")

    async def look() -> _Seen:
        jailed = open_sandbox(settings.sandbox, settings.environment or None)
        run = await run_suite(
            {**tree.files}, project, interpreter.sites, jailed,
            watch=lambda what, seconds: face.terminal.say(waiting_words(what, seconds), "yellow"),
        )
        unread = unreadable(tree) if run.problems or run.failing else []
        broken = broken_by(unread, run.problems, interpreter)
        if not broken:
            refuse_what_does_not_run(run, tree, interpreter.words)
        wanted = chosen(run.failing, [*run.rows], inputs, layout) if not broken else []
        if inputs.keyword and wanted:
            wanted = await _matching(inputs.keyword, wanted, tree, project, interpreter, jailed)
        left = [path for path in unread if path not in broken]
        kept = tree.without(left)
        return _Seen(
            kept, project.model_copy(update={"editable": tuple(sorted(kept.editable))}),
            interpreter, settings, run, wanted, broken, time.monotonic() - started, left,
        )

    seen = asyncio.run(look())
    for path in seen.unread[:MOST_NOTICES]:
        face.terminal.say(f"note: {unread_words(path, interpreter)}", "yellow")
    if seen.run.left_out:
        face.terminal.say(f"note: {left_out_words(seen.run.left_out)}", "yellow")
    if seen.broken:
        face.terminal.say(f"{seen.broken[0]} does not compile: no test that needs it can run")
    else:
        face.terminal.say(suite_words(seen.run, seen.wanted))
    return seen


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


def _healed(opener: OpenSession, seen: _Seen, face: Display) -> tuple[Stamped, ...]:
    """The log of a run over what is to be healed."""
    if not seen.tree.editable:
        raise NotFixable(
            "environment", f"there is no module in {seen.project.root} that may be edited: tests "
            "and settings never are; name modules with --only",
        )
    aside = tuple(node for node in seen.run.failing if node not in {*seen.wanted})
    project = seen.project.model_copy(update={"aside": aside, "tests": tuple(seen.run.rows)})
    task = task_of(
        seen.tree, project, seen.wanted, seen.run, seen.interpreter.sites, *seen.broken[:1]
    )

    async def drive() -> tuple[Stamped, ...]:
        async with opener(seen.settings) as session:
            return await watched(session, await session.start(task, title=project.name), face)

    return asyncio.run(drive())


def task_of(
    tree: ProjectTree, project: Project, wanted: Sequence[str], run: SuiteRun,
    sites: tuple[str, ...], broken: str = "",
) -> Task:
    """The task to heal these tests of a project, the rest of its suite staying as it is; or the
    file that is `broken`, for which none can run."""
    tests = [
        Script(
            name=node, origin="user", code=tree.files.get(node.partition("::")[0], ""), node=node,
            file=node.partition("::")[0],
        )
        for node in wanted
    ]
    rest = Script(name=THE_REST, origin="user", code="", node=REST, without=tuple(wanted))
    program = tuple(File(path=path, text=tree.files[path]) for path in sorted(tree.editable))
    return Task(
        solution=Solution(files=program, entry=broken or _entry(tree, run, wanted)),
        tests=(*tests, rest),
        support=tuple(File(path=path, text=text) for path, text in tree.files.items()),
        sites=sites, project=project,
    )


def _entry(tree: ProjectTree, run: SuiteRun, wanted: Sequence[str]) -> str:
    """The file that is looked at first: the innermost that may be edited where a test fails."""
    for node in wanted:
        file = str(run.rows[node].get("file", ""))
        if file in tree.editable:
            return file
    return min(tree.editable, key=lambda path: (path.endswith("__init__.py"), path))


def _healthy(seen: _Seen) -> Result:
    """The result of a suite in which nothing that was asked for fails."""
    rest = Script(name=THE_REST, origin="user", code="", node=REST)
    aside = seen.project.model_copy(update={"aside": tuple(seen.run.failing)})
    report = Report(solution="", verdicts=tuple(verdicts(seen.run, [rest], aside)))
    others = len(seen.run.failing)
    left = f"; those {others} fail, and were not asked for" if others else ""
    return Result(
        title=seen.project.name, outcome="healthy",
        proof="E1" if any(one.passed for one in report.verdicts) else "E0",
        reason=f"nothing to heal: {tally(report.verdicts, 'tests')}{left}",
        report=report, seconds=seen.seconds, sandbox=seen.run.jail.words if seen.run.jail else "",
        level=seen.run.jail.level if seen.run.jail else "",
    )


def _document(result: Result, seen: _Seen) -> dict[str, object]:
    """The result's document, with what only a project has."""
    return document(result) | {"project": {
        "root": seen.project.root, "name": seen.project.name,
        "python": str(seen.interpreter.executable),
        "settings": seen.tree.layout.configuration or None,
        "failed_before": [*seen.run.failing],
        "changed": [
            {"file": path, "line": line} for path, line in edits(seen.tree.files, result)
        ],
    }}


def _patch(
    result: Result, code: int, writing: WriteOptions, papers: ProjectWriting, seen: _Seen
) -> list[str]:
    """Writes the patch or the files; what they were is kept outside of the tree."""
    if not (writing.apply or writing.out):
        return []
    if code != HEALED or not result.diff:
        return ["Nothing was written."]
    kept = []
    if writing.out is not None:
        patch = result.diff.encode("utf-8", "surrogateescape")
        write_new(writing.out, patch, overwrite=writing.force)
        kept.append(f"Wrote {writing.out}; in {seen.project.root} `git apply` takes it.")
    if writing.apply:
        folder, _ = data_folder(seen.settings)
        backups = write_all_back([
            Change(
                seen.tree.layout.root / path,
                seen.tree.files[path].encode("utf-8", "surrogateescape"),
                text.encode("utf-8", "surrogateescape"),
                (folder / BACKUPS / result.run_id / path).parent, seen.tree.layout.root,
            )
            for path, text in result.files if text != seen.tree.files[path]
        ])
        kept += [
            f"Wrote {place}; what it was is kept in {backup}." for place, backup in backups.items()
        ]
    return kept


def _papers(
    result: Result, code: int, writing: WriteOptions, papers: ProjectWriting, seen: _Seen
) -> list[str]:
    """Writes the report and the suite, however the heal ended."""
    from agent.doors.project.reports import junit, markdown

    kept = []
    if papers.report is not None:
        text = markdown(
            against(result, writing.least), seen.run, seen.wanted, seen.tree.files,
            seen.project.name,
        )
        write_new(
            papers.report, text.encode("utf-8", "surrogateescape"), overwrite=writing.force
        )
        kept.append(f"The report is in {papers.report}.")
    if papers.junit is not None:
        write_new(papers.junit, junit(result.report), overwrite=writing.force)
        kept.append(f"The suite is in {papers.junit}.")
    return kept
