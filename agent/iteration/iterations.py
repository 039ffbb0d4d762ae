"""The iterations of a run: the input of each, how it is recorded, and which one is next."""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Sequence

from agent.core.domain import Approach, Diagnosis, Report, Solution
from agent.core.events import Extended, IterationEnded, Judged, LogEntry, Notice, StepStarted
from agent.core.settings import GENERATOR
from agent.core.state import Iteration, Iterations, State, Stop, Suite
from agent.core.trees import tree_of
from agent.iteration.context import Context
from agent.iteration.escalation import Exhausted, RunSituation, next_approach
from agent.iteration.strategies import RepairInput, is_specified_by, is_unspecified_draft
from llm.errors import OverBudget
from llm.provider import provider_row

DEBUGGER = "debugger"
VERDICT_RESERVE_S, VERDICT_RESERVE_SHARE = 5.0, 0.2
"""The last part of a run, in seconds and as a share of its budget (the smaller one counts). No
model is asked in it, because its answer could not be judged in time."""
MIN_PROGRAMS = 3
"""Judged programs that are needed to report two tests as contradicting."""
STOP_REASONS: dict[Stop, str] = {
    "iterations": "the limit of iterations was reached",
    "stuck": "every repair approach was tried",
}


def repair_input(state: State, ctx: Context) -> RepairInput:
    """The input of the next iteration.

    A search starts from the submitted or forked program, and then from a repair that a held-out
    test refuted. A model starts from the best program so far.
    """
    suite = ctx.store.get(state["suite_id"], Suite)
    first = state.get("search_start_id", state["base_id"])
    searches = state["approach"] == "search"
    key = first if searches else state["solution_id"]
    refuted = searches and suite.held_out_revealed and state["solution_id"] != key
    return RepairInput(
        solution=ctx.store.get(key, Solution),
        tests=tuple(test for test in suite.deciding_tests if test.name not in suite.flaky),
        report=suite.without_held_out(ctx.store.get(state["report_id"], Report)),
        diagnosis=ctx.store.get(state["diagnosis_id"], Diagnosis),
        order_dependent=bool(suite.order_dependent),
        is_second_opinion=bool(state.get("unsure_repair_id")),
        refuted_repair=ctx.store.get(state["solution_id"], Solution) if refuted else None,
    )


def begin_iterations(state: State, ctx: Context) -> State:
    """Begins the first iteration, or the next one after a repair failed a held-out test."""
    iterations = ctx.iterations(state)
    update: State = {"passed_visible": False}
    if state.get("passed_visible") and iterations.all:
        iterations = iterations.refuted()
        update["iterations_id"] = ctx.store.put(iterations)
    following = choose_approach(state, ctx, iterations)
    if isinstance(following, Exhausted):
        return update | run_stopped(ctx, following.why, iterations.last)
    started = start_iteration(state, ctx, following, iterations.last)
    return update | started | {"rediagnose": False}


def approach_after_diagnosis(state: State, ctx: Context) -> Approach:
    """Returns the approach chosen with the new diagnosis, which may suggest another one or be too
    uncertain for a small edit; the current approach if no other is left."""
    following = choose_approach(state, ctx, ctx.iterations(state))
    return state["approach"] if isinstance(following, Exhausted) else following


def choose_approach(state: State, ctx: Context, iterations: Iterations) -> Approach | Exhausted:
    """The approach of the next iteration, or why there is none."""
    tried = {one.approach for one in iterations.all}
    if state.get("unsure_repair_id") and is_small(ctx) and "minimal" in tried:
        return Exhausted("stuck")  # further iterations cost more than a second opinion is worth
    suite = ctx.store.get(state["suite_id"], Suite)
    has_model = may_ask_model(ctx)
    confidence, suggested = 1.0, None
    if "diagnosis_id" in state and ctx.plan.of(DEBUGGER) is not None:
        found = ctx.store.get(state["diagnosis_id"], Diagnosis)
        suggested = found.suggests
        if state.get("models_allowed") or suggested:
            confidence = found.confidence
    # Without tests and a description, a repair only has to stop the crash.
    specified = is_specified_by(suite.deciding_tests) or not (suite.deciding_tests or ctx.task.text)
    return next_approach(iterations.all, RunSituation(
        unspecified_draft=is_unspecified_draft(ctx.task, suite.deciding_tests), has_model=has_model,
        may_search=ctx.settings.enable_search and (specified or not has_model),
        max_iterations=ctx.settings.max_iterations, parallel_repairs=parallel_repairs(ctx),
        confidence=confidence, suggested=suggested, small_model=is_small(ctx),
    ))


def may_ask_model(ctx: Context) -> bool:
    """Whether a model can write a repair, and time is left to judge it."""
    return ctx.plan.of(GENERATOR) is not None and ctx.seconds_left > verdict_reserve_s(ctx)


def verdict_reserve_s(ctx: Context) -> float:
    """The last seconds of a run, which are reserved for judging."""
    return min(VERDICT_RESERVE_S, VERDICT_RESERVE_SHARE * ctx.settings.budget_s)


