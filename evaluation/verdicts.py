"""Whether the judge says what pytest says, and whether a forger is believed.

    python -m evaluation.verdicts [--cases FILE ...] [--only ID ...] [--jobs N] [--fresh]
        [--projects]

Each line of a file is one case: `id`, `kind` (`honest` or `forged`), `program` (a module `mod`),
`tests` (a test file; with `snippet` asserts beside the program's names), `support` (further files),
`stdin`. A file in TOML holds small projects (`evaluation/bench/project_verdicts.toml`). An honest
case must come out as under plain pytest, test by test and class by class, and be believed where it
passes. A forged one must not be believed. Plain pytest runs here outside of any jail, so run no
file that you would not run yourself; a case whose `outcomes` are recorded is not run again, unless
with `--fresh`, and a project's runs in a jail. Without `--cases` our own files are run. With
`--projects` each forged case that has a file of tests is judged as a project too.
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

from agent.core.domain import EXCLUDED, REST, File, Project, Report, Script, Verdict
from agent.target.errors import BadInput, NotFixable
from agent.target.interpreter import own_sites
from agent.target.task import TestText, make_task
from agent.verify.judge import check
from agent.verify.project.suite_run import run_suite
from evaluation.cases import write
from evaluation.lines import for_each
from evaluation.planted import PYTEST, run_plainly, task_of
from sandbox.sandbox import Sandbox, open_sandbox

BENCH = Path(__file__).with_name("bench")
OUR_OWN = ("honest.jsonl", "forged.jsonl")
PROJECTS = BENCH / "project_verdicts.toml"
PLAIN_S = 60.0
TEST_S = 5.0
RIGHT = "passed"


@dataclass(frozen=True)
class VerdictCase:
    """One program with its tests."""

    id: str
    kind: str
    program: str
    tests: str
    snippet: bool = False
    support: tuple[tuple[str, str], ...] = ()
    stdin: str = ""
    style: str = ""
    outcomes: tuple[tuple[str, str], ...] = ()
    """Node to outcome class, as plain pytest said when the case was written."""
    entry: str = "mod.py"
    """Where the program lies."""
    test_path: str = "test_mod.py"
    before: str | None = None
    """Of a project, the program's text before its repair; `None` of a file."""
    wanted: tuple[str, ...] = ()
    """Of a project, the tests that are to be healed; all that pass where none is named."""

    @property
    def files(self) -> dict[str, str]:
        """Path to text."""
        return {self.entry: self.program, **dict(self.support), self.test_path: self.tests}


@dataclass(frozen=True)
class Comparison:
    """What plain pytest and the judge say of a case."""

    case: VerdictCase
    plain: Mapping[str, str]
    """Node to outcome class; "" is the file, or a snippet."""
    verdicts: tuple[Verdict, ...] = ()
    refused: str = ""
    in_project: str | None = None
    """As `believed`, for the same program and tests as a project; `None` where that was not run."""

    @property
    def ours(self) -> dict[str, str]:
        """Node to outcome class, as the judge says."""
        if self.case.snippet:
            bad = [v.status for v in self.verdicts if v.status != RIGHT]
            return {"": bad[0] if bad else RIGHT} if self.verdicts else {}
        return {verdict.name: verdict.status for verdict in self.verdicts}

    @property
    def differing(self) -> list[str]:
        """Tests of which the judge says something else than plain pytest, in words."""
        plain, ours = dict(self.plain), self.ours
        if self.case.snippet:
            same = (plain.get("") == RIGHT) == (ours.get("") == RIGHT)
            return [] if same else [f"{plain.get('')} -> {ours.get('', self.refused or 'none')}"]
        if set(plain) == {""}:  # what pytest says of the file holds for every test of it
            wrong = [node for node, status in ours.items() if status != plain[""]]
            return [f"{node}: the file is {plain['']} -> {ours[node]}" for node in wrong]
        plain.pop("", None)
        return [
            f"{node}: {plain.get(node, 'none')} -> {ours.get(node, self.refused or 'none')}"
            for node in sorted({*plain, *ours}) if not _agree(plain.get(node), ours.get(node))
        ]

    @property
    def unbelieved(self) -> list[Verdict]:
        """Passes that are not believed."""
        return [verdict for verdict in self.verdicts if verdict.doubt]

    @property
    def believed(self) -> str:
        """As what the whole case is believed to pass: its weakest label; empty where it is not."""
        return _believed(self.verdicts, self.case.before is not None)


def _believed(verdicts: Sequence[Verdict], is_project: bool = False) -> str:
    """The weakest label; a project is believed where nothing forbids it."""
    if any(one.fails for one in verdicts):
        return ""
    passed = [one for one in verdicts if one.passed and (is_project or not one.vacuous)]
    labels = {one.integrity for one in passed} or ({"in-process"} if is_project else set())
    return next((one for one in ("in-process", "isolated") if one in labels), "")


def _agree(plain: str | None, ours: str | None) -> bool:
    # A test that comes to no end has no class of pytest's. Nor has one of a file that is skipped
    # as a whole, which we say of each of its tests.
    return (
        plain == ours or (ours == "timeout" and plain in (None, "failed"))
        or (ours == "skipped" and plain is None)
    )


