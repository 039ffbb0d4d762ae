"""Repair by a model: whole programs or edits, each judged, each told how the last one failed."""

from __future__ import annotations

from collections.abc import Mapping

from agent.core.domain import Report, Solution, TestCase
from agent.core.events import ModelCalled, Notice, Recalled
from agent.core.settings import GENERATOR
from agent.healing.context import Context
from agent.healing.strategies import Attempt, Proposal
from agent.intake import untouched
from agent.repair.ranking.blindness import blindness
from agent.thinking.roles import ask_for_code, ask_for_edits, share_of_an_answer
from agent.thinking.several_files import edited_solution, question_of_files, searched_around
from agent.thinking.wording import repair_question
from llm import BadReply, LlmError
from llm.errors import NeedsKey, NotRecorded, OverBudget
from llm.provider import row_of

MOST_TRIES = 3
"""Answers of the generator in one iteration."""
LEAST_S = 5.0
"""Seconds of a run below which no further answer is asked for: it would not be judged in time."""
MOST_WHOLE = 0.9
"""The part of an answer's room that a whole program may take: a repair may add lines."""
MOST_REWRITTEN = 0.5
"""Where it takes more, a strong model is asked for edits of it, which are cheaper and miss less."""


class TooLong(LlmError):
    """The program is too long for the generator's model to write it."""


async def by_model(attempt: Attempt, ctx: Context) -> Proposal:
    """Asks the generator for a repair until one passes, a few times at most.

    A cap that is reached and a key that is gone are the run's matter; what else goes wrong with the
    model is this strategy's, and is told.
    """
    tried: list[str] = []
    seen = {attempt.solution.files}
    note = "no time was left to ask the generator"
    project = ctx.task.project
    question: Mapping[str, str] = {}
    around = 0
    while len(tried) < MOST_TRIES and ctx.seconds_left > LEAST_S:
        try:
            if len(attempt.solution.files) == 1 and project is None:
                candidate = attempt.solution.with_text(
                    await _repaired(attempt, ctx, tried), origin="model"
                )
            else:
                question = question or await question_of_files(attempt, ctx, _lessons(ctx))
                candidate = await edited_solution(attempt, ctx, question, tried)
        except (OverBudget, NeedsKey, NotRecorded):
            raise
        except LlmError as error:
            return Proposal(
                None, f"the generator brought no repair: {error}", len(tried) + around
            )
        if candidate.files in seen:
            return Proposal(None, "the generator repeats itself", len(tried) + around)
        seen.add(candidate.files)
        candidate = candidate.model_copy(update={"note": f"a repair by {_model(ctx)}"})
        fault, report = await _judged(attempt, ctx, candidate)
        if report is not None and report.passed:
            return Proposal(candidate, "", len(tried) + 1 + around)
        if report is not None and project is not None:
            near, count = await searched_around(attempt, ctx, project, candidate, report)
            around += count
            if near is not None:
                note = f"{candidate.note}, and {near.note}"
                near = near.model_copy(update={"origin": "model", "note": note})
                return Proposal(near, "", len(tried) + 1 + around)
        tried.append(f"{candidate.diff(attempt.solution)}\n{fault}")
        note = f"no repair by {_model(ctx)} passes: the last one {fault}"
        ctx.emit(Notice(level="info", text=f"Repair {len(tried)} by {_model(ctx)} {fault}."))
    return Proposal(None, note, len(tried) + around)


async def _judged(
    attempt: Attempt, ctx: Context, candidate: Solution
) -> tuple[str, Report | None]:
    """What is wrong with a candidate, and its report where it was worth one."""
    codes = [test.code for test in attempt.tests]
    for one in candidate.changed_from(attempt.solution):
        if not untouched(one.before, one.after):
            return "changes the program's own tests, which is not allowed", None
        if blindness(one.before, one.after, codes) == "refused":
            return "only gives the value that the tests expect", None
    report = await ctx.judge(candidate, attempt.tests)
    passed = sum(verdict.passed for verdict in report.verdicts)
    failing = "; ".join(f"{one.name}: {one.message}" for one in report.failing[:3])
    return f"passes {passed} of {len(report.verdicts)} tests ({failing[:600]})", report


async def _repaired(attempt: Attempt, ctx: Context, tried: list[str]) -> str:
    """The program text of one answer."""
    failing = {verdict.test for verdict in attempt.report.failing}
    cases: tuple[TestCase, ...] = tuple(
        test for test in attempt.tests if test.name in failing
    ) or attempt.tests
    question = repair_question(
        attempt.solution.text, task=ctx.task.text, cases=cases, report=attempt.report,
        found=attempt.diagnosis, known=_lessons(ctx), attempts=tried,
    )
    choice = ctx.plan.of(GENERATOR)
    if choice is None:
        return await ask_for_code(ctx, "repair", question)
    share = await share_of_an_answer(ctx, attempt.solution.text)
    # A small model copies a program more surely than it quotes the lines to change.
    small = row_of(choice.provider).small
    if share <= (MOST_WHOLE if small else MOST_REWRITTEN):
        return await ask_for_code(ctx, "repair", question)
    if small:
        raise TooLong(
            f"the program takes {share:.0%} of the longest answer that {_model(ctx)} may give, "
            f"and no more than {MOST_WHOLE:.0%} is sure to hold a repair of it; give the "
            "generator to a stronger model, or bring a shorter program"
        )
    try:
        return await ask_for_edits(ctx, question)
    except BadReply as error:
        if share > MOST_WHOLE:
            raise
        ctx.emit(Notice(level="info", text=(
            f"The generator's edits could not be made ({error}); it is asked for the whole program."
        )))
        return await ask_for_code(ctx, "repair", question)


def _lessons(ctx: Context) -> tuple[str, ...]:
    """What earlier failures like this one have taught, as this run was told."""
    told = [entry.event for entry in ctx.log() if isinstance(entry.event, Recalled)]
    return tuple(dict.fromkeys(lesson for event in told for lesson in event.lessons))[:5]


def _model(ctx: Context) -> str:
    """Who gave the last answer as generator, which may be one that stood in; else who will."""
    calls = [entry.event for entry in ctx.log() if isinstance(entry.event, ModelCalled)]
    last = next((call for call in reversed(calls) if call.role == GENERATOR), None)
    if last is not None:
        return f"{last.provider}/{last.model}"
    choice = ctx.plan.of(GENERATOR)
    return "no model" if choice is None else choice.words
