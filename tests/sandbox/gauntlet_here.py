"""Runs the gauntlet and the honest programs in one process, and prints what was seen as JSON.

    python gauntlet_here.py PART LEVEL...

Started by tests as another user, or under another profile. PART is how many of them are
run: 1 for all, 8 for every eighth, at each level others. A level is the most that the jail may use.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
from collections.abc import Sequence
from typing import Any

from sandbox.attacks import ATTACKS, Targets, gauntlet
from sandbox.contract import HONEST_CHECKS, CheckResult, ContractCheck, run_checks
from sandbox.jail import JailSandbox


async def with_entry(level: str, some: slice, targets: Targets) -> dict[str, Any]:
    sandbox = JailSandbox(at_most=level)  # type: ignore[arg-type]
    seen = await gauntlet(sandbox, targets, ATTACKS[some])

    async def honest(checks: Sequence[ContractCheck]) -> list[CheckResult]:
        return [found async for found in run_checks(sandbox, seen.isolation.level, checks)]

    found = await asyncio.gather(*(honest(HONEST_CHECKS[some][first::4]) for first in range(4)))
    return {
        "asked": level,
        "level": seen.isolation.level,
        "attacks": [dataclasses.asdict(one) for one in seen.results],
        "honest": [dataclasses.asdict(one) for some in found for one in some],
    }


async def main() -> None:
    part, *levels = sys.argv[1:]
    async with Targets() as targets:
        print(json.dumps([
            await with_entry(level, slice(place % int(part), None, int(part)), targets)
            for place, level in enumerate(levels)
        ]))


if __name__ == "__main__":
    asyncio.run(main())
