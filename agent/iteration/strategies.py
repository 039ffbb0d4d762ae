"""What a way to repair starts from, what it brings, and the search as one of them."""

from __future__ import annotations

import ast
import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from agent.core.domain import (
    PINNING_ORIGINS,
    REST,
    VETOING_ORIGINS,
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

FOR_THE_VERDICT, MAX_RESERVED_S = 0.25, 5.0
"""The part of a run's remaining seconds that a search leaves for judging and proving its find."""
MAX_MENDING, MAX_REPAIRED = 4_000, 8
"""Edits of a project's file that does not compile, and texts of it that are judged."""
MAX_FUNCTIONS, MAX_VALUES = 5, 8
AROUND = 0.25
"""The part of a search's seconds and candidates that is spent around one repair of a model."""
LEAST_EXAMPLES = 3
"""Trusted tests that say enough of a program which a model wrote, or of one that the user has
submitted no test for."""


def reserved_s(seconds_left: float) -> float:
    """Seconds at the end of a run in which nothing more is searched."""
    return min(MAX_RESERVED_S, FOR_THE_VERDICT * seconds_left)


@dataclass(frozen=True)
class Attempt:
    """What a strategy starts from. The tests are those that a repair may see and must pass."""

    solution: Solution
    tests: tuple[TestCase, ...]
    report: Report
    diagnosis: Diagnosis
    together: bool = False
    """Some of the tests fail together with the others alone."""
    is_second: bool = False
    """A doubtful repair is in reserve, and another is asked for to compare it with."""
    nearer: Solution | None = None
    """A repair that passed all it was shown and then failed a test that it had not seen."""


@dataclass(frozen=True)
class Proposal:
    """What a strategy found: a program the judge passed under the visible tests, or none."""

    solution: Solution | None
    why: str = ""
    """Why there is none."""
    candidates: int = 0
    alternatives: Alternatives | None = None
    """Repairs that pass the visible tests too and behave otherwise."""
    partial: Solution | None = None
    """The program that came nearest where none was found: no judge has seen it."""


async def by_search(attempt: Attempt, ctx: Context) -> Proposal:
    """Search without a model, around the failing program."""

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
                return await _compiling(attempt, path, text, verify)
    found = await _searched(attempt, ctx, attempt.solution, attempt.report, verify, 1.0)
    if found.solution is None and attempt.nearer is not None:
        repaired, tried = await searched_near(attempt, ctx, attempt.nearer, attempt.report)
        found = replace(found, candidates=found.candidates + tried)
        if repaired is not None:
            note = edit_in_words(attempt.solution.text, repaired.text)
            return Proposal(repaired.model_copy(update={"note": note}), "", found.candidates)
    if project is not None:
        ctx.emit(_outline(attempt, found))
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


def specified_by(tests: Sequence[TestCase]) -> bool:
    """Whether trusted tests say enough of what a program does for an edit of it to be searched for:
    the user's own, or several examples of a task."""
    return _is_specified(tests) or say_enough(tests)


def is_guess(task: Task, tests: Sequence[TestCase]) -> bool:
    """Whether a model wrote the program, and tests of the user do not say enough of what it does.
    An edit that passes them is a guess as well then, so a model is asked before a search."""
    return task.solution is None and not (_is_specified(tests) and say_enough(tests))


def _is_specified(tests: Sequence[TestCase]) -> bool:
    return any(test.origin in PINNING_ORIGINS for test in tests)


def say_enough(tests: Sequence[TestCase]) -> bool:
    """Whether there are trusted tests enough to say what a program does."""
    return sum(test.origin in VETOING_ORIGINS for test in tests) >= LEAST_EXAMPLES


async def searched_near(
    attempt: Attempt, ctx: Context, candidate: Solution, report: Report
) -> tuple[Solution | None, int]:
    """A repair near one that fails, which passes the judge, and how many were tried: a program that
    is nearly right is what search is best at."""
    changed = candidate.changed_from(attempt.solution)
    if (
        not report.failing or ctx.seconds_left <= reserved_s(ctx.seconds_left)
        or not all(compiles(one.after) for one in changed)
    ):
        return None, 0

    found = await _searched(
        attempt, ctx, candidate, report, lambda one: ctx.judge(one, attempt.tests), AROUND,
        tuple(one.path for one in changed),
    )
    return found.solution, found.candidates


async def _searched(
    attempt: Attempt, ctx: Context, base: Solution, report: Report,
    verify: Callable[[Solution], Awaitable[Report]], share: float, only: Sequence[str] = (),
) -> SearchResult:
    """A search around a program, with a share of what one may take; of a project's files it may
    edit `only` some."""
    limits = SearchLimits(
        share * ctx.settings.search_s,
        share * min(
            WALL_TIMES * ctx.settings.search_s, ctx.seconds_left - reserved_s(ctx.seconds_left)
        ),
        max(1, int(share * ctx.settings.max_candidates)),
    )
    project = ctx.task.project
    if project is None:
        return await search_repair(file_runner(
            ctx.task, base, attempt.tests, report, ctx.sandbox, limits,
            known=ctx.screenings if share == 1.0 else None, together=attempt.together,
        ), base, limits, progress=ctx.emit, verify=verify)
    if only:
        project = project.model_copy(update={"editable": only})
    return await search_repair(
        suite_runner(ctx.task, project, base, failing_nodes(attempt.tests, report), ctx.sandbox,
                     limits),
        base, limits, progress=ctx.emit, verify=verify,
    )


def failing_nodes(tests: Sequence[TestCase], report: Report) -> list[str]:
    """The node ids of tests of a project that fail."""
    failing = {verdict.test for verdict in report.failing}
    return [
        one.node for one in tests
        if isinstance(one, Script) and one.name in failing and one.node != REST
    ]


def _outline(attempt: Attempt, found: SearchResult) -> Searched:
    """How the search in a project went, with the files that it suspects."""
    return Searched(
        candidates=found.candidates, plausible=int(found.solution is not None),
        best_passed=attempt.report.score[0], total=len(attempt.report.verdicts),
        wall_s=found.work_s, cut_after=found.cut_after,
        suspects=tuple(
            _named(one, attempt.solution, *found.moments.get(one.file, (None, ())))
            for one in found.suspects
        ),
    )


async def _compiling(
    attempt: Attempt, path: str, text: str, verify: Callable[[Solution], Awaitable[Report]]
) -> Proposal:
    """The likeliest texts of a file that does not compile, each under the whole suite."""
    texts = [one for _, one in await asyncio.to_thread(repaired, text, MAX_MENDING)]
    for tried, one in enumerate(texts[:MAX_REPAIRED], 1):
        solution = attempt.solution.with_file(
            path, one, origin="search", note=f"{edit_in_words(text, one)} ({path})",
        )
        if (await verify(solution)).passed:
            return Proposal(solution, solution.note, tried)
    tried = min(len(texts), MAX_REPAIRED)
    return Proposal(
        None, f"{path} does not compile, and the suite passes with none of {tried} texts that do",
        tried,
    )


def _named(
    suspect: Suspect, solution: Solution, line: int | None, values: tuple[tuple[str, str], ...]
) -> SuspectFile:
    """A suspect for readers: its likeliest functions by their names."""
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
