"""Runs the gauntlet and the honest programs in one process, and prints what was seen as JSON.

    python gauntlet_here.py LEVEL...

Started by tests as another user, or under another profile; each level is the most that the jail
may use.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from typing import Any

from sandbox.attacks import World
from sandbox.contract import HONEST_CHECKS
from sandbox.jail import JailSandbox
from sandbox.selftest import findings, gauntlet


async def seen_at(level: str, world: World) -> dict[str, Any]:
    sandbox = JailSandbox(at_most=level)  # type: ignore[arg-type]
    seen = await gauntlet(sandbox, world)
    honest = [found async for found in findings(sandbox, seen.witness.level, HONEST_CHECKS)]
    return {
        "asked": level,
        "level": seen.witness.level,
        "attacks": [dataclasses.asdict(one) for one in seen.results],
        "honest": [dataclasses.asdict(one) for one in honest],
    }


async def main() -> None:
    async with World() as world:
        print(json.dumps([await seen_at(level, world) for level in sys.argv[1:]]))


if __name__ == "__main__":
    asyncio.run(main())
