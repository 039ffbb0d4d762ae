"""Whether the judge says what pytest says of packages from the package index, as they come.

    python -m evaluation.packages [--folder DIR] [NAME ...]

Each package is one module, or nearly, with its tests in its source distribution. That is fetched
by pip and unpacked; every test file runs once under plain pytest, in a process of its own outside
of any jail, and is then judged as `check MODULE --tests FILE` does. With `--folder` what was
fetched is kept there. pip builds what it fetches to read its name, and the tests run as they are:
name no package that you would not install.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from agent.checks import check
from agent.checks.nodes import stands_for
from agent.domain import Script, TestCase, Verdict
from agent.intake import BadInput, NotFixable, bring
from evaluation.verdicts import PLUGIN, agrees
from sandbox.sandbox import Sandbox, open_sandbox
from sandbox.types import REFUSALS

PLAIN_S = 300.0
TEST_S = 5.0
MOST_SHOWN = 40
"""Differences of one package that are printed."""


@dataclass(frozen=True)
class Package:
    """A source distribution: what is judged in it, by which of its test files."""

    name: str
    version: str
    module: str
    tests: tuple[str, ...]


PACKAGES: tuple[Package, ...] = (
    Package("addict", "2.4.0", "addict/addict.py", ("test_addict.py",)),
    Package("boltons", "26.2.0", "boltons/strutils.py", ("tests/test_strutils.py",)),
    Package("bottle", "0.13.4", "bottle.py", (
        "test/test_auth.py", "test/test_config.py", "test/test_environ.py",
        "test/test_fileupload.py", "test/test_formsdict.py", "test/test_html_helper.py",
        "test/test_mdict.py", "test/test_multipart.py", "test/test_router.py",
        "test/test_sendfile.py", "test/test_stpl.py", "test/test_wsgi.py",
    )),
    Package("configargparse", "1.7.3", "configargparse.py", ("tests/test_configargparse.py",)),
    Package("contextlib2", "21.6.0", "contextlib2/__init__.py", ("test/test_contextlib.py",)),
    Package("decorator", "5.3.1", "src/decorator/__init__.py", ("tests/test.py",)),
    Package("dotmap", "1.3.30", "dotmap/__init__.py", ("dotmap/test.py",)),
    Package("first", "2.0.2", "first.py", ("test_first.py",)),
    Package("inflection", "0.5.1", "inflection/__init__.py", ("test_inflection.py",)),
    Package("iniconfig", "2.3.1", "src/iniconfig/__init__.py", ("testing/test_iniconfig.py",)),
    Package("injector", "0.24.0", "injector/__init__.py", ("injector_test.py",)),
    Package("iso8601", "2.1.0", "iso8601/iso8601.py", ("iso8601/test_iso8601.py",)),
    Package("jsonlines", "4.0.0", "jsonlines/jsonlines.py", ("tests/test_jsonlines.py",)),
    Package("jsonpatch", "1.47", "jsonpatch.py", ("tests.py",)),
    Package("jsonpointer", "3.12", "jsonpointer.py", ("tests.py",)),
    Package("mistune", "0.8.4", "mistune.py", (
        "tests/test_cases.py", "tests/test_extra.py", "tests/test_subclassing.py",
    )),
    Package("multipart", "2.0.1", "multipart.py", (
        "test/test_header_utils.py", "test/test_legacy_parser.py", "test/test_multdict.py",
        "test/test_push_parser.py", "test/test_wsgi_parser.py",
    )),
    Package("munch", "4.0.0", "munch/__init__.py", (
        "tests/test_munch.py", "tests/test_readme.py", "tests/test_yaml.py",
    )),
    Package("ordered-set", "4.1.0", "ordered_set/__init__.py", ("test/test_ordered_set.py",)),
    Package("parse", "1.22.4", "parse/__init__.py", (
        "tests/test_parse.py", "tests/test_bugs.py", "tests/test_findall.py",
        "tests/test_parsetype.py", "tests/test_pattern.py", "tests/test_result.py",
        "tests/test_search.py",
    )),
    Package("polib", "1.2.0", "polib.py", ("tests/tests.py",)),
    Package("pygtrie", "2.6.2", "pygtrie.py", ("test.py",)),
    Package("python-mimeparse", "2.0.0", "mimeparse.py", ("mimeparse_test.py",)),
    Package("pytimeparse", "1.1.10", "pytimeparse/timeparse.py", (
        "pytimeparse/tests/testtimeparse.py",
    )),
    Package("roman", "5.2", "src/roman/__init__.py", ("src/tests.py",)),
    Package("schedule", "1.2.2", "schedule/__init__.py", ("test_schedule.py",)),
    Package("schema", "0.7.8", "schema/__init__.py", ("test_schema.py",)),
    Package("shortuuid", "1.0.13", "shortuuid/main.py", ("shortuuid/test_shortuuid.py",)),
    Package("simpleeval", "1.0.8", "simpleeval.py", (
        "tests/test_basics.py", "tests/test_comprehensions.py", "tests/test_exceptions.py",
        "tests/test_functions.py", "tests/test_names.py", "tests/test_operators.py",
        "tests/test_reference_cleanup.py", "tests/test_security.py",
    )),
    Package("six", "1.17.0", "six.py", ("test_six.py",)),
    Package("tabulate", "0.10.0", "tabulate/__init__.py", (
        "test/test_api.py", "test/test_cli.py", "test/test_input.py", "test/test_internal.py",
        "test/test_output.py", "test/test_regression.py", "test/test_textwrapper.py",
    )),
    Package("termcolor", "3.3.0", "src/termcolor/termcolor.py", ("tests/test_termcolor.py",)),
    Package("texttable", "1.7.2", "texttable.py", ("tests.py",)),
    Package("toposort", "1.10", "src/toposort.py", ("test/test_toposort.py",)),
    Package("voluptuous", "0.16.0", "voluptuous/schema_builder.py", (
        "voluptuous/tests/tests.py",
    )),
    Package("xmltodict", "1.0.4", "xmltodict.py", (
        "tests/test_xmltodict.py", "tests/test_dicttoxml.py",
    )),
)


@dataclass(frozen=True)
class Seen:
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
    def refused_by_jail(self) -> int:
        """Tests that fail for what no jail allows: a process of their own, say."""
        return sum(
            any(said in verdict.message for said in REFUSALS.values()) for verdict in self.verdicts
        )

    @property
    def left_out(self) -> list[str]:
        """Tests that the intake left out with a notice, for they check nothing."""
        if not self.given:
            return []
        return [
            node for node in self.plain
            if node and not any(
                isinstance(one, Script) and stands_for(one.node, one.without, node)
                for one in self.given
            )
        ]

    @property
    def differing(self) -> list[str]:
        """Tests of which the judge says something else, in both words."""
        ours = {verdict.name: verdict for verdict in self.verdicts}
        if not ours and self.refused and set(self.plain) <= {""}:
            return []
        if set(self.plain) <= {""} and all(one.status == "error" for one in self.verdicts):
            return []  # neither can collect the file
        nodes = sorted({*self.plain, *ours} - {"", *self.left_out})
        told = []
        for node in nodes:
            mine = ours.get(node)
            if not agrees(self.plain.get(node), mine.status if mine else None):
                said = f"{mine.status} {mine.message[:150]}" if mine else self.refused or "none"
                if mine and any(said in mine.message for said in REFUSALS.values()):
                    continue
                told.append(f"{self.tests}::{node}: {self.plain.get(node, 'none')} -> {said}")
        return told


def fetched(package: Package, folder: Path) -> Path:
    """The package's folder, unpacked; pip fetches it where it is not there yet."""
    there = _archive(package, folder)
    if there is None:
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
    module = Path(package.module)
    top = folder / ("src" if module.parts[0] == "src" else "")
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "outcome_plugin.py").write_text(PLUGIN, "utf-8")
        outcomes = Path(name) / "outcomes.json"
        environment = {
            **os.environ, "OUTCOMES": str(outcomes), "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join([str(top), name]),
        }
        command = [
            sys.executable, "-m", "pytest", "-q", "-p", "outcome_plugin",
            "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:cov", tests,
        ]
        for more in ([], ["-o", "addopts="]):
            subprocess.run(
                [*command, *more], cwd=folder, env=environment, timeout=PLAIN_S,
                stdin=subprocess.DEVNULL, capture_output=True, check=False,
            )
            if outcomes.exists():
                return cast(dict[str, str], json.loads(outcomes.read_text("utf-8")))
    return {"": "error"}


