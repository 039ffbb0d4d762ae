"""What all sessions of pytest in a jail have in common: how they begin, which tests they run, and
what they report.

`PytestSession` is a plugin for a file's tests; `SuiteSession` one for a project's suite, which has
pytest run all of it in this one process, whatever the project's own options say: those that end a
run early, ask a person, or give the tests to other processes are left out, and reported. What else
a project says counts.
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
from agent.verify.rewriting.plugins import without

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


def start_suite(jail: Any) -> None:
    """Has the process look as where a project's developer starts pytest."""
    payload = jail.payload
    stand_by()
    sys.path[:0] = [os.path.join(jail.folder, one) for one in payload["roots"]]
    as_typed(payload["args"])
    os.environ.update(payload["environment"])


def run_suite(jail: Any, arguments: Sequence[str], *plugins: Any) -> int:
    """Runs a project's pytest with these arguments; its exit code."""
    return int(pytest.main(
        [*arguments, *without(jail.files), "-q", f"--rootdir={jail.folder}"], plugins=[*plugins],
    ))


class PytestSession:
    """A plugin that leaves the tests which are wanted, and keeps what pytest reports."""

    def __init__(
        self, folder: str, is_wanted: Callable[[str], bool] = lambda node: True
    ) -> None:
        self._folder = os.path.join(folder, "")
        self._is_wanted = is_wanted
        """By the node id of a test."""
        self._reports: list[Any] = []
        """Of the test that runs now."""
        self._uncollected: dict[str, str] = {}
        """Node id of what cannot be collected, and why."""

    @property
    def problems(self) -> list[str]:
        """What cannot be collected, and why."""
        return [f"{node}: {why}" for node, why in self._uncollected.items()]

    def pytest_collectreport(self, report: Any) -> None:
        """Keeps why a file cannot be collected, and the innermost place in these files."""
        if report.failed:
            text = str(report.longrepr)
            said = [line for line in marked(text) if re.match(r"[\w.]+(:|$)", line)]
            places = [(at[0] or at[2], at[1] or at[3]) for at in _PLACE.findall(text)]
            ours = [
                f"{path.removeprefix(self._folder)}:{line}" for one, line in places
                if (path := os.path.abspath(one)).startswith(self._folder)
            ]
            why = said[-1] if said else text[-300:].strip()
            at = f" at {ours[-1]}" if ours else ""
            self._uncollected[report.nodeid] = why.replace(self._folder, "") + at

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leaves the tests that are wanted."""
        items[:] = [one for one in items if self._is_wanted(one.nodeid)]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A phase of a test is over."""
        self._reports.append(report)


_PLACE = re.compile(r'^E?\s*(?:File "(.+?)", line (\d+)|(\S.*?\.py):(\d+): )', re.MULTILINE)
_LEFT_OUT: tuple[tuple[str, Any, str], ...] = (
    ("maxfail", 0, "-x or --maxfail"), ("stepwise", False, "--stepwise"), ("lf", False, "--lf"),
    ("failedfirst", False, "--ff"), ("usepdb", False, "--pdb"), ("trace", False, "--trace"),
    ("numprocesses", None, "-n"), ("dist", "no", "-n"), ("tx", [], "-n"),
    ("looponfail", False, "--looponfail"),
)
"""Where pytest keeps an option, what it is without it, and how it is called."""


class SuiteSession(PytestSession):
    """The same for a project's suite; `left_out` are options of the project that do not count."""

    def __init__(
        self, folder: str, is_wanted: Callable[[str], bool] = lambda node: True
    ) -> None:
        super().__init__(folder, is_wanted)
        self.left_out: list[str] = []

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        """Takes the option of our own plugin, which a project may have among its `addopts`."""
        parser.addoption("--heal", action="store_true", help=argparse.SUPPRESS)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: Any) -> Iterator[None]:
        """pytest is there, and nothing of the project is. Coverage, which begins here, would slow
        each test and exclude our own tracing."""
        known = early_config.known_args_namespace
        if getattr(known, "cov_source", None):
            known.cov_source = []
            self.left_out.append("--cov")
        self.begin()
        yield

    def begin(self) -> None:
        """Called before anything of the project is loaded."""

    @pytest.hookimpl(hookwrapper=True)
    def pytest_cmdline_main(self, config: Any) -> Iterator[None]:
        """All options are read, and nothing was done for them yet."""
        for name, usual, called in _LEFT_OUT:
            if getattr(config.option, name, usual) not in (usual, None, [], False, 0):
                setattr(config.option, name, usual)
                if called not in self.left_out:
                    self.left_out.append(called)
        yield


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


def place_in(longrepr: Any, ours: Callable[[str], bool]) -> tuple[str, int]:
    """The innermost place of a failure in a file that is ours; "" and 0 where there is none."""
    for entry in reversed(getattr(getattr(longrepr, "reprtraceback", None), "reprentries", ())):
        where = getattr(entry, "reprfileloc", None)
        path = os.path.abspath(str(getattr(where, "path", "")))
        if where is not None and ours(path):
            return path, where.lineno
    return "", 0


def plugins_for(text: str) -> list[str]:
    """Arguments that load the plugins which a text needs by its words; none is loaded by itself,
    which would take long."""
    needed = [plugin for word, plugin in PLUGINS.items() if word in text]
    present = [one for one in needed if importlib.util.find_spec(one.partition(".")[0])]
    return [part for plugin in present for part in ("-p", plugin)]
