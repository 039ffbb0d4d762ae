"""Asks a model for a second repair if the search's patch is below the required confidence.

The first patch is kept in reserve, and the patch with the higher confidence is chosen in the end.
"""

from __future__ import annotations

from collections.abc import Callable

from agent.core.domain import ProofLevel, Report, RunOutcome, Solution, Strategy, Value
from agent.core.events import Event, Judged, Notice, Proved
from agent.core.state import State, Suite, is_repaired
from agent.iteration.context import Context, log_patch
from agent.iteration.escalation import Exhausted
from agent.iteration.iterations import choose_approach, may_ask_model, start_iteration
from agent.log.store import Store


class ReservePatch(Value):
    """A passing patch with its proof and confidence."""

    solution: Solution
    report: Report
    strategy: Strategy
    note: str
    proof: ProofLevel
    proof_why: str
    confidence: float
    unsure: str
    alternatives_id: str = ""


def ask_for_alternative(state: State, ctx: Context) -> State | None:
    """The state update that asks a model for another repair, if the search's patch is doubtful.

    `None` if the patch is convincing, there is no model, or one was asked already.
    """
    first = ctx.first_report
    if (
        not is_repaired(state) or state.get("unsure_repair_id") or state["strategy"] == "model"
        or state["confidence"] >= ctx.settings.require_confidence
        or state["strategy"] == "person" or not may_ask_model(ctx) or first is None
    ):
        return None
    iterations = ctx.iterations(state)
    following = choose_approach(state, ctx, iterations)
    if isinstance(following, Exhausted):
        return None
    suite = ctx.store.get(state["suite_id"], Suite)
    kept = ReservePatch(
        solution=ctx.store.get(state["solution_id"], Solution),
        report=ctx.store.get(state["report_id"], Report),
        strategy=state["strategy"], note=state["note"], proof=state["proof"],
        proof_why=state["proof_why"], confidence=state["confidence"], unsure=state["unsure"],
        alternatives_id=state.get("alternatives_id", ""),
    )
    ctx.emit(Notice(level="info", text=(
        f"The patch found is {kept.confidence:.0%} likely right: {kept.unsure}. A model is asked "
        "for another."
    )))
    approach = "minimal" if following == "search" else following
    return start_iteration(state, ctx, approach, iterations.last) | {
        "unsure_repair_id": ctx.store.put(kept), "solution_id": state["base_id"],
        "report_id": ctx.store.put(suite.with_current_origins(first)),
        "rediagnose": True, "passed_visible": False, "asking": False, "alternatives_id": "",
        "caveat": "", "other_repairs_fit": False,
    }


def restore_reserve(
    state: State, store: Store, emit: Callable[[Event], object], refused: RunOutcome | None
) -> tuple[State, RunOutcome | None]:
    """Restores the patch in reserve if no better one was found.

    Returns:
        The state, and how the run ends; both are unchanged if there is no such patch.
    """
    if not state.get("unsure_repair_id") or refused == "cancelled":
        return state, refused
    kept = store.get(state["unsure_repair_id"], ReservePatch)
    if refused is None and is_repaired(state) and state["confidence"] >= kept.confidence:
        return state, None
    base = store.get(state["base_id"], Solution)
    number = state["iteration"] + 1
    log_patch(emit, number, kept.strategy, kept.solution, base)
    emit(Judged(iteration=number, report=kept.report))
    emit(Proved(
        level=kept.proof, why=kept.proof_why, confidence=kept.confidence, unsure=kept.unsure
    ))
    update = {
        "solution_id": store.put(kept.solution), "report_id": store.put(kept.report),
        "outcome": None, "stopped": None, "reason": "", **kept.model_dump(
            exclude={"solution", "report"}
        ),
    }
    return {**state, **update}, None  # type: ignore[typeddict-item]
