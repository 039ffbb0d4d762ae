"""A patch that is doubtful, kept while a model is asked for another.

The cheapest source comes first and the run stops when it is convinced: where the search's patch has
less than the required confidence, a model is asked as well. What it brings is compared with the
patch in reserve, and the one that is more likely right is kept.
"""

from __future__ import annotations

from collections.abc import Callable

from agent.core.domain import ProofLevel, Report, RunOutcome, Solution, Strategy, Value
from agent.core.events import Event, Judged, Notice, Proved
from agent.core.state import Iteration, State, Suite, is_repaired
from agent.iteration.context import Context, propose
from agent.iteration.escalation import NoMore
from agent.iteration.iterations import begun, go_on, may_ask
from agent.log.store import Store


class Reserve(Value):
    """A patch that passed, and what was shown of it."""

    solution: Solution
    report: Report
    strategy: Strategy
    note: str
    proof: ProofLevel
    proof_why: str
    confidence: float
    unsure: str
    rivals_id: str = ""


def second_opinion(state: State, ctx: Context) -> State | None:
    """The state in which a model is asked beside a doubtful patch of the search; `None` where the
    patch is convincing, there is no model, or one was asked already."""
    first = ctx.first_report
    if (
        not is_repaired(state) or state.get("doubtful_id") or state["strategy"] == "model"
        or state["confidence"] >= ctx.settings.require_confidence
        or state["strategy"] == "person" or not may_ask(ctx) or first is None
    ):
        return None
    rounds = ctx.rounds(state)
    following = go_on(state, ctx, rounds)
    if isinstance(following, NoMore):
        return None
    suite = ctx.store.get(state["suite_id"], Suite)
    kept = Reserve(
        solution=ctx.store.get(state["solution_id"], Solution),
        report=ctx.store.get(state["report_id"], Report),
        strategy=state["strategy"], note=state["note"], proof=state["proof"],
        proof_why=state["proof_why"], confidence=state["confidence"], unsure=state["unsure"],
        rivals_id=state.get("rivals_id", ""),
    )
    ctx.emit(Notice(level="info", text=(
        f"The patch found is {kept.confidence:.0%} likely right: {kept.unsure}. A model is asked "
        "for another."
    )))
    last = rounds.all[-1] if rounds.all else Iteration(approach="search")
    approach = "minimal" if following == "search" else following
    return begun(state, ctx, approach, last) | {
        "doubtful_id": ctx.store.put(kept), "solution_id": state["base_id"],
        "report_id": ctx.store.put(suite.ruled(first)), "escalated": True, "taken": False,
        "asking": False, "rivals_id": "", "caveat": "", "others_fit": False,
    }


def restored(
    state: State, store: Store, emit: Callable[[Event], object], refused: RunOutcome | None
) -> tuple[State, RunOutcome | None]:
    """The state, and how the run ends, with the patch in reserve, where nothing more likely was
    found; else both as they are."""
    if not state.get("doubtful_id") or refused == "cancelled":
        return state, refused
    kept = store.get(state["doubtful_id"], Reserve)
    if refused is None and is_repaired(state) and state["confidence"] >= kept.confidence:
        return state, None
    base = store.get(state["base_id"], Solution)
    number = state["iteration"] + 1
    propose(emit, number, kept.strategy, kept.solution, base)
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
