"""Undoes small bug fixes of real projects, heals them as a user would, and judges the patches.

    python -m evaluation.real_fixes --repo PATH_OR_URL [--repo ...] --out DIR
    python -m evaluation.real_fixes --package NAME [--package ...] --out DIR

A fix is mined from a clone's history, or from two releases of a package in the registry. Its
changed tests fail without it and pass with it, in the jail. The bug is the state with the fix's
tests and without the fix. A patch `passes` if the changed tests pass and the whole suite has no
failure that it does not have with the developers' fix. Both are printed, so that a reader can
judge whether the patch is right.

DIR keeps one environment for each project, the valid fixes (`cases.jsonl`) and the results
(`results.jsonl`); finished ones are not run again.
"""

from __future__ import annotations

import argparse
import asyncio
import difflib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from agent.core.domain import Project
from agent.interfaces.exits import HEALED, USAGE
from agent.target.errors import BadInput
from agent.target.interpreter import find_interpreter
from agent.target.repository.layout import layout_at
from agent.target.repository.tree import read_tree
from agent.verify.project.suite_run import SuiteRun, run_suite
from evaluation.lines import JsonLinesFile, count, positive
from evaluation.mining import (
    BadRepository,
    MinedFix,
    fixes_of_history,
    fixes_of_releases,
    write_tree,
)
from evaluation.projects import normalised
from sandbox import Sandbox, SandboxError, open_sandbox

SUITE_S = 120.0
"""Projects whose suite takes longer are excluded."""


class FixCase(TypedDict):
    id: str
    source: str
    """The repository or the package."""
    kind: str
    lines: int
    undone: dict[str, str]
    """Source files without the fix."""
    tests: list[str]
    """The test files that the fix changed."""
    failing: list[str]
    """Node ids that fail without the fix and pass with it."""
    known: list[str]
    """Node ids of the suite that fail with the fix, too; they are deselected."""
    suite_s: float


class FixRow(TypedDict):
    id: str
    kind: str
    status: str
    """The run's outcome; `refused` for a usage error, `failed` without a document."""
    claimed: bool
    """Whether the run says HEALED."""
    shown: bool
    """Whether any patch is shown."""
    passes: bool
    same: bool
    """Whether the patch equals the developers' fix but for white space and quotes."""
    confidence: float | None
    seconds: float
    candidates: int
    diff: str
    fix: str
    note: str


@dataclass(frozen=True)
class FixWorkspace:
    """The output folder, and the interpreter of a source."""

    out: Path
    python: Path

    def folder(self, case_id: str) -> Path:
        return self.out / "work" / case_id.replace("/", "+")


async def run_suite_in(
    root: Path, python: Path, sandbox: Sandbox, arguments: Sequence[str] = ()
) -> SuiteRun:
    """Runs tests of a folder in the jail. Raises `BadInput` and `SandboxError`."""
    layout = layout_at(root)
    tree = read_tree(layout)
    interpreter = find_interpreter(root, str(python))
    project = Project(
        root=str(root), name=layout.name, import_roots=layout.import_roots,
        editable=tuple(sorted(tree.editable)), arguments=tuple(arguments), loopback=True,
        python=str(interpreter.executable), test_s=SUITE_S,
    )
    return await asyncio.wait_for(
        run_suite(dict(tree.files), project, interpreter.package_folders, sandbox), 2 * SUITE_S
    )


async def validated(fix: MinedFix, python: Path, sandbox: Sandbox) -> FixCase | str:
    """Returns a case, or the reason why the fix cannot be used as one."""
    with tempfile.TemporaryDirectory(prefix="fix-") as folder:
        root = Path(folder, "project")
        write_tree(fix, root)
        for path, text in fix.before.items():
            (root / path).write_text(text, "utf-8")
        before = await run_suite_in(root, python, sandbox, fix.tests)
        if not before.failing:
            return "; ".join(before.problems[:1]) or "its tests pass without the fix"
        write_tree(fix, root)
        after = await run_suite_in(root, python, sandbox, fix.tests)
        passing = {node for node, row in after.outcomes.items() if row["status"] == "passed"}
        failing = sorted(passing.intersection(before.failing))
        if not failing:
            return f"its tests fail with the fix too: {'; '.join(after.problems[:1])}"
        began = time.monotonic()
        whole = await run_suite_in(root, python, sandbox)
        suite_s = time.monotonic() - began
        if suite_s > SUITE_S or len(whole.failing) > len(whole.outcomes) / 5:
            return f"its suite takes {suite_s:.0f} s, with {len(whole.failing)} failures"
    return FixCase(
        id=fix.id, source=fix.source, kind=fix.kind, lines=fix.lines, undone=dict(fix.before),
        tests=list(fix.tests), failing=failing, known=sorted(whole.failing),
        suite_s=round(suite_s, 2),
    )


