"""Time and cost of each step, and the roles that failed; pure functions of a run's log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from agent.core.events import (
    FellBack,
    LogEntry,
    ModelCalled,
    ModelFailed,
    Notice,
    Step,
    StepFinished,
    StepStarted,
)


@dataclass(frozen=True)
class NodeMetrics:
    """The totals of all runs of one step."""

    runs: int = 0
    seconds: float = 0.0
    calls: int = 0
    failed: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0  # None: unknown


@dataclass(frozen=True)
class Degraded:
    """A role whose model failed in a step; `why` is the reason, or names the replacement."""

    step: Step | None
    role: str
    why: str


def node_metrics(log: Iterable[LogEntry]) -> dict[Step, NodeMetrics]:
    """Metrics by step in starting order; a call counts for the step that started last."""
    found: dict[Step, NodeMetrics] = {}
    last: Step | None = None
    for entry in log:
        event = entry.event
        match event:
            case StepStarted(step=last):
                so_far = found.get(last, NodeMetrics())
                found[last] = replace(so_far, runs=so_far.runs + 1)
            case StepFinished(step=step) if step in found:
                seconds = found[step].seconds + event.wall_ms / 1e3
                found[step] = replace(found[step], seconds=round(seconds, 6))
            case ModelCalled() | ModelFailed() if last is not None:
                found[last] = _with_call(found[last], event)
            case Notice(again=int()) if last is not None:
                found[last] = replace(found[last], calls=found[last].calls + 1)
            case _:
                pass
    return found


def _with_call(so_far: NodeMetrics, call: ModelCalled | ModelFailed) -> NodeMetrics:
    before, cost = so_far.cost_usd, call.cost_usd
    return replace(
        so_far, calls=so_far.calls + 1, failed=so_far.failed + isinstance(call, ModelFailed),
        tokens=so_far.tokens + call.tokens,
        cost_usd=None if before is None or cost is None else before + cost,
    )


def degraded(log: Iterable[LogEntry]) -> tuple[Degraded, ...]:
    """The roles that the run continued without, or that another model took over."""
    found: list[Degraded] = []
    last: Step | None = None
    for entry in log:
        match entry.event:
            case StepStarted(step=last):
                pass
            case Notice(role=role, text=text) if role:
                found.append(Degraded(last, role, text))
            case FellBack(role=role, provider=provider, to=to, why=why):
                found.append(Degraded(last, role, f"{provider} was replaced by {to}: {why}"))
            case _:
                pass
    return tuple(found)
