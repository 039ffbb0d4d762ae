"""The interactive steps: `permit` (call a model?), `gate` (accept the repair?), `help` (what to try
next?) and `ask` (which behaviour is right?). A step has no effects before `interrupt`,
because it runs again from its first line after the answer."""

from __future__ import annotations

import json

from langgraph.types import interrupt

from agent.core.domain import Alternatives, CompetingPatches, Solution, TestCase, counted
from agent.core.events import Ambiguous, Notice, without_retries
from agent.core.settings import GENERATOR
from agent.core.state import State, Suite, is_repaired
from agent.iteration.context import Context, log_patch
from agent.iteration.doubtful_patch import ask_for_alternative
from agent.iteration.escalation import Exhausted
from agent.iteration.iterations import (
    STOP_REASONS,
    choose_approach,
    may_ask_model,
    start_iteration,
)
from agent.iteration.search.driver import confirmed_alternatives
from agent.log.best import best_of
from agent.loop.steps.specify import log_added_tests
from agent.report.waiting import Review
from agent.search.ranking.question import (
    MAX_ASKED,
    BadAnswer,
    answered_test,
    behaviours_passing,
    describe_behaviours,
    matches_a_patch,
    question,
)

MAX_EDITS = 10
"""The maximum number of failing programs that a user may submit in a row."""
NO_MODEL_FOR_HINT = "no model is available to read it"


async def permit(state: State, ctx: Context) -> State:
    """Waits for permission to ask a model for a program or a repair."""
    model = ctx.plan.of(GENERATOR)
    assert model is not None, "permission is asked for only if there is a model"
    what = "a repair" if "base_id" in state else "a first program"
    tests = ctx.store.get(state["suite_id"], Suite).visible
    answer = Review.of(interrupt({
        "question": f"Ask {model.words} for {what}? Judged by {counted(len(tests), 'test')}: "
        f"{'; '.join(test.name for test in tests[:5])}{' …' if len(tests) > 5 else ''}",
        "needs": "permission",
    }))
    if answer.approve:
        return {"permitted": True}
    return {
        "outcome": "unresolved", "stopped": "person",
        "reason": f"the user did not permit asking {model.words} for {what}",
    }


async def gate(state: State, ctx: Context) -> State:
    """Accepts the repair at once, or waits for a user's `Review` of it."""
    other = ask_for_alternative(state, ctx)
    if other is not None:
        return other
    reviews_drafts = ctx.settings.autonomy_level == "review_all" and ctx.task.solution is None
    if ctx.settings.autonomy_level == "full_auto" or not (is_repaired(state) or reviews_drafts):
        return {"asking": False, "rediagnose": False}
    base = ctx.store.get(state["base_id"], Solution)
    solution = ctx.store.get(state["solution_id"], Solution)
    what = "repair" if is_repaired(state) else "first draft"
    answer = Review.of(interrupt({
        "question": f"{state.get('edit_feedback', '')}Accept the {what}? "
        f"Proof {state['proof']}: {state['proof_why']}",
        "needs": "review", "diff": solution.diff(base), "code": solution.text,
        "tried": state.get("edit_tried", ""), "hint_refusal": _hint_refusal(state, ctx),
    }))
    if answer.code is not None and answer.code != solution.text:
        return await _judge_edit(state, ctx, solution.with_text(answer.code, origin="user"))
    if answer.approve or answer.code is not None:  # the submitted text is the repair itself
        return {"asking": False, "rediagnose": False, "accepted": True}
    return _reject(state, ctx, answer.hint, solution, what)


async def help_(state: State, ctx: Context) -> State:
    """Waits for a `Review` after all approaches failed: a hint for a model, or a program."""
    base = ctx.store.get(state["base_id"], Solution)
    found = best_of(without_retries(ctx.log()))
    best = base if found is None else found.solution
    answer = Review.of(interrupt({
        "question": f"{state.get('edit_feedback', '')}No repair was found: {state['reason']}. "
        "What should be tried next?",
        "needs": "help", "diff": best.diff(base), "code": best.text,
        "tried": state.get("edit_tried", ""),
        "hint_refusal": NO_MODEL_FOR_HINT if ctx.plan.of(GENERATOR) is None else "",
    }))
    if answer.code is not None:
        edited = best.with_text(answer.code, origin="user")
        update = await _judge_edit(state, ctx, edited)
        accepted = update.get("edited", False)
        return update | {"outcome": None, "stopped": None} if accepted else update
    if not answer.hint.strip() or ctx.plan.of(GENERATOR) is None:
        return {"asked_user": True, "asking": False}
    iterations = ctx.iterations(state).with_note(f"A person says: {answer.hint.strip()}")
    return {
        "iterations_id": ctx.store.put(iterations), "approach": "rewrite", "models_allowed": True,
        "asking": False, "outcome": None, "stopped": None, "rediagnose": True,
        "passed_visible": False, "edit_feedback": "", "edit_tried": "",
    }