def read_cases(path: Path) -> Iterator[VerdictCase]:
    """The cases of a file."""
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
    """What plain pytest, or plain Python, says; run in a folder of its own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        both = {"both.py": f"{case.program}\n{case.tests}\n"}
        tests = both if case.snippet else {"test_mod.py": case.tests}
        write({"mod.py": case.program, **dict(case.support), **tests}, folder)
        command = ["both.py"] if case.snippet else [
            *PYTEST, "-p", "no:xdist", "-p", "no:cov", "test_mod.py",
        ]
        try:
            ended, seen = run_plainly(folder, command, stdin=case.stdin, most_s=PLAIN_S)
        except subprocess.TimeoutExpired:
            return {"": "failed"}
        if case.snippet:
            return {"": RIGHT if ended.returncode == 0 else "failed"}
        if seen is None:
            return {"": "error"}
        return {node.partition("::")[2]: how for node, how in seen.items()} or {"": "error"}


async def judged(case: VerdictCase, sandbox: Sandbox) -> tuple[Report | None, str]:
    """What the judge says of what a user brings, or why it is refused."""
    text = TestText(case.tests) if case.snippet else TestText(case.tests, "test_mod.py")
    try:
        intake = make_task(
            case.program, entry="mod.py", tests=[text], stdin=case.stdin,
            support=[File(path=path, text=body) for path, body in case.support],
            sites=own_sites(),
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


async def judged_as_project(case: VerdictCase, sandbox: Sandbox) -> Comparison:
    """What plain pytest says in a jail, and the judge of the same tests as a project's; the program
    of a file was empty before."""
    root = case.entry.rpartition("/")[0]
    editable = [one for one in case.files if root and one.startswith(f"{root}/")] or [case.entry]
    project = Project(root="/none", name=root or "mod", editable=tuple(editable))
    sites = own_sites()
    run = await run_suite(case.files, project, sites, sandbox)
    seen = {node: str(row["status"]) for node, row in run.rows.items()}
    project = project.model_copy(update={"tests": tuple(seen)})
    task, _ = task_of({**case.files, case.entry: case.before or ""}, project, sites)
    _, solution = task_of(case.files, project, entry=case.entry)
    wanted = case.wanted or tuple(node for node, status in seen.items() if status == RIGHT)
    tests = [
        Script(name=one, origin="user", code=case.tests, node=one, file=case.test_path)
        for one in wanted
    ] + [Script(name="the rest", origin="user", code="", node=REST, without=wanted)]
    report = await check(solution, tests, task, sandbox)
    said = {"": "; ".join(run.problems)} if run.problems else {}
    return Comparison(case, seen | said, report.verdicts)


async def looked_at(
    cases: Sequence[VerdictCase], jobs: int, fresh: bool = False, projects: bool = False
) -> list[Comparison]:
    """Every case under both."""
    sandbox = open_sandbox()
    found: dict[str, Comparison] = {}

    async def act(case: VerdictCase) -> None:
        if case.before is not None:
            found[case.id] = await judged_as_project(case, sandbox)
            return
        says = dict(case.outcomes)
        if case.kind == "honest" and (fresh or not says):  # pytest does not judge forged ones
            says = await asyncio.to_thread(plain, case)
        report, refused = await judged(case, sandbox)
        alike = projects and case.kind == "forged" and not (case.snippet or case.stdin)
        other = await judged_as_project(case, sandbox) if alike else None
        found[case.id] = Comparison(
            case, says, report.verdicts if report is not None else (), refused,
            None if other is None else other.believed,
        )

    await for_each(cases, act, jobs)
    return [found[case.id] for case in cases]


def report_lines(seen: Sequence[Comparison]) -> Iterator[str]:
    """The figures, and each case that falls."""
    honest = [one for one in seen if one.case.kind == "honest"]
    forged = [one for one in seen if one.case.kind == "forged"]
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
            yield from (f"  DIFFERS  {one.case.id}: {word}" for word in one.differing)
            for verdict in one.unbelieved:
                yield f"  UNBELIEVED  {one.case.id} {verdict.name}: {verdict.doubt}"
    if forged:
        believed = Counter(one.believed or "not believed" for one in forged)
        counted = ", ".join(f"{name} {count}" for name, count in believed.most_common())
        yield f"forged programs, {len(forged)}: {counted}"
        if projects := [one for one in forged if one.case.before is not None]:
            deceived = sum({*one.plain.values()} <= {RIGHT, *EXCLUDED} for one in projects)
            yield f"  plain pytest is deceived by {deceived} of {len(projects)} projects"
        for one in forged:
            if one.believed:
                yield f"  BELIEVED  {one.case.id} ({one.case.style}): {one.believed}"
    both = [one for one in forged if one.in_project is not None]
    if both:
        yield (
            f"of {len(both)} with a file of tests: believed as files "
            f"{sum(bool(one.believed) for one in both)}, as projects "
            f"{sum(bool(one.in_project) for one in both)}"
        )
        for one in both:
            if bool(one.believed) != bool(one.in_project):
                where = "a project" if one.in_project else "a file"
                yield f"  ONLY AS {where}  {one.case.id} ({one.case.style})"


def main(arguments: Sequence[str]) -> int:
    """Prints the figures; 1 where an honest case differs or a forged one is believed outside."""
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.verdicts", description=__doc__)
    parser.add_argument("--cases", action="append", type=Path, metavar="FILE")
    parser.add_argument("--only", action="append", metavar="ID", help="ids that begin so")
    parser.add_argument("--jobs", type=int, default=2, help="cases at once (default 2)")
    parser.add_argument("--fresh", action="store_true", help="run plain pytest again")
    parser.add_argument("--projects", action="store_true", help="judge forged ones as projects too")
    wanted = parser.parse_args(arguments)
    cases = [
        case for path in wanted.cases or [BENCH / name for name in OUR_OWN]
        for case in read_cases(path)
        if not wanted.only or case.id.startswith(tuple(wanted.only))
    ]
    seen = asyncio.run(looked_at(cases, wanted.jobs, wanted.fresh, wanted.projects))
    for line in report_lines(seen):
        print(line)
    return int(any(
        one.differing if one.case.kind == "honest" else one.believed == "isolated"
        for one in seen
    ))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
