"""Whole runs: several at once, one met before, one cancelled, and what their steps cost."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from typing import Any
from unittest.mock import patch

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from agent.core.domain import Report
from agent.core.events import RunFinished, Searched, StepFinished
from agent.core.state import State
from agent.judge import check
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
    """What a step costs beyond the sandbox: the graph, its checkpoints, events and values; beside
    an empty step of the library that the graph stands on."""
    waited = 0.0

    async def timed(*args: Any, **given: Any) -> Report:  # whatever the judge takes
        nonlocal waited
        started = time.perf_counter()
        try:
            return await check(*args, **given)
        finally:
            waited += time.perf_counter() - started

    async def measure(session: Session) -> list[float]:
        nonlocal waited
        costs = []
        task = task_of(*sample("healthy"))
        for _ in range(AGAIN):
            waited, started = 0.0, time.perf_counter()
            log = session.log(await finished(session, task))
            # The gate and the last step write no step of their own into the log.
            count = 2 + sum(isinstance(entry.event, StepFinished) for entry in log)
            costs.append((time.perf_counter() - started - waited) / count)
        return costs

    with patch("agent.healing.context.check", timed):  # a healthy run waits for nothing else
        costs = asyncio.run(in_session(measure))
    yield figure(
        "framework cost of a step", costs, "an empty step of LangGraph with its checkpoint",
        asyncio.run(_empty_steps()), unit="ms",
    )


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
