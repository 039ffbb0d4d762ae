"""A result measured against what its run was asked for; pure."""

from __future__ import annotations

from dataclasses import replace

from agent.doors.exits import Requirements, shortfall
from agent.log.result import Result


def required(result: Result) -> Result:
    """The result, which says where it stays below the proof or the integrity that was asked for."""
    start = result.start
    if start is None or result.phase != "finished":
        return result
    least = Requirements(start.require_proof, start.require_integrity)
    told, _ = shortfall(result, least) if least != Requirements("E1") else ("", "")
    return replace(
        result, reason=f"{told} {result.reason}".strip(), why=f"{told} {result.why}".strip(),
    ) if told else result
