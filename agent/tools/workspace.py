"""A private copy of a folder's files, on which tools work.

The copy is held in memory and written into the jail of each command. Commands share no folder with
the user, so links and races cannot do harm. The user's folder is read once, and never changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from agent.core.domain import unified
from agent.target.errors import BadInput
from agent.target.interpreter import find_interpreter
from agent.target.repository.grants import grants_of
from agent.target.repository.layout import layout_at
from agent.target.repository.tree import MAX_BYTES, MAX_FILE_BYTES, MAX_FILES, read_tree
from agent.tools.errors import BadPath, ToolError

VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".bzr", ".jj"})
"""Folders whose files can name programs that a version control system starts."""
MAX_PATH = 1_000
MAX_NAME = 255


class Workspace:
    """The current files of a folder, by relative paths with forward slashes.

    Bytes that are not UTF-8 are lone surrogates in a text (`surrogateescape`).
    """

    def __init__(
        self, files: Mapping[str, str] | None = None, *, name: str = "workspace",
        import_roots: tuple[str, ...] = ("",), package_folders: tuple[str, ...] = (),
        loopback: bool = False, notices: tuple[str, ...] = (),
    ) -> None:
        self.name = name
        self.import_roots = import_roots
        """Folders that modules are imported from; "" is the top."""
        self.package_folders = package_folders
        self.loopback = loopback
        """Whether tests may use a network of their own."""
        self.notices = notices
        self._files: dict[str, str] = {}
        self._bytes = 0
        for path, text in (files or {}).items():
            self.write(path, text)
        self._initial = dict(self._files)

    @classmethod
    def copy_of(cls, folder: str | Path, python: str = "") -> Workspace:
        """A copy of a folder's files; in a git repository, those that git would track.

        `python` names an interpreter whose packages the code may import; the default is the
        folder's own, or this one. Raises `agent.target.BadInput`.
        """
        layout = layout_at(Path(folder))
        interpreter = find_interpreter(layout.root, python)
        if interpreter.python:
            raise BadInput(
                f"tools run code with their own Python, but the folder uses "
                f"{interpreter.words}; install this package there and start it from there"
            )
        tree = read_tree(layout)
        files, notices = {}, [*tree.notices]
        for path, text in tree.files.items():
            try:
                files[checked_path(path)] = text
            except BadPath as error:
                notices.append(f"left out: {error}")
        return cls(
            files, name=layout.name, import_roots=layout.import_roots,
            package_folders=interpreter.package_folders,
            loopback=grants_of(layout.settings, layout.root).loopback, notices=tuple(notices),
        )

    @property
    def files(self) -> Mapping[str, str]:
        """Path to text, of every file; a copy."""
        return dict(self._files)

    @property
    def diff(self) -> str:
        """The changes since the copy was made, as a patch for `git apply`."""
        return "".join(
            _patch(path, self._initial.get(path), self._files.get(path)) for path in self.changed
        )

    @property
    def changed(self) -> Mapping[str, tuple[str, str]]:
        """The changed files: each path with its text before and now, empty where missing."""
        return {
            path: (self._initial.get(path, ""), self._files.get(path, ""))
            for path in sorted(self._initial.keys() | self._files.keys())
            if self._initial.get(path) != self._files.get(path)
        }

    def read(self, path: str) -> str:
        """The text of a file; raises `ToolError` where there is none."""
        path = checked_path(path)
        if path not in self._files:
            raise ToolError(f"there is no file {path}; `file_list` shows which there are")
        return self._files[path]

    def write(self, path: str, text: str) -> None:
        """Writes a file; raises `ToolError` for an invalid path or size."""
        path = checked_path(path)
        try:
            size = len(text.encode("utf-8", "surrogateescape"))
        except UnicodeEncodeError as error:
            raise ToolError(f"the text for {path} cannot be written as UTF-8: {error}") from error
        if size > MAX_FILE_BYTES:
            raise ToolError(f"{path} would have {size} bytes; at most {MAX_FILE_BYTES} are allowed")
        if path not in self._files:
            self._refuse_new(path)
        total = self._bytes + size - _size(self._files.get(path, ""))
        if total > MAX_BYTES:
            raise ToolError(f"with {path}, the files together would exceed {MAX_BYTES} bytes")
        self._files[path], self._bytes = text, total

    def restore(self, files: Mapping[str, str]) -> None:
        """Replaces all files by `files`, an earlier state of the workspace."""
        self._files = dict(files)
        self._bytes = sum(map(_size, self._files.values()))

    def take_over(
        self, changed: Mapping[str, str], removed_paths: Iterable[str], left_out: Iterable[str] = ()
    ) -> dict[str, list[str]]:
        """Applies the changes that a command reported.

        Returns:
            The paths that were `written` and `removed`, and `notes` on changes that were refused.
        """
        notes = [f"{path} is not a regular file, or is too large" for path in left_out]
        # Removals come first: a file may have become a folder.
        removed = sorted(path for path in removed_paths if path in self._files)
        for path in removed:
            self._bytes -= _size(self._files.pop(path))
        written = []
        for path, text in sorted(changed.items()):
            try:
                self.write(path, text)
                written.append(path)
            except ToolError as error:
                notes.append(str(error))
        return {"written": written, "removed": removed, "notes": notes}

    def _refuse_new(self, path: str) -> None:
        if len(self._files) >= MAX_FILES:
            raise ToolError(f"there are {MAX_FILES} files already; more are not allowed")
        above = next((str(one) for one in PurePosixPath(path).parents if str(one) in self._files),
                     "")
        if above:
            raise BadPath(f"{path} cannot be written: {above} is a file")
        below = f"{path}/"
        if any(one.startswith(below) for one in self._files):
            raise BadPath(f"{path} is a folder")


def checked_path(path: str) -> str:
    """A normalised path; raises `BadPath` for one outside of the workspace, or an invalid one."""
    if path.startswith(("/", "~")) or "\\" in path or path[1:2] == ":":
        raise BadPath(f"{path!r} is not a relative path with forward slashes")
    parts = [one for one in path.split("/") if one not in ("", ".")]
    if ".." in parts:
        raise BadPath(f"{path!r} leads out of the workspace; use a path without `..`")
    if VERSION_CONTROL & {one.lower() for one in parts}:
        raise BadPath(f"{path!r} belongs to version control; name a file of the program")
    try:
        longest = max((len(os.fsencode(one)) for one in parts), default=0)
    except UnicodeEncodeError:
        longest = MAX_NAME + 1
    if not parts or path.endswith("/") or "\0" in path or longest > MAX_NAME \
            or len(path) > MAX_PATH:
        raise BadPath(f"{path[:100]!r} is not a file name")
    return "/".join(parts)


def is_inside(path: str) -> bool:
    """Whether a path is valid in a workspace and normalised."""
    try:
        return checked_path(path) == path
    except BadPath:
        return False


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def _patch(path: str, before: str | None, after: str | None) -> str:
    text = unified(path, before or "", after or "")
    for side, is_absent in (("--- a/", before is None), ("+++ b/", after is None)):
        if is_absent:
            text = text.replace(f"{side}{path}\n", f"{side[:4]}/dev/null\n", 1)
    return text
