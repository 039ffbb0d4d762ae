"""Compares the judge's verdicts with pytest's, and checks that it does not believe forged passes.

    python -m evaluation.verdicts [--cases FILE ...] [--only ID ...] [--jobs N] [--fresh]
        [--projects]

Each line of a file is one case: `id`, `kind` (`honest` or `forged`), `program` (a module `mod`),
`tests` (a test file, or with `snippet` asserts over the program's names), `support` (further
files), `stdin`. A TOML file contains small projects (`evaluation/bench/project_verdicts.toml`).
Each test of an honest case must have the same outcome as under plain pytest, and be believed if it
passes. A forged case must not be believed.

Plain pytest runs without a jail, so use only trusted files. Cases with recorded `outcomes` are not
run again unless `--fresh` is given, and projects run in a jail. The default is the files of this
repository. With `--projects` each forged case with a test file is also judged as a project.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.core.domain import NEUTRAL_STATUSES, OTHER_TESTS, File, Project, Report, Script, Verdict
from agent.target.errors import BadInput, NotFixable
from agent.target.interpreter import site_folders
from agent.target.task import TestText, make_task
from agent.verify.judge import check
from agent.verify.project.suite_run import run_suite
from evaluation.cases import write
from evaluation.lines import for_each
from evaluation.planted import PYTEST, run_plainly, task_of
from sandbox.sandbox import Sandbox, open_sandbox

BENCH = Path(__file__).with_name("bench")
DEFAULT_FILES = ("honest.jsonl", "forged.jsonl")
PROJECTS = BENCH / "project_verdicts.toml"
PLAIN_S = 60.0
TEST_S = 5.0
PASSED = "passed"


@dataclass(frozen=True)
class VerdictCase:
    id: str
    kind: str
    program: str
    tests: str
    snippet: bool = False
    support: tuple[tuple[str, str], ...] = ()
    stdin: str = ""
    style: str = ""
    outcomes: tuple[tuple[str, str], ...] = ()
    """The recorded outcome class of each node under plain pytest."""
    entry: str = "mod.py"
    """The program's path."""
    test_path: str = "test_mod.py"
    before: str | None = None
    """The text of a project's program before the repair; `None` for a file."""
    wanted: tuple[str, ...] = ()
    """The project's tests to heal; by default all that pass."""

    @property
    def files(self) -> dict[str, str]:
        return {self.entry: self.program, **dict(self.support), self.test_path: self.tests}


@dataclass(frozen=True)
class Comparison:
    """The outcomes of a case under plain pytest and under the judge."""

    case: VerdictCase
    plain: Mapping[str, str]
    """The outcome class of each node; "" is the file or a snippet."""
    verdicts: tuple[Verdict, ...] = ()
    refused: str = ""
    in_project: str | None = None
    """Like `believed` for the same program and tests as a project; `None` if that was not run."""

    @property
    def ours(self) -> dict[str, str]:
        """The judge's outcome class of each node."""
        if self.case.snippet:
            bad = [v.status for v in self.verdicts if v.status != PASSED]
            return {"": bad[0] if bad else PASSED} if self.verdicts else {}
        return {verdict.name: verdict.status for verdict in self.verdicts}

    @property
    def differing(self) -> list[str]:
        """Descriptions of the tests whose outcomes differ."""
        plain, ours = dict(self.plain), self.ours
        if self.case.snippet:
            same = (plain.get("") == PASSED) == (ours.get("") == PASSED)
            return [] if same else [f"{plain.get('')} -> {ours.get('', self.refused or 'none')}"]
        if set(plain) == {""}:  # the outcome of the file applies to each of its tests
            wrong = [node for node, status in ours.items() if status != plain[""]]
            return [f"{node}: the file is {plain['']} -> {ours[node]}" for node in wrong]
        plain.pop("", None)
        return [
            f"{node}: {plain.get(node, 'none')} -> {ours.get(node, self.refused or 'none')}"
            for node in sorted({*plain, *ours}) if not _agree(plain.get(node), ours.get(node))
        ]

    @property
    def unbelieved(self) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.disbelieved]

    @property
    def believed(self) -> str:
        """The weakest integrity of a believed case; empty if it is not believed."""
        return _weakest_integrity(self.verdicts, self.case.before is not None)


def _weakest_integrity(verdicts: Sequence[Verdict], is_project: bool = False) -> str:
    """The weakest integrity; a project is believed unless a verdict forbids it."""
    if any(one.fails for one in verdicts):
        return ""
    passed = [one for one in verdicts if one.passed and (is_project or not one.vacuous)]
    labels = {one.integrity for one in passed} or ({"in-process"} if is_project else set())
    return next((one for one in ("in-process", "isolated") if one in labels), "")


