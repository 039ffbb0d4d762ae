"""Runs a project's suite by pytest as its developer does, and tells how each test came out.

What it tells is marked as nobody else there can mark it (`guard.teller`). Where it is `watched`, a
guard notes what the program does to its tests meanwhile. Where they are `expecting` something else
than they did, the tests tell of their checks.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
import unittest
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from _pytest import runner

from agent.judge.programs.plain.expecting import Expecting
from agent.judge.programs.plain.guard import ROOTS, Guard, forget_runner, teller
from agent.judge.programs.plain.whole_suite import WholeSuite
from agent.judge.programs.pytest_session import as_typed, outcome_of, stand_by
from agent.judge.texts.messages import NO_PROGRAMS
from agent.judge.texts.plugins import without

MOST = 2_000
"""Characters of a failure's words."""
_SETTING_ASIDE = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)
LASTING = ("changed-runner", "tolerance")
"""Signs of what stays as it is made, and is noted in whichever test comes first."""
_PLACE = re.compile(r'^E?\s*(?:File "(.+?)", line (\d+)|(\S.*?\.py):(\d+): )', re.MULTILINE)


def main(jail: Any) -> None:
    """Runs the tests that the payload names and tells of each."""
    payload = jail.payload
    stand_by()
    sys.path[:0] = [os.path.join(jail.folder, one) for one in payload["roots"]]
    as_typed(payload["args"])
    os.environ.update(payload["environment"])
    say = _only_here(teller(jail.send, bytes.fromhex(payload.pop("key"))))
    program = [os.path.join(jail.folder, one) for one in payload["program"]]
    tests = [os.path.join(jail.folder, one) for one in payload["tests"]]
    laid = frozenset(os.path.join(jail.folder, one) for one in jail.files)
    # What a program reads beside its own modules, as the answers of a quiz, is its own.
    data = [os.path.join(jail.folder, one) for one in jail.files if "test" in os.path.dirname(one)]
    guard = Guard(program, tests, {*data} - {*program, *tests}, "", lambda sign, detail: say(
        {"sign": sign, "detail": detail, "test": "" if sign in LASTING else plugin.test}
    ))
    expecting = Expecting(say, guard.program) if payload["expecting"] else None
    if expecting is not None:
        expecting.install(jail.folder, {
            os.path.join(jail.folder, path): text for path, text in payload["expecting"].items()
        })
        if not any(map(_names_the_test, tests)):
            vars(runner)["_update_current_test_var"] = lambda item, when: None
    plugin = _Reporter(
        say, jail.folder, guard if payload["watched"] else None, expecting, {*payload["only"]},
        laid,
    )
    sys.addaudithook(plugin.heard)
    jail.payload = None
    # How a test of other expectations fails is nobody's concern, and takes long to tell.
    brief = ["--tb=no", "--assert=rewrite"] if expecting is not None else []
    if payload["watched"]:
        forget_runner()
    code = pytest.main(
        [*payload["args"], *brief, *without(jail.files), "-q", f"--rootdir={jail.folder}"],
        plugins=[plugin, HealOption()],
    )
    if payload["watched"]:
        guard.compare(own_only=True)
        guard.compare_library()
    elsewhere = other_copies(jail.folder, payload["roots"])
    say({"done": int(code), "problems": [*plugin.problems, *elsewhere]})


def _names_the_test(path: str) -> bool:
    """Whether a file of the tests asks pytest which test runs."""
    with open(path, "rb") as file:
        return b"PYTEST_CURRENT_TEST" in file.read()


