"""Loads candidate programs and runs tests with them, all in this process.

The results are hints, since a candidate shares the process and could forge them.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import gc
import io
import os
import sys
import time
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from agent.search.precheck.programs.clock import CandidateLimits, Clock
from agent.search.precheck.programs.endless import LoopWatch, grows_unbounded
from agent.search.precheck.programs.nearness import described, nearness
from agent.search.precheck.programs.pieces import Pieces
from agent.search.precheck.programs.ticks import StepBudget, with_counters
from agent.search.precheck.programs.watcher import last_line
from agent.verify.rewriting.messages import text_of
from agent.verify.rewriting.transform import free_names

Code = list[types.CodeType]
"""A program's parts in the order they run."""

OUTPUT_LIMIT = 16_000_000
"""Characters of output kept for a test of the output, about as many as the judge keeps."""


class DiscardedOutput(io.TextIOBase):
    """Standard output that is discarded."""

    encoding = "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        return len(text)


class CapturedOutput(io.StringIO):
    """Standard output that is kept for a test, up to a limit."""

    def write(self, text: str, /) -> int:
        if self.tell() < OUTPUT_LIMIT:
            super().write(text)
        return len(text)


@dataclass
class TestRun:
    """The result of one test of one candidate."""

    passed: bool
    timeout: bool = False
    exception: str = ""
    message: str = ""
    line: int | None = None
    types: list[str] = field(default_factory=list)
    near: float = 0.0
    """The similarity of the compared values where a comparison failed."""
    got: str = ""
    """A description of the value that was compared with the expected one."""
    steps: int = 0
    endless: bool = False
    """Whether more steps would not end it, since it repeats itself or grows without bound."""
    cpu_s: float = 0.0
    error: BaseException | None = None


