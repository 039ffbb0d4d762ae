"""Collects a module, its test file and the files that both need into a project layout.

The root of the layout is the folder from which the module is imported, so a `src` folder is left
out of its path. Tests keep their path within the project, with their helpers, conftest files and
data; pytest's configuration is placed at the root.
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from agent.core.domain import File
from agent.core.pytest_settings import CONFIGURATIONS
from agent.core.trees import nodes_or_empty
from agent.target.errors import BadInput
from agent.target.parsing import imports, statements_of
from agent.target.source import read_support_file

MAX_MODULES = 50
MAX_DATA = 200
MAX_BYTES = 1_000_000
"""Total characters of the modules; the same limit applies to the other files."""
MAX_DISTANCE = 3
"""Levels up to which the common folder of a module and its tests counts as the project."""
MAX_VISITED = 2_000
"""Files of a folder that are considered."""
_NO_SOURCES = frozenset({
    "__pycache__", "node_modules", "site-packages", "build", "dist", "venv", "env",
})


@dataclass(frozen=True)
class ProjectFiles:
    """The paths of the module and its tests in the layout, and the files that they need."""

    entry: str
    """The module's path from the root."""
    tests: str = ""
    """The test file's path from the root."""
    support: tuple[File, ...] = ()
    notices: tuple[str, ...] = ()


def collect_project_files(
    module: Path | None, module_text: str, tests: Path | None = None, tests_text: str = "",
    within: Path | None = None,
) -> ProjectFiles:
    """The layout of a module and a test file, either of which may be `None`.

    Files outside the folder `within`, also through a link, are left out.
    """
    if module is None and tests is None:
        return ProjectFiles("")
    module = module.absolute() if module is not None else None
    tests = tests.absolute() if tests is not None else None
    top = _import_top(module, module_text, tests, tests_text) if module is not None else None
    project = _project(top, tests)
    builder = LayoutBuilder(project, top or project, within)
    texts: dict[Path, str] = {}
    if tests is not None:
        texts = {tests: tests_text}
        if top is not None:
            builder.take(_configuration(tests.parent), to_top=True)
        for folder in _between(project, tests.parent):
            for name in ("conftest.py", "__init__.py")[: 1 + (folder != project)]:
                if (text := builder.take(folder / name)) is not None:
                    texts[folder / name] = text
        texts |= builder.imported(_nearest_non_package(tests.parent), texts)
        if project != top:
            texts |= builder.imported(project, texts)
        builder.mentioned(tests.parent, _below(tests.parent), texts.values())
        builder.mentioned(project, _within(project), texts.values())
    if module is not None and top is not None:
        own = builder.imported(top, {module: module_text} | texts)
        read = (module_text, *own.values())
        for folder in dict.fromkeys((module.parent, top)):
            builder.mentioned(folder, _named_data_files(folder, read), read)
    return ProjectFiles(
        entry=builder.place(module) if module is not None else "",
        tests=builder.place(tests) if tests is not None else "",
        support=tuple(file for path, file in builder.files.items() if path not in (module, tests)),
        notices=tuple(dict.fromkeys(builder.notices)),
    )


class LayoutBuilder:
    """The collected files by their path on disk, with their path in the layout."""

    def __init__(self, project: Path, top: Path, within: Path | None = None) -> None:
        self._within = within
        self._project = project
        self._top = top
        self._bytes = 0
        self.files: dict[Path, File] = {}
        self.notices: list[str] = []

    def place(self, path: Path) -> str:
        """The path of a file in the layout: relative to the import root, else to the project."""
        folder = self._top if path.is_relative_to(self._top) else self._project
        return path.relative_to(folder).as_posix()

    def take(self, path: Path | None, *, to_top: bool = False) -> str | None:
        """Adds a file at its path or at the root; returns its text, or `None` if it is missing."""
        if path is None or not path.is_file() or self._is_outside_folder(path):
            return None
        try:
            text = read_support_file(path)
        except BadInput as error:
            self.notices.append(f"{path.name} was not included: {error}")
            return None
        self.files[path] = File(path=path.name if to_top else self.place(path), text=text)
        return text

    def _is_outside_folder(self, path: Path) -> bool:
        """Whether a file is outside the allowed folder; adds a notice if so."""
        is_outside = self._within is not None and not Path(os.path.realpath(path)).is_relative_to(
            self._within
        )
        if is_outside:
            self.notices.append(f"{path.name} was not included: it is outside {self._within}")
        return is_outside

    def imported(self, folder: Path, texts: Mapping[Path, str]) -> dict[Path, str]:
        """Adds modules of the folder that these files import, directly or through each other."""
        added: dict[Path, str] = {}
        visited = set(texts)
        waiting = [name for path, text in texts.items() for name in _imported(text, path, folder)]
        for name in waiting:  # the list grows while it is read
            for path in _candidates(folder, name):
                if path in visited:
                    continue
                visited.add(path)
                if len(added) >= MAX_MODULES or self._bytes > MAX_BYTES:
                    self.notices.append(
                        f"{path.name} was not included, because there are too many or too large "
                        "files. Add the needed files with --with."
                    )
                elif (text := self.take(path)) is not None:
                    added[path] = text
                    self._bytes += len(text)
                    waiting += _imported(text, path, folder)
        return added

    def mentioned(self, folder: Path, paths: Iterable[Path], texts: Iterable[str]) -> None:
        """Adds those of the folder's files that the texts mention."""
        words = "\n".join(texts)
        total = count = 0
        for path in paths:
            if path in self.files or not _is_named(path.relative_to(folder), words):
                continue
            if self._is_outside_folder(path):
                continue
            try:
                text = path.read_bytes().decode("utf-8", "surrogateescape")
            except OSError as error:
                self.notices.append(f"{path.name} was not included: {error.strerror}")
                continue
            total, count = total + len(text), count + 1
            if total > MAX_BYTES or count > MAX_DATA:
                self.notices.append(
                    f"{path.name} and further data files were not included, because they are too "
                    "many or too large. Add the needed files with --with."
                )
                return
            self.files[path] = File(path=self.place(path), text=text)


