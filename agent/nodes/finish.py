"""Finish: the outcome, computed from reports, and the run's last event."""

from __future__ import annotations

import time

from agent.context import Context
from agent.domain import ProofLevel, Report, RunOutcome, Solution, Strategy
from agent.events import ModelCalled, ModelFailed, PartialFound, RunFinished
from agent.state import State


async def finish(state: State, ctx: Context) -> State:
    """Says how the run ended; a refused or failing program is never presented as healed."""
    return conclude(state, ctx, state.get("outcome", ""), state.get("reason", ""))


def conclude(state: State, ctx: Context, refused: str, reason: str) -> State:
    """Emits the last event; `refused` is the outcome of a run that did not get to its goal."""
    base = ctx.store.get(state["base_id"], Solution) if "base_id" in state else None
    report = ctx.store.get(state["report_id"], Report) if "report_id" in state else None
    kept = base
    outcome: RunOutcome = _refusal(refused)
    if not refused and report is not None and report.passed:
        kept = ctx.store.get(state["solution_id"], Solution)
        if state["iteration"] == 0:
            outcome, reason = "healthy", state["proof_why"]
        elif report.oracle:
            outcome, reason = "healed", f"{state['note']}; {state['proof_why']}"
        else:
            outcome = "crash_stopped"
            reason = f"{state['note']}; nothing shows that the result is right: add a test"
    if outcome in ("unresolved", "budget"):
        _show_best(state, ctx)
    good = outcome in ("healthy", "healed", "crash_stopped")
    entries = ctx.log()
    calls = [
        entry.event for entry in entries if isinstance(entry.event, (ModelCalled, ModelFailed))
    ]
    costs = [call.cost_usd for call in calls]
    ctx.emit(
        RunFinished(
            outcome=outcome,
            proof=_level(state) if good else None,
            strategy=_strategy(state) if good and state["iteration"] > 0 else None,
            reason=reason or _stuck(state),
            diff=kept.diff(base) if kept is not None and base is not None else "",
            code=kept.text if kept is not None else "",
            stdout=report.ending.stdout if report is not None and report.ending else "",
            iterations=state.get("iteration", 0),
            candidates=state.get("candidates", 0),
            tokens=sum(call.tokens for call in calls),
            cost_usd=None if None in costs else sum(cost for cost in costs if cost),
            seconds=round(time.time() - entries[0].at, 3) if entries else 0.0,
        )
    )
    return {"outcome": outcome}


def _show_best(state: State, ctx: Context) -> None:
    """Shows the best program that was judged, where no partial patch seen so far passes more."""
    if "best_report_id" not in state or state["best_id"] == state["base_id"]:
        return
    report = ctx.store.get(state["best_report_id"], Report)
    shown = [entry.event for entry in ctx.log() if isinstance(entry.event, PartialFound)]
    passed, _ = report.score
    if report.passed or passed <= max((partial.passed for partial in shown), default=0):
        return
    best = ctx.store.get(state["best_id"], Solution)
    ctx.emit(
        PartialFound(
            diff=best.diff(ctx.store.get(state["base_id"], Solution)),
            passed=passed, total=len(report.oracle), note=f"not a fix: {best.note}",
        )
    )


def _stuck(state: State) -> str:
    return f"still failing after {state.get('iteration', 0)} iterations"


def _refusal(word: str) -> RunOutcome:
    match word:
        case "not_fixable" | "budget" | "cancelled":
            return word
        case _:
            return "unresolved"


def _level(state: State) -> ProofLevel | None:
    match state.get("proof"):
        case "E0" | "E1" | "E2" | "E3" | "E4" as level:
            return level
        case _:
            return None


def _strategy(state: State) -> Strategy | None:
    match state.get("strategy"):
        case "memory" | "search" | "model" as name:
            return name
        case _:
            return None
