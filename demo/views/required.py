"""A result measured against what its run was asked for, and the next step; pure."""

from __future__ import annotations

from dataclasses import replace

from agent.interfaces.exits import Requirements, shortfall
from agent.interfaces.next_step import PAGE, next_step
from agent.report.result import Result


def required(result: Result) -> Result:
    """The result, which says where it stays below the proof or the integrity that was asked for."""
    told = ""
    if result.phase == "finished" and (least := _least(result)) != Requirements("E1"):
        told = shortfall(result, least)
    return replace(
        result, reason=f"{told} {result.reason}".strip(), why=f"{told} {result.why}".strip(),
    ) if told else result


def next_words(result: Result) -> str:
    """What a person can do next with a run that has ended."""
    return next_step(result, PAGE, _least(result)) if result.phase == "finished" else ""


def _least(result: Result) -> Requirements:
    start = result.start
    return Requirements(
        start.require_proof if start else "E1", start.require_integrity if start else None
    )