def parallel_repairs(ctx: Context) -> int:
    """The number of repairs to request in parallel: 1 for a model in this process, because it
    answers one request at a time."""
    choice = ctx.plan.of(GENERATOR)
    one_by_one = choice is not None and provider_row(choice.provider).in_process
    return 1 if one_by_one else ctx.settings.parallel_strategies


def is_small(ctx: Context) -> bool:
    """Whether the generator is a small model, which needs short prompts and several samples."""
    choice = ctx.plan.of(GENERATOR)
    return choice is not None and choice.is_small


def start_iteration(state: State, ctx: Context, approach: Approach, found: Iteration) -> State:
    """Returns the state update that begins an iteration, and logs the first use of models.

    The failure is diagnosed again before the first model is asked, and if `found`, the last
    iteration, made progress.
    """
    allowed = state.get("models_allowed", False)
    if approach != "search" and not allowed and found.feedback and ctx.task.solution is not None:
        model = ctx.plan.of(GENERATOR)
        ctx.emit(Notice(level="info", text=(
            f"No repair was found without a model ({found.feedback}). From here on models are asked"
            f"{f', {model.words} for a repair' if model else ''}."
        )))
    return {
        "approach": approach, "models_allowed": allowed or approach != "search",
        "rediagnose": (not allowed and approach != "search") or found.better,
    }


def run_stopped(ctx: Context, why: Stop, found: Iteration) -> State:
    """Returns the state update that ends a run without a repair; `found` is the last iteration."""
    if ctx.plan.of(GENERATOR) is not None and not may_ask_model(ctx):
        return stop_for_time(ctx)
    last = found.feedback.splitlines()[-1] if found.feedback else ""
    if last and found.approach != "search":
        last = f"the last iteration {last}"
    if found.refuted:  # its feedback does not say that a test refuted it
        last = "the last repair passed the visible tests and failed a held-out test"
    if why == "no_model":
        reason = last or "no model is available, and the search is disabled"
    else:
        reason = f"{STOP_REASONS[why]}; {last}".rstrip("; ")
    pair = _contradicting_tests(ctx.log())
    if pair is not None:
        reason += (
            f"; each judged program passes one of `{pair[0]}` and `{pair[1]}` and fails the other: "
            "do these two tests contradict each other?"
        )
    return {"outcome": "unresolved", "stopped": why, "reason": reason}


def _contradicting_tests(log: Iterable[LogEntry]) -> tuple[str, str] | None:
    """Two tests of which every judged program passes exactly one.

    Reported only if there are at least three programs and the best of them fails one test.
    """
    reports = {
        (entry.event.iteration, entry.event.report.solution): entry.event.report
        for entry in log if isinstance(entry.event, Judged)
    }
    best = min(reports.values(), key=lambda one: len(one.failing), default=None)
    if best is None or len(best.failing) != 1 or len(reports) < MIN_PROGRAMS:
        return None
    passed = [
        {one.name for one in each.deciding_verdicts if one.passed} for each in reports.values()
    ]
    failing = best.failing[0].name
    if not any(failing in names for names in passed):
        return None
    return next((
        (other.name, failing) for other in best.deciding_verdicts
        if other.passed and all((other.name in names) != (failing in names) for names in passed)
    ), None)


def record_iteration(state: State, ctx: Context, found: Iteration) -> State:
    """The state update that adds a completed iteration."""
    known = ctx.iterations(state)
    ctx.emit(IterationEnded(
        iteration=state["iteration"] + 1, approach=found.approach, better=found.better,
    ))
    return {
        "iterations_id": ctx.store.put(known.model_copy(update={"all": (*known.all, found)})),
        "iteration": state["iteration"] + 1, "rediagnose": False, "passed_visible": False,
    }


def stop_for_time(ctx: Context) -> State:
    """Returns the state update that ends a run because its time is over. A run that may pause
    raises `OverBudget` to ask for more time, and continues if it was extended."""
    words = f"the run's {ctx.settings.budget_s:.3g} seconds are over"
    if ctx.seconds_left > VERDICT_RESERVE_S:
        words = (
            f"the search used its share of the run's {ctx.settings.budget_s:.3g} seconds; the rest "
            "is for judging a patch" if ctx.settings.search_s >= ctx.settings.budget_s else
            "on a busy machine, the search reached its wall-clock limit before its work limit"
        )
    if not ctx.pauses:
        return {"outcome": "budget", "stopped": "time", "reason": words}
    for entry in reversed(ctx.log()):
        match entry.event:
            case Extended():
                return {"rediagnose": True}
            case StepStarted(step="repair" | "attempt"):
                break
    raise OverBudget(words, "run seconds")


def fingerprint(solution: Solution) -> str:
    """A hash of a program without its comments and layout."""
    texts = []
    for file in sorted(solution.files, key=lambda one: one.path):
        try:
            texts.append(ast.dump(tree_of(file.text)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            texts.append(file.text)
    return _hashed(texts)


def signature(report: Report | None) -> str:
    """A hash of the failing tests and their results; empty if none fails."""
    if report is None or report.passed:
        return ""
    return _hashed([f"{one.name}\n{one.got or one.message}" for one in report.failing])


def _hashed(texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
