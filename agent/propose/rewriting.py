"""Repair by a model: a whole program or edits, judged, and searched around where it fails."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress

from agent.core.domain import Approach, Report, Solution, counted
from agent.core.events import ModelCalled, Notice, Recalled
from agent.core.settings import GENERATOR
from agent.core.state import Try
from agent.core.trees import tree_of
from agent.iteration.context import Context
from agent.iteration.iterations import fingerprint, is_small
from agent.iteration.strategies import Attempt, searched_near, specified_by
from agent.proof.confidence import of_a_draft
from agent.propose.branching import ALTERNATIVES, branches
from agent.propose.roles import (
    SMALL_GENERATOR,
    ask_for_code,
    ask_generator,
    program_for,
    share_of_an_answer,
)
from agent.propose.several_files import edited_solution, values_seen
from agent.propose.wording import diagnosis as words_of
from agent.propose.wording import (
    failing_cases,
    in_a_line,
    is_one_file,
    repair_question,
    suspects_of,
    tests,
)
from agent.search.ranking.blindness import blindness
from agent.search.wording import edit_in_words
from agent.target.program import untouched, without_added_asserts
from llm import BadReply, LlmError
from llm.asking.answers import edited, edits_of
from llm.errors import NeedsKey, OverBudget
from llm.provider import named

MAX_WHOLE = 0.9
"""The part of an answer's room that a whole program may take: a repair may add lines."""
MAX_REWRITTEN = 0.5
"""Where it takes more, a strong model is asked for edits of it, which are cheaper and miss less."""
PLAIN_FORMS = ("repair", "repair", "reasoned", "reasoned")
"""The templates of a small model's questions: each answer is another sample. The second form finds
other repairs than the first, and is asked later because its answers are longer."""
BRANCHES = 12
"""Changes of one line that are tried around the first answer."""
MAX_NOTE = 160
"""Characters of a description of an edit; a longer one is left out."""
SECOND_SAMPLES, SECOND_DRAFTS = 1, 3
"""Where a repair is there already, and another is asked for to compare it with: repairs of a
program, and drafts of one that was written from words, for which an edit is seldom enough."""
LEFT_TO_SAMPLE = 0.3
"""The part of a run's seconds below which no further sample is asked for."""
WARM = 0.7
"""The temperature of attempts that stand beside another, where a model takes one."""

TEMPLATES: dict[Approach, tuple[str, ...]] = {
    "minimal": ("repair",), "rewrite": ("rewrite",), "fresh": ("fresh",),
    "tournament": ("repair", "rewrite", "fresh"),
}
"""The generator's templates for a whole program; candidates of a tournament take these by turns."""


async def one_try(
    attempt: Attempt, ctx: Context, approach: Approach, earlier: Sequence[str], place: int = 0
) -> Try:
    """One repair by the generator and what the judge says of it, with a search around it where it
    fails. `earlier` has earlier results, `place` is which candidate of its round it is.

    A cap that is reached and a key that is gone are the run's matter; what else goes wrong with the
    model sees.
    """
    if is_small(ctx) and is_one_file(ctx.task, attempt.solution):
        return await _sampled(attempt, ctx, fresh=approach == "fresh")
    try:
        candidate = await _repaired(attempt, ctx, approach, place, earlier)
    except (OverBudget, NeedsKey):
        raise
    except LlmError as error:
        return Try(fault=str(error), by=_model(ctx), is_models_fault=True)
    by = _model(ctx)
    note = _note(attempt, candidate.text, by) if len(candidate.files) == 1 else f"a repair by {by}"
    candidate = candidate.model_copy(update={"note": note})
    if candidate.files == attempt.solution.files:
        return Try(fault="leaves the program as it is", by=by)
    fault, report = await _judged(attempt, ctx, candidate)
    tried = Try(solution=candidate, report=report, fault=fault, by=by)
    if report is None or report.passed:
        return tried
    return await _near(attempt, ctx, [(candidate, report)], tried)


