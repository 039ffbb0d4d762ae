"""Inside the tests' jail: runs the tests and says what they showed; never holds the solution.

What belongs to the program is a stand-in here (`remote`), so a snippet is executed, and a test
file is run by pytest, exactly as they are; every comparison happens in this process.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.machinery
import io
import os
import signal
import sys
import types
from collections.abc import Collection, Sequence

from agent.judge.observed.naming import FUNCTION_KINDS
from agent.judge.observed.remote import Link, LinkLost
from agent.judge.observed.standins import StandIn, StandInModule, StandInType, Unfollowable
from agent.judge.signs import ACTING
from agent.judge.texts.messages import first_line, named
from agent.judge.texts.reading import SNIPPET, Reading, import_loose, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Verdict = dict[str, Any]

SWALLOWED = ACTING["swallowed"]


class Deadline(BaseException):
    """The test took too long."""


class Environment:
    """Keeps the solution's process in the folder and environment of the test."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._home = self._folder = os.getcwd()
        self._environment = _environment()

    def tell(self) -> None:
        """Sends what changed since the last request."""
        folder, environment = os.getcwd(), _environment()
        if folder == self._folder and environment == self._environment:
            return
        names = environment.keys() | self._environment.keys()
        changes = {
            os.fsdecode(name): None if now is None else os.fsdecode(now) for name in names
            if (now := environment.get(name)) != self._environment.get(name)
        }
        moved = None if folder == self._folder else "" if folder == self._home else folder
        self._folder, self._environment = folder, environment
        self._link.request("surroundings", moved, changes)


def _environment() -> dict[bytes, bytes]:
    """The environment but pytest's part: there the running test's name is written, which the
    solution must not read."""
    # As the system has it: decoding all of it before each request would take half its time.
    held: dict[bytes, bytes] = os.environ._data  # type: ignore[attr-defined]
    return {name: value for name, value in held.items() if not name.startswith(b"PYTEST_")}


class Finder:
    """Imports the program's modules as stand-ins."""

    def __init__(self, link: Link, payload: dict[str, Any]) -> None:
        self._link = link
        self._name: str = payload["name"]
        self._modules = {*payload["stand_ins"]}
        self.entry: StandInModule | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._modules:
            return None
        # typeshed wants a whole Loader; importlib asks for the two methods below.
        return importlib.machinery.ModuleSpec(
            fullname, self, is_package=True  # type: ignore[arg-type]
        )

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        if spec.name == self._name or (
            spec.name == "solution" and "solution" not in self._others()
        ):
            if self.entry is None:
                raise ImportError("the program is not loaded")
            return self.entry
        module: types.ModuleType = self._link.request("module", spec.name)
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Nothing: the module ran where it lives."""

    def load(self) -> tuple[StandInModule, frozenset[str]]:
        """Loads the program afresh, and gives its names too; raises what the program raises."""
        self.clear()
        match self._link.request("load"):
            case (StandInModule() as module, (*names,)) if all(type(name) is str for name in names):
                self.entry = module
                return module, frozenset(names)
        raise self._link.give_up("the solution's process loaded what is no program")

    def clear(self) -> None:
        """Lets the next import ask again."""
        for name in self._modules:
            sys.modules.pop(name, None)

    def _others(self) -> set[str]:
        return self._modules - {self._name, "solution"}


class Namespace(dict[str, "Any"]):
    """A snippet's globals: names it does not bind are looked up in the program, each time.

    The program must not put its own in place of what the test takes from Python: a builtin is
    Python's unless the test uses no other name of the program, a module of the standard library is
    this process's own, and what the program has of a library is not followed.
    """

    def __init__(
        self, link: Link, program: StandInModule, has: Collection[str], own: set[str],
        reading: Reading, names: dict[str, Any],
    ) -> None:
        super().__init__(__name__="__test__", __builtins__=builtins, **names)
        self._link = link
        self._program = program
        self._own = own
        self._names = {name for name in has if not name.startswith("__")}
        beyond = {name for name in reading.used & self._names if not hasattr(builtins, name)}
        self._builtins_stay = bool(beyond) or reading.imports_program
        self._attributes = reading.attributes

    def __missing__(self, name: str) -> Any:
        if name.startswith("__") or (
            hasattr(builtins, name) and (self._builtins_stay or name not in self._names)
        ):
            raise KeyError(name)
        library = self._library(name)
        if library is not None:
            self[name] = library
            return library
        try:
            value = getattr(self._program, name)
        except AttributeError:
            raise KeyError(name) from None
        if self._is_common(value):
            raise self._link.unfollowable(
                f"the test takes {name} from a library through the program"
            )
        if isinstance(value, (StandIn, StandInType)):
            self[name] = value
        return value

    def _library(self, name: str) -> types.ModuleType | None:
        """The module of the standard library that the test means by this name."""
        attributes = self._attributes.get(name)
        if name not in sys.stdlib_module_names or not attributes:
            return None
        module = importlib.import_module(name)
        return module if all(hasattr(module, one) for one in attributes) else None

    def _is_common(self, value: Any) -> bool:
        """Whether the test means a library's: the program must not put its own in that place."""
        if isinstance(value, StandInModule):
            return value.__name__.partition(".")[0] not in self._own
        if not isinstance(value, StandIn) or type(value).__name__ not in FUNCTION_KINDS:
            return False
        return str(value.__module__).partition(".")[0] in sys.stdlib_module_names - self._own