async def judged(package: Package, folder: Path, tests: str, sandbox: Sandbox) -> Seen:
    """One test file under both."""
    began = time.monotonic()
    says = await asyncio.to_thread(plain, package, folder, tests)
    plain_s, began = time.monotonic() - began, time.monotonic()
    try:
        task = bring(folder / package.module, tests_file=folder / tests).task
    except (BadInput, NotFixable) as refusal:
        return Seen(tests, says, refused=f"refused: {refusal}"[:300], plain_s=plain_s)
    assert task.solution is not None
    given = [test for test in task.tests if test.origin == "user"]
    report = await check(task.solution, given, task, sandbox, wall_s=TEST_S)
    return Seen(
        tests, says, report.verdicts, given=tuple(given),
        plain_s=plain_s, wall_s=time.monotonic() - began,
    )


def told(package: Package, seen: Sequence[Seen]) -> Iterator[str]:
    """One line for the package, one for each difference, and one for each pass not believed."""
    tests = sum(len({*one.plain, *(v.name for v in one.verdicts)} - {""}) for one in seen)
    differing = [word for one in seen for word in one.differing]
    verdicts = [verdict for one in seen for verdict in one.verdicts]
    labels = Counter(
        "vacuous" if verdict.vacuous else str(verdict.integrity)
        for verdict in verdicts if verdict.passed
    )
    left_out = [node for one in seen for node in one.left_out]
    jailed = sum(one.refused_by_jail for one in seen)
    tests -= len(left_out) + jailed
    doubted = [verdict for verdict in verdicts if verdict.doubt]
    believed = ", ".join(f"{name} {count}" for name, count in labels.most_common())
    yield (
        f"{package.name:<16} {tests - len(differing):>4} of {tests:>4} agree; believed: "
        f"{believed or 'none'}; not believed {len(doubted)}; left out {len(left_out)}; "
        f"refused by the jail {jailed}; "
        f"{sum(one.wall_s for one in seen):.1f} s, plain {sum(one.plain_s for one in seen):.1f} s"
    )
    for word in differing[:MOST_SHOWN]:
        yield f"  DIFFERS  {word}"
    if len(differing) > MOST_SHOWN:
        yield f"  and {len(differing) - MOST_SHOWN} more"
    for node in left_out:
        yield f"  LEFT OUT  {node}"
    for verdict in doubted:
        yield f"  UNBELIEVED  {verdict.name}: {verdict.doubt}"


