"""Small projects and the bugs to plant in them; see `evaluation/bench/README.md`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from agent.core.domain import File, Project, Solution, Task
from agent.target.interpreter import find_interpreter
from agent.target.repository.layout import find_layout
from agent.target.repository.tree import ProjectTree, read_tree

PROJECTS = Path(__file__).parent / "bench" / "projects"
PLUGINS = Path(__file__).parent / "programs"
PYTEST = ("-m", "pytest", "-q", "-p", "outcome_plugin", "-p", "no:cacheprovider")
"""Plain pytest with a plugin that reports each test's outcome."""
Kind = Literal[
    "table-entry", "new-branch", "pattern-or-string", "guard", "wrapped-or-other-expression",
    "wrong-name", "dropped-statement", "operator", "grouping", "exception-type", "slice",
    "call-argument", "condition", "new-code", "signature-and-callers",
]
Reach = Literal["small", "literal", "invention"]
Level = Literal["function", "class", "module"]


class BadBench(Exception):
    """A row of the bench is wrong; the message names it."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Bug(_Frozen):
    """A bug: `file` contains `fixed` once, and `buggy` in its place makes tests fail."""

    id: str
    project: str
    file: str
    fixed: str
    buggy: str
    file2: str = ""
    fixed2: str = ""
    buggy2: str = ""
    kind: Kind
    level: Level
    reach: Reach
    failing: tuple[str, ...]
    """Node ids of the visible tests that then fail."""
    hidden: tuple[str, ...] = ()
    """Test functions hidden from the repair, which distinguish a correct repair from a guess."""
    unseen: str = ""
    """The text of a hidden test file, for a suite without such test functions."""
    note: str

    def is_hidden(self, node: str) -> bool:
        """Whether a test is one of the hidden functions, with any parameters."""
        return node.partition("[")[0] in self.hidden or node in self.hidden

    @property
    def places(self) -> Iterator[tuple[str, str, str]]:
        """The file, correct text and wrong text of each place."""
        yield self.file, self.fixed, self.buggy
        if self.file2:
            yield self.file2, self.fixed2, self.buggy2


class ProjectRow(_Frozen):
    name: str
    layout: str = ""
    config: str = ""
    setup: tuple[str, ...] = ()
    """A program of the project and its arguments that prepares the tests."""
    python: str = ""
    """The Python whose packages it uses; by default the current one."""
    arguments: tuple[str, ...] = ()
    """Further arguments of pytest, such as `--deselect` for tests that fail without a bug."""


class Bench(_Frozen):
    project: tuple[ProjectRow, ...]
    bug: tuple[Bug, ...] = ()


@dataclass(frozen=True)
class CorrectProject:
    """A project without a bug."""

    files: Mapping[str, str]
    project: Project
    package_folders: tuple[str, ...]
    python: str
    tree: ProjectTree


@dataclass(frozen=True)
class BugTask:
    """A project with a bug, as submitted for a repair."""

    bug: Bug
    right: CorrectProject
    task: Task
    base: Solution

    @property
    def project(self) -> Project:
        """The project without the hidden tests."""
        assert self.task.project is not None
        return self.task.project


def read_bench(folder: Path = PROJECTS) -> Bench:
    try:
        return Bench.model_validate(tomllib.loads((folder / "bugs.toml").read_text("utf-8")))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadBench(f"{folder / 'bugs.toml'}: {error}") from error


@cache
def read_project(row: ProjectRow, folder: Path = PROJECTS) -> CorrectProject:
    """Reads a project from a copy after its set-up has run."""
    with _copied(row, folder) as root:
        layout = find_layout(root)
        tree = read_tree(layout)
        project = Project(
            root=str(root), name=layout.name, import_roots=layout.import_roots,
            editable=tuple(sorted(tree.editable)), arguments=row.arguments,
        )
        python = find_interpreter(root, row.python or sys.executable)
        return CorrectProject(
            dict(tree.files), project, python.package_folders, str(python.executable), tree
        )


@contextmanager
def _copied(row: ProjectRow, folder: Path) -> Iterator[Path]:
    if not (folder / row.name).is_dir():
        raise BadBench(f"{row.name}: there is no such folder in {folder}")
    with tempfile.TemporaryDirectory() as copies:
        root = Path(copies, row.name)
        shutil.copytree(
            folder / row.name, root, ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache")
        )
        if row.setup:
            subprocess.run([sys.executable, *row.setup], cwd=root, check=True)
        yield root


def plain_outcomes(row: ProjectRow, folder: Path = PROJECTS) -> dict[str, str]:
    """The outcome of each test of a project under plain pytest without a jail."""
    with _copied(row, folder) as root:
        ended, outcomes = run_plainly(root, [*PYTEST, *row.arguments], python=row.python)
    if outcomes is None:
        raise BadBench(f"{row.name}: plain pytest does not start: {ended.stderr[-300:]}")
    return outcomes


def run_plainly(
    folder: Path, command: Sequence[str], *, python: str = "", stdin: str = "",
    timeout_s: float | None = None,
) -> tuple[subprocess.CompletedProcess[str], dict[str, str] | None]:
    """Runs Python in a folder without a jail; also returns each test's outcome, or `None` if pytest
    reported none. Raises `subprocess.TimeoutExpired`."""
    with tempfile.TemporaryDirectory() as reports:
        outcomes = Path(reports, "outcomes.json")
        ended = subprocess.run(
            [python or sys.executable, *command],
            env={
                **os.environ, "OUTCOMES": str(outcomes), "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": str(PLUGINS),
            },
            cwd=folder, input=stdin, timeout=timeout_s, capture_output=True, text=True, check=False,
        )
        return ended, json.loads(outcomes.read_text("utf-8")) if outcomes.exists() else None


def with_bug(files: Mapping[str, str], bug: Bug) -> dict[str, str]:
    found = dict(files)
    for file, right, wrong in bug.places:
        if found.get(file, "").count(right) != 1:
            raise BadBench(f"{bug.id}: {file} does not contain the correct text exactly once")
        found[file] = found[file].replace(right, wrong)
    return found


def plant(bug: Bug, right: CorrectProject) -> BugTask:
    """Plants a bug in a project and creates the repair task."""
    files = with_bug(right.files, bug)
    project = right.project.model_copy(
        update={"arguments": (
            *right.project.arguments, *(f"--deselect={node}" for node in bug.hidden)
        )}
    )
    return BugTask(bug, right, *task_of(files, project, right.package_folders))


def task_of(
    files: Mapping[str, str], project: Project, package_folders: tuple[str, ...] = (),
    entry: str = "",
) -> tuple[Task, Solution]:
    """Creates a task from a project's files, and the program of its editable modules."""
    task = Task(
        support=tuple(File(path=path, text=text) for path, text in files.items()),
        site_dirs=package_folders, project=project,
    )
    editable = tuple(File(path=path, text=files[path]) for path in project.editable)
    return task, Solution(files=editable, entry=entry or project.editable[0])
