"""The LangGraph graph of a run: nodes, edges, step logging and the checkpointed engine.

Only this module imports LangGraph, because the import is slow. A step logs `finished` before it
returns; a repeated step logs a new attempt of the same task."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import aiosqlite
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command, Send

from agent.core.domain import Report
from agent.core.events import Step, StepFinished, StepStarted, Waiting
from agent.core.sqlite import LOCK_TIMEOUT_S, create_with_auto_vacuum
from agent.core.state import RENAMED_FIELDS, State, Suite
from agent.iteration.context import Context
from agent.iteration.iterations import parallel_repairs
from agent.log.store import Store
from agent.loop.steps.critique import critique
from agent.loop.steps.diagnose import diagnose
from agent.loop.steps.execute import arbitrate, execute
from agent.loop.steps.finish import finish
from agent.loop.steps.gate import ask, gate, help_, permit
from agent.loop.steps.inspect import inspect, simplify
from agent.loop.steps.learn import learn
from agent.loop.steps.prove import prove
from agent.loop.steps.recall import recall
from agent.loop.steps.repair import attempt, generate, repair
from agent.loop.steps.select import select
from agent.loop.steps.specify import attack, branch, specify
from agent.propose.arbitration import failing_derived
from agent.propose.roles import ARBITER
from agent.report.waiting import StepAnswer

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

Node = Callable[[State, Context], Awaitable[State]]

BARE: frozenset[Step] = frozenset({"permit", "ask", "help", "gate", "finish"})


def logged(step: Step, node: Node) -> Callable[..., Awaitable[State]]:
    """Wraps a node so that its start, end and wall time are logged. `BARE` nodes are not,
    because nothing may happen before an interrupt or after a run's last event."""

    async def run_step(state: State, runtime: Runtime[Context]) -> State:
        info = runtime.execution_info
        emit = runtime.context.writer(info.task_id if info else step)
        if step in BARE:
            return await node(state, replace(runtime.context, emit=emit))
        iteration = state.get("iteration", 0)
        started = time.monotonic()
        emit(StepStarted(step=step, iteration=iteration))
        update = await node(state, replace(runtime.context, emit=emit))
        wall_ms = (time.monotonic() - started) * 1e3
        emit(StepFinished(step=step, iteration=iteration, wall_ms=round(wall_ms, 3)))
        return update

    return run_step


# Routing functions. They are coroutines because LangGraph calls plain functions in other threads.


async def first_step(state: State) -> str:
    """Skips `recall` for a fork, which already has a program and a suite."""
    return "branch" if "solution_id" in state else "recall"


async def after_recall(state: State) -> str:
    if state.get("outcome"):
        return "finish"
    return "execute" if state.get("recalled") else "specify"


async def after_specify(state: State, runtime: Runtime[Context]) -> str:
    if "base_id" in state:
        return "attack"
    return "permit" if runtime.context.requires_permission else "generate"


async def after_execute(state: State, runtime: Runtime[Context]) -> str:
    """Validates derived tests first if only they fail."""
    ctx = runtime.context
    report = ctx.store.get(state["report_id"], Report)
    suite = ctx.store.get(state["suite_id"], Suite)
    disputed = failing_derived(suite, report) and not any(one.fails for one in report.trusted)
    can_arbitrate = ctx.settings.enable_arbitration and ctx.plan.of(ARBITER.name) is not None
    if disputed and can_arbitrate and ctx.task.text:
        return "arbitrate"
    return after_verdict(report, ctx)


async def after_arbitrate(state: State, runtime: Runtime[Context]) -> str:
    return after_verdict(runtime.context.store.get(state["report_id"], Report), runtime.context)


def after_verdict(report: Report, ctx: Context) -> str:
    if not report.passed:
        return "diagnose"
    return "simplify" if ctx.settings.enable_simplifier else "critique"


def next_iteration(state: State, runtime: Runtime[Context]) -> str | list[Send]:
    """Returns the repair step: a search, one model attempt, or parallel attempts (tournament)."""
    match state["approach"]:
        case "search":
            return "repair"
        case "tournament":
            count = parallel_repairs(runtime.context)
            return [Send("attempt", {**state, "place": place}) for place in range(count)]
        case _:
            return "attempt"


