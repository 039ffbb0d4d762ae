"""Blamed lines of a failing program: traced in the jail, ranked by Ochiai."""

from __future__ import annotations

from collections.abc import Sequence

from agent.checks.tracing import trace
from agent.domain import BlamedLine, Solution, Task, TestCase
from agent.repair.blame import suspicion
from sandbox import Sandbox

SHOWN = 5


async def blamed_lines(
    solution: Solution, tests: Sequence[TestCase], task: Task, sandbox: Sandbox
) -> tuple[BlamedLine, ...]:
    """The most suspicious lines, highest first, with the values seen at the failing one."""
    seen = await trace(solution, tests, task, sandbox)
    ranked = sorted(suspicion(seen).items(), key=lambda item: (-item[1], item[0]))
    lines = solution.text.split("\n")
    return tuple(
        BlamedLine(
            line=line,
            suspicion=round(score, 3),
            text=lines[line - 1].strip() if line <= len(lines) else "",
            values=tuple(seen.values.get(line, ())),
        )
        for line, score in ranked[:SHOWN]
        if score > 0
    )