class TestRunner:
    """Runs the tests of one payload, one after another."""

    def __init__(self, jail: Any) -> None:
        payload = jail.payload
        self.jail = jail
        self.wall_s: float = payload["wall_s"]
        self.link = Link(jail.peer, "t", jail.folder)
        self.finder = Finder(self.link, payload)
        self.modules = {*payload["modules"], payload["name"], "solution"}
        self._sink = io.StringIO()
        self.link.leave = (Deadline, KeyboardInterrupt)
        self.link.unfold = self._echo
        self.link.in_assert = self._in_assert
        self.link.checks_something = self._checks_something
        self.test_file = ""
        self.assert_lines: frozenset[int] = frozenset()
        self.meant: frozenset[int] | None = frozenset()
        """Lines of asserts that are meant to fail; `None` where the test speaks of such itself."""
        sys.meta_path.insert(0, self.finder)
        signal.signal(signal.SIGALRM, self._ring)
        self.late = False

    def begin(self, name: str) -> None:
        """A test begins: the host and the clock are told."""
        self.jail.send({"begin": name})
        self.link.forget_notes()
        self.late = False
        signal.setitimer(signal.ITIMER_REAL, self.wall_s)

    def end(
        self, name: str, error: BaseException | None, failed: str = "", last: bool = False
    ) -> None:
        """A test ended, by an error or well; `last` says that nothing follows."""
        # What follows may ask the solution for the text of an exception.
        signal.setitimer(signal.ITIMER_REAL, 2.0)
        try:
            verdict = self.verdict(error, failed)
        except (Deadline, LinkLost, Unfollowable) as late:
            verdict = {"status": "error", "message": f"while showing a value: {late or 'too late'}"}
        signal.setitimer(signal.ITIMER_REAL, 0)
        if last:
            # The solution's process ends while the host hears of this one's verdict.
            os.close(self.jail.peer.fileno())
        self.jail.send(
            {"verdict": verdict, "name": name, "broken": self.link.broken, "last": last}
        )

    def verdict(self, error: BaseException | None, failed: str) -> Verdict:
        """What a test showed: that it passes too, or why that cannot be seen from here."""
        link = self.link
        verdict: Verdict = {
            "observed": link.observed[:3], "signs": link.signs[:3],
            "plain": bool(link.calls) and not link.beyond, "feature": link.beyond,
        }
        # A test may have caught what it cannot know; it has not passed all the same.
        if self.late:
            error = Deadline()
        elif link.stopped is not None:
            error = link.stopped
        if error is None and not failed:
            if link.handed:
                message = "a check of the test was handed to the program, and never ran"
                return verdict | {"status": "unfollowable", "message": message}
            if link.unvouched:
                return verdict | {"status": "unfollowable", "message": link.unvouched}
            if all(map(self._is_meant, link.swallowed.values())):
                return verdict | {"status": "passed"}
            verdict["signs"] = [*link.signs[:3], SWALLOWED]
            return verdict | {"status": "failed", "message": SWALLOWED}
        match error:
            case Unfollowable():
                return verdict | {"status": "unfollowable", "message": str(error)}
            case Deadline():
                return verdict | {
                    "status": "timeout", "message": f"no end within {self.wall_s:g} s",
                }
            case LinkLost():
                return verdict | {"status": "error", "plain": False, "message": str(error)}
            case None:
                return verdict | {"status": "failed", "message": first_line(failed)}
        return verdict | {
            "status": "failed" if isinstance(error, AssertionError) else "error",
            "message": named(error),
        }

    def snippets(self, tests: list[dict[str, Any]]) -> None:
        """Runs assert snippets, the program loaded afresh for each."""
        surroundings = Environment(self.link)
        sys.stdout = sys.stderr = self._sink
        evaluate_nothing({SNIPPET})
        for test in tests:
            self.begin(test["name"])
            error: BaseException | None = None
            try:
                self.link.prepare = lambda: None
                self.link.reset()
                reading = read(ast.parse(test["code"]), SNIPPET, self.modules)
                program, has = self.finder.load()
                self.link.prepare = surroundings.tell
                self._run(test, reading, program, has)
            except BaseException as raised:  # noqa: BLE001 - a test may raise anything
                error = raised
            self.end(test["name"], error, last=test is tests[-1])
            del error
            self._sink.seek(0)
            self._sink.truncate()
            if self.link.broken:
                return

    def _run(
        self, test: dict[str, Any], reading: Reading, program: StandInModule, has: Collection[str]
    ) -> None:
        code = self.reads(reading, SNIPPET)
        names: dict[str, Any] = {}
        if test["reads_output"]:
            names["output"] = self.jail.payload["output"]
        space = Namespace(self.link, program, has, self.modules, reading, names)
        if test["loose"]:
            import_loose(reading, space)
        exec(code, space)

    def reads(self, reading: Reading, name: str) -> types.CodeType:
        """Takes up a test of that file name; gives its code."""
        self.meant = None if "AssertionError" in reading.used else reading.meant
        self.link.expects_stop = "StopIteration" in reading.used or "iter" in reading.used
        self.test_file, self.assert_lines = name, reading.lines
        return reading.code

    def _checks_something(self, code: types.CodeType) -> bool:
        return code.co_filename == self.test_file and any(
            line in self.assert_lines for _, _, line in code.co_lines()
        )

    def _is_meant(self, error: BaseException) -> bool:
        if self.meant is None:
            return isinstance(error, AssertionError)
        trace, line = error.__traceback__, 0
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.test_file:
                line = trace.tb_lineno
            trace = trace.tb_next
        return line in self.meant

    def _in_assert(self, error: BaseException) -> bool:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self.test_file and (
                trace.tb_lineno in self.assert_lines
            ):
                return True
            trace = trace.tb_next
        return False

    def _ring(self, number: int, frame: Any) -> None:
        self.late = True
        raise Deadline()

    def _echo(self, message: dict[str, Any]) -> None:
        """Prints here what the solution printed there."""
        for key, stream in (("out", sys.stdout), ("err", sys.stderr)):
            text = message.get(key)
            if isinstance(text, str) and text:
                stream.write(text)


