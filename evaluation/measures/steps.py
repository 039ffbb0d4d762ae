"""What the graph costs, beside empty steps of the library it stands on."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any
from unittest.mock import patch

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from agent.checks import check
from agent.domain import Report
from agent.events import StepFinished
from agent.session import Session
from agent.state import State
from evaluation.measures.figure import figure
from evaluation.measures.samples import HEALTHY, HEALTHY_TESTS
from evaluation.measures.sessions import finished, in_session, task_of


def steps() -> Iterator[str]:
    """What a step costs beyond the sandbox: the graph, its checkpoints, events and values."""
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
        task = task_of(HEALTHY, HEALTHY_TESTS)
        for _ in range(20):
            waited, started = 0.0, time.perf_counter()
            run = await finished(session, task)
            log = session.log(run)
            # The gate and the last step write no step of their own into the log.
            count = 2 + sum(isinstance(entry.event, StepFinished) for entry in log)
            costs.append((time.perf_counter() - started - waited) / count)
        return costs

    with patch("agent.context.check", timed):  # a healthy run waits for nothing else
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
