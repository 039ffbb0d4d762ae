"""Heals again whenever a file changes: `heal run --watch`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING

from watchfiles import DefaultFilter, awatch

from agent.interfaces.exits import HEALED, INTERRUPTED
from agent.interfaces.request import HealRequest
from agent.interfaces.terminal.conclude import report_error
from agent.target.repository.layout import find_layout

if TYPE_CHECKING:
    from agent.interfaces.terminal.commands import Display

DEBOUNCE_MS = 200
"""Changes within this time count as one."""


async def heal_at_changes(
    heal: Callable[[], Awaitable[int]], request: HealRequest, display: Display
) -> int:
    """Heals at each change of a file, until Ctrl-C. A change cancels the current run.

    Args:
        heal: Heals once, shows the result and returns the exit code.
    """
    async def once() -> None:
        try:
            if await heal() == INTERRUPTED:
                return  # by a change
        except Exception as error:  # noqa: BLE001  # the next run may succeed
            report_error(error, display)
        display.terminal.say(f"Watching {watched}. A change heals again; Ctrl-C ends.", "dim")

    if request.is_project:
        folders = [find_layout(request.start).root]
    else:
        others = (request.tests_file, *request.with_files)
        folders = [request.start.parent, *(one.parent for one in others if one is not None)]
    watched = ", ".join(dict.fromkeys(map(str, folders)))
    changes = awatch(
        *folders, watch_filter=_Sources(), debounce=DEBOUNCE_MS, recursive=request.is_project
    )
    run = asyncio.ensure_future(once())
    try:
        async for changed in changes:
            run.cancel()
            await asyncio.wait([run])
            display.terminal.say(f"Changed: {_names(path for _, path in changed)}", "bold")
            run = asyncio.ensure_future(once())
    finally:
        run.cancel()
        await asyncio.wait([run])
    return HEALED


def _names(paths: Iterable[str]) -> str:
    """The first names, without temporary files of editors, which are gone by now."""
    found = sorted({os.path.basename(path) for path in paths if os.path.exists(path)})
    return ", ".join(found[:3]) or "a file"


class _Sources(DefaultFilter):
    """Ignores temporary files of editors, and the backups of `--apply`."""

    ignore_entity_patterns = (*DefaultFilter.ignore_entity_patterns, r"\.heal-backup(\.\d+)?$")
