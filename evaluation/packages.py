"""Whether the judge says what pytest says of packages from the package index, as they come.

    python -m evaluation.packages [--folder DIR] [NAME ...]

Each package of `bench/packages.toml` is one module, or nearly, with its tests in its source
distribution. That is fetched by pip and unpacked; every test file runs once under plain pytest, in
a process of its own outside of any jail, and is then judged as `check MODULE --tests FILE` does.
With `--folder` what was fetched is kept there. pip builds what it fetches to read its name, and the
tests run as they are: name no package that you would not install.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.core.domain import Script, TestCase, Verdict
from agent.intake import BadInput, NotFixable, from_command_line
from agent.judge import check
from agent.judge.nodes import stands_for
from evaluation.verdicts import BENCH, TEST_S, agrees, labels, plain_pytest, reasons
from sandbox.sandbox import Sandbox, open_sandbox
from sandbox.types import DENIAL_MEANINGS

PLAIN_S = 300.0
MOST_SHOWN = 40
"""Differences of one package that are printed."""


@dataclass(frozen=True)
class Package:
    """A source distribution: what is judged in it, by which of its test files."""

    name: str
    version: str
    module: str
    tests: tuple[str, ...]


@dataclass(frozen=True)
class Compared:
    """What plain pytest and the judge say of one test file."""

    tests: str
    plain: dict[str, str]
    """Node to outcome class; "" is the file, where it cannot be collected."""
    verdicts: tuple[Verdict, ...] = ()
    refused: str = ""
    given: tuple[TestCase, ...] = ()
    """What the intake handed to the judge."""
    plain_s: float = 0.0
    wall_s: float = 0.0

    @property
    def left_out(self) -> list[str]:
        """Tests that the intake left out with a notice, for they check nothing."""
        scripts = [one for one in self.given if isinstance(one, Script)]
        return [] if not scripts else [
            node for node in self.plain
            if node and not any(stands_for(one.node, one.without, node) for one in scripts)
        ]

    @property
    def differing(self) -> list[str]:
        """Tests of which the judge says something else, in both words."""
        ours = {verdict.name: verdict for verdict in self.verdicts}
        uncollected = set(self.plain) <= {""}
        if uncollected and all(one.status == "error" for one in self.verdicts):
            return []  # neither can collect the file
        told = []
        for node in sorted({*self.plain, *ours} - {"", *self.left_out}):
            mine = ours.get(node)
            if mine is not None and refused_by_jail(mine):
                continue
            if not agrees(self.plain.get(node), mine.status if mine else None):
                said = f"{mine.status} {mine.message[:150]}" if mine else self.refused or "none"
                told.append(f"{self.tests}::{node}: {self.plain.get(node, 'none')} -> {said}")
        return told


def packages() -> tuple[Package, ...]:
    """Those that are looked at."""
    table = tomllib.loads((BENCH / "packages.toml").read_text(encoding="utf-8"))
    return tuple(
        Package(name, row["version"], row["module"], tuple(row["tests"]))
        for name, row in table.items()
    )


def refused_by_jail(verdict: Verdict) -> bool:
    """Whether a test fails for what no jail allows: a process of its own, say."""
    return any(said in verdict.message for said in DENIAL_MEANINGS.values())


def fetched(package: Package, folder: Path) -> Path:
    """The package's folder, unpacked; pip fetches it where it is not there yet."""
    if _archive(package, folder) is None:
        subprocess.run(
            [
                sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                "--no-binary", package.name, "--dest", str(folder),
                f"{package.name}=={package.version}",
            ],
            check=True,
        )
    there = _archive(package, folder)
    assert there is not None
    unpacked = folder / "unpacked"
    with tarfile.open(there) as archive:
        archive.extractall(unpacked, filter="data")
        top = archive.getnames()[0].partition("/")[0]
    return unpacked / top