async def _sampled(attempt: Attempt, ctx: Context, *, fresh: bool) -> Try:
    """Several answers of a small model to a plain question, until one passes: at first what it
    finds likeliest and changes of one line of that, then samples. Each program counts once;
    answers that fail are searched around, the best first. `fresh` samples of a program that was
    written from words are other drafts.
    """
    by = _model(ctx)
    drafted = (fresh or attempt.is_second) and ctx.task.solution is None
    forms = ("draft",) * len(PLAIN_FORMS) if drafted else PLAIN_FORMS
    if attempt.is_second:
        forms = forms[: SECOND_DRAFTS if drafted else SECOND_SAMPLES]
    try:
        share = await share_of_an_answer(ctx, attempt.solution.text, SMALL_GENERATOR)
    except LlmError as error:
        return Try(fault=str(error), by=by, is_models_fault=True)
    if share > MAX_WHOLE:  # it copies a program more surely than it quotes the lines to change
        return Try(by=by, is_models_fault=True, fault=(
            f"the program takes {share:.0%} of the longest answer that {by} may give, and no more "
            f"than {MAX_WHOLE:.0%} is sure to hold a repair of it; give the generator to a "
            "stronger model, or bring a shorter program"
        ))
    seen = {fingerprint(attempt.solution)}
    failing: list[tuple[Solution, Report]] = []
    last = Try(fault="leaves the program as it is", by=by)
    for number, form in enumerate(forms):
        is_first = not (number or fresh or drafted)
        try:
            asked = _plain_question(attempt, ctx, form)
            text, question, reply = await ask_generator(
                ctx, form, asked, program_for(asked), None if is_first else WARM,
                prompt=SMALL_GENERATOR, seed=number + (len(PLAIN_FORMS) if fresh else 0),
                alternatives=ALTERNATIVES if is_first else 0,
            )
            changed = branches(ctx, question, reply, BRANCHES)
            first = attempt.solution.with_text(
                text, origin="model", estimate=of_a_draft() if drafted else None,
                note=f"another draft by {by}" if drafted else _note(attempt, text, by),
            )
            some = _candidates(first, changed, by, attempt.solution.text)
            async with aclosing(some) as candidates:
                async for candidate in candidates:
                    if fingerprint(candidate) in seen:
                        continue
                    seen.add(fingerprint(candidate))
                    fault, report = await _judged(attempt, ctx, candidate)
                    tried = Try(
                        solution=candidate, report=report, fault=fault, by=by,
                        candidates=len(seen) - 1,
                    )
                    if report is not None and report.passed:
                        return tried
                    if candidate is first:
                        last = tried
                        failing += [(candidate, report)] if report is not None else []
                    if ctx.seconds_left < ctx.settings.budget_s * LEFT_TO_SAMPLE:
                        break
        except (OverBudget, NeedsKey):
            raise
        except LlmError as error:
            last = Try(fault=str(error), by=by, is_models_fault=True)
            if not isinstance(error, BadReply):
                break
        if ctx.seconds_left < ctx.settings.budget_s * LEFT_TO_SAMPLE:
            break
    return await _near(attempt, ctx, failing, last)


def _note(attempt: Attempt, text: str, by: str) -> str:
    """What a model changed, and its name; only the name where one line cannot describe the edit."""
    edit = edit_in_words(attempt.solution.text, text)
    return f"{edit} ({by})" if len(edit) <= MAX_NOTE else f"a repair by {by}"


async def _candidates(
    first: Solution, changed: AsyncGenerator[str, None], by: str, code: str
) -> AsyncGenerator[Solution, None]:
    """The program of an answer, and those that change one line of it and can be parsed; `code` is
    the program that was asked about."""
    yield first
    async for text in changed:
        other = without_added_asserts(text, code)
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            tree_of(other)
            yield first.with_text(
                other, parent=first.parent, note=f"a line that {by} finds likely"
            )