class Harness:
    """The environment of one program: the name of its entry, its input and its tests."""

    def __init__(self, payload: dict[str, Any], folder: str) -> None:
        self.folder = folder
        self.entry: str = payload["entry"]
        self.path = os.path.join(folder, self.entry)
        self.is_package = self.entry.endswith("/__init__.py")
        self.dotted = (
            self.entry.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
        )
        self.stem = self.dotted.rsplit(".", 1)[-1]
        self.names = tuple(dict.fromkeys((self.dotted, self.stem, "solution")))
        self.stdin: str = payload["stdin"]
        self.argv: list[str] = payload["argv"]
        self.base: str = payload["base"]
        self.text = self.base
        """The candidate that was compiled last."""
        self._pieces: Pieces | None = None
        """`None` if the base does not parse."""
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            self._pieces = Pieces(self.base, self.path)
        self.tests = [_prepared(one) for one in payload["tests"]]
        self.clock = Clock()
        self.items: Any = None
        """The `pytest_items.Items` of tests that are nodes of pytest files."""
        self.keeps = False
        """Whether nodes share one execution of the program."""
        self.tested: Code | None = None
        """The candidate for which the test files were last executed."""
        self.base_output: str | None = None
        self._quiet = DiscardedOutput()
        self._types: list[str] = []
        """The `TestRun.types` of the current test."""
        self.failed_comparison: tuple[Any, Any] | None = None
        """The actual and the expected value of the current test's failed comparison."""
        if folder not in sys.path:
            sys.path.insert(0, folder)
        if "." in self.dotted:
            above = os.path.dirname(self.path)
            sys.path.insert(1, os.path.dirname(above) if self.is_package else above)
        self._known = {*sys.modules, *self.names}
        self._builtins = {**vars(builtins), "__same__": self._recorded_equal}
        """The builtins of tests; those of the program may have been replaced by it."""

    def serve_when_ready(self, serve: Callable[[], None]) -> None:
        """Calls `serve` when the tests are ready; nodes are collected by pytest first."""
        texts = {test.text: test.folder for test in self.tests if test.node}
        if not texts:
            serve()
            return
        from agent.search.precheck.programs.pytest_items import Items, PlaceholderModule, collect

        def load() -> None:
            self.module(self.compiled(self.base), self.stem)

        self.items = Items(self.names)
        try:
            loaded = self.run_limited(load, CandidateLimits(2_000_000, 2.0, 4.0)).passed
        except SyntaxError:
            loaded = False
        if not loaded:
            for name in self.names:
                sys.modules[name] = PlaceholderModule(name)
        unlimited = StepBudget(sys.maxsize)
        builtins.__tick__, builtins.__ticks__ = unlimited.tick, unlimited.ticks  # type: ignore[attr-defined]
        collect(texts, self.items, serve)

    @property
    def count(self) -> int:
        """The number of results: one per test, or one for the program itself."""
        return len(self.tests) or 1

    def compiled(self, text: str) -> Code:
        """Compiles a candidate; raises what `compile` raises for a broken one."""
        self.text = text
        if self._pieces is not None:
            # Pieces may be cut wrongly if the edit changed the kind of a statement.
            with contextlib.suppress(SyntaxError):
                return self._pieces.compiled(text)
        return [compile(with_counters(text), self.path, "exec", dont_inherit=True)]

    def begin_together(self, code: Code, limits: CandidateLimits) -> TestRun:
        """Executes a candidate, and the test files again, for all following tests."""

        def load() -> None:
            self.module(code, self.stem)
            self.items.reload_test_files()

        self.keeps = True
        return self.run_limited(load, limits)

    def run(self, code: Code, index: int, limits: CandidateLimits) -> TestRun:
        """Runs one test on a new execution of the candidate, unless `keeps` is set."""
        test = self.tests[index] if self.tests else None
        if test is not None and test.broken:
            return TestRun(False, exception=test.broken, message="the test does not compile")
        if test is None:
            action = functools.partial(self._run_without_tests, code)
        elif test.node:
            action = functools.partial(self._as_item, code, test)
        elif test.uses_output:
            action = functools.partial(self._with_output, code, test)
        else:
            action = functools.partial(self._as_module, code, test)
        return self.run_limited(action, limits)

    def run_limited(self, action: Callable[[], None], limits: CandidateLimits) -> TestRun:
        """Runs `action` within the limits; an exception becomes the result."""
        watch = LoopWatch(self.text) if limits.watch_at else None
        steps = StepBudget(limits.steps, limits.watch_at, watch)
        builtins.__tick__ = steps.tick  # type: ignore[attr-defined]
        builtins.__ticks__ = steps.ticks  # type: ignore[attr-defined]
        self._types = []
        self.failed_comparison = None
        error: BaseException | None = None
        began = time.process_time()
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(self.stdin), self._quiet, self._quiet
        sys.argv = [self.entry, *self.argv]
        try:
            self.clock.start(limits)
            action()
        except BaseException as raised:  # noqa: BLE001 - the candidate's exception is the result
            error = raised
        finally:
            self.clock.stop()
        timeout = steps.exhausted or self.clock.expired
        cpu_s = time.process_time() - began
        if error is None and not timeout:
            return TestRun(True, types=self._types, steps=steps.used, cpu_s=cpu_s)
        if timeout or error is None:
            name, message = "TimeoutError", "the program did not come to an end"
        else:
            name, message = type(error).__name__, text_of(error)[:300]
        near, got = 0.0, ""
        if name == "AssertionError" and self.failed_comparison is not None:
            near, got = nearness(*self.failed_comparison), described(self.failed_comparison[0])
        return TestRun(
            False, near=near, got=got, timeout=timeout, exception=name, message=message,
            line=last_line(error, self.path), steps=steps.used,
            endless=timeout and (steps.repeats or grows_unbounded(error, steps.used)), cpu_s=cpu_s,
            error=error,
        )

    def module(self, code: Code, name: str) -> types.ModuleType:
        """Executes the candidate as a module that tests can import under all of its names."""
        self._unload_modules()
        module = types.ModuleType(name)
        module.__file__ = self.path
        if self.is_package:
            module.__path__ = [os.path.dirname(self.path)]
        if name != "__main__":
            package = self.dotted if self.is_package else self.dotted.rpartition(".")[0]
            module.__package__ = package or None
        for one in self.names:
            sys.modules[one] = module
        if "." in self.dotted and name != "__main__":
            self._attach(module)
        if name == "__main__":
            sys.modules["__main__"] = module
        try:
            for part in code:
                exec(part, module.__dict__)  # running candidates is the purpose of this program
        except SystemExit as end:
            # As for the judge, a module that exits with success has been imported.
            if end.code not in (None, 0):
                raise
        return module

    def _attach(self, module: types.ModuleType) -> None:
        package, _, leaf = self.dotted.rpartition(".")
        try:
            __import__(package)
        except (ImportError, ValueError):
            return  # the folder is no package: the module has only its plain names
        setattr(sys.modules[package], leaf, module)

    def _unload_modules(self) -> None:
        """Unloads other modules of the program, which may refer to earlier candidates' objects."""
        if len(sys.modules) <= len(self._known):
            return
        folder = self.folder + os.sep
        for name in [name for name in sys.modules if name not in self._known]:
            file = getattr(sys.modules[name], "__file__", None)
            if isinstance(file, str) and file.startswith(folder):
                del sys.modules[name]
            else:
                self._known.add(name)

    def _as_module(self, code: Code, test: PreparedTest) -> None:
        assert test.code is not None
        module = self.module(code, self.stem)
        exec(test.code, self._names(module, test))

    def _names(self, module: types.ModuleType, test: PreparedTest) -> dict[str, Any]:
        """The globals of a test: the program's names, and Python's own builtins.

        The program's redefinitions of builtins are included only if the test uses no other name
        of the program.
        """
        names = {**module.__dict__, "__builtins__": self._builtins}
        if any(name in names and name not in self._builtins for name in test.names):
            for name in test.names & self._builtins.keys():
                names.pop(name, None)
        return names

    def _as_item(self, code: Code, test: PreparedTest) -> None:
        assert self.items is not None
        if not self.keeps:
            self.module(code, self.stem)
            if code is not self.tested:
                self.tested = code
                self.items.restore()
        self.items.run(test.text, test.node, test.without, self.keeps)

    def _with_output(self, code: Code, test: PreparedTest) -> None:
        assert test.code is not None
        output = CapturedOutput()
        sys.stdout = output
        try:
            module = self.module(code, "__main__")
        except SystemExit:
            module = sys.modules["__main__"]
        finally:
            sys.stdout = self._quiet
        exec(test.code, {**self._names(module, test), "output": output.getvalue()})

    def _run_without_tests(self, code: Code) -> None:
        """Runs a program without tests: it must not crash, and must print what the base printed."""
        output = CapturedOutput()
        sys.stdout = output
        try:
            self.module(code, "__main__")
        except SystemExit:
            pass
        finally:
            sys.stdout = self._quiet
            if self.base_output is None:
                self.base_output = output.getvalue()
        if not output.getvalue().startswith(self.base_output):
            raise AssertionError("the output before the crash is no longer printed")
        if output.getvalue() == self.base_output:
            self._types.append("silent")

    def _recorded_equal(self, got: Any, expected: Any) -> Any:
        equal = got == expected
        if equal is False:
            self.failed_comparison = got, expected
        if equal is True:
            pairs = [(got, expected)]
            if type(got) is type(expected) and type(got) in (list, tuple):
                pairs = [*zip(got, expected, strict=False)]
            self._types += [
                f"{type(one).__name__}/{type(other).__name__}"
                for one, other in pairs if type(one) is not type(other)
            ]
        return equal


