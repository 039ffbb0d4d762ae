"""Fast screening of candidates: tests and solution in one process, many candidates each.

Nothing here is a verdict. The candidate shares a process with its tests, so it could pass
by cheating; screening only chooses what the judge then verifies.

One jailed child answers chunks of candidates. Endless loops end by a budget of steps that
is the same on every machine; behind it stand a timer inside the child and, for what no
timer can interrupt, the kernel, which ends the child. Both count processor time, so that a
busy machine changes nothing; the host's own clock is generous. When a child has ended, the
chunk's candidates are asked for one by one, and the guilty one alone is lost.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import cast

from agent.core.domain import Solution, Task, TestCase
from agent.search.precheck.baseline import (
    CPU_MOST_S,
    STEPS_BASELINE,
    STEPS_MOST,
    STEPS_SHORT,
    Baseline,
    limits,
)
from agent.search.precheck.batches import ProcessorTime, TimedBatch, shared_out
from agent.search.precheck.changes import change
from agent.search.precheck.jobs import KILL_S, job
from agent.search.precheck.rows import BaseRow, base_rows, candidate_rows, probe_rows, screened
from agent.search.values import Mode, Probed, Screened
from sandbox.sandbox import Batch, Sandbox
from sandbox.types import Json, LostItem

CPU_LEAST_S, CPU_FACTOR = 0.03, 10
"""Processor seconds for one test: so many times those of the base's longest, within limits."""
PATIENT_TIMES = 4.0
PATIENT, PATIENT_S = 100.0, 1.5
"""A patient search takes so many times as long for it; from so much patience on, it takes so many
seconds more."""
BUSY = 10
"""So many times longer than on a machine of its own a process may take before the host ends it."""
BASELINE_CPU_S = 1.0
MAX_PROCESSES = 2
CHUNK = 40
"""Candidates a child is asked for at once."""
PROBED = 4
"""Candidates a child is asked to probe at once."""
PROBE_PATIENCE = 4
PROBE_CPU_S = 0.06
PROBE_WALL_S = 6.0
LOST_ROW = BaseRow(Screened((False,), "lost"))
"""A test that ended its process, and the steps nobody could count."""
SLICE_S = 0.3
"""After so much processor time a child answers for the candidates it has finished."""
NOTHING: Json = {
    "kind": "probes", "changes": [], "calls": [], "limits": [1, 1.0, 1.0, 0.0, 0],
}
"""An item that asks for nothing: its reply says that the process runs."""


