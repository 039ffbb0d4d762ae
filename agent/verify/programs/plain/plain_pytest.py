"""Jailed program: runs one test file by pytest as a user does, and reports each outcome.

The outcome classes are pytest's: passed, failed, error (setup, teardown or collection), skipped,
xfailed, xpassed.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import os
import sys
import unittest
import unittest.case
from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from typing import Any

import pytest
from _pytest import outcomes
from _pytest.mark import structures

from agent.core.pytest_settings import CONFIGURATIONS
from agent.verify.node_ids import matches_node
from agent.verify.programs.plain.guard import ROOTS, hide_runner
from agent.verify.programs.plain.plain_run import Deadline, TestProcess
from agent.verify.programs.pytest_session import (
    PytestSession,
    imitate_command_line,
    innermost_place,
    marked,
    node_of,
    outcome_of,
    plugins_for,
    restore_library_modules,
)
from agent.verify.rewriting.messages import first_line

_TABLED = ("mimetypes", "xml", "html", "logging", "codecs", "locale", "calendar", "unicodedata",
           "http", "encodings", "csv", "string")
"""Packages of the standard library with tables that a program could change."""
IGNORED_FLAGS = (
    "--cov-append", "--cov-branch", "--no-cov", "--no-cov-on-fail", "--flake8", "--mypy", "--black",
    "--isort", "--pylint", "--ruff", "--ruff-format",
)
IGNORED_OPTIONS = (
    "--cov", "--cov-report", "--cov-config", "--cov-fail-under", "--cov-context", "--dist",
    "--numprocesses", "--maxprocesses", "--html",
)
"""Options of absent plugins that do not affect outcomes; they are accepted and ignored."""
_EXCLUDING = ("skip", "xfail", "expectedfailure")


def watch_control_flow(run: TestProcess) -> None:
    """Reports when the program raises control-flow exceptions or sets marks of a test framework."""
    for kind in (outcomes.OutcomeException, unittest.SkipTest):
        _watch_constructor(run, kind)
    names: Any = vars(unittest.case)
    stop = names["_ShouldStop"]
    # The constructor that it inherits from a builtin cannot be replaced, a subclass's can.
    names["_ShouldStop"] = type(stop.__name__, (stop,), {"__module__": stop.__module__})
    _watch_constructor(run, names["_ShouldStop"])
    if "hypothesis" in run.payload["words"] and importlib.util.find_spec("hypothesis"):
        _watch_constructor(run, importlib.import_module("hypothesis.errors").UnsatisfiedAssumption)
    store: Any = structures.store_mark

    def marked(owner: Any, mark: Any, **named: Any) -> None:
        if mark.name in ("skip", "skipif", "xfail") and run.guard.is_program_acting():
            run.guard.note("control-flow", mark.name)
        store(owner, mark, **named)

    vars(structures)["store_mark"] = marked


def _watch_constructor(run: TestProcess, kind: Any) -> None:
    before = kind.__init__

    def watched(error: Any, *args: Any, **named: Any) -> None:
        before(error, *args, **named)
        if run.guard.is_program_acting():
            run.guard.note("control-flow", type(error).__name__)

    kind.__init__ = watched


def _watch_assert_equal(run: TestProcess) -> None:
    """Passes the values that `assertEqual` finds equal to the check with an unequal object."""
    plain: Any = unittest.TestCase.assertEqual

    def checked(*args: Any, **named: Any) -> None:
        plain(*args, **named)
        run.compared(*args[1:3])

    checked.__name__ = plain.__name__
    unittest.TestCase.assertEqual = checked  # type: ignore[method-assign]


class FileTexts:
    """The texts of test files, read before any of the program runs."""

    def __init__(self, paths: Iterable[str]) -> None:
        self._trees = {path: tree for path in paths if (tree := _tree(path)) is not None}

    def used_changes(self, path: str, name: str, changed: Collection[str]) -> list[str]:
        """The items of `changed` that a test uses, or its file outside of all tests."""
        text = "\n".join(
            ast.unparse(node) for node in _flat(self._trees.get(path))
            if name == (own := getattr(node, "name", "")) or not own.startswith("test")
        )
        return [change for change in sorted(changed) if any(
            word in text for word in (change, *_IMPLICIT_USES.get(change, ()))
        )]

    def unbound(self, path: str, names: Iterable[str]) -> list[str]:
        """Names of builtins in a test's module that its own text does not bind."""
        nodes = [*ast.walk(self._trees[path])] if path in self._trees else []
        bound = {
            word for node in nodes for key in ("id", "name", "asname")
            if isinstance(word := getattr(node, key, None), str)
            and not isinstance(getattr(node, "ctx", None), ast.Load)
        }
        star = any(isinstance(node, ast.alias) and node.name == "*" for node in nodes)
        builtin_names = [name for name in names if name[:2] != "__" and hasattr(builtins, name)]
        return [] if star or not nodes else [name for name in builtin_names if name not in bound]

    def classes(self, path: str) -> Iterator[tuple[str, list[str]]]:
        """Test classes of a file and their tests, if their own text lets pytest collect them."""
        for node in getattr(self._trees.get(path), "body", ()):
            if isinstance(node, ast.ClassDef):
                members = [*map(_name_of, node.body)]
                if not {"__init__", "__new__", "__test__"} & {*members}:
                    yield node.name, [
                        one for one in members if one.startswith("test") and members.count(one) == 1
                    ]

    def load_library(self, folder: str) -> None:
        """Loads the libraries with tables that tests import, to record them before the program
        runs; libraries shadowed by a file of the program's folder are excluded."""
        for node in (node for tree in self._trees.values() for node in ast.walk(tree)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [
                node.module or ""
            ] if isinstance(node, ast.ImportFrom) and not node.level else []
            for name in names:
                root = name.partition(".")[0]
                if root in _TABLED and not os.path.exists(os.path.join(folder, f"{root}.py")):
                    module = importlib.import_module(name)
                    getattr(module, "init", lambda: None)()  # `mimetypes` builds its tables lazily


_IMPLICIT_USES = {
    "its folder": ("exists(", "is_file(", "isfile(", "is_dir(", "isdir(", "listdir(", "glob("),
    "HOME": ("expanduser(", "home("), "PATH": ("which(",),
}
"""How a test depends on parts of the environment without naming them."""


def _flat(tree: ast.Module | None) -> Iterator[ast.stmt]:
    """The statements of a file, with classes replaced by their statements."""
    for node in tree.body if tree is not None else ():
        yield from node.body if isinstance(node, ast.ClassDef) else [node]


def _name_of(node: ast.stmt) -> str:
    target = node.targets[0] if isinstance(node, ast.Assign) else node
    return str(getattr(target, "name", getattr(target, "id", "")))


def _tree(path: str) -> ast.Module | None:
    try:
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


class Reporter(PytestSession):
    def __init__(self, run: TestProcess, texts: FileTexts) -> None:
        super().__init__(run.folder, _node_filter(run.payload))
        self._run = run
        self._texts = texts
        self._words: str = run.payload["words"]
        self.skipped = ""
        self.collected = 0
        self._chosen: list[Any] = []

    def pytest_addoption(self, parser: Any) -> None:
        group = parser.getgroup("idle")
        for name in IGNORED_FLAGS:
            group.addoption(name, action="store_true", dest=f"idle {name}")
        for name in IGNORED_OPTIONS:
            group.addoption(name, action="append", nargs="?", dest=f"idle {name}")
        # Public `addoption` refuses short options of one lower-case letter.
        group._addoption("-n", dest="idle -n")

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        self._run.guard.record_configured()

    def pytest_collectreport(self, report: Any) -> None:
        super().pytest_collectreport(report)
        if report.skipped:
            self.skipped = _skip_reason(report)

    @property
    def problem(self) -> str:
        return next(iter(self._uncollected.values()), "")

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Selects the wanted tests, and checks the collected modules and tests for tampering."""
        self.collected = len(items)
        for module in {item.module for item in items if hasattr(item, "module")}:
            for name in self._texts.unbound(str(module.__file__), vars(module)):
                self._run.guard.note("test-module", name)
            if not self._run.payload["variation"]:
                self._run.guard.watch_module(module)
        for item in items:
            for name, word in _UNITTEST_EXCLUSIONS.items():
                if getattr(getattr(item, "obj", None), name, False) and word not in self._words:
                    self._run.guard.note("control-flow", word)
        self._check_vanished({node_of(item).partition("[")[0] for item in items})
        super().pytest_collection_modifyitems(items)
        self._chosen = [*items]

    def pytest_collection_finish(self, session: Any) -> None:
        left = {*map(node_of, session.items)}
        if "modifyitems" not in self._words:
            for item in self._chosen:
                if node_of(item) not in left:
                    self._run.guard.note("vanished", node_of(item))

    def _check_vanished(self, collected: Collection[str]) -> None:
        """Reports uncollected tests of classes that derive from a class of the program."""
        for module in [*sys.modules.values()]:
            path = getattr(module, "__file__", None)
            for name, tests in self._texts.classes(path) if path in self._run.guard.tests else ():
                kind = vars(module).get(name)
                is_tests = name.startswith("Test") or (
                    isinstance(kind, type) and issubclass(kind, unittest.TestCase)
                )
                if is_tests and isinstance(kind, type) and any(
                    self._run.guard.is_from_program(one) for one in (*kind.__mro__[1:], type(kind))
                ):
                    for test in tests:
                        if f"{name}::{test}" not in collected:
                            self._run.guard.note("vanished", f"{name}::{test}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        node = node_of(item)
        self._reports = []
        self._run.begin(node)
        try:
            return (yield)
        except Deadline:
            return True
        finally:
            self._report(node, item)

    def _report(self, node: str, item: Any) -> None:
        status, failed = outcome_of(self._reports)
        name = getattr(item, "originalname", None) or item.name.partition("[")[0]
        details: dict[str, Any] = {}
        if status in ("failed", "error") and failed is not None:
            details |= failure_details(failed, self._run.files)
        elif status in ("skipped", "xfailed"):
            details["message"] = _skip_reason(failed) if failed is not None else ""
        if status in ("skipped", "xfailed") and not any(
            word in self._run.payload["words"].lower() for word in _EXCLUDING
        ):
            self._run.guard.note("control-flow", f"the test is {status}, but its text has no skip")
        elif status in ("skipped", "xfailed"):
            for what in self._texts.used_changes(str(item.path), name, self._run.guard.changed):
                self._run.guard.note("changed-skip", what)
        self._run.end(node, status, **details)


_UNITTEST_EXCLUSIONS = {
    "__unittest_expecting_failure__": "expectedFailure", "__unittest_skip__": "skip",
}
"""Attributes by which unittest excludes a test, and the decorator that sets each."""


def _skip_reason(report: Any) -> str:
    longrepr = report.longrepr
    return first_line(str(longrepr[2] if isinstance(longrepr, tuple) else longrepr))


def _node_filter(payload: dict[str, Any]) -> Callable[[str], bool]:
    """A filter for requested tests that have not run yet."""
    done, wanted = {*payload["done"]}, [(node, without) for node, without in payload["nodes"]]

    def is_wanted(node: str) -> bool:
        name = node.partition("::")[2]
        return name not in done and any(matches_node(one, without, name) for one, without in wanted)

    return is_wanted


def failure_details(report: Any, files: Collection[str]) -> dict[str, Any]:
    """The message of a failure, the sides of a failed comparison, and its innermost place in
    `files`, the paths of the program and the tests."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(report.longrepr)  # for failures without an exception, such as a missing fixture
    message = str(getattr(crash, "message", "")) or "\n".join(marked(text)) or text
    details: dict[str, Any] = {"message": first_line(message)}
    lines = message.split("\n")
    head = lines[0].removeprefix("AssertionError: ")
    if head.startswith("assert "):
        details |= _sides(head.removeprefix("assert "))
        where = next((line for line in lines[1:] if "where" in line and " = " in line), "")
        if where:
            details["call"] = where.partition(" = ")[2].strip()
    if report.when != "call":
        details["message"] = f"{report.when}: {details['message']}"
    if "assert" not in head:
        path, line = innermost_place(report.longrepr, files.__contains__)
        details["message"] += f" at line {line} ({os.path.basename(path)})" if path else ""
    return details


def _sides(expression: str) -> dict[str, str]:
    try:
        node = ast.parse(expression, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        return {"got": ast.unparse(node.left), "expected": ast.unparse(node.comparators[0])}
    return {}


def run_file(run: TestProcess) -> None:
    payload = run.payload
    restore_library_modules()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    texts = FileTexts(run.guard.tests)
    watch_control_flow(run)
    if payload["variation"] == "unequal":
        _watch_assert_equal(run)
    reporter = Reporter(run, texts)
    texts.load_library(run.folder)
    run.guard.record(ROOTS)
    run.guard.watch()
    hide_runner()
    arguments = _arguments(payload, run.folder)
    imitate_command_line([payload["file"]], payload["variation"] != "user machine")
    # A copy, since pytest adds a project's own options to the list.
    code = pytest.main([*arguments], plugins=[reporter])
    if code == pytest.ExitCode.USAGE_ERROR and not reporter.collected:
        # A project's own options may require plugins that are absent.
        code = pytest.main([*arguments, "-o", "addopts="], plugins=[reporter])
    run.done(reporter.problem, reporter.skipped)


def _arguments(payload: dict[str, Any], folder: str) -> list[str]:
    arguments = [
        payload["file"], "-q", "--no-header",
        # The traceback of a test with wrong answers is irrelevant, and slow to format.
        "--tb=no" if payload["variation"] else "--tb=short",
        *(["--assert=plain"] if payload["variation"].startswith("wrong") else ()),
        "-p", "no:cacheprovider",
        "-p", "no:faulthandler", f"--rootdir={folder}", f"--confcutdir={folder}",
    ]
    if not any(os.path.exists(os.path.join(folder, name)) for name in CONFIGURATIONS):
        arguments += ["-c", os.devnull]
    return arguments + plugins_for(payload["words"])
