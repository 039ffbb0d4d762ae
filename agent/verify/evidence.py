"""Gathers the evidence about a group of tests: outcomes, and whether passes can be believed.

`plain_run` gives the outcome of each test. The plain calls of passing tests are repeated in a
process without tests (`repeated`). Other passing tests run again with spoilt answers, and
double-checked: each check asked twice with another expectation.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.core.domain import EXCLUDED
from agent.verify import belief
from agent.verify.belief import RunEvidence
from agent.verify.examples.repeated import asks_only_calls, repeat_calls
from agent.verify.groups import Group
from agent.verify.plain.canary import CanaryKind
from agent.verify.plain.double_check import double_check
from agent.verify.plain.plain_run import PlainRun, run_tests
from agent.verify.tamper_indicators import may_equal_anything

PARALLEL_FACTOR = 3.0
"""A run in parallel to the plain run may take this many times as long, plus `PARALLEL_S`."""
PARALLEL_S = 2.0
SPOILT_S = 0.5
SPOILT_FACTOR = 3.0
"""A spoilt test may take this many times as long as the slowest test, plus `SPOILT_S`."""
PLAIN_RUNS = 3
"""Number of plain runs where a repeated call gives another answer, to detect flaky tests."""

Row = Mapping[str, Any]


async def gather_evidence(
    group: Group, observe: bool, surroundings: CanaryKind = "", asks: bool = True
) -> tuple[PlainRun, dict[str, RunEvidence]]:
    """Makes the plain run and gathers the evidence about each test.

    Without `observe` only the plain run is made, possibly with other `surroundings`; without
    `asks` no check is asked twice.
    """
    if not observe:
        plain = PlainRun()
        await run_tests(group, plain, (), surroundings)
        return plain, {
            # Why a mutant passes is irrelevant.
            key: RunEvidence(
                row, indicators=plain.indicators_of(key), vacuous=belief.unchecked(row)
            )
            for key, row in plain.rows.items()
        }
    return await _Gathering(group, asks).gather_evidence()


class _Gathering:
    def __init__(self, group: Group, asks: bool) -> None:
        self._group = group
        self._asks = asks
        self._plain = PlainRun()
        self._spoilt = PlainRun()

    async def gather_evidence(self) -> tuple[PlainRun, dict[str, RunEvidence]]:
        decides = any(map(self._group.decides, self._group.left((), ())))
        if not decides or asks_only_calls(self._group):
            await run_tests(self._group, self._plain)
        else:
            wall_s = min(self._group.subject.wall_s, SPOILT_S)
            await self._in_parallel(
                run_tests(self._with_deadline(wall_s), self._spoilt, (), "spoilt false")
            )
        return self._plain, await self._evidence()

    async def _in_parallel(self, other: Awaitable[None]) -> None:
        """Makes the plain run, and another that is cancelled some time after it."""
        started = time.monotonic()
        parallel = asyncio.ensure_future(other)
        try:
            await run_tests(self._group, self._plain)
            took_s = time.monotonic() - started
            if any(belief.passes(row) for row in self._plain.rows.values()):
                await asyncio.wait([parallel], timeout=PARALLEL_S + (PARALLEL_FACTOR - 1) * took_s)
            if parallel.done():
                parallel.result()
        finally:
            parallel.cancel()
            await asyncio.gather(parallel, return_exceptions=True)

    async def _evidence(self) -> dict[str, RunEvidence]:
        rows = dict(self._plain.rows)
        passing = [key for key, row in rows.items() if belief.passes(row)]
        isolated, against = await repeat_calls(self._group, passing, rows.keys() - {*passing})
        for run in [await self._again([], "") for _ in range(PLAIN_RUNS - 1 if against else 0)]:
            for key in against:
                if not belief.passes(run.rows.get(key, {})):
                    rows[key] = _flaky(run.rows.get(key, {}))
        indicators = {key: self._plain.indicators_of(key) for key in rows}
        in_process = [
            key for key in passing if self._group.decides(key)
            and key not in against and (key not in isolated or belief.unchecked(rows[key]))
        ]
        vacuous = await self._canaries(in_process, indicators) if in_process else frozenset[str]()
        return {
            key: RunEvidence(
                row, indicators=indicators[key], is_isolated=key in isolated,
                contradicted=against.get(key, ""), vacuous=key in vacuous,
            )
            for key, row in rows.items()
        }

    async def _canaries(
        self, keys: Sequence[str], indicators: dict[str, list[str]]
    ) -> frozenset[str]:
        """The tests that pass on all spoilt answers; adds `indicators` of the other runs."""
        unspoilt = [key for key in keys if not self._is_spoilt(key)]
        false, sentinel, doubts = await asyncio.gather(
            self._again(unspoilt, "spoilt false"), self._with_sentinel(keys),
            double_check(self._group, self._all_passing() if self._asks else ()),
        )
        for key in keys:
            indicators[key] += [*sentinel.indicators.get(key, ()), *filter(None, [doubts.get(key)])]
        spoilt = self._spoilt.rows | false.rows
        # Canaries do not spoil what a program prints when it runs as a script.
        vacuous = [
            key for key in keys
            if belief.passes(spoilt.get(key, {})) and not self._group.reads_output(key)
        ]
        more: tuple[CanaryKind, ...] = ("spoilt true", "spoilt idle")
        for kind in more:
            run = await self._again(vacuous, kind)
            vacuous = [key for key in vacuous if belief.passes(run.rows.get(key, {}))]
        return frozenset(vacuous)

    def _all_passing(self) -> list[str]:
        """The passing tests; none where one fails, since others may depend on it."""
        rows = self._plain.rows
        fails = any(row.get("status") not in ("passed", *EXCLUDED) for row in rows.values())
        return [] if fails else [key for key, row in rows.items() if belief.passes(row)]

    def _is_spoilt(self, key: str) -> bool:
        """Whether the parallel run with spoilt answers decides about a test.

        Its deadline is short, so that a time-out means nothing for a slow test.
        """
        row = self._spoilt.rows.get(key)
        needs_s = SPOILT_FACTOR * float(self._plain.rows[key].get("wall_s", 0.0))
        return row is not None and (row.get("status") != "timeout" or needs_s <= SPOILT_S)

    async def _with_sentinel(self, keys: Sequence[str]) -> PlainRun:
        """A run with a sentinel; an empty one where no object can be equal to anything."""
        texts = "".join(self._group.subject.files.values())
        return await self._again(keys if may_equal_anything(texts) else None, "sentinel")

    async def _again(self, keys: Collection[str] | None, canary: CanaryKind) -> PlainRun:
        """Makes the plain run again, of all tests unchanged, or of these with a canary.

        The deadline then follows the plain run, since a spoilt program often does not terminate.
        """
        run = PlainRun()
        if not canary:
            await run_tests(self._group, run)
        elif keys:
            took = (float(row.get("wall_s", 0.0)) for row in self._plain.rows.values())
            limit_s = SPOILT_S + SPOILT_FACTOR * max(took, default=0.0)
            group = self._with_deadline(min(self._group.subject.wall_s, limit_s))
            await run_tests(group, run, [*keys], canary)
        return run

    def _with_deadline(self, wall_s: float) -> Group:
        return replace(self._group, subject=replace(self._group.subject, wall_s=wall_s, late=[]))


def _flaky(row: Row) -> Row:
    reason = str(row.get("message", "")) or str(row.get("status", "it did not run"))
    return {**row, "status": "failed", "message": f"flaky: it passes in some runs only; {reason}"}
