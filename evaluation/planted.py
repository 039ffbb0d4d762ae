"""Small projects, and bugs that are planted in them; see `evaluation/bench/README.md`."""

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
"""Plain pytest, and a plugin that reports how each test came out."""
Kind = Literal[
    "table-entry", "new-branch", "pattern-or-string", "guard", "wrapped-or-other-expression",
    "wrong-name", "dropped-statement", "operator", "grouping", "exception-type", "slice",
    "call-argument", "condition", "new-code", "signature-and-callers",
]
Reach = Literal["small", "literal", "invention"]
Level = Literal["function", "class", "module"]


class BadBench(Exception):
    """What is planted is not what its row says; the message names the row."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Bug(_Frozen):
    """A bug: `fixed` stands once in `file`, and `buggy` in its place makes tests fail."""

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
    """The tests that then fail, of those that a repair is shown, by their node ids."""
    hidden: tuple[str, ...] = ()
    """Test functions that it is not shown: they tell a repair from a lucky guess."""
    unseen: str = ""
    """The text of a further test file, which is in no tree: for a suite that has no such tests."""
    note: str

    def is_hidden(self, node: str) -> bool:
        """Whether a test is one of the hidden functions, with whichever parameters."""
        return node.partition("[")[0] in self.hidden or node in self.hidden

    @property
    def places(self) -> Iterator[tuple[str, str, str]]:
        """File, right text and wrong text of each place."""
        yield self.file, self.fixed, self.buggy
        if self.file2:
            yield self.file2, self.fixed2, self.buggy2


class ProjectRow(_Frozen):
    """A project of the bench."""

    name: str
    layout: str = ""
    config: str = ""
    setup: tuple[str, ...] = ()
    """A program of its own, with arguments, that writes what its tests need."""
    python: str = ""
    """The Python whose packages it uses, where it is not ours."""
    arguments: tuple[str, ...] = ()
    """Further ones of pytest's, such as those that leave out tests that fail as they stand."""


class Bench(_Frozen):
    """All of them."""

    project: tuple[ProjectRow, ...]
    bug: tuple[Bug, ...] = ()


@dataclass(frozen=True)
class LaidOut:
    """A project as it should be."""

    files: Mapping[str, str]
    project: Project
    sites: tuple[str, ...]
    python: str
    tree: ProjectTree


@dataclass(frozen=True)
class Planted:
    """A project with a bug in it, as a repair gets it."""

    bug: Bug
    right: LaidOut
    task: Task
    base: Solution

    @property
    def project(self) -> Project:
        """The one whose hidden tests are left out."""
        assert self.task.project is not None
        return self.task.project


def read_bench(folder: Path = PROJECTS) -> Bench:
    """The rows of `bugs.toml`; raises `BadBench`."""
    try:
        return Bench.model_validate(tomllib.loads((folder / "bugs.toml").read_text("utf-8")))
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise BadBench(f"{folder / 'bugs.toml'}: {error}") from error


@cache
def laid(row: ProjectRow, folder: Path = PROJECTS) -> LaidOut:
    """Reads a project from a copy, in which its own set-up has run."""
    with _copied(row, folder) as root:
        layout = find_layout(root)
        tree = read_tree(layout)
        project = Project(
            root=str(root), name=layout.name, import_roots=layout.import_roots,
            editable=tuple(sorted(tree.editable)), arguments=row.arguments,
        )
        python = find_interpreter(root, row.python or sys.executable)
        return LaidOut(dict(tree.files), project, python.sites, str(python.executable), tree)


@contextmanager
def _copied(row: ProjectRow, folder: Path) -> Iterator[Path]:
    """A copy of a project, in which its own set-up has run."""
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
    """How each test of a project comes out under plain pytest, outside of any jail."""
    with _copied(row, folder) as root:
        ended, outcomes = run_plainly(root, [*PYTEST, *row.arguments], python=row.python)
    if outcomes is None:
        raise BadBench(f"{row.name}: plain pytest does not start: {ended.stderr[-300:]}")
    return outcomes


def run_plainly(
    folder: Path, command: Sequence[str], *, python: str = "", stdin: str = "",
    most_s: float | None = None,
) -> tuple[subprocess.CompletedProcess[str], dict[str, str] | None]:
    """Runs Python in a folder, outside of any jail; returns also how each test came out, `None`
    where pytest did not report that. Raises `subprocess.TimeoutExpired`."""
    with tempfile.TemporaryDirectory() as reports:
        outcomes = Path(reports, "outcomes.json")
        ended = subprocess.run(
            [python or sys.executable, *command],
            env={
                **os.environ, "OUTCOMES": str(outcomes), "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": str(PLUGINS),
            },
            cwd=folder, input=stdin, timeout=most_s, capture_output=True, text=True, check=False,
        )
        return ended, json.loads(outcomes.read_text("utf-8")) if outcomes.exists() else None


def broken(files: Mapping[str, str], bug: Bug) -> dict[str, str]:
    """The files with the bug in them."""
    found = dict(files)
    for file, right, wrong in bug.places:
        if found.get(file, "").count(right) != 1:
            raise BadBench(f"{bug.id}: what is right does not stand once in {file}")
        found[file] = found[file].replace(right, wrong)
    return found


def planted(bug: Bug, right: LaidOut) -> Planted:
    """The task that a repair gets."""
    files = broken(right.files, bug)
    project = right.project.model_copy(
        update={"arguments": (
            *right.project.arguments, *(f"--deselect={node}" for node in bug.hidden)
        )}
    )
    return Planted(bug, right, *task_of(files, project, right.sites))


def task_of(
    files: Mapping[str, str], project: Project, sites: tuple[str, ...] = (), entry: str = ""
) -> tuple[Task, Solution]:
    """A project of these files as a task, and the modules that a repair may change."""
    task = Task(
        support=tuple(File(path=path, text=text) for path, text in files.items()),
        sites=sites, project=project,
    )
    changeable = tuple(File(path=path, text=files[path]) for path in project.editable)
    return task, Solution(files=changeable, entry=entry or project.editable[0])
