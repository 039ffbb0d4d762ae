"""Fast screening of candidates: tests and solution in one process, many candidates each.

Nothing here is a verdict. The candidate shares a process with its tests, so it could pass
by cheating; screening only chooses what the judge then verifies.

One jailed child answers chunks of candidates. Endless loops end by a budget of steps that
is the same on every machine; behind it stand a timer inside the child and, for what no
timer can interrupt, the host, which kills the child. Then the chunk's candidates are
asked for one by one, and the guilty one alone is lost.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal, cast

from agent.checks.canary import Manner, rewritten
from agent.checks.changes import change
from agent.checks.shipping import Shipment, needs_packages, preloads, shipment
from agent.checks.shipping import program as program_text
from agent.domain import File, Script, Solution, Task, TestCase
from agent.repair.facts import Mode, Probed, Screened
from sandbox.sandbox import Batch, Sandbox
from sandbox.types import Job, Json, Limits, Lost

STEPS_BASELINE = 2_000_000
STEPS_SHORT = 20_000
"""For a test that is known to hang."""
STEPS_LEAST = 2_000
STEPS_MOST = 4_000_000
STEPS_FACTOR = 20
"""A candidate may take this many times the steps of the base's longest test that ended."""
CPU_LEAST_S = 0.15
PATIENT, PATIENT_S = 100.0, 1.5
"""From so much patience on, a candidate gets so many seconds more."""
MOST_PROCESSES = 2
CHUNK = 40
"""Candidates a child is asked for at once."""
PROBED = 4
"""Candidates a child is asked to probe at once."""
PROBE_PATIENCE = 4
PROBE_CPU_S = 0.06
PROBE_WALL_S = 6.0
LOST_ROW = Screened((False,), "lost"), 0
"""A test that ended its process, and the steps nobody could count."""
SLICE_S = 0.3
"""After this time a child answers for the candidates it has finished."""
KILL_S = 2.0
"""Beyond the timers of the child: a call into C that nothing interrupts."""


@dataclass(frozen=True)
class Baseline:
    """How the unrepaired program did: the order of the tests and the limits follow from it."""

    screened: tuple[Screened, ...]
    """One per test, each with a single entry in `passed`."""
    steps: tuple[int, ...]
    output: str | None
    """What a program without tests printed before its end."""

    @property
    def failing(self) -> list[int]:
        """Failing tests, the quickest first."""
        return self._by_steps([i for i, one in enumerate(self.screened) if not one.passed[0]])

    @property
    def passing(self) -> list[int]:
        return self._by_steps([i for i, one in enumerate(self.screened) if one.passed[0]])

    @property
    def step_limit(self) -> int:
        ended = [one.ended != "timeout" for one in self.screened]
        most = max((steps for steps, own in zip(self.steps, ended, strict=True) if own), default=0)
        return min(STEPS_MOST, max(STEPS_LEAST, STEPS_FACTOR * most))

    def _by_steps(self, indices: list[int]) -> list[int]:
        slow = [self.screened[index].ended == "timeout" for index in indices]
        keys = {index: (late, self.steps[index]) for index, late in zip(indices, slow, strict=True)}
        return sorted(indices, key=lambda index: (keys[index], index))


