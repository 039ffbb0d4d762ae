"""Draws the workbench without holding anybody else's page up."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from agent.log.result import Result
from demo.shown.bench import workbench
from demo.shown.programs import Pair, text_of

SMALL = 20_000
"""Characters of a run's programs that are drawn at once; more in a thread."""


async def drawn(
    result: Result, *, own: bool, control: bool = False, compare: Pair | None = None
) -> str:
    """The workbench of a run, its clock where it is now; see `workbench`."""
    since_s = time.time() - result.told_at
    if result.phase == "running" and result.start is not None and (
        0 < since_s < result.start.limit_s - result.worked_s  # nobody drives it where it is longer
    ):
        result = replace(result, seconds=result.seconds + since_s)
    if sum(len(text_of(result, place)) for place in range(len(result.columns))) <= SMALL:
        return workbench(result, own=own, control=control, compare=compare)
    return await asyncio.to_thread(
        workbench, result, own=own, control=control, compare=compare
    )
