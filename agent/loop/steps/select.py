"""The select step: takes the best candidate of an iteration, or chooses the next approach. The next
iteration starts from a candidate that passes more tests, and reads reports on the others."""

from __future__ import annotations

from agent.core.domain import Alternatives, Report, Solution, Strategy
from agent.core.events import Ambiguous, Judged, NotChosen, Notice, Searched
from agent.core.loops import in_thread
from agent.core.settings import GENERATOR
from agent.core.state import Iteration, Iterations, ModelRepair, State, Suite
from agent.iteration.confirmed_tests import restore_doubted_program
from agent.iteration.context import Context, log_patch
from agent.iteration.escalation import Exhausted
from agent.iteration.iterations import (
    choose_approach,
    fingerprint,
    may_ask_model,
    record_iteration,
    run_stopped,
    signature,
    start_iteration,
    stop_for_time,
)
from agent.iteration.remembered_fix import RecalledFix, apply_recalled_fix
from agent.iteration.tournament import best_of
from agent.propose.predictions import predicted
from agent.search.ranking.question import question


async def select(state: State, ctx: Context) -> State:
    """Records an iteration, then accepts its repair or chooses the next approach."""
    if state["approach"] == "search":
        return restore_doubted_program(state, ctx, await _after_search(state, ctx))
    return restore_doubted_program(state, ctx, await _after_attempts(state, ctx))


async def _after_search(state: State, ctx: Context) -> State:
    key = state["proposed_id"]
    if not key and state.get("reserve_id"):
        return _use_recalled_fix(state, ctx)
    if key:
        alternatives_key = state["proposed_alternatives_id"]
        solution = ctx.store.get(key, Solution)
        others = ctx.store.get(alternatives_key, Alternatives) if alternatives_key else None
        suite = ctx.store.get(state["suite_id"], Suite)
        if others is not None:
            solution, others = await predicted(ctx, suite, solution, others)
        program = await in_thread(fingerprint, solution)
        return record_iteration(state, ctx, Iteration(approach="search", program=program)) | (
            _take(state, ctx, solution, others)
        )
    if _out_of_time(ctx):
        return stop_for_time(ctx)
    return _advance(state, ctx, Iteration(approach="search", feedback=state.get("reason", "")))


async def _after_attempts(state: State, ctx: Context) -> State:
    number = state["iteration"] + 1
    tries = [
        ctx.store.get(one["repair_id"], ModelRepair) for one in state["candidates_now"]
        if one["iteration"] == number
    ]
    capped = next((one.fault for one in tries if one.capped), "")
    tries = [one for one in tries if one.candidates]
    if not tries and capped:
        return {"outcome": "budget", "reason": capped}
    if not tries:
        return stop_for_time(ctx)
    base = ctx.store.get(state["base_id"], Solution)
    tried = sum(one.candidates for one in tries)
    state = {**state, "candidates": state.get("candidates", 0) + tried}
    suite = ctx.store.get(state["suite_id"], Suite)
    best = await best_of(ctx, tries, base, suite.deciding_tests)
    faults = [one for one in tries if one.is_models_fault]
    if len(faults) == len(tries):
        return _advance(state, ctx, Iteration(
            approach=state["approach"], feedback=faults[0].fault,
        ), fault=faults[0].fault) | {"candidates": state["candidates"]}
    chosen = best.chosen
    for one in tries:
        if one is chosen:
            continue
        if one.fault:
            _report_fault(ctx, one)
        if one.solution is not None and one.report is not None:
            ctx.emit(NotChosen(
                iteration=number, by=one.by, diff=one.solution.diff(base),
                passed=one.report.score[0], total=len(one.report.deciding_verdicts),
            ))
    before = ctx.store.get(state["report_id"], Report)
    solution = chosen.solution or ctx.store.get(state["solution_id"], Solution)
    found = Iteration(
        approach=state["approach"], program=await in_thread(fingerprint, solution),
        signature=signature(chosen.report), better=_is_improvement(chosen, before, ctx),
        feedback="\n\n".join(dict.fromkeys(
            _feedback(one, base) for one in tries if not one.is_models_fault
        )),
    )
    if chosen.solution is not None and chosen.report is not None and chosen.report.passed:
        solution, others = chosen.solution, best.others
        if others is not None:
            solution, others = await predicted(ctx, suite, solution, others)
        update = record_iteration(state, ctx, found) | _take(state, ctx, solution, others)
    else:
        _report_fault(ctx, chosen)
        update = _advance(state, ctx, found, chosen)
    return update | {"candidates": state["candidates"]}


