"""Heals bugs planted in small projects, and measures how many repairs are correct.

    python -m evaluation.projects [--project NAME] [--bug ID] [--kind K] [--reach R] [--out DIR]
    python -m evaluation.projects --check      checks the rows of the bench
    python -m evaluation.projects --bench DIR  uses other projects: sources with a bugs.toml

A repair sees the suite without the hidden tests. It is `right` if it passes the whole suite and the
row's `unseen` tests.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TypedDict, cast, get_args

from agent.core.domain import OTHER_TESTS, Project, Proof, Report, Script, Solution
from agent.interfaces.exits import HEALED, NOT_HEALED, USAGE
from agent.interfaces.project.obstacles import check_suite_runs
from agent.iteration.search.driver import WALL_TIMES, SearchLimits, search_repair
from agent.iteration.search.suite_runner import suite_runner
from agent.proof.confidence import confidence
from agent.target.errors import NotFixable
from agent.verify.judge import check
from agent.verify.project.suite_run import SuiteRun, missing_tests, run_suite
from agent.verify.project.suite_run import project_files as files_of
from evaluation.executors import add_executor_options, run_measurement
from evaluation.lines import JsonLinesFile, positive
from evaluation.planted import (
    PROJECTS,
    BadBench,
    Bench,
    Bug,
    BugTask,
    CorrectProject,
    Kind,
    ProjectRow,
    Reach,
    plain_outcomes,
    plant,
    read_bench,
    read_project,
    with_bug,
)
from sandbox import Sandbox, SandboxError, open_sandbox

CANDIDATES = 60_000
UNSEEN = "test_unseen.py"
THRESHOLDS = (0.9, 0.8, 0.7, 0.5, 0.0)
"""Patches at or above the first are called HEALED."""


class BugRow(TypedDict):
    id: str
    healed: bool
    """The visible suite passes."""
    right: bool
    """The hidden tests pass too."""
    same: bool
    """The text equals the one before the bug was planted."""
    confidence: float | None
    agrees: bool
    """The same tests fail as under plain pytest."""
    seconds: float
    first_s: float
    """Seconds from the suite's collection until the first candidate was tried."""
    candidates: int
    note: str


async def heal_bug(
    one: BugTask, sandbox: Sandbox, budget_s: float, wall_s: float | None = None
) -> BugRow:
    """Heals a bug, and checks the repair with the hidden and unseen tests."""
    plain = await run_suite(files_of(one.task, None), one.project, one.task.site_dirs, sandbox)
    try:
        check_suite_runs(plain, one.right.tree, one.right.python)
    except NotFixable as refusal:
        return BugRow(
            id=one.bug.id, healed=False, right=False, same=False, confidence=None, agrees=False,
            seconds=0.0, first_s=0.0, candidates=0, note=f"refused: {refusal}",
        )
    tests = [
        *(Script(name=node, origin="user", code="", node=node) for node in plain.failing),
        Script(name="the rest", origin="user", code="", node=OTHER_TESTS),
    ]

    async def verify(solution: Solution) -> Report:
        return await check(solution, tests, one.task, sandbox)

    began = time.monotonic()
    limits = SearchLimits(budget_s, wall_s or WALL_TIMES * budget_s, CANDIDATES)
    found = await search_repair(
        suite_runner(one.task, one.project, one.base, plain.failing, sandbox, limits), one.base,
        limits, progress=lambda _: None, verify=verify,
    )
    seconds = time.monotonic() - began
    right = same = False
    likelihood: float | None = None
    if found.solution is not None:
        likelihood = confidence(
            found.solution, one.base, (), Proof(level="E1", why=""), None, "search",
            suite=len(plain.outcomes),
        ).probability
        files = files_of(one.task, found.solution)
        right = await _passes(files, one.right.project, one, sandbox)
        if right and one.bug.unseen:
            alone = one.right.project.model_copy(update={"arguments": (UNSEEN,)})
            right = await _passes(files | {UNSEEN: one.bug.unseen}, alone, one, sandbox)
        same = all(
            normalised(text) == normalised(one.right.files[path]) for path, text in files.items()
        )
    return BugRow(
        id=one.bug.id, healed=found.solution is not None, right=right, same=same,
        confidence=likelihood, agrees={*plain.failing} == {*one.bug.failing},
        seconds=round(seconds, 2), first_s=round(found.first_candidate_s, 2),
        candidates=found.candidates,
        note=found.solution.note if found.solution is not None else found.problem,
    )


