"""Reads the files of a project for the sandbox; decides which may be edited and which are tests."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePosixPath

from agent.core.domain import digest
from agent.core.pytest_settings import CONFIGURATIONS
from agent.target.interpreter import ENVIRONMENTS
from agent.target.repository.git import GitError, git
from agent.target.repository.helpers import test_only_modules
from agent.target.repository.layout import NO_SOURCES, TEST_FILES, ProjectLayout

MAX_FILES = 2_000
MAX_BYTES = 24_000_000
MAX_FILE_BYTES = 2_000_000
"""Larger files, such as recordings and images, are left out."""
_LEFT_OUT = frozenset({
    ".git", ".hg", ".svn", ".tox", ".nox", ".mypy_cache", ".ruff_cache", ".pytest_cache",
    ".hypothesis", "__pycache__", "node_modules", "site-packages", *ENVIRONMENTS,
})
_SECRET = (
    ".env", ".env.*", "*.pem", "*.key", "id_rsa*", "id_ed25519*", ".netrc", ".pypirc",
    ".envrc", "*.env", "*credentials*", "secrets.*", "id_ecdsa*", ".npmrc", ".pgpass", "*.keystore",
    "*.p12", "*.pfx", ".htpasswd",
)
_SECRET_FOLDERS = frozenset({".aws", ".ssh", ".kube", ".docker", ".gnupg"})
"""Folders of files with secrets, which are neither read into the sandbox nor logged."""
_HARMLESS = (".env.example", ".env.sample", ".env.template", ".env.dist")
_TEST_FOLDERS = frozenset({"test", "tests", "testing"})
_FOR_TESTS = re.compile(r"^\s*(?:import|from) +_?pytest\b", re.MULTILINE)
_CASES = re.compile(r"^class \w+\(.*\bTestCase\b", re.MULTILINE)
_UNITTEST = re.compile(r"^\s*(?:import|from) +unittest\b", re.MULTILINE)
_SETTINGS = frozenset({*CONFIGURATIONS, "setup.py", "conftest.py", "noxfile.py"})


@dataclass(frozen=True)
class ProjectTree:
    """A snapshot of a project's files; paths are relative to its root, with forward slashes."""

    layout: ProjectLayout
    files: Mapping[str, str]
    """Path to text, with bytes outside UTF-8 as lone surrogates."""
    notices: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    links: frozenset[str] = frozenset()
    """Paths that are links to a file of the tree, which is also present under its own path."""

    @cached_property
    def editable(self) -> frozenset[str]:
        """The files that a repair may change: shipped modules, without tests and configuration."""
        shipped = {
            path for path in self.files
            if path.endswith(".py") and path not in self.links
            and not is_test_code(path, self.files[path], self.layout.test_files)
        }
        helpers = test_only_modules(self.files, shipped, self.layout) - {*self.only}
        return frozenset(path for path in shipped - helpers if self._may_edit(path))

    def _may_edit(self, path: str) -> bool:
        if self.only:
            return _matches(path, self.only) and not _matches(path, self.exclude)
        inside = any(path.startswith(f"{root}/") for root in self.layout.import_roots if root)
        not_shipped = set(PurePosixPath(path).parts[:-1]) & NO_SOURCES
        return (inside or not not_shipped) and not _matches(path, self.exclude)

    def excluding(self, paths: Iterable[str]) -> ProjectTree:
        """The tree in which these paths may not be edited."""
        return replace(self, exclude=(*self.exclude, *map(glob.escape, paths)))

    @cached_property
    def protected(self) -> Mapping[str, str]:
        """Files that no repair may change: path to the address of its text."""
        return {
            path: digest(text) for path, text in self.files.items() if path not in self.editable
        }


def is_test_code(path: str, text: str = "", test_files: Iterable[str] = TEST_FILES) -> bool:
    """Whether a file contains tests or their configuration.

    Also true for modules that import pytest or contain a `TestCase`. `test_files` are the patterns
    of files that pytest collects.
    """
    parts = PurePosixPath(path)
    name = parts.name
    return (
        name in _SETTINGS or is_collected(path, (*TEST_FILES, *distinguishing_patterns(test_files)))
        or name in ("test.py", "tests.py")
        or is_unittest(path, text)
        or any(part in _TEST_FOLDERS for part in parts.parts[:-1])
        or _FOR_TESTS.search(text) is not None or _CASES.search(text) is not None
    )


def distinguishing_patterns(patterns: Iterable[str]) -> list[str]:
    """The patterns that distinguish tests from modules, without those that match every file."""
    return [one for one in patterns if not is_collected("__init__.py", (one,))]


def is_unittest(path: str, text: str) -> bool:
    """Whether `python -m unittest` discovers the tests of a file."""
    name = path.rpartition("/")[2]
    return name.startswith("test") and name.endswith(".py") and bool(_UNITTEST.search(text))


def is_collected(path: str, patterns: Iterable[str]) -> bool:
    """Whether pytest collects a file by these patterns, matched in pytest's way."""
    name = path.rpartition("/")[2]
    return any(
        fnmatch.fnmatch(f"/{path}" if "/" in one else name, f"*/{one}" if "/" in one else one)
        for one in patterns
    )


