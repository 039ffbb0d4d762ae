"""Runs a project's suite by pytest as its developer does, and tells how each test came out."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import pytest

MOST = 2_000
"""Characters of a failure's words."""


def main(jail: Any) -> None:
    """Runs the tests that the payload names and tells of each."""
    payload = jail.payload
    sys.path[:0] = [os.path.join(jail.folder, one) for one in payload["roots"]]
    sys.argv[:] = ["pytest", *payload["args"]]
    plugin = _Reporter(jail)
    code = pytest.main(
        [*payload["args"], "-p", "no:cacheprovider", "-q", f"--rootdir={jail.folder}"],
        plugins=[plugin],
    )
    jail.send({"done": int(code), "problems": plugin.problems})


class _Reporter:
    def __init__(self, jail: Any) -> None:
        self._send = jail.send
        self._folder = os.path.join(jail.folder, "")
        self._reports: list[Any] = []
        self._began = 0.0
        self.problems: list[str] = []

    def pytest_collectreport(self, report: Any) -> None:
        """Keeps why a file cannot be collected."""
        if report.failed:
            lines = [line for line in str(report.longrepr).split("\n") if line.startswith("E ")]
            said = lines[0][1:].strip() if lines else str(report.longrepr)[-300:]
            self.problems.append(f"{report.nodeid}: {said}")

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """A test begins."""
        self._reports, self._began = [], time.monotonic()
        self._send({"begin": nodeid})

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A phase of a test is over."""
        self._reports.append(report)

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """A test is over."""
        status, report = outcome_of(self._reports)
        said = getattr(report, "longrepr", None)
        crash = getattr(said, "reprcrash", None)
        message = str(getattr(crash, "message", "")) or str(said or "")
        file, line = self._place(said)
        self._send({
            "ended": nodeid, "status": status, "message": message[:MOST], "file": file,
            "line": line, "wall_s": time.monotonic() - self._began,
        })

    def _place(self, said: Any) -> tuple[str, int]:
        """The innermost place of a failure in the project's own files."""
        for entry in reversed(getattr(getattr(said, "reprtraceback", None), "reprentries", ())):
            where = getattr(entry, "reprfileloc", None)
            path = os.path.abspath(str(getattr(where, "path", "")))
            if where is not None and path.startswith(self._folder):
                return path.removeprefix(self._folder), where.lineno
        return "", 0


def outcome_of(reports: list[Any]) -> tuple[str, Any]:
    """A test's outcome in pytest's own classes, and the report that says why."""
    found: tuple[str, Any] = ("error", None)
    for report in reports:
        if report.failed and report.when in ("setup", "teardown"):
            return "error", report
        if found[0] in ("failed", "skipped", "xfailed"):
            continue
        if report.failed:
            found = ("failed", report)
        elif hasattr(report, "wasxfail"):
            found = ("xfailed" if report.skipped else "xpassed", report)
        elif report.skipped:
            found = ("skipped", report)
        elif report.when == "call":
            found = ("passed", report)
    return found
