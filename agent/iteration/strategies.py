"""The input and result of a repair strategy, and the search as one of the strategies."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from agent.core.domain import (
    OTHER_TESTS,
    SPECIFYING_ORIGINS,
    TRUSTED_ORIGINS,
    Alternatives,
    Diagnosis,
    Project,
    Report,
    Script,
    Solution,
    SuspectFile,
    SuspectFunction,
    Task,
    TestCase,
)
from agent.core.events import Searched
from agent.core.trees import nodes_of
from agent.iteration.context import Context
from agent.iteration.search.driver import WALL_TIMES, SearchLimits, SearchResult, search_repair
from agent.iteration.search.file_runner import file_runner
from agent.iteration.search.suite_runner import suite_runner
from agent.search.project.command_suite import MAX_TRIED
from agent.search.project.suspects import Suspect
from agent.search.syntax import compiles, repaired
from agent.search.wording import edit_in_words

RESERVED_SHARE, LEAST_RESERVED_S, RUNS_OF_A_JUDGEMENT = 0.5, 5.0, 4.0
"""Time reserved for judging and proving: that of so many runs of the tests, at least so many
seconds, and at most this share of a run's remaining seconds."""
MAX_SYNTAX_EDITS, MAX_REPAIRED = 4_000, 8
"""Limit of edits to a project's file that does not compile, and of repaired texts to judge."""
SLOW_TEST_S = 0.5
"""A passing test that takes longer is not used by the search."""
MAX_FUNCTIONS, MAX_VALUES = 5, 8
NEARBY_SHARE = 0.25
"""Share of a search's seconds and candidates for a search around a model's repair."""
MIN_EXAMPLES = 3
"""Trusted tests that specify a program enough if a model wrote it or the user submitted no test."""


def reserved_s(seconds_left: float, report: Report) -> float:
    """The seconds at the end of a run that a search leaves for judging and proving.

    Both run the tests several times; `report` says how long they take.
    """
    tests_s = sum(one.wall_s for one in report.verdicts)
    return min(max(LEAST_RESERVED_S, RUNS_OF_A_JUDGEMENT * tests_s), RESERVED_SHARE * seconds_left)


@dataclass(frozen=True)
class RepairInput:
    """The input of a strategy. `tests` are those that a repair may see and must pass."""

    solution: Solution
    tests: tuple[TestCase, ...]
    report: Report
    diagnosis: Diagnosis
    order_dependent: bool = False
    """Some of the tests fail only together with others."""
    is_second_opinion: bool = False
    """Another repair is requested to compare it with a doubtful one."""
    refuted_repair: Solution | None = None
    """A repair that passed the visible tests and failed a held-out one."""


@dataclass(frozen=True)
class Proposal:
    """The result of a strategy: a program that the judge passed with the visible tests, or none."""

    solution: Solution | None
    why: str = ""
    """The note on the program, or why there is none."""
    candidates: int = 0
    alternatives: Alternatives | None = None
    """Repairs that pass the visible tests and behave differently."""
    partial: Solution | None = None
    """The best candidate if none passes; it is not judged."""


async def repair_by_search(attempt: RepairInput, ctx: Context) -> Proposal:
    """Searches around the failing program, without a model."""

    async def verify(candidate: Solution) -> Report:
        report = await ctx.judge(candidate, attempt.tests)
        if report.passed:
            ctx.verified[candidate.id] = report
        return report

    project = ctx.task.project
    if project is not None:
        for path in project.editable:
            text = attempt.solution.with_entry(path).text
            if not compiles(text):
                return await _repair_syntax(attempt, path, text, verify)
    found = await _search(attempt, ctx, attempt.solution, attempt.report, verify, 1.0)
    if found.solution is None and attempt.refuted_repair is not None:
        repaired, tried = await search_near(attempt, ctx, attempt.refuted_repair, attempt.report)
        found = replace(found, candidates=found.candidates + tried)
        if repaired is not None:
            note = edit_in_words(attempt.solution.text, repaired.text)
            return Proposal(repaired.model_copy(update={"note": note}), "", found.candidates)
    if project is not None:
        ctx.emit(_project_summary(attempt, found))
    if found.solution is not None:
        return Proposal(found.solution, found.solution.note, found.candidates, found.alternatives)
    return Proposal(None, _why(found, project), found.candidates, partial=found.partial)


def _why(found: SearchResult, project: Project | None) -> str:
    """Why a search found nothing."""
    if found.problem:
        return f"nothing could be searched: {found.problem}"
    if project is not None and not found.suspects:
        return "the failing tests run no file that may be edited"
    if found.candidates == 0:
        return "the search found nothing to try"
    where = slow = ""
    if project is not None:
        where = f" in {', '.join(one.file for one in found.suspects)}"
        if project.command:
            slow = (
                f"; each was a fresh run of `{project.command_words}`, and at most {MAX_TRIED} "
                "are tried"
            )
    cut = "" if found.cut_after is None else (
        f" and was cut after {round(found.cut_after, 1):g} seconds of work"
    )
    return f"the search found no repair{where}{cut}{slow}"


def is_specified_by(tests: Sequence[TestCase]) -> bool:
    """Whether trusted tests specify a program enough to search for an edit: tests of the user, or
    several examples of a task."""
    return _by_user(tests) or has_enough_examples(tests)


