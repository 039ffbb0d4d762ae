"""A repair as a commit on a new branch, by git's plumbing over an own index: no hook, filter or
signing program is started, nothing is fetched or pushed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.interfaces.writeback import NotWritten
from agent.target.repository.git import GitFault, git

PREFIX = "heal/"
_UNDERWAY = {
    "MERGE_HEAD": "a merge", "rebase-merge": "a rebase", "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert", "BISECT_LOG": "a bisection",
}


@dataclass(frozen=True)
class Edited:
    """A file of the project, what it held when it was read, and what it is to hold."""

    path: str
    before: bytes
    after: bytes


@dataclass(frozen=True)
class Committed:
    """Where a repair lies in a repository."""

    branch: str
    commit: str

    @property
    def words(self) -> str:
        """For people."""
        return (
            f"Committed as {self.commit[:10]} on the branch {self.branch}: your branch, index and "
            "files are as they were, no hook was run, and nothing is pushed."
        )


def refuse_what_cannot_be_committed(root: Path) -> None:
    """Raises `NotWritten` where no commit could be made, before anything runs."""
    _Repository(root).base()


def commit_edits(root: Path, edits: Sequence[Edited], message: str) -> Committed:
    """Commits these files on a new branch from HEAD. Raises: NotWritten: a file is not as HEAD has
    it."""
    repository = _Repository(root)
    base = repository.base()
    entries = [repository.entry(base, one) for one in edits]
    with tempfile.TemporaryDirectory(prefix="heal-index-") as folder:
        own = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        repository.git("read-tree", base, environment=own)
        for (mode, path), one in zip(entries, edits, strict=True):
            blob = repository.git("hash-object", "-w", "--stdin", stdin=one.after)
            repository.git(
                "update-index", "--cacheinfo", f"{mode},{blob},{path}", environment=own,
            )
        tree = repository.git("write-tree", environment=own)
    commit = repository.git("commit-tree", tree, "-p", base, "-F", "-", stdin=message.encode())
    branch = f"{PREFIX}{commit[:8]}"
    # The zeros say that there must be no such branch yet.
    repository.git("update-ref", "-m", "heal", f"refs/heads/{branch}", commit, "0" * len(commit))
    return Committed(branch, commit)


class _Repository:
    def __init__(self, root: Path) -> None:
        self._root = root

    def git(
        self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] = {},
    ) -> str:
        """What git says; raises `NotWritten` with its words where it fails."""
        try:
            said = git(self._root, *arguments, stdin=stdin, environment=environment)
        except GitFault as error:
            raise NotWritten(f"nothing was committed: {error}") from error
        return said.decode("utf-8", "surrogateescape").removesuffix("\n")

    def base(self) -> str:
        """The commit that HEAD names, once nothing is underway there."""
        try:
            base = self.git("rev-parse", "--verify", "HEAD^{commit}")
        except NotWritten as error:
            raise NotWritten(
                f"--commit: {self._root} lies in no git repository with a commit ({error})"
            ) from error
        folder = Path(self.git("rev-parse", "--absolute-git-dir"))
        for name, what in _UNDERWAY.items():
            if (folder / name).exists():
                raise NotWritten(f"--commit: {what} is underway in {self._root}; end it first.")
        return base

    def entry(self, base: str, edit: Edited) -> tuple[str, str]:
        """A file's mode, and its path from the top, where HEAD, index and tree agree on it."""
        prefix = self.git("rev-parse", "--show-prefix")
        path = f"{prefix}{edit.path}"
        head = self.git("ls-tree", "-z", "--full-tree", base, "--", path).rstrip("\0")
        staged = self.git("ls-files", "-s", "-z", "--", f":(top,literal){path}").rstrip("\0")
        mode, _, blob = head.partition("\t")[0].split(" ") if head else ("", "", "")
        if mode not in ("100644", "100755"):
            raise NotWritten(f"nothing was committed: HEAD has no file {edit.path}; add it first.")
        if staged.partition("\t")[0] != f"{mode} {blob} 0":
            raise NotWritten(
                f"nothing was committed: {edit.path} is staged otherwise than HEAD has it; commit "
                "or unstage it first."
            )
        if self.git("hash-object", "--stdin", stdin=edit.before) != blob:
            raise NotWritten(
                f"nothing was committed: {edit.path} is not as HEAD has it (changed, or stored "
                "through a filter or with other line ends); commit it first, or take the patch "
                "(--out)."
            )
        return mode, path
