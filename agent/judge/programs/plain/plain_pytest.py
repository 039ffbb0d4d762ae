"""Runs one test file by pytest as a user does, and tells the host how each test came out.

The outcome classes are pytest's: passed, failed, error (setup, teardown or collection), skipped,
xfailed, xpassed. Beside them it tells how many checks held, and which did not although the test
passed: a program may have swallowed them.
"""

from __future__ import annotations

import ast
import builtins
import importlib.util
import os
import sys
import unittest
import unittest.case
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from itertools import dropwhile, takewhile
from typing import Any

import pytest
from _pytest import outcomes, raises, recwarn
from _pytest.assertion import rewrite
from _pytest.mark import structures

from agent.core.pytest_settings import CONFIGURATIONS
from agent.judge.programs.plain.guard import ROOTS, forget_runner
from agent.judge.programs.plain.plain_run import Deadline, Run
from agent.judge.programs.pytest_session import (
    Session,
    as_typed,
    marked,
    node_of,
    outcome_of,
    plugins_for,
    stand_by,
)
from agent.judge.texts.messages import first_line
from agent.judge.texts.transform import constant_asserts

_TABLED = ("mimetypes", "xml", "html", "logging", "codecs", "locale", "calendar", "unicodedata",
           "http", "encodings", "csv", "string")
"""Of Python's library, packages that keep tables."""
IDLE_FLAGS = (
    "--cov-append", "--cov-branch", "--no-cov", "--no-cov-on-fail", "--flake8", "--mypy", "--black",
    "--isort", "--pylint", "--ruff", "--ruff-format",
)
IDLE_OPTIONS = (
    "--cov", "--cov-report", "--cov-config", "--cov-fail-under", "--cov-context", "--dist",
    "--numprocesses", "--maxprocesses", "--html",
)
"""What a project's settings ask of plugins that have no say in how a test comes out."""
_SETTING_ASIDE = ("skip", "xfail", "expectedfailure")
_ASSERTING = ("assert", "fail", "run", "__call__")
"""How the names of those methods of unittest begin by which a test fails."""


