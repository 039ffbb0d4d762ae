"""Finish: the outcome, computed from reports, and the run's last event."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from agent.core.domain import Report, RunOutcome, Solution
from agent.core.events import Event, ModelCalled, ModelFailed, RunFinished, Stamped
from agent.core.state import State, is_repaired
from agent.healing.context import Context
from agent.log.result import KEPT, fold
from agent.log.store import Store
from agent.log.words import ending_words


async def finish(state: State, ctx: Context) -> State:
    """Says how the run ended; a refused or failing program is never presented as healed."""
    outcome = conclude(
        state, ctx.store, ctx.log(), ctx.emit, state.get("outcome"), state.get("reason", "")
    )
    return {"outcome": outcome}


def conclude(
    state: State, store: Store, log: Sequence[Stamped], emit: Callable[[Event], Stamped],
    refused: RunOutcome | None, reason: str,
) -> RunOutcome:
    """Emits the last event; `refused` is the outcome of a run that did not get to its goal."""
    base = store.get(state["base_id"], Solution) if "base_id" in state else None
    report = store.get(state["report_id"], Report) if "report_id" in state else None
    kept, edit = base, ""
    outcome: RunOutcome = refused or "unresolved"
    if refused is None and report is not None and report.passed:
        kept = store.get(state["solution_id"], Solution)
        if not is_repaired(state):
            outcome, reason = "healthy", state["proof_why"]
        elif report.oracle:
            outcome, edit, reason = "healed", state["note"], state["proof_why"]
        else:
            outcome, edit = "crash_stopped", state["note"]
            ended = ending_words(report.ending) if report.ending is not None else ""
            reason = "; ".join(filter(None, ("no test decides", ended)))
    good = outcome in KEPT
    calls = [one.event for one in log if isinstance(one.event, ModelCalled | ModelFailed)]
    costs = [call.cost_usd for call in calls]
    iterations = state.get("iteration", 0)
    emit(
        RunFinished(
            outcome=outcome,
            stopped=state.get("stopped") if not good else None,
            proof=state.get("proof") if good else None,
            fitting=fold(log).fitting_so_far if outcome == "healed" else 1,
            strategy=state.get("strategy") if good and is_repaired(state) else None,
            edit=edit,
            reason=reason or f"still failing after {iterations} iterations",
            diff=kept.diff(base) if kept is not None and base is not None else "",
            code=kept.text if kept is not None else "",
            solution=kept.id if kept is not None else "",
            stdout=report.ending.stdout if report is not None and report.ending else "",
            iterations=iterations,
            candidates=state.get("candidates", 0),
            tokens=sum(call.tokens for call in calls),
            cost_usd=None if None in costs else sum(cost for cost in costs if cost),
            seconds=round(time.time() - log[0].at, 3) if log else 0.0,
        )
    )
    return outcome