def _report_fault(ctx: Context, one: ModelRepair) -> None:
    role = GENERATOR if one.is_models_fault else ""
    ctx.emit(Notice(level="info", text=f"A repair by {one.by} {one.fault}.", role=role))


def _feedback(one: ModelRepair, base: Solution) -> str:
    """An attempt's diff, and in the last line what was wrong with it."""
    diff = one.solution.diff(base) if one.solution is not None else ""
    return f"{diff}\n{' '.join(one.fault.split())}".strip()


def _take(state: State, ctx: Context, solution: Solution, others: Alternatives | None) -> State:
    number = state["iteration"] + 1
    base = ctx.store.get(state["base_id"], Solution)
    strategy: Strategy = "search" if state["approach"] == "search" else "model"
    log_patch(ctx.emit, number, strategy, solution, base)
    asked = question(others, base) if others is not None else None
    if asked is not None:
        ctx.emit(Ambiguous(iteration=number, competing=asked))
    return {
        "solution_id": ctx.store.put(solution), "note": solution.note, "strategy": strategy,
        "alternatives_id": "" if others is None else ctx.store.put(others),
        "caveat": "", "other_repairs_fit": False, "competing_id": "", "passed_visible": True,
    }


def _advance(
    state: State, ctx: Context, found: Iteration, chosen: ModelRepair | None = None, *,
    fault: str = ""
) -> State:
    update = record_iteration(state, ctx, found)
    if fault:
        return update | {
            "outcome": "model_failed", "stopped": "model",
            "reason": f"the generator gave no repair: {fault}",
        }
    if chosen is not None and chosen.solution is not None and chosen.report is not None:
        number = state["iteration"] + 1
        base = ctx.store.get(state["base_id"], Solution)
        log_patch(ctx.emit, number, "model", chosen.solution, base)
        ctx.emit(Judged(iteration=number, report=chosen.report))
        if found.better:
            update |= {
                "solution_id": ctx.store.put(chosen.solution),
                "report_id": ctx.store.put(chosen.report),
            }
    iterations = ctx.store.get(update["iterations_id"], Iterations)
    next_approach = choose_approach(state, ctx, iterations)
    if isinstance(next_approach, Exhausted):
        return update | run_stopped(ctx, next_approach.why, found)
    return update | start_iteration(state, ctx, next_approach, found)


def _is_improvement(chosen: ModelRepair, before: Report, ctx: Context) -> bool:
    """Whether it passes more tests than the last program and all that the first program passed."""
    report = chosen.report
    if chosen.solution is None or report is None:
        return False
    passing = {one.name for one in report.verdicts if one.passed}
    first = ctx.first_report
    lost = {one.name for one in first.trusted if one.passed} - passing if first else set()
    judged = {one.test for one in report.verdicts}
    passed_before = sum(one.passed for one in before.deciding_verdicts if one.test in judged)
    lost = {name for name in lost if any(one.name == name for one in report.verdicts)}
    return not lost and report.score[0] > passed_before


def _use_recalled_fix(state: State, ctx: Context) -> State:
    """Uses the recalled fix, because the search found no repair. It was chosen with all tests, so
    no test counts as held out."""
    suite = ctx.store.get(state["suite_id"], Suite).revealed()
    base = ctx.store.get(state["base_id"], Solution)
    found = ctx.store.get(state["reserve_id"], RecalledFix)
    return apply_recalled_fix(ctx, base, found, state["iteration"] + 1) | {
        "suite_id": ctx.store.put(suite), "reserve_id": "", "rediagnose": False,
        "passed_visible": True,
    }


def _out_of_time(ctx: Context) -> bool:
    """Whether the run's time limit, and not the search budget, ended the search."""
    searches = [entry.event for entry in ctx.log() if isinstance(entry.event, Searched)]
    cut_after = searches[-1].cut_after if searches else None
    early = cut_after is not None and cut_after < ctx.settings.search_s
    return (early and not may_ask_model(ctx)) or ctx.seconds_left <= 0