class Checks:
    """Counts the checks of a test that held, and remembers those that did not."""

    def __init__(self, run: Run, texts: Texts) -> None:
        self._run = run
        self._texts = texts
        self.held = 0
        self._hidden: dict[tuple[object, ...], tuple[str, Any]] = {}

    @property
    def hidden(self) -> list[str]:
        """Checks that did not hold where the program could hide it, and did not hold later in the
        same call of the program, which may try the same again."""
        return [said for said, _ in self._hidden.values()]

    def reset(self) -> None:
        """A test begins."""
        self.held, self._hidden = 0, {}

    def install(self) -> None:
        """Has pytest's rewritten asserts, unittest's and `pytest.raises` tell of themselves."""
        names: Any = vars(rewrite)
        names["_held"] = self._passes
        names["AssertionRewriter"].visit_Assert = _telling(rewrite.AssertionRewriter.visit_Assert)
        names["_format_explanation"] = self._listen(names["_format_explanation"])
        for name, function in [*vars(unittest.TestCase).items()]:
            if name.startswith("assert") and callable(function):
                setattr(unittest.TestCase, name, self._counted(function))
        for owner in (raises.RaisesExc, raises.RaisesGroup, recwarn.WarningsChecker):
            owner.__exit__ = self._counted(owner.__exit__)  # type: ignore[method-assign]
        for kind in (outcomes.OutcomeException, unittest.SkipTest):
            self._noting(kind)
        names = vars(unittest.case)
        stop: Any = names["_ShouldStop"]
        # A builtin's own constructor cannot be replaced; that of a class in its place can.
        names["_ShouldStop"] = type(stop.__name__, (stop,), {"__module__": stop.__module__})
        self._noting(names["_ShouldStop"])
        structures.store_mark = self._marked(structures.store_mark)
        if "hypothesis" in self._run.payload["words"] and importlib.util.find_spec("hypothesis"):
            self._noting(importlib.import_module("hypothesis.errors").UnsatisfiedAssumption)

    def _passes(self) -> None:
        """Called where an assert of the test has held."""
        self.held += 1
        if self._hidden:
            frame = sys._getframe(1)
            _, within = self._hidden.get(_asked(frame), ("", None))
            if within is not None and within in _outward(frame):
                del self._hidden[_asked(frame)]

    def _listen(self, explain: Callable[[str], str]) -> Callable[[str], str]:
        def heard(text: str) -> str:
            self._fails(sys._getframe(1), text)
            return explain(text)

        return heard

    def _fails(self, frame: Any, text: str) -> None:
        if self._run.payload["canary"]:
            return
        where = frame
        while where is not None and where.f_code.co_filename not in self._run.guard.tests:
            where = where.f_back
        if where is None:
            return
        frames = [*_outward(where)]
        outer = self._calls(frames)
        if outer or any(one.f_code.co_filename.endswith(_LOOP) for one in frames):
            # What the test means to fail is the program's to catch.
            if not (
                any(word in self._run.payload["words"] for word in _MEANT)
                or self._texts.is_constant(where)
            ):
                self._hidden[_asked(where)] = first_line(text), outer[-1] if outer else None
            return
        while where is not None and where.f_code.co_filename in self._run.guard.tests:
            if self._texts.hides(where):
                self._hidden[_asked(where)] = first_line(text), None
                return
            where = where.f_back

    def _calls(self, frames: Sequence[Any]) -> list[Any]:
        """The program's frames around a test's, up to the test that called; else any."""
        programs, tests = self._run.guard.program, self._run.guard.tests
        around = dropwhile(lambda one: one.f_code.co_filename in tests, frames)
        called = takewhile(lambda one: one.f_code.co_filename not in tests, around)
        return [one for one in called if one.f_code.co_filename in programs] or [
            one for one in frames if one.f_code.co_filename in programs
        ]

    def _counted(self, function: Any) -> Any:
        checks = self

        def checked(*args: Any, **named: Any) -> Any:
            held = checks.held
            try:
                result = function(*args, **named)
            except AssertionError as error:
                checks._fails(sys._getframe(1), str(error))
                raise
            if sys._getframe(1).f_code.co_filename not in checks._run.guard.program:
                checks.held = held + 1  # what the program asserts is no check of the test
            if function.__name__ == "assertEqual":
                checks._run.compared(*args[1:3])
            return result

        checked.__name__ = function.__name__
        checked.__doc__ = function.__doc__
        return checked

    def _marked(self, store: Any) -> Any:
        def marked(owner: Any, mark: Any, **named: Any) -> None:
            if mark.name in ("skip", "skipif", "xfail") and self._run.guard.acting():
                self._run.guard.note("control-flow", mark.name)
            store(owner, mark, **named)

        return marked

    def replaced(self, case: Any) -> None:
        """Notes asserts of unittest that the program has put in another's place."""
        if not isinstance(case, unittest.TestCase):
            return
        for owner in (case, *type(case).__mro__):
            for name, value in vars(owner).items():
                mine = name.startswith(_ASSERTING) and hasattr(unittest.TestCase, name)
                if mine and self._run.guard.is_programs(value):
                    self._run.guard.note("changed-runner", name)

    def _noting(self, kind: Any) -> None:
        before = kind.__init__

        def made(error: Any, *args: Any, **named: Any) -> None:
            before(error, *args, **named)
            if self._run.guard.acting():
                self._run.guard.note("control-flow", type(error).__name__)

        kind.__init__ = made


_LOOP = os.sep + os.path.join("asyncio", "events.py")
_MEANT = ("AssertionError", "return_exceptions", "exception_handler", "suppress")
"""Words of tests that mean a failing assert to be kept."""


def _outward(frame: Any) -> Iterator[Any]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _asked(frame: Any) -> tuple[object, ...]:
    """A check in a frame: its place, and what its function was called with."""
    code, names = frame.f_code, frame.f_locals
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return code.co_filename, frame.f_lineno, *(id(names.get(name)) for name in given)


