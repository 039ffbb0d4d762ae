"""The learn step: stores a proven fix and a lesson in the memory, with the proof level."""

from __future__ import annotations

from agent.core.domain import Alternatives, CompetingPatches, Diagnosis, Lesson, Solution
from agent.core.events import LessonLearned, Notice
from agent.core.state import State, is_repaired
from agent.iteration.context import Context
from agent.memory import (
    FailureKey,
    Fix,
    MemoryFault,
    failure_description,
    is_small_edit,
    project_key,
)
from agent.memory.fixes import OWN, Competition, project_origin
from agent.propose.roles import MEMORY_SUMMARISER, Summary, ask_or_none
from agent.search.ranking.question import question
from llm.errors import NeedsKey, OverBudget

LARGE = "only small edits are stored"
NO_FAILURE_KEY = "the run began with a task text, so there is no failure to store the edit under"
UNMATCHED = "an answer was a value that no patch gave, and runs without this answer may differ"
SEVERAL_FILES = "edits of several files are stored only for projects"
LONG = "the program is too long or cannot be encoded as a file"


async def learn(state: State, ctx: Context) -> State:
    """Stores a fix under the failure it healed, and a lesson, if the repair counts as healed or was
    accepted. A recalled fix is stored again only if it healed another failure."""
    if not is_repaired(state) or state["proof"] == "E0":
        return {}
    if state["confidence"] < ctx.settings.require_confidence and not state.get("accepted"):
        return {}
    if not (ctx.learn and ctx.settings.enable_cross_session_memory):
        return {}
    try:
        if state["strategy"] != "memory" and "diagnosis_id" in state:
            await _write_lesson(state, ctx)
        elif state.get("transferred"):
            _store_fix(state, ctx, state["transferred"])
    except MemoryFault as error:
        ctx.emit(Notice(level="warning", text=f"{error} The fix is not stored."))
    return {}


async def _write_lesson(state: State, ctx: Context) -> None:
    diagnosis = ctx.store.get(state["diagnosis_id"], Diagnosis)
    base = ctx.store.get(state["base_id"], Solution)
    failure = ctx.store.get(state["failure_id"], FailureKey) if "failure_id" in state else None
    refusal = _store_fix(state, ctx, state["note"])
    if refusal:
        ctx.emit(Notice(level="info", text=f"The edit is not stored as a fix: {refusal}."))
    summary = await _summary(state, ctx, diagnosis, not refusal)
    if summary is None:
        return
    lesson = Lesson(text=summary.text, category=summary.category)
    project = ctx.task.project
    ctx.memory.learn(
        lesson, failure_description(diagnosis, failure, base.text),
        origin=project_origin(project.root) if project is not None else OWN,
    )
    ctx.emit(LessonLearned(text=lesson.text, category=lesson.category, stored_fix=not refusal))


async def _summary(
    state: State, ctx: Context, diagnosis: Diagnosis, stored: bool
) -> Summary | None:
    """Writes the lesson; a cap or a missing key does not stop the run."""
    without = "Only the edit is stored, without a lesson." if stored else "Nothing is learned."
    try:
        return await ask_or_none(
            ctx,
            MEMORY_SUMMARISER,
            {"cause": diagnosis.cause, "category": diagnosis.category, "note": state["note"]},
            rules_only=not state.get("models_allowed", False),  # a rule summarises a search's fix
            consequence=without,
        )
    except (OverBudget, NeedsKey) as error:
        ctx.emit(Notice(level="warning", text=f"{error}. {without}", role=MEMORY_SUMMARISER.name))
        return None


def _competition(
    state: State, ctx: Context, base: Solution
) -> tuple[Competition, CompetingPatches | None]:
    if state.get("competing_id"):
        return "open", ctx.store.get(state["competing_id"], CompetingPatches)
    if state["strategy"] != "search":
        return "unknown", None  # no search for competing patches was made
    if not state.get("alternatives_id"):
        return "settled", None
    others = ctx.store.get(state["alternatives_id"], Alternatives)
    return "open", question(others, base) if others.calls else None


def _store_fix(state: State, ctx: Context, note: str) -> str:
    """Stores the fix if it is a small edit of each file; otherwise returns why not."""
    base = ctx.store.get(state["base_id"], Solution)
    changed = ctx.store.get(state["solution_id"], Solution).changed_from(base)
    project = ctx.task.project
    if "failure_id" not in state:
        return NO_FAILURE_KEY
    if state.get("answer_matched_no_patch"):
        return UNMATCHED
    if not changed or not all(is_small_edit(one.before, one.after) for one in changed):
        return LARGE
    if project is None and len(base.files) != 1:
        return SEVERAL_FILES
    first, *others = changed
    fix = Fix.create(
        ctx.store.get(state["failure_id"], FailureKey), first.before, first.after,
        state["proof"], note, *_competition(state, ctx, base),
        confidence=1.0 if state.get("accepted") else state["confidence"],
        project="" if project is None else project_key(project),
        path="" if project is None else first.path, others=tuple(others),
    )
    if fix is None:
        return LONG
    ctx.memory.remember(fix)
    return ""
