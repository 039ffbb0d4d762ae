"""What a person sees of a project: what was found, how its suite does, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from agent.core.domain import Report, SuspectFile, Verdict, counted
from agent.core.settings import COMMAND
from agent.doors.commands import Display
from agent.doors.terminal import (
    OPEN_STYLE,
    STANDING_STYLES,
    Terminal,
    cut,
    printable,
    status_line,
)
from agent.intake import with_outside_failures
from agent.judge.project_run import SuiteRun, verdicts
from agent.log.result import KEPT, Result
from agent.log.words import (
    STANDING_SIGNS,
    claim_lines,
    open_words,
    report_words,
)
from agent.project.layout import ProjectLayout
from agent.project.tree import ProjectTree, is_collected, is_unittest
from agent.repair.proof.doubts import idle_assignments

if TYPE_CHECKING:
    from agent.doors.project.look import Seen

MOST_SHOWN = 20
MOST_TOLD = 3
"""Failing tests that are listed before the heal."""
SUBJECT = 72
"""Characters of a commit's first line."""
MOST_LINES = 5
"""Lines of what a test says."""
MOST_SUSPECTS, MOST_CHANGED = 4, 3


def judged_words(command: str = "") -> str:
    """Who judged a project, for people."""
    if command:
        return f"judged by a fresh run of `{command}` in the jail, of which the exit code is seen"
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
    suite = counted(tests, "test file") if not command else f"tests by `{command}`"
    return (
        f"{layout.name}: {counted(len(tree.editable), 'module')} "
        f"{f'below {folder}/' if folder else 'to edit'}, {suite}; {python}"
        f"{'' if command else f', {settings_words(layout)}'}"
    )


def changed_words(files: Sequence[str], since: str) -> str:
    """Where is looked first, in one line."""
    more = f" and {len(files) - MOST_CHANGED} more" if len(files) > MOST_CHANGED else ""
    return (
        f"changed since {since or 'the last commit'}, and so suspected first: "
        f"{', '.join(files[:MOST_CHANGED])}{more}"
    )


def settings_words(layout: ProjectLayout) -> str:
    """Where pytest's settings are from."""
    return f"pytest as {layout.configuration} says" if layout.configuration else "plain pytest"


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


def edits(before: Mapping[str, str], result: Result) -> list[tuple[str, int]]:
    """Each file that was changed, with the first line that is another."""
    found = []
    for path, text in sorted(result.files):
        if path in before and text != before[path]:
            pairs = zip(text.split("\n"), before[path].split("\n"), strict=False)
            same = next((at for at, (new, old) in enumerate(pairs) if new != old), None)
            found.append((path, 1 + (same if same is not None else min(
                text.count("\n"), before[path].count("\n")
            ))))
    return found


def notable(report: Report, healed: Sequence[str]) -> Report:
    """The report without the tests that do as they did before."""
    kept = [one for one in report.verdicts if one.fails or one.name in healed]
    return report.model_copy(update={"verdicts": tuple(kept[:MOST_SHOWN])})


def show_failing(seen: Seen, face: Display) -> None:
    """Lists the first tests that are to be healed, without those that no edit could mend."""
    from agent.doors.project.look import rest_of_suite, task_to_heal

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


def show(result: Result, seen: Seen, face: Display) -> None:
    """The result for a person: the talk, what to do next, and then the patch."""
    from agent.doors.project.next_step import next_steps

    terminal, before, healed = face.terminal, seen.tree.files, seen.wanted
    terminal.talk.print(status_line(result))
    if result.reason:
        terminal.say(result.reason)
    for words in rival_words(result):
        terminal.say(words, OPEN_STYLE)
    for path, line in edits(before, result) if result.diff else []:
        terminal.say(f"edited: {path}, line {line}")
    unhealed = result.outcome in ("unresolved", "budget", "cancelled")
    if terminal.verbose or not unhealed:
        show_tests(result.of_submitted.shown_report, healed, terminal)
    if unhealed:
        for words in evidence_words(result, before):
            terminal.say(words)
    terminal.not_kept(result)
    for words in next_steps(result, seen):
        terminal.say(words, "bold")
    if result.outcome in KEPT:
        terminal.patch(result.diff)