async def heal_fix(
    case: FixCase, fix: MinedFix, place: FixWorkspace, sandbox: Sandbox, timeout_s: float,
    options: Sequence[str],
) -> FixRow:
    """Heals the state without the fix with `heal run`, and tests the files that it wrote."""
    root = place.folder(case["id"])
    write_tree(fix, root)
    for path, text in case["undone"].items():
        (root / path).write_text(text, "utf-8")
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "State without the fix"]):
        _git(root, *command)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="heal-data-") as data:
        command = [
            sys.executable, "-m", "agent", "run", ".", "--apply", "--accept-proposed", "--json",
            "--timeout", f"{timeout_s:g}", "--python", str(place.python),
            *(f"--deselect={node}" for node in case["known"]), *options,
        ]
        printed, errors = await asyncio.to_thread(_run_command, command, root, data, 4 * timeout_s)
    seconds = time.monotonic() - began
    try:
        document = json.loads(printed)
    except ValueError:
        document = {"outcome": "failed", "reason": errors.strip()[-400:]}
    texts = {path: (root / path).read_text("utf-8") for path in case["undone"]}
    changed = _git(root, "diff", "--no-color")
    passes = bool(changed) and await _passes(case, root, place.python, sandbox)
    outcome = str(document.get("outcome") or "refused")
    return FixRow(
        id=case["id"], kind=case["kind"], status=outcome, claimed=outcome == "healed",
        shown=bool(changed), passes=passes,
        same=bool(changed) and all(
            normalised(texts[path]) == normalised(fix.after[path]) for path in texts
        ),
        confidence=document.get("confidence"), seconds=round(seconds, 1),
        candidates=int(document.get("candidates") or 0), diff=changed,
        fix="".join(
            line for path, text in case["undone"].items() for line in difflib.unified_diff(
                text.splitlines(keepends=True), fix.after[path].splitlines(keepends=True), path,
                path, n=1,
            )
        ),
        note=str(document.get("reason") or document.get("headline") or ""),
    )


async def _passes(case: FixCase, root: Path, python: Path, sandbox: Sandbox) -> bool:
    whole = await run_suite_in(root, python, sandbox)
    passed = {node for node, row in whole.outcomes.items() if row["status"] == "passed"}
    return {*case["failing"]} <= passed and {*whole.failing} <= {*case["known"]}


def _run_command(command: Sequence[str], root: Path, data: str, most_s: float) -> tuple[str, str]:
    """Runs a command; returns its standard output and error."""
    try:
        done = subprocess.run(
            command, cwd=root, capture_output=True, text=True, check=False,
            env={**os.environ, "HEAL_DATA_DIR": data}, timeout=most_s,
        )
    except subprocess.TimeoutExpired:
        return "", f"did not end in {most_s:g} s"
    return done.stdout, done.stderr


def _git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost", *arguments],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout


def environment(fix: MinedFix, out: Path, packages: Sequence[str]) -> Path:
    """The interpreter of a source, with its dependencies and `packages`; created once.

    Raises `BadRepository` if nothing can be installed.
    """
    name = fix.project.split("+")[-1]
    folder = out / "environments" / name
    python = folder / "bin" / "python"
    if python.exists():
        return python
    with tempfile.TemporaryDirectory(prefix="fix-") as parent:
        root = Path(parent, "project")
        write_tree(fix, root)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        extras = "[test,tests,testing,dev]"
        files = [
            part for one in sorted(root.glob("*requirements*/*.txt")) + sorted(root.glob("*.txt"))
            if "requirements" in str(one) and ("test" in one.name or "dev" in one.name)
            for part in ("-r", str(one))
        ]
        env = {**os.environ, "SETUPTOOLS_SCM_PRETEND_VERSION": "99.0", "PBR_VERSION": "99.0"}
        for attempt in [f"{root}{extras}", *files], [f"{root}{extras}"], [name], []:
            done = subprocess.run(
                [*pip, "pytest", *packages, *attempt], env=env, capture_output=True, text=True,
                check=False,
            )
            if done.returncode == 0:
                return python
            print(
                f"{name}: pip cannot install {' '.join(attempt) or 'pytest'}: "
                f"{done.stderr.strip()[-200:]}", file=sys.stderr, flush=True,
            )
    raise BadRepository(f"{fix.source}: {done.stderr.strip()[-300:]}")