def evaluate_nothing(tests: Collection[str]) -> None:
    """From here on, a test that would run text, bytes or files as code is not followed: what the
    program has made must not run where its answers are judged. `tests` are their own files."""

    mine = os.getcwd()
    libraries = tuple(
        path for path in (os.path.dirname(os.__file__), *sys.path)
        if path and not path.startswith(mine)
    )

    def hook(event: str, args: tuple[Any, ...]) -> None:
        match event, args:
            case "exec", (types.CodeType(co_filename=name),):
                pass
            case "compile", (str() | bytes(), str(name)):
                pass
            case "marshal.loads", _:
                name = _imported_from(sys._getframe(1))
            case "pickle.find_class", _:
                name = ""
            case _:
                return
        if name in tests or name.startswith((*libraries, "<frozen")):
            return
        frame: types.FrameType | None = sys._getframe(1)
        caller = "" if frame is None else frame.f_code.co_filename
        if name and caller.startswith(libraries) and not caller.endswith(_RUNNERS):
            return
        while frame is not None:
            if frame.f_code.co_filename in tests:
                raise Unfollowable("the test runs as code, or unpickles, what may be the program's")
            frame = frame.f_back

    sys.addaudithook(hook)


_RUNNERS = ("/code.py", "/codeop.py", "/doctest.py", "/runpy.py", "/timeit.py", "/bdb.py")
"""Modules of Python that run the text they are given; others run only their own."""


def _imported_from(frame: types.FrameType) -> str:
    """The compiled file that an import reads in this frame; empty where it is no import."""
    if frame.f_code.co_filename == "<frozen importlib._bootstrap_external>":
        return str(frame.f_locals.get("bytecode_path") or "")
    return ""


def main(jail: Any) -> None:
    """Runs what the payload says: snippets, or a test file by pytest."""
    if "file" in jail.payload:
        from agent.judge.programs.observed.observe_pytest import run_file

        run_file(TestRunner(jail), jail.payload)
        os.close(jail.peer.fileno())
    else:
        TestRunner(jail).snippets(jail.payload["tests"])
