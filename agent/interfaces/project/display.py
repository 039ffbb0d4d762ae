"""What a person sees of a project: what was found, how its suite does, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from agent.core.domain import Report, counted
from agent.interfaces.terminal.commands import Display
from agent.interfaces.terminal.display import MAX_SHOWN, message_lines, printable
from agent.report.result import Result
from agent.report.words import claim_lines, open_words, report_words
from agent.target.failures.excluded import with_outside_failures
from agent.target.repository.tree import ProjectTree, is_collected, is_unittest
from agent.verify.project.suite_run import SuiteRun, verdicts

if TYPE_CHECKING:
    from agent.interfaces.project.discovery import Inspection

MAX_TOLD = 3
SUBJECT = 72
MAX_CHANGED = 3


def judged_words(command: str = "") -> str:
    """Who judged a project, for people."""
    if command:
        return f"judged by a fresh run of `{command}` in the jail, of which the exit code is inspected"
    return "judged by the project's own pytest in a fresh run of its whole suite, in the jail"


def found_words(tree: ProjectTree, python: str, command: str = "") -> str:
    """What a project is made of, in one line."""
    layout = tree.layout
    tests = sum(
        (is_collected(path, layout.test_files) and path not in tree.editable)
        or is_unittest(path, tree.files[path])
        for path in tree.files if path.endswith(".py")
    )
    folder = next((root for root in layout.import_roots if root), "")
    own = layout.configuration
    settings = f", pytest as {own} says" if own else ", plain pytest"
    suite = counted(tests, "test file") if not command else f"tests by `{command}`"
    return (
        f"{layout.name}: {counted(len(tree.editable), 'module')} "
        f"{f'below {folder}/' if folder else 'to edit'}, {suite}; {python}"
        f"{'' if command else settings}"
    )


def changed_words(files: Sequence[str], since: str) -> str:
    """Where is looked first, in one line."""
    more = f" and {len(files) - MAX_CHANGED} more" if len(files) > MAX_CHANGED else ""
    return (
        f"changed since {since or 'the last commit'}, and so suspected first: "
        f"{', '.join(files[:MAX_CHANGED])}{more}"
    )


def suite_words(run: SuiteRun, wanted: Sequence[str], command: str = "") -> str:
    """How the suite does, in one line."""
    failing = len(run.failing)
    if command:
        how = "fails: one test; each candidate is a fresh run of it" if failing else "ends well"
        return f"its test command {how}"
    said = f"its suite: {counted(len(run.rows), 'test')}, "
    if not failing:
        return f"{said}none fails"
    others = failing - len(wanted)
    left = f", {len(wanted)} to heal; the others are left as they are" if others else ""
    return f"{said}{failing} {'fails' if failing == 1 else 'fail'}{left}"


def show_failing(inspected: Inspection, display: Display) -> None:
    """Lists the first tests that are to be healed, without those that no edit could mend."""
    from agent.interfaces.project.discovery import rest_of_suite, task_to_heal

    failing = [
        one for one in verdicts(inspected.run, [rest_of_suite()], inspected.project)
        if one.fails and one.name in {*inspected.wanted}
    ]
    if failing and inspected.tree.editable:
        report = Report(solution="", verdicts=tuple(failing))
        failing = [*with_outside_failures(report, task_to_heal(inspected)).failing] or failing
    for one in failing[:MAX_TOLD]:
        display.terminal.verdict(one, display.terminal.talk)
    if len(failing) > MAX_TOLD:
        display.terminal.say(f"  and {len(failing) - MAX_TOLD} more")


def commit_message(
    result: Result, failed: Mapping[str, Mapping[str, object]], command: str = ""
) -> str:
    """What failed, the edit and the proof, as the message of a commit."""
    first = next(iter(failed), "what does not compile")
    more = f" and {counted(len(failed) - 1, 'other test')}" if len(failed) > 1 else ""
    subject = f"Heal {first}{more}"
    if len(subject) > SUBJECT:
        subject = f"{subject[: SUBJECT - 1]}…"
    lines = [subject, ""]
    for node, row in [*failed.items()][:MAX_SHOWN]:
        lines += [f"failed: {node}", *message_lines(str(row.get("message", "")))]
    lines += ["", f"edit: {result.edit}", *filter(None, [open_words(result.fitting)])]
    lines += claim_lines(result)
    if result.report is not None:
        lines.append(f"{judged_words(command)}: {report_words(result.report)}")
    return printable("\n".join(lines)) + "\n"