async def after_permit(state: State, runtime: Runtime[Context]) -> str | list[Send]:
    if state.get("outcome"):
        return "finish"
    if "base_id" not in state:
        return "generate"
    return "diagnose" if state.get("rediagnose") else next_iteration(state, runtime)


def needs_permission(state: State, runtime: Runtime[Context]) -> bool:
    """Whether a model is called next and the user must permit that first."""
    asks_model = state["approach"] != "search" and not state.get("permitted")
    return asks_model and runtime.context.requires_permission


def finish_or_help(state: State, runtime: Runtime[Context]) -> str:
    """Finishes, or asks the reviewing user once for help if all approaches failed."""
    failed = state.get("stopped") in ("iterations", "stuck", "no_model")
    reviews = runtime.context.settings.autonomy_level != "full_auto"
    return "help" if failed and reviews and not state.get("asked_user") else "finish"


async def after_help(state: State, runtime: Runtime[Context]) -> str:
    if state["asking"]:
        return "help"
    if state.get("edited"):
        return "execute"
    if state.get("outcome"):
        return "finish"
    return "permit" if needs_permission(state, runtime) else "diagnose"


async def after_diagnose(state: State, runtime: Runtime[Context]) -> str | list[Send]:
    if state.get("outcome"):
        return finish_or_help(state, runtime)
    return "permit" if needs_permission(state, runtime) else next_iteration(state, runtime)


async def after_select(state: State, runtime: Runtime[Context]) -> str | list[Send]:
    if state.get("outcome"):
        return finish_or_help(state, runtime)
    if state.get("passed_visible"):
        return "ask"
    if needs_permission(state, runtime):
        return "permit"
    return "diagnose" if state.get("rediagnose") else next_iteration(state, runtime)


async def after_critique(state: State, runtime: Runtime[Context]) -> str:
    if state.get("outcome"):
        return "finish"
    if state.get("objected"):
        return "execute"
    return "inspect" if runtime.context.settings.enable_security_check else "prove"


async def after_ask(state: State) -> str:
    return "ask" if state["asking"] else "execute"


async def after_gate(state: State, runtime: Runtime[Context]) -> str:
    if state.get("outcome"):
        return "finish"
    if state["asking"]:
        return "gate"
    if state.get("edited"):
        return "execute"
    if not state.get("rediagnose"):
        return "learn"
    return "permit" if needs_permission(state, runtime) else "diagnose"


STEPS: dict[Step, tuple[Node, str, Callable[..., Awaitable[object]] | None]] = {
    "recall": (recall, "finish execute specify", after_recall),
    "branch": (branch, "execute", None),
    "specify": (specify, "attack permit generate", after_specify),
    "permit": (permit, "finish generate diagnose repair attempt", after_permit),
    "generate": (generate, "attack", None),
    "attack": (attack, "execute", None),
    "execute": (execute, "arbitrate simplify critique diagnose", after_execute),
    "arbitrate": (arbitrate, "simplify critique diagnose", after_arbitrate),
    "diagnose": (diagnose, "permit help repair attempt finish", after_diagnose),
    "repair": (repair, "select", None),
    "attempt": (attempt, "select", None),
    "select": (select, "finish permit help diagnose ask repair attempt", after_select),
    "ask": (ask, "ask execute", after_ask),
    "help": (help_, "finish help execute permit diagnose", after_help),
    "simplify": (simplify, "critique", None),
    "critique": (critique, "finish execute inspect prove", after_critique),
    "inspect": (inspect, "prove", None),
    "prove": (prove, "gate", None),
    "gate": (gate, "finish gate execute permit diagnose learn", after_gate),
    "learn": (learn, "finish", None),
    "finish": (finish, END, None),
}
"""For each step: its node, its possible successors and the function that routes among them."""


def build_graph() -> StateGraph[State, Context]:
    """Returns the graph of `STEPS`, in which each step logs its start and end."""
    graph: StateGraph[State, Context] = StateGraph(State, context_schema=Context)
    graph.add_conditional_edges(START, first_step, ["recall", "branch"])
    for step, (node, successors, route) in STEPS.items():
        # LangGraph's node type is wider than ours.
        graph.add_node(step, cast(Any, logged(step, node)))
        if route is None:
            graph.add_edge(step, successors)
        else:
            graph.add_conditional_edges(step, cast(Any, route), successors.split())
    return graph


