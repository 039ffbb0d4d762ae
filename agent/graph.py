"""The wiring: which step follows which, and the one wrapper that logs them.

Steps know nothing of LangGraph but the two that must interrupt, `ask` and the gate. The wrapper
writes `finished` before the step returns, so a step whose checkpoint exists has its whole log,
and a step that is run again after a crash writes a new attempt of the same task.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, cast

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from agent.bus import Writer
from agent.context import Context
from agent.domain import Report
from agent.events import Step, StepFinished, StepStarted
from agent.nodes.ask import ask
from agent.nodes.attack import attack
from agent.nodes.critique import critique
from agent.nodes.diagnose import diagnose
from agent.nodes.execute import execute
from agent.nodes.finish import finish
from agent.nodes.gate import gate
from agent.nodes.generate import generate
from agent.nodes.learn import learn
from agent.nodes.prove import prove
from agent.nodes.recall import recall
from agent.nodes.repair import Branch, repair
from agent.nodes.select import select
from agent.nodes.specify import specify
from agent.state import State
from agent.strategies import FREE, PAID


@dataclass(frozen=True)
class Surroundings:
    """What the graph is run with: a context, and a writer for each step's attempt."""

    context: Context
    writer: Callable[[str], Writer]


Node = Callable[[Any, Context], Awaitable[State]]  # a branch of the fan-out has its own input

STEPS: dict[Step, Node] = {
    "recall": recall,
    "specify": specify,
    "generate": generate,
    "attack": attack,
    "execute": execute,
    "diagnose": diagnose,
    "repair": repair,
    "select": select,
    "ask": ask,
    "critique": critique,
    "prove": prove,
    "gate": gate,
    "learn": learn,
    "finish": finish,
}

BARE: frozenset[Step] = frozenset({"ask", "gate", "finish"})


def logged(step: Step, node: Node) -> Callable[..., Awaitable[State]]:
    """The node with its start, its finish and its time in the run's log."""

    async def run_step(state: State, runtime: Runtime[Surroundings]) -> State:
        surroundings = runtime.context
        task = runtime.execution_info.task_id if runtime.execution_info else step
        emit = surroundings.writer(task)
        iteration = state.get("iteration", 0)
        started = time.monotonic()
        emit(StepStarted(step=step, iteration=iteration))
        update = await node(state, replace(surroundings.context, emit=emit))
        wall_ms = (time.monotonic() - started) * 1e3
        emit(StepFinished(step=step, iteration=iteration, wall_ms=round(wall_ms, 3)))
        return update

    return run_step


def bare(node: Node) -> Callable[..., Awaitable[State]]:
    """The node without a log of its own: nothing may happen before one interrupts, and nothing
    may follow a run's last event."""

    async def run_step(state: State, runtime: Runtime[Surroundings]) -> State:
        return await node(state, runtime.context.context)

    return run_step


# Ways on. They are coroutines, since LangGraph calls plain functions in other threads.


async def after_recall(state: State) -> str:
    if state.get("outcome"):
        return "finish"
    return "execute" if state.get("recalled") else "specify"


async def after_specify(state: State) -> str:
    return "attack" if "base_id" in state else "generate"


async def after_execute(state: State, runtime: Runtime[Surroundings]) -> str:
    report = runtime.context.context.store.get(state["report_id"], Report)
    return "critique" if report.passed else "diagnose"


async def after_diagnose(state: State, runtime: Runtime[Surroundings]) -> str | list[Send]:
    """Fans out over the strategies, those that ask a model once the others have found nothing,
    unless no edit could help or no iteration is left."""
    settings = runtime.context.context.settings
    if state.get("outcome") or state["iteration"] >= settings.max_iterations:
        return "finish"
    return [
        Send(
            "repair",
            Branch(
                strategy=name,
                suite_id=state["suite_id"],
                solution_id=state["base_id"],
                report_id=state["report_id"],
                diagnosis_id=state["diagnosis_id"],
                iteration=state["iteration"],
            ),
        )
        for name in (PAID if state.get("paid") else FREE)
    ]


async def after_select(state: State) -> str:
    if state.get("outcome"):
        return "finish"
    return "diagnose" if state.get("escalated") else "ask"


async def after_ask(state: State) -> str:
    return "ask" if state["asking"] else "execute"


async def after_critique(state: State) -> str:
    return "finish" if state.get("outcome") else "prove"


async def after_gate(state: State) -> str:
    return "finish" if state.get("outcome") else "learn"


def build_graph() -> StateGraph[State, Surroundings]:
    """The graph, not yet compiled."""
    graph: StateGraph[State, Surroundings] = StateGraph(State, context_schema=Surroundings)
    for step, node in STEPS.items():
        wrapped = bare(node) if step in BARE else logged(step, node)
        graph.add_node(step, cast(Any, wrapped))  # LangGraph's node type is wider than ours
    graph.add_edge(START, "recall")
    graph.add_conditional_edges("recall", after_recall, ["finish", "execute", "specify"])
    graph.add_conditional_edges("specify", after_specify, ["attack", "generate"])
    graph.add_edge("generate", "attack")
    graph.add_edge("attack", "execute")
    graph.add_conditional_edges("execute", after_execute, ["critique", "diagnose"])
    graph.add_conditional_edges("diagnose", after_diagnose, ["repair", "finish"])
    graph.add_edge("repair", "select")
    graph.add_conditional_edges("select", after_select, ["finish", "diagnose", "ask"])
    graph.add_conditional_edges("ask", after_ask, ["ask", "execute"])
    graph.add_conditional_edges("critique", after_critique, ["finish", "prove"])
    graph.add_edge("prove", "gate")
    graph.add_conditional_edges("gate", after_gate, ["finish", "learn"])
    graph.add_edge("learn", "finish")
    graph.add_edge("finish", END)
    return graph


def diagram() -> str:
    """The graph as a Mermaid flow chart, drawn from the wiring itself."""
    drawn = build_graph().compile().get_graph()
    edges = [
        f"    {edge.source.strip('_')} {'-.->' if edge.conditional else '-->'} "
        f"{edge.target.strip('_')}"
        for edge in drawn.edges
    ]
    order = {step: place for place, step in enumerate(["start", *STEPS])}
    edges.sort(key=lambda edge: order[edge.split()[0]])
    return "\n".join(["flowchart TD", *edges]) + "\n"


if __name__ == "__main__":
    print(diagram(), end="")
