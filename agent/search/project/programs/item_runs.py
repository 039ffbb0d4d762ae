"""Runs one collected test by pytest's own set-up and tear-down, without building a report.

A report with its traceback costs more than most tests. What pytest does for a report is done here:
the stash of `tmp_path`, the exceptions of unittest's cases and of subtests, and expected failures.
A doctest's names, which are cleared after its run, are restored, so that it can run again.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pytest
from _pytest.outcomes import OutcomeException, Skipped, XFailed
from _pytest.runner import CallInfo

try:
    from _pytest.tmpdir import tmppath_result_key
except ImportError:  # older than pytest 7.3
    tmppath_result_key = None  # type: ignore[assignment]


@dataclass
class ItemRun:
    """The result of one test."""

    passed: bool
    error: BaseException | None = None
    phase: str = ""
    """The phase in which it failed: setup, call or teardown."""

    @property
    def exception(self) -> str:
        """The name of the exception's class."""
        return type(self.error).__name__ if self.error is not None else ""


class SubtestErrors:
    """A plugin that keeps the exceptions of failing subtests in place of their reports."""

    def __init__(self) -> None:
        self.found: list[BaseException] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> pytest.TestReport:
        """Returns the report that each subtest requires."""
        status: Literal["passed", "failed"] = "passed"
        if call.excinfo is not None and not isinstance(call.excinfo.value, Skipped | XFailed):
            status = "failed"
            self.found.append(call.excinfo.value)
        return pytest.TestReport(item.nodeid, item.location, {}, status, None, "call")


def run_item(
    item: Any, interrupts: type[BaseException], subtests: SubtestErrors,
    around: Callable[[Callable[[], Any]], Any] | None = None,
) -> ItemRun:
    """Runs a collected test; `interrupts` is the exception of the clock, and `around` calls the
    functions that set up and call the test."""
    subtests.found.clear()
    if getattr(item, "_request", None) is not None and hasattr(item, "_initrequest"):
        item._initrequest()
    if tmppath_result_key is not None:
        item.stash[tmppath_result_key] = {}
    hooks, outcome, names = item.ihook, ItemRun(True), _doctest_names(item)

    def phase(name: str, call: Callable[[], Any]) -> None:
        found = CallInfo.from_call(call, when=name, reraise=(interrupts,))  # type: ignore[arg-type]
        if found.excinfo is not None and outcome.error is None:
            outcome.error, outcome.phase = found.excinfo.value, name

    def inside(call: Callable[[], Any]) -> Callable[[], Any]:
        return call if around is None else lambda: around(call)

    try:
        phase("setup", inside(lambda: hooks.pytest_runtest_setup(item=item)))
        if outcome.error is None:
            phase("call", inside(lambda: hooks.pytest_runtest_call(item=item)))
            _take_over(item, outcome)
            if outcome.error is None and subtests.found:
                outcome.error, outcome.phase = subtests.found[0], "call"
    except interrupts as late:
        outcome.error, outcome.phase = late, "call"
    with contextlib.suppress(interrupts):
        phase("teardown", lambda: hooks.pytest_runtest_teardown(item=item, nextitem=None))
    item.funcargs = None
    if names:
        item.dtest.globs.update(names)
    outcome.passed = outcome.error is None or isinstance(outcome.error, (Skipped, XFailed))
    _expected_failure(item, outcome)
    return outcome


def _doctest_names(item: Any) -> dict[str, Any]:
    """The globals of a doctest with the current values of its module."""
    doctest = getattr(item, "dtest", None)
    if doctest is None:
        return {}
    now = vars(sys.modules.get(str(doctest.globs.get("__name__")), doctest))
    names = {name: now.get(name, value) for name, value in doctest.globs.items()}
    doctest.globs.update(names)
    return names


def _take_over(item: Any, outcome: ItemRun) -> None:
    """Takes the exceptions of unittest's cases, which pytest raises only for a report."""
    found = getattr(item, "_excinfo", None)
    if found:
        error = found.pop(0)
        if outcome.error is None:
            outcome.error, outcome.phase = error.value, "call"
        del item._excinfo  # pytest creates a new list


def _expected_failure(item: Any, outcome: ItemRun) -> None:
    mark = item.get_closest_marker("xfail") if hasattr(item, "get_closest_marker") else None
    if mark is None or outcome.error is None or isinstance(outcome.error, OutcomeException):
        return
    outcome.passed = True