def rival_words(result: Result) -> Iterator[str]:
    """The other repairs that the suite does not tell apart."""
    if result.rivals is None or result.outcome not in ("healed", "proposed"):
        return
    yield "Which one is right? The suite passes with each; the patch is A. A further test decides:"
    for one in result.rivals.behaviours:
        yield f"  {one.label}: {one.note}"


def show_tests(report: Report | None, healed: Sequence[str], terminal: Terminal) -> None:
    """The tests that were asked for and those that fail; all of them where that is wanted."""
    if report is None:
        return
    shown = report if terminal.verbose else notable(report, healed)
    for verdict in shown.verdicts:
        terminal.say(verdict_line(verdict, terminal), STANDING_STYLES[verdict.standing])
    rest = len(report.verdicts) - len(shown.verdicts)
    if rest and shown.verdicts:
        terminal.say(f"  and {counted(rest, 'other test')} (--verbose lists them)")


def show_verdicts(result: Result, failing: Sequence[str], root: str, face: Display) -> None:
    """What a suite says of a project that was only judged."""
    terminal = face.terminal
    show_tests(result.report, failing, terminal)
    said = "ALL PASS" if result.outcome == "healthy" else "NOT ALL PASS"
    claim = f"proof {result.claim}" if result.integrity else ""
    terminal.say(" · ".join(filter(None, (said, claim, result.reason))), "bold")
    if result.outcome == "unresolved":
        terminal.say(f"Next: `{COMMAND} run {root}` searches for a repair.", "bold")


def verdict_line(one: Verdict, terminal: Terminal) -> str:
    """A test with what it came to, and where it fails what it says."""
    glyph, plain, _ = STANDING_SIGNS[one.standing]
    sign = glyph if terminal.talk.encoding.lower().startswith("utf") else plain
    why = one.aside or (one.message if one.fails else "")
    return "\n".join([f"  {sign} {one.standing} {one.name}", *message_lines(why)])


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
    for node, row in [*failed.items()][:MOST_SHOWN]:
        lines += [f"failed: {node}", *message_lines(str(row.get("message", "")))]
    lines += ["", f"edit: {result.edit}", *filter(None, [open_words(result.fitting)])]
    lines += claim_lines(result)
    if result.report is not None:
        lines.append(f"{judged_words(command)}: {report_words(result.report)}")
    return printable("\n".join(lines)) + "\n"


def message_lines(message: str, most: int = MOST_LINES) -> list[str]:
    """The first lines of what a test says, each indented and none too long."""
    lines = [line.rstrip() for line in message.strip().split("\n") if line.strip()]
    if "Expected:" in lines:  # of a doctest the example, without the text above it
        lines = lines[max(0, lines.index("Expected:") - 1) :]
    more = [f"    … {counted(len(lines) - most, 'more line')}"] if len(lines) > most else []
    return [f"    {cut(line)}" for line in lines[:most]] + more


def evidence_words(result: Result, before: Mapping[str, str] = {}) -> Iterator[str]:
    """The smallest failing test, and the places in which the fault may lie; of files as they were
    `before`, also statements there that do nothing."""
    failure = result.smallest_failure
    if failure is not None:
        yield f"Smallest failing test: {failure.name}"
        yield from message_lines(failure.message or failure.got or failure.status)
    if result.suspects:
        yield "Where the fault may lie (1.00 is the most suspect)"
        for one in result.suspects[:MOST_SUSPECTS]:
            yield f"  {suspect_words(one)}"
            if one.values:
                held = ", ".join(f"{name} = {cut(value)}" for name, value in one.values)
                at = f"in line {one.line}, " if one.line is not None else ""
                yield f"    {at}where it failed: {held}"
            functions = [function.line for function in one.functions]
            for line, name in idle_assignments(before.get(one.file, ""), functions):
                yield f"    line {line} does nothing: it sets `{name}`, which nothing reads"


def suspect_words(one: SuspectFile) -> str:
    """A file with its likeliest functions."""
    functions = ", ".join(
        f"{function.name} (line {function.line})" for function in one.functions[:3]
    )
    return f"{one.file} ({one.suspicion:.2f}){f': {functions}' if functions else ''}"