class Screener:
    """Screens candidate texts of one program against its tests; see `screening`."""

    def __init__(
        self, batches: Sequence[Batch], base: str, count: int,
        hanging: Collection[int] = frozenset(),
    ) -> None:
        self._batches = batches
        self._base = base
        self._count = count
        self._hanging = sorted(hanging)
        self._baseline: Baseline | None = None

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
            wall_s = SLICE_S + _cpu_s(patience) * 10 + KILL_S
            async for number, reply in shared_out(self._batches, items, wall_s):
                chunk = chunks[number]
                if isinstance(reply, Lost):
                    if len(chunk) == 1:
                        yield chunk[0], self._lost(reply)
                    else:
                        alone += chunk
                    continue
                answers = _rows(reply)
                if answers is None or not answers or len(answers) > len(chunk):
                    # A candidate wrote over our channel: nothing it says counts.
                    for index in chunk:
                        yield index, self._lost(Lost("garbled"))
                    continue
                for index, answer in zip(chunk, answers, strict=False):
                    yield index, _screened(answer, self._count)
                pending += chunk[len(answers) :]

    async def probe(
        self, texts: Sequence[str], calls: Sequence[str]
    ) -> Probed:
        """What each text answers to each call, see `programs.probing`."""
        limit = (await self.baseline()).step_limit
        found: list[tuple[tuple[str, int], ...] | None] = [None] * len(texts)
        chunks = [
            [*range(first, min(first + PROBED, len(texts)))]
            for first in range(0, len(texts), PROBED)
        ]
        while chunks:
            items: list[Json] = [
                {
                    "kind": "probes", "changes": [self._change(texts[one]) for one in chunk],
                    "calls": list(calls), "steps": min(limit * PROBE_PATIENCE, STEPS_MOST),
                    "cpu_s": PROBE_CPU_S, "wall_s": PROBE_CPU_S * 5,
                }
                for chunk in chunks
            ]
            again: list[list[int]] = []
            async for number, reply in shared_out(self._batches, items, PROBE_WALL_S):
                chunk = chunks[number]
                rows = _probed(reply, len(chunk), len(calls))
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
        cpu_s = _cpu_s(patience)
        return {
            "kind": "candidates",
            "changes": [self._change(texts[index]) for index in chunk],
            "order": cast(Json, baseline.failing + baseline.passing),
            "failing": len(baseline.failing),
            "mode": mode,
            "steps": int(baseline.step_limit * patience),
            "cpu_s": cpu_s,
            "wall_s": cpu_s * 5,
            "slice_s": SLICE_S,
            "base_output": baseline.output,
        }

    def _change(self, text: str) -> Json:
        return [*change(self._base, text)]

    async def _measured(self) -> Baseline:
        """All tests in one process; each in its own where one of them ends the process."""
        tests = [*range(self._count)]
        rows, output = await self._ran(tests)
        if rows is None and self._count > 1:
            alone = [await self._ran([test]) for test in tests]
            rows = [(one or [LOST_ROW])[0] for one, _ in alone]
            output = next((said for _, said in alone if said is not None), None)
        rows = rows or [LOST_ROW] * self._count
        return Baseline(
            screened=tuple(screened for screened, _ in rows),
            steps=tuple(steps for _, steps in rows),
            output=output,
        )

    async def _ran(
        self, tests: Sequence[int]
    ) -> tuple[list[tuple[Screened, int]] | None, str | None]:
        """The base's rows for some tests, and what it printed; none where its process ended."""
        item = _baseline_item(self._base, STEPS_BASELINE, 1.0, 3.0, tests, self._hanging)
        rows: list[tuple[Screened, int]] | None = None
        output: Json = None
        async for _, reply in self._batches[0].replies([item], 3.0 * len(tests) + KILL_S):
            rows = _baseline_rows(reply, len(tests))
            output = reply.get("output") if isinstance(reply, dict) else None
        return rows, output if isinstance(output, str) else None

    def _lost(self, reply: Lost) -> Screened:
        return Screened((None,) * self._count, "lost", message=reply.limit or reply.ended)


@asynccontextmanager
async def screening(
    task: Task, base: Solution, tests: Sequence[TestCase], sandbox: Sandbox, *,
    hanging: Collection[int] = frozenset(), processes: int | None = None,
) -> AsyncIterator[Screener]:
    """A screener for candidates of `base`; leaving the context ends its processes.

    `hanging` are the places of tests that the base is known not to end; `processes` screen side
    by side, by default one a core and at most two.
    """
    ours = await shipped(sandbox, task, base, tests)
    ordered = job(task, base, tests, "screen", ours)
    async with AsyncExitStack() as stack:
        batches = [
            await stack.enter_async_context(sandbox.batch(ordered))
            for _ in range(processes or min(MOST_PROCESSES, os.cpu_count() or 1))
        ]
        yield Screener(batches, base.text, len(tests) or 1, hanging)


