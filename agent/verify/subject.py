"""The subject of a judgement: a solution with its task, and its files and jobs for the jails."""

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

_PROCESS_MODULES = frozenset({"subprocess", "multiprocessing", "concurrent", "pty"})
_DOCUMENTATION = ("doctest", "__doc__", "getdoc", "getsource", "help(")
_FORK_CALLS = ("os.fork", "os.posix_spawn", "os.exec", "create_subprocess")
_NETWORK_MODULES = frozenset(
    {"socket", "socketserver", "http", "xmlrpc", "ftplib", "smtplib", "urllib"}
)
MAX_TIMED_OUT_TESTS = 2
"""After so many timed-out tests the others get a tenth of the time."""


@dataclass(frozen=True)
class Seeds:
    hash: int = 0
    """The hash seed of the interpreter; each value other than 0 needs its own fork server."""
    random: int | None = None
    """The seed of `random`; `None` leaves its state the same in every process."""


FIRST_SEEDS = Seeds()


@dataclass(frozen=True)
class Subject:
    solution: Solution
    task: Task
    sandbox: Sandbox
    wall_s: float
    seeds: Seeds = FIRST_SEEDS
    timed_out: list[str] = field(default_factory=list)

    @property
    def test_s(self) -> float:
        if len(self.timed_out) < MAX_TIMED_OUT_TESTS:
            return self.wall_s
        return max(min(0.2, self.wall_s), self.wall_s / 10)

    @property
    def payload(self) -> dict[str, Json]:
        return {
            "name": self.name, "entry": self.solution.entry, "text": mask(self.solution.text),
            "stdin": self.task.stdin, "argv": list(self.task.argv),
            "random_seed": self.random_seed,
        }

    @property
    def random_seed(self) -> int | None:
        """The seed of `random`; `None` where a module of the program shadows it."""
        filenames = {PurePosixPath(f.path).name for f in (*self.solution.files, *self.task.support)}
        return None if "random.py" in filenames else self.seeds.random

    @property
    def preload(self) -> tuple[str, ...]:
        return jail_modules.preloads(
            file.text for file in (*self.solution.files, *self.task.support)
            if file.path.endswith(".py")
        )

    @property
    def name(self) -> str:
        return module_name(self.solution.entry)

    @cached_property
    def all_modules(self) -> frozenset[str]:
        """Every module name by which a test may import the program."""
        return frozenset({*self.modules, self.name, "solution"})

    @cached_property
    def modules(self) -> tuple[str, ...]:
        """Every importable name of the program and of its support files."""
        names: set[str] = set()
        for file in (*self.solution.files, *self.task.support):
            if file.path.endswith(".py") and file.path not in self.test_support:
                parts = module_name(file.path).split(".")
                names |= {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
        return tuple(sorted(names))

    @cached_property
    def test_support(self) -> dict[str, str]:
        """Support files of the tests: all but the modules that the program imports.

        They may hold asserts and expected values.
        """
        modules = {f.path: f.text for f in self.task.support if f.path.endswith(".py")}
        imported = modules and _imported([file.text for file in self.solution.files], modules)
        return {f.path: f.text for f in self.task.support if f.path not in imported}

    def helpers(self, code: str) -> list[str]:
        """Paths of the other files that a test with this text needs: conftest files and imports."""
        modules = {f: text for f, text in self.test_support.items() if f.endswith(".py")}
        fixtures = [path for path in modules if PurePosixPath(path).name == "conftest.py"]
        imported = _imported([code, *(modules[path] for path in fixtures)], modules)
        return [*fixtures, *sorted(imported.difference(fixtures))]

    @property
    def helper_texts(self) -> str:
        return "".join(text for path, text in self.test_support.items() if path.endswith(".py"))

    @property
    def files(self) -> dict[str, str]:
        return self.files_for([])

    def files_for(self, tests: list[TestCase]) -> dict[str, str]:
        """The files of a process that also runs these tests.

        Doctests are not masked if the tests read the program's documentation.
        """
        code = "\n".join(dict.fromkeys(test.code for test in tests))
        text = self.solution.text
        documented = any(word in code for word in _DOCUMENTATION)
        if any(name in code for name in names_of_tests(text)):
            # The tests use the program's own tests, so nothing is masked.
            return self._with_entry(text)
        return self._with_entry(mask(text, not documented))

    def _with_entry(self, text: str) -> dict[str, str]:
        helpers = {path for path in self.test_support if path.endswith(".py")}
        files = {f.path: f.text for f in self.task.support if f.path not in helpers}
        files |= {file.path: file.text for file in self.solution.files}
        files[self.solution.entry] = text
        return files

    @property
    def has_conftest(self) -> bool:
        return any(PurePosixPath(path).name == "conftest.py" for path in self.test_support)

    def test_path(self, tests: list[TestCase]) -> str:
        """The path of the file of these tests, relative to the program's folder."""
        path = next((t.file for t in tests if isinstance(t, Script) and t.file), "")
        if path.endswith(".py") and path != self.solution.entry:
            return path
        stem = self.name.rpartition(".")[2]
        return f"test_{stem}.py" if f"test_{stem}" not in self.modules else "test_it.py"

    def job(
        self, program: str, payload: dict[str, Json], wall_s: float,
        ours: jail_modules.Bundle | None = None,
    ) -> Job:
        """A job that runs one of our programs over this subject, still without files."""
        ours = ours or jail_modules.Bundle(jail_modules.modules(), self.task.site_dirs)
        return Job(
            program=jail_modules.program(program), payload=payload, modules=ours.modules,
            package_folders=ours.package_folders, seed=self.seeds.hash, preload=self.preload,
            limits=Limits(wall_s=wall_s, cpu_s=wall_s),
        )

    def grants(self, tests: list[TestCase]) -> tuple[bool, bool]:
        """Whether the tests or the program start processes, and whether they use the network."""
        texts = [
            *(file.text for file in (*self.solution.files, *self.task.support)
              if file.path.endswith(".py")),
            *dict.fromkeys(test.code for test in tests),
        ]
        roots = frozenset[str]().union(*map(jail_modules.imported, texts))
        forks = any(word in text for text in texts for word in _FORK_CALLS)
        return forks or bool(roots & _PROCESS_MODULES), bool(roots & _NETWORK_MODULES)

    def needs_packages(self, tests: list[TestCase]) -> bool:
        """Whether the tests, or their helpers, need pytest or other packages."""
        return any(jail_modules.needs_packages(test, self.all_modules) for test in tests) or any(
            jail_modules.imports_packages(text, self.all_modules)
            for path, text in self.test_support.items() if path.endswith(".py")
        )


def _imported(texts: list[str], modules: Mapping[str, str]) -> set[str]:
    """Paths of the modules (path to text) that the texts import, directly or indirectly."""
    imported: set[str] = set()
    pending = list(texts)
    while pending:
        wanted = {name.removeprefix(".") for name in jail_modules.imports(pending.pop())}
        for path, text in modules.items():
            # Also by the last part of the name, for relative imports.
            name = module_name(path)
            if path not in imported and (
                wanted & {name, name.rpartition(".")[2]}
                or any(one.startswith(f"{name}.") for one in wanted)
            ):
                imported.add(path)
                pending.append(text)
    return imported


@lru_cache(maxsize=1024)
def module_name(path: str) -> str:
    parts = PurePosixPath(path).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)