@dataclass(frozen=True)
class PreparedTest:
    """A test compiled once for all candidates; a `node` is run by pytest instead."""

    code: types.CodeType | None
    uses_output: bool
    broken: str = ""
    """Why the code does not compile."""
    text: str = ""
    node: str = ""
    folder: str = ""
    """The folder of its file."""
    without: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    """Names that the code uses without binding them."""


class _RecordedEquality(ast.NodeTransformer):
    """Rewrites `assert got == expected` to record the values that are compared."""

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        match node.test:
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]) as test:
                recorded = ast.Call(ast.Name("__same__", ast.Load()), [left, right], [])
                node.test = ast.copy_location(recorded, test)
        return node


def _prepared(test: dict[str, Any]) -> PreparedTest:
    if test["node"]:
        return PreparedTest(
            None, False, text=test["code"], node=test["node"], folder=test["folder"],
            without=tuple(test["without"]),
        )
    try:
        tree = ast.parse(test["code"])
        names = frozenset(free_names(tree))
        tree = ast.fix_missing_locations(_RecordedEquality().visit(tree))
        code = compile(tree, "<test>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return PreparedTest(None, test["uses_output"], type(error).__name__)
    return PreparedTest(code, test["uses_output"], names=names)


def answer_items(jail: Any, answer: Callable[[Harness, Any], Any]) -> None:
    """Answers each item, with its processor seconds, until the host ends the process."""
    warnings.simplefilter("ignore")
    gc.set_threshold(50_000, 20, 100)
    harness = Harness(jail.payload, jail.folder)

    def serve() -> None:
        while (item := jail.receive()) is not None:
            began = time.process_time()
            found = answer(harness, item)
            jail.send([time.process_time() - began, found])

    harness.serve_when_ready(serve)
