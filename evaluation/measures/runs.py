"""Whole runs: several at once, one met before, one cancelled, and what their steps cost."""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import pairwise
from pathlib import Path

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from agent.core.events import RunFinished, Searched, Stamped, StepFinished, StepStarted
from agent.core.state import State
from agent.run.session import Session
from evaluation.measures.programs import figure, filled, finished, in_session, sample, task_of

AGAIN = 20
"""How often a run is repeated."""
CANCELLED = 9
APART_S = 0.4
"""How much later each cancellation comes than the one before."""


def parallel() -> Iterator[str]:
    """Eight runs at once: how many were between their first and last event at one time."""

    async def measure(session: Session) -> tuple[float, float, int]:
        task = task_of(*sample("healthy"))
        started = time.perf_counter()
        await finished(session, task)
        alone = time.perf_counter() - started
        started = time.perf_counter()
        runs = await asyncio.gather(*(finished(session, task) for _ in range(8)))
        together = time.perf_counter() - started
        spans = [(session.log(run)[0].at, session.log(run)[-1].at) for run in runs]
        return alone, together, max(sum(a <= at <= b for a, b in spans) for at, _ in spans)

    alone, together, most = asyncio.run(in_session(measure))
    yield (
        f"8 runs at once: {most} overlapped, {together:.2f} s in all, "
        f"{together / alone:.1f} x one run alone ({alone:.2f} s)"
    )


def memory() -> Iterator[str]:
    """The same failure again, and the like of it in other programs, beside the first heal."""

    async def measure(session: Session) -> tuple[float, list[float], list[float]]:
        async def timed(code: str, tests: str, strategy: str) -> float:
            last = _last(session, await finished(session, task_of(code, tests)))
            assert (last.outcome, last.strategy) == ("healed", strategy), last.reason
            return last.seconds

        code, tests = sample("mean")
        first = await timed(code, tests, "search")
        again = [await timed(code, tests, "memory") for _ in range(AGAIN)]
        alike = [
            await timed(
                code.replace("mean_of_positive", name).replace("total", "amount"),
                tests.replace("mean_of_positive", name), "memory",
            )
            for name in (f"mean_{number}" for number in range(AGAIN))
        ]
        return first, again, alike

    first, again, alike = asyncio.run(in_session(measure))
    yield figure("the same failure, to its proof", again, "the first heal", [first], unit="ms")
    yield figure("another program's, to its proof", alike, "the first heal", [first], unit="ms")


def cancelling() -> Iterator[str]:
    """From the word to cancel until the run's last event, in the middle of a search."""
    hopeless, tests = sample("hopeless")

    async def measure(session: Session, code: str) -> list[float]:
        took = []
        for number in range(CANCELLED):
            run = await session.start(task_of(code, tests))
            async for batch in session.follow(run):
                if any(isinstance(entry.event, Searched) for entry in batch):
                    break
            # Each in another moment: a long program is read for seconds before it is screened.
            await asyncio.sleep(number * APART_S)
            started = time.perf_counter()
            await session.cancel(run)
            took.append((time.perf_counter() - started) * 1e3)
        return took

    huge = filled(hopeless)
    for words, code in (
        ("in the middle of a search", hopeless),
        (f"the same in a program of {huge.count(chr(10)):,} lines", huge),
    ):
        took = asyncio.run(in_session(partial(measure, code=code)))
        yield (
            f"cancelled, {words}: median {statistics.median(took):.0f} ms, "
            f"most {max(took):.0f} ms"
        )


def steps() -> Iterator[str]:
    """What a step costs beside its own work, the way on, its checkpoint and the next one's first
    event, beside an empty step of the library that the graph stands on; and what it writes."""

    async def measure(session: Session) -> tuple[list[float], list[int]]:
        costs = []
        for _ in range(AGAIN):
            costs += _between_steps(session.log(await finished(
                session, task_of(*sample("healthy"))
            )))
        await finished(session, task_of(*sample("mean")))  # one that goes through most steps
        return costs, _checkpoint_sizes(session.settings.data_dir)

    costs, sizes = asyncio.run(in_session(measure))
    yield figure(
        "framework cost of a step", costs, "an empty step of LangGraph with its checkpoint",
        asyncio.run(_empty_steps()), unit="ms",
    )
    yield (
        f"state that a step writes: median {statistics.median(sizes) / 1e3:.1f} kB, "
        f"most {max(sizes) / 1e3:.1f} kB, of {len(sizes)} steps"
    )


def _between_steps(log: tuple[Stamped, ...]) -> list[float]:
    """Seconds from each step's end to the beginning of the next; the gate, which tells neither,
    stands before `learn`."""
    return [
        after.at - before.at for before, after in pairwise(log)
        if isinstance(before.event, StepFinished) and isinstance(after.event, StepStarted)
        and after.event.step != "learn"
    ]


def _checkpoint_sizes(folder: Path) -> list[int]:
    """Bytes of each checkpoint with what was written towards it."""
    with closing(sqlite3.connect(folder / "checkpoints.db")) as kept:
        return [size for (size,) in kept.execute(
            "select length(checkpoint) + length(metadata) + coalesce((select sum(length(value)) "
            "from writes where writes.thread_id = checkpoints.thread_id "
            "and writes.checkpoint_id = checkpoints.checkpoint_id), 0) from checkpoints"
        )]


async def _empty_steps() -> list[float]:
    """Seconds of a step that does nothing, in a chain of ten with checkpoints like ours."""

    async def nothing(state: State) -> State:
        return {"iteration": state["iteration"] + 1}

    graph = StateGraph(State)
    names = [f"step{number}" for number in range(10)]
    for name in names:
        graph.add_node(name, nothing)
    for before, after in pairwise([START, *names, END]):
        graph.add_edge(before, after)
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        async with AsyncSqliteSaver.from_conn_string(f"{folder}/checkpoints.db") as saver:
            await saver.conn.execute("pragma journal_mode=wal")
            await saver.conn.execute("pragma synchronous=normal")
            chain = graph.compile(checkpointer=saver)
            for turn in range(10):
                started = time.perf_counter()
                await chain.ainvoke(
                    {"iteration": 0}, {"configurable": {"thread_id": str(turn)}},
                    durability="sync",
                )
                costs.append((time.perf_counter() - started) / len(names))
    return costs


def _last(session: Session, run: str) -> RunFinished:
    event = session.log(run)[-1].event
    assert isinstance(event, RunFinished)
    return event
