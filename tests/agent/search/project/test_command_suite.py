"""A test command in the place of a suite: its exit code decides, and few candidates are tried."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agent.core.domain import Project
from agent.interfaces.project.discovery import files_named_in
from agent.interfaces.terminal.cli import app
from agent.search.project.command_suite import FURTHER_CANDIDATES, MAX_TRIED, CommandSuite
from agent.target.repository.tree import is_test_code
from agent.verify.project.command_run import CommandRun, SourcePlace, run_command
from agent.verify.project.suite_run import COMMAND, run_suite, suite_job
from sandbox.sandbox import open_sandbox
from sandbox.types import Outcome

TILL = """def total(prices):
    return sum(prices)


def split(amount, people):
    share = amount // people
    return [share] * (people - 1)
"""
TESTS = """import unittest

from till import split, total


class Till(unittest.TestCase):
    def test_total(self):
        self.assertEqual(total([1, 2]), 3)

    def test_split(self):
        self.assertEqual(split(8, 4), [2, 2, 2, 2])
"""
FILES = {"till.py": TILL, "checks.py": TESTS}
COMMAND_LINE = "python -m unittest checks"
PROJECT = Project(
    root="/none", name="till", editable=("till.py",), command=("-m", "unittest", "checks"),
    command_words=COMMAND_LINE,
)


async def ran(
    files: Mapping[str, str] = FILES, command: Sequence[str] = PROJECT.command,
    watched: Sequence[str] = (), wall_s: float = 60.0,
) -> CommandRun:
    jailed = open_sandbox()
    job = await suite_job(COMMAND, {**files}, PROJECT, (), jailed)
    return await run_command(job, command, jailed, watched=watched, wall_s=wall_s)


async def test_the_exit_code_decides_and_what_is_printed_says_where_to_look() -> None:
    red, green, claims, late = await asyncio.gather(
        ran(watched=["till.py"]),
        ran({**FILES, "till.py": TILL.replace("(people - 1)", "people")}),
        ran(command=["-c", "print('OK'); raise SystemExit(3)"]),
        ran(command=["-c", "while True: pass"], wall_s=1.0),
    )
    assert (red.status, red.places[-1]) == ("failed", SourcePlace("checks.py", 11))
    assert "[2, 2, 2] != [2, 2, 2, 2]" in red.message
    assert red.functions == {"till.py": {1: 1, 5: 1}} and {2, 6, 7} <= red.lines["till.py"]
    assert (green.status, green.message, green.lines) == ("passed", "", {})
    assert (claims.status, "3" in claims.message) == ("failed", True)
    assert late.status == "timeout"


@pytest.mark.parametrize(("printed", "code", "passes"), [
    ("Ran 0 tests in 0.000s\n\nOK", 0, False),
    ("Ran 0 tests in 0.000s\n\nNO TESTS RAN", 5, False),
    ("==== no tests ran in 0.01s ====", 5, False),
    ("==== 3 skipped in 0.01s ====", 0, False),
    ("0 tests in 2 items.\n0 passed and 0 failed.\nTest passed.", 0, False),
    ("Ran 0 tests in 0.000s\n\nOK\n.\nRan 3 tests in 0.001s\n\nOK", 0, True),
    ("==== 2 passed, 1 skipped in 0.01s ====", 0, True),
    ("all is well", 0, True),
])
async def test_a_command_without_tests_fails(printed: str, code: int, passes: bool) -> None:
    run = await ran(command=["-c", f"print({printed!r}); raise SystemExit({code})"])
    assert (run.passed, bool(run.message)) == (passes, not passes)


@pytest.mark.parametrize("command", ["run", "check"])
def test_a_test_command_that_collects_nothing_is_refused(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path / "data"))
    root = tmp_path / "till"
    root.mkdir()
    (root / "till.py").write_text(TILL)
    done = CliRunner().invoke(app, [command, str(root), "--test-cmd", "python -m unittest"])
    assert done.exit_code == 4
    assert "python -m unittest discover -s FOLDER" in done.stderr


async def test_a_command_is_a_suite_of_one_test() -> None:
    run = await run_suite(FILES, PROJECT, (), open_sandbox())
    assert (run.failing, run.collected, run.problems) == ([COMMAND_LINE], [COMMAND_LINE], [])
    assert run.jail is not None and (run.outcomes[COMMAND_LINE]["file"], run.exit_code) == (
        "checks.py", None
    )


@dataclass
class Counted(CommandSuite):
    """A suite whose command passes for some texts, without a jail."""

    passing: set[str] = field(default_factory=set)
    runs: int = 0

    def __init__(self, passing: set[str], until: float = float("inf")) -> None:
        super().__init__(FILES, PROJECT, (), open_sandbox(), until)
        self.passing, self.runs = passing, 0

    async def _run(self, changed: Mapping[str, str], watched: Sequence[str]) -> CommandRun:
        self.runs += 1
        passes = changed.get("till.py") in self.passing
        return CommandRun(Outcome("completed" if passes else "exited", exit_code=int(not passes)))


async def screened(suite: Counted, texts: Sequence[str]) -> list[bool | None]:
    found = await suite.precheck("till.py", texts, [0], 1, "full", 1.0)
    return [one.outcome == "ok" if one else None for one in found]


async def test_the_number_of_candidates_is_bounded() -> None:
    texts = [str(number) for number in range(2 * MAX_TRIED)]
    suite = Counted(set())
    first = await screened(suite, texts[:60])
    rest = await screened(suite, texts[60:])
    assert first == [False] * 60
    assert rest == [False] * (MAX_TRIED - 60) + [None] * MAX_TRIED
    assert suite.runs == MAX_TRIED
    # Once one passes, others that may be better are still tried, but not all.
    suite = Counted({"3"})
    found = await screened(suite, texts)
    assert found[3] and suite.runs <= 4 + FURTHER_CANDIDATES < MAX_TRIED
    assert await screened(Counted(set(), until=0.0), texts) == [None] * len(texts)


async def test_the_code_of_tests_is_found_by_tracebacks() -> None:
    suite = CommandSuite(FILES, PROJECT, (), open_sandbox(), float("inf"))
    row = await suite.collect()
    assert not row.passed and suite.loaded == {"till.py"}
    assert suite.code == "def test_split(self):\n    self.assertEqual(split(8, 4), [2, 2, 2, 2])"
    (seen,) = (await suite.trace("till.py", [0])).tests
    assert not seen.passed and {6, 7} <= seen.covered and seen.exception == "AssertionError"


@pytest.mark.nightly
def test_a_test_command_heals_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_PROVIDER", "mock")
    monkeypatch.setenv("HEAL_DATA_DIR", str(tmp_path / "data"))
    root = tmp_path / "till"
    root.mkdir()
    for path, text in FILES.items():
        (root / path).write_text(text)
    report = tmp_path / "heal.md"
    done = CliRunner().invoke(app, [
        "run", str(root), "--test-cmd", COMMAND_LINE, "--json",
        "--report", str(report),
    ])
    found = json.loads(done.stdout)
    assert (done.exit_code, found["outcome"], found["integrity"]) == (0, "healed", "in-process")
    assert found["project"]["test_command"] == COMMAND_LINE
    assert found["integrity_reason"] and COMMAND_LINE in done.stderr
    assert found["candidates"] <= MAX_TRIED
    told = report.read_text()
    assert told.count(COMMAND_LINE) >= 4 and "pytest" not in told


def test_a_file_that_the_command_runs_is_not_edited() -> None:
    files = ["till.py", "tools/check.py", "checks.py"]
    assert files_named_in(["tools/check.py", "--all"], files) == ["tools/check.py"]
    assert files_named_in(["-m", "tools.check"], files) == ["tools/check.py"]
    assert is_test_code("checks.py", TESTS) and not is_test_code("till.py", TILL)


@pytest.mark.parametrize("command", [["make test"], ["python -m unittest", "-k", "a"]])
def test_what_is_no_command_for_a_jail_is_refused(command: list[str], tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["run", str(tmp_path), "--test-cmd", *command])
    assert (done.exit_code, "--test-cmd" in done.stderr) == (2, True), done.stderr