async def shared_out(
    batches: Sequence[Batch], items: Sequence[Json], wall_s: float
) -> AsyncGenerator[tuple[int, Json | Lost], None]:
    """The replies of several processes to items that they share; any process suits any item."""
    if len(batches) == 1 or len(items) == 1:
        async for number, reply in batches[0].replies(items, wall_s):
            yield number, reply
        return
    heard: asyncio.Queue[tuple[int, Json | Lost] | None] = asyncio.Queue()

    async def ask(share: Sequence[int], batch: Batch) -> None:
        try:
            async for number, reply in batch.replies([items[one] for one in share], wall_s):
                heard.put_nowait((share[number], reply))
        finally:
            heard.put_nowait(None)

    count = len(batches)
    shares = [range(first, len(items), count) for first in range(count)]
    asking = [
        asyncio.create_task(ask(share, batch))
        for share, batch in zip(shares, batches, strict=True) if share
    ]
    try:
        ended = 0
        while ended < len(asking):
            said = await heard.get()
            if said is None:
                ended += 1
            else:
                yield said
        await asyncio.gather(*asking)
    finally:
        for task in asking:
            task.cancel()
        await asyncio.gather(*asking, return_exceptions=True)


async def run_in_process(
    solution: Solution, tests: Sequence[TestCase], task: Task, sandbox: Sandbox, *, wall_s: float,
    manner: Manner = "",
) -> list[Screened]:
    """One entry per test, each run alone, for tests that cannot be judged from outside.

    No test may be skipped. `manner` says how the program's answers are rewritten.
    """
    changed = solution.model_copy(update={"files": tuple(
        File(path=f.path, text=rewritten(f.text, manner)) if f.path.endswith(".py") else f
        for f in solution.files
    )})
    results: list[Screened] = []
    for test in tests:
        ours = await shipped(sandbox, task, solution, [test])
        alone = job(task, changed, [test], "screen", ours, manner=manner, strict=True)
        async with sandbox.batch(alone) as batch:
            item = _baseline_item(changed.text, STEPS_BASELINE * 50, wall_s, wall_s, [0], [])
            async for _, reply in batch.replies([item], wall_s + KILL_S):
                if isinstance(reply, Lost):
                    ended: Literal["timeout", "lost"] = (
                        "timeout" if reply.ended == "timeout" else "lost"
                    )
                    results.append(Screened((False,), ended, message=reply.limit or reply.ended))
                else:
                    results.append(_first_row(reply))
    return results


async def shipped(
    sandbox: Sandbox, task: Task, solution: Solution, tests: Sequence[TestCase]
) -> Shipment:
    """What of ours the program and all its tests need in one process."""
    paths = [file.path for file in (*solution.files, *task.support)]
    own = {path.partition("/")[0].removesuffix(".py") for path in paths}
    own |= {PurePosixPath(solution.entry).stem, "solution"}
    return await shipment(sandbox, task.sites, any(needs_packages(test, own) for test in tests))


def job(
    task: Task, solution: Solution, tests: Sequence[TestCase], program: str, ours: Shipment,
    **more: Json,
) -> Job:
    """A jail's job that runs one of our programs over a solution and its tests."""
    texts = {file.path: file.text for file in (*task.support, *solution.files)}
    payload: dict[str, Json] = {
        "entry": solution.entry,
        "base": solution.text,
        "stdin": task.stdin,
        "argv": list(task.argv),
        "tests": [
            {
                "code": test.code,
                "uses_output": isinstance(test, Script) and test.uses_output,
                "node": test.node if isinstance(test, Script) else "",
            }
            for test in tests
        ],
        **more,
    }
    return Job(
        program=program_text(program),
        payload=payload,
        modules=ours.modules,
        files=texts,
        sites=ours.sites,
        preload=preloads(text for path, text in texts.items() if path.endswith(".py")),
        limits=Limits(wall_s=600.0, cpu_s=600.0, output_bytes=8_000_000),
    )


