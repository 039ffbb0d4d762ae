"""The pre-check of candidates: a process runs the tests of many candidates one after another.

Nothing here is a verdict. The candidate shares a process with its tests, so it could pass by
cheating; the pre-check only selects what the judge then verifies.

One jailed child runs chunks of candidates. A step limit, the same on every machine, ends endless
loops. In addition, a timer in the child limits the processor time, and the kernel does so for calls
that no timer interrupts, so a busy machine changes nothing; the wall-clock limit is generous.
If a child ends, its candidates are run one by one, and only the candidate that ended it is lost.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from agent.core.domain import Solution, Task, TestCase
from agent.search.precheck.baseline import (
    CPU_MOST_S,
    STEPS_BASELINE,
    STEPS_MOST,
    STEPS_SHORT,
    Baseline,
    limits,
)
from agent.search.precheck.batches import ProcessorTime, TimedBatch, distribute
from agent.search.precheck.changes import change
from agent.search.precheck.jobs import KILL_S, job
from agent.search.precheck.rows import (
    BaseRow,
    base_rows,
    candidate_rows,
    precheck_result,
    probe_rows,
)
from agent.search.values import Mode, PrecheckResult, ProbeResult
from sandbox.sandbox import Batch, Sandbox
from sandbox.types import Json, LostItem

CPU_LEAST_S, CPU_FACTOR = 0.03, 10
"""The limit of processor seconds for one test: a multiple of the base's longest, within bounds."""
MAX_CPU_FACTOR = 4.0
"""The highest factor by which `limit_factor` raises this limit."""
HIGH_LIMIT_FACTOR, EXTRA_CPU_S = 100.0, 1.5
"""From this `limit_factor` on, the limit is raised by so many seconds."""
WALL_FACTOR = 10
"""The host's wall-clock limit as a multiple of the processor seconds, for a busy machine."""
BASELINE_CPU_S = 1.0
MAX_PROCESSES = 2
CHUNK = 40
"""Candidates in one item."""
PROBE_CHUNK = 4
"""Candidates in one item of probes."""
PROBE_LIMIT_FACTOR = 4
PROBE_CPU_S = 0.06
PROBE_WALL_S = 6.0
LOST_ROW = BaseRow(PrecheckResult((False,), "lost"))
"""A test that ended its process."""
SLICE_S = 0.3
"""Processor time after which a child returns the results that it has."""
EMPTY_ITEM: Json = {"kind": "probes", "changes": [], "calls": [], "limits": [1, 1.0, 1.0, 0.0, 0]}
"""An empty item, whose reply shows that the process runs."""