def normalised(text: str) -> str:
    """A text without white space and differences in quotes."""
    return "".join(text.replace('"', "'").split())


async def _passes(files: dict[str, str], project: Project, one: BugTask, sandbox: Sandbox) -> bool:
    run = await run_suite(files, project, one.right.package_folders, sandbox)
    return bool(run.outcomes) and not run.failing and not run.problems


def table(bugs: Sequence[Bug], lines: Mapping[str, BugRow]) -> Iterator[str]:
    """Yields the statistics of all finished bugs, and by project, kind, reach and level."""
    done = [bug for bug in bugs if bug.id in lines]
    yield (
        f"{'':35} {'bugs':>4} {'healed':>6} {'right':>6} {'same':>6}"
        f" {'median s':>9} {'candidates':>10} {'first s':>8}"
    )
    groups = [(key, value) for key in ("project", "kind", "reach", "level") for value in {
        str(getattr(bug, key)): None for bug in done
    }]
    for key, value in [*groups, ("all", "")]:
        rows = [lines[bug.id] for bug in done if key == "all" or getattr(bug, key) == value]
        shares = " ".join(
            f"{sum(bool(row[name]) for row in rows) / len(rows):>6.0%}"
            for name in ("healed", "right", "same")
        )
        medians = [
            statistics.median(cast(float, row[name]) for row in rows)
            for name in ("seconds", "candidates", "first_s")
        ]
        yield (
            f"{f'{key} {value}':35} {len(rows):>4} {shares}"
            f" {medians[0]:>9.2f} {medians[1]:>10.0f} {medians[2]:>8.2f}"
        )
    for least in THRESHOLDS:
        some = [
            row for bug in done if (row := lines[bug.id])["confidence"] is not None
            and (row["confidence"] or 0.0) >= least
        ]
        right = sum(row["right"] for row in some)
        yield f"confidence at least {least:g}: {len(some)} patches, {right} right"
    other = [bug.id for bug in done if not lines[bug.id]["agrees"]]
    yield f"outcomes other than plain pytest's: {', '.join(other) or 'none'}"


async def complaints(
    bench: Bench, bugs: Sequence[Bug], sandbox: Sandbox, folder: Path = PROJECTS
) -> AsyncIterator[str]:
    """Yields the errors in the rows of projects and bugs."""
    if len({bug.id for bug in bench.bug}) != len(bench.bug):
        yield "two bugs have the same id"
    for row in bench.project:
        of_row = [bug for bug in bugs if bug.project == row.name]
        if of_row or not bench.bug:
            right = read_project(row, folder)
            run = await run_suite({**right.files}, right.project, right.package_folders, sandbox)
            plain = await asyncio.to_thread(plain_outcomes, row, folder)
            for text in [
                *run.problems, *(f"fails without a bug: {node}" for node in run.failing),
                *differences(run, plain),
            ]:
                yield f"{row.name}: {text}"
            for bug in of_row:
                async for text in _row_errors(bug, right, [*run.outcomes], sandbox):
                    yield f"{bug.id}: {text}"


def differences(run: SuiteRun, plain: Mapping[str, str]) -> Iterator[str]:
    """Yields the tests whose outcome differs from that of plain pytest."""
    for node in missing_tests(plain, [*run.outcomes]):
        yield f"not run and {plain[node]} under plain pytest: {node}"
    for node in missing_tests(run.outcomes, [*plain]):
        yield f"{run.outcomes[node]['status']} and not run under plain pytest: {node}"
    for node, row in run.outcomes.items():
        if plain.get(node, row["status"]) != row["status"]:
            text = f"{row['status']} and {plain[node]} under plain pytest: {node}"
            yield f"{text} {row.get('message', '')}".strip()