def table(rows: Sequence[FixRow]) -> Iterator[str]:
    """Yields the counts by kind and for all cases, then the wrong claims."""
    yield (
        f"{'':22} {'cases':>5} {'shown':>5} {'passes':>6} {'same':>5} {'claimed':>7}"
        f" {'false claims':>12} {'median s':>8}"
    )
    kinds = sorted({row["kind"] for row in rows})
    for kind in [*kinds, "all"]:
        some = [row for row in rows if kind in (row["kind"], "all")]
        if some:
            numbers = [sum(bool(row[key]) for row in some) for key in (
                "shown", "passes", "same", "claimed"
            )]
            wrong = sum(row["claimed"] and not row["passes"] for row in some)
            median_s = statistics.median(row["seconds"] for row in some)
            yield (
                f"{kind:22} {len(some):>5} " + f"{numbers[0]:>5} {numbers[1]:>6} {numbers[2]:>5}"
                f" {numbers[3]:>7} {wrong:>12} {median_s:>8.1f}"
            )


async def _measure(args: argparse.Namespace) -> int:
    sandbox = open_sandbox()
    cases: JsonLinesFile[FixCase] = JsonLinesFile(args.out / "cases.jsonl")
    refused: JsonLinesFile[dict[str, str]] = JsonLinesFile(args.out / "left_out.jsonl")
    rows: JsonLinesFile[FixRow] = JsonLinesFile(args.out / "results.jsonl")
    sources = [
        *(fixes_of_history(repo, args.newest, args.lines) for repo in args.repo),
        *(fixes_of_releases(name, args.out, args.newest, args.lines) for name in args.package),
    ]
    for source in sources:
        found = 0
        for fix in source:
            if found >= args.each:
                break
            if fix.id in refused.by_id:
                continue
            python = environment(fix, args.out, args.packages)
            case = cases.by_id.get(fix.id)
            if case is None:
                try:
                    validation = await validated(fix, python, sandbox)
                except (BadInput, SandboxError, TimeoutError, UnicodeError, OSError) as error:
                    validation = f"{type(error).__name__}: {error}"
                if isinstance(validation, str):
                    refused.add({"id": fix.id, "why": validation})
                    print(f"{fix.id}: left out: {validation[:150]}", file=sys.stderr, flush=True)
                    continue
                cases.add(validation)
                case = validation
                print(f"{fix.id}: {case['kind']}", file=sys.stderr, flush=True)
            found += 1
            if fix.id in rows.by_id or args.mine_only:
                continue
            row = await heal_fix(
                case, fix, FixWorkspace(args.out, python), sandbox, args.timeout, args.option
            )
            rows.add(row)
            _print(row)
    print("\n".join(table([*rows.by_id.values()])))
    return HEALED


def _print(row: FixRow) -> None:
    end = "passes" if row["passes"] else "fails" if row["shown"] else "no patch"
    print(f"\n{row['id']} ({row['kind']}): {row['status']}, {end} in {row['seconds']} s")
    print(f"developers' fix:\n{row['fix']}\nthis patch:\n{row['diff'] or row['note']}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    args = _parser().parse_args(arguments)
    if not (args.repo or args.package):
        print("Name at least one --repo or --package.", file=sys.stderr)
        return USAGE
    try:
        return asyncio.run(_measure(args))
    except (BadRepository, SandboxError) as error:
        print(error, file=sys.stderr)
        return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__}.real_fixes",
        description="Heal bugs that real projects had, and compare with the developers' fixes.",
    )
    add = parser.add_argument
    add("--repo", action="append", default=[], metavar="PATH_OR_URL", help="a git repository")
    add("--package", action="append", default=[], metavar="NAME",
        help="a package of the registry, whose releases are compared")
    add("--out", type=Path, required=True, metavar="DIR",
        help="folder of environments, cases and results; finished ones are not run again")
    add("--with", action="append", default=[], dest="packages", metavar="NAME",
        help="a further package for the environments of the projects")
    add("--newest", type=count, default=1500, metavar="N",
        help="how many commits, or pairs of releases, to look at (default 1500)")
    add("--lines", type=count, default=4, metavar="N",
        help="a small fix changes at most so many lines of code (default 4)")
    add("--each", type=count, default=5, metavar="N", help="cases of each source (default 5)")
    add("--timeout", type=positive, default=120.0, metavar="S", help="of one repair (default 120)")
    add("--mine-only", action="store_true", help="find and validate cases, heal nothing")
    add("--option", action="append", default=[], metavar="OPTION",
        help="a further option of `heal run`, such as --option=--provider=ollama")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
