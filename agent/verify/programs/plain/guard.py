"""Watches a program that shares its process with its tests, and speaks to the host unforgeably.

The process that runs tests as a user runs them holds the real program, and what is in one
process can reach everything in it. So three things are done before the program is loaded:

- Each message to the host carries a code made from a key that is in no object with a name:
  the keyed state lives in a closure, and the garbage collector ignores it (`freeze`).
  A message that the program writes has no such code.
- An audit hook, which nothing can remove, sees the ways that lead from a program to its tests: the
  collector, raw memory, the test's source, code that is exchanged. Each act is reported to the host
  at once, before it takes effect. What needs a telling word in the program's text, as reading a
  caller's frame does, is looked for there (`signs.reaching`).
- The classes and functions of pytest, unittest and this package are noted, and compared after each
  test.

What it sees are the signs in `ACTING`: names of rules, each with its words.
"""

from __future__ import annotations

import builtins
import decimal
import gc
import hashlib
import json
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import is_

from agent.verify.tamper_indicators import EXPECTED_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Note = Callable[[str, str], None]

_CHECKED_BUILTINS = (
    "AssertionError", "Exception", "BaseException", "isinstance", "issubclass", "len", "abs",
    "all", "any", "sorted", "min", "max", "sum", "zip", "map", "filter", "list", "tuple", "dict",
    "set", "str", "int", "float", "bool", "repr", "type", "round", "enumerate", "range", "getattr",
    "hasattr", "callable", "iter", "next", "__import__", "__build_class__",
)

_ACTS = {
    "gc.get_objects": "collector", "gc.get_referrers": "collector",
    "sys.addaudithook": "audit-hook", "ctypes.PyObj_FromPtr": "memory", "ctypes.cdata": "memory",
    "ctypes.string_at": "memory",
}
"""Acts that no program has an honest need of, and their signs."""
_SETTINGS = (int, float, str, bytes, tuple, frozenset)
"""Kinds of what a module of Python's library names once and for all, such as `string.digits`."""
_MAX_ROWS = 2_000
"""A larger table of a library is data of its own."""
ROOTS = frozenset({"pytest", "_pytest", "pluggy", "unittest", "doctest", "_judge"})
"""Packages whose functions and classes no program has business with."""


def forget_runner() -> None:
    """Takes our modules out of the table of modules: no program has business with them."""
    for name in [one for one in sys.modules if one.partition(".")[0] in ("_judge", "__jail__")]:
        del sys.modules[name]


def teller(send: Callable[[Any], None], key: bytes) -> Callable[[dict[str, Any]], None]:
    """A function that sends messages which the host can tell from any other's."""
    keyed = hashlib.blake2b(key=key, digest_size=16)
    count = 0
    encode = json.JSONEncoder().encode

    def say(message: dict[str, Any]) -> None:
        nonlocal count
        text = encode(message)
        mark = keyed.copy()
        mark.update(f"{count}\0{text}".encode("utf-8", "surrogatepass"))
        count += 1
        send({"said": text, "mark": mark.hexdigest()})

    return say


