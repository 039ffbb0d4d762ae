"""A project laid out as it comes: its module, a test file, and what these two need beside them.

The top of the layout is the folder that the module is imported from, so that a `src` folder goes
as it goes when a package is installed. Tests keep their path within the project, with their
helpers, conftest files and data; pytest's configuration comes to the top.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agent.domain import File
from agent.intake.environment import MOST_SIBLINGS, sibling_files, without_cookie
from agent.intake.errors import BadInput
from agent.intake.parsing import parsed
from agent.intake.source import read_source
from agent.pytest_settings import CONFIGURATIONS

MOST_BYTES = 1_000_000
"""Of files that are no modules."""
MOST_APART = 3
"""A module and its tests belong to one project where so few folders lead to what holds both."""
MOST_SEEN = 2_000
"""Files of a folder that are looked at."""
_NO_SOURCES = frozenset({
    "__pycache__", "node_modules", "site-packages", "build", "dist", "venv", "env",
})


@dataclass(frozen=True)
class Project:
    """Where the module and its tests lie, and the files beside them."""

    entry: str
    """The module's path from the top."""
    tests: str = ""
    """The test file's."""
    support: tuple[File, ...] = ()
    notices: tuple[str, ...] = ()
    """What was left out, in words."""


def laid_out(
    module: Path | None, module_text: str, tests: Path | None = None, tests_text: str = ""
) -> Project:
    """The layout of a module and of a test file, either of which may be absent."""
    if module is None and tests is None:
        return Project("")
    module = module.absolute() if module is not None else None
    tests = tests.absolute() if tests is not None else None
    top = _import_top(module, module_text, tests, tests_text) if module is not None else None
    project = _project(top, tests)
    shelf = _Shelf(project, top or project)
    if tests is not None:
        texts = {tests: tests_text}
        if top is not None:
            shelf.read(_configuration(tests.parent), "")
        for folder in _between(project, tests.parent):
            texts |= {
                path: text for name in ("conftest.py", "__init__.py")[: 1 + (folder != project)]
                if (text := shelf.read(folder / name)) is not None
                for path in [folder / name]
            }
        texts |= shelf.imported(_outside_packages(tests.parent), texts)
        if project != top:
            texts |= shelf.imported(project, texts)
        shelf.mentioned(tests.parent, [*_below(tests.parent)], texts.values())
        shelf.mentioned(project, [*_within(project)], texts.values())
    else:
        texts = {}
    if module is not None and top is not None:
        texts = {module: module_text} | texts
        shelf.imported(top, texts)
    own = {path for path in (module, tests) if path is not None}
    return Project(
        entry=shelf.place(module) if module is not None else "",
        tests=shelf.place(tests) if tests is not None else "",
        support=tuple(file for path, file in shelf.files.items() if path not in own),
        notices=tuple(dict.fromkeys(shelf.notices)),
    )


class _Shelf:
    """Files of the project by their path on this machine, with that in the layout."""

    def __init__(self, project: Path, top: Path) -> None:
        self._project = project
        self._top = top
        self.files: dict[Path, File] = {}
        self.notices: list[str] = []

    def place(self, path: Path) -> str:
        """Where a file goes: modules below the folder they are imported from, all else where it
        lies in the project."""
        folder = self._top if path.is_relative_to(self._top) else self._project
        return path.relative_to(folder).as_posix()

    def read(self, path: Path | None, place: str | None = None) -> str | None:
        """Takes a file along, by default to its place, and `""` to the top; its text, or `None`
        where there is none."""
        if path is None or not path.is_file():
            return None
        try:
            text = without_cookie(read_source(path, allow_empty=True).text)
        except BadInput as error:
            self.notices.append(f"{path.name} is left out: {error}")
            return None
        self.files[path] = File(path=path.name if place == "" else self.place(path), text=text)
        return text

    def imported(self, folder: Path, texts: Mapping[Path, str]) -> dict[Path, str]:
        """Takes along what these files import from the folder, directly or through each other."""
        known = {os.path.relpath(path, folder): text for path, text in texts.items()}
        found, notices = sibling_files(folder, known)
        self.notices += notices
        taken = {folder / file.path: file.text for file in found}
        self.files |= {
            path: File(path=self.place(path), text=text) for path, text in taken.items()
        }
        return taken

    def mentioned(self, folder: Path, paths: Iterable[Path], texts: Iterable[str]) -> None:
        """Takes along those of the folder's files that the texts name."""
        words = "\n".join(texts)
        total = count = 0
        for path in paths:
            if path in self.files or not _is_named(path.relative_to(folder), words):
                continue
            try:
                text = path.read_bytes().decode("utf-8", "surrogateescape")
            except OSError as error:
                self.notices.append(f"{path.name} is left out: {error.strerror}")
                continue
            total, count = total + len(text), count + 1
            if total > MOST_BYTES or count > MOST_SIBLINGS * 4:
                self.notices.append(
                    f"{path.name} and more files beside the tests are left out: they are too many "
                    "or too large; name those needed with --with"
                )
                return
            self.files[path] = File(path=self.place(path), text=text)


