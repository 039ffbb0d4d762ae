"""Loads candidate programs and runs tests against them, all in this one process.

What is seen here is a hint: the candidate shares the process and could tell any story.
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
from agent.search.precheck.programs.endless import LoopWatch, runs_away
from agent.search.precheck.programs.nearness import described, nearness
from agent.search.precheck.programs.pieces import Pieces
from agent.search.precheck.programs.ticks import StepBudget, counted
from agent.verify.rewriting.messages import text_of
from agent.verify.rewriting.transform import free_names

Code = list[types.CodeType]
"""A program's parts in the order they run."""

OUTPUT_LIMIT = 16_000_000
"""Characters of output kept for a test on output, about as many as the judge keeps; the rest is
dropped."""


class DiscardedOutput(io.TextIOBase):
    """Standard output that nobody reads."""

    encoding = "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str, /) -> int:
        return len(text)


class CapturedOutput(io.StringIO):
    """Standard output that a test reads, up to a limit."""

    def write(self, text: str, /) -> int:
        if self.tell() < OUTPUT_LIMIT:
            super().write(text)
        return len(text)


@dataclass
class TestRun:
    """How one test of one candidate went."""

    passed: bool
    timeout: bool = False
    exception: str = ""
    message: str = ""
    line: int | None = None
    types: list[str] = field(default_factory=list)
    near: float = 0.0
    """How near the comparison that failed came to holding."""
    got: str = ""
    """What it got, in words."""
    steps: int = 0
    endless: bool = False
    """It was seen to repeat itself, or to run away: more steps would not end it."""
    cpu_s: float = 0.0
    error: BaseException | None = None