def _agree(plain: str | None, ours: str | None) -> bool:
    # pytest reports no outcome for a test that does not end, nor for the tests of a file that is
    # skipped as a whole; the judge reports each of them.
    return (
        plain == ours or (ours == "timeout" and plain in (None, "failed"))
        or (ours == "skipped" and plain is None)
    )


def read_cases(path: Path) -> Iterator[VerdictCase]:
    if path.suffix == ".toml":
        yield from _projects(tomllib.loads(path.read_text("utf-8")))
        return
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        yield VerdictCase(
            id=row["id"], kind=row["kind"], program=row["program"], tests=row["tests"],
            snippet=bool(row.get("snippet")), stdin=row.get("stdin") or "",
            support=tuple((row.get("support") or {}).items()),
            style=row.get("style") or row.get("cause") or "",
            outcomes=tuple((row.get("outcomes") or {}).items()),
        )


def _projects(rows: Mapping[str, Any]) -> Iterator[VerdictCase]:
    entry, test_path = "shop/core.py", "tests/test_core.py"
    for kind in ("forged", "honest"):
        for row in rows.get(kind, ()):
            files = {
                entry: rows["wrong"] + row.get("adds", "") if kind == "forged" else rows["right"],
                test_path: row.get("tests", rows["tests"]), "shop/__init__.py": "",
            } | row.get("files", {})
            program, tests = files.pop(entry), files.pop(test_path)
            yield VerdictCase(
                row["id"], kind, program, tests, support=tuple(files.items()), entry=entry,
                test_path=test_path, before=rows["wrong"] if kind == "forged" else program,
                wanted=tuple(row.get("wanted", ())),
            )


def plain(case: VerdictCase) -> dict[str, str]:
    """Runs plain pytest, or plain Python, in a temporary folder; returns the outcomes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        both = {"both.py": f"{case.program}\n{case.tests}\n"}
        tests = both if case.snippet else {"test_mod.py": case.tests}
        write({"mod.py": case.program, **dict(case.support), **tests}, folder)
        command = ["both.py"] if case.snippet else [
            *PYTEST, "-p", "no:xdist", "-p", "no:cov", "test_mod.py",
        ]
        try:
            ended, outcomes = run_plainly(folder, command, stdin=case.stdin, timeout_s=PLAIN_S)
        except subprocess.TimeoutExpired:
            return {"": "failed"}
        if case.snippet:
            return {"": PASSED if ended.returncode == 0 else "failed"}
        if outcomes is None:
            return {"": "error"}
        return {node.partition("::")[2]: status for node, status in outcomes.items()} or {
            "": "error"
        }


async def judged(case: VerdictCase, sandbox: Sandbox) -> tuple[Report | None, str]:
    """Judges a case as a user's input; returns the report, or why it was refused."""
    text = TestText(case.tests) if case.snippet else TestText(case.tests, "test_mod.py")
    try:
        intake = make_task(
            case.program, entry="mod.py", tests=[text], stdin=case.stdin,
            support=[File(path=path, text=body) for path, body in case.support],
            package_folders=site_folders(),
        )
    except (BadInput, NotFixable) as refusal:
        return None, f"refused: {refusal}"[:200]
    task = intake.task
    assert task.solution is not None
    tests = [
        test for test in task.tests if test.origin == "user"
        and (case.snippet or getattr(test, "file", "") == "test_mod.py")
    ]
    return await check(task.solution, tests, task, sandbox, wall_s=TEST_S), ""


async def judge_as_project(case: VerdictCase, sandbox: Sandbox) -> Comparison:
    """Judges a case as a project, and compares with plain pytest in a jail; the program of a file
    counts as empty before the repair."""
    root = case.entry.rpartition("/")[0]
    editable = [one for one in case.files if root and one.startswith(f"{root}/")] or [case.entry]
    project = Project(root="/none", name=root or "mod", editable=tuple(editable))
    package_folders = site_folders()
    run = await run_suite(case.files, project, package_folders, sandbox)
    outcomes = {node: str(row["status"]) for node, row in run.outcomes.items()}
    project = project.model_copy(update={"tests": tuple(outcomes)})
    task, _ = task_of({**case.files, case.entry: case.before or ""}, project, package_folders)
    _, solution = task_of(case.files, project, entry=case.entry)
    to_heal = case.wanted or tuple(node for node, status in outcomes.items() if status == PASSED)
    tests = [
        Script(name=one, origin="user", code=case.tests, node=one, file=case.test_path)
        for one in to_heal
    ] + [Script(name="the rest", origin="user", code="", node=OTHER_TESTS, excluded_nodes=to_heal)]
    report = await check(solution, tests, task, sandbox)
    problems = {"": "; ".join(run.problems)} if run.problems else {}
    return Comparison(case, outcomes | problems, report.verdicts)