class Guard:
    """Knows which files are the program's and which the tests', and notes what the former do."""

    def __init__(
        self, program: Iterable[str], tests: Iterable[str], data: Iterable[str], texts: str,
        note: Note,
    ) -> None:
        self.program = frozenset(program)
        """Paths of the program's files."""
        self.tests = frozenset(tests)
        """Paths of test files, conftest and helpers."""
        self._expected = frozenset(
            path for path in data
            if any(word in "/".join(path.split(os.sep)[-2:]).lower() for word in EXPECTED_WORDS)
        )
        self._helpers = frozenset(
            path for path in self.tests
            if not os.path.basename(path).startswith(("test_", "conftest"))
            and not path.endswith("_test.py")
        )
        self._private = frozenset(
            name for owner, name in re.findall(r"\b(\w+)\.(_[a-z]\w+)\b", texts)
            if re.search(rf"\bimport\b.*\b{owner}\b", texts)
        )
        """Names with which the program's texts reach into what is a module's own."""
        self._note = note
        self._noted: set[tuple[str, str]] = set()
        self._busy = False
        self._before: list[tuple[types.ModuleType | type, dict[str, Any]]] = []
        self._library: list[tuple[str, types.ModuleType | type, dict[str, Any]]] = []
        self._tables: list[tuple[str, dict[Any, Any], dict[Any, Any]]] = []
        self._objects: list[tuple[str, Any, dict[str, Any]]] = []
        self._known: dict[str, Any] = {}
        """Modules of Python's library and of pytest that were there before the program."""
        self._tolerances: list[tuple[type, dict[str, Any]]] = []
        self._precision = decimal.getcontext().prec
        self._builtins: dict[str, Any] = {}
        self._modules: list[Any] = []
        """Those that were looked at last."""
        self._place = _place()
        self._finders = [*sys.meta_path]
        self.starts_another = False
        """Another program than Python was to be started."""
        self._folder = os.getcwd()
        self._left_now = False
        self.changed: set[str] = set()
        """Variables of the environment that the program set, and "its folder" where it left that;
        not where it is back by the end of the test."""
        self.ran: set[str] = set()
        """Those of the program's files whose code was run."""

    def note(self, sign: str, detail: str = "") -> None:
        """Tells the host of a sign, once in each test."""
        if (sign, detail) not in self._noted:
            self._noted.add((sign, detail))
            self._note(sign, detail[:300])

    def begin(self) -> None:
        """Starts a test: what is noted from now on concerns it."""
        self._noted.clear()
        self._left_now = False
        self.starts_another = False

    def actor(self, frame: Any) -> str:
        """Whose code runs in the innermost frame that is no library's: "program", "tests", ""."""
        while frame is not None:
            name = frame.f_code.co_filename
            if name in self.program:
                return "program"
            if name in self.tests:
                return "tests"
            frame = frame.f_back
        return ""

    def raised(self, error: BaseException) -> bool:
        """Whether the program raised an exception as a test called it; a plugin that it is may."""
        trace, inside = error.__traceback__, [""]
        while trace is not None:
            name = trace.tb_frame.f_code.co_filename
            inside += [name] if name in self.program or name in self.tests else []
            trace = trace.tb_next
        return inside[-1] in self.program and not self.tests.isdisjoint(inside)

    def acting(self) -> bool:
        """Whether the program's code is what runs now."""
        busy, self._busy = self._busy, True
        try:
            return self.actor(sys._getframe(1)) == "program"
        finally:
            self._busy = busy

    # ------------------------------------------------------------------ what is seen as it happens

    def watch(self) -> None:
        """From here on every act is seen; this cannot be undone."""
        rules: dict[str, Callable[[tuple[Any, ...], Any], None]] = {
            "open": self._open, "os.link": self._replaced, "os.rename": self._replaced,
            "object.__setattr__": self._exchanged, "exec": self._run,
            "os.system": self._started, "subprocess.Popen": self._started,
            "os.putenv": self._environment, "os.unsetenv": self._environment,
            "os.chdir": self._moved, "os.posix_spawn": self._started, "os.exec": self._started,
            "import": lambda args, caller: self._look_ahead(args[3] or ()),
        }

        def hook(event: str, args: tuple[Any, ...]) -> None:
            rule, sign = rules.get(event), _ACTS.get(event, "")
            if (rule is None and not sign) or self._busy:
                return
            self._busy = True
            try:
                caller = sys._getframe(1)
                if rule is not None:
                    rule(args, caller)
                elif self.actor(caller) == "program":
                    self.note(sign)
            finally:
                self._busy = False

        sys.addaudithook(hook)

    def _run(self, args: tuple[Any, ...], caller: Any) -> None:
        name = getattr(args[0], "co_filename", "")
        if name in self.program:
            self.ran.add(name)

    def _started(self, args: tuple[Any, ...], caller: Any) -> None:
        words = [*map(str, args[:2])]
        self.starts_another |= not any("python" in one or sys.executable in one for one in words)

    def _environment(self, args: tuple[Any, ...], caller: Any) -> None:
        if self.actor(caller) == "program":
            self.changed.add(os.fsdecode(args[0]))

    def _moved(self, args: tuple[Any, ...], caller: Any) -> None:
        if self.actor(caller) != "program":
            return
        if args[0] != self._folder:
            self._left_now |= "its folder" not in self.changed
            self.changed.add("its folder")
        elif self._left_now:
            self.changed.discard("its folder")

    def _open(self, args: tuple[Any, ...], caller: Any) -> None:
        self._opened(args[0], caller)

    def _replaced(self, args: tuple[Any, ...], caller: Any) -> None:
        for path in args[:2]:
            self._opened(path, caller)

    def _opened(self, path: Any, caller: Any) -> None:
        if not isinstance(path, str | bytes | os.PathLike):
            return
        path = os.path.realpath(os.fsdecode(path))
        source = _source_of(path)
        if source not in self.tests and path not in self._expected:
            return
        if source in self._helpers and self._is_import(caller):
            return  # the program imports what lies beside it
        if self.actor(caller) == "program" and not _shows_a_traceback(caller):
            kind = "test-source" if source in self.tests else "expected-data"
            self.note(kind, os.path.basename(path))

    def _is_import(self, frame: Any) -> bool:
        """Whether what the program asked for is an import; that it is itself imported is none."""
        while frame is not None and frame.f_code.co_filename not in self.program:
            if frame.f_code.co_filename.startswith("<frozen"):
                return True
            frame = frame.f_back
        return False

    def _exchanged(self, args: tuple[Any, ...], caller: Any) -> None:
        function = args[0]
        code = getattr(function, "__code__", None)
        if (
            isinstance(code, types.CodeType) and caller.f_code.co_filename in self.program
            and not self._is_own(function, code)
        ):
            self.note("exchanged-code", code.co_name)

    def _is_own(self, function: Any, code: types.CodeType) -> bool:
        """Whether the program wrote a function, or had it made from a text of its own, as
        decorators do; a module of others has had it made where it lives among their names."""
        if code.co_filename in self.program or code.co_filename in self.tests:
            return code.co_filename in self.program
        names = function.__globals__
        module = sys.modules.get(str(names.get("__name__")))
        others = module is not None and vars(module) is names
        return code.co_filename.startswith("<") and (
            not others or getattr(module, "__file__", None) in self.program
        )

    def keep_module(self, module: types.ModuleType) -> None:
        """Sees it when the program reads what a test's module holds: values, not what is made
        there to be called, which libraries look up by name."""
        guard, plain = self, types.ModuleType.__getattribute__

        class Watched(types.ModuleType):
            def __getattribute__(self, name: str) -> Any:
                value = plain(self, name)
                caller = sys._getframe(1)
                if not guard._busy and (
                    caller.f_code.co_filename in guard.program if name == "__dict__" else
                    not (name.startswith("__") or callable(value))
                    and guard.acting()
                ):
                    guard.note("test-module", name)
                return value

        Watched.__name__ = Watched.__qualname__ = "module"
        module.__class__ = Watched

    # ------------------------------------------------------------------ what is seen afterwards

    def remember(self, roots: Iterable[str]) -> None:
        """Notes what the modules of these packages are made of."""
        for name, module in [*sys.modules.items()]:
            if not isinstance(module, types.ModuleType):
                continue
            if name.partition(".")[0] in roots:
                self._keep(module)
            elif name.partition(".")[0] in sys.stdlib_module_names:
                self._library += [
                    (what, one, dict(vars(one))) for what, one in _parts(name, module)
                ]
                self._tables += [
                    (f"{name}.{key}", table, dict(table)) for key, table in vars(module).items()
                    if type(table) is dict and key != "__builtins__" and len(table) < _MAX_ROWS
                ]
                self._objects += [
                    (f"{name}.{key}", one, {k: v for k, v in vars(one).items() if callable(v)})
                    for key, one in vars(module).items()
                    if type(one).__module__.partition(".")[0] == name.partition(".")[0]
                    and hasattr(one, "__dict__") and not callable(one)
                ]
            self._known[name] = module
        self._builtins = {name: vars(builtins)[name] for name in _CHECKED_BUILTINS}
        freeze()

    def configured(self) -> None:
        """Takes what pytest has changed of itself while it was set up for what it is made of."""
        for owner, before in self._before:
            for name in [*before]:
                now = vars(owner).get(name)
                if now is not before[name] and not self.is_programs(now):
                    before[name] = now

    def _keep(self, module: types.ModuleType) -> None:
        self._before.append((module, _made_of(module)))
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__:
                self._before.append((value, _made_of(value)))
                numbers = {
                    key: one for key, one in vars(value).items() if type(one) in (int, float)
                }
                if numbers:
                    self._tolerances.append((value, numbers))

    def compare(self, *, own_only: bool = False) -> None:
        """Notes what was changed since, and library modules that were planted; if asked for, only
        what the program has put its own in place of: plugins and tests may change pytest."""
        for owner, before in self._before:
            now = vars(owner).get
            if all(map(is_, map(now, before), before.values())):
                continue
            for name, value in before.items():
                if now(name) is not value and (not own_only or self.is_programs(now(name))):
                    self.note("changed-runner", f"{owner.__name__}.{name}")
        for name, value in self._builtins.items():
            if vars(builtins).get(name) is not value and (not own_only or name != "__import__"):
                self.note("changed-builtin", name)
        if not own_only and self._place != _place():
            self.note("changed-builtin", "the system's or Python's name or version")

    def compare_tolerances(self, counts: Callable[[str], bool] = lambda what: True) -> None:
        """Notes numbers that were changed by which tests take what is near for equal."""
        changed = [
            f"{kind.__name__}.{name}" for kind, numbers in self._tolerances
            for name, number in numbers.items() if vars(kind).get(name) != number
        ]
        if decimal.getcontext().prec < self._precision:
            changed.append("Decimal.prec")
        for what in filter(counts, changed):
            self.note("tolerance", what)

    def compare_library(self, used: Callable[[str], bool] = lambda what: True) -> None:
        """Notes functions of Python's library that the program has put its own in place of; what
        else of it was changed, where that is `used`; and what it has imports made by."""
        for what, owner, before in self._library:
            now = vars(owner)
            if len(now) == len(before) and all(map(is_, map(now.get, before), before.values())):
                continue
            inherited = {} if isinstance(owner, types.ModuleType) else {
                name: one for name in now.keys() - before.keys()
                for one in [getattr(owner.__base__, name, None)] if one is not None
            }
            for name, value in (before | inherited).items():
                now_is = now.get(name)
                if now_is is not value and self._is_changed(name, value, now_is):
                    self._note_library(
                        f"{what}.{name}", isinstance(owner, type) or not callable(value), used
                    )
        for what, table, before in self._tables:
            if len(table) == len(before) and all(map(is_, map(table.get, before), before.values())):
                continue
            names = [one for one in before.values() if isinstance(one, str)]
            changed = [table.get(key) for key, one in before.items() if table.get(key) is not one]
            added = [table[key] for key in table.keys() - before.keys()]
            module_name, _, key = what.rpartition(".")
            if any(map(self.is_programs, changed)):
                self._note_library(what, True, used)
            # A level or a type that has another's name, or what only the module itself adds.
            elif used(f"{module_name}._") and (
                any(isinstance(one, str) and one in names for one in changed)
                or (added and key in self._private)
            ):
                self.note("changed-library", what)
        watched = ROOTS | sys.stdlib_module_names
        for name, module in [*sys.modules.items()]:
            root = name.partition(".")[0]
            if root in watched and module is not self._known.get(name) and (
                isinstance(module, types.ModuleType)
                and getattr(module, "__file__", None) not in self.program
            ):
                for what, owner in _parts(name, module):
                    for key, one in [*vars(owner).items()]:
                        if not self.is_programs(one):
                            continue
                        if root in ROOTS:
                            self.note("changed-runner", f"{what}.{key}")
                        else:
                            self._note_library(f"{what}.{key}", isinstance(owner, type), used)
        self._look_ahead(sys.meta_path)
        self._compare_objects(used)

    def _compare_objects(self, used: Callable[[str], bool]) -> None:
        """Notes what was put upon objects of the library, and into its table of patterns."""
        for what, one, before in self._objects:
            if {k: v for k, v in vars(one).items() if callable(v)} != before and used(what):
                self.note("changed-library", what)
        for name in ("_cache", "_cache2"):
            for key, made in [*getattr(sys.modules.get("re"), name, {}).items()]:
                if getattr(made, "pattern", None) != key[1]:
                    self.note("changed-library", f"re.{name}")

    def _is_changed(self, name: str, before: Any, now: Any) -> bool:
        """Whether the program has put its own in place of something, or another setting."""
        if type(before) in _SETTINGS and not name.startswith("_"):
            return type(now) in _SETTINGS and now != before
        return self.is_programs(now) or self.is_programs(type(now))

    def _note_library(self, what: str, is_part: bool, used: Callable[[str], bool]) -> None:
        if not is_part:
            self.note("changed-builtin", what)
        elif used(what):
            self.note("changed-library", what)

    def _look_ahead(self, finders: Sequence[Any]) -> None:
        """Notes what the program has imports made by before Python itself is asked. What stands
        behind Python's own finders, as in honest programs, finds only what is nowhere else."""
        own = [place for place, one in enumerate(finders) if one in self._finders]
        last = own[-1] if len(own) == len(self._finders) else len(finders)
        for finder in finders[:last]:
            if self.is_programs(finder if isinstance(finder, type) else type(finder)):
                self.note("planted-module", getattr(finder, "__name__", type(finder).__name__))

    def planted(self, folders: tuple[str, ...], laid: frozenset[str]) -> None:
        """Notes modules with a library's name that came from a folder of the run, and what
        replaces a module of the tests."""
        modules = [*sys.modules.values()]
        if len(modules) == len(self._modules) and all(map(is_, modules, self._modules)):
            return
        self._modules = modules
        for subject in self.tests & laid:
            name = os.path.splitext(os.path.basename(subject))[0]
            module = sys.modules.get(name)
            path = getattr(module, "__file__", None)
            if module is not None and (
                path is None or (path.startswith(folders) and path not in laid)
            ):
                self.note("planted-module", name)
        for name, module in [*sys.modules.items()]:
            if module is None:
                self.note("module-table", name)
            if name.partition(".")[0] in sys.stdlib_module_names:
                path = getattr(module, "__file__", None)
                if isinstance(path, str) and path.startswith(folders) and path not in laid and (
                    not path.startswith(_LIBRARY)
                ):
                    self.note("planted-module", name)

    def is_programs(self, value: Any) -> bool:
        """Whether a function, method, property or class was written in the program."""
        value = getattr(value, "__func__", getattr(value, "fget", value))
        code = getattr(value, "__code__", None)
        if isinstance(code, types.CodeType):
            return code.co_filename in self.program
        for part in vars(value).values() if isinstance(value, type) else ():
            code = getattr(getattr(part, "__func__", part), "__code__", None)
            if isinstance(code, types.CodeType) and code.co_filename in self.program:
                return True
        module = sys.modules.get(str(getattr(value, "__module__", "")))
        return isinstance(value, type) and getattr(module, "__file__", None) in self.program


