"""The finish step: computes the outcome from reports and logs the run's last event."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from agent.core.domain import Report, RunOutcome, Solution
from agent.core.events import Event, LogEntry, ModelCalled, ModelFailed, RunFinished
from agent.core.state import State, is_repaired
from agent.iteration.context import Context
from agent.iteration.doubtful_patch import restore_reserve
from agent.log.store import Store
from agent.report.result import ACCEPTED, fold
from agent.report.words import ending_words

MIN_PROPOSED_CONFIDENCE = 0.3
"""The minimum confidence of a proposed patch."""
UNLIKELY = "an edit that passes the tests was found, but it is unlikely to be correct"


async def finish(state: State, ctx: Context) -> State:
    """Computes the outcome; a refused or failing program is never reported as healed."""
    outcome = conclude(
        state, ctx.store, ctx.log(), ctx.emit, state.get("outcome"), state.get("reason", ""),
        ctx.settings.require_confidence,
    )
    return {"outcome": outcome}


def conclude(
    state: State, store: Store, log: Sequence[LogEntry], emit: Callable[[Event], LogEntry],
    refused: RunOutcome | None, reason: str, required: float,
) -> RunOutcome:
    """Emits the last event.

    Args:
        refused: The outcome of a run that did not reach its goal.
        required: The minimum confidence that counts as healed.
    """
    state, refused = restore_reserve(state, store, emit, refused)
    base = store.get(state["base_id"], Solution) if "base_id" in state else None
    report = store.get(state["report_id"], Report) if "report_id" in state else None
    final, edit = base, ""
    outcome: RunOutcome = refused or "unresolved"
    confidence = state.get("confidence", 1.0)
    required = 0.0 if state.get("accepted") else required
    if refused is None and report is not None and report.passed:
        patched = final = store.get(state["solution_id"], Solution)
        if not is_repaired(state):
            outcome, reason = "healthy", state["proof_why"]
        elif report.deciding_verdicts:
            outcome, edit, reason = "healed", state["note"], state["proof_why"]
            if confidence < min(required, MIN_PROPOSED_CONFIDENCE):
                final, outcome, edit = base, "unresolved", ""
                reason = f"{UNLIKELY}, because {state['unsure']}: {patched.note}"
            elif confidence < required:
                outcome = "proposed"
        else:
            outcome, edit = "crash_stopped", state["note"]
            ended = ending_words(report.ending) if report.ending is not None else ""
            reason = "; ".join(filter(None, ("no test decides", ended)))
    is_accepted = outcome in ACCEPTED
    calls = [one.event for one in log if isinstance(one.event, ModelCalled | ModelFailed)]
    costs = [call.cost_usd for call in calls]
    iterations = state.get("iteration", 0)
    emit(RunFinished(
        outcome=outcome,
        stopped=state.get("stopped") if not is_accepted else None,
        proof=state.get("proof") if is_accepted else None,
        confidence=fold(log).confidence if outcome == "healthy" else
        confidence if is_repaired(state) and "confidence" in state else None,
        unsure=state.get("unsure", ""),
        fitting_repairs=fold(log).fitting_repairs_so_far if outcome in ("healed", "proposed")
        else 1,
        strategy=state.get("strategy") if is_accepted and is_repaired(state) else None, edit=edit,
        reason=reason or f"still failing after {iterations} iterations",
        diff=final.diff(base) if final is not None and base is not None else "",
        code=final.text if final is not None else "",
        solution=final.id if final is not None else "",
        stdout=report.ending.stdout if report is not None and report.ending else "",
        iterations=iterations, candidates=state.get("candidates", 0),
        tokens=sum(call.tokens for call in calls),
        cost_usd=None if None in costs else sum(cost for cost in costs if cost),
        seconds=round(time.time() - log[0].at, 3) if log else 0.0,
    ))
    return outcome