def _only_here(say: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """The same for this process; one that it forks has nothing to tell."""
    mine = os.getpid()

    def said(message: dict[str, Any]) -> None:
        if os.getpid() == mine:
            say(message)

    return said


def other_copies(folder: str, roots: list[str]) -> list[str]:
    """Modules of the project in whose place others of the same name were run, in words."""
    found = []
    for root in roots:
        for name in sorted(os.listdir(os.path.join(folder, root))):
            module = sys.modules.get(name.removesuffix(".py"))
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and not os.path.abspath(file).startswith(
                os.path.join(folder, "")
            ):
                found.append(
                    f"{os.path.join(root, name)} was not run: an installed copy of it was there "
                    "first, which pytest itself may need"
                )
    return found


class HealOption:
    """Stands in for our plugin, whose option a project may have among its `addopts`."""

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        """Takes the option, and does nothing for it."""
        parser.addoption("--heal", action="store_true", help=argparse.SUPPRESS)


class _Reporter(WholeSuite):
    def __init__(
        self, say: Callable[[dict[str, Any]], None], folder: str, guard: Guard | None,
        expecting: Expecting | None, only: set[str], laid: frozenset[str],
    ) -> None:
        super().__init__()
        self._send = say
        self._folder = os.path.join(folder, "")
        self._guard = guard
        self._expecting = expecting
        self._only = only
        self._laid = laid
        self.test = ""
        """The test that runs now."""
        self._reports: list[Any] = []
        self._began = 0.0
        self._starts_another = False
        """The test that runs now tries to start a program other than Python."""
        self.problems: list[str] = []

    def heard(self, event: str, args: tuple[Any, ...]) -> None:
        """What the interpreter says of itself: here, which program is to be started."""
        if event in ("subprocess.Popen", "os.exec", "os.posix_spawn"):
            program = os.path.basename(os.fsdecode(args[0])) if args[0] else ""
            self._starts_another |= not program.startswith("python")

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Iterator[None]:
        """pytest is there, and nothing of the project is."""
        self.leave_out_coverage(early_config)
        if self._guard is not None:
            self._guard.remember(ROOTS)
            self._guard.watch()
        yield

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leaves the tests that were asked for, where some were."""
        if self._only:
            items[:] = [one for one in items if one.nodeid in self._only]

    def pytest_collectreport(self, report: Any) -> None:
        """Keeps why a file cannot be collected."""
        if report.failed:
            self.problems.append(f"{report.nodeid}: {self._why(str(report.longrepr))}")

    def pytest_collectstart(self, collector: Any) -> None:
        """A file is about to be imported."""
        if isinstance(collector, pytest.File):
            self._send({"collects": collector.nodeid})

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Which tests there are."""
        self._send({
            "collected": [one.nodeid for one in session.items], "left_out": self.left_out,
        })

    def _why(self, text: str) -> str:
        """What keeps a file from being collected, and the innermost place in the project."""
        said = [line[1:].strip() for line in text.split("\n") if line.startswith("E   ")]
        error = next((line for line in reversed(said) if re.match(r"[\w.]+(:|$)", line)), "")
        places = [(at[0] or at[2], at[1] or at[3]) for at in _PLACE.findall(text)]
        ours = [
            (os.path.abspath(path).removeprefix(self._folder), line) for path, line in places
            if os.path.abspath(path).startswith(self._folder)
        ]
        at = f" at {ours[-1][0]}:{ours[-1][1]}" if ours else ""
        return (error or text[-300:].strip()).replace(self._folder, "") + at

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """A test begins."""
        self._reports, self._began, self._starts_another = [], time.monotonic(), False
        self.test = nodeid
        if self._expecting is not None:
            self._expecting.begin(nodeid)
        self._send({"begin": nodeid})

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[None]:
        """What sets a test aside is noted where the program raises it."""
        error = call.excinfo.value if call.excinfo is not None else None
        if self._guard is not None and isinstance(error, _SETTING_ASIDE) and self._guard.raised(
            error
        ):
            self._guard.note("control-flow", type(error).__name__)
        yield

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A phase of a test is over."""
        self._reports.append(report)

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """A test is over."""
        if self._guard is not None:
            self._guard.compare(own_only=True)
            self._guard.compare_tolerances()
            self._guard.planted((self._folder, os.environ.get("TMPDIR", "/tmp")), self._laid)
        status, report = outcome_of(self._reports)
        said = getattr(report, "longrepr", None)
        crash = getattr(said, "reprcrash", None)
        message = str(getattr(crash, "message", "")) or str(said or "")
        file, line = self._place(said)
        self._send({
            "ended": nodeid, "status": status,
            "message": message.replace(self._folder, "")[:MOST], "file": file, "line": line,
            "wall_s": time.monotonic() - self._began, "refused": (
                NO_PROGRAMS if self._starts_another and status in ("failed", "error") else ""
            ),
        })
        self.test = ""

    def _place(self, said: Any) -> tuple[str, int]:
        """The innermost place of a failure in the project's own files."""
        for entry in reversed(getattr(getattr(said, "reprtraceback", None), "reprentries", ())):
            where = getattr(entry, "reprfileloc", None)
            path = os.path.abspath(str(getattr(where, "path", "")))
            if where is not None and path.startswith(self._folder):
                return path.removeprefix(self._folder), where.lineno
        return "", 0
