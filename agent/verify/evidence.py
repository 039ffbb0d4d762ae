"""Gathers the evidence about a group of tests: outcomes, and whether passes can be believed.

`plain_run` gives the outcome of each test. The plain calls of passing tests are repeated in a
process without tests (`repeated`). Other passing tests run again with wrong answers, and in a
double-checked run, where each check is also evaluated with another expected value.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.core.domain import NEUTRAL_STATUSES
from agent.verify import belief
from agent.verify.belief import RunEvidence
from agent.verify.examples.repeated import checks_only_plain_calls, repeat_calls
from agent.verify.groups import Group
from agent.verify.plain.canary import RunVariation
from agent.verify.plain.double_check import double_check
from agent.verify.plain.plain_run import PlainRun, run_tests
from agent.verify.tamper_indicators import may_equal_anything

PARALLEL_FACTOR = 3.0
"""A run in parallel to the plain run may take this many times as long, plus `PARALLEL_S`."""
PARALLEL_S = 2.0
WRONG_ANSWERS_S = 0.5
WRONG_ANSWERS_FACTOR = 3.0
"""A test with wrong answers may take this many times the slowest test, plus `WRONG_ANSWERS_S`."""
PLAIN_RUNS = 3
"""Number of plain runs where a repeated call gives another answer, to detect flaky tests."""

Row = Mapping[str, Any]


async def gather_evidence(
    group: Group, verify_passes: bool, variation: RunVariation = "", recheck: bool = True
) -> tuple[PlainRun, dict[str, RunEvidence]]:
    """Makes the plain run and gathers the evidence about each test.

    Without `verify_passes` only the plain run is made, possibly with a `variation`; without
    `recheck` no check is double-checked.
    """
    if not verify_passes:
        plain = PlainRun()
        await run_tests(group, plain, (), variation)
        return plain, {
            # Why a mutant passes is irrelevant.
            key: RunEvidence(
                row, indicators=plain.indicators_of(key), vacuous=belief.unchecked(row)
            )
            for key, row in plain.rows.items()
        }
    return await _EvidenceGatherer(group, recheck).gather_evidence()


class _EvidenceGatherer:
    def __init__(self, group: Group, recheck: bool) -> None:
        self._group = group
        self._ask_twice = recheck
        self._plain = PlainRun()
        self._wrong_answers = PlainRun()

    async def gather_evidence(self) -> tuple[PlainRun, dict[str, RunEvidence]]:
        decides = any(map(self._group.counts, self._group.remaining((), ())))
        if not decides or checks_only_plain_calls(self._group):
            await run_tests(self._group, self._plain)
        else:
            wall_s = min(self._group.subject.wall_s, WRONG_ANSWERS_S)
            await self._in_parallel(
                run_tests(self._with_deadline(wall_s), self._wrong_answers, (), "wrong false")
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
        for run in [await self._rerun([], "") for _ in range(PLAIN_RUNS - 1 if against else 0)]:
            for key in against:
                if not belief.passes(run.rows.get(key, {})):
                    rows[key] = _flaky(run.rows.get(key, {}))
        indicators = {key: self._plain.indicators_of(key) for key in rows}
        in_process = [
            key for key in passing if self._group.counts(key)
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
        """The tests that pass on all wrong answers; adds `indicators` of the other runs."""
        unreplaced = [key for key in keys if not self._has_wrong_answers_run(key)]
        false, unequal, doubts = await asyncio.gather(
            self._rerun(unreplaced, "wrong false"), self._with_unequal_object(keys),
            double_check(self._group, self._all_passing() if self._ask_twice else ()),
        )
        for key in keys:
            indicators[key] += [*unequal.indicators.get(key, ()), *filter(None, [doubts.get(key)])]
        with_wrong_answers = self._wrong_answers.rows | false.rows
        # Canaries do not replace what a program prints when it runs as a script.
        vacuous = [
            key for key in keys
            if belief.passes(with_wrong_answers.get(key, {})) and not self._group.reads_output(key)
        ]
        more: tuple[RunVariation, ...] = ("wrong true", "wrong idle")
        for variation in more:
            run = await self._rerun(vacuous, variation)
            vacuous = [key for key in vacuous if belief.passes(run.rows.get(key, {}))]
        return frozenset(vacuous)

    def _all_passing(self) -> list[str]:
        """The passing tests; none where one fails, since others may depend on it."""
        rows = self._plain.rows
        fails = any(row.get("status") not in ("passed", *NEUTRAL_STATUSES) for row in rows.values())
        return [] if fails else [key for key, row in rows.items() if belief.passes(row)]

    def _has_wrong_answers_run(self, key: str) -> bool:
        """Whether the parallel run with wrong answers decides about a test.

        Its deadline is short, so that a time-out means nothing for a slow test.
        """
        row = self._wrong_answers.rows.get(key)
        needs_s = WRONG_ANSWERS_FACTOR * float(self._plain.rows[key].get("wall_s", 0.0))
        return row is not None and (row.get("status") != "timeout" or needs_s <= WRONG_ANSWERS_S)

    async def _with_unequal_object(self, keys: Sequence[str]) -> PlainRun:
        """A run with an unequal object; an empty one where no object can be equal to anything."""
        texts = "".join(self._group.subject.files.values())
        return await self._rerun(keys if may_equal_anything(texts) else None, "unequal")

    async def _rerun(self, keys: Collection[str] | None, variation: RunVariation) -> PlainRun:
        """Makes the plain run again, of all tests unchanged, or of these with a canary.

        The deadline then follows the plain run, since wrong answers often cause endless loops.
        """
        run = PlainRun()
        if not variation:
            await run_tests(self._group, run)
        elif keys:
            took = (float(row.get("wall_s", 0.0)) for row in self._plain.rows.values())
            limit_s = WRONG_ANSWERS_S + WRONG_ANSWERS_FACTOR * max(took, default=0.0)
            group = self._with_deadline(min(self._group.subject.wall_s, limit_s))
            await run_tests(group, run, [*keys], variation)
        return run

    def _with_deadline(self, wall_s: float) -> Group:
        return replace(
            self._group, subject=replace(self._group.subject, wall_s=wall_s, timed_out=[])
        )


def _flaky(row: Row) -> Row:
    reason = str(row.get("message", "")) or str(row.get("status", "it did not run"))
    return {**row, "status": "failed", "message": f"flaky: it passes in some runs only; {reason}"}