def _import_top(module: Path, text: str, tests: Path | None, tests_text: str) -> Path:
    """The folder that the module is imported from, by what its tests import."""
    names = {*_absolute(tests_text)}
    parts = module.with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    for length in range(len(parts) - 1, 1, -1):
        if ".".join(parts[-length:]) in names:
            return Path(*parts[:-length])
    top = _outside_packages(module.parent)
    package = module.relative_to(top).parts[0]
    if module.name == "__init__.py" or _is_relative(text):
        return top
    within = tests is not None and tests.is_relative_to(top / package)
    named = package in names or (within and _is_relative(tests_text))
    return top if named else module.parent


def _project(top: Path | None, tests: Path | None) -> Path:
    """The folder that holds the module's top and the tests, or that of the tests alone."""
    if tests is None:
        assert top is not None
        return top
    folder = _outside_packages(tests.parent)
    if top is None:
        return folder
    if tests.is_relative_to(top):
        return top
    both = Path(os.path.commonpath([top, folder]))
    apart = max(len(top.relative_to(both).parts), len(folder.relative_to(both).parts))
    return both if apart <= MOST_APART and both != Path(both.anchor) else folder


def _outside_packages(folder: Path) -> Path:
    """The first folder upwards that is no package."""
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        folder = folder.parent
    return folder


def _configuration(folder: Path) -> Path | None:
    """The file from which pytest takes its settings for tests in this folder."""
    for one in (folder, *folder.parents):
        for name, section in CONFIGURATIONS.items():
            path = one / name
            if path.is_file() and section in path.read_text("utf-8", errors="replace"):
                return path
    return None


def _between(project: Path, folder: Path) -> Iterator[Path]:
    """The folders from the project's to this one."""
    yield project
    for part in folder.relative_to(project).parts:
        project = project / part
        yield project


def _below(folder: Path) -> Iterator[Path]:
    """Files in a folder and below that are no modules, and no tool's; the first of very many."""
    seen = 0
    for name, folders, files in os.walk(folder):
        folders[:] = sorted(
            one for one in folders if one not in _NO_SOURCES and not one.startswith(".")
        )
        for file in sorted(files):
            seen += 1
            if seen > MOST_SEEN:
                return
            if not file.startswith(".") and not file.endswith((".py", ".pyc", ".so")):
                yield Path(name, file)


def _within(folder: Path) -> Iterator[Path]:
    """Files in a folder itself that are no modules."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith(".") and path.suffix != ".py":
            yield path


def _is_named(path: Path, words: str) -> bool:
    """Whether a string of a text names a file: itself, a folder it lies in, or its suffix."""
    ends = [path.name, *([path.suffix] if path.suffix else ())]
    return any(f"{end}{quote}" in words for end in ends for quote in "\"'") or any(
        f"{quote}{part}" in words for part in path.parts[:-1] for quote in "\"'/"
    )


def _is_relative(text: str) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in _nodes(text))


def _absolute(text: str) -> Iterator[str]:
    """Dotted names that a text imports, and the packages they lie in."""
    for node in _nodes(text):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[: end + 1]) for end in range(len(parts)))


def _nodes(text: str) -> Iterator[ast.AST]:
    try:
        yield from ast.walk(parsed(text))
    except SyntaxError:
        return


def module_stem(entry: str) -> str:
    """The name by which tests call a module: its own, or its package's."""
    path = PurePosixPath(entry)
    return path.parent.name if path.name == "__init__.py" and path.parent.name else path.stem
