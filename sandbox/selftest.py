"""Finds out what a backend really holds back on this machine: claims are tried, not believed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from sandbox.contract import CHECKS
from sandbox.sandbox import Sandbox


@dataclass(frozen=True)
class Finding:
    """What one attempt showed; `seen_wrong` is empty where the claim holds."""

    claim: str
    seen_wrong: str

    @property
    def holds(self) -> bool:
        return not self.seen_wrong


async def findings(sandbox: Sandbox, every: bool = False) -> AsyncIterator[Finding]:
    """Tries each claim of the self-test, or with `every` each of the contract, in order."""
    for check in CHECKS:
        if every or check.in_selftest:
            yield Finding(check.claim, await check.seen_wrong(sandbox))
