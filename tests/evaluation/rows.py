"""Rows whose measurement is quick, or ends its process."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path


async def doubled(number: int) -> dict[str, object]:
    return {"id": str(number), "double": 2 * number, "pid": os.getpid()}


async def slow(number: int) -> dict[str, object]:
    await asyncio.sleep(0.2)
    return await doubled(number)


async def failing(number: int) -> dict[str, object]:
    raise ValueError(f"row {number} is wrong")


async def deadly(number: int) -> dict[str, object]:
    """Kills the process that measures row 3."""
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return await slow(number)


async def deadly_once(number: int, folder: Path) -> dict[str, object]:
    """Kills the process that measures row 3 for the first time."""
    if number == 3 and not (folder / "died").exists():
        (folder / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return await slow(number)


async def endless(number: int, folder: Path) -> dict[str, object]:
    """Leaves a file when it is ended in an orderly way."""
    try:
        (folder / f"began-{number}").touch()
        await asyncio.sleep(600)
    finally:
        (folder / f"ended-{number}").write_text(str(time.time()))
    return {}