class Harness:
    """One program's surroundings: its entry's name, its input, its tests."""

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
        """Absent where the base does not parse: there is nothing to share then."""
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            self._pieces = Pieces(self.base, self.path)
        self.tests = [_prepared(one) for one in payload["tests"]]
        self.clock = Clock()
        self.items: Any = None
        """The `pytest_items.Items` of tests that are nodes of pytest files."""
        self.keeps = False
        """Nodes run on the program as the test before has left it."""
        self.tested: Code | None = None
        """The candidate that the files of tests were last executed for."""
        self.base_output: str | None = None
        self._quiet = DiscardedOutput()
        self._fresh: list[str] = []
        """Types that differed in comparisons that held, of the test that runs now."""
        self.differed: tuple[Any, Any] | None = None
        """What was got and what was expected, in the comparison that failed in this test."""
        if folder not in sys.path:
            sys.path.insert(0, folder)
        if "." in self.dotted:
            above = os.path.dirname(self.path)
            sys.path.insert(1, os.path.dirname(above) if self.is_package else above)
        self._known = {*sys.modules, *self.names}
        self._builtins = {**vars(builtins), "__same__": self._same}
        """For the tests alone: the program may have others in place of its own."""

    def serving(self, serve: Callable[[], None]) -> None:
        """Calls `serve` once the tests are ready; nodes are collected by pytest first."""
        texts = {test.text: test.folder for test in self.tests if test.node}
        if not texts:
            serve()
            return
        from agent.search.precheck.programs.pytest_items import Items, PlaceholderModule, collect

        def load() -> None:
            self.module(self.compiled(self.base), self.stem)

        self.items = Items(self.names)
        try:
            loaded = self.guarded(load, CandidateLimits(2_000_000, 2.0, 4.0)).passed
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
        """How many verdicts there are: one per test, or one for the program's own end."""
        return len(self.tests) or 1

    def compiled(self, text: str) -> Code:
        """Raises what `compile` raises for broken text."""
        self.text = text
        if self._pieces is not None:
            # A splice or a cut can stand badly where the edit changed a statement's kind.
            with contextlib.suppress(SyntaxError):
                return self._pieces.compiled(text)
        return [compile(counted(text), self.path, "exec", dont_inherit=True)]

    def begin_together(self, code: Code, limits: CandidateLimits) -> TestRun:
        """Executes a candidate for all nodes that run from now on, and their files again."""

        def load() -> None:
            self.module(code, self.stem)
            self.items.renew()

        self.keeps = True
        return self.guarded(load, limits)

    def run(self, code: Code, index: int, limits: CandidateLimits) -> TestRun:
        """Runs one test, on a freshly executed candidate unless that is kept."""
        test = self.tests[index] if self.tests else None
        if test is not None and test.broken:
            return TestRun(False, exception=test.broken, message="the test does not compile")
        if test is None:
            action = functools.partial(self._ends_well, code)
        elif test.node:
            action = functools.partial(self._as_item, code, test)
        elif test.uses_output:
            action = functools.partial(self._with_output, code, test)
        else:
            action = functools.partial(self._as_module, code, test)
        return self.guarded(action, limits)

    def guarded(self, action: Callable[[], None], limits: CandidateLimits) -> TestRun:
        """Runs `action` within the limits; whatever it raises is the result."""
        watch = LoopWatch(self.text) if limits.look_at else None
        steps = StepBudget(limits.steps, limits.look_at, watch)
        builtins.__tick__ = steps.tick  # type: ignore[attr-defined]
        builtins.__ticks__ = steps.ticks  # type: ignore[attr-defined]
        self._fresh = []
        self.differed = None
        error: BaseException | None = None
        began = time.process_time()
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(self.stdin), self._quiet, self._quiet
        sys.argv = [self.entry, *self.argv]
        try:
            self.clock.start(limits)
            action()
        except BaseException as raised:  # noqa: BLE001 - the candidate's end is the result
            error = raised
        finally:
            self.clock.stop()
        timeout = steps.exhausted or self.clock.rang
        cpu_s = time.process_time() - began
        if error is None and not timeout:
            return TestRun(True, types=self._fresh, steps=steps.used, cpu_s=cpu_s)
        if timeout or error is None:
            name, message = "TimeoutError", "the program did not come to an end"
        else:
            name, message = type(error).__name__, text_of(error)[:300]
        near, got = 0.0, ""
        if name == "AssertionError" and self.differed is not None:
            near, got = nearness(*self.differed), described(self.differed[0])
        return TestRun(
            False,
            near=near,
            got=got,
            timeout=timeout,
            exception=name,
            message=message,
            line=None if error is None else self.line(error),
            steps=steps.used,
            endless=timeout and (steps.repeats or runs_away(error, steps.used)),
            cpu_s=cpu_s,
            error=error,
        )

    def line(self, error: BaseException) -> int | None:
        """The last line of the entry file on the traceback."""
        found, trace = None, error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.path:
                found = trace.tb_lineno
            trace = trace.tb_next
        return found

    def module(self, code: Code, name: str) -> types.ModuleType:
        """The candidate as a module that tests can import under its names."""
        self._forget()
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
                exec(part, module.__dict__)  # running the candidate is what we are for
        except SystemExit as end:
            # As the judge has it: an end that says all is well leaves what was defined until then.
            if end.code not in (None, 0):
                raise
        return module

    def _attach(self, module: types.ModuleType) -> None:
        package, _, leaf = self.dotted.rpartition(".")
        try:
            __import__(package)
        except (ImportError, ValueError):
            return  # a folder without a package, or .hidden.py: only the plain names lead to it
        setattr(sys.modules[package], leaf, module)

    def _forget(self) -> None:
        """Drops the program's other modules, which may hold an earlier candidate's objects."""
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
        """What the test sees: the program's names, and Python's own builtins.

        A name that is built in is Python's, unless the test uses no other of the program.
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

    def _ends_well(self, code: Code) -> None:
        """Without tests: no crash, and nothing lost of what was printed before it."""
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
            self._fresh.append("silent")

    def _same(self, got: Any, expected: Any) -> Any:
        equal = got == expected
        if equal is False:
            self.differed = got, expected
        if equal is True and type(got) is not type(expected):
            self._fresh.append(f"{type(got).__name__}/{type(expected).__name__}")
        elif equal is True and type(got) in (list, tuple):
            self._fresh.extend(
                f"{type(one).__name__}/{type(other).__name__}"
                for one, other in zip(got, expected, strict=False)
                if type(one) is not type(other)
            )
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
    """Where its file lies, from the top."""
    without: tuple[str, ...] = ()
    names: frozenset[str] = frozenset()
    """Names that the code uses without binding them."""


class _WatchedEquality(ast.NodeTransformer):
    """Lets `assert got == expected` also tell which types were compared."""

    def visit_Assert(self, node: ast.Assert) -> ast.Assert:
        test = node.test
        if isinstance(test, ast.Compare) and [type(op) for op in test.ops] == [ast.Eq]:
            watched = ast.Call(
                ast.Name("__same__", ast.Load()), [test.left, test.comparators[0]], []
            )
            node.test = ast.copy_location(watched, test)
        return node


def _prepared(test: dict[str, Any]) -> PreparedTest:
    if test["node"]:
        without = tuple(test["without"])
        return PreparedTest(
            None, False, text=test["code"], node=test["node"], folder=test["folder"],
            without=without,
        )
    try:
        tree = ast.parse(test["code"])
        names = frozenset(free_names(tree))
        tree = ast.fix_missing_locations(_WatchedEquality().visit(tree))
        code = compile(tree, "<test>", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return PreparedTest(None, test["uses_output"], type(error).__name__)
    return PreparedTest(code, test["uses_output"], names=names)


def answer_items(jail: Any, answer: Callable[[Harness, Any], Any]) -> None:
    """Answers each item, with the processor seconds that it took, until the host ends the
    process."""
    warnings.simplefilter("ignore")
    gc.set_threshold(50_000, 20, 100)
    harness = Harness(jail.payload, jail.folder)

    def serve() -> None:
        while (item := jail.receive()) is not None:
            began = time.process_time()
            found = answer(harness, item)
            jail.send([time.process_time() - began, found])

    harness.serving(serve)
