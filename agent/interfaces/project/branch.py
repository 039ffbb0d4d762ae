"""Commits a repair on a new branch with git plumbing commands and a separate index. No hook, filter
or signing program runs; nothing is fetched or pushed."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.interfaces.writeback import NotWritten
from agent.target.repository.git import GitError, git

PREFIX = "heal/"
_IN_PROGRESS = {
    "MERGE_HEAD": "a merge", "rebase-merge": "a rebase", "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert", "BISECT_LOG": "a bisection",
}


@dataclass(frozen=True)
class Edited:
    """A file of the project, with its content before and after the repair."""

    path: str
    before: bytes
    after: bytes


@dataclass(frozen=True)
class Committed:
    """The commit of a repair."""

    branch: str
    commit: str

    @property
    def message(self) -> str:
        return (
            f"Committed as {self.commit[:10]} on the branch {self.branch}. Your branch, index and "
            "files did not change; no hook ran and nothing was pushed."
        )


def check_committable(root: Path) -> None:
    """Raises `NotWritten` if no commit is possible, before anything runs."""
    repository = _Repository(root)
    repository.base()
    for identity in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        repository.git("var", identity)


def commit_edits(root: Path, edits: Sequence[Edited], message: str) -> Committed:
    """Commits these files on a new branch of HEAD. Raises `NotWritten` if one differs."""
    repository = _Repository(root)
    base = repository.base()
    entries = [repository.entry(base, one) for one in edits]
    with tempfile.TemporaryDirectory(prefix="heal-index-") as folder:
        environment = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        repository.git("read-tree", base, environment=environment)
        for (mode, path), one in zip(entries, edits, strict=True):
            blob = repository.git("hash-object", "-w", "--stdin", stdin=one.after)
            repository.git(
                "update-index", "--cacheinfo", f"{mode},{blob},{path}", environment=environment,
            )
        tree = repository.git("write-tree", environment=environment)
    commit = repository.git("commit-tree", tree, "-p", base, "-F", "-", stdin=message.encode())
    branch = f"{PREFIX}{commit[:8]}"
    # With zeros as the old value, git fails if the branch exists.
    repository.git("update-ref", "-m", "heal", f"refs/heads/{branch}", commit, "0" * len(commit))
    return Committed(branch, commit)


class _Repository:
    def __init__(self, root: Path) -> None:
        self._root = root

    def git(self, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] = {}) -> str:
        """Returns the output of a git command. Raises `NotWritten` if it failed."""
        try:
            output = git(self._root, *arguments, stdin=stdin, environment=environment)
        except GitError as error:
            raise NotWritten(f"nothing was committed: {error}") from error
        return output.decode("utf-8", "surrogateescape").removesuffix("\n")

    def base(self) -> str:
        """Returns the commit of HEAD. Raises `NotWritten` during a merge or the like."""
        try:
            base = self.git("rev-parse", "--verify", "HEAD^{commit}")
        except NotWritten as error:
            raise NotWritten(
                f"--commit: {self._root} is not in a git repository with a commit ({error})"
            ) from error
        folder = Path(self.git("rev-parse", "--absolute-git-dir"))
        for name, what in _IN_PROGRESS.items():
            if (folder / name).exists():
                raise NotWritten(f"--commit: {what} is in progress in {self._root}; end it first.")
        return base

    def entry(self, base: str, edit: Edited) -> tuple[str, str]:
        """Returns a file's mode and its path in the repository. Raises `NotWritten` if HEAD, index
        and work tree differ."""
        prefix = self.git("rev-parse", "--show-prefix")
        path = f"{prefix}{edit.path}"
        head = self.git("ls-tree", "-z", "--full-tree", base, "--", path).rstrip("\0")
        staged = self.git("ls-files", "-s", "-z", "--", f":(top,literal){path}").rstrip("\0")
        mode, _, blob = head.partition("\t")[0].split(" ") if head else ("", "", "")
        if mode not in ("100644", "100755"):
            raise NotWritten(f"nothing was committed: {edit.path} is not in HEAD. Commit it first.")
        if staged.partition("\t")[0] != f"{mode} {blob} 0":
            raise NotWritten(
                f"nothing was committed: {edit.path} has staged changes. Commit or unstage them "
                "first."
            )
        if self.git("hash-object", "--stdin", stdin=edit.before) != blob:
            raise NotWritten(
                f"nothing was committed: {edit.path} differs from HEAD (changed, filtered, or with "
                "other line endings). Commit it first, or write a patch (--out)."
            )
        return mode, path
