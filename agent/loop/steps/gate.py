"""Gate, permit, help and ask: a person decides whether a repair is kept or a model is asked, what
else is tried, and which behaviour is right. Nothing happens before `interrupt`, as the step is run
again from its first line."""

from __future__ import annotations

import json

from langgraph.types import interrupt

from agent.core.domain import Alternatives, CompetingPatches, Solution, TestCase
from agent.core.events import Ambiguous, Notice, fold_attempts
from agent.core.settings import GENERATOR
from agent.core.state import Iteration, State, Suite, is_repaired
from agent.iteration.context import Context, propose
from agent.iteration.doubtful_patch import second_opinion
from agent.iteration.escalation import NoMore
from agent.iteration.iterations import STOPPED, begun, go_on, may_ask
from agent.iteration.search.driver import confirmed_alternatives
from agent.log.best import best_of
from agent.loop.steps.specify import announce
from agent.report.waiting import Review
from agent.search.ranking.question import (
    MAX_ASKED,
    BadAnswer,
    answered_test,
    fitting,
    in_words,
    question,
)

MAX_EDITS = 10
"""Failing programs of a person in a row."""
NO_READER = "no model is there that could read it"


async def permit(state: State, ctx: Context) -> State:
    """Waits for leave to ask a model for a program or a repair; asked where `asks_leave`."""
    model = ctx.plan.of(GENERATOR)
    assert model is not None, "leave is asked for where there is a model"
    what = "a repair" if "base_id" in state else "a first program"
    tests = ctx.store.get(state["suite_id"], Suite).visible
    answer = Review.of(interrupt({
        "question": f"Ask {model.words} for {what}? It is judged by {len(tests)} tests: "
        f"{'; '.join(test.name for test in tests[:5])}{' …' if len(tests) > 5 else ''}",
        "needs": "leave",
    }))
    if answer.approve:
        return {"permitted": True}
    return {
        "outcome": "unresolved", "stopped": "person",
        "reason": f"leave to ask {model.words} for {what} was not given",
    }


async def gate(state: State, ctx: Context) -> State:
    """Passes, or waits for a `Review` of the repair."""
    other = second_opinion(state, ctx)
    if other is not None:
        return other
    reviews_drafts = ctx.settings.autonomy_level == "review_all" and ctx.task.solution is None
    if ctx.settings.autonomy_level == "full_auto" or not (is_repaired(state) or reviews_drafts):
        return {"asking": False, "escalated": False}
    base = ctx.store.get(state["base_id"], Solution)
    solution = ctx.store.get(state["solution_id"], Solution)
    what = "repair" if is_repaired(state) else "first draft"
    edited = state.get("edit_told", "")
    answer = Review.of(interrupt({
        "question": f"{edited}Keep {'that' if edited else 'this'} {what}? "
        f"Proof {state['proof']}: {state['proof_why']}",
        "needs": "review", "diff": solution.diff(base), "code": solution.text,
        "tried": state.get("edit_tried", ""), "unhinted": _unhinted(state, ctx),
    }))
    if answer.code is not None and answer.code != solution.text:
        return await _changed(state, ctx, solution.with_text(answer.code, origin="user"))
    if answer.approve or answer.code is not None:  # the program as it should be stands there
        return {"asking": False, "escalated": False, "accepted": True}
    return _rejected(state, ctx, answer.hint, solution, what)


async def help_(state: State, ctx: Context) -> State:
    """Waits for a `Review` where every way was tried: a hint for a model, or the program itself."""
    base = ctx.store.get(state["base_id"], Solution)
    found = best_of(fold_attempts(ctx.log()))
    best = base if found is None else found.solution
    answer = Review.of(interrupt({
        "question": f"{state.get('edit_told', '')}No repair was found: {state['reason']}. "
        "What else is to be tried?",
        "needs": "help", "diff": best.diff(base), "code": best.text,
        "tried": state.get("edit_tried", ""),
        "unhinted": NO_READER if ctx.plan.of(GENERATOR) is None else "",
    }))
    if answer.code is not None:
        edited = best.with_text(answer.code, origin="user")
        update = await _changed(state, ctx, edited)
        kept = update.get("edited", False)
        return update | {"outcome": None, "stopped": None} if kept else update
    if not answer.hint.strip() or ctx.plan.of(GENERATOR) is None:
        return {"helped": True, "asking": False}
    rounds = ctx.rounds(state).with_note(f"A person says: {answer.hint.strip()}")
    return {
        "rounds_id": ctx.store.put(rounds), "approach": "rewrite", "paid": True, "asking": False,
        "outcome": None, "stopped": None, "escalated": True, "taken": False,
        "edit_told": "", "edit_tried": "",
    }