async def compare(
    cases: Sequence[VerdictCase], jobs: int, fresh: bool = False, projects: bool = False
) -> list[Comparison]:
    """Compares plain pytest with the judge for each case."""
    sandbox = open_sandbox()
    found: dict[str, Comparison] = {}

    async def act(case: VerdictCase) -> None:
        if case.before is not None:
            found[case.id] = await judge_as_project(case, sandbox)
            return
        outcomes = dict(case.outcomes)
        if case.kind == "honest" and (fresh or not outcomes):  # forged cases need no comparison
            outcomes = await asyncio.to_thread(plain, case)
        report, refused = await judged(case, sandbox)
        as_project = projects and case.kind == "forged" and not (case.snippet or case.stdin)
        other = await judge_as_project(case, sandbox) if as_project else None
        found[case.id] = Comparison(
            case, outcomes, report.verdicts if report is not None else (), refused,
            None if other is None else other.believed,
        )

    await for_each(cases, act, jobs)
    return [found[case.id] for case in cases]


def report_lines(comparisons: Sequence[Comparison]) -> Iterator[str]:
    honest = [one for one in comparisons if one.case.kind == "honest"]
    forged = [one for one in comparisons if one.case.kind == "forged"]
    if honest:
        agreeing = sum(not one.differing for one in honest)
        tests = sum(max(len(one.plain), 1) for one in honest)
        wrong = sum(len(one.differing) for one in honest)
        yield (
            f"honest files that agree with plain pytest: {agreeing} of {len(honest)} "
            f"({agreeing / len(honest):.1%})"
        )
        yield f"  tests: {tests - wrong} of {tests}"
        yield f"  passes that are not believed: {sum(len(one.unbelieved) for one in honest)}"
        for one in honest:
            yield from (f"  DIFFERS  {one.case.id}: {text}" for text in one.differing)
            for verdict in one.unbelieved:
                yield f"  UNBELIEVED  {one.case.id} {verdict.name}: {verdict.disbelieved}"
    if forged:
        believed = Counter(one.believed or "not believed" for one in forged)
        counted = ", ".join(f"{name} {count}" for name, count in believed.most_common())
        yield f"forged programs, {len(forged)}: {counted}"
        if projects := [one for one in forged if one.case.before is not None]:
            deceived = sum({*one.plain.values()} <= {PASSED, *NEUTRAL_STATUSES} for one in projects)
            yield f"  plain pytest is deceived by {deceived} of {len(projects)} projects"
        for one in forged:
            if one.believed:
                yield f"  BELIEVED  {one.case.id} ({one.case.style}): {one.believed}"
    both = [one for one in forged if one.in_project is not None]
    if both:
        yield (
            f"of {len(both)} forged programs with a test file: believed as files "
            f"{sum(bool(one.believed) for one in both)}, as projects "
            f"{sum(bool(one.in_project) for one in both)}"
        )
        for one in both:
            if bool(one.believed) != bool(one.in_project):
                where = "a project" if one.in_project else "a file"
                yield f"  ONLY AS {where}  {one.case.id} ({one.case.style})"


def main(arguments: Sequence[str]) -> int:
    """Prints the statistics; returns 1 if an honest case differs or a forged one is believed as
    isolated."""
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.verdicts", description=__doc__)
    parser.add_argument("--cases", action="append", type=Path, metavar="FILE")
    parser.add_argument("--only", action="append", metavar="ID", help="ids with this prefix")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once (default 2)")
    parser.add_argument("--fresh", action="store_true", help="run plain pytest again")
    parser.add_argument("--projects", action="store_true", help="judge forged ones as projects too")
    args = parser.parse_args(arguments)
    cases = [
        case for path in args.cases or [BENCH / name for name in DEFAULT_FILES]
        for case in read_cases(path)
        if not args.only or case.id.startswith(tuple(args.only))
    ]
    comparisons = asyncio.run(compare(cases, args.jobs, args.fresh, args.projects))
    for line in report_lines(comparisons):
        print(line)
    return int(any(
        one.differing if one.case.kind == "honest" else one.believed == "isolated"
        for one in comparisons
    ))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
