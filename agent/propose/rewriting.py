"""Repair by a model: asks for a program or edits, judges them, and searches near failing ones."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing, suppress

from agent.core.domain import Approach, Report, Solution, counted
from agent.core.events import ModelCalled, Notice, Recalled
from agent.core.settings import GENERATOR
from agent.core.state import ModelRepair
from agent.core.trees import tree_of
from agent.iteration.context import Context
from agent.iteration.iterations import fingerprint, is_small
from agent.iteration.strategies import RepairInput, is_specified_by, search_near
from agent.proof.confidence import draft_estimate
from agent.propose.branching import LIKELY_TOKENS, one_line_variants
from agent.propose.one_function import rewritten_functions
from agent.propose.roles import (
    SMALL_GENERATOR,
    ask_for_code,
    ask_generator,
    program_parser,
    share_of_an_answer,
)
from agent.propose.several_files import edited_solution, values_seen
from agent.propose.wording import diagnosis as words_of
from agent.propose.wording import (
    failing_cases,
    first_failure_line,
    is_one_file,
    repair_question,
    suspects_of,
    tests,
)
from agent.search.ranking.blindness import blindness
from agent.search.wording import edit_in_words
from agent.target.program import keeps_own_tests, without_added_asserts
from llm import BadReply, LlmError
from llm.asking.answers import edited, parse_edits
from llm.errors import NeedsKey, OverBudget
from llm.provider import named

MAX_WHOLE = 0.9
"""The share of an answer's tokens that a whole program may take, because a repair may add lines."""
MAX_REWRITTEN = 0.5
"""Above this share, a strong model is asked for edits, which are cheaper and omit less."""
SMALL_MODEL_TEMPLATES = ("repair", "repair", "reasoned", "reasoned")
"""The templates for a small model, one sample each. The second form finds different repairs but has
longer answers, so it comes later."""
MAX_LINE_VARIANTS = 12
"""The maximum number of one-line variants of the first answer."""
MAX_NOTE = 160
"""The maximum characters of an edit's description; a longer one is omitted."""
MAX_NEAR = 2
"""The maximum number of answers about functions from which a search starts."""
SECOND_SAMPLES, SECOND_DRAFTS = 1, 3
"""The number of samples that are compared with an existing repair: repairs of a program, or drafts
of one written from a task text, for which an edit is rarely enough."""
MIN_TIME_SHARE = 0.3
"""The share of a run's seconds below which no further sample is requested."""
WARM = 0.7
"""The temperature of attempts that compete with another, if the model accepts one."""

TEMPLATES: dict[Approach, tuple[str, ...]] = {
    "minimal": ("repair",), "rewrite": ("rewrite",), "fresh": ("fresh",),
    "tournament": ("repair", "rewrite", "fresh"),
}
"""The generator's templates for a whole program; candidates of a tournament take turns."""


async def attempt_repair(
    attempt: RepairInput, ctx: Context, approach: Approach, feedback: Sequence[str], place: int = 0
) -> ModelRepair:
    """Asks the generator for one repair, judges it, and searches near it if it fails.

    Args:
        feedback: The results of earlier iterations.
        place: The candidate's index in its iteration.

    Raises:
        OverBudget, NeedsKey: The run handles these; other model errors are in the result.
    """
    with suppress(LlmError):  # the request below reports it
        await ctx.answerer(GENERATOR)  # its server may report the model's size
    if is_small(ctx):
        if is_one_file(ctx.task, attempt.solution):
            return await _sample(attempt, ctx, fresh=approach == "fresh")
        return await _rewrite_functions(attempt, ctx)
    try:
        candidate = await _ask_for_repair(attempt, ctx, approach, place, feedback)
    except (OverBudget, NeedsKey):
        raise
    except LlmError as error:
        return ModelRepair(fault=str(error), by=_model(ctx), is_models_fault=True)
    by = _model(ctx)
    note = _note(attempt, candidate.text, by) if len(candidate.files) == 1 else f"a repair by {by}"
    candidate = candidate.model_copy(update={"note": note})
    if candidate.files == attempt.solution.files:
        return ModelRepair(fault="leaves the program as it is", by=by)
    fault, report = await _judge(attempt, ctx, candidate)
    tried = ModelRepair(solution=candidate, report=report, fault=fault, by=by)
    if report is None or report.passed:
        return tried
    return await _search_near(attempt, ctx, [(candidate, report)], tried)


