"""Jailed program: runs tests as a user does, in one process, by plain Python or plain pytest.

It decides the outcome of each test, while a `Guard` watches what the program does to its tests.
Messages to the host:

    {"begin": test}                             a test begins
    {"ended": test, "status": …, "checks": …}   a test ended
    {"sign": rule, "detail": …, "test": …}      a tamper indicator was observed
    {"done": true, "problem": …, "loaded": …}   all tests ran; the files of modules
"""

from __future__ import annotations

import ast
import builtins
import io
import os
import signal
import sys
import time
import types
from typing import Any

from agent.verify.programs.loading import EntryFile, begin, location
from agent.verify.programs.plain.guard import ROOTS, Guard, hide_runner, signed_sender
from agent.verify.programs.plain.recorder import Recorder
from agent.verify.programs.plain.user_machine import imitate_user_machine
from agent.verify.programs.plain.wrong_answer import WrongAnswer, WrongAnswerError
from agent.verify.rewriting.messages import NO_PROGRAMS
from agent.verify.rewriting.reading import SNIPPET, CompiledSnippet, import_missing_modules, read
from agent.verify.rewriting.transform import CALLED, COMPARE, HOLDS
from agent.verify.tamper_indicators import is_loosened, uses

LIMIT = 2_000
_MAX_ITEMS = 1_000
_LIBRARIES = sys.stdlib_module_names | {"_pytest", "pytest", "numpy", "pandas"}


class Deadline(BaseException):
    """The test took too much processor time."""


class TestProcess:
    """The run of tests in this process, and its messages to the host."""

    def __init__(self, jail: Any) -> None:
        payload = jail.payload
        self.payload = payload
        self.folder: str = jail.folder
        self.send = signed_sender(jail.send, bytes.fromhex(payload.pop("key")))
        jail.payload = None
        self.test = ""
        self.cpu_s: float = payload["cpu_s"]
        self._variation: str = payload["variation"]
        program = [os.path.join(self.folder, path) for path in payload["program_files"]]
        tests = [os.path.join(self.folder, path) for path in payload["test_files"]]
        self.files = frozenset(os.path.join(self.folder, path) for path in payload["files"])
        self.guard = Guard(
            program, [*tests, SNIPPET], self.files - {*program, *tests}, payload["texts"],
            lambda rule, detail: self.send({"sign": rule, "detail": detail, "test": self.test}),
        )
        self._canary_state = [
            0, WrongAnswer(self._variation == "wrong true"), WrongAnswerError("wrong")
        ]
        if self._variation:
            # Under a random name, which no program can know.
            rewritten = self._canary_state if self._variation != "unequal" else self.equal
            setattr(builtins, payload.pop("canary_name"), rewritten)
        self._started = 0.0
        self._late = False
        signal.signal(signal.SIGPROF, self._time_out)

    def begin(self, test: str) -> None:
        """Starts a test: its clock, and the replacement of answers."""
        self.send({"begin": test})
        self.test, self._late = test, False
        self.guard.begin()
        self._canary_state[0] = 1
        self._started = time.monotonic()
        signal.setitimer(signal.ITIMER_PROF, self.cpu_s, max(0.05, self.cpu_s / 4))

    def end(self, test: str, status: str, **details: Any) -> None:
        """Ends a test, and reports its outcome and the changes that the guard finds."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._canary_state[0] = 0
        wall_s = time.monotonic() - self._started
        if not self._variation:
            self.guard.compare()
            self.guard.compare_tolerances(lambda what: is_loosened(what, self.payload["words"]))
            self.guard.check_planted((self.folder, os.environ.get("TMPDIR", "/tmp")), self.files)
        if self.guard.ran_command and status in ("failed", "error"):
            details["message"] = f"{details.get('message', '')}; {NO_PROGRAMS}"
        if self._late:
            status, details = "timeout", {"message": f"did not end within {self.cpu_s:g} s"}
        self.send({"ended": test, "status": status, "wall_s": wall_s, **details})
        self.test = ""

    def done(self, problem: str = "", skipped: str = "") -> None:
        signal.setitimer(signal.ITIMER_PROF, 0)
        if not self._variation:
            self.guard.compare_library(lambda what: uses(what, self.payload["words"]))
        loaded = {
            name: os.path.relpath(path, self.folder) if path.startswith(self.folder) else path
            for name, module in [*sys.modules.items()]
            if isinstance(path := getattr(module, "__file__", None), str)
            and (path.startswith(self.folder) or name in self.payload["names"])
        }
        # Files that ran by their path, or were deleted from `sys.modules`, count as well.
        ran = [os.path.relpath(path, self.folder) for path in sorted(self.guard.ran)]
        self.send({
            "done": True, "problem": problem[:LIMIT], "skipped": skipped[:LIMIT],
            "loaded": loaded | dict(zip(ran, ran, strict=True)),
        })

    def equal(self, left: Any, right: Any) -> Any:
        """Returns `left == right`, and checks equal values against an unequal object."""
        same = left == right
        try:
            held = bool(same)
        except Exception:  # noqa: BLE001 - for example an array, which has no truth value
            return same
        if held:
            self.compared(left, right)
        return same

    def compared(self, got: Any, expected: Any) -> None:
        """Reports objects in two equal values that are equal to anything."""
        if self._variation != "unequal":
            return
        pending, count = [got, expected], 0
        while pending and count < _MAX_ITEMS:
            one = pending.pop()
            count += 1
            if type(one) in (list, tuple, set, frozenset):
                pending += one
            elif type(one) is dict:
                pending += one.values()
            elif not self._is_library(type(one)) and _equals_anything(one):
                self.guard.note("equal-to-all", type(one).__name__)

    def _is_library(self, kind: type) -> bool:
        """Whether a class is a library's; placeholders such as `ANY` must be named in the test."""
        module, name = kind.__module__, kind.__name__
        if getattr(sys.modules.get(module), name, None) is not kind:
            return False
        if name == "_ANY":
            return "ANY" in self.payload["words"]
        if name.startswith("Approx"):
            return "approx" in self.payload["words"]
        return module.partition(".")[0] in _LIBRARIES

    def _time_out(self, number: int, frame: Any) -> None:
        self._late = True
        raise Deadline