class Texts:
    """What the files of tests say, as they were before any of the program ran."""

    def __init__(self, paths: Iterable[str]) -> None:
        trees = {path: tree for path in paths if (tree := _tree(path)) is not None}
        self._trees = trees
        self._constant = {path: constant_asserts(tree) for path, tree in trees.items()}
        self._checking, self._silent = {}, {}
        for path, tree in trees.items():
            self._checking[path], self._silent[path] = _checking(tree)
        self._catching = {path: [*_catching(tree)] for path, tree in trees.items()}

    def checks_anything(self, path: str, name: str) -> bool:
        """Whether a check stands in a test's own function, or in those that it names."""
        return name in self._checking.get(path, ())

    def is_silent(self, path: str, name: str) -> bool:
        """Whether a test asserts nothing and raises nothing, itself or in what it names."""
        return name in self._silent.get(path, ())

    def asks(self, path: str, name: str, changed: Collection[str]) -> list[str]:
        """What of this a test of this name, or its file outside of any test, asks for."""
        text = "\n".join(
            ast.unparse(node) for node in _flat(self._trees.get(path))
            if name == (own := getattr(node, "name", "")) or not own.startswith("test")
        )
        return [one for one in sorted(changed) if any(
            word in text for word in (one, *_ASKING.get(one, ()))
        )]

    def unbound(self, path: str, names: Iterable[str]) -> list[str]:
        """Which of Python's own names a test's module has, though its text binds none so."""
        nodes = [*ast.walk(self._trees[path])] if path in self._trees else []
        bound = {
            word for node in nodes for key in ("id", "name", "asname")
            if isinstance(word := getattr(node, key, None), str)
            and not isinstance(getattr(node, "ctx", None), ast.Load)
        }
        star = any(isinstance(node, ast.alias) and node.name == "*" for node in nodes)
        own = [name for name in names if name[:2] != "__" and hasattr(builtins, name)]
        return [] if star or not nodes else [name for name in own if name not in bound]

    def classes(self, path: str) -> Iterator[tuple[str, list[str]]]:
        """Classes of tests in a file and the names of their tests, where nothing in their own text
        keeps pytest from collecting them."""
        for node in getattr(self._trees.get(path), "body", ()):
            if isinstance(node, ast.ClassDef):
                own = [*map(_name_of, node.body)]
                if not {"__init__", "__new__", "__test__"} & {*own}:
                    yield node.name, [
                        one for one in own if one.startswith("test") and own.count(one) == 1
                    ]

    def load_library(self, folder: str) -> None:
        """Loads what tests import of Python's library, so that it is known how it was before the
        program; but not what a file of the program's folder comes before."""
        for node in (one for tree in self._trees.values() for one in ast.walk(tree)):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else [
                node.module or ""
            ] if isinstance(node, ast.ImportFrom) and not node.level else []
            for name in names:
                root = name.partition(".")[0]
                if root in _TABLED and not os.path.exists(os.path.join(folder, f"{root}.py")):
                    module = importlib.import_module(name)
                    getattr(module, "init", lambda: None)()  # `mimetypes` makes its tables late

    def defines(self, path: str, name: str) -> bool:
        """Whether a test's own function stands in a file, without a decorator."""
        return any(
            isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and one.name == name
            and not one.decorator_list for one in _flat(self._trees.get(path))
        )

    def is_constant(self, frame: Any) -> bool:
        """Whether the assert that fails in a frame asks nothing, as `assert False` does."""
        return frame.f_lineno in self._constant.get(frame.f_code.co_filename, ())

    def _around(self, path: str, line: int) -> Iterator[_Catching]:
        """What may catch an exception of this line, the innermost first."""
        for body, catching in reversed(self._catching.get(path, [])):
            if _holds(body, line):
                yield catching

    def hides(self, frame: Any) -> bool:
        """Whether what fails on the line that runs in a test's frame is hidden right there: by a
        `with` that could be the program's, or by a name that does not say that it is that of
        AssertionError."""
        for catching in self._around(frame.f_code.co_filename, frame.f_lineno):
            if isinstance(catching, ast.withitem):
                words = ast.unparse(catching.context_expr)
                call = catching.context_expr
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(_CATCHING):
                    caught = call.args[:1] if words.startswith("pytest.") else call.args
                elif words.startswith(("pytest.", "self.", "patch", "mock.")):
                    continue
                else:
                    return True
            elif catching.type is None:
                return False
            else:
                caught = [catching.type]
            plain, foreign = _asserts_among(caught, frame)
            if plain or foreign:
                return not plain
        return False