async def _sample(attempt: RepairInput, ctx: Context, *, fresh: bool) -> ModelRepair:
    """Asks a small model several times until a program passes: first for its likeliest answer, with
    one-line variants, then for samples. Equal programs count once. Last, a search starts from
    the failing answers, the best first. If `fresh`, a program from a task text is drafted again.
    """
    by = _model(ctx)
    writes_draft = (fresh or attempt.is_second_opinion) and ctx.task.solution is None
    forms = ("draft",) * len(SMALL_MODEL_TEMPLATES) if writes_draft else SMALL_MODEL_TEMPLATES
    if attempt.is_second_opinion:
        forms = forms[: SECOND_DRAFTS if writes_draft else SECOND_SAMPLES]
    try:
        share = await share_of_an_answer(ctx, attempt.solution.text, SMALL_GENERATOR)
    except LlmError as error:
        return ModelRepair(fault=str(error), by=by, is_models_fault=True)
    if share > MAX_WHOLE:  # a small model copies a program more reliably than it quotes edits
        return ModelRepair(by=by, is_models_fault=True, fault=(
            f"the program takes {share:.0%} of the longest answer of {by}, and a repair needs "
            f"{MAX_WHOLE:.0%} or less; use a stronger model as the generator, or a shorter program"
        ))
    known_programs = {fingerprint(attempt.solution)}
    failing: list[tuple[Solution, Report]] = []
    last = ModelRepair(fault="leaves the program as it is", by=by)
    for number, form in enumerate(forms):
        is_first = not (number or fresh or writes_draft)
        try:
            variables = _small_model_variables(attempt, ctx, form)
            text, question, reply = await ask_generator(
                ctx, form, variables, program_parser(variables), None if is_first else WARM,
                prompt=SMALL_GENERATOR, seed=number + (len(SMALL_MODEL_TEMPLATES) if fresh else 0),
                alternatives=LIKELY_TOKENS if is_first else 0,
            )
            variants = one_line_variants(ctx, question, reply, MAX_LINE_VARIANTS)
            first = attempt.solution.with_text(
                text, origin="model", estimate=draft_estimate() if writes_draft else None,
                note=f"another draft by {by}" if writes_draft else _note(attempt, text, by),
            )
            stream = _candidates(first, variants, by, attempt.solution.text)
            async with aclosing(stream) as candidates:
                async for candidate in candidates:
                    if fingerprint(candidate) in known_programs:
                        continue
                    known_programs.add(fingerprint(candidate))
                    fault, report = await _judge(attempt, ctx, candidate)
                    tried = ModelRepair(
                        solution=candidate, report=report, fault=fault, by=by,
                        candidates=len(known_programs) - 1,
                    )
                    if report is not None and report.passed:
                        return tried
                    if candidate is first:
                        last = tried
                        failing += [(candidate, report)] if report is not None else []
                    if ctx.seconds_left < ctx.settings.budget_s * MIN_TIME_SHARE:
                        break
        except (OverBudget, NeedsKey):
            raise
        except LlmError as error:
            last = ModelRepair(fault=str(error), by=by, is_models_fault=True)
            if not isinstance(error, BadReply):
                break
        if ctx.seconds_left < ctx.settings.budget_s * MIN_TIME_SHARE:
            break
    return await _search_near(attempt, ctx, failing, last)


async def _rewrite_functions(attempt: RepairInput, ctx: Context) -> ModelRepair:
    """Asks a small model for one suspicious function of a project after the other, until the whole
    suite passes."""
    by = _model(ctx)
    last = ModelRepair(fault="changes no function so that the failing tests pass", by=by)
    number = 0
    failing: list[tuple[Solution, Report]] = []
    try:
        async with aclosing(rewritten_functions(attempt, ctx)) as found:
            async for answer, first in found:
                number += 1
                if not first.passed:
                    failing.append((answer, first))
                    continue
                candidate = answer.model_copy(update={"note": f"a repair by {_model(ctx)}"})
                fault, report = await _judge(attempt, ctx, candidate)
                tried = ModelRepair(
                    solution=candidate, report=report, fault=fault, by=_model(ctx),
                    candidates=number,
                )
                if report is not None and report.passed:
                    return tried
                last = tried
    except (OverBudget, NeedsKey):
        raise
    except LlmError as error:
        return ModelRepair(fault=str(error), by=_model(ctx), is_models_fault=True)
    tried = last.model_copy(update={"candidates": number})
    if attempt.is_second_opinion or last.solution is not None:
        return tried
    near = await _search_near(attempt, ctx, failing[:MAX_NEAR], tried)
    return near if near.report is not None and near.report.passed else tried


def _note(attempt: RepairInput, text: str, by: str) -> str:
    """Describes a model's edit in a line; a long description is omitted."""
    edit = edit_in_words(attempt.solution.text, text)
    return f"{edit} ({by})" if len(edit) <= MAX_NOTE else f"a repair by {by}"


async def _candidates(
    first: Solution, variants: AsyncGenerator[str, None], by: str, code: str
) -> AsyncGenerator[Solution, None]:
    """Yields the program of an answer, then its variants that parse; `code` is the program in the
    question."""
    yield first
    async for text in variants:
        other = without_added_asserts(text, code)
        with suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            tree_of(other)
            yield first.with_text(other, parent=first.parent, note=f"a line that {by} finds likely")


