"""Learn: what helped is written down after it is proven, with how it was proven."""

from __future__ import annotations

from agent.context import Context
from agent.domain import Diagnosis, Fix, Solution
from agent.events import LessonLearned
from agent.roles import MEMORY_SUMMARISER, ask
from agent.state import State


async def learn(state: State, ctx: Context) -> State:
    """Stores the fix under the signature of the failure it healed, and a lesson in words.

    Only what passed tests is worth remembering, and a fix recalled is known already.
    """
    if state["iteration"] == 0 or state["strategy"] == "memory" or state["proof"] == "E0":
        return {}
    diagnosis = ctx.store.get(state["diagnosis_id"], Diagnosis)
    lesson = await ask(
        ctx,
        MEMORY_SUMMARISER,
        {"cause": diagnosis.cause, "category": diagnosis.category, "note": state["note"]},
    )
    ctx.memory.learn(lesson)
    base = ctx.store.get(state["base_id"], Solution)
    storable = "signature" in state and len(base.files) == 1
    if storable:
        ctx.memory.remember(
            Fix.model_validate(
                {
                    "signature": state["signature"],
                    "before": base.text,
                    "after": ctx.store.get(state["solution_id"], Solution).text,
                    "proof": state["proof"],
                    "note": state["note"],
                }
            )
        )
    ctx.emit(LessonLearned(text=lesson.text, category=lesson.category, stored_fix=storable))
    return {}