def _baseline_item(
    text: str, steps: int, cpu_s: float, wall_s: float, tests: Sequence[int],
    hanging: Sequence[int],
) -> Json:
    return {
        "kind": "baseline", "text": text, "steps": steps, "cpu_s": cpu_s, "wall_s": wall_s,
        "tests": list(tests), "hanging": list(hanging), "short_steps": STEPS_SHORT,
    }


def _cpu_s(patience: float) -> float:
    """The timer stands behind the budget of steps and grows more slowly."""
    return CPU_LEAST_S * min(patience, 2.0) + (PATIENT_S if patience >= PATIENT else 0.0)


def _rows(reply: Json) -> list[list[Json]] | None:
    if isinstance(reply, list) and all(isinstance(row, list) and len(row) == 8 for row in reply):
        return cast(list[list[Json]], reply)
    return None


_PASSED = {"1": True, "0": False, "-": None}


def _screened(row: list[Json], count: int) -> Screened:
    ended, passed, exception, message, line, types, near, did = row
    # Our own program wrote the row in the candidate's process: its shape is checked, not its word.
    if not isinstance(passed, str) or ended not in ("ok", "failed", "syntax", "timeout"):
        return Screened((None,) * count, "lost", message="the reply made no sense")
    marks = tuple(_PASSED.get(mark) for mark in passed) if passed else (None,) * count
    if len(marks) != count or (ended == "ok" and not all(marks)):
        return Screened((None,) * count, "lost", message="the reply made no sense")
    return Screened(
        passed=marks,
        ended=cast(Literal["ok", "failed", "syntax", "timeout"], ended),
        exception=str(exception),
        message=str(message),
        line=line if isinstance(line, int) else None,
        types=tuple(str(one) for one in types) if isinstance(types, list) else (),
        near=_hundredths(near, count),
        did=str(did),
    )


def _hundredths(near: Json, count: int) -> tuple[float, ...]:
    if not isinstance(near, list) or len(near) != count:
        return (0.0,) * count
    return tuple(one / 100 if isinstance(one, int) else 0.0 for one in near)


def _probed(
    reply: Json | Lost, texts: int, calls: int
) -> list[tuple[tuple[str, int], ...]] | None:
    if not isinstance(reply, list) or len(reply) != texts:
        return None
    rows = []
    for row in reply:
        if not isinstance(row, list) or len(row) != calls:
            return None
        answers = []
        for one in row:
            match one:
                case [str(answer), int(steps)]:
                    answers.append((answer, steps))
                case _:
                    return None
        rows.append(tuple(answers))
    return rows


def _baseline_rows(reply: Json | Lost, count: int) -> list[tuple[Screened, int]] | None:
    """How each test went and its steps; `None` where the program wrote over our channel."""
    runs = reply.get("runs") if isinstance(reply, dict) else None
    if not isinstance(runs, list) or len(runs) != count:
        return None
    rows = []
    for run in runs:
        match run:
            case [
                bool(passed), bool(timeout), str(said), str(message), line, int(steps), list(t),
                float(near),
            ]:
                ended: Literal["ok", "timeout", "failed"] = (
                    "ok" if passed else "timeout" if timeout else "failed"
                )
                rows.append((Screened(
                    (passed,), ended, said, message, line if isinstance(line, int) else None,
                    types=tuple(map(str, t)), near=(near,),
                ), steps))
            case _:
                return None
    return rows


def _first_row(reply: Json) -> Screened:
    rows = _baseline_rows(reply, 1)
    return rows[0][0] if rows else Screened((False,), "lost", message="the reply made no sense")
