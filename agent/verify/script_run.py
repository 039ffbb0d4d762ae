"""The program run as a script, as a user starts it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from agent.core.domain import Ending
from agent.verify.belief import SHOWN, text_in
from agent.verify.rewriting.masking import mask
from agent.verify.subject import Subject
from sandbox.types import Json, Outcome

WALL_FACTOR = 2.0
"""A program as a whole may take so many times what a test may."""


LONGEST_OUTPUT = 16_000_000
"""Bytes that a program may print before it is taken for one that never stops printing."""


async def ending_of(subject: Subject) -> tuple[Ending, str]:
    """Runs the program as a script, in a jail of its own; how it ended, and all that it printed,
    of which the ending shows the beginning."""
    payload: dict[str, Json] = {
        "entry": subject.solution.entry, "text": mask(subject.solution.text),
        "argv": list(subject.task.argv), "random_seed": subject.random_seed,
    }
    job = subject.job("script", payload, subject.wall_s * WALL_FACTOR)
    job = replace(job, files=subject.files, stdin=subject.task.stdin)
    outcome = await subject.sandbox.run(job)
    if outcome.ended != "output":
        return _ending(outcome), outcome.stdout
    longer = await subject.sandbox.run(
        replace(job, limits=replace(job.limits, output_bytes=LONGEST_OUTPUT))
    )
    if longer.ended in ("output", "timeout"):  # it never stops
        return _ending(outcome), outcome.stdout
    shown = replace(
        longer, stdout=longer.stdout[: job.limits.output_bytes],
        stderr=longer.stderr[-job.limits.output_bytes :],
    )
    return _ending(shown).model_copy(update={"truncated": True}), longer.stdout


def _ending(outcome: Outcome) -> Ending:
    """How a script ended: what the host observed first, then what the process reported."""
    last = outcome.messages[-1] if outcome.messages else None
    row: dict[str, Any] = last if isinstance(last, dict) else {}
    kind: Literal["completed", "raised", "exited", "timeout", "killed"]
    exit_code = outcome.exit_code
    if outcome.ended == "timeout":
        kind = "timeout"
    elif outcome.ended in ("output", "killed", "garbled"):
        kind = "killed"
    elif "raised" in row:
        kind, exit_code = "raised", 1
    elif "exited" in row and isinstance(row["exited"], int):
        kind, exit_code = "exited", row["exited"]
    else:
        kind = "completed" if outcome.ended == "completed" else "exited"
    raised = kind == "raised"
    message = text_in(row, "message")
    if kind == "exited" and exit_code and not message:
        # What a program says before it gives up goes there: argparse does so.
        message = (outcome.stderr.strip().splitlines() or [""])[-1][:SHOWN]
    line = row.get("line")
    return Ending(
        kind=kind, exit_code=exit_code,
        exception=text_in(row, "raised") if raised else "",
        message=message if raised or kind == "exited" else "",
        line=line if raised and isinstance(line, int) else None,
        traceback=str(row.get("traceback", "")) if raised else "",
        stdout=outcome.stdout, stderr=outcome.stderr,
        truncated=outcome.ended == "output",
        limit=outcome.limit or outcome.signal if kind in ("timeout", "killed") else "",
        refused=outcome.refusals,
    )
