"""Finds out what a backend really holds back on this machine: claims are tried, not believed.

Every attack of the gauntlet is run against it, each beside its control; the whole contract on
request. Of the level only what was witnessed counts, and each level has its own promises.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from sandbox.attacks import ATTACKS, Attack, AttackResult, World, assail
from sandbox.contract import CHECKS, Check
from sandbox.levels import Isolation, Level
from sandbox.sandbox import Sandbox


@dataclass(frozen=True)
class Finding:
    """What one check of the contract showed; `seen_wrong` is empty where the claim holds."""

    claim: str
    seen_wrong: str

    @property
    def holds(self) -> bool:
        return not self.seen_wrong


@dataclass(frozen=True)
class Gauntlet:
    """What became of every attack, at the level that was seen to hold."""

    isolation: Isolation
    results: tuple[AttackResult, ...]

    def count(self, result: str) -> int:
        """How many attacks ended so."""
        return sum(one.result == result for one in self.results)


async def gauntlet(
    sandbox: Sandbox, world: World, attacks: Sequence[Attack] = ATTACKS
) -> Gauntlet:
    """Runs attacks against a sandbox, in the surroundings planted for them."""
    isolation = await sandbox.isolation()
    return Gauntlet(isolation, tuple(await assail(sandbox, world, attacks, isolation.level)))


async def findings(
    sandbox: Sandbox, level: Level, checks: Sequence[Check] = CHECKS
) -> AsyncIterator[Finding]:
    """Tries each claim that the contract makes at this level, in order."""
    for check in checks:
        if check.claimed(level) and not check.missing():
            yield Finding(check.claim, await check.seen_wrong(sandbox))
