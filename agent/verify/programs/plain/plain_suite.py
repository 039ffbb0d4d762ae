"""Runs a project's suite by pytest as its developer does, and tells how each test came out.

What it tells is marked as nobody else there can mark it (`guard.teller`). A guard notes what the
program does to its tests meanwhile. Where they are `expecting` something else than they did, the
tests tell of their checks.
"""

from __future__ import annotations

import os
import sys
import time
import unittest
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from _pytest import runner

from agent.verify.programs.plain.expecting import Expecting
from agent.verify.programs.plain.guard import ROOTS, Guard, forget_runner, teller
from agent.verify.programs.pytest_session import (
    SuiteSession,
    outcome_of,
    place_in,
    run_suite,
    start_suite,
)
from agent.verify.rewriting.messages import NO_PROGRAMS

MOST = 2_000
"""Characters of a failure's words."""
_EXCLUDING = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)
LASTING = ("changed-runner", "tolerance")
"""Signs of what stays as it is made, and is noted in whichever test comes first."""


def main(jail: Any) -> None:
    """Runs the tests that the payload names and tells of each."""
    payload = jail.payload
    start_suite(jail)
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
    plugin = _Reporter(say, jail.folder, guard, expecting, frozenset(payload["only"]), laid)
    jail.payload = None
    # How a test of other expectations fails is irrelevant, and takes long to report.
    brief = ["--tb=no", "--assert=rewrite"] if expecting is not None else []
    forget_runner()
    code = run_suite(jail, [*payload["args"], *brief], plugin)
    if guard.program:
        guard.compare(own_only=True)
        guard.compare_library()
    elsewhere = other_copies(jail.folder, payload["roots"])
    say({"done": code, "problems": [*plugin.problems, *elsewhere]})


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


class _Reporter(SuiteSession):
    def __init__(
        self, say: Callable[[dict[str, Any]], None], folder: str, guard: Guard,
        expecting: Expecting | None, only: frozenset[str], laid: frozenset[str],
    ) -> None:
        super().__init__(folder, lambda node: not only or node in only)
        self._send = say
        self._guard = guard
        self._expecting = expecting
        self._laid = laid
        self.test = ""
        """The test that runs now."""
        self._began = 0.0

    def begin(self) -> None:
        """From here on the program is watched, where it is known which files are its own."""
        if self._guard.program:
            self._guard.remember(ROOTS)
        self._guard.watch()

    def pytest_collectstart(self, collector: Any) -> None:
        """A file is about to be imported."""
        if isinstance(collector, pytest.File):
            self._send({"collects": collector.nodeid})

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Which tests there are."""
        self._send({
            "collected": [one.nodeid for one in session.items], "left_out": self.left_out,
        })

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """A test begins."""
        self._reports, self._began, self._guard.starts_another = [], time.monotonic(), False
        self.test = nodeid
        if self._expecting is not None:
            self._expecting.begin(nodeid)
        self._send({"begin": nodeid})

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[None]:
        """What sets a test aside is noted where the program raises it."""
        error = call.excinfo.value if call.excinfo is not None else None
        if isinstance(error, _EXCLUDING) and self._guard.raised(error):
            self._guard.note("control-flow", type(error).__name__)
        yield

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """A test is over."""
        self._guard.compare(own_only=True)
        self._guard.compare_tolerances()
        self._guard.planted((self._folder, os.environ.get("TMPDIR", "/tmp")), self._laid)
        status, report = outcome_of(self._reports)
        said = getattr(report, "longrepr", None)
        crash = getattr(said, "reprcrash", None)
        message = str(getattr(crash, "message", "")) or str(said or "")
        path, line = place_in(said, lambda one: one.startswith(self._folder))
        self._send({
            "ended": nodeid, "status": status,
            "message": message.replace(self._folder, "")[:MOST], "line": line,
            "file": path.removeprefix(self._folder),
            "wall_s": time.monotonic() - self._began, "refused": (
                NO_PROGRAMS if self._guard.starts_another and status in ("failed", "error") else ""
            ),
        })
        self.test = ""
