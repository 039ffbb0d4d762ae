"""What is asked of a session of pytest: which tests it runs, and why it collects none."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from _pytest import tmpdir

from agent.core.pytest_settings import PLUGINS
from agent.judge.nodes import nodes_above

_ASKED_FOR = ("argparse", "dataclasses", "linecache", "traceback", "typing", "unittest")
for _name in _ASKED_FOR:
    importlib.import_module(_name)
_LOADED = {
    name: module for name, module in sys.modules.items() if name.partition(".")[0] in _ASKED_FOR
}


def stand_by() -> None:
    """Modules of Python that pytest asks for by name as it runs: as where a user runs it, no file
    of a program comes before them."""
    sys.modules.update(_LOADED)


def _made_for(request: Any, factory: Any) -> Any:
    """As pytest does it, but for the parameters of the test, which may be what it expects."""
    name = re.sub(r"\W", "_", request.node.name.partition("[")[0])
    return factory.mktemp(name[:30], numbered=True)


tmpdir._mk_tmp = _made_for


def as_typed(arguments: Sequence[str], names_main: bool = True) -> None:
    """Has the process look as if a user had typed `python -m pytest` with these arguments."""
    sys.argv[:] = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py"), *arguments]
    if names_main:
        sys.modules["__main__"].__file__ = sys.argv[0]
    sys.orig_argv = [sys.executable, "-m", "pytest", *arguments]


class Session:
    """A plugin that leaves the tests which were asked for, and keeps what pytest reports."""

    def __init__(self, payload: Mapping[str, Any]) -> None:
        self._wanted: dict[str, list[list[str]]] = {}
        """Node to what those that ask for it leave out."""
        for node, without in payload["nodes"]:
            self._wanted.setdefault(node, []).append(without)
        self._done = {*payload["done"]}
        self._reports: list[Any] = []
        """Of the test that runs now."""
        self.problem = ""
        """Why the file cannot be collected."""

    def pytest_collectreport(self, report: Any) -> None:
        """A file that cannot be collected says why."""
        if report.failed and not self.problem:
            text = str(report.longrepr)
            lines = [line for line in text.strip().split("\n") if line.strip()]
            self.problem = (marked(text) or lines or ["the file cannot be collected"])[0]

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leaves the tests that were asked for."""
        items[:] = [
            item for item in items
            if node_of(item) not in self._done and self._is_wanted(node_of(item))
        ]

    def _is_wanted(self, name: str) -> bool:
        above = [*nodes_above(name)]
        return any(
            not any(one in above for one in without)
            for node in above for without in self._wanted.get(node, ())
        )

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A phase of a test is over."""
        self._reports.append(report)


def node_of(item: Any) -> str:
    """A node id without the file's name."""
    return str(item.nodeid.partition("::")[2])


def outcome_of(reports: Iterable[Any]) -> tuple[str, Any]:
    """The outcome of a test in pytest's own classes, and the report that says why. What fails in
    its setup or teardown is an error, whatever came before."""
    found: tuple[str, Any] = ("error", None)
    for report in reports:
        if report.failed and report.when == "teardown":
            return "error", found[1] if found[0] == "failed" else report
        if report.failed and report.when == "setup":
            return "error", report
        is_subtest = hasattr(report, "context") and not report.failed  # beside which it goes on
        if is_subtest or found[0] in ("failed", "skipped", "xfailed"):
            continue
        if report.failed:
            found = ("failed", report)
        elif hasattr(report, "wasxfail"):
            if report.skipped or report.when == "call":
                found = ("xfailed" if report.skipped else "xpassed", report)
        elif report.skipped:
            found = ("skipped", report)
        elif report.when == "call":
            found = ("passed", report)
    return found


def marked(text: str) -> list[str]:
    """The lines of a report that pytest marks as the failure's own."""
    return [line[1:].strip() for line in text.split("\n") if line.startswith("E ")]


def plugins_for(text: str, words: Iterable[str] = PLUGINS) -> list[str]:
    """Arguments that load the plugins which a text needs by these words; none is loaded by itself,
    which would take long."""
    needed = [PLUGINS[word] for word in words if word in text]
    present = [one for one in needed if importlib.util.find_spec(one.partition(".")[0])]
    return [part for plugin in present for part in ("-p", plugin)]
