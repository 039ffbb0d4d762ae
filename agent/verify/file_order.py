"""Compares the verdicts on asserts with a run of the whole file, and of a snippet after it.

Each assert is judged alone, with the statements that it seems to need. Only the file itself shows
whether these are all: it is run as a script, from top to bottom, with its asserts.
"""

from __future__ import annotations

import ast

from agent.core.domain import Report, Task
from agent.target.discovery.snippets import reads_output
from agent.target.parsing import lines_of, shortened, statement_source, statements_of
from agent.target.program import own_asserts
from agent.verify.rewriting.masking import mask
from agent.verify.script_run import run_script
from agent.verify.subject import Subject

FAILS_IN_ORDER = "passes alone, but fails when the file runs from top to bottom"
PASSES_IN_ORDER = "fails alone, but the file runs through from top to bottom"


async def judged_in_order(report: Report, subject: Subject, task: Task) -> Report:
    """Returns the report with a failure for a pass whose assert fails in a run from top to bottom,
    and with a message at failures of the submitted file if it runs through. That it does is the
    program's own word, so nothing passes by it."""
    program = subject.solution.text
    texts = [(program, _checks(program))]
    for snippet in task.snippets:
        if not reads_output(snippet):
            before = f"{mask(program)}\n"
            first = before.count("\n")
            checks = {first + line: name for line, name in _checks(snippet).items()}
            texts.append((f"{before}{snippet}\n", checks))
    for text, checks in texts:
        report = await _judged(report, subject, task, text, checks)
    return report


async def _judged(
    report: Report, subject: Subject, task: Task, text: str, checks: dict[int, str]
) -> Report:
    verdicts = {one.name: one for one in report.verdicts if one.origin == "user"}
    own = {line: verdicts[name] for line, name in checks.items() if name in verdicts}
    failing = {one.name for one in own.values() if one.fails}
    doubtful = {one.name for one in own.values() if one.fails and not one.disbelieved}
    is_submitted = task.solution is not None and subject.solution.id == task.solution.id
    if not own or (failing and not is_submitted):
        return report
    ending, _ = await run_script(subject, text)
    fails = ending.kind == "raised" and ending.exception == "AssertionError"
    if fails and not failing and (at := own.get(ending.line or 0)) is not None:
        return _failed(report, {at.name}, FAILS_IN_ORDER)
    runs_through = ending.kind == "completed" or (ending.kind, ending.exit_code) == ("exited", 0)
    return _failed(report, doubtful, PASSES_IN_ORDER) if runs_through else report


def _checks(text: str) -> dict[int, str]:
    """The names of the asserts in a text, by each of their lines."""
    return {
        line: shortened(statement_source(text, node))
        for node in own_asserts(statements_of(text)) if isinstance(node, ast.Assert)
        for line in lines_of(node)
    }


def _failed(report: Report, names: set[str], message: str) -> Report:
    update = {"status": "failed", "message": message}
    return report.model_copy(update={"verdicts": tuple(
        one.model_copy(update=update) if one.name in names else one for one in report.verdicts
    )})