async def _near(
    attempt: Attempt, ctx: Context, failing: list[tuple[Solution, Report]], last: Try
) -> Try:
    """The best of answers that fail, with a search around each; `last` where there is none."""
    tried = len(failing)
    failing.sort(key=lambda one: one[1].score, reverse=True)
    for candidate, report in failing:
        near, count = await around(attempt, ctx, candidate, report)
        tried += count
        if near is not None:
            note = f"{candidate.note}, and {near.note}"
            near = near.model_copy(update={"origin": "model", "note": note})
            found = await ctx.judge(near, attempt.tests)
            return Try(solution=near, report=found, by=last.by, candidates=tried)
    if not failing:
        return last
    best, report = failing[0]
    return Try(
        solution=best, report=report, fault=_failure(report), by=last.by, candidates=tried
    )


def _plain_question(attempt: Attempt, ctx: Context, form: str) -> Mapping[str, str]:
    """The variables of a plain template, or of a draft."""
    if form == "draft":
        return {"task": ctx.task.text}
    return {
        "code": attempt.solution.text, "task": ctx.task.text,
        "tests": tests(failing_cases(attempt.tests, attempt.report)),
        "failures": in_a_line(attempt.report),
    }


async def around(
    attempt: Attempt, ctx: Context, candidate: Solution, report: Report
) -> tuple[Solution | None, int]:
    """A repair near one that fails, which passes the judge, and how many candidates were tried;
    nothing is searched where that is switched off, or where trusted tests do not say what the
    program does."""
    if not ctx.settings.enable_search:
        return None, 0
    if ctx.task.project is None and not specified_by(attempt.tests):
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
            return "only gives, or also prints, what the tests expect", None
    report = await ctx.judge(candidate, attempt.tests)
    return "" if report.passed else _failure(report), report


def _failure(report: Report) -> str:
    """How many tests a program fails, and how."""
    passed = sum(verdict.passed for verdict in report.verdicts)
    failing = "; ".join(f"{one.name}: {one.message}" for one in report.failing[:3])
    return f"passes {passed} of {counted(len(report.verdicts), 'test')} ({failing[:600]})"


async def _repaired(
    attempt: Attempt, ctx: Context, approach: Approach, place: int, attempts: Sequence[str]
) -> Solution:
    """The program of one answer."""
    solution, project, diagnosis = attempt.solution, ctx.task.project, attempt.diagnosis
    temperature = WARM if place else None
    suspected = suspects_of(ctx.log(), solution)
    question = repair_question(
        ctx.task, solution, attempt.report, attempt.tests, found=words_of(diagnosis),
        blamed=diagnosis.blamed, suspected=suspected, known=_lessons(ctx), attempts=attempts,
        values=() if project is None else await values_seen(attempt, ctx, project, suspected[0]),
    )
    if not is_one_file(ctx.task, solution):
        return await edited_solution(solution, ctx, question, temperature)
    share = await share_of_an_answer(ctx, solution.text)
    if share > MAX_REWRITTEN:
        try:
            text, *_ = await ask_generator(
                ctx, "edit", question, lambda text: edited(solution.text, edits_of(text)),
                temperature,
            )
            return solution.with_text(text, origin="model")
        except BadReply as error:
            if share > MAX_WHOLE:
                raise
            ctx.emit(Notice(level="info", text=(
                f"The generator's edits could not be made ({error}). It is asked for the whole "
                "program."
            )))
    template = TEMPLATES[approach][place % len(TEMPLATES[approach])]
    text = await ask_for_code(ctx, template, question, temperature)
    return solution.with_text(text, origin="model")


def _lessons(ctx: Context) -> tuple[str, ...]:
    """The lessons of earlier similar failures that this run has recalled."""
    recalled = [entry.event for entry in ctx.log() if isinstance(entry.event, Recalled)]
    return tuple(dict.fromkeys(lesson for event in recalled for lesson in event.lessons))[:5]


def _model(ctx: Context) -> str:
    """Who gave the last answer as generator, which may be one that stood in; else who will."""
    calls = [entry.event for entry in ctx.log() if isinstance(entry.event, ModelCalled)]
    last = next((call for call in reversed(calls) if call.role == GENERATOR), None)
    if last is not None:
        return named(last.provider, last.model)
    choice = ctx.plan.of(GENERATOR)
    return "no model" if choice is None else choice.words
