"""Repair of a project by a model: edits in several files, and the search around one that fails."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.core.domain import REST, Project, Report, Script, Solution, SuspectFile
from agent.healing.context import Context
from agent.healing.project_search import search_project
from agent.healing.strategies import Attempt, reserved_s
from agent.judge.project_run import laid
from agent.project.suite import open_suite
from agent.thinking.project_wording import named_suspects, shown_files, suspects_of, test_texts
from agent.thinking.roles import ask_for_project_edits
from agent.thinking.wording import diagnosis, failures, lessons
from llm import BadReply
from llm.asking.answers import edited_files, edits_by_file

AROUND = 0.25
"""The part of a search's seconds and candidates that is spent around one repair of a model."""
MOST_TRACED = 3
MOST_VALUES = 12
MOST_NAMED = 10


async def project_question(
    attempt: Attempt, ctx: Context, project: Project, known: Sequence[str]
) -> dict[str, str]:
    """The variables of the generator's `edit_project`, without the attempts; `known` are lessons."""
    failing = {verdict.test for verdict in attempt.report.failing}
    suspected = suspects_of(ctx.log(), attempt.solution)
    cases = [test for test in attempt.tests if test.name in failing]
    return {
        "files": shown_files(attempt.solution, suspected),
        "tests": test_texts(cases), "failures": failures(attempt.report),
        "diagnosis": diagnosis(attempt.diagnosis), "lessons": lessons(known),
        "suspects": named_suspects(
            suspected, await values_seen(attempt, ctx, project, suspected[0])
        ),
    }


async def edited_project(
    attempt: Attempt, ctx: Context, project: Project, question: Mapping[str, str],
    tried: Sequence[str],
) -> Solution:
    """The project with one answer's edits made; raises an `LlmError`."""

    def read(text: str) -> dict[str, str]:
        edits = edits_by_file(text)
        texts = {file.path: file.text for file in attempt.solution.files}
        there = {file.path for file in ctx.task.support}
        for path in edits:
            if path not in project.editable or path not in texts:
                raise BadReply(_refusal(path, path in there, project))
        return edited_files(texts, edits)

    variables = {**question, "attempts": "\n\n".join(tried)}
    return attempt.solution.with_texts(
        await ask_for_project_edits(ctx, variables, read), origin="model"
    )


def _refusal(path: str, is_there: bool, project: Project) -> str:
    why = "is not to be edited: a test, settings, or left out by the user" if is_there else (
        "is no file of this project"
    )
    files = ", ".join(project.editable[:MOST_NAMED])
    more = " and others" if len(project.editable) > MOST_NAMED else ""
    return f"{path} {why}; these may be edited: {files}{more}"


async def searched_around(
    attempt: Attempt, ctx: Context, project: Project, candidate: Solution, report: Report
) -> tuple[Solution | None, int]:
    """A repair near one that fails, which passes the judge, and how many candidates were tried."""
    changed = tuple(one.path for one in candidate.changed_from(attempt.solution))
    failing = [verdict.name for verdict in report.failing]
    wall_s = AROUND * (ctx.seconds_left - reserved_s(ctx.seconds_left))
    if not failing or wall_s <= 0:
        return None, 0

    async def verify(solution: Solution) -> Report:
        return await ctx.judge(solution, attempt.tests)

    found = await search_project(
        ctx.task, project.model_copy(update={"editable": changed}), candidate, failing,
        ctx.sandbox, budget_s=AROUND * ctx.settings.search_s, wall_s=wall_s,
        max_candidates=int(AROUND * ctx.settings.max_candidates), progress=ctx.emit, verify=verify,
    )
    return found.solution, found.candidates


async def values_seen(
    attempt: Attempt, ctx: Context, project: Project, suspect: SuspectFile
) -> list[str]:
    """What variables of the likeliest file held where failing tests went wrong."""
    failing = {verdict.test for verdict in attempt.report.failing}
    nodes = {
        one.node for one in attempt.tests
        if isinstance(one, Script) and one.name in failing and one.node != REST
    }
    async with open_suite(
        laid(ctx.task, attempt.solution), project, ctx.task.sites, ctx.sandbox
    ) as suite:
        numbers = [number for number, node in enumerate(suite.nodes) if node in nodes]
        numbers = numbers[:MOST_TRACED]
        if not numbers or suspect.file not in suite.loaded:
            return []
        trace = await suite.trace(suspect.file, numbers)
        told = []
        for number, seen in zip(numbers, trace.tests, strict=True):
            place = f"{suspect.file}, line {seen.line}" if seen.line else suspect.file
            shown = ", ".join(f"{name} = {value}" for name, value in seen.values[:MOST_VALUES])
            if shown:
                told.append(f"{place}, in {suite.nodes[number]}: {shown}")
    return told