def _telling(rewritten: Any) -> Any:
    """Rewrites an assert as pytest does, and has it tell where it held."""

    def visit(rewriter: Any, node: ast.Assert) -> list[ast.stmt]:
        noted = ast.copy_location(ast.Expr(rewriter.helper("_held")), node)
        return [*rewritten(rewriter, node), ast.fix_missing_locations(noted)]

    return visit


_ASKING = {
    "its folder": ("exists(", "is_file(", "isfile(", "is_dir(", "isdir(", "listdir(", "glob("),
    "HOME": ("expanduser(", "home("), "PATH": ("which(",),
}
"""How a test asks for what the environment says, without its name."""


def _flat(tree: ast.Module | None) -> Iterator[ast.stmt]:
    """The statements of a file, and those of its classes."""
    for node in tree.body if tree is not None else ():
        yield from node.body if isinstance(node, ast.ClassDef) else [node]


def _name_of(node: ast.stmt) -> str:
    """What a statement defines or binds."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node
    return str(getattr(target, "name", getattr(target, "id", "")))


_Catching = ast.withitem | ast.ExceptHandler


def _tree(path: str) -> ast.Module | None:
    try:
        with open(path, "rb") as file:
            return ast.parse(file.read())
    except (OSError, SyntaxError, ValueError, RecursionError):
        return None


def _checking(tree: ast.Module) -> tuple[frozenset[str], frozenset[str]]:
    """Names of functions in which an assert stands, or in one that they name, and of those with
    none. Neither has those that raise what they like, as checks by hand do, which nobody counts."""
    functions = {
        node.name: [*ast.walk(node)] for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    asserting = {name for name, parts in functions.items() if _asserts(parts)}
    raising = {
        name for name, parts in functions.items()
        if any(isinstance(one, ast.Raise) for one in parts)
    }
    asking: set[str] = set()
    silent: set[str] = set()
    for name, parts in functions.items():
        own = {name} | {one.id for one in parts if isinstance(one, ast.Name)}
        if not own & raising:
            (asking if own & asserting else silent).add(name)
    return frozenset(asking), frozenset(silent)


def _asserts(parts: list[ast.AST]) -> bool:
    """Whether an assert stands among them. One of nothing, `assert False`, stands where nobody
    should come, and so does what a `with` waits for an exception of."""
    unreached = {
        one for around in parts
        if isinstance(around, ast.With) and "raises" in ast.unparse(around.items[0])
        for one in ast.walk(around)
    }
    return any(
        isinstance(one, ast.Assert) and not isinstance(one.test, ast.Constant)
        for one in parts if one not in unreached
    )


_CATCHING = ("raises", "assertRaises", "assertRaisesRegex", "suppress")
_SAYING_SO = ("AssertionError", "Exception", "BaseException")


def _catching(tree: ast.Module) -> Iterator[tuple[Sequence[ast.stmt], _Catching]]:
    """What may catch an exception, with the lines where; the outermost first."""
    for node in ast.walk(tree):
        if isinstance(node, ast.With | ast.AsyncWith):
            yield from (([node], item) for item in node.items)
        elif isinstance(node, ast.Try | ast.TryStar):
            yield from ((node.body, handler) for handler in reversed(node.handlers))


def _holds(body: Sequence[ast.stmt], line: int) -> bool:
    return body[0].lineno <= line <= (body[-1].end_lineno or 0)


def _asserts_among(caught: Sequence[ast.expr], frame: Any) -> tuple[bool, bool]:
    """Whether they catch a failing assert, by a name that says so; and by another."""
    plain = foreign = False
    for one in caught:
        if isinstance(one, ast.Tuple):
            inner = _asserts_among(one.elts, frame)
            plain, foreign = plain or inner[0], foreign or inner[1]
        elif isinstance(one, ast.Name) and one.id in _SAYING_SO:
            plain = True
        elif _catches(_value(one, frame)):
            foreign = True
    return plain, foreign


def _value(node: ast.expr, frame: Any) -> Any:
    """What a dotted name stands for in a frame; `None` where it cannot be told."""
    match node:
        case ast.Name(id=name):
            return frame.f_locals.get(name, frame.f_globals.get(name))
        case ast.Attribute(value=owner, attr=name):
            return getattr(_value(owner, frame), name, None)
    return None


def _catches(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_catches, value))
    return isinstance(value, type) and issubclass(AssertionError, value)


class Reporter(Session):
    """A plugin that tells the host of each test."""

    def __init__(self, run: Run, checks: Checks, texts: Texts) -> None:
        super().__init__(run.payload)
        self._run = run
        self._checks = checks
        self._texts = texts
        self._words: str = run.payload["words"]
        self._raised: BaseException | None = None
        self.skipped = ""
        self.collected = 0
        self._chosen: list[Any] = []

    def pytest_addoption(self, parser: Any) -> None:
        """Takes what is meant for plugins that are not here."""
        group = parser.getgroup("idle")
        for name in IDLE_FLAGS:
            group.addoption(name, action="store_true", dest=f"idle {name}")
        for name in IDLE_OPTIONS:
            group.addoption(name, action="append", nargs="?", dest=f"idle {name}")
        # Only plugins of pytest's own may have an option of one small letter.
        group._addoption("-n", dest="idle -n")

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        """pytest is set up; from here on it stays as it is."""
        self._run.guard.configured()

    def pytest_collectreport(self, report: Any) -> None:
        """One that sets itself aside says why, too."""
        super().pytest_collectreport(report)
        if report.skipped:
            said = report.longrepr
            self.skipped = first_line(str(said[2] if isinstance(said, tuple) else said))

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leaves the tests that were asked for; what sets one aside shows before it runs."""
        self.collected = len(items)
        for module in {item.module for item in items if hasattr(item, "module")}:
            for name in self._texts.unbound(str(module.__file__), vars(module)):
                self._run.guard.note("test-module", name)
            if not self._run.payload["canary"]:
                self._run.guard.keep_module(module)
        for item in items:
            for name, word in _SET_ASIDE_BY.items():
                if getattr(getattr(item, "obj", None), name, False) and word not in self._words:
                    self._run.guard.note("control-flow", word)
        self._look_for_vanished({node_of(item).partition("[")[0] for item in items})
        super().pytest_collection_modifyitems(items)
        self._chosen = [*items]

    def pytest_collection_finish(self, session: Any) -> None:
        """What a hook of the program has left out since is noted; the tests' own may do so."""
        left = {*map(node_of, session.items)}
        if "modifyitems" not in self._words:
            for item in self._chosen:
                if node_of(item) not in left:
                    self._run.guard.note("vanished", node_of(item))

    def _look_for_vanished(self, collected: Collection[str]) -> None:
        """Notes tests that stand in a class which derives from one of the program's, and that
        pytest does not collect."""
        for module in [*sys.modules.values()]:
            path = getattr(module, "__file__", None)
            for name, tests in self._texts.classes(path) if path in self._run.guard.tests else ():
                kind = vars(module).get(name)
                is_tests = name.startswith("Test") or (
                    isinstance(kind, type) and issubclass(kind, unittest.TestCase)
                )
                if is_tests and isinstance(kind, type) and any(
                    self._run.guard.is_programs(one) for one in (*kind.__mro__[1:], type(kind))
                ):
                    for test in tests:
                        if f"{name}::{test}" not in collected:
                            self._run.guard.note("vanished", f"{name}::{test}")

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: Any) -> Generator[None, Any, Any]:
        """One test from its begin to its end."""
        node = node_of(item)
        self._reports, self._raised = [], None
        self._checks.reset()
        self._run.begin(node)
        try:
            return (yield)
        except Deadline:
            return True
        finally:
            self._report(node, item)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_pyfunc_call(self, pyfuncitem: Any) -> Generator[None, Any, Any]:
        """The test's own function: what it raises, before anyone else hears of it."""
        try:
            return (yield)
        except BaseException as error:
            self._raised = error
            raise

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_call(self, item: Any) -> Generator[None, Any, Any]:
        """The test with its instance, which is gone afterwards."""
        try:
            return (yield)
        finally:
            self._checks.replaced(getattr(item, "instance", None))

    def _report(self, node: str, item: Any) -> None:
        status, failed = outcome_of(self._reports)
        name = getattr(item, "originalname", None) or item.name.partition("[")[0]
        code = getattr(getattr(item, "obj", None), "__code__", None)
        # The asserts of a helper, whose tests a class may inherit, are not rewritten.
        own = code is None or code.co_filename not in self._run.guard.tests - {str(item.path)}
        details: dict[str, Any] = {
            "checks": self._checks.held,
            "checking": own and self._texts.checks_anything(str(item.path), name),
            "silent": own and self._texts.is_silent(str(item.path), name),
        }
        if status in ("failed", "error") and failed is not None:
            details |= explained(failed, self._run.laid)
        elif status in ("skipped", "xfailed"):
            said = failed.longrepr if failed is not None else ""
            details["message"] = first_line(str(said[2] if isinstance(said, tuple) else said))
        if status in ("skipped", "xfailed") and not any(
            word in self._run.payload["words"].lower() for word in _SETTING_ASIDE
        ):
            self._run.guard.note("control-flow", f"the test is {status}, and not by its own words")
        elif status in ("skipped", "xfailed"):
            for what in self._texts.asks(str(item.path), name, self._run.guard.changed):
                self._run.guard.note("set-aside", what)
        if status == "passed":
            if self._checks.hidden:
                self._run.guard.note("swallowed", self._checks.hidden[0])
            obj = getattr(item, "obj", None)
            is_programs = self._run.guard.is_programs(obj) or self._run.guard.is_programs(type(obj))
            if is_programs and (
                (details["checking"] and not self._checks.held)
                or self._texts.defines(str(item.path), name)
            ):
                self._run.guard.note("no-check", "the program has put another in its place")
            if self._raised is not None:
                self._run.guard.note("changed-runner", "an exception of the test was lost")
        self._run.end(node, status, **details)


