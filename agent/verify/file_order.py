"""Compares the verdicts on the asserts in a program's text with a run of the whole file.

Each assert is judged alone, with the statements that it seems to need. Only the file itself shows
whether these are all: it is run as a script, from top to bottom, with its asserts.
"""

from __future__ import annotations

import ast

from agent.core.domain import Report, Solution, Task, Verdict
from agent.target.parsing import lines_of, shortened, statement_source, statements_of
from agent.target.program import own_asserts
from agent.verify.script_run import run_script
from agent.verify.subject import Subject

FAILS_IN_ORDER = "passes alone, but fails when the file runs from top to bottom"
PASSES_IN_ORDER = "passes where it stands in the file"


async def judged_in_order(report: Report, subject: Subject, task: Task) -> Report:
    """Returns the report with the verdicts that the run of the whole file shows to be wrong: a pass
    whose assert fails there, and failures in the submitted file if it runs through."""
    own = _own_tests(report, subject.solution)
    if not own:
        return report
    ending, _ = await run_script(subject, own_tests=True)
    names = {one.name for one in own.values()}
    failing = [one for one in own.values() if one.fails]
    if ending.kind == "raised" and ending.exception == "AssertionError" and not failing:
        at = own.get(ending.line or 0)
        if at is None:
            return report
        return _changed(report, {at.name}, "failed", FAILS_IN_ORDER)
    runs_through = ending.kind == "completed" or (ending.kind, ending.exit_code) == ("exited", 0)
    is_submitted = task.solution is not None and subject.solution.id == task.solution.id
    if failing and is_submitted and runs_through:
        return _changed(report, {one.name for one in failing} & names, "passed", PASSES_IN_ORDER)
    return report


def _own_tests(report: Report, solution: Solution) -> dict[int, Verdict]:
    """The verdicts on the asserts in the text, by each of their lines."""
    verdicts = {one.name: one for one in report.verdicts if one.origin == "user"}
    found: dict[int, Verdict] = {}
    for node in own_asserts(statements_of(solution.text)):
        verdict = verdicts.get(shortened(statement_source(solution.text, node)))
        if verdict is not None and isinstance(node, ast.Assert):
            found |= dict.fromkeys(lines_of(node), verdict)
    return found


def _changed(report: Report, names: set[str], status: str, message: str) -> Report:
    update = {"status": status, "message": message, "integrity": "in-process"}
    return report.model_copy(update={"verdicts": tuple(
        one.model_copy(update=update) if one.name in names else one for one in report.verdicts
    )})
