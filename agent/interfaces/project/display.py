"""Formats messages about a project: its files, its suite, failing tests and the commit message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agent.core.domain import Project, Report, counted
from agent.interfaces.terminal.commands import Display
from agent.interfaces.terminal.display import MAX_SHOWN, message_lines, printable
from agent.report.result import Result
from agent.report.words import claim_lines, fitting_words, report_words
from agent.target.failures.excluded import with_exclusions
from agent.target.repository.tree import ProjectTree, is_collected, is_unittest
from agent.verify.project.suite_run import SuiteRun, verdicts

if TYPE_CHECKING:
    from agent.interfaces.project.discovery import Inspection

MAX_FAILING = 3
SUBJECT = 72
MAX_CHANGED = 3


def judged_words(project: Project) -> str:
    """Returns how a project was judged."""
    if project.command_words:
        return f"judged by the exit code of a new run of `{project.command_words}` in the jail"
    if project.only:
        ran = counted(len(project.only), "test")
        return f"judged by a new run of {ran} of the project's pytest suite in the jail"
    return "judged by a new run of the project's whole pytest suite in the jail"


def files_words(tree: ProjectTree, python: str, command: str = "") -> str:
    """Returns a summary of the project's files, in one line."""
    layout = tree.layout
    tests = sum(
        (is_collected(path, layout.test_files) and path not in tree.editable)
        or is_unittest(path, tree.files[path])
        for path in tree.files if path.endswith(".py")
    )
    folder = next((root for root in layout.import_roots if root), "")
    configuration = layout.configuration
    source = f"pytest settings from {configuration}" if configuration else "default pytest settings"
    settings = f", {source}"
    suite = counted(tests, "test file") if not command else f"tests by `{command}`"
    return (
        f"{layout.name}: {counted(len(tree.editable), 'module')} "
        f"{f'in {folder}/' if folder else 'to edit'}, {suite}; {python}"
        f"{'' if command else settings}"
    )


def suspected_words(files: Sequence[str], since: str) -> str:
    """Returns a message with the changed files, which are suspected first, in one line."""
    more = f" and {len(files) - MAX_CHANGED} more" if len(files) > MAX_CHANGED else ""
    return (
        f"suspected first, because changed since {since or 'the last commit'}: "
        f"{', '.join(files[:MAX_CHANGED])}{more}"
    )


def suite_words(run: SuiteRun, to_heal: Sequence[str], command: str = "") -> str:
    """Returns a summary of the suite's results, in one line."""
    failing = len(run.failing)
    if command:
        fails = "fails; it runs once for each candidate patch"
        return f"its test command {fails if failing else 'passes'}"
    total = f"its suite: {counted(len(run.outcomes), 'test')}, "
    if not failing:
        return f"{total}none fails"
    others = failing - len(to_heal)
    left = f", {len(to_heal)} to heal; the others are ignored" if others else ""
    return f"{total}{failing} {'fails' if failing == 1 else 'fail'}{left}"


def show_failing(inspected: Inspection, display: Display) -> None:
    """Lists the first tests to heal, without those that no edit could repair."""
    from agent.interfaces.project.discovery import rest_of_suite, task_to_heal

    failing = [
        one for one in verdicts(inspected.run, [rest_of_suite()], inspected.project)
        if one.fails and one.name in {*inspected.to_heal}
    ]
    if failing and inspected.tree.editable:
        report = Report(solution="", verdicts=tuple(failing))
        failing = [*with_exclusions(report, task_to_heal(inspected)).failing] or failing
    for one in failing[:MAX_FAILING]:
        display.terminal.verdict(one, display.terminal.messages)
    if len(failing) > MAX_FAILING:
        display.terminal.say(f"  and {len(failing) - MAX_FAILING} more")


def commit_message(
    result: Result, failed: Mapping[str, Mapping[str, object]], project: Project
) -> str:
    """Returns a commit message with the failures, the edit and the proof."""
    first = next(iter(failed), "a file that blocks the tests")
    more = f" and {counted(len(failed) - 1, 'other test')}" if len(failed) > 1 else ""
    subject = f"Heal {first}{more}"
    if len(subject) > SUBJECT:
        subject = f"{subject[: SUBJECT - 1]}…"
    lines = [subject, ""]
    for node, row in [*failed.items()][:MAX_SHOWN]:
        lines += [f"failed: {node}", *message_lines(str(row.get("message", "")))]
    lines += ["", f"edit: {result.edit}", *filter(None, [fitting_words(result.fitting_repairs)])]
    lines += claim_lines(result)
    if result.report is not None:
        lines.append(f"{judged_words(project)}: {report_words(result.report)}")
    return printable("\n".join(lines)) + "\n"
