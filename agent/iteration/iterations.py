"""The rounds of one run: what each starts from, how it is counted, and which follows."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Sequence

from agent.core.domain import Approach, Diagnosis, Report, Solution
from agent.core.events import Extended, IterationEnded, Judged, Notice, Stamped, StepStarted
from agent.core.settings import GENERATOR
from agent.core.state import Iteration, Iterations, State, Stop, Suite
from agent.core.trees import tree_of
from agent.iteration.context import Context
from agent.iteration.escalation import NoMore, RunSituation, next_approach
from agent.iteration.strategies import Attempt, is_guess, specified_by
from llm.errors import OverBudget
from llm.provider import row_of

DEBUGGER = "debugger"
LEAST_S, LEAST_SHARE = 5.0, 0.2
"""Seconds of a run below which no model is asked, since its answer would not be judged in time; of
a run of few seconds the share of them."""
LEAST_AT_ODDS = 3
"""Rounds, with that of the program as it came, before tests are said never to pass together."""
STOPPED: dict[Stop, str] = {
    "iterations": "as many rounds as allowed were tried",
    "stuck": "every way to a repair was tried",
}


def attempt_of(state: State, ctx: Context) -> Attempt:
    """What the next round starts from. A search goes around the program as it came, or the one
    that was forked, and last around a repair that a held-out test has refuted; a model is shown the
    one that has come nearest."""
    suite = ctx.store.get(state["suite_id"], Suite)
    first = state.get("around_id", state["base_id"])
    searches = state["approach"] == "search"
    key = first if searches else state["solution_id"]
    refuted = searches and suite.consulted and state["solution_id"] != key
    return Attempt(
        solution=ctx.store.get(key, Solution),
        tests=tuple(test for test in suite.oracle if test.name not in suite.flaky),
        report=suite.without_held_out(ctx.store.get(state["report_id"], Report)),
        diagnosis=ctx.store.get(state["diagnosis_id"], Diagnosis),
        together=bool(suite.together), is_second=bool(state.get("doubtful_id")),
        nearer=ctx.store.get(state["solution_id"], Solution) if refuted else None,
    )


def first_or_next(state: State, ctx: Context) -> State:
    """The state after a program that was taken has failed a test that it had not seen, and before
    the first round: how the next one goes about it, or why there is none."""
    rounds = ctx.rounds(state)
    update: State = {"taken": False}
    if state.get("taken") and rounds.all:
        rounds = rounds.refuted()
        update["rounds_id"] = ctx.store.put(rounds)
    following = go_on(state, ctx, rounds)
    last = rounds.all[-1] if rounds.all else Iteration(approach="search")
    if isinstance(following, NoMore):
        return update | stopped(ctx, following.why, last)
    return update | begun(state, ctx, following, last) | {"escalated": False}


def by_diagnosis(state: State, ctx: Context) -> Approach:
    """The way of the next round by a diagnosis made since that was chosen: one that is no more than
    a guess, or that names a way."""
    following = go_on(state, ctx, ctx.rounds(state))
    return state["approach"] if isinstance(following, NoMore) else following


def go_on(state: State, ctx: Context, rounds: Iterations) -> Approach | NoMore:
    """The way of the next round, or why there is none."""
    if state.get("doubtful_id") and is_small(ctx) and "minimal" in {
        one.approach for one in rounds.all
    }:
        return NoMore("stuck")  # its further tries cost more than a second opinion is worth
    suite = ctx.store.get(state["suite_id"], Suite)
    has_model = may_ask(ctx)
    confidence, suggested = 1.0, None
    if "diagnosis_id" in state and ctx.plan.of(DEBUGGER) is not None:
        found = ctx.store.get(state["diagnosis_id"], Diagnosis)
        suggested = found.suggests  # no rule names a way
        if state.get("paid") or suggested:
            confidence = found.confidence
    # Where neither tests nor words say what a program does, to stop its crash is all that is asked.
    specified = specified_by(suite.oracle) or not (suite.oracle or ctx.task.text)
    return next_approach(rounds.all, RunSituation(
        drafted=is_guess(ctx.task, suite.oracle), has_model=has_model,
        may_search=ctx.settings.enable_search and (specified or not has_model),
        most=ctx.settings.max_iterations, parallel=side_by_side(ctx),
        confidence=confidence, suggested=suggested, small=is_small(ctx),
    ))


def may_ask(ctx: Context) -> bool:
    """Whether a model can bring a repair, and time is left to judge it."""
    return ctx.plan.of(GENERATOR) is not None and ctx.seconds_left > least_s(ctx)


def least_s(ctx: Context) -> float:
    """The last seconds of a run, which are kept for a verdict."""
    return min(LEAST_S, LEAST_SHARE * ctx.settings.budget_s)


def side_by_side(ctx: Context) -> int:
    """Repairs that may be asked for at once: a model in this process answers one after the other,
    and those that wait would run out of time."""
    choice = ctx.plan.of(GENERATOR)
    one_by_one = choice is not None and row_of(choice.provider).in_process
    return 1 if one_by_one else ctx.settings.parallel_strategies


def is_small(ctx: Context) -> bool:
    """Whether the generator is a small model, which needs a plain question and several samples."""
    choice = ctx.plan.of(GENERATOR)
    return choice is not None and choice.is_small


def begun(state: State, ctx: Context, approach: Approach, found: Iteration) -> State:
    """The next round; the first that asks a model says so, and has the failure diagnosed by one."""
    paid = state.get("paid", False)
    if approach != "search" and not paid and found.feedback and ctx.task.solution is not None:
        model = ctx.plan.of(GENERATOR)
        ctx.emit(Notice(level="info", text=(
            f"No repair was found without a model ({found.feedback}). From here on models are asked"
            f"{f', {model.words} for a repair' if model else ''}."
        )))
    return {
        "approach": approach, "paid": paid or approach != "search",
        "escalated": (not paid and approach != "search") or found.better,
    }


def stopped(ctx: Context, why: Stop, found: Iteration) -> State:
    if ctx.plan.of(GENERATOR) is not None and not may_ask(ctx):
        return time_is_over(ctx)
    last = found.feedback.splitlines()[-1] if found.feedback else ""
    if last and found.approach != "search":
        last = f"the last try {last}"
    if found.refuted:  # only its change is reported
        last = "the last repair passed, and then failed a test that it had not seen"
    if why == "no_model":
        reason = last or "no model is there to ask, and the search is switched off"
    else:
        reason = f"{STOPPED[why]}; {last}".rstrip("; ")
    pair = at_odds(ctx.log())
    if pair is not None:
        reason += (
            f"; each program that was judged passes one of `{pair[0]}` and `{pair[1]}` and fails "
            "the other: do these two tests contradict each other?"
        )
    return {"outcome": "unresolved", "stopped": why, "reason": reason}


def at_odds(log: Iterable[Stamped]) -> tuple[str, str] | None:
    """Two tests of which each program of three rounds or more passes one and fails the other, one
    of them no other test beside it."""
    reports = {
        (entry.event.iteration, entry.event.report.solution): entry.event.report
        for entry in log if isinstance(entry.event, Judged)
    }
    nearest = min(reports.values(), key=lambda one: len(one.failing), default=None)
    if nearest is None or len(nearest.failing) != 1 or len(reports) < LEAST_AT_ODDS:
        return None
    passed = [{one.name for one in each.oracle if one.passed} for each in reports.values()]
    left = nearest.failing[0].name
    if not any(left in names for names in passed):
        return None
    others = [one.name for one in nearest.oracle if one.passed]
    return next(
        ((other, left) for other in others
         if all((other in names) != (left in names) for names in passed)), None,
    )


def counted(state: State, ctx: Context, found: Iteration) -> State:
    """The state with one round more."""
    known = ctx.rounds(state)
    ctx.emit(IterationEnded(
        iteration=state["iteration"] + 1, approach=found.approach, better=found.better,
    ))
    return {
        "rounds_id": ctx.store.put(known.model_copy(update={"all": (*known.all, found)})),
        "iteration": state["iteration"] + 1, "escalated": False, "taken": False,
    }


def time_is_over(ctx: Context) -> State:
    """Ends the run; where it pauses, asks for more time, and uses what was given since."""
    words = f"the run's {ctx.settings.budget_s:g} seconds are over"
    if ctx.seconds_left > LEAST_S:
        words = "the clock cut the search before it had worked as long as it may, on a busy machine"
    if not ctx.pauses:
        return {"outcome": "budget", "stopped": "time", "reason": words}
    for entry in reversed(ctx.log()):
        match entry.event:
            case Extended():
                return {"escalated": True}
            case StepStarted(step="repair" | "attempt"):
                break
    raise OverBudget(words, "run seconds")


def fingerprint(solution: Solution) -> str:
    """The same for programs that differ in comments and layout only."""
    texts = []
    for file in sorted(solution.files, key=lambda one: one.path):
        try:
            texts.append(ast.dump(tree_of(file.text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            texts.append(file.text)
    return _hashed(texts)


def signature(report: Report | None) -> str:
    """The same for programs that fail the same tests in the same way."""
    if report is None or report.passed:
        return ""
    return _hashed([f"{one.name}\n{one.got or one.message}" for one in report.failing])


def _hashed(texts: Sequence[str]) -> str:
    return hashlib.sha256(
        "\0".join(texts).encode("utf-8", "surrogatepass")
    ).hexdigest()[:16]
