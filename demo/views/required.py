"""Checks a result against the requirements of its run, and returns the next step. Pure."""

from __future__ import annotations

from dataclasses import replace

from agent.interfaces.exits import Requirements, missed_words
from agent.interfaces.next_step import PAGE, next_step
from agent.report.result import Result


def required(result: Result) -> Result:
    """Adds the missed requirement to the reason of a result, if there is one."""
    missed = ""
    if result.phase == "finished" and (least := _least(result)) != Requirements("E1"):
        missed = missed_words(result, least)
    return replace(
        result, reason=f"{missed} {result.reason}".strip(), why=f"{missed} {result.why}".strip(),
    ) if missed else result


def next_words(result: Result) -> str:
    """Returns what a user can do next after a run that has ended."""
    return next_step(result, PAGE, _least(result)) if result.phase == "finished" else ""


def _least(result: Result) -> Requirements:
    start = result.start
    return Requirements(
        start.require_proof if start else "E1", start.require_integrity if start else None
    )
