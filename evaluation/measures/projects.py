"""How fast candidates of a project are tried, and how early its true fix is among them."""

from __future__ import annotations

import statistics
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

from agent.healing.project_search import search_project
from agent.judge.project_run import laid, run_suite
from agent.project.suite import open_suite
from agent.repair.edits import single_edits
from agent.repair.program import Program, spliced
from agent.repair.screening.changes import changed
from evaluation.measures.programs import refused
from evaluation.planted import Planted
from sandbox import Job, Sandbox
from sandbox.levels import Isolation
from sandbox.sandbox import Batch
from sandbox.types import Json, LostItem

RATED = 5
"""Projects of which candidates are timed, one bug of each."""
IN_PLACE, COPIES, FRESH = 600, 60, 4
"""Candidates that are timed in each way."""
TEST_S = 0.3
DRAWN, WITHIN = 3_000, 500
LISTING_S = 120.0


class Listening(Sandbox):
    """Passes everything on, and notes when the text without the bug is tried."""

    def __init__(self, inner: Sandbox, file: str, wanted: str, tries: bool = True) -> None:
        """Without `tries` no candidate is tried: each is told to fail as if it had been."""
        self._inner = inner
        self._tries = tries
        self._file = file
        self._wanted = alike(wanted)
        self._drawn = 0
        self.rank: int | None = None
        """How many candidates were drawn when it was."""
        self.ended = ""
        """How it came out where candidates are tried."""

    @property
    def name(self) -> str:
        """The one listened to."""
        return self._inner.name

    def describe(self) -> str:
        """Its own words."""
        return self._inner.describe()

    async def isolation(self, coming: Job | None = None) -> Isolation:
        """Its own level."""
        return await self._inner.isolation(coming)

    def together(self, jobs: Sequence[Job], shared: bool = False) -> Any:
        """Its own processes."""
        return self._inner.together(jobs, shared)

    @asynccontextmanager
    async def batch(self, job: Job) -> AsyncIterator[Batch]:
        """Its own batch, listened to."""
        async with self._inner.batch(job) as inner:
            yield _ListeningBatch(inner, self)

    def heard(self, item: dict[str, Any], answer: Json | LostItem) -> None:
        """Counts candidates that were answered for."""
        match answer:
            case [_, list(rows)] if item["ask"] == "screen":
                for made, row in zip(item["changes"], rows, strict=False):
                    self._drawn += 1
                    if self.rank is None and item["file"] == self._file and (
                        alike(changed(item["base"], made)) == self._wanted
                    ):
                        self.rank, self.ended = self._drawn, str(cast(list[Json], row)[0])

    def answered(self, item: dict[str, Any]) -> Json | None:
        """What is answered without trying; `None` where it is asked."""
        if self._tries or item["ask"] != "screen":
            return None
        marks = "0" + "-" * (len(item["order"]) - 1)
        row: Json = ["failed", marks, "", "", None, [], [0] * len(item["order"]), ""]
        return [0.0, [row] * len(item["changes"])]


class _ListeningBatch:
    def __init__(self, inner: Batch, to: Listening) -> None:
        self._inner = inner
        self._to = to

    async def replies(
        self, items: Sequence[Json], item_wall_s: float
    ) -> AsyncIterator[tuple[int, Json | LostItem]]:
        for place, asked in enumerate(items):
            item = cast(dict[str, Any], asked)  # as `Suite` asks
            answer: Json | LostItem = self._to.answered(item)
            if answer is None:
                async for _, answer in self._inner.replies([item], item_wall_s):
                    self._to.heard(item, answer)
            else:
                self._to.heard(item, answer)
            yield place, answer


def alike(text: str) -> str:
    """A text without what an edit may lay out otherwise: blanks and kinds of quotes."""
    return "".join(text.replace('"', "'").split())


async def ranks(cases: Sequence[Planted], sandbox: Sandbox) -> AsyncIterator[str]:
    """How many candidates of its file are drawn until the true fix is, where nothing is learnt
    from trying them."""
    found = []
    for one in cases:
        files = {file for file, _, _ in one.bug.places}
        rank = await _rank(one, sandbox) if len(files) == 1 else None
        found.append(rank)
        yield f"{one.bug.id}: {f'not among {DRAWN:,}' if rank is None else rank}"
    drawn = [rank for rank in found if rank is not None]
    early = sum(rank <= WITHIN for rank in drawn)
    yield (
        f"of {len(found)} true fixes {len(drawn)} are among the first {DRAWN:,} candidates, "
        f"{early} among the first {WITHIN}"
        + (f"; median rank of those drawn {statistics.median(drawn):.0f}" if drawn else "")
    )


async def _rank(one: Planted, sandbox: Sandbox) -> int | None:
    listening = Listening(sandbox, one.bug.file, one.right.files[one.bug.file], tries=False)
    project = one.project.model_copy(update={"editable": (one.bug.file,)})

    await search_project(
        one.task, project, one.base, one.bug.failing, listening, budget_s=LISTING_S,
        wall_s=2 * LISTING_S, max_candidates=DRAWN, progress=lambda seen: None, verify=refused,
    )
    return listening.rank


async def rates(cases: Sequence[Planted], sandbox: Sandbox) -> AsyncIterator[str]:
    """Candidates a second in one process that is kept, in a copy of it for each, and in a pytest
    of its own for each, by the failing tests of a bug."""
    first = {one.bug.project: one for one in reversed(cases) if one.bug.level == "function"}
    shares = []
    for one in sorted(first.values(), key=lambda one: one.bug.project)[:RATED]:
        swapped, copied, fresh = await _rates(one, sandbox)
        shares.append((swapped / fresh, copied / fresh))
        yield (
            f"{one.bug.project}: {swapped:,.0f} candidates/s swapped in place, {copied:,.1f} in a "
            f"copy each, {fresh:.2f} in a fresh pytest each: {shares[-1][0]:,.0f} and "
            f"{shares[-1][1]:,.0f} times as many"
        )
    if shares:
        medians = [statistics.median(column) for column in zip(*shares, strict=True)]
        yield f"median: {medians[0]:,.0f} and {medians[1]:,.0f} times as many"


async def _rates(one: Planted, sandbox: Sandbox) -> tuple[float, float, float]:
    file, files = one.bug.file, laid(one.task, None)
    texts = [*_candidates(files[file])]
    async with open_suite(files, one.project, one.task.sites, sandbox) as suite:
        order = [number for number, node in enumerate(suite.nodes) if node in one.bug.failing]

        async def screened(some: Sequence[str]) -> None:
            await suite.screen(file, some, order, len(order), "early", TEST_S)

        await screened(texts[:1])
        began = time.perf_counter()
        await screened(texts)
        swapped = len(texts) / (time.perf_counter() - began)
        began = time.perf_counter()
        for text in texts[:COPIES]:
            await screened([text])
        copied = len(texts[:COPIES]) / (time.perf_counter() - began)
    alone = one.project.model_copy(update={"arguments": one.bug.failing})
    began = time.perf_counter()
    for text in texts[:FRESH]:
        await run_suite(files | {file: text}, alone, one.task.sites, sandbox)
    return swapped, copied, len(texts[:FRESH]) / (time.perf_counter() - began)


def _candidates(text: str) -> Iterator[str]:
    program = Program(text)
    edits = single_edits(program, {})
    for edit in edits[:: max(1, len(edits) // IN_PLACE)][:IN_PLACE]:
        yield spliced(program.data, [edit.splice])
