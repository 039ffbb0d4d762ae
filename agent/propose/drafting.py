"""First programs by a small model, chosen by agreement among several drafts.

About half of a small model's programs that pass the two or three examples of a task are correct.
Independent drafts that also agree on other calls are correct far more often.
"""

from __future__ import annotations

import ast

from agent.core.domain import Diagnosis, Estimate, Report, Solution, TestCase
from agent.core.events import Notice
from agent.core.state import ModelRepair
from agent.core.trees import parse
from agent.iteration.context import Context
from agent.iteration.strategies import RepairInput
from agent.iteration.tournament import Winner, best_of
from agent.proof.confidence import draft_estimate
from agent.propose.rewriting import WARM, search_if_allowed
from agent.propose.roles import SMALL_GENERATOR, ask_generator, program_parser
from agent.search.ranking.question import question
from llm import LlmError

MAX_DRAFTS = 6
"""The maximum number of drafts until one passes the examples or a search repairs the first. A small
model succeeds more often with a new draft than by repairing one."""
FURTHER = 2
"""The maximum number of drafts after one that passes, until two behave alike."""
FIRST_SEED = 100
"""The first seed; later repairs use smaller ones."""
MIN_TIME_SHARE = 0.5
"""The share of a run's seconds below which no further draft is requested."""


async def compared(
    ctx: Context, first: Solution, tests: tuple[TestCase, ...],
) -> tuple[Solution, Estimate | None]:
    """Chooses the draft that most drafts agree with, and estimates how likely it is correct.

    Args:
        first: The model's likeliest draft, of one file.
        tests: The trusted examples.

    Returns:
        The draft and its estimate. If no draft passes, the one that passes most examples, without
        an estimate: it needs a repair.
    """
    report = await ctx.judge(first, tests)
    tries = [ModelRepair(solution=first, report=report, candidates=1)]
    if not report.passed and (repaired := await _repair(ctx, first, tests, report)) is not None:
        report = await ctx.judge(repaired, tests)
        tries.insert(0, ModelRepair(solution=repaired, report=report, candidates=1))
    best, unsure = Winner(tries[0]), ""
    left = FURTHER if report.passed else MAX_DRAFTS - 1
    seed = FIRST_SEED
    while left and not (report.passed and best.votes > 1):
        if ctx.seconds_left < ctx.settings.budget_s * MIN_TIME_SHARE:
            break
        seed, left = seed + 1, left - 1
        try:
            words = {"task": ctx.task.text}
            text, *_ = await ask_generator(
                ctx, "draft", words, program_parser(words), WARM, prompt=SMALL_GENERATOR, seed=seed
            )
        except LlmError as error:  # also a cap: the run continues with the existing draft
            unsure = f"no other draft could be compared with it ({error})"
            continue
        unsure = ""
        other = first.with_text(text, origin="model", parent=first.parent)
        found = await ctx.judge(other, tests)
        left = min(left, FURTHER) if found.passed else left
        tries.append(ModelRepair(solution=other, report=found, candidates=1))
        further = [_with_full_stops(one.code) for one in tests]
        best = await best_of(ctx, tries, first, tests, further)
        report = best.chosen.report or report
    solution = best.chosen.solution or first
    if not report.passed:
        return solution, None
    asked = question(best.others, first) if best.others is not None else None
    if asked is not None:
        own, another = asked.behaviours[:2]
        unsure = (
            f"another draft passes your examples too, and {another.outcome} for {asked.call}, "
            f"where this one {own.outcome}"
        )
        ctx.emit(Notice(level="warning", text=(
            f"{unsure[0].upper()}{unsure[1:]}. Add an example that says which is right."
        )))
    return solution, draft_estimate(best.votes > 1, unsure)


async def _repair(
    ctx: Context, draft: Solution, tests: tuple[TestCase, ...], report: Report
) -> Solution | None:
    """Searches for a small edit that makes a failing draft pass, which is cheaper than another
    draft. The result counts as one draft, so another must agree with it."""
    diagnosis = Diagnosis(category="wrong_result", cause="the draft fails an example")
    attempt = RepairInput(draft, tests, report, diagnosis)
    found, _ = await search_if_allowed(attempt, ctx, draft, report)
    return None if found is None else found.model_copy(update={"origin": "model", "estimate": None})


def _with_full_stops(code: str) -> str:
    """Appends a full stop to each string of a test, because examples rarely use punctuation."""
    tree = parse(code)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value += "."
    return ast.unparse(tree)
