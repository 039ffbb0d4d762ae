"""Repair by a model: a whole program or edits, judged, and searched around where it fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.core.domain import Approach, Report, Solution, TestCase, counted
from agent.core.events import ModelCalled, Notice, Recalled
from agent.core.rounds import Try
from agent.core.settings import GENERATOR
from agent.healing.context import Context
from agent.healing.strategies import Attempt, pins, searched_near
from agent.intake import untouched
from agent.repair.ranking.blindness import blindness
from agent.thinking.roles import ask_for_code, ask_for_edits, share_of_an_answer
from agent.thinking.several_files import edited_solution, question_of_files, searched_around
from agent.thinking.wording import repair_question
from llm import BadReply, LlmError
from llm.errors import NeedsKey, NotRecorded, OverBudget
from llm.provider import row_of

MOST_WHOLE = 0.9
"""The part of an answer's room that a whole program may take: a repair may add lines."""
MOST_REWRITTEN = 0.5
"""Where it takes more, a strong model is asked for edits of it, which are cheaper and miss less."""
WARM = 0.7
"""The temperature of attempts that stand beside another, where a model takes one."""

TEMPLATES: dict[Approach, tuple[str, ...]] = {
    "minimal": ("repair",), "rewrite": ("rewrite",), "fresh": ("fresh",),
    "tournament": ("repair", "rewrite", "fresh"),
}
"""The generator's templates for a whole program; candidates of a tournament take these by turns."""


class ProgramTooLong(LlmError):
    """The program is too long for the generator's model to write it."""


async def one_try(
    attempt: Attempt, ctx: Context, approach: Approach, told: Sequence[str], place: int = 0
) -> Try:
    """One repair by the generator and what the judge says of it, with a search around it where it
    fails. `told` is what earlier rounds came to, `place` which candidate of its round it is.

    A cap that is reached and a key that is gone are the run's matter; what else goes wrong with the
    model is told.
    """
    project = ctx.task.project
    templates = TEMPLATES[approach]
    if approach == "tournament" and ctx.plan.rivals:
        plan = ctx.plan.beside(GENERATOR, place)
        ctx = replace(ctx, plan=plan, router=ctx.router.following(plan))
    way = _Way(templates[place % len(templates)], tuple(told), WARM if place else None)
    try:
        if len(attempt.solution.files) == 1 and project is None:
            candidate = attempt.solution.with_text(
                await _repaired(attempt, ctx, way), origin="model"
            )
        else:
            question = await question_of_files(attempt, ctx, _lessons(ctx))
            candidate = await edited_solution(
                attempt, ctx, question, way.told, way.temperature
            )
    except (OverBudget, NeedsKey, NotRecorded):
        raise
    except LlmError as error:
        return Try(fault=str(error), by=_model(ctx), is_models_fault=True)
    by = _model(ctx)
    candidate = candidate.model_copy(update={"note": f"a repair by {by}"})
    if candidate.files == attempt.solution.files:
        return Try(fault="leaves the program as it is", by=by)
    fault, report = await _judged(attempt, ctx, candidate)
    if report is None or report.passed:
        return Try(solution=candidate, report=report, fault=fault, by=by)
    near, count = await around(attempt, ctx, candidate, report)
    if near is None:
        return Try(solution=candidate, report=report, fault=fault, by=by, candidates=1 + count)
    note = f"{candidate.note}, and {near.note}"
    near = near.model_copy(update={"origin": "model", "note": note})
    found = await ctx.judge(near, attempt.tests)
    return Try(solution=near, report=found, by=by, candidates=1 + count)


@dataclass(frozen=True)
class _Way:
    """How a repair is asked for."""

    template: str
    told: tuple[str, ...]
    temperature: float | None


async def around(
    attempt: Attempt, ctx: Context, candidate: Solution, report: Report
) -> tuple[Solution | None, int]:
    """A repair near one that fails, which passes the judge, and how many candidates were tried;
    nothing is searched where that is switched off, or where trusted tests do not say what the
    program does."""
    if not ctx.settings.enable_search:
        return None, 0
    if ctx.task.project is not None:
        return await searched_around(attempt, ctx, ctx.task.project, candidate, report)
    if not pins(attempt.tests):
        return None, 0
    return await searched_near(attempt, ctx, candidate, report)


async def _judged(
    attempt: Attempt, ctx: Context, candidate: Solution
) -> tuple[str, Report | None]:
    """What is wrong with a candidate, and its report where it was worth one."""
    codes = [test.code for test in attempt.tests]
    for one in candidate.changed_from(attempt.solution):
        if not untouched(one.before, one.after):
            return "changes the program's own tests, which is not allowed", None
        if blindness(one.before, one.after, codes) == "refused":
            return "only gives, or prints besides, what the tests expect", None
    report = await ctx.judge(candidate, attempt.tests)
    if report.passed:
        return "", report
    passed = sum(verdict.passed for verdict in report.verdicts)
    failing = "; ".join(f"{one.name}: {one.message}" for one in report.failing[:3])
    return f"passes {passed} of {counted(len(report.verdicts), 'test')} ({failing[:600]})", report


async def _repaired(attempt: Attempt, ctx: Context, way: _Way) -> str:
    """The program text of one answer."""
    failing = {verdict.test for verdict in attempt.report.failing}
    cases: tuple[TestCase, ...] = tuple(
        test for test in attempt.tests if test.name in failing
    ) or attempt.tests
    question = repair_question(
        attempt.solution.text, task=ctx.task.text, cases=cases, report=attempt.report,
        found=attempt.diagnosis, known=_lessons(ctx), attempts=way.told,
    )
    choice = ctx.plan.of(GENERATOR)
    if choice is None:
        return await ask_for_code(ctx, way.template, question, way.temperature)
    share = await share_of_an_answer(ctx, attempt.solution.text)
    # A small model copies a program more surely than it quotes the lines to change.
    small = row_of(choice.provider).small
    if share <= (MOST_WHOLE if small else MOST_REWRITTEN):
        return await ask_for_code(ctx, way.template, question, way.temperature)
    if small:
        raise ProgramTooLong(
            f"the program takes {share:.0%} of the longest answer that {_model(ctx)} may give, "
            f"and no more than {MOST_WHOLE:.0%} is sure to hold a repair of it; give the "
            "generator to a stronger model, or bring a shorter program"
        )
    try:
        return await ask_for_edits(ctx, question, way.temperature)
    except BadReply as error:
        if share > MOST_WHOLE:
            raise
        ctx.emit(Notice(level="info", text=(
            f"The generator's edits could not be made ({error}); it is asked for the whole program."
        )))
        return await ask_for_code(ctx, way.template, question, way.temperature)


def _lessons(ctx: Context) -> tuple[str, ...]:
    """What earlier failures like this one have taught, as this run was told."""
    told = [entry.event for entry in ctx.log() if isinstance(entry.event, Recalled)]
    return tuple(dict.fromkeys(lesson for event in told for lesson in event.lessons))[:5]


def _model(ctx: Context) -> str:
    """Who gave the last answer as generator, which may be one that stood in; else who will."""
    calls = [entry.event for entry in ctx.log() if isinstance(entry.event, ModelCalled)]
    last = next((call for call in reversed(calls) if call.role == GENERATOR), None)
    if last is not None and not ctx.plan.rivals:  # of several at once, each is told by its plan
        return f"{last.provider}/{last.model}"
    choice = ctx.plan.of(GENERATOR)
    return "no model" if choice is None else choice.words
