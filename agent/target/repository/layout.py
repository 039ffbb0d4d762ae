"""The layout of a project on disk: its root, import roots, test files and settings."""

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
NO_SOURCES = frozenset({
    "__pycache__", "node_modules", "site-packages", "build", "dist", *ENVIRONMENTS, "docs", "doc",
    "examples", "benchmarks", "scripts", "tools",
})
"""Folders without shipped code."""
TEST_FILES = ("test_*.py", "*_test.py")
"""The default patterns of files that pytest collects."""


@dataclass(frozen=True)
class ProjectLayout:
    """The paths of a project's parts, relative to its root, with forward slashes."""

    root: Path
    configuration: str
    """The file from which pytest reads its settings; empty if there is none."""
    import_roots: tuple[str, ...]
    """Folders from which modules are imported, the likeliest first; "" is the root."""

    @cached_property
    def name(self) -> str:
        """The name in pyproject.toml, else that of the folder."""
        project = _toml(self.root / "pyproject.toml").get("project", {})
        return str(project.get("name") or self.root.name)

    @cached_property
    def test_files(self) -> tuple[str, ...]:
        if self.configuration.endswith(".toml"):
            table = _toml(self.root / self.configuration)
            if self.configuration == "pyproject.toml":
                table = table.get("tool", {}).get("pytest", {})
                table = table.get("ini_options", table)
            patterns = _words(table.get("pytest", table).get("python_files", ()))
        else:
            section = "tool:pytest" if self.configuration == "setup.cfg" else "pytest"
            patterns = _words(_ini(self.root / self.configuration, section, "python_files"))
        return tuple(patterns) or TEST_FILES

    @cached_property
    def settings(self) -> dict[str, Any]:
        table = _toml(self.root / "pyproject.toml").get("tool", {}).get("heal", {})
        return table if isinstance(table, dict) else {}


def find_layout(start: Path) -> ProjectLayout:
    """The project that contains a path; raises `BadInput` if there is none."""
    if not start.exists():
        raise BadInput(f"{start} does not exist. Name a project folder, a test file or a test.")
    # Resolves `tests/..` to the root.
    return layout_at(_root(Path(os.path.abspath(start))))


def layout_at(folder: Path) -> ProjectLayout:
    """A folder as a project, regardless of its parents; raises `BadInput` for other paths."""
    root = folder.absolute()
    if not root.is_dir():
        raise BadInput(f"{folder} is not a folder.")
    return ProjectLayout(root, _configuration(root), _import_roots(root))


def _root(start: Path) -> Path:
    """The nearest folder upwards with a root mark, else the nearest one that is not a package."""
    folder = start if start.is_dir() else start.parent
    for one in (folder, *folder.parents):
        if any((one / mark).exists() for mark in ROOT_MARKS):
            return one
    return _nearest_non_package(folder)


def _nearest_non_package(folder: Path) -> Path:
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
    """The folders configured for pytest or setuptools, `src` if it has modules, and the root."""
    found = [one for one in _configured_roots(root) if (root / one).is_dir()]
    if (root / "src").is_dir() and any(_modules(root / "src")):
        found.append("src")
    return tuple(dict.fromkeys([*found, ""]))


def _configured_roots(root: Path) -> Iterator[str]:
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
    """Modules and packages directly in a folder, including namespace packages."""
    for one in sorted(folder.iterdir()):
        if one.suffix == ".py" or (one.is_dir() and one.name.isidentifier()):
            yield one


def _toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file; empty if it is missing, `BadInput` if it is invalid."""
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