def _imported(text: str, path: Path, folder: Path) -> list[str]:
    """Dotted names that the text of a file imports, relative to the folder."""
    package = Path(os.path.relpath(path, folder)).parts[:-1]
    names = []
    for one in imports(*statements_of(text)):
        above = package[: len(package) + 1 - one.level] if one.level else ()
        base = ".".join([*above, *filter(None, [one.module])])
        names += [base, f"{base}.{one.name}".strip(".")] if one.name else [base]
    return names


def _candidates(folder: Path, name: str) -> Iterator[Path]:
    """Files that importing the dotted name may read: a module and its packages."""
    parts = name.split(".")
    if not all(part.isidentifier() for part in parts) or parts[0] in sys.builtin_module_names:
        return
    for part in parts:
        if (folder / f"{part}.py").is_file() and not (folder / part / "__init__.py").is_file():
            yield folder / f"{part}.py"
            return
        folder = folder / part
        if not folder.is_dir():
            return
        if (folder / "__init__.py").is_file():
            yield folder / "__init__.py"


def _import_top(module: Path, text: str, tests: Path | None, tests_text: str) -> Path:
    """The folder from which the module is imported, according to the imports of its tests."""
    of_tests = list(imports(*statements_of(tests_text)))
    names = {
        end for one in of_tests if not one.level
        for end in _with_packages(f"{one.module}.{one.name}".strip("."))
    }
    parts = module.with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    for length in range(len(parts) - 1, 1, -1):
        if ".".join(parts[-length:]) in names:
            return Path(*parts[:-length])
    top = _nearest_non_package(module.parent)
    package = module.relative_to(top).parts[0]
    if module.name == "__init__.py" or any(one.level for one in imports(*statements_of(text))):
        return top
    within = tests is not None and tests.is_relative_to(top / package)
    named = package in names or (within and any(one.level for one in of_tests))
    return top if named else module.parent


def _with_packages(name: str) -> list[str]:
    """A dotted name and its parent packages."""
    parts = name.split(".")
    return [".".join(parts[: end + 1]) for end in range(len(parts))]


def _project(top: Path | None, tests: Path | None) -> Path:
    """The common folder of the module's import root and the tests, or that of the tests."""
    if tests is None:
        assert top is not None
        return top
    folder = _nearest_non_package(tests.parent)
    if top is None:
        return folder
    if tests.is_relative_to(top):
        return top
    both = Path(os.path.commonpath([top, folder]))
    distance = max(len(top.relative_to(both).parts), len(folder.relative_to(both).parts))
    return both if distance <= MAX_DISTANCE and both != Path(both.anchor) else folder


def _nearest_non_package(folder: Path) -> Path:
    """The nearest folder upwards that is not a package."""
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        folder = folder.parent
    return folder


def _configuration(folder: Path) -> Path | None:
    """The file from which pytest reads its settings for tests in this folder."""
    for one in (folder, *folder.parents):
        for name, section in CONFIGURATIONS.items():
            path = one / name
            if path.is_file() and section in path.read_text("utf-8", errors="replace"):
                return path
    return None


def _between(project: Path, folder: Path) -> Iterator[Path]:
    yield project
    for part in folder.relative_to(project).parts:
        project = project / part
        yield project


def _below(folder: Path) -> Iterator[Path]:
    """Data files in a folder and below, without hidden ones; at most `MAX_VISITED` are visited."""
    visited = 0
    for name, folders, files in os.walk(folder):
        folders[:] = sorted(
            one for one in folders if one not in _NO_SOURCES and not one.startswith(".")
        )
        for file in sorted(files):
            visited += 1
            if visited > MAX_VISITED:
                return
            if not file.startswith(".") and not file.endswith((".py", ".pyc", ".so")):
                yield Path(name, file)


def _within(folder: Path) -> Iterator[Path]:
    """Data files directly in a folder."""
    for path in sorted(folder.iterdir()):
        if path.is_file() and not path.name.startswith(".") and path.suffix != ".py":
            yield path


def _named_data_files(folder: Path, texts: Iterable[str]) -> Iterator[Path]:
    """Data files of the folder that are named by string literals of these texts."""
    names = {
        node.value for text in texts for node in nodes_or_empty(text)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    for name in sorted(names):
        parts = PurePosixPath(name).parts
        if parts and not any(part.startswith((".", "/")) for part in parts):
            path = folder / name
            if path.suffix != ".py" and os.path.isfile(path):
                yield path


def _is_named(path: Path, words: str) -> bool:
    """Whether a string of a text names a file, one of its folders, or its suffix."""
    ends = [path.name, *([path.suffix] if path.suffix else ())]
    return any(f"{end}{quote}" in words for end in ends for quote in "\"'") or any(
        f"{quote}{part}" in words for part in path.parts[:-1] for quote in "\"'/"
    )


def module_stem(entry: str) -> str:
    """The name of a module in imports of its tests: its own, or that of its package."""
    path = PurePosixPath(entry)
    return path.parent.name if path.name == "__init__.py" and path.parent.name else path.stem
