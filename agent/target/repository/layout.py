"""A project as it lies on disk: its root, what it ships, and its tests."""

from __future__ import annotations

import configparser
import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from agent.core.pytest_settings import CONFIGURATIONS
from agent.target.errors import BadInput
from agent.target.interpreter import ENVIRONMENTS

ROOT_MARKS = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini", ".git")
"""What lies at the top of a project."""
NO_SOURCES = frozenset({
    "__pycache__", "node_modules", "site-packages", "build", "dist", *ENVIRONMENTS, "docs", "doc",
    "examples", "benchmarks", "scripts", "tools",
})
"""Folders in which nothing lies that a project ships."""
TEST_FILES = ("test_*.py", "*_test.py")
"""Names of files that pytest collects where nothing says otherwise."""


@dataclass(frozen=True)
class ProjectLayout:
    """Where a project's parts lie; paths are relative to its root, with forward slashes."""

    root: Path
    configuration: str
    """The file that pytest reads its settings from; empty where there is none."""
    import_roots: tuple[str, ...]
    """Folders that modules are imported from, the likeliest first; "" is the root."""

    @cached_property
    def name(self) -> str:
        """What the project is called: by its own word, or its folder's name."""
        project = _toml(self.root / "pyproject.toml").get("project", {})
        return str(project.get("name") or self.root.name)

    @cached_property
    def test_files(self) -> tuple[str, ...]:
        """Patterns of the files that its pytest collects."""
        if self.configuration.endswith(".toml"):
            table = _toml(self.root / self.configuration)
            if self.configuration == "pyproject.toml":
                table = table.get("tool", {}).get("pytest", {})
                table = table.get("ini_options", table)
            told = _words(table.get("pytest", table).get("python_files", ()))
        else:
            section = "tool:pytest" if self.configuration == "setup.cfg" else "pytest"
            told = _words(_ini(self.root / self.configuration, section, "python_files"))
        return tuple(told) or TEST_FILES

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The table `[tool.heal]` of its pyproject.toml."""
        table = _toml(self.root / "pyproject.toml").get("tool", {}).get("heal", {})
        return table if isinstance(table, dict) else {}


def find_layout(start: Path) -> ProjectLayout:
    """The project that a path lies in; raises `BadInput` where there is none."""
    if not start.exists():
        raise BadInput(f"{start} does not exist; name a folder, a test file or a test in a project")
    # `tests/..` is the top, too.
    return layout_at(_root(Path(os.path.abspath(start))))


def layout_at(folder: Path) -> ProjectLayout:
    """A folder as a project, whatever lies above it; raises `BadInput` where it is none."""
    root = folder.absolute()
    if not root.is_dir():
        raise BadInput(f"{folder} is no folder")
    return ProjectLayout(root, _configuration(root), _import_roots(root))


def _root(start: Path) -> Path:
    """The nearest folder upwards that is a project's top; the folder itself where none is."""
    folder = start if start.is_dir() else start.parent
    for one in (folder, *folder.parents):
        if any((one / mark).exists() for mark in ROOT_MARKS):
            return one
    return _outside_packages(folder)


def _outside_packages(folder: Path) -> Path:
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def _configuration(root: Path) -> str:
    for name, section in CONFIGURATIONS.items():
        path = root / name
        if path.is_file() and section in path.read_text("utf-8", errors="replace"):
            return name
    return ""


def _import_roots(root: Path) -> tuple[str, ...]:
    """`src` where it holds modules, the folders that pytest or setuptools are told, and the top."""
    found = [one for one in _told_roots(root) if (root / one).is_dir()]
    if (root / "src").is_dir() and any(_modules(root / "src")):
        found.append("src")
    return tuple(dict.fromkeys([*found, ""]))


def _told_roots(root: Path) -> Iterator[str]:
    tool = _toml(root / "pyproject.toml").get("tool", {})
    for one in _words(tool.get("pytest", {}).get("ini_options", {}).get("pythonpath", [])):
        yield _clean(one)
    setuptools = tool.get("setuptools", {})
    where = setuptools.get("packages", {})
    if isinstance(where, dict):
        yield from map(_clean, where.get("find", {}).get("where", []))
    directories = setuptools.get("package-dir", {})
    if isinstance(directories, dict) and "" in directories:
        yield _clean(str(directories[""]))
    for name, section in (("pytest.ini", "pytest"), ("tox.ini", "pytest"),
                          ("setup.cfg", "tool:pytest")):
        yield from map(_clean, _words(_ini(root / name, section, "pythonpath")))
    yield from map(_clean, _words(_ini(root / "setup.cfg", "options.packages.find", "where")))


def _clean(path: str) -> str:
    return os.path.normpath(path).replace(os.sep, "/").removeprefix("./").removesuffix(".") or ""


def _words(value: object) -> list[str]:
    return value.split() if isinstance(value, str) else [str(one) for one in value or ()]  # type: ignore[attr-defined]


def _modules(folder: Path) -> Iterator[Path]:
    """Modules and packages right in a folder, namespace packages included."""
    for one in sorted(folder.iterdir()):
        if one.suffix == ".py" or (one.is_dir() and one.name.isidentifier()):
            yield one


def _toml(path: Path) -> dict[str, Any]:
    """A TOML file's tables; none where it is absent. One that is broken is the user's to mend."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from error


def _ini(path: Path, section: str, option: str) -> str:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read(path, "utf-8")
    except (configparser.Error, UnicodeDecodeError) as error:
        raise BadInput(f"{path} cannot be read: {error}") from error
    return parser.get(section, option, fallback="")
