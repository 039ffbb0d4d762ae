"""Draws the workbench without holding anybody else's page up."""

from __future__ import annotations

import asyncio

from agent.log.result import Result
from demo.shown.bench import workbench
from demo.shown.programs import Pair, text_of

SMALL = 20_000
"""Characters of a run's programs that are drawn at once; more in a thread."""


async def drawn(result: Result, *, own: bool, compare: Pair | None = None) -> str:
    """The workbench of a run; see `workbench`."""
    if sum(len(text_of(result, place)) for place in range(len(result.columns))) <= SMALL:
        return workbench(result, own=own, compare=compare)
    return await asyncio.to_thread(workbench, result, own=own, compare=compare)
