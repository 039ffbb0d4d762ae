"""Healing a failing test suite where it lies: `heal run .`, `heal run tests/test_a.py::test_b`.

The whole suite runs first, in a jail, over a copy of the tree. What fails and was asked for is
healed; what fails besides is left as it is and told. Nothing is written into the tree without
`--apply`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent.core.domain import Report
from agent.core.events import Stamped
from agent.core.settings import Settings, data_folder
from agent.doors.commands import (
    Display,
    OpenSession,
    RunOptions,
    WriteOptions,
    against,
    keep_log,
    of_run,
    refuse_overwriting,
    watched,
)
from agent.doors.exits import HEALED, USAGE, Requirements, exit_code
from agent.doors.project.branch import (
    Committed,
    Edited,
    commit_edits,
    refuse_what_cannot_be_committed,
)
from agent.doors.project.choice import ProjectInputs
from agent.doors.project.look import (
    Seen,
    as_it_stands,
    believed_report,
    concluded,
    look,
    rest_of_suite,
    task_to_heal,
)
from agent.doors.project.next_step import next_steps, question
from agent.doors.project.shown import commit_message, edits, show, show_verdicts, verdict_line
from agent.doors.terminal import STANDING_STYLES
from agent.doors.writeback import Change, NotWritten, write_all_back, write_new
from agent.intake import with_outside_failures
from agent.intake.errors import NotFixable
from agent.judge.project_run import verdicts
from agent.log.result import Result, document
from agent.project.layout import find_layout

BACKUPS = "backups"
MOST_TOLD = 3
"""Failing tests that are listed before the heal."""


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
            "project's files (where modules are found, a variable, a file that is ignored or left "
            "out, the order of tests, the time)",
        )
    _tell_failing(seen, face)
    log = _healed(opener, seen, writing.least, face) if seen.is_red else ()
    result = concluded(seen, log) if log else _standing(seen, writing.least)
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
        except NotWritten as error:
            refusals.append(str(error))
    if asked and papers.commit:
        try:
            commits.append(_committed(result, seen))
            kept.append(commits[0].words)
        except NotWritten as error:
            refusals.append(str(error))
    result = against(replace(result, error=" ".join([result.error, *refusals]).strip()),
                     writing.least)
    if face.json:
        face.data(project_document(result, seen, commits))
    else:
        show(result, seen.tree.files, seen.wanted, face, next_steps(result, seen))
        if result.diff and not asked and code == HEALED:
            kept.append("Next: nothing is written yet; add --apply, --commit or --out FILE.")
    for words in kept:
        face.terminal.say(words, "bold")
    for words in refusals:
        face.terminal.say(words, "bold red")
    return code or (USAGE if refusals else HEALED)


def check_project(inputs: ProjectInputs, least: Requirements, face: Display) -> int:
    """Judges a project by its own suite, and repairs nothing."""
    seen = asyncio.run(look(inputs, Settings.from_env(), face.terminal.say))
    result = against(_standing(seen, least), least)
    if face.json:
        face.data(project_document(result, seen))
    else:
        show_verdicts(result, seen.wanted, seen.project.root, face)
    return exit_code(result, least)


def _standing(seen: Seen, least: Requirements) -> Result:
    """What the suite says of the project as it is, and where integrity is asked for, how far that
    is believed: it takes two more runs."""
    asks = least.integrity is not None and not seen.broken
    return as_it_stands(seen, asyncio.run(believed_report(seen)) if asks else None)


def _tell_failing(seen: Seen, face: Display) -> None:
    """Lists the first tests that are to be healed, without those that no edit could mend."""
    failing = [
        one for one in verdicts(seen.run, [rest_of_suite()], seen.project)
        if one.fails and one.name in {*seen.wanted}
    ]
    if failing and seen.tree.editable:
        report = Report(solution="", verdicts=tuple(failing))
        failing = [*with_outside_failures(report, task_to_heal(seen)).failing] or failing
    for one in failing[:MOST_TOLD]:
        face.terminal.say(verdict_line(one, face.terminal), STANDING_STYLES[one.standing])
    if len(failing) > MOST_TOLD:
        face.terminal.say(f"  and {len(failing) - MOST_TOLD} more")


def _healed(
    opener: OpenSession, seen: Seen, least: Requirements, face: Display
) -> tuple[Stamped, ...]:
    """The log of a run over what is to be healed."""
    task = task_to_heal(seen)

    async def drive() -> tuple[Stamped, ...]:
        async with opener(seen.settings) as session:
            run = await session.start(task, title=seen.project.name, **of_run(least, face))
            return await watched(session, run, face, calm=True)

    return asyncio.run(drive())


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
        "next": next_steps(result, seen),
        "model_question": question(result, seen) or None,
        "commit": vars(commits[0]) if commits else None,
    }}


def markdown_of(result: Result, seen: Seen, patch: Path | None = None) -> str:
    """The heal for the readers of a pull request; `patch` is where its edit was written."""
    from agent.doors.project.reports import markdown

    return markdown(
        result, seen.run, seen.wanted, seen.tree.files, seen.project.name,
        seen.project.command_words, next_steps(result, seen), question(result, seen),
        "" if patch is None else str(patch),
    )


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
    from agent.doors.project.reports import junit

    kept = []
    if papers.report is not None:
        text = markdown_of(against(result, writing.least), seen, writing.out)
        write_new(
            papers.report, text.encode("utf-8", "surrogateescape"), overwrite=writing.force
        )
        kept.append(f"The report is in {papers.report}.")
    if papers.junit is not None:
        write_new(papers.junit, junit(result), overwrite=writing.force)
        kept.append(f"The suite is in {papers.junit}.")
    return kept
