"""How tests that run together come out, and what is checked once more before a pass is believed.

`plain_run` says how each test comes out. The plain calls of those that pass are repeated in a
process without the tests (`repeated`). Whatever that does not cover is run once more with spoilt
answers, and with each check asked twice.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.core.domain import EXCLUDED
from agent.verify import belief
from agent.verify.belief import PassEvidence
from agent.verify.examples.repeated import asks_only_calls, repeated
from agent.verify.groups import Group
from agent.verify.plain.canary import CanaryKind
from agent.verify.plain.double_check import holding
from agent.verify.plain.plain_run import PlainRun, run_tests
from agent.verify.tamper_indicators import may_equal_anything

BESIDE_FACTOR = 3.0
"""What runs beside the plain run may take so many times as long, and a moment more."""
BESIDE_S = 2.0
HURRY_S = 0.5
HURRY_FACTOR = 3.0
"""A spoilt test may take so many times what the slowest took, and a moment more."""
PLAIN_RUNS = 3
"""Where a repeated call is answered otherwise, tests run so often: any failure is flaky."""

Row = Mapping[str, Any]


async def gather_evidence(
    group: Group, observe: bool, surroundings: CanaryKind = "", asks: bool = True
) -> tuple[PlainRun, dict[str, PassEvidence]]:
    """The plain run, and what was seen of each test. Without `observe` nothing else is checked,
    and the plain run may have other `surroundings`; without `asks` no check is asked twice."""
    if not observe:
        plain = PlainRun()
        await run_tests(group, plain, (), surroundings)
        return plain, {
            # Of a mutant nobody asks why it passes.
            key: PassEvidence(
                row, indicators=plain.indicators_of(key), vacuous=belief.unchecked(row)
            )
            for key, row in plain.rows.items()
        }
    return await _Gathering(group, asks).gather_evidence()


class _Gathering:
    """One group on its way."""

    def __init__(self, group: Group, asks: bool) -> None:
        self._group = group
        self._asks = asks
        self._plain = PlainRun()
        self._spoilt = PlainRun()

    async def gather_evidence(self) -> tuple[PlainRun, dict[str, PassEvidence]]:
        decides = any(map(self._group.decides, self._group.left((), ())))
        if not decides or asks_only_calls(self._group):
            await run_tests(self._group, self._plain)
        else:
            wall_s = min(self._group.subject.wall_s, HURRY_S)
            await self._beside(run_tests(self._within(wall_s), self._spoilt, (), "spoilt false"))
        return self._plain, await self._weighed()

    async def _beside(self, other: Awaitable[None]) -> None:
        """The plain run and another; that has a while after the plain one is done."""
        started = time.monotonic()
        beside = asyncio.ensure_future(other)
        try:
            await run_tests(self._group, self._plain)
            took_s = time.monotonic() - started
            if any(belief.passes(row) for row in self._plain.rows.values()):
                await asyncio.wait([beside], timeout=BESIDE_S + (BESIDE_FACTOR - 1) * took_s)
            if beside.done():
                beside.result()
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)

    async def _weighed(self) -> dict[str, PassEvidence]:
        """What was seen of each test, after all that has to be looked at once more."""
        rows = dict(self._plain.rows)
        passing = [key for key, row in rows.items() if belief.passes(row)]
        isolated, against = await repeated(self._group, passing, rows.keys() - {*passing})
        for run in [await self._again([], "") for _ in range(PLAIN_RUNS - 1 if against else 0)]:
            for key in against:
                if not belief.passes(run.rows.get(key, {})):
                    rows[key] = _flaky(run.rows.get(key, {}))
        indicators = {key: self._plain.indicators_of(key) for key in rows}
        within = [
            key for key in passing if self._group.decides(key)
            and key not in against and (key not in isolated or belief.unchecked(rows[key]))
        ]
        vacuous = await self._canaries(within, indicators) if within else frozenset[str]()
        return {
            key: PassEvidence(
                row, indicators=indicators[key], is_isolated=key in isolated,
                contradicted=against.get(key, ""), vacuous=key in vacuous,
            )
            for key, row in rows.items()
        }

    async def _canaries(
        self, keys: Sequence[str], indicators: dict[str, list[str]]
    ) -> frozenset[str]:
        """Those that no changed answer made fail; a pass that something equal to anything
        has caused is a tamper indicator."""
        unheard = [key for key in keys if not self._is_heard(key)]
        false, sentinel, held = await asyncio.gather(
            self._again(unheard, "spoilt false"), self._with_sentinel(keys),
            holding(self._group, self._all_passing() if self._asks else ()),
        )
        for key in keys:
            indicators[key] += [*sentinel.indicators.get(key, ()), *filter(None, [held.get(key)])]
        spoilt = self._spoilt.rows | false.rows
        # What a program prints when it is run is not among the answers that are spoilt.
        deaf = [
            key for key in keys
            if belief.passes(spoilt.get(key, {})) and not self._group.reads_output(key)
        ]
        more: tuple[CanaryKind, ...] = ("spoilt true", "spoilt idle")
        for kind in more:
            run = await self._again(deaf, kind)
            deaf = [key for key in deaf if belief.passes(run.rows.get(key, {}))]
        return frozenset(deaf)

    def _all_passing(self) -> list[str]:
        """The tests that ran, unless one fails: others may depend on what that one leaves."""
        rows = self._plain.rows
        fails = any(row.get("status") not in ("passed", *EXCLUDED) for row in rows.values())
        return [] if fails else [key for key, row in rows.items() if belief.passes(row)]

    def _is_heard(self, key: str) -> bool:
        """Whether the run with spoilt answers that was made beside tells of a test; that one with
        little time came to no end tells nothing of a test that needs more."""
        row = self._spoilt.rows.get(key)
        needs_s = HURRY_FACTOR * float(self._plain.rows[key].get("wall_s", 0.0))
        return row is not None and (row.get("status") != "timeout" or needs_s <= HURRY_S)

    async def _with_sentinel(self, keys: Sequence[str]) -> PlainRun:
        """What a run with a sentinel shows; nothing where no object can be equal to anything."""
        texts = "".join(self._group.subject.files.values())
        return await self._again(keys if may_equal_anything(texts) else None, "sentinel")

    async def _again(self, keys: Collection[str] | None, canary: CanaryKind) -> PlainRun:
        """Makes the plain run once more; on all tests as they are, or on these, spoilt. These
        have a deadline for tests that took no longer than they did: a spoilt program often comes
        to no end, and what it takes says nothing about the tests'."""
        run = PlainRun()
        if not canary:
            await run_tests(self._group, run)
        elif keys:
            took = (float(row.get("wall_s", 0.0)) for row in self._plain.rows.values())
            limit_s = HURRY_S + HURRY_FACTOR * max(took, default=0.0)
            group = self._within(min(self._group.subject.wall_s, limit_s))
            await run_tests(group, run, [*keys], canary)
        return run

    def _within(self, wall_s: float) -> Group:
        """The same tests with this deadline."""
        return replace(self._group, subject=replace(self._group.subject, wall_s=wall_s, late=[]))


def _flaky(row: Row) -> Row:
    said = str(row.get("message", "")) or str(row.get("status", "it did not run"))
    return {**row, "status": "failed", "message": f"flaky: it passes in some runs only; {said}"}