def _archive(package: Package, folder: Path) -> Path | None:
    names = {package.name, package.name.replace("-", "_")}
    found = [folder / f"{name}-{package.version}.tar.gz" for name in names]
    return next((path for path in found if path.exists()), None)


def plain(package: Package, folder: Path, tests: str) -> dict[str, str]:
    """What plain pytest says of one test file, the module importable as if it was installed."""
    place = folder / ("src" if Path(package.module).parts[0] == "src" else "")
    for further in ((), ("-o", "addopts=")):
        found = plain_pytest(folder, tests, *further, places=[place], timeout_s=PLAIN_S)
        if found:
            return found
    return {"": "error"}


async def judged(package: Package, folder: Path, tests: str, sandbox: Sandbox) -> Compared:
    """One test file under both."""
    began = time.monotonic()
    says = await asyncio.to_thread(plain, package, folder, tests)
    plain_s, began = time.monotonic() - began, time.monotonic()
    try:
        task = from_command_line(folder / package.module, tests_file=folder / tests).task
    except (BadInput, NotFixable) as refusal:
        return Compared(tests, says, refused=f"refused: {refusal}"[:300], plain_s=plain_s)
    assert task.solution is not None
    given = [test for test in task.tests if test.origin == "user"]
    report = await check(task.solution, given, task, sandbox, wall_s=TEST_S)
    return Compared(
        tests, says, report.verdicts, given=tuple(given),
        plain_s=plain_s, wall_s=time.monotonic() - began,
    )


def told(package: Package, compared: Sequence[Compared]) -> Iterator[str]:
    """One line for the package, one for each difference, and one for each pass not believed."""
    verdicts = [verdict for one in compared for verdict in one.verdicts]
    differing = [word for one in compared for word in one.differing]
    left_out = [node for one in compared for node in one.left_out]
    doubted = [verdict for verdict in verdicts if verdict.doubt]
    jailed = sum(map(refused_by_jail, verdicts))
    tests = sum(len({*one.plain, *(v.name for v in one.verdicts)} - {""}) for one in compared)
    tests -= len(left_out) + jailed
    yield (
        f"{package.name:<16} {tests - len(differing):>4} of {tests:>4} agree; believed: "
        f"{labels(verdicts)}; not believed {len(doubted)}; left out {len(left_out)}; "
        f"refused by the jail {jailed}; "
        f"{sum(one.wall_s for one in compared):.1f} s, "
        f"plain {sum(one.plain_s for one in compared):.1f} s"
    )
    yield from (f"  DIFFERS  {word}" for word in differing[:MOST_SHOWN])
    if len(differing) > MOST_SHOWN:
        yield f"  and {len(differing) - MOST_SHOWN} more"
    yield from (f"  LEFT OUT  {node}" for node in left_out)
    yield from (f"  UNBELIEVED  {verdict.name}: {verdict.doubt}" for verdict in doubted)


def main(arguments: Sequence[str]) -> int:
    """Prints the figures; 1 where a test differs or a pass is not believed."""
    parser = argparse.ArgumentParser(prog=f"python -m {__package__}.packages", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--folder", type=Path, help="keep what is fetched here")
    wanted = parser.parse_args(arguments)
    chosen = [one for one in packages() if not wanted.names or one.name in wanted.names]
    with tempfile.TemporaryDirectory() as name:
        return asyncio.run(_all(chosen, wanted.folder or Path(name)))


async def _all(chosen: Sequence[Package], folder: Path) -> int:
    sandbox = open_sandbox()
    every: list[Compared] = []
    for package in chosen:
        home = fetched(package, folder)
        compared = [await judged(package, home, tests, sandbox) for tests in package.tests]
        for line in told(package, compared):
            print(line, flush=True)
        every += compared
    for line in reasons(verdict for one in every for verdict in one.verdicts):
        print(line)
    return int(any(one.differing or any(v.doubt for v in one.verdicts) for one in every))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