def read_tree(
    layout: ProjectLayout, only: Iterable[str] = (), exclude: Iterable[str] = ()
) -> ProjectTree:
    """A snapshot of the files that git tracks or would track, or of all files without git.

    Ignored modules are included, since builds often generate them.
    """
    files: dict[str, str] = {}
    notices: list[str] = []
    links: set[str] = set()
    total = 0
    top = Path(os.path.realpath(layout.root))
    paths, git_failure = _paths(layout.root)
    if git_failure:
        notices.append(git_failure)
    fixtures = set[str]() if git_failure else _tracked_fixtures(layout.root, paths)
    for path in paths:
        # Links are resolved once and not followed later, so a new link cannot lead outside.
        target = Path(os.path.realpath(top / path))
        if not target.is_relative_to(top) or not _is_wanted(target.relative_to(top).as_posix()):
            notices.append(f"{path} was not included: it links outside the project's files")
            continue
        if (may_hold_keys(path) or may_hold_keys(target.name)) and path not in fixtures:
            notices.append(f"{path} was not included: files with this name may contain secrets")
            continue
        try:
            with os.fdopen(_open_without_links(top, target.relative_to(top)), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode):
                    if target.is_dir() and target != top / path:
                        notices.append(f"{path} was not included: it links to a folder")
                    continue
                if found.st_size > MAX_FILE_BYTES:
                    notices.append(
                        f"{path} was not included: it is too large ({found.st_size / 1e6:.0f} MB)"
                    )
                    continue
                if len(files) >= MAX_FILES or total + found.st_size > MAX_BYTES:
                    notices.append(
                        f"{path} and the files after it were not included: the limit is "
                        f"{MAX_FILES} files and {MAX_BYTES // 1_000_000} MB"
                    )
                    break
                files[path] = file.read(MAX_FILE_BYTES).decode("utf-8", "surrogateescape")
                total += found.st_size
                if target != top / path:
                    links.add(path)
        except OSError as error:
            notices.append(f"{path} was not included: {error.strerror}")
    return ProjectTree(
        layout, files, tuple(notices), tuple(only), tuple(exclude), frozenset(links & {*files})
    )


def _open_without_links(top: Path, path: Path) -> int:
    """Opens a path below a folder without following any link; returns the descriptor."""
    folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for one in path.parts[:-1]:
            below = os.open(one, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        # Does not block on a pipe without a writer.
        return os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)


def may_hold_keys(path: str) -> bool:
    """Whether the name of a file or of its folders suggests that it contains secrets."""
    *folders, name = PurePosixPath(path).parts
    if _SECRET_FOLDERS & {*folders}:
        return True
    # A module with such a name contains code.
    return name not in _HARMLESS and not name.endswith(".py") and any(
        fnmatch.fnmatch(name.lower(), one) for one in _SECRET
    )


def _paths(root: Path) -> tuple[list[str], str]:
    """Paths of files, modules first so that limits cut off data, and why git failed, if so."""
    failure = ""
    try:
        found = _by_git(root)
    except GitError as error:
        found, failure = None, f"git cannot list the files, so all files are included: {error}"
    paths = _walked(root) if found is None else found
    return sorted(dict.fromkeys(paths), key=lambda path: (not path.endswith(".py"), path)), failure


def _by_git(root: Path) -> list[str] | None:
    if not any((one / ".git").exists() for one in (root, *root.parents)):
        return None
    listed: list[str] = []
    for flags in (["--cached", "--others", "--exclude-standard"],
                  ["--others", "--ignored", "--exclude-standard"]):
        output = git(root, "ls-files", "-z", *flags).decode("utf-8", "surrogateescape")
        paths = [path for path in output.split("\0") if path and _is_wanted(path)]
        ignored = "--ignored" in flags
        listed += [path for path in paths if not ignored or path.endswith(".py")]
    return [path for path in listed if (root / path).exists()]


def _tracked_fixtures(root: Path, paths: Iterable[str]) -> set[str]:
    """Files in folders of tests that git tracks, although their names suggest secrets: fixtures."""
    named = [
        path for path in paths
        if may_hold_keys(path) and _TEST_FOLDERS & {*PurePosixPath(path).parts[:-1]}
    ]
    if not named or not any((one / ".git").exists() for one in (root, *root.parents)):
        return set()
    return {*os.fsdecode(git(root, "ls-files", "-z", "--cached", "--", *named)).split("\0")}


def _is_wanted(path: str) -> bool:
    return not _LEFT_OUT & {*PurePosixPath(path).parts[:-1]} and not path.endswith(".pyc")


def _walked(root: Path) -> Iterator[str]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(
            one for one in folders
            if one not in _LEFT_OUT and not one.endswith(".egg-info")
            and not os.path.exists(os.path.join(folder, one, "pyvenv.cfg"))
        )
        for name in sorted(names):
            if not name.endswith(".pyc"):
                yield (Path(folder, name)).relative_to(root).as_posix()


def _matches(path: str, patterns: Iterable[str]) -> bool:
    return any(
        fnmatch.fnmatch(path, one) or path.startswith(one.rstrip("/") + "/") or path == one
        for one in patterns
    )
