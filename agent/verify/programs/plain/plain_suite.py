"""Jailed program: runs a project's suite by pytest as its developer does, and reports outcomes.

Messages are signed (`guard.signed_sender`), and a guard watches what the program does to its tests.
In the double-checked run (`expecting`), the checks of tests are reported as well.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import unittest
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from _pytest import runner

from agent.verify.programs.plain.expecting import CheckHooks
from agent.verify.programs.plain.guard import ROOTS, Guard, hide_runner, signed_sender
from agent.verify.programs.pytest_session import (
    SuiteSession,
    innermost_place,
    outcome_of,
    run_suite,
    start_suite,
)
from agent.verify.rewriting.messages import NO_PROGRAMS

MOST = 2_000
_EXCLUDING = (pytest.skip.Exception, pytest.xfail.Exception, unittest.SkipTest)
LEAST_LOOP_S, LOOP_FACTOR, LATER_SHARE = 30.0, 10.0, 0.1
"""A test is endless if it computes for at least so many seconds, and so many times as long as the
slowest test before it. After an endless test, the limit is multiplied by `LATER_SHARE`."""
PERMANENT_RULES = ("changed-runner", "tolerance")
"""Rules about permanent changes, which are attributed to all tests."""


def main(jail: Any) -> None:
    payload = jail.payload
    start_suite(jail)
    send = _without_forks(signed_sender(jail.send, bytes.fromhex(payload.pop("key"))))
    program = [os.path.join(jail.folder, one) for one in payload["program"]]
    tests = [os.path.join(jail.folder, one) for one in payload["tests"]]
    files = frozenset(os.path.join(jail.folder, file) for file in jail.files)
    # Only data in test folders counts as expected; other data, like a quiz, is the program's own.
    data = [os.path.join(jail.folder, one) for one in jail.files if "test" in os.path.dirname(one)]
    guard = Guard(program, tests, {*data} - {*program, *tests}, "", lambda rule, detail: send(
        {"sign": rule, "detail": detail, "test": "" if rule in PERMANENT_RULES else plugin.test}
    ))
    expecting = CheckHooks(send, guard.program) if payload["expecting"] else None
    if expecting is not None:
        expecting.install(jail.folder, {
            os.path.join(jail.folder, path): text for path, text in payload["expecting"].items()
        })
        if not any(map(_names_the_test, tests)):
            vars(runner)["_update_current_test_var"] = lambda item, when: None
    plugin = _Reporter(send, jail.folder, guard, expecting, frozenset(payload["only"]), files)
    plugin.first = {file: index for index, file in enumerate(payload["first"])}
    plugin.limit_s, plugin.is_limit_given = payload["limit_s"], payload["is_limit_given"]
    jail.payload = None
    # Tracebacks of the double-checked run are irrelevant, and slow to format.
    brief = ["--tb=no", "--assert=rewrite"] if expecting is not None else []
    hide_runner()
    code = run_suite(jail, [*payload["args"], *brief], plugin)
    if guard.program:
        guard.compare(own_only=True)
        guard.compare_library()
    copies = other_copies(jail.folder, payload["roots"])
    send({"done": code, "problems": [*plugin.problems, *copies]})


def _names_the_test(path: str) -> bool:
    """Whether a test file reads the name of the running test."""
    with open(path, "rb") as file:
        return b"PYTEST_CURRENT_TEST" in file.read()


def _without_forks(send: Callable[[dict[str, Any]], None]) -> Callable[[dict[str, Any]], None]:
    """A sender that ignores messages of forked processes."""
    pid = os.getpid()

    def filtered(message: dict[str, Any]) -> None:
        if os.getpid() == pid:
            send(message)

    return filtered


def other_copies(folder: str, roots: list[str]) -> list[str]:
    """Messages about modules of the project that an installed copy replaced.

    Python itself prefers an installed package to a folder without `__init__.py`.
    """
    found = []
    for root in roots:
        for name in sorted(os.listdir(os.path.join(folder, root))):
            path = os.path.join(folder, root, name)
            if os.path.isdir(path) and not os.path.isfile(os.path.join(path, "__init__.py")):
                continue
            module = sys.modules.get(name.removesuffix(".py"))
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and not os.path.abspath(file).startswith(
                os.path.join(folder, "")
            ):
                found.append(
                    f"{os.path.join(root, name)} was not run: an installed copy was imported "
                    "before it, perhaps by pytest itself. Without pytest it may be run: "
                    "--test-cmd 'python …'"
                )
    return found


class _Reporter(SuiteSession):
    def __init__(
        self, send: Callable[[dict[str, Any]], None], folder: str, guard: Guard,
        expecting: CheckHooks | None, only: frozenset[str], files: frozenset[str],
    ) -> None:
        super().__init__(folder, lambda node: not only or node in only)
        self._send = send
        self._guard = guard
        self._expecting = expecting
        self._files = files
        self.test = ""
        self.first: dict[str, int] = {}
        """Test files that run first, with their position in the order."""
        self._began = 0.0
        self.limit_s, self.is_limit_given = 0.0, False
        """The longest processor time of a test, and whether the user has set it."""
        self._slowest = self._test_limit_s = 0.0
        self._interrupted_tests: dict[str, tuple[str, int]] = {}
        """The file and line where each test that did not end was interrupted."""

    def _interrupt(self, number: int, frame: Any) -> None:
        module = frame.f_globals.get("__name__", "") if frame is not None else ""
        if module == __name__ or module.partition(".")[0] in ("_pytest", "pluggy"):
            return  # an exception here would end the session; the timer rings again
        while frame is not None and not frame.f_code.co_filename.startswith(self._folder):
            frame = frame.f_back
        location = (frame.f_code.co_filename, frame.f_lineno or 0) if frame is not None else ("", 0)
        self._interrupted_tests.setdefault(self.test, location)
        # pytest cannot format a traceback of a frame without a current line.
        pytest.fail(self._late_message, pytrace=False)

    @property
    def _late_message(self) -> str:
        return f"did not end within {self._test_limit_s:.0f} seconds"

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: Any) -> Iterator[None]:
        """Interrupts a test that computes for too long. One that waits is ended by the host."""
        least = self.limit_s if self.is_limit_given else LEAST_LOOP_S
        self._test_limit_s = min(self.limit_s, max(least, LOOP_FACTOR * self._slowest))
        if self._interrupted_tests:
            self._test_limit_s = max(1.0, LATER_SHARE * self._test_limit_s)
        before = signal.signal(signal.SIGPROF, self._interrupt)
        signal.setitimer(signal.ITIMER_PROF, self._test_limit_s, 1.0)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)

    def begin(self) -> None:
        """Starts to watch the program, if its files are known."""
        if self._guard.program:
            self._guard.record(ROOTS)
        self._guard.watch()

    def pytest_collectstart(self, collector: Any) -> None:
        if isinstance(collector, pytest.File):
            self._send({"collects": collector.nodeid})

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        super().pytest_collection_modifyitems(items)
        last = len(self.first)
        items.sort(key=lambda one: self.first.get(one.nodeid.partition("::")[0], last))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._send({"collected": [one.nodeid for one in session.items], "left_out": self.left_out})

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        self._reports, self._began, self._guard.ran_command = [], time.monotonic(), False
        self.test = nodeid
        if self._expecting is not None:
            self._expecting.begin(nodeid)
        self._send({"begin": nodeid})

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> Iterator[None]:
        """Reports when the program itself raises a skip."""
        error = call.excinfo.value if call.excinfo is not None else None
        if isinstance(error, _EXCLUDING) and self._guard.raised(error):
            self._guard.note("control-flow", type(error).__name__)
        yield

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        self._guard.compare(own_only=True)
        self._guard.compare_tolerances()
        self._guard.check_planted((self._folder, os.environ.get("TMPDIR", "/tmp")), self._files)
        status, report = outcome_of(self._reports)
        wall_s = time.monotonic() - self._began
        longrepr = getattr(report, "longrepr", None)
        crash = getattr(longrepr, "reprcrash", None)
        message = str(getattr(crash, "message", "")) or str(longrepr or "")
        path, line = innermost_place(longrepr, lambda one: one.startswith(self._folder))
        if nodeid in self._interrupted_tests:  # even if the program caught the exception
            status, (path, line) = "timeout", self._interrupted_tests[nodeid]
            message = message or self._late_message
        else:
            self._slowest = max(self._slowest, wall_s)
        self._send({
            "ended": nodeid, "status": status,
            "message": message.replace(self._folder, "")[:MOST], "line": line,
            "file": path.removeprefix(self._folder),
            "wall_s": wall_s, "refused": (
                NO_PROGRAMS if self._guard.ran_command and status in ("failed", "error") else ""
            ),
        })
        self.test = ""