class Prechecker:
    """Pre-checks candidate texts of one program against its tests; see `open_prechecker`."""

    def __init__(
        self, batches: Sequence[Batch], base: str, count: int,
        hanging: Collection[int] = frozenset(), run_together: bool = False,
    ) -> None:
        self._batches = [*batches]
        self._run_together = run_together
        self._base = base
        self._count = count
        self._hanging = sorted(hanging)
        self._baseline: Baseline | None = None

    async def join(self, batch: Batch) -> None:
        """Adds another process once it runs, which may take long if few jobs may run."""
        async for _, reply in batch.replies([EMPTY_ITEM], SLICE_S + KILL_S):
            if not isinstance(reply, LostItem):
                self._batches.append(batch)

    async def baseline(self) -> Baseline:
        """The results of the base, which is run once."""
        if self._baseline is None:
            self._baseline = await self._measured()
        return self._baseline

    async def precheck(
        self, texts: Sequence[str], *, mode: Mode, limit_factor: float = 1.0
    ) -> AsyncGenerator[tuple[int, PrecheckResult], None]:
        """Yields the index and the result of each text, in no particular order.

        `limit_factor` is a factor of the limits of steps and time, for candidates that may be slow.
        """
        baseline = await self.baseline()
        pending = list(range(len(texts)))
        alone: list[int] = []
        while pending or alone:
            chunks = [pending[i : i + CHUNK] for i in range(0, len(pending), CHUNK)]
            chunks += [[index] for index in alone]
            pending, alone = [], []
            items = [self._item(baseline, texts, chunk, mode, limit_factor) for chunk in chunks]
            wall_s = WALL_FACTOR * (SLICE_S + _cpu_s(baseline, limit_factor)) + KILL_S
            async for number, reply in distribute(tuple(self._batches), items, wall_s):
                chunk = chunks[number]
                if isinstance(reply, LostItem):
                    if len(chunk) == 1:
                        yield chunk[0], self._lost(reply)
                    else:
                        alone += chunk
                    continue
                answers = candidate_rows(reply)
                if answers is None or not answers or len(answers) > len(chunk):
                    # A candidate wrote to our channel, so no result of the chunk is reliable.
                    for index in chunk:
                        yield index, self._lost(LostItem("garbled"))
                    continue
                for index, answer in zip(chunk, answers, strict=False):
                    yield index, precheck_result(answer, self._count)
                pending += chunk[len(answers) :]

    async def probe(self, texts: Sequence[str], calls: Sequence[str]) -> ProbeResult:
        """The answer of each text to each call, see `programs.probing`."""
        baseline = await self.baseline()
        found: list[tuple[tuple[str, int], ...] | None] = [None] * len(texts)
        indices = range(len(texts))
        chunks = [
            indices[first : first + PROBE_CHUNK] for first in range(0, len(texts), PROBE_CHUNK)
        ]
        steps = min(baseline.step_limit * PROBE_LIMIT_FACTOR, STEPS_MOST)
        while chunks:
            items: list[Json] = [
                {
                    "kind": "probes", "changes": [self._change(texts[one]) for one in chunk],
                    "calls": list(calls), "limits": limits(steps, PROBE_CPU_S),
                }
                for chunk in chunks
            ]
            alone: list[range] = []
            async for number, reply in distribute(
                tuple(self._batches), items, WALL_FACTOR * PROBE_WALL_S
            ):
                chunk = chunks[number]
                rows = probe_rows(reply, len(chunk), len(calls))
                if rows is not None:
                    for one, row in zip(chunk, rows, strict=True):
                        found[one] = row
                elif len(chunk) > 1:
                    alone += [range(one, one + 1) for one in chunk]
            chunks = alone
        return ProbeResult(
            tuple(None if row is None else tuple(answer for answer, _ in row) for row in found),
            tuple(() if row is None else tuple(steps for _, steps in row) for row in found),
        )

    def _item(
        self, baseline: Baseline, texts: Sequence[str], chunk: list[int], mode: Mode,
        limit_factor: float,
    ) -> Json:
        in_order = [*range(self._count)]
        return {
            "kind": "candidates",
            "changes": [self._change(texts[index]) for index in chunk],
            "order": [*(in_order if self._run_together else baseline.failing + baseline.passing)],
            "failing": [*baseline.failing],
            "mode": mode, "together": self._run_together,
            "limits": limits(
                int(baseline.step_limit * limit_factor), _cpu_s(baseline, limit_factor),
                baseline.watch_at
            ),
            "slice_s": SLICE_S,
            "base_output": baseline.output,
        }

    def _change(self, text: str) -> Json:
        return [*change(self._base, text)]

    async def _measured(self) -> Baseline:
        """Runs all tests in one process; each in its own if one of them ends the process."""
        tests = [*range(self._count)]
        rows, output, has_hidden_state = await self._run_base(tests)
        if rows is None and self._count > 1:
            alone = [await self._run_base([test]) for test in tests]
            rows = [(one or [LOST_ROW])[0] for one, _, _ in alone]
            output = next((text for _, text, _ in alone if text is not None), None)
            has_hidden_state = any(is_hidden for _, _, is_hidden in alone)
        rows = rows or [LOST_ROW] * self._count
        return Baseline(
            tuple(one.result for one in rows), tuple(one.steps for one in rows), output,
            tuple(one.cpu_s for one in rows), has_hidden_state,
        )

    async def _run_base(
        self, tests: Sequence[int]
    ) -> tuple[list[BaseRow] | None, str | None, bool]:
        """The rows (`None` if the process ended), the output and `Baseline.has_hidden_state`."""
        item: Json = {
            "kind": "baseline", "text": self._base, "tests": [*tests], "hanging": [*self._hanging],
            "short_steps": STEPS_SHORT, "limits": limits(STEPS_BASELINE, BASELINE_CPU_S),
            "together": self._run_together,
        }
        rows: list[BaseRow] | None = None
        answer: dict[str, Json] = {}
        wall_s = WALL_FACTOR * BASELINE_CPU_S * len(tests) + KILL_S
        async for _, reply in self._batches[0].replies([item], wall_s):
            rows = base_rows(reply, len(tests))
            answer = reply if isinstance(reply, dict) else {}
        output = answer.get("output")
        return rows, output if isinstance(output, str) else None, answer.get("hidden") is True

    def _lost(self, reply: LostItem) -> PrecheckResult:
        return PrecheckResult((None,) * self._count, "lost", message=reply.limit or reply.ended)


@asynccontextmanager
async def open_prechecker(
    task: Task, base: Solution, tests: Sequence[TestCase], sandbox: Sandbox, *,
    hanging: Collection[int] = frozenset(), processes: int | None = None,
    cpu_time: ProcessorTime | None = None, run_together: bool = False,
) -> AsyncIterator[Prechecker]:
    """A pre-checker for candidates of `base`; its processes end with the context.

    Args:
        hanging: The indices of tests that do not end with the base.
        processes: How many run side by side; by default one per core, at most two.
        cpu_time: Where processor seconds are added up.
        run_together: Whether all tests run on one execution of the candidate, in their order, for
            tests that depend on earlier ones; otherwise it is executed for each.
    """
    screen_job = await job(task, base, tests, sandbox, "screen")
    spent = cpu_time or ProcessorTime()
    async with AsyncExitStack() as stack:
        batches = [
            TimedBatch(await stack.enter_async_context(sandbox.batch(screen_job)), spent)
            for _ in range(processes or min(MAX_PROCESSES, os.cpu_count() or 1))
        ]
        prechecker = Prechecker(batches[:1], base.text, len(tests) or 1, hanging, run_together)
        joining = [asyncio.create_task(prechecker.join(batch)) for batch in batches[1:]]
        try:
            yield prechecker
        finally:
            for one in joining:
                one.cancel()
            await asyncio.gather(*joining, return_exceptions=True)


def _cpu_s(baseline: Baseline, limit_factor: float) -> float:
    """The timer of one test, which grows more slowly than the limit of steps."""
    usual_s = min(CPU_MOST_S, max(CPU_LEAST_S, CPU_FACTOR * baseline.longest_s))
    patient_s = min(2 * CPU_MOST_S, usual_s * min(limit_factor, MAX_CPU_FACTOR))
    return patient_s + (EXTRA_CPU_S if limit_factor >= HIGH_LIMIT_FACTOR else 0.0)
