"""Tests that cannot be judged from outside, each run alone with the program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from agent.checks.baseline import STEPS_BASELINE, baseline_item
from agent.checks.canary import Manner, rewritten
from agent.checks.jobs import KILL_S, job, shipped
from agent.checks.rows import NO_SENSE, base_rows
from agent.domain import File, Solution, Task, TestCase
from agent.repair.facts import Screened
from sandbox.sandbox import Sandbox
from sandbox.types import Json, Lost


async def run_in_process(
    solution: Solution, tests: Sequence[TestCase], task: Task, sandbox: Sandbox, *, wall_s: float,
    manner: Manner = "",
) -> list[Screened]:
    """One entry per test, each run alone, for tests that cannot be judged from outside.

    No test may be skipped. `manner` says how the program's answers are rewritten.
    """
    changed = solution.model_copy(update={"files": tuple(
        File(path=f.path, text=rewritten(f.text, manner)) if f.path.endswith(".py") else f
        for f in solution.files
    )})
    results: list[Screened] = []
    for test in tests:
        ours = await shipped(sandbox, task, solution, [test])
        alone = job(task, changed, [test], "screen", ours, manner=manner, strict=True)
        async with sandbox.batch(alone) as batch:
            item = baseline_item(changed.text, STEPS_BASELINE * 50, wall_s, wall_s, [0], [])
            async for _, reply in batch.replies([item], wall_s + KILL_S):
                if isinstance(reply, Lost):
                    ended: Literal["timeout", "lost"] = (
                        "timeout" if reply.ended == "timeout" else "lost"
                    )
                    results.append(Screened((False,), ended, message=reply.limit or reply.ended))
                else:
                    results.append(_first_row(reply))
    return results


def _first_row(reply: Json) -> Screened:
    told = reply[1] if isinstance(reply, list) and len(reply) == 2 else None
    rows = base_rows(told, 1)
    return rows[0].screened if rows else Screened((False,), "lost", message=NO_SENSE)
