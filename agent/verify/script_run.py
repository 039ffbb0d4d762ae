"""Runs the program as a script, as a user starts it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from agent.core.domain import Ending
from agent.verify.belief import MAX_SHOWN_CHARS, get_text
from agent.verify.rewriting.masking import mask
from agent.verify.subject import Subject
from sandbox.types import Json, Outcome

WALL_FACTOR = 2.0
"""The deadline of a whole program, as a multiple of a test's."""
LONGEST_OUTPUT = 16_000_000
"""Bytes of output after which a program counts as printing endlessly."""


async def run_script(subject: Subject, text: str | None = None) -> tuple[Ending, str]:
    """Runs the program as a script, in a jail of its own.

    Args:
        text: Another text of the program, by default its own without the asserts in it.

    Returns:
        How it ended, with the beginning of its output, and the whole output.
    """
    payload: dict[str, Json] = {
        "entry": subject.solution.entry,
        "text": mask(subject.solution.text) if text is None else text,
        "argv": list(subject.task.argv), "random_seed": subject.random_seed,
    }
    job = subject.job("script", payload, subject.wall_s * WALL_FACTOR)
    files = subject.files
    if text is not None:
        files = {**files, subject.solution.entry: text}
    job = replace(job, files=files, stdin=subject.task.stdin)
    outcome = await subject.sandbox.run(job)
    if outcome.ended != "output":
        return _ending(outcome), outcome.stdout
    longer = await subject.sandbox.run(
        replace(job, limits=replace(job.limits, output_bytes=LONGEST_OUTPUT))
    )
    if longer.ended in ("output", "timeout"):  # it prints endlessly
        return _ending(outcome), outcome.stdout
    shown = replace(
        longer, stdout=longer.stdout[: job.limits.output_bytes],
        stderr=longer.stderr[-job.limits.output_bytes :],
    )
    return _ending(shown).model_copy(update={"truncated": True}), longer.stdout


def _ending(outcome: Outcome) -> Ending:
    """How a script ended: the host's observation first, then the process's own report."""
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
    message = get_text(row, "message")
    if kind == "exited" and exit_code and not message:
        # Programs print the reason there before they exit, as argparse does.
        message = (outcome.stderr.strip().splitlines() or [""])[-1][:MAX_SHOWN_CHARS]
    line = row.get("line")
    return Ending(
        kind=kind, exit_code=exit_code, exception=get_text(row, "raised") if raised else "",
        message=message if raised or kind == "exited" else "",
        line=line if raised and isinstance(line, int) else None,
        traceback=str(row.get("traceback", "")) if raised else "",
        stdout=outcome.stdout, stderr=outcome.stderr, truncated=outcome.ended == "output",
        limit=outcome.limit or outcome.signal if kind in ("timeout", "killed") else "",
        refused=outcome.refusals,
    )