@cache
def compiled_graph() -> CompiledStateGraph[State, Context, State, State]:
    """Compiles the graph once per process, because that takes longer than a step."""
    return build_graph().compile()


class Engine:
    """Runs the graph with a checkpoint file; use it from the event loop that opened it."""

    def __init__(
        self, saver: BaseCheckpointSaver[Any], shrink: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self._saver = saver
        self._shrink = shrink
        self._graph = compiled_graph().copy({"checkpointer": saver})

    async def run(
        self, run: str, context: Context, answer: StepAnswer | None
    ) -> AsyncIterator[Waiting]:
        """Runs steps until the graph ends or asks a question; yields the questions."""
        graph_input: State | Command[Any] | None = None
        if answer is not None:
            graph_input = Command(resume={answer.interrupt: dict(answer.value)})
        elif not await self.state(run):
            graph_input = context.start
        async for chunk in self._graph.astream(
            cast(Any, graph_input),  # typed as the state, but resuming passes None or a Command
            _config(run),
            context=context,
            stream_mode="updates",
            durability="sync",
        ):
            for asked in cast("dict[str, Any]", chunk).get("__interrupt__", ()):
                yield Waiting.model_validate({"interrupt": asked.id, **asked.value})

    async def state(self, run: str) -> State:
        """Returns a run's state after its last step; empty if the run has not begun."""
        return cast(State, (await self._graph.aget_state(_config(run))).values)

    async def state_with(self, run: str, solution: str) -> State:
        """Returns a run's newest state whose current program is `solution`, or an empty state."""
        async for snapshot in self._graph.aget_state_history(_config(run)):
            if snapshot.values.get("solution_id") == solution:
                return cast(State, snapshot.values)
        return {}

    async def next_steps(self, run: str) -> tuple[str, ...]:
        return (await self._graph.aget_state(_config(run))).next

    async def forget(self, run: str) -> None:
        await self._saver.adelete_thread(run)
        if self._shrink is not None:
            await self._shrink()


class _Serializer(JsonPlusSerializer):
    """Reads the state's renamed fields in checkpoints of older versions."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        read = super().loads_typed(data)
        if isinstance(read, dict) and "channel_values" in read:
            values = read["channel_values"].items()
            read["channel_values"] = {RENAMED_FIELDS.get(key, key): value for key, value in values}
        return read


class _Saver(AsyncSqliteSaver):
    """Uses integer versions, because the library's long versions fill half of a checkpoint."""

    def get_next_version(self, current: Any, channel: None) -> Any:  # the library's types
        return 1 if current is None else current + 1


def _config(run: str) -> RunnableConfig:
    return {"configurable": {"thread_id": run}, "recursion_limit": 200}


@asynccontextmanager
async def open_engine(store: Store, checkpoints: Path) -> AsyncIterator[Engine]:
    """Opens an engine whose checkpoints are in the store's database, or if the store is a file, in
    the file `checkpoints`, which only LangGraph's saver writes."""
    serializer = _Serializer(allowed_msgpack_modules=())
    if store.url:
        from agent.loop.postgres_checkpoints import open_saver

        async with open_saver(store.url, serializer, lambda: store.process) as shared:
            yield Engine(shared)
        return
    await asyncio.to_thread(create_with_auto_vacuum, checkpoints)
    async with aiosqlite.connect(checkpoints, timeout=LOCK_TIMEOUT_S) as connection:
        await connection.execute("pragma synchronous=normal")
        await connection.execute("pragma secure_delete=on")
        saver = _Saver(connection, serde=serializer)
        await saver.setup()

        async def shrink() -> None:
            for pragma in ("incremental_vacuum", "wal_checkpoint(truncate)"):
                await connection.execute_fetchall(f"pragma {pragma}")

        yield Engine(saver, shrink)


def diagram() -> str:
    """Returns the graph as a Mermaid flow chart."""
    drawn = compiled_graph().get_graph()
    edges = [
        f"    {edge.source.strip('_')} {'-.->' if edge.conditional else '-->'} "
        f"{edge.target.strip('_')}"
        for edge in drawn.edges
    ]
    order = {step: index for index, step in enumerate(["start", *STEPS])}
    edges.sort(key=lambda edge: order[edge.split()[0]])
    return "\n".join(["flowchart TD", *edges]) + "\n"


if __name__ == "__main__":
    print(diagram(), end="")
