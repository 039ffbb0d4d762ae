"""Heals the failures of a pytest run outside the jail, for `heal pytest -- ARGS` and
`pytest --heal`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.core.domain import counted
from agent.interfaces.exits import HEALED
from agent.interfaces.project.selection import to_node_id
from agent.interfaces.terminal.commands import Display, run
from agent.target.errors import BadInput, NotFixable
from agent.target.interpreter import find_interpreter
from agent.target.repository.layout import ProjectLayout, find_layout

if TYPE_CHECKING:
    from agent.interfaces.preparation import OpenSession
    from agent.interfaces.request import HealRequest

GREEN, RED, STOPPED, NO_TESTS = 0, 1, 2, 5
NO_PYTEST = 96
STDERR = 2
MAX_NAMED = 500
"""Maximum number of tests on a command line. If there are more, all failing tests are healed."""
_PATHS = ("--deselect", "--ignore", "--ignore-glob")
_SUITE_OPTIONS = (*_PATHS, "-p", "-o", "--override-ini", "-W", "--import-mode", "--doctest-modules")
"""Options that apply to the whole suite."""

_RUN = f"""
import json, os, sys
results = sys.argv.pop(1)
sys.path[0] = os.getcwd()
try:
    import pytest
except ModuleNotFoundError:
    sys.exit({NO_PYTEST})
sys.argv[0] = os.path.join(os.path.dirname(pytest.__file__), "__main__.py")
class Failures:
    def __init__(self):
        self.failed, self.left = {{}}, {{}}
    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config):
        config.option.heal = False  # the parent process heals the failures
    def pytest_collection_finish(self, session):
        self.left = dict.fromkeys(item.nodeid for item in session.items)
    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed[report.nodeid] = None
    pytest_collectreport = pytest_runtest_logreport
    def pytest_runtest_logfinish(self, nodeid):
        self.left.pop(nodeid, None)
    def pytest_sessionfinish(self, session):
        with open(results, "w", encoding="utf-8") as file:
            json.dump([str(session.config.rootpath), [*self.failed], [*self.left]], file)
sys.exit(pytest.main(sys.argv[1:], plugins=[Failures()]))
"""


@dataclass(frozen=True)
class PytestEnd:
    """The exit code of pytest, and tests with absolute paths."""

    code: int
    failed: tuple[str, ...]
    left: tuple[str, ...] = ()
    """Tests that did not run, as with -x."""


def heal_pytest(opener: OpenSession, request: HealRequest, display: Display) -> int:
    """Runs the pytest of the project around this folder outside the jail, and heals failures.
    Returns the exit code. Raises `NotFixable` without pytest or tests, `BadInput` if it crashes."""
    layout = find_layout(Path.cwd())
    interpreter = find_interpreter(layout.root, request.python or "")
    ran = run_pytest(interpreter.executable, request.args, quiet=display.json or display.annotates)
    if ran.code == NO_PYTEST:
        raise NotFixable(
            "missing_package", f"{interpreter.words} has no pytest. Install it there, or name "
            "another interpreter with --python PATH",
        )
    if ran.code == NO_TESTS:
        raise NotFixable("invalid_tests", "pytest found no test to run")
    if ran.code not in (GREEN, RED, STOPPED):
        raise BadInput(f"pytest failed with exit code {ran.code}; its output says why")
    if ran.code == GREEN:
        return _green(display)
    display.terminal.say(_red_words(ran), "bold")
    options = suite_options(request.args, layout, Path.cwd())
    args = [*ran.failed, *ran.left, *options]
    return run(
        opener, replace(request, path=str(layout.root), args=args, failed_outside=True), display
    )


def _red_words(ran: PytestEnd) -> str:
    words = f"pytest ended with exit code {ran.code}. Healing the failed tests"
    if not ran.left:
        return f"{words}."
    return f"{words}, and checking {counted(len(ran.left), 'test')} that pytest did not run."


def _green(display: Display) -> int:
    from agent.report.result import Result, document

    if display.json:
        display.data(document(Result(outcome="healthy", reason="pytest passes")))
    display.terminal.say("pytest ended with exit code 0: nothing to heal", "bold green")
    return HEALED


def run_pytest(executable: Path, arguments: Sequence[str], *, quiet: bool) -> PytestEnd:
    """Runs pytest with an interpreter; `quiet` sends its output to standard error."""
    with tempfile.TemporaryDirectory(prefix="heal-pytest-") as folder:
        results = Path(folder, "failed.json")
        done = subprocess.run(
            [str(executable), "-c", _RUN, str(results), *arguments], check=False,
            stdout=STDERR if quiet else None,
        )
        try:
            root, *nodes = json.loads(results.read_text("utf-8"))
        except FileNotFoundError:  # pytest ended before its session finished
            root, nodes = "", [[], []]
    failed, left = (tuple(os.path.join(root, node) for node in some) for some in nodes)
    return PytestEnd(done.returncode, failed, left)


def suite_options(arguments: Sequence[str], layout: ProjectLayout, folder: Path) -> tuple[str, ...]:
    """Returns the options among pytest's `arguments` that apply to the whole suite. Paths that
    are relative to `folder` become relative to the project root."""
    remaining = [*arguments]
    options: list[str] = []
    while remaining:
        word = remaining.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("--") and word[:2] in _SUITE_OPTIONS:
            name, equals, value = word[:2], "", word[2:]
        if name not in _SUITE_OPTIONS:
            continue
        if name == "--doctest-modules":
            options.append(name)
            continue
        if not value and not equals and remaining:
            value = remaining.pop(0)
        if value.startswith("selfheal"):
            continue  # the plugin of this package
        if name in _PATHS:
            value = to_node_id(str(folder / value), layout)
        options.append(f"{name}={value}" if name.startswith("--") else f"{name}{value}")
    return tuple(options)


def heal_in_a_process(
    root: Path, failed: Sequence[str], left: Sequence[str], arguments: Sequence[str],
    folder: Path, patch: Path,
) -> int:
    """Heals failed tests, and tests that did not run, in a new process. Writes the patch and
    returns the exit code."""
    layout = find_layout(root)
    functions = dict.fromkeys(node.partition("[")[0] for node in left)
    tests = [str(root / node) for node in (*failed, *functions) if "::" in node]
    named = tests if len(tests) <= MAX_NAMED else []
    return subprocess.run(
        [
            sys.executable, "-P", "-m", "selfheal", "run",
            *(named or [str(layout.root)]),
            "--out", str(patch), "--force", "--", *suite_options(arguments, layout, folder),
        ],
        cwd=layout.root, check=False,
    ).returncode
