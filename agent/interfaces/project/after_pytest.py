"""`heal pytest -- ARGS` and the end of `pytest --heal`: a run as it is, and then its heal."""

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
from agent.interfaces.project.selection import node_at
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
"""Tests that are named on a command line; of more, all that fail are healed."""
_PATHS = ("--deselect", "--ignore", "--ignore-glob")
_KEPT = (*_PATHS, "-p", "-o", "--override-ini", "-W", "--import-mode", "--doctest-modules")
"""Options that are kept, as they choose no tests."""

_RUN = f"""
import json, os, sys
told = sys.argv.pop(1)
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
        config.option.heal = False  # what fails is healed after this, once
    def pytest_collection_finish(self, session):
        self.left = dict.fromkeys(item.nodeid for item in session.items)
    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed[report.nodeid] = None
    pytest_collectreport = pytest_runtest_logreport
    def pytest_runtest_logfinish(self, nodeid):
        self.left.pop(nodeid, None)
    def pytest_sessionfinish(self, session):
        with open(told, "w", encoding="utf-8") as file:
            json.dump([str(session.config.rootpath), [*self.failed], [*self.left]], file)
sys.exit(pytest.main(sys.argv[1:], plugins=[Failures()]))
"""


@dataclass(frozen=True)
class PytestEnd:
    """How pytest ended, and tests by their paths on this machine."""

    code: int
    failed: tuple[str, ...]
    left: tuple[str, ...] = ()
    """Tests that it did not come to, as with -x."""


def heal_pytest(
    opener: OpenSession, request: HealRequest, display: Display
) -> int:
    """Runs the pytest of the project around this folder outside of any jail, and heals what
    fails."""
    layout = find_layout(Path.cwd())
    interpreter = find_interpreter(layout.root, request.python or "")
    ran = run_pytest(interpreter.executable, request.args, quiet=display.json)
    if ran.code == NO_PYTEST:
        raise NotFixable(
            "missing_package", f"{interpreter.words} has no pytest: install it there, or "
            "name another with --python PATH",
        )
    if ran.code == NO_TESTS:
        raise NotFixable("invalid_tests", "pytest found no test to run")
    if ran.code not in (GREEN, RED, STOPPED):
        raise BadInput(f"pytest did not run: it ended with exit code {ran.code}")
    if ran.code == GREEN:
        return _green(display)
    display.terminal.say(_red_words(ran), "bold")
    kept = carried(request.args, layout, Path.cwd())
    return run(opener, replace(
        request, path=str(layout.root), args=[*ran.failed, *ran.left, *kept], failed_outside=True
    ), display)


def _red_words(ran: PytestEnd) -> str:
    said = f"pytest ended with exit code {ran.code}. Now heal repairs what failed"
    if not ran.left:
        return f"{said}."
    return f"{said}, and what fails of the {counted(len(ran.left), 'test')} it did not come to."


def _green(display: Display) -> int:
    from agent.report.result import Result, document

    if display.json:
        display.data(document(Result(outcome="healthy", reason="pytest passes")))
    display.terminal.say("pytest ended with exit code 0: nothing to heal", "bold green")
    return HEALED


def run_pytest(executable: Path, arguments: Sequence[str], *, quiet: bool) -> PytestEnd:
    """Runs a Python's pytest here; where that is to be quiet, nothing goes to standard output."""
    with tempfile.TemporaryDirectory(prefix="heal-pytest-") as folder:
        told = Path(folder, "failed.json")
        done = subprocess.run(
            [str(executable), "-c", _RUN, str(told), *arguments], check=False,
            stdout=STDERR if quiet else None,
        )
        try:
            root, *nodes = json.loads(told.read_text("utf-8"))
        except FileNotFoundError:  # it ended before its session did
            root, nodes = "", [[], []]
    failed, left = (tuple(os.path.join(root, node) for node in some) for some in nodes)
    return PytestEnd(done.returncode, failed, left)


def carried(arguments: Sequence[str], layout: ProjectLayout, folder: Path) -> tuple[str, ...]:
    """The options of pytest that hold for the whole suite, with paths from the project's root."""
    waiting = [*arguments]
    kept: list[str] = []
    while waiting:
        word = waiting.pop(0)
        name, equals, value = word.partition("=")
        if not word.startswith("--") and word[:2] in _KEPT:
            name, equals, value = word[:2], "", word[2:]
        if name not in _KEPT:
            continue
        if name == "--doctest-modules":
            kept.append(name)
            continue
        if not value and not equals and waiting:
            value = waiting.pop(0)
        if value.startswith("selfheal"):
            continue  # this very plugin, named by hand
        if name in _PATHS:
            value = node_at(str(folder / value), layout)
        kept.append(f"{name}={value}" if name.startswith("--") else f"{name}{value}")
    return tuple(kept)


def heal_in_a_process(
    root: Path, failed: Sequence[str], left: Sequence[str], arguments: Sequence[str],
    folder: Path, patch: Path,
) -> int:
    """Heals what failed, or was not reached, in a process; writes the patch and returns the exit
    code."""
    layout = find_layout(root)
    functions = dict.fromkeys(node.partition("[")[0] for node in left)
    tests = [str(root / node) for node in (*failed, *functions) if "::" in node]
    named = tests if len(tests) <= MAX_NAMED else []
    return subprocess.run(
        [
            sys.executable, "-P", "-m", "selfheal", "run",
            *(named or [str(layout.root)]),
            "--out", str(patch), "--force", "--", *carried(arguments, layout, folder),
        ],
        cwd=layout.root, check=False,
    ).returncode