_SET_ASIDE_BY = {"__unittest_expecting_failure__": "expectedFailure", "__unittest_skip__": "skip"}
"""Attributes by which unittest sets a test aside, and the word of the test that asks for it."""


def explained(report: Any, ours: Collection[str]) -> dict[str, Any]:
    """A failure in words: pytest's own, and where it was a comparison its sides. Its place is the
    innermost in one of `ours`, paths of the program's and the tests' files."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = str(report.longrepr)  # of what is no exception's, such as a fixture that is not there
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
        details["message"] += _place(report.longrepr, ours)
    return details


def _place(longrepr: Any, ours: Collection[str]) -> str:
    entries = getattr(getattr(longrepr, "reprtraceback", None), "reprentries", ())
    for entry in reversed(entries):
        where = getattr(entry, "reprfileloc", None)
        path = os.path.abspath(str(getattr(where, "path", "")))
        if where is not None and path in ours:
            return f" at line {where.lineno} ({os.path.basename(path)})"
    return ""


def _sides(words: str) -> dict[str, str]:
    try:
        node = ast.parse(words, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq):
        return {"got": ast.unparse(node.left), "expected": ast.unparse(node.comparators[0])}
    return {}


def run_file(run: Run) -> None:
    """Runs the wanted tests of one file in one session of pytest."""
    payload = run.payload
    stand_by()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    texts = Texts(run.guard.tests)
    checks = Checks(run, texts)
    checks.install()
    reporter = Reporter(run, checks, texts)
    texts.load_library(run.folder)
    run.guard.remember(ROOTS)
    run.guard.watch()
    forget_runner()
    arguments = _arguments(payload, run.folder)
    as_typed([payload["file"]], payload["canary"] != "elsewhere")
    # pytest writes a project's own options into the list that it is given.
    code = pytest.main([*arguments], plugins=[reporter])
    if code == pytest.ExitCode.USAGE_ERROR and not reporter.collected:
        # A project's own options may want plugins that are not here.
        code = pytest.main([*arguments, "-o", "addopts="], plugins=[reporter])
    run.done(reporter.problem, reporter.skipped)


def _arguments(payload: dict[str, Any], folder: str) -> list[str]:
    arguments = [
        payload["file"], "-q", "--no-header",
        # How a spoilt test fails is irrelevant, and takes long to report.
        "--tb=no" if payload["canary"] else "--tb=short",
        *(["--assert=plain"] if payload["canary"].startswith("spoilt") else ()),
        "-p", "no:cacheprovider",
        "-p", "no:faulthandler", f"--rootdir={folder}", f"--confcutdir={folder}",
        ]
    if not any(os.path.exists(os.path.join(folder, name)) for name in CONFIGURATIONS):
        arguments += ["-c", os.devnull]
    return arguments + plugins_for(payload["words"])