async def _row_errors(
    bug: Bug, right: CorrectProject, nodes: Sequence[str], sandbox: Sandbox
) -> AsyncIterator[str]:
    run = await run_suite(with_bug(right.files, bug), right.project, right.package_folders, sandbox)
    shown = {node for node in run.failing if not bug.is_hidden(node)}
    if not bug.failing:
        yield "no failing test is shown"
    if bug.unseen:
        alone = right.project.model_copy(update={"arguments": (UNSEEN,)})
        for correct, files in (True, right.files), (False, with_bug(right.files, bug)):
            tested = {**files, UNSEEN: bug.unseen}
            unseen = await run_suite(tested, alone, right.package_folders, sandbox)
            if bool(unseen.failing or unseen.problems or not unseen.outcomes) is correct:
                yield f"the unseen tests {'fail without' if correct else 'pass with'} the bug"
    for node in sorted({*bug.failing} - shown):
        yield f"does not fail, or is hidden: {node}"
    for node in sorted(shown - {*bug.failing}):
        yield f"fails, and is not listed: {node}"
    for entry in bug.hidden:
        if not any(node == entry or node.startswith(f"{entry}[") for node in nodes):
            yield f"no such hidden test: {entry}"
        # `--deselect` matches prefixes of node ids.
        for node in nodes:
            if node.startswith(entry) and not bug.is_hidden(node):
                yield f"deselected with {entry}: {node}"


def main(arguments: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    try:
        bench = read_bench(args.bench)
        bugs = [
            bug for bug in bench.bug
            if args.project in ("", bug.project) and args.bug in bug.id
            and args.kind in ("", bug.kind) and args.reach in ("", bug.reach)
        ]
        if not bugs and not (args.check and not bench.bug):
            raise BadBench("no bug of the bench matches these options")
        if args.check:
            return asyncio.run(_check(bench, bugs, args))
        return _measure(bench, bugs, args)
    except (BadBench, SandboxError) as error:
        print(error, file=sys.stderr)
        return USAGE


def _measure(bench: Bench, bugs: Sequence[Bug], args: argparse.Namespace) -> int:
    rows = {row.name: row for row in bench.project}
    lines: JsonLinesFile[BugRow] = JsonLinesFile(args.out and args.out / "results.jsonl")

    def add(line: BugRow) -> str:
        lines.add(line)
        end = "right" if line["right"] else "healed" if line["healed"] else "not healed"
        return (
            f"{line['id']}: {end} in {line['seconds']:.1f} s, {line['candidates']} candidates; "
            f"{line['note']}"
        )

    function = partial(
        measure_bug, bench=args.bench, budget_s=args.budget_s, wall_s=args.wall_s
    )
    items = {bug.id: (bug, rows[bug.project]) for bug in bugs}
    if status := run_measurement(args, items, function, lines, add):
        return status
    print("\n".join(table(bugs, lines.by_id)))
    return HEALED


async def _check(bench: Bench, bugs: Sequence[Bug], args: argparse.Namespace) -> int:
    number = 0
    async for text in complaints(bench, bugs, open_sandbox(), args.bench):
        number += 1
        print(text, flush=True)
    print(f"{len(bugs)} bugs, {number} complaints")
    return NOT_HEALED if number else HEALED


async def measure_bug(
    row: tuple[Bug, ProjectRow], bench: Path, budget_s: float, wall_s: float | None
) -> BugRow:
    """`heal_bug` as the function of a row; `bench` is a folder of the machine that runs it."""
    bug, project = row
    return await heal_bug(plant(bug, read_project(project, bench)), sandbox_of_rows(), budget_s,
                          wall_s)


sandbox_of_rows = cache(open_sandbox)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}.projects",
        description="Heal bugs planted in small projects, and count the correct repairs.",
    )
    parser.add_argument("--check", action="store_true", help="check the rows of the bench")
    parser.add_argument(
        "--bench", type=Path, default=PROJECTS, metavar="DIR",
        help="folder of the projects and of the bugs.toml that describes the bugs",
    )
    parser.add_argument("--project", default="", metavar="NAME", help="bugs of this project")
    parser.add_argument("--bug", default="", metavar="TEXT", help="bugs whose id contains this")
    parser.add_argument("--kind", default="", choices=get_args(Kind), help="bugs of this kind")
    parser.add_argument("--reach", default="", choices=get_args(Reach), help="bugs of this reach")
    parser.add_argument(
        "--budget-s", type=positive, default=10.0, metavar="S",
        help="processor seconds of one search",
    )
    parser.add_argument(
        "--wall-s", type=positive, metavar="S",
        help=f"wall seconds of one search; by default {WALL_TIMES:g} times its budget",
    )
    add_executor_options(parser)
    parser.add_argument(
        "--out", type=Path, metavar="DIR",
        help="folder of the results; finished bugs are not run again",
    )
    return parser


if __name__ == "__main__":
    from evaluation.projects import main as by_name  # other processes import the rows' function

    raise SystemExit(by_name())