def is_unspecified_draft(task: Task, tests: Sequence[TestCase]) -> bool:
    """Whether a model wrote the program from a description, without enough tests by the user.

    A search needs such tests, since an edit is otherwise a guess. A model is asked first.
    """
    return task.solution is None and not (_by_user(tests) and has_enough_examples(tests))


def _by_user(tests: Sequence[TestCase]) -> bool:
    return any(test.origin in SPECIFYING_ORIGINS for test in tests)


def has_enough_examples(tests: Sequence[TestCase]) -> bool:
    """Whether there are enough trusted tests to specify a program."""
    return sum(test.origin in TRUSTED_ORIGINS for test in tests) >= MIN_EXAMPLES


async def search_near(
    attempt: RepairInput, ctx: Context, candidate: Solution, report: Report
) -> tuple[Solution | None, int]:
    """Searches around a failing repair.

    Returns:
        A repair that the judge passed, if any, and the number of candidates tried.
    """
    changed = candidate.changed_from(attempt.solution)
    if (
        not report.failing or ctx.seconds_left <= reserved_s(ctx.seconds_left, report)
        or not all(compiles(one.after) for one in changed)
    ):
        return None, 0
    found = await _search(
        attempt, ctx, candidate, report, lambda one: ctx.judge(one, attempt.tests), NEARBY_SHARE,
        tuple(one.path for one in changed),
    )
    return found.solution, found.candidates


async def _search(
    attempt: RepairInput, ctx: Context, base: Solution, report: Report,
    verify: Callable[[Solution], Awaitable[Report]], share: float, only: Sequence[str] = (),
) -> SearchResult:
    """Searches around a program with a share of the limits; in a project, it edits `only` these
    files if any are given."""
    left_s, for_judging_s = ctx.seconds_left, reserved_s(ctx.seconds_left, report)
    most_s = left_s - min(LEAST_RESERVED_S, for_judging_s)
    wall_s = share * min(WALL_TIMES * ctx.settings.search_s, most_s)
    limits = SearchLimits(
        share * ctx.settings.search_s, wall_s, max(1, int(share * ctx.settings.max_candidates)),
        max(0.0, wall_s - (left_s - for_judging_s)),
    )
    project = ctx.task.project
    if project is None:
        return await search_repair(file_runner(
            ctx.task, base, attempt.tests, report, ctx.sandbox, limits,
            cache=ctx.search_cache if share == 1.0 else None,
            order_dependent=attempt.order_dependent,
        ), base, limits, progress=ctx.emit, verify=verify)
    if only:
        project = project.model_copy(update={"editable": only})
    failing = failing_nodes(attempt.tests, report)
    return await search_repair(
        suite_runner(
            ctx.task, project, base, failing, ctx.sandbox, limits,
            {one.name for one in report.verdicts if one.wall_s > SLOW_TEST_S},
            {one.name for one in report.verdicts if one.status == "timeout"},
        ),
        base, limits, progress=ctx.emit, verify=verify,
        # Competing patches are only shown, and a suite may take long.
        verify_competing=lambda one: ctx.judge(one, attempt.tests, verify_passes=False),
    )


def failing_nodes(tests: Sequence[TestCase], report: Report) -> list[str]:
    """The node ids of a project's failing tests."""
    failing = {verdict.test for verdict in report.failing}
    return [
        one.node for one in tests
        if isinstance(one, Script) and one.name in failing and one.node != OTHER_TESTS
    ]


def _project_summary(attempt: RepairInput, found: SearchResult) -> Searched:
    """The event that reports a search in a project, with its suspect files."""
    return Searched(
        candidates=found.candidates, plausible=int(found.solution is not None),
        best_passed=attempt.report.score[0], total=len(attempt.report.verdicts),
        wall_s=found.work_s, cut_after=found.cut_after,
        suspects=tuple(
            _suspect_file(one, attempt.solution, *found.failure_values.get(one.file, (None, ())))
            for one in found.suspects
        ),
    )


async def _repair_syntax(
    attempt: RepairInput, path: str, text: str, verify: Callable[[Solution], Awaitable[Report]]
) -> Proposal:
    """Judges the likeliest repaired texts of a file that does not compile."""
    texts = (await asyncio.to_thread(repaired, text, MAX_SYNTAX_EDITS))[:MAX_REPAIRED]
    for tried, (_, one) in enumerate(texts, 1):
        solution = attempt.solution.with_file(
            path, one, origin="search", note=f"{edit_in_words(text, one)} ({path})",
        )
        if (await verify(solution)).passed:
            return Proposal(solution, solution.note, tried)
    why = f"{path} does not compile, and the suite passes with none of {len(texts)} repaired texts"
    return Proposal(None, why, len(texts))


def _suspect_file(
    suspect: Suspect, solution: Solution, line: int | None, values: tuple[tuple[str, str], ...]
) -> SuspectFile:
    """Describes a suspect file with the names of its likeliest functions."""
    names = {
        min([node.lineno, *(one.lineno for one in node.decorator_list)]): node.name
        for node in nodes_of(solution.with_entry(suspect.file).text)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    likely = sorted(suspect.functions.items(), key=lambda one: (-one[1], one[0]))
    return SuspectFile(
        file=suspect.file, suspicion=round(suspect.suspicion, 3),
        functions=tuple(
            SuspectFunction(name=names[first], line=first, suspicion=round(suspicion, 3))
            for first, suspicion in likely if first in names
        )[:MAX_FUNCTIONS],
        line=line, values=values[:MAX_VALUES],
    )
