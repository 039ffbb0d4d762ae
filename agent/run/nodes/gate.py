"""Gate: a person's word before a repair is kept, when that was asked for.

It does nothing before `interrupt`, since a step that interrupts is run again from its first
line when it is resumed.
"""

from __future__ import annotations

from langgraph.types import interrupt

from agent.core.domain import Solution
from agent.core.state import State, is_repaired
from agent.healing.context import Context


async def gate(state: State, ctx: Context) -> State:
    """Passes, or waits for `{"approve": bool}`."""
    if ctx.settings.autonomy_level == "full_auto" or not is_repaired(state):
        return {}
    base = ctx.store.get(state["base_id"], Solution)
    solution = ctx.store.get(state["solution_id"], Solution)
    answer = interrupt(
        {
            "question": f"Keep this repair? Proof {state['proof']}: {state['proof_why']}",
            "diff": solution.diff(base),
        }
    )
    if isinstance(answer, dict) and answer.get("approve") is True:
        return {}
    return {"outcome": "unresolved", "reason": "the repair was rejected at the gate"}