class SnippetNames(dict[str, Any]):
    """The names of a snippet; unbound names are looked up in the program.

    For a snippet that imports the program, builtins come before the program's names.
    """

    def __init__(self, program: dict[str, Any], imports: bool, **names: Any) -> None:
        super().__init__(**names)
        self._program = program
        self._imports = imports

    def __missing__(self, name: str) -> Any:
        if self._imports and hasattr(builtins, name):
            raise KeyError(name)
        return self._program[name]

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._program


class Snippets:
    """Runs assert snippets over the program's names, the program loaded again for each."""

    def __init__(self, run: TestProcess) -> None:
        self._run = run
        payload = run.payload
        self._program = EntryFile(payload, run.folder)
        # Read before the program is loaded, which could change the reader.
        modules = {*payload["names"], payload["name"], "solution"}
        self._readings = {test["name"]: _read(test["code"], modules) for test in payload["tests"]}

    def run(self) -> None:
        for test in self._run.payload["tests"]:
            self._run_test(test)
        self._run.done()

    def _run_test(self, test: dict[str, Any]) -> None:
        run = self._run
        recorder = Recorder([], run.compared)
        run.begin(test["name"])
        streams = sys.stdin, sys.stdout, sys.stderr
        error: BaseException | None = None
        try:
            self._test(test, recorder)
        except BaseException as raised:  # noqa: BLE001 - a test may raise anything
            error = raised
        sys.stdin, sys.stdout, sys.stderr = streams
        details: dict[str, Any] = {"checks": recorder.checks, "checking": recorder.has_checks}
        status = "passed"
        if error is not None:
            status = "failed" if isinstance(error, AssertionError) else "error"
            details |= recorder.details(error)
            where = location(error, os.path.join(run.folder, ""), SNIPPET)
            if where and not isinstance(error, AssertionError):
                details["message"] += f" at {where}"
        run.end(test["name"], status, type_differs=recorder.type_differs, **details)

    def _test(self, test: dict[str, Any], recorder: Recorder) -> None:
        reading = self._readings[test["name"]]
        if isinstance(reading, Exception):
            raise reading
        recorder.sites = reading.sites
        names = SnippetNames(
            vars(self._load()), reading.imports_program, __name__="__test__", **{
                COMPARE: recorder.compare, HOLDS: recorder.holds, CALLED: recorder.called,
            },
        )
        if test["reads_output"]:
            names["output"] = self._run.payload["output"]
        if test["import_missing"]:
            import_missing_modules(reading, names)
        exec(reading.code, names)

    def _load(self) -> types.ModuleType:
        """The program as a module, also importable as `solution` if that name is free."""
        sys.stdin = io.StringIO(self._run.payload["stdin"])
        sys.stdout = sys.stderr = io.StringIO()
        module = self._program.load()
        sys.modules.setdefault("solution", module)
        return module


def _read(code: str, modules: set[str]) -> CompiledSnippet | Exception:
    """The reading of a snippet, or the error that it raises."""
    try:
        return read(ast.parse(code), SNIPPET, modules)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return error


def _equals_anything(value: Any) -> bool:
    try:
        return bool(value == object()) or bool(value == 7.25e300)
    except Exception:  # noqa: BLE001 - a comparison of the program may raise anything
        return False


def main(jail: Any) -> None:
    begin(jail)
    run = TestProcess(jail)
    if run.payload["variation"] == "user machine":
        imitate_user_machine(run.payload["texts"], run.payload["words"])
    if "file" in run.payload:
        from agent.verify.programs.plain.plain_pytest import run_file

        run_file(run)
    else:
        run.guard.record(ROOTS)
        run.guard.watch()
        hide_runner()
        Snippets(run).run()