async def _judge_edit(state: State, ctx: Context, edited: Solution) -> State:
    """Judges a user's edit like any other; a failing edit is reported with the next question."""
    suite = ctx.store.get(state["suite_id"], Suite)
    report = suite.with_current_origins(await ctx.judge(edited, suite.all))
    if not report.passed:
        failing = "; ".join(f"{one.name}: {one.message}" for one in report.failing[:3])
        words = f"Your version fails {counted(len(report.failing), 'test')} ({failing})"
        count = state.get("failed_edits", 0) + 1
        if count >= MAX_EDITS:
            return {
                "outcome": "unresolved", "stopped": "person", "asking": False, "asked_user": True,
                "reason": f"{count} of the user's programs failed; {words[0].lower()}{words[1:]}",
            }
        return {
            "asking": True, "failed_edits": count, "edit_tried": edited.text,
            "edit_feedback": f"{words}, so the previous version is kept. ",
        }
    base = ctx.store.get(state["base_id"], Solution)
    note = f"{state['note']}, changed by the user" if state.get("note") else "changed by the user"
    edited = edited.model_copy(update={"note": note})
    log_patch(ctx.emit, state["iteration"], "person", edited, base)
    if suite.held_out:  # the user has seen every test
        suite = suite.revealed().model_copy(update={"not_held_out": "seen"})
    return {
        "solution_id": ctx.store.put(edited), "note": note, "strategy": "person",
        "alternatives_id": "", "suite_id": ctx.store.put(suite), "asking": False, "edited": True,
        "failed_edits": 0, "edit_feedback": "", "edit_tried": "",
    }


def _hint_refusal(state: State, ctx: Context) -> str:
    if not is_repaired(state):
        return "requirements of a first draft belong in the task's text"
    if ctx.plan.of(GENERATOR) is None:
        return NO_MODEL_FOR_HINT
    if not may_ask_model(ctx):
        return "no time is left for a model to use it"
    next_approach = choose_approach(state, ctx, ctx.iterations(state))
    return STOP_REASONS.get(next_approach.why, "") if isinstance(next_approach, Exhausted) else ""


def _reject(state: State, ctx: Context, hint: str, solution: Solution, what: str) -> State:
    """Ends the run, or with a hint starts another model iteration from the first program."""
    reason = f"the {what} was rejected at the gate"
    why = _hint_refusal(state, ctx) if hint.strip() else ""
    if why or not hint.strip():
        return {
            "outcome": "unresolved", "stopped": "person", "asking": False,
            "reason": f"{reason}; {why}" if why else reason,
        }
    base = ctx.store.get(state["base_id"], Solution)
    iterations = ctx.iterations(state).with_note(
        f"{solution.diff(base)}\nA person has rejected this, and says: {hint.strip()}"
    )
    next_approach = choose_approach(state, ctx, iterations)
    if isinstance(next_approach, Exhausted) or next_approach == "search":
        next_approach = "rewrite"  # a search cannot use a hint
    first = ctx.first_report
    suite = ctx.store.get(state["suite_id"], Suite)
    return start_iteration(state, ctx, next_approach, iterations.last) | {
        "iterations_id": ctx.store.put(iterations), "solution_id": state["base_id"],
        "rediagnose": True, "report_id": state["report_id"] if first is None
        else ctx.store.put(suite.with_current_origins(first)),
        "passed_visible": False, "asking": False, "edited": False, "alternatives_id": "",
        "edit_feedback": "", "edit_tried": "",
    }


async def ask(state: State, ctx: Context) -> State:
    """Passes, or waits for `{"answer": ...}` and adds the answer as a test (`answered_test`)."""
    asked = state.get("asked", 0)
    if not ctx.settings.ask or not state.get("alternatives_id") or asked >= MAX_ASKED:
        return {"asking": False}
    alternatives = ctx.store.get(state["alternatives_id"], Alternatives)
    base = ctx.store.get(state["base_id"], Solution)
    patches = question(alternatives, base)
    if patches is None:
        return {"asking": False}
    words = describe_behaviours(patches)
    reply = interrupt({
        "question": f"{words[0].upper()}{words[1:]}: which is right?", "diff": "",
        "competing": json.loads(patches.to_json()),
    })
    test = _parse_answer(patches, reply, ctx)
    if test is None:
        # A user who skips one question is not asked another; the run reports this one as open.
        ctx.emit(Ambiguous(iteration=state["iteration"], competing=patches))
        return {"asking": False, "asked": MAX_ASKED}
    log_added_tests(ctx, (test,))
    suite = ctx.store.get(state["suite_id"], Suite)
    suite = suite.model_copy(update={"visible": (*suite.visible, test)})
    remaining = await confirmed_alternatives(
        behaviours_passing(alternatives, test), lambda one: ctx.judge(one, suite.visible),
        lambda: ctx.seconds_left <= 0,
    )
    update = _take_first(state, ctx, base, remaining) | {
        "suite_id": ctx.store.put(suite), "asked": asked + 1,
    }
    if not matches_a_patch(patches, test):  # maybe a mistake: only a test, it selects no patch
        return update | {"answer_matched_no_patch": True}
    return update | {"chosen_in": state["iteration"]}


def _parse_answer(patches: CompetingPatches, reply: object, ctx: Context) -> TestCase | None:
    answer = reply.get("answer") if isinstance(reply, dict) else None
    try:
        return answered_test(patches, answer if isinstance(answer, str) else "")
    except BadAnswer as error:
        ctx.emit(Notice(level="warning", text=f"The question stays open. {error}"))
        return None


def _take_first(state: State, ctx: Context, base: Solution, remaining: Alternatives) -> State:
    """Takes the likeliest behaviour that passes the new test; if none does, keeps the program."""
    if not remaining.behaviours:
        return {"alternatives_id": "", "asking": False}
    first = remaining.behaviours[0]
    several = len(remaining.behaviours) > 1
    update: State = {
        "alternatives_id": ctx.store.put(remaining) if several else "", "asking": False
    }
    key = ctx.store.put(first.solution)
    if key != state["solution_id"]:
        log_patch(ctx.emit, state["iteration"], "search", first.solution, base)
        update |= {"solution_id": key, "note": first.note}
    further = question(remaining, base)
    if further is not None:
        ctx.emit(Ambiguous(iteration=state["iteration"], competing=further))
        update["asking"] = state.get("asked", 0) + 1 < MAX_ASKED
    return update
