"""Inside the tests' jail: one test file under the real pytest, its verdicts as they come."""

from __future__ import annotations

import ast
import io
import linecache
import os
import signal
import sys
import types
from collections.abc import Generator
from typing import Any

import pytest

from agent.core.pytest_settings import OBSERVED_PLUGINS
from agent.judge.observed.remote import LinkLost
from agent.judge.observed.standins import Unfollowable
from agent.judge.programs.observed.observe_tests import (
    Deadline,
    Environment,
    TestRunner,
    evaluate_nothing,
)
from agent.judge.programs.pytest_session import Session, node_of, plugins_for
from agent.judge.texts.reading import read

TOO_LONG = "collecting the file took too long"


class _File(pytest.Module):
    """The test file, compiled from a text that is on no disk."""

    runner: TestRunner
    code: types.CodeType

    def _getobj(self) -> types.ModuleType:
        module = types.ModuleType(self.path.stem)
        module.__file__ = str(self.path)
        sys.modules[module.__name__] = module
        # As pytest does it, for helpers beside the tests.
        if str(self.path.parent) not in sys.path:
            sys.path.insert(0, str(self.path.parent))
        exec(self.code, vars(module))
        self.runner.link.common = self.runner.link.beyond
        return module


class _Watched(Session):
    """Tells of each test's begin and end."""

    def __init__(self, runner: TestRunner, payload: dict[str, Any], tree: ast.Module) -> None:
        super().__init__(payload)
        self._runner = runner
        self._errors: list[BaseException] = []
        path = os.path.join(runner.jail.folder, payload["file"])
        self._code = runner.reads(read(tree, path, runner.modules), path)

    def pytest_pycollect_makemodule(self, module_path: Any, parent: Any) -> pytest.Module:
        file: _File = _File.from_parent(parent, path=module_path)
        file.runner, file.code = self._runner, self._code
        return file

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self._runner.late:
            self.problem = self.problem or TOO_LONG
        elif report.failed and self._runner.link.stopped is not None:
            self.problem = self.problem or str(self._runner.link.stopped)
        super().pytest_collectreport(report)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        self._errors, self._reports = [], []
        name = node_of(item)
        self._runner.begin(name)
        try:
            return (yield)
        except Deadline as late:
            # Between two phases, where pytest catches nothing.
            self._errors.append(late)
            return True
        finally:
            self._end(name, item)

    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if call.excinfo is not None:
            self._errors.append(call.excinfo.value)

    def pytest_keyboard_interrupt(self) -> None:
        self.problem = self.problem or "the run was interrupted"

    def _end(self, name: str, item: pytest.Item) -> None:
        failed = [report for report in self._reports if report.failed]
        skipped = [report for report in self._reports if report.skipped]
        ran = any(r.when == "call" and r.passed for r in self._reports)
        errors = [e for e in self._errors if not isinstance(e, pytest.skip.Exception)]
        fatal = [e for e in errors if isinstance(e, (Deadline, LinkLost))]
        if fatal:
            self._runner.end(name, fatal[0])
            item.session.shouldstop = "the solution's process is gone"
        elif failed or (errors and not skipped):
            text = str(failed[0].longrepr) if failed else ""
            self._runner.end(name, errors[0] if errors else None, text or "failed")
        elif skipped:
            self._runner.end(name, Unfollowable("the test sets itself aside"))
        elif ran:
            self._runner.end(name, None)
        else:
            self._runner.end(name, None, "the test did not run")


def _share_folders(shared: str) -> None:
    """Folders that a test makes in the shared one can be used by the solution as well."""
    original = os.mkdir

    def mkdir(path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        inside = dir_fd is None and str(path).startswith(shared)
        original(path, 0o770 if inside else mode, dir_fd=dir_fd)

    os.mkdir = mkdir


def _arguments(runner: TestRunner, payload: dict[str, Any]) -> list[str]:
    arguments = [
        payload["file"], "-q", "--assert=plain", "--capture=sys", "--tb=line",
        "-p", "no:cacheprovider", "-p", "no:faulthandler", "-p", "no:stepwise",
        "-p", "no:junitxml", "-p", "no:pastebin", "-c", os.devnull,
        f"--rootdir={runner.jail.folder}", f"--confcutdir={runner.jail.folder}",
        "-o", "xfail_strict=false",
    ]
    if not payload["conftest"]:
        arguments.append("--noconftest")
    if runner.jail.shared is not None:
        arguments.append(f"--basetemp={os.path.join(runner.jail.shared, 'tests')}")
    return arguments + plugins_for(payload["code"], OBSERVED_PLUGINS)


def run_file(runner: TestRunner, payload: dict[str, Any]) -> None:
    """Runs the wanted nodes of one test file in one session of pytest."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    try:
        tree = ast.parse(payload["code"], payload["file"])
    except SyntaxError as error:
        runner.jail.send({"done": True, "problem": f"SyntaxError: {error}"})
        return
    # The file itself is empty; tracebacks and inspect find its lines here.
    lines = payload["code"].splitlines(keepends=True)
    path = os.path.join(runner.jail.folder, payload["file"])
    linecache.cache[path] = (len(payload["code"]), None, lines, path)
    if runner.jail.shared is not None:
        _share_folders(runner.jail.shared)
    surroundings = Environment(runner.link)
    plugin = _Watched(runner, payload, tree)
    signal.setitimer(signal.ITIMER_REAL, runner.wall_s)
    try:
        runner.finder.load()
    except BaseException as error:  # noqa: BLE001 - the program may raise anything
        signal.setitimer(signal.ITIMER_REAL, 0)
        runner.jail.send({"unloaded": runner.verdict(error, "")})
        return
    runner.link.prepare = surroundings.tell
    evaluate_nothing({path, *(os.path.join(runner.jail.folder, one) for one in runner.jail.files)})
    output = sys.stdout
    sys.stdout = sys.stderr = io.StringIO()
    # Collection runs the file's top level, which may use the program as well.
    signal.setitimer(signal.ITIMER_REAL, runner.wall_s * 2)
    try:
        pytest.main(_arguments(runner, payload), plugins=[plugin])
    except Deadline:
        plugin.problem = plugin.problem or TOO_LONG
    except (LinkLost, Unfollowable) as error:
        plugin.problem = plugin.problem or str(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout = output
    runner.jail.send({"done": True, "problem": plugin.problem})