def _place() -> tuple[object, ...]:
    return sys.platform, sys.version_info, os.name, sys.version


_LIBRARY = os.path.dirname(os.__file__) + os.sep
"""Where Python's own modules lie; some jails have a copy among the files of a run."""


def freeze() -> None:
    """Takes all that is loaded now out of what the collector tells anyone about."""
    gc.collect()
    gc.freeze()


def _parts(name: str, module: types.ModuleType) -> Iterator[tuple[str, types.ModuleType | type]]:
    """A module and the classes that it defines, each with its name."""
    yield name, module
    for value in [*vars(module).values()]:
        if isinstance(value, type) and value.__module__ == name:
            yield f"{name}.{value.__name__}", value


def _made_of(owner: types.ModuleType | type) -> dict[str, Any]:
    """Functions, classes and descriptors; plain settings may change."""
    return {
        name: value for name, value in vars(owner).items()
        if callable(value) or isinstance(value, property | classmethod | staticmethod)
    }


def _source_of(path: str) -> str:
    """The source that a compiled file was made of; any other path itself."""
    folder, name = os.path.split(path)
    if name.endswith(".pyc") and os.path.basename(folder) == "__pycache__":
        return os.path.join(os.path.dirname(folder), f"{name.partition('.')[0]}.py")
    return path


def _shows_a_traceback(frame: Any) -> bool:
    """Whether the file is only read to show a traceback or a warning."""
    return any(
        os.path.basename(name) in ("traceback.py", "warnings.py") for name in _files(frame)
    )


def _files(frame: Any) -> Iterator[str]:
    while frame is not None:
        yield frame.f_code.co_filename
        frame = frame.f_back