async def _search_near(
    attempt: RepairInput, ctx: Context, failing: list[tuple[Solution, Report]], last: ModelRepair
) -> ModelRepair:
    """Searches near each failing answer; returns a passing program, else the best, else `last`."""
    tried = len(failing)
    failing.sort(key=lambda one: one[1].score, reverse=True)
    for candidate, report in failing:
        near, count = await search_if_allowed(attempt, ctx, candidate, report)
        tried += count
        if near is not None:
            note = f"{candidate.note}, and {near.note}"
            near = near.model_copy(update={"origin": "model", "note": note})
            found = await ctx.judge(near, attempt.tests)
            return ModelRepair(solution=near, report=found, by=last.by, candidates=tried)
    if not failing:
        return last
    best, report = failing[0]
    return ModelRepair(
        solution=best, report=report, fault=_failure(report), by=last.by, candidates=tried
    )


def _small_model_variables(attempt: RepairInput, ctx: Context, form: str) -> Mapping[str, str]:
    if form == "draft":
        return {"task": ctx.task.text}
    return {
        "code": attempt.solution.text, "task": ctx.task.text,
        "tests": tests(failing_cases(attempt.tests, attempt.report)),
        "failures": first_failure_line(attempt.report),
    }


async def search_if_allowed(
    attempt: RepairInput, ctx: Context, candidate: Solution, report: Report
) -> tuple[Solution | None, int]:
    """Searches for a passing repair near a failing one, and counts the candidates. Does nothing if
    the search is off, or if trusted tests do not specify the program."""
    if not ctx.settings.enable_search:
        return None, 0
    if ctx.task.project is None and not is_specified_by(attempt.tests):
        return None, 0
    return await search_near(attempt, ctx, candidate, report)


async def _judge(
    attempt: RepairInput, ctx: Context, candidate: Solution
) -> tuple[str, Report | None]:
    """Returns what is wrong with a candidate, and its report unless it was refused."""
    codes = [test.code for test in attempt.tests]
    for one in candidate.changed_from(attempt.solution):
        if not keeps_own_tests(one.before, one.after):
            return "changes the program's own tests, which is not allowed", None
        if blindness(one.before, one.after, codes) == "refused":
            return "only gives, or also prints, what the tests expect", None
    report = await ctx.judge(candidate, attempt.tests)
    if report.passed:
        ctx.verified[candidate.id] = report
    return "" if report.passed else _failure(report), report


def _failure(report: Report) -> str:
    passed = sum(verdict.passed for verdict in report.verdicts)
    failing = "; ".join(f"{one.name}: {one.message}" for one in report.failing[:3])
    return f"passes {passed} of {counted(len(report.verdicts), 'test')} ({failing[:600]})"


async def _ask_for_repair(
    attempt: RepairInput, ctx: Context, approach: Approach, place: int, attempts: Sequence[str]
) -> Solution:
    solution, project, diagnosis = attempt.solution, ctx.task.project, attempt.diagnosis
    temperature = WARM if place else None
    suspected = suspects_of(ctx.log(), solution)
    question = repair_question(
        ctx.task, solution, attempt.report, attempt.tests, found=words_of(diagnosis),
        suspicious_lines=diagnosis.suspicious_lines, suspected=suspected, known=_lessons(ctx),
        attempts=attempts,
        values=() if project is None else await values_seen(attempt, ctx, project, suspected[0]),
    )
    if not is_one_file(ctx.task, solution):
        return await edited_solution(solution, ctx, question, temperature)
    share = await share_of_an_answer(ctx, solution.text)
    if share > MAX_REWRITTEN:
        try:
            text, *_ = await ask_generator(
                ctx, "edit", question, lambda text: edited(solution.text, parse_edits(text)),
                temperature,
            )
            return solution.with_text(text, origin="model")
        except BadReply as error:
            if share > MAX_WHOLE:
                raise
            ctx.emit(Notice(level="info", text=(
                f"The generator's edits could not be applied ({error}). It is asked for the whole "
                "program."
            )))
    template = TEMPLATES[approach][place % len(TEMPLATES[approach])]
    text = await ask_for_code(ctx, template, question, temperature)
    return solution.with_text(text, origin="model")


def _lessons(ctx: Context) -> tuple[str, ...]:
    recalled = [entry.event for entry in ctx.log() if isinstance(entry.event, Recalled)]
    return tuple(dict.fromkeys(lesson for event in recalled for lesson in event.lessons))[:5]


def _model(ctx: Context) -> str:
    """The model of the generator's last answer (maybe a fallback), else the planned one."""
    calls = [entry.event for entry in ctx.log() if isinstance(entry.event, ModelCalled)]
    last = next((call for call in reversed(calls) if call.role == GENERATOR), None)
    if last is not None:
        return named(last.provider, last.model)
    choice = ctx.plan.of(GENERATOR)
    return "no model" if choice is None else choice.words