def reasons(seen: Sequence[Seen]) -> Iterator[str]:
    """Why passes are judged in one process, by count."""
    counted = Counter(
        verdict.reason.partition(" (from outside")[0][:100]
        for one in seen for verdict in one.verdicts
        if verdict.passed and verdict.integrity == "in-process"
    )
    for reason, count in counted.most_common(20):
        yield f"  {count:>4}  {reason}"


def main(arguments: Sequence[str]) -> int:
    """Prints the figures; 1 where a test differs or a pass is not believed."""
    parser = argparse.ArgumentParser(prog="python -m evaluation.packages", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--folder", type=Path, help="keep what is fetched here")
    wanted = parser.parse_args(arguments)
    packages = [one for one in PACKAGES if not wanted.names or one.name in wanted.names]
    with tempfile.TemporaryDirectory() as name:
        folder = wanted.folder or Path(name)
        return asyncio.run(_all(packages, folder))


async def _all(packages: Sequence[Package], folder: Path) -> int:
    sandbox = open_sandbox()
    every: list[Seen] = []
    for package in packages:
        home = fetched(package, folder)
        seen = [await judged(package, home, tests, sandbox) for tests in package.tests]
        for line in told(package, seen):
            print(line, flush=True)
        every += seen
    print("in-process, by reason:")
    for line in reasons(every):
        print(line)
    return int(any(one.differing or any(v.doubt for v in one.verdicts) for one in every))


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
