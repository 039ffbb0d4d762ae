"""The common parts of pytest sessions in a jail: start, selection of tests, and reports.

`PytestSession` is a plugin for the tests of a file, `SuiteSession` for a project's suite. The suite
always runs completely in this process: project options that end a run early, start a debugger or
distribute tests are ignored and reported. Other options of a project apply.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest
from _pytest import tmpdir

from agent.core.pytest_settings import PLUGINS
from agent.verify.rewriting.plugins import disabled_plugins

_NEEDED = ("argparse", "dataclasses", "linecache", "traceback", "typing", "unittest")
for _name in _NEEDED:
    importlib.import_module(_name)
_LOADED = {
    name: module for name, module in sys.modules.items() if name.partition(".")[0] in _NEEDED
}


def restore_library_modules() -> None:
    """Restores library modules that pytest imports while it runs, so that no file of a program
    shadows them."""
    sys.modules.update(_LOADED)


def _make_temporary(request: Any, factory: Any) -> Any:
    """Names folders as pytest does, but omits parameters, which may be expected values."""
    name = re.sub(r"\W", "_", request.node.name.partition("[")[0])
    return factory.mktemp(name[:30], numbered=True)


tmpdir._mk_tmp = _make_temporary


def imitate_command_line(arguments: Sequence[str], names_main: bool = True) -> None:
    """Makes the process look as if it was started by `python -m pytest` with these arguments."""
    sys.argv[:] = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py"), *arguments]
    if names_main:
        sys.modules["__main__"].__file__ = sys.argv[0]
    sys.orig_argv = [sys.executable, "-m", "pytest", *arguments]


def start_suite(jail: Any) -> None:
    payload = jail.payload
    restore_library_modules()
    sys.path[:0] = [os.path.join(jail.folder, one) for one in payload["roots"]]
    imitate_command_line(payload["args"])
    os.environ.update(payload["environment"])


def run_suite(jail: Any, arguments: Sequence[str], *plugins: Any) -> int:
    given = [*arguments, os.environ.get("PYTEST_ADDOPTS", "")]
    options = [*disabled_plugins(jail.files, given), "-q", f"--rootdir={jail.folder}"]
    return int(pytest.main([*arguments, *options], plugins=[*plugins]))


class PytestSession:
    """A plugin that selects the wanted tests, and saves pytest's reports."""

    def __init__(self, folder: str, is_wanted: Callable[[str], bool] = lambda node: True) -> None:
        self._folder = os.path.join(folder, "")
        self._is_wanted = is_wanted
        self._reports: list[Any] = []
        self._uncollected: dict[str, str] = {}
        """Reasons of failed collections by node id."""

    @property
    def problems(self) -> list[str]:
        return [f"{node}: {why}" for node, why in self._uncollected.items()]

    def pytest_collectreport(self, report: Any) -> None:
        """Saves why a file cannot be collected, and the innermost place in our files."""
        if report.failed:
            text = str(report.longrepr)
            errors = [line for line in marked(text) if re.match(r"[\w.]+(:|$)", line)]
            places = [(at[0] or at[2], at[1] or at[3]) for at in _PLACE.findall(text)]
            ours = [
                f"{path.removeprefix(self._folder)}:{line}" for one, line in places
                if (path := os.path.abspath(one)).startswith(self._folder)
            ]
            why = errors[-1] if errors else text[-300:].strip()
            at = f" at {ours[-1]}" if ours else ""
            self._uncollected[report.nodeid] = why.replace(self._folder, "") + at

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if self._is_wanted(item.nodeid)]

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._reports.append(report)


_PLACE = re.compile(r'^E?\s*(?:File "(.+?)", line (\d+)|(\S.*?\.py):(\d+): )', re.MULTILINE)
_IGNORED_OPTIONS: tuple[tuple[str, Any, str], ...] = (
    ("maxfail", 0, "-x or --maxfail"), ("stepwise", False, "--stepwise"), ("lf", False, "--lf"),
    ("failedfirst", False, "--ff"), ("usepdb", False, "--pdb"), ("trace", False, "--trace"),
    ("numprocesses", None, "-n"), ("dist", "no", "-n"), ("tx", [], "-n"),
    ("looponfail", False, "--looponfail"),
)
"""Ignored options: the attribute in pytest's options, its default, and the name of the option."""


class SuiteSession(PytestSession):
    """A plugin for a project's suite; `left_out` are ignored options of the project."""

    def __init__(self, folder: str, is_wanted: Callable[[str], bool] = lambda node: True) -> None:
        super().__init__(folder, is_wanted)
        self.left_out: list[str] = []

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        """Accepts the option of our own plugin, which a project may have in its `addopts`."""
        parser.addoption("--heal", action="store_true", help=argparse.SUPPRESS)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Iterator[None]:
        """Runs before anything of the project is loaded. Disables coverage, which would slow tests
        down and prevent our own tracing."""
        known = early_config.known_args_namespace
        if getattr(known, "cov_source", None):
            known.cov_source = []
            self.left_out.append("--cov")
        self.begin()
        yield

    def begin(self) -> None:
        """A hook that runs before anything of the project is loaded."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_cmdline_main(self, config: Any) -> Iterator[None]:
        """Resets the ignored options, after all are read and before any takes effect."""
        for attribute, default, option in _IGNORED_OPTIONS:
            if getattr(config.option, attribute, default) not in (default, None, [], False, 0):
                setattr(config.option, attribute, default)
                if option not in self.left_out:
                    self.left_out.append(option)
        yield


def node_of(item: Any) -> str:
    """A node id without the file's name."""
    return str(item.nodeid.partition("::")[2])


def outcome_of(reports: Iterable[Any]) -> tuple[str, Any]:
    """The outcome of a test in pytest's classes, and the report that explains it.

    A failure in setup or teardown is an error, whatever came before.
    """
    found: tuple[str, Any] = ("error", None)
    for report in reports:
        if report.failed and report.when == "teardown":
            return "error", found[1] if found[0] == "failed" else report
        if report.failed and report.when == "setup":
            return "error", report
        is_subtest = hasattr(report, "context") and not report.failed  # does not decide the test
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
    """The lines of a report that pytest marks as the error."""
    return [line[1:].strip() for line in text.split("\n") if line.startswith("E ")]


def innermost_place(longrepr: Any, ours: Callable[[str], bool]) -> tuple[str, int]:
    """The innermost place of a failure in a file accepted by `ours`; "" and 0 where none is."""
    for entry in reversed(getattr(getattr(longrepr, "reprtraceback", None), "reprentries", ())):
        where = getattr(entry, "reprfileloc", None)
        path = os.path.abspath(str(getattr(where, "path", "")))
        if where is not None and ours(path):
            return path, where.lineno
    return "", 0


def plugins_for(text: str) -> list[str]:
    """Arguments that load the plugins that a text needs; loading all would be slow."""
    needed = [plugin for word, plugin in PLUGINS.items() if word in text]
    present = [one for one in needed if importlib.util.find_spec(one.partition(".")[0])]
    return [part for plugin in present for part in ("-p", plugin)]
