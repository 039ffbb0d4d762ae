"""The files of a project that go into a jail, which of them may be edited, and which are tests."""

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

from agent.core.domain import address
from agent.core.pytest_settings import CONFIGURATIONS
from agent.target.interpreter import ENVIRONMENTS
from agent.target.repository.git import GitFault, git
from agent.target.repository.helpers import helpers_of_tests
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
"""Names of files that hold keys: they go into no jail and no log."""
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
    """Path to text, in which bytes that are no UTF-8 stand as lone surrogates."""
    notices: tuple[str, ...] = ()
    """What was left out, in words."""
    only: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    links: frozenset[str] = frozenset()
    """Paths that are links to a file of the tree, which stands under its own path too."""

    @cached_property
    def editable(self) -> frozenset[str]:
        """What a repair may change: the modules that the project ships, but not its tests, nor
        what configures them."""
        shipped = {
            path for path in self.files
            if path.endswith(".py") and path not in self.links
            and not is_test_code(path, self.files[path], self.layout.test_files)
        }
        helpers = helpers_of_tests(self.files, shipped, self.layout) - {*self.only}
        return frozenset(path for path in shipped - helpers if self._may_edit(path))

    def _may_edit(self, path: str) -> bool:
        if self.only:
            return _matches(path, self.only) and not _matches(path, self.exclude)
        inside = any(
            path.startswith(f"{root}/") for root in self.layout.import_roots if root
        )
        apart = set(PurePosixPath(path).parts[:-1]) & NO_SOURCES
        return (inside or not apart) and not _matches(path, self.exclude)

    def without(self, paths: Iterable[str]) -> ProjectTree:
        """The same tree, of which these may not be edited."""
        return replace(self, exclude=(*self.exclude, *map(glob.escape, paths)))

    @cached_property
    def protected(self) -> Mapping[str, str]:
        """Files that no repair may touch: path to the address of its text."""
        return {
            path: address(text) for path, text in self.files.items() if path not in self.editable
        }


def is_test_code(path: str, text: str = "", test_files: Iterable[str] = TEST_FILES) -> bool:
    """Whether a file is tests', or configures them; a module that imports pytest is, and one with
    a test case. `test_files` are the patterns of names that pytest collects."""
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
    """Those that tell a test from a module: one that takes in every file, as doctests want it,
    does not."""
    return [one for one in patterns if not is_collected("__init__.py", (one,))]


def is_unittest(path: str, text: str) -> bool:
    """Whether `python -m unittest` finds a file's tests."""
    name = path.rpartition("/")[2]
    return name.startswith("test") and name.endswith(".py") and bool(_UNITTEST.search(text))


def is_collected(path: str, patterns: Iterable[str]) -> bool:
    """Whether pytest takes a file for tests by these patterns, as it matches them."""
    name = path.rpartition("/")[2]
    return any(
        fnmatch.fnmatch(f"/{path}" if "/" in one else name, f"*/{one}" if "/" in one else one)
        for one in patterns
    )


def read_tree(
    layout: ProjectLayout, only: Iterable[str] = (), exclude: Iterable[str] = ()
) -> ProjectTree:
    """A snapshot of what git tracks or would track, and of modules that it is told to ignore, which
    are often written by a build; of all files where there is no git."""
    files: dict[str, str] = {}
    notices: list[str] = []
    links: set[str] = set()
    total = 0
    top = Path(os.path.realpath(layout.root))
    paths, unlisted = _paths(layout.root)
    if unlisted:
        notices.append(unlisted)
    for path in paths:
        # Where it really lies: from here on no link is followed, so that none made later leads out.
        target = Path(os.path.realpath(top / path))
        if not target.is_relative_to(top) or not _is_wanted(target.relative_to(top).as_posix()):
            notices.append(f"{path} is left out: it links to what is no file of the tree")
            continue
        if may_hold_keys(path) or may_hold_keys(target.name):
            notices.append(f"{path} is left out: files of that name hold keys")
            continue
        try:
            with os.fdopen(_opened(top, target.relative_to(top)), "rb") as file:
                found = os.fstat(file.fileno())
                if not stat.S_ISREG(found.st_mode):
                    if target.is_dir() and target != top / path:
                        notices.append(f"{path} is left out: it links to a folder")
                    continue
                if found.st_size > MAX_FILE_BYTES:
                    notices.append(f"{path} is left out: {found.st_size / 1e6:.0f} MB are too many")
                    continue
                if len(files) >= MAX_FILES or total + found.st_size > MAX_BYTES:
                    notices.append(
                        f"{path} and what follows it are left out: a tree of more than "
                        f"{MAX_FILES} files or {MAX_BYTES // 1_000_000} MB is too large"
                    )
                    break
                files[path] = file.read(MAX_FILE_BYTES).decode("utf-8", "surrogateescape")
                total += found.st_size
                if target != top / path:
                    links.add(path)
        except OSError as error:
            notices.append(f"{path} is left out: {error.strerror}")
    return ProjectTree(
        layout, files, tuple(notices), tuple(only), tuple(exclude), frozenset(links & {*files})
    )


def _opened(top: Path, path: Path) -> int:
    """A descriptor of what lies at a path below a folder; no link on the way is followed."""
    folder = os.open(top, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for one in path.parts[:-1]:
            below = os.open(one, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
        # A pipe without a writer is not waited for.
        return os.open(path.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    finally:
        os.close(folder)


def may_hold_keys(path: str) -> bool:
    """Whether a file's name, or a folder that it lies in, says that there are keys in it."""
    *folders, name = PurePosixPath(path).parts
    if _SECRET_FOLDERS & {*folders}:
        return True
    # A module of such a name holds code.
    return name not in _HARMLESS and not name.endswith(".py") and any(
        fnmatch.fnmatch(name.lower(), one) for one in _SECRET
    )


def _paths(root: Path) -> tuple[list[str], str]:
    """Paths of files, modules first, so that what is too much is data; and why git, where there is
    one, could not say which files it would track."""
    unlisted = ""
    try:
        found = _by_git(root)
    except GitFault as error:
        found, unlisted = None, f"git cannot list the files, so all are taken: {error}"
    paths = _walked(root) if found is None else found
    return sorted(dict.fromkeys(paths), key=lambda path: (not path.endswith(".py"), path)), unlisted


def _by_git(root: Path) -> list[str] | None:
    if not any((one / ".git").exists() for one in (root, *root.parents)):
        return None
    listed: list[str] = []
    for flags in (["--cached", "--others", "--exclude-standard"],
                  ["--others", "--ignored", "--exclude-standard"]):
        said = git(root, "ls-files", "-z", *flags).decode("utf-8", "surrogateescape")
        paths = [path for path in said.split("\0") if path and _is_wanted(path)]
        ignored = "--ignored" in flags
        listed += [path for path in paths if not ignored or path.endswith(".py")]
    return [path for path in listed if (root / path).exists()]


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