async def _changed(state: State, ctx: Context, edited: Solution) -> State:
    """A person's own edit is judged like any other; one that fails is reported with the
    question."""
    suite = ctx.store.get(state["suite_id"], Suite)
    report = suite.ruled(await ctx.judge(edited, suite.all))
    if not report.passed:
        failing = "; ".join(f"{one.name}: {one.message}" for one in report.failing[:3])
        many = len(report.failing)
        words = f"Your version fails {many} test{'s' * (many > 1)} ({failing})"
        count = state.get("failed_edits", 0) + 1
        if count >= MAX_EDITS:
            return {
                "outcome": "unresolved", "stopped": "person", "asking": False, "helped": True,
                "reason": f"{count} programs of a person's failed; {words[0].lower()}{words[1:]}",
            }
        return {
            "asking": True, "failed_edits": count, "edit_tried": edited.text,
            "edit_told": f"{words}; what stood before it stays. ",
        }
    base = ctx.store.get(state["base_id"], Solution)
    note = f"{state['note']}, changed by a person" if state.get("note") else "changed by a person"
    edited = edited.model_copy(update={"note": note})
    propose(ctx.emit, state["iteration"], "person", edited, base)
    if suite.held_out:  # its author has seen every test
        suite = suite.shown().model_copy(update={"unheld": "seen"})
    return {
        "solution_id": ctx.store.put(edited), "note": note, "strategy": "person", "rivals_id": "",
        "suite_id": ctx.store.put(suite), "asking": False, "edited": True,
        "failed_edits": 0, "edit_told": "", "edit_tried": "",
    }


def _unhinted(state: State, ctx: Context) -> str:
    if not is_repaired(state):
        return "what a first draft lacks belongs into the task's words"
    if ctx.plan.of(GENERATOR) is None:
        return NO_READER
    if not may_ask(ctx):
        return "no time is left for a model to read it"
    following = go_on(state, ctx, ctx.rounds(state))
    return STOPPED.get(following.why, "") if isinstance(following, NoMore) else ""


def _rejected(state: State, ctx: Context, hint: str, solution: Solution, what: str) -> State:
    """The end, or with a hint another iteration by a model from the first program."""
    reason = f"the {what} was rejected at the gate"
    over: State = {"outcome": "unresolved", "stopped": "person", "asking": False}
    why = _unhinted(state, ctx) if hint.strip() else ""
    if why or not hint.strip():
        return over | {"reason": f"{reason}; {why}" if why else reason}
    base = ctx.store.get(state["base_id"], Solution)
    rounds = ctx.rounds(state).with_note(
        f"{solution.diff(base)}\nA person has rejected this, and says: {hint.strip()}"
    )
    last = rounds.all[-1] if rounds.all else Iteration(approach="search")
    following = go_on(state, ctx, rounds)
    if isinstance(following, NoMore) or following == "search":
        following = "rewrite"  # no search reads a hint
    first = ctx.first_report
    suite = ctx.store.get(state["suite_id"], Suite)
    return begun(state, ctx, following, last) | {
        "rounds_id": ctx.store.put(rounds), "solution_id": state["base_id"], "escalated": True,
        "report_id": state["report_id"] if first is None else ctx.store.put(suite.ruled(first)),
        "taken": False, "asking": False, "edited": False, "rivals_id": "",
        "edit_told": "", "edit_tried": "",
    }


async def ask(state: State, ctx: Context) -> State:
    """Passes, or waits for `{"answer": ...}`; the answer joins the suite as a test (see
    `answered_test`)."""
    if not ctx.settings.ask or not state.get("rivals_id") or state.get("asked", 0) >= MAX_ASKED:
        return {"asking": False}
    alternatives = ctx.store.get(state["rivals_id"], Alternatives)
    base = ctx.store.get(state["base_id"], Solution)
    rivals = question(alternatives, base)
    if rivals is None:
        return {"asking": False}
    words = in_words(rivals)
    given = interrupt({
        "question": f"{words[0].upper()}{words[1:]}: which is right?", "diff": "",
        "rivals": json.loads(rivals.to_json()),
    })
    test = _test(rivals, given, ctx)
    if test is None:
        # A user who skips one question is not asked the next; this one stays to be seen.
        ctx.emit(Ambiguous(iteration=state["iteration"], rivals=rivals))
        return {"asking": False, "asked": MAX_ASKED}
    announce(ctx, (test,))
    suite = ctx.store.get(state["suite_id"], Suite)
    suite = suite.model_copy(update={"visible": (*suite.visible, test)})
    left = await confirmed_alternatives(
        fitting(alternatives, test), lambda one: ctx.judge(one, suite.visible),
        lambda: ctx.seconds_left <= 0,
    )
    return _chosen(state, ctx, base, left) | {
        "suite_id": ctx.store.put(suite), "asked": state.get("asked", 0) + 1,
    }


def _test(rivals: CompetingPatches, given: object, ctx: Context) -> TestCase | None:
    answer = given.get("answer") if isinstance(given, dict) else None
    try:
        return answered_test(rivals, answer if isinstance(answer, str) else "")
    except BadAnswer as error:
        ctx.emit(Notice(level="warning", text=f"The question was left open. {error}"))
        return None


def _chosen(state: State, ctx: Context, base: Solution, left: Alternatives) -> State:
    """The state with the likeliest behaviour left; else the program stays, and fails the new
    test."""
    if not left.behaviours:
        return {"rivals_id": "", "asking": False}
    first = left.behaviours[0]
    update: State = {
        "rivals_id": ctx.store.put(left) if len(left.behaviours) > 1 else "", "asking": False,
    }
    key = ctx.store.put(first.solution)
    if key != state["solution_id"]:
        propose(ctx.emit, state["iteration"], "search", first.solution, base)
        update |= {"solution_id": key, "note": first.note}
    further = question(left, base)
    if further is not None:
        ctx.emit(Ambiguous(iteration=state["iteration"], rivals=further))
        update["asking"] = state.get("asked", 0) + 1 < MAX_ASKED
    return update
