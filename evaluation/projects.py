"""Heals bugs that are planted in small projects, and measures what came of it.

    python -m evaluation.projects [--project NAME] [--bug ID] [--kind K] [--reach R] [--out DIR]
    python -m evaluation.projects --check      whether each row is what its fields say
    python -m evaluation.projects --bench DIR  other projects: unpacked sources, and their bugs.toml

A repair sees the suite without the hidden tests; `right` is what passes the whole of it, and the
row's `unseen` tests, which are in no tree.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypedDict, cast, get_args

from agent.core.domain import REST, Project, Proof, Report, Script, Solution
from agent.interfaces.exits import HEALED, NOT_HEALED, USAGE
from agent.interfaces.project.obstacles import refuse_what_does_not_run
from agent.iteration.search.driver import WALL_TIMES, SearchLimits, search_repair
from agent.iteration.search.suite_runner import suite_runner
from agent.proof.confidence import confidence
from agent.target.errors import NotFixable
from agent.verify.judge import check
from agent.verify.project.suite_run import SuiteRun, gone, run_suite
from agent.verify.project.suite_run import laid as files_of
from evaluation.lines import Lines, count, for_each, positive
from evaluation.planted import (
    PROJECTS,
    BadBench,
    Bench,
    Bug,
    Kind,
    LaidOut,
    Planted,
    Reach,
    broken,
    laid,
    plain_outcomes,
    planted,
    read_bench,
)
from sandbox import Sandbox, SandboxError, open_sandbox

CANDIDATES = 60_000
UNSEEN = "test_unseen.py"
THRESHOLDS = (0.9, 0.8, 0.7, 0.5, 0.0)
"""From the first on a patch is called HEALED."""


class BugRow(TypedDict):
    """What came of one bug."""

    id: str
    healed: bool
    """The suite that was shown passes."""
    right: bool
    """The hidden tests pass too."""
    same: bool
    """The text is the one before the bug was planted."""
    confidence: float | None
    agrees: bool
    """The tests that fail are those that failed under plain pytest."""
    seconds: float
    first_s: float
    """Seconds until the first candidate was tried, once the suite was collected."""
    candidates: int
    note: str


async def healed(
    one: Planted, sandbox: Sandbox, budget_s: float, wall_s: float | None = None
) -> BugRow:
    """Heals one bug, and asks the hidden tests and the unseen ones."""
    plain = await run_suite(files_of(one.task, None), one.project, one.task.sites, sandbox)
    try:
        refuse_what_does_not_run(plain, one.right.tree, one.right.python)
    except NotFixable as refusal:
        return BugRow(
            id=one.bug.id, healed=False, right=False, same=False, confidence=None, agrees=False,
            seconds=0.0, first_s=0.0, candidates=0, note=f"refused: {refusal}",
        )
    tests = [
        *(Script(name=node, origin="user", code="", node=node) for node in plain.failing),
        Script(name="the rest", origin="user", code="", node=REST),
    ]

    async def verify(solution: Solution) -> Report:
        return await check(solution, tests, one.task, sandbox)

    began = time.monotonic()
    limits = SearchLimits(budget_s, wall_s or WALL_TIMES * budget_s, CANDIDATES)
    found = await search_repair(
        suite_runner(one.task, one.project, one.base, plain.failing, sandbox, limits), one.base,
        limits, progress=lambda seen: None, verify=verify,
    )
    seconds = time.monotonic() - began
    right = same = False
    likely: float | None = None
    if found.solution is not None:
        likely = confidence(
            found.solution, one.base, (), Proof(level="E1", why=""), None, "search",
            suite=len(plain.rows),
        ).probability
        files = files_of(one.task, found.solution)
        right = await _passes(files, one.right.project, one, sandbox)
        if right and one.bug.unseen:
            alone = one.right.project.model_copy(update={"arguments": (UNSEEN,)})
            right = await _passes(files | {UNSEEN: one.bug.unseen}, alone, one, sandbox)
        same = all(alike(text) == alike(one.right.files[path]) for path, text in files.items())
    return BugRow(
        id=one.bug.id, healed=found.solution is not None, right=right, same=same,
        confidence=likely, agrees={*plain.failing} == {*one.bug.failing}, seconds=round(seconds, 2),
        first_s=round(found.first_s, 2), candidates=found.candidates,
        note=found.solution.note if found.solution is not None else found.problem,
    )


def alike(text: str) -> str:
    """A text without what an edit may lay out otherwise: blanks and kinds of quotes."""
    return "".join(text.replace('"', "'").split())


async def _passes(
    files: dict[str, str], project: Project, one: Planted, sandbox: Sandbox
) -> bool:
    run = await run_suite(files, project, one.right.sites, sandbox)
    return bool(run.rows) and not run.failing and not run.problems


def table(bugs: Sequence[Bug], lines: Mapping[str, BugRow]) -> Iterator[str]:
    """The figures of the bugs that are done, by kind, reach and level, and of all."""
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


# Whether the rows are what they say.


async def complaints(
    bench: Bench, bugs: Sequence[Bug], sandbox: Sandbox, folder: Path = PROJECTS
) -> AsyncIterator[str]:
    """What is wrong with projects and bugs."""
    if len({bug.id for bug in bench.bug}) != len(bench.bug):
        yield "two bugs have the same id"
    for row in bench.project:
        of_row = [bug for bug in bugs if bug.project == row.name]
        if of_row or not bench.bug:
            right = laid(row, folder)
            run = await run_suite({**right.files}, right.project, right.sites, sandbox)
            plain = await asyncio.to_thread(plain_outcomes, row, folder)
            for said in [
                *run.problems, *(f"red as it stands: {node}" for node in run.failing),
                *otherwise(run, plain),
            ]:
                yield f"{row.name}: {said}"
            for bug in of_row:
                async for said in _wrong_with(bug, right, [*run.rows], sandbox):
                    yield f"{bug.id}: {said}"


def otherwise(run: SuiteRun, plain: Mapping[str, str]) -> Iterator[str]:
    """Tests that come out otherwise in our run than under plain pytest."""
    for node in gone(plain, [*run.rows]):
        yield f"not run and {plain[node]} under plain pytest: {node}"
    for node in gone(run.rows, [*plain]):
        yield f"{run.rows[node]['status']} and not run under plain pytest: {node}"
    for node, row in run.rows.items():
        if plain.get(node, row["status"]) != row["status"]:
            said = f"{row['status']} and {plain[node]} under plain pytest: {node}"
            yield f"{said} {row.get('message', '')}".strip()


async def _wrong_with(
    bug: Bug, right: LaidOut, nodes: Sequence[str], sandbox: Sandbox
) -> AsyncIterator[str]:
    run = await run_suite(broken(right.files, bug), right.project, right.sites, sandbox)
    shown = {node for node in run.failing if not bug.is_hidden(node)}
    if not bug.failing:
        yield "no failing test is shown"
    if bug.unseen:
        alone = right.project.model_copy(update={"arguments": (UNSEEN,)})
        for wanted, files in (True, right.files), (False, broken(right.files, bug)):
            unseen = await run_suite(
                {**files, UNSEEN: bug.unseen}, alone, right.sites, sandbox
            )
            if bool(unseen.failing or unseen.problems or not unseen.rows) is wanted:
                yield f"the unseen tests {'fail without' if wanted else 'pass with'} the bug"
    for node in sorted({*bug.failing} - shown):
        yield f"does not fail, or is hidden: {node}"
    for node in sorted(shown - {*bug.failing}):
        yield f"fails, and is not listed: {node}"
    for entry in bug.hidden:
        if not any(node == entry or node.startswith(f"{entry}[") for node in nodes):
            yield f"no such hidden test: {entry}"
        # What is left out goes by how a node id begins.
        for node in nodes:
            if node.startswith(entry) and not bug.is_hidden(node):
                yield f"left out with {entry}: {node}"


# The command.


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    wanted = _parser().parse_args(arguments)
    try:
        bench = read_bench(wanted.bench)
        bugs = [
            bug for bug in bench.bug
            if wanted.project in ("", bug.project) and wanted.bug in bug.id
            and wanted.kind in ("", bug.kind) and wanted.reach in ("", bug.reach)
        ]
        if not bugs and not (wanted.check and not bench.bug):
            raise BadBench("no bug of the bench is like that")
        return asyncio.run(_measured(bench, bugs, wanted))
    except (BadBench, SandboxError) as error:
        print(error, file=sys.stderr)
        return USAGE


async def _measured(bench: Bench, bugs: Sequence[Bug], wanted: argparse.Namespace) -> int:
    sandbox = open_sandbox()
    rows = {row.name: row for row in bench.project}
    if wanted.check:
        said = 0
        async for text in complaints(bench, bugs, sandbox, wanted.bench):
            said += 1
            print(text, flush=True)
        print(f"{len(bugs)} bugs, {said} complaints")
        return NOT_HEALED if said else HEALED
    lines: Lines[BugRow] = Lines(wanted.out and wanted.out / "results.jsonl")

    async def act(bug: Bug) -> None:
        one = planted(bug, laid(rows[bug.project], wanted.bench))
        line = await healed(one, sandbox, wanted.budget_s, wanted.wall_s)
        lines.add(line)
        end = "right" if line["right"] else "healed" if line["healed"] else "not healed"
        print(
            f"{bug.id}: {end} in {line['seconds']:.1f} s, {line['candidates']} candidates; "
            f"{line['note']}", file=sys.stderr, flush=True,
        )

    await for_each([bug for bug in bugs if bug.id not in lines.by_id], act, wanted.workers)
    print("\n".join(table(bugs, lines.by_id)))
    return HEALED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}.projects",
        description="Heal bugs planted in small projects, and say how many are right.",
    )
    parser.add_argument("--check", action="store_true", help="try that each row is what it says")
    parser.add_argument(
        "--bench", type=Path, default=PROJECTS, metavar="DIR",
        help="where projects lie, with the bugs.toml that says what is planted in them",
    )
    parser.add_argument("--project", default="", metavar="NAME", help="bugs of this project")
    parser.add_argument("--bug", default="", metavar="TEXT", help="bugs whose id has this")
    parser.add_argument("--kind", default="", choices=get_args(Kind), help="bugs of this kind")
    parser.add_argument("--reach", default="", choices=get_args(Reach), help="bugs in this reach")
    parser.add_argument(
        "--budget-s", type=positive, default=10.0, metavar="S",
        help="processor seconds of one search",
    )
    parser.add_argument(
        "--wall-s", type=positive, metavar="S",
        help=f"seconds of one search by the clock; otherwise {WALL_TIMES:g} times its budget",
    )
    parser.add_argument(
        "--workers", type=count, default=1, metavar="N",
        help="bugs at a time; with more than one, seconds mean little",
    )
    parser.add_argument(
        "--out", type=Path, metavar="DIR",
        help="for the results; what is done there is not done again",
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
