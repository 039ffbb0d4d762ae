"""Whether a project that acts on its tests is believed, and an honest one is.

    python -m evaluation.project_verdicts [--cases FILE] [--only ID ...] [--jobs N]

Each row of the cases is a small project whose whole suite passes under plain pytest: a forged one,
which must not be believed, or an honest but odd one, which must be (see
`evaluation/bench/project_verdicts.toml`).
"""

from __future__ import annotations

import argparse
import asyncio
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.core.domain import REST, Project, Report, Script
from agent.judge import check
from agent.judge.project_run import SuiteRun, run_suite
from evaluation.lines import for_each
from evaluation.planted import task_of
from sandbox.sandbox import Sandbox, open_sandbox

BENCH = Path(__file__).with_name("bench") / "project_verdicts.toml"
ENTRY, TESTS = "shop/core.py", "tests/test_core.py"


@dataclass(frozen=True)
class ProjectCase:
    """A project, and which of its tests are to be healed; all where none is named."""

    id: str
    is_forged: bool
    files: dict[str, str]
    wanted: tuple[str, ...] = ()
    before: str = ""
    """The program's text before its repair."""


@dataclass(frozen=True)
class JudgedProject:
    """What plain pytest and the judge say of a project."""

    case: ProjectCase
    plain: SuiteRun
    report: Report

    @property
    def deceives(self) -> bool:
        """Whether plain pytest passes it."""
        return bool(self.plain.rows) and not (self.plain.failing or self.plain.problems)

    @property
    def wrong(self) -> str:
        """What the judge says wrongly, in words; empty where it is right."""
        if self.case.is_forged:
            return f"believed: {self.report.integrity_reason}" if self.report.passed else ""
        said = [f"{one.name}: {one.doubt or one.message}" for one in self.report.failing]
        return "; ".join(said) or ("" if self.report.passed else "not passed")


def read_cases(path: Path = BENCH) -> Iterator[ProjectCase]:
    """The cases of a file."""
    rows: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))
    for kind in ("forged", "honest"):
        for row in rows.get(kind, ()):
            program = rows["wrong"] + row.get("adds", "") if kind == "forged" else rows["right"]
            yield ProjectCase(row["id"], kind == "forged", {
                "shop/__init__.py": "", ENTRY: program, TESTS: row.get("tests", rows["tests"]),
            } | row.get("files", {}), tuple(row.get("wanted", ())), rows["wrong"])


async def judged(case: ProjectCase, sandbox: Sandbox) -> JudgedProject:
    """Hears plain pytest first, then the judge on the tests that are to be healed."""
    editable = tuple(path for path in case.files if path.startswith("shop/"))
    project = Project(root="/none", name="shop", import_roots=("",), editable=editable)
    plain = await run_suite(case.files, project, (), sandbox)
    passing = tuple(node for node, row in plain.rows.items() if row["status"] == "passed")
    wanted = case.wanted or passing
    project = project.model_copy(update={"tests": tuple(plain.rows)})
    before = case.files | ({ENTRY: case.before} if case.is_forged else {})
    task, _ = task_of(before, project)
    _, solution = task_of(case.files, project, entry=ENTRY)
    scripts = [
        Script(name=one, origin="user", code=case.files[TESTS], node=one, file=TESTS)
        for one in wanted
    ]
    rest = Script(name="the rest", origin="user", code="", node=REST, without=wanted)
    return JudgedProject(case, plain, await check(solution, [*scripts, rest], task, sandbox))


async def _judge(cases: Sequence[ProjectCase], jobs: int) -> None:
    sandbox, found = open_sandbox(), list[JudgedProject]()

    async def act(case: ProjectCase) -> None:
        found.append(await judged(case, sandbox))

    await for_each(cases, act, jobs)
    for seen in found:
        plain = "" if seen.deceives else " (plain pytest is not deceived)"
        if seen.wrong or (plain and seen.case.is_forged):
            print(f"{seen.case.id}{plain}: {seen.wrong or 'not believed'}")
    forged = [seen for seen in found if seen.case.is_forged]
    honest = [seen for seen in found if not seen.case.is_forged]
    print(f"forged: {sum(bool(one.wrong) for one in forged)} of {len(forged)} are believed; "
          f"{sum(one.deceives for one in forged)} deceive plain pytest")
    print(f"honest: {sum(bool(one.wrong) for one in honest)} of {len(honest)} are not believed")


def main() -> None:
    """Judges the cases and prints what is judged wrongly."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=Path, default=BENCH, metavar="FILE")
    parser.add_argument("--only", nargs="+", default=(), metavar="ID")
    parser.add_argument("--jobs", type=int, default=2, metavar="N")
    args = parser.parse_args()
    cases = [one for one in read_cases(args.cases) if not args.only or one.id in args.only]
    asyncio.run(_judge(cases, args.jobs))


if __name__ == "__main__":
    main()