class Screener:
    """Screens candidate texts of one program against its tests; see `screening`."""

    def __init__(
        self, batches: Sequence[Batch], base: str, count: int,
        hanging: Collection[int] = frozenset(), together: bool = False,
    ) -> None:
        self._batches = [*batches]
        self._together = together
        self._base = base
        self._count = count
        self._hanging = sorted(hanging)
        self._baseline: Baseline | None = None

    async def join(self, batch: Batch) -> None:
        """Has another process take part from when it runs: where places are scarce it may have to
        wait for one, and nobody waits for it."""
        async for _, reply in batch.replies([NOTHING], SLICE_S + KILL_S):
            if not isinstance(reply, LostItem):
                self._batches.append(batch)

    async def baseline(self) -> Baseline:
        """How the base itself does, test by test; run once."""
        if self._baseline is None:
            self._baseline = await self._measured()
        return self._baseline

    async def screen(
        self, texts: Sequence[str], *, mode: Mode, patience: float = 1.0
    ) -> AsyncGenerator[tuple[int, Screened], None]:
        """Yields (index, what it did) for each text, in no particular order.

        `patience` multiplies the budget of steps and time, for candidates that may be slow.
        """
        baseline = await self.baseline()
        pending = list(range(len(texts)))
        alone: list[int] = []
        while pending or alone:
            chunks = [pending[i : i + CHUNK] for i in range(0, len(pending), CHUNK)]
            chunks += [[index] for index in alone]
            pending, alone = [], []
            items = [self._item(baseline, texts, chunk, mode, patience) for chunk in chunks]
            wall_s = BUSY * (SLICE_S + _cpu_s(baseline, patience)) + KILL_S
            async for number, reply in shared_out(tuple(self._batches), items, wall_s):
                chunk = chunks[number]
                if isinstance(reply, LostItem):
                    if len(chunk) == 1:
                        yield chunk[0], self._lost(reply)
                    else:
                        alone += chunk
                    continue
                answers = candidate_rows(reply)
                if answers is None or not answers or len(answers) > len(chunk):
                    # A candidate wrote over our channel: nothing it says counts.
                    for index in chunk:
                        yield index, self._lost(LostItem("garbled"))
                    continue
                for index, answer in zip(chunk, answers, strict=False):
                    yield index, screened(answer, self._count)
                pending += chunk[len(answers) :]

    async def probe(
        self, texts: Sequence[str], calls: Sequence[str]
    ) -> Probed:
        """What each text answers to each call, see `programs.probing`."""
        baseline = await self.baseline()
        found: list[tuple[tuple[str, int], ...] | None] = [None] * len(texts)
        chunks = [
            [*range(first, min(first + PROBED, len(texts)))]
            for first in range(0, len(texts), PROBED)
        ]
        while chunks:
            items: list[Json] = [
                {
                    "kind": "probes", "changes": [self._change(texts[one]) for one in chunk],
                    "calls": list(calls),
                    "limits": limits(
                        min(baseline.step_limit * PROBE_PATIENCE, STEPS_MOST), PROBE_CPU_S
                    ),
                }
                for chunk in chunks
            ]
            again: list[list[int]] = []
            async for number, reply in shared_out(tuple(self._batches), items, BUSY * PROBE_WALL_S):
                chunk = chunks[number]
                rows = probe_rows(reply, len(chunk), len(calls))
                if rows is not None:
                    for one, row in zip(chunk, rows, strict=True):
                        found[one] = row
                elif len(chunk) > 1:
                    again += [[one] for one in chunk]
            chunks = again
        return Probed(
            tuple(None if row is None else tuple(answer for answer, _ in row) for row in found),
            tuple(() if row is None else tuple(steps for _, steps in row) for row in found),
        )

    def _item(
        self, baseline: Baseline, texts: Sequence[str], chunk: list[int], mode: Mode,
        patience: float,
    ) -> Json:
        cpu_s = _cpu_s(baseline, patience)
        return {
            "kind": "candidates",
            "changes": [self._change(texts[index]) for index in chunk],
            "order": cast(
                Json, [*range(self._count)] if self._together
                else baseline.failing + baseline.passing,
            ),
            "failing": cast(Json, baseline.failing),
            "mode": mode, "together": self._together,
            "limits": limits(int(baseline.step_limit * patience), cpu_s, baseline.look_at),
            "slice_s": SLICE_S,
            "base_output": baseline.output,
        }

    def _change(self, text: str) -> Json:
        return [*change(self._base, text)]

    async def _measured(self) -> Baseline:
        """All tests in one process; each in its own where one of them ends the process."""
        tests = [*range(self._count)]
        rows, output, hidden = await self._ran(tests)
        if rows is None and self._count > 1:
            alone = [await self._ran([test]) for test in tests]
            rows = [(one or [LOST_ROW])[0] for one, _, _ in alone]
            output = next((said for _, said, _ in alone if said is not None), None)
            hidden = any(has for _, _, has in alone)
        rows = rows or [LOST_ROW] * self._count
        return Baseline(
            screened=tuple(one.screened for one in rows),
            steps=tuple(one.steps for one in rows),
            output=output,
            cpu_s=tuple(one.cpu_s for one in rows),
            hidden=hidden,
        )

    async def _ran(
        self, tests: Sequence[int]
    ) -> tuple[list[BaseRow] | None, str | None, bool]:
        """The base's rows for some tests, what it printed, and whether it hides what changes in
        it; none where its process ended."""
        item: Json = {
            "kind": "baseline", "text": self._base, "tests": [*tests], "hanging": [*self._hanging],
            "short_steps": STEPS_SHORT, "limits": limits(STEPS_BASELINE, BASELINE_CPU_S),
            "together": self._together,
        }
        rows: list[BaseRow] | None = None
        answer: dict[str, Json] = {}
        wall_s = BUSY * BASELINE_CPU_S * len(tests) + KILL_S
        async for _, reply in self._batches[0].replies([item], wall_s):
            rows = base_rows(reply, len(tests))
            answer = reply if isinstance(reply, dict) else {}
        output = answer.get("output")
        return rows, output if isinstance(output, str) else None, answer.get("hidden") is True

    def _lost(self, reply: LostItem) -> Screened:
        return Screened((None,) * self._count, "lost", message=reply.limit or reply.ended)


@asynccontextmanager
async def screening(
    task: Task, base: Solution, tests: Sequence[TestCase], sandbox: Sandbox, *,
    hanging: Collection[int] = frozenset(), processes: int | None = None,
    work: ProcessorTime | None = None, together: bool = False,
) -> AsyncIterator[Screener]:
    """A screener for candidates of `base`; leaving the context ends its processes.

    `hanging` are the places of tests that the base is known not to end; `processes` screen side
    by side, by default one a core and at most two. Each test has a candidate to itself, unless they
    run `together`, in their order.
    """
    ordered = await job(task, base, tests, sandbox, "screen")
    spent = work or ProcessorTime()
    async with AsyncExitStack() as stack:
        batches = [
            TimedBatch(await stack.enter_async_context(sandbox.batch(ordered)), spent)
            for _ in range(processes or min(MAX_PROCESSES, os.cpu_count() or 1))
        ]
        screener = Screener(batches[:1], base.text, len(tests) or 1, hanging, together)
        joining = [asyncio.create_task(screener.join(batch)) for batch in batches[1:]]
        try:
            yield screener
        finally:
            for one in joining:
                one.cancel()
            await asyncio.gather(*joining, return_exceptions=True)


def _cpu_s(baseline: Baseline, patience: float) -> float:
    """The timer stands behind the budget of steps and grows more slowly."""
    usual_s = min(CPU_MOST_S, max(CPU_LEAST_S, CPU_FACTOR * baseline.longest_s))
    patient_s = min(2 * CPU_MOST_S, usual_s * min(patience, PATIENT_TIMES))
    return patient_s + (PATIENT_S if patience >= PATIENT else 0.0)
