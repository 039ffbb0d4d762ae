"""What is judged, and the files and orders of the processes that run it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import PurePosixPath

from agent.core.domain import Script, Solution, Task, TestCase
from agent.verify import jail_modules
from agent.verify.rewriting.masking import mask, names_of_tests
from sandbox.sandbox import Sandbox
from sandbox.types import Job, Json, Limits

_STARTING = frozenset({"subprocess", "multiprocessing", "concurrent", "pty"})
_DOCUMENTATION = ("doctest", "__doc__", "getdoc", "getsource", "help(")
_FORKING = ("os.fork", "os.posix_spawn", "os.exec", "create_subprocess")
_CONNECTING = frozenset({"socket", "socketserver", "http", "xmlrpc", "ftplib", "smtplib", "urllib"})
LATE_TESTS = 2
"""After so many tests that came to no end the others are given a tenth of the time."""


@dataclass(frozen=True)
class Seeds:
    """What a solution's chance depends on."""

    hash: int = 0
    """The hash seed of the interpreter; each other one takes a fork server of its own."""
    random: int | None = None
    """The seed of `random`; `None` leaves it as it is, the same in every process."""


FIRST_SEEDS = Seeds()


@dataclass(frozen=True)
class Subject:
    """A solution with its surroundings, on its way through its tests."""

    solution: Solution
    task: Task
    sandbox: Sandbox
    wall_s: float
    seeds: Seeds = FIRST_SEEDS
    late: list[str] = field(default_factory=list)
    """Names of tests that came to no end."""

    @property
    def test_s(self) -> float:
        """The deadline of the next tests."""
        if len(self.late) < LATE_TESTS:
            return self.wall_s
        return max(min(0.2, self.wall_s), self.wall_s / 10)

    @property
    def payload(self) -> dict[str, Json]:
        """The orders for a process about the program."""
        return {
            "name": self.name, "entry": self.solution.entry, "text": mask(self.solution.text),
            "stdin": self.task.stdin, "argv": list(self.task.argv),
            "random_seed": self.random_seed,
        }

    @property
    def random_seed(self) -> int | None:
        """None is set where the program has a module of that name in the place of Python's."""
        own = {PurePosixPath(f.path).name for f in (*self.solution.files, *self.task.support)}
        return None if "random.py" in own else self.seeds.random

    @property
    def preload(self) -> tuple[str, ...]:
        """The large packages that the program imports."""
        return jail_modules.preloads(
            file.text for file in (*self.solution.files, *self.task.support)
            if file.path.endswith(".py")
        )

    @property
    def name(self) -> str:
        """The program as a module."""
        return module_name(self.solution.entry)

    @cached_property
    def all_modules(self) -> frozenset[str]:
        """Every name that leads a test to the program."""
        return frozenset({*self.modules, self.name, "solution"})

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """Every importable name of the program and of what it came with."""
        names: set[str] = set()
        for file in (*self.solution.files, *self.task.support):
            if file.path.endswith(".py") and file.path not in self.test_support:
                parts = module_name(file.path).split(".")
                names |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
        return tuple(sorted(names))

    @cached_property
    def test_support(self) -> dict[str, str]:
        """Support files that the tests need on their side: helpers that the program does not
        import, which may hold asserts and expected values, and whatever is no module."""
        modules = {f.path: f.text for f in self.task.support if f.path.endswith(".py")}
        mine = modules and _reached([file.text for file in self.solution.files], modules)
        return {f.path: f.text for f in self.task.support if f.path not in mine}

    def helpers(self, code: str) -> list[str]:
        """Files that a test with this text has code in beside its own: what it imports, and
        fixtures."""
        modules = {f: text for f, text in self.test_support.items() if f.endswith(".py")}
        fixtures = [path for path in modules if PurePosixPath(path).name == "conftest.py"]
        reached = _reached([code, *(modules[path] for path in fixtures)], modules)
        return [*fixtures, *sorted(reached.difference(fixtures))]

    @property
    def helper_words(self) -> str:
        """The texts of what lies on the tests' side."""
        return "".join(text for path, text in self.test_support.items() if path.endswith(".py"))

    @property
    def files(self) -> dict[str, str]:
        """What lies beside the program where no test may lie."""
        return self.files_for([])

    def files_for(self, tests: list[TestCase]) -> dict[str, str]:
        """The same, for the process that holds these tests as well: its own doctests stay in the
        program where the tests look at what is documented."""
        code = "\n".join(dict.fromkeys(test.code for test in tests))
        text = self.solution.text
        documented = any(word in code for word in _DOCUMENTATION)
        if any(name in code for name in names_of_tests(text)):
            # They ask the program for its own tests: it is laid as it is.
            return self._laid(text)
        return self._laid(mask(text, not documented))

    def _laid(self, text: str) -> dict[str, str]:
        """The program's files, its entry with this text."""
        helpers = {path for path in self.test_support if path.endswith(".py")}
        laid = {f.path: f.text for f in self.task.support if f.path not in helpers}
        laid |= {file.path: file.text for file in self.solution.files}
        laid[self.solution.entry] = text
        return laid

    @property
    def has_conftest(self) -> bool:
        """Whether the tests have fixtures of their own beside them."""
        return any(PurePosixPath(path).name == "conftest.py" for path in self.test_support)

    def test_path(self, tests: list[TestCase]) -> str:
        """Where the file of these tests lies, relative to the program's folder."""
        given = next((t.file for t in tests if isinstance(t, Script) and t.file), "")
        if given.endswith(".py") and given != self.solution.entry:
            return given
        stem = self.name.rpartition(".")[2]
        return f"test_{stem}.py" if f"test_{stem}" not in self.modules else "test_it.py"

    def job(
        self, program: str, payload: dict[str, Json], wall_s: float,
        ours: jail_modules.Bundle | None = None,
    ) -> Job:
        """A jail's job that runs one of our programs over this one; files are still to be laid."""
        ours = ours or jail_modules.Bundle(jail_modules.modules(), self.task.sites)
        return Job(
            program=jail_modules.program(program), payload=payload, modules=ours.modules,
            sites=ours.sites, seed=self.seeds.hash, preload=self.preload,
            limits=Limits(wall_s=wall_s, cpu_s=wall_s),
        )

    def grants(self, tests: list[TestCase]) -> tuple[bool, bool]:
        """Whether the tests or the program start processes, and whether they use the network of
        this machine: what the jail grants them where it can."""
        texts = [
            *(file.text for file in (*self.solution.files, *self.task.support)
              if file.path.endswith(".py")),
            *dict.fromkeys(test.code for test in tests),
        ]
        roots = frozenset[str]().union(*map(jail_modules.imported, texts))
        forks = any(word in text for text in texts for word in _FORKING)
        return forks or bool(roots & _STARTING), bool(roots & _CONNECTING)

    def needs_packages(self, tests: list[TestCase]) -> bool:
        """Whether the tests, or their helpers, need pytest or other packages."""
        return any(jail_modules.needs_packages(test, self.all_modules) for test in tests) or any(
            jail_modules.imports_packages(text, self.all_modules)
            for path, text in self.test_support.items() if path.endswith(".py")
        )


def _reached(texts: list[str], modules: Mapping[str, str]) -> set[str]:
    """Those of the modules, path to text, that the texts import, directly or through others."""
    reached: set[str] = set()
    waiting = list(texts)
    while waiting:
        wanted = {name.removeprefix(".") for name in jail_modules.imports(waiting.pop())}
        for path, text in modules.items():
            # By the last part too, for imports relative to a package.
            name = module_name(path)
            if path not in reached and (
                wanted & {name, name.rpartition(".")[2]}
                or any(one.startswith(f"{name}.") for one in wanted)
            ):
                reached.add(path)
                waiting.append(text)
    return reached


@lru_cache(maxsize=1024)
def module_name(path: str) -> str:
    """The dotted name of a module by its path."""
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)
