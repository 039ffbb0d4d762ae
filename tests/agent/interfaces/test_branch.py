"""A repair becomes a commit beside the user's work, and nothing that the repository names runs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from agent.core.domain import Evidence, Report
from agent.interfaces.project.branch import Edited, check_committable, commit_edits
from agent.interfaces.project.display import commit_message
from agent.interfaces.writeback import NotWritten
from agent.report.result import Result
from tests.agent.search.project.small_project import PROJECT
from tests.agent.values import verdict

EDIT = Edited("till.py", b"x = 1\n", b"x = 2\n")


def git(root: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(root), "-c", "user.name=A", "-c", "user.email=a@b.c", *arguments],
        check=True, capture_output=True, text=True,
    ).stdout.strip()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in (("NAME", "A"), ("EMAIL", "a@b.c")):
        monkeypatch.setenv(f"GIT_AUTHOR_{name}", value)
        monkeypatch.setenv(f"GIT_COMMITTER_{name}", value)
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "below").mkdir()
    (tmp_path / "till.py").write_text("x = 1\n")
    (tmp_path / "below/run.py").write_text("y = 1\n")
    (tmp_path / "below/run.py").chmod(0o755)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "begun")
    return tmp_path


def test_a_commit_lies_on_a_branch_of_its_own_and_all_else_is_as_it_was(root: Path) -> None:
    (root / "new.txt").write_text("staged")
    git(root, "add", "new.txt")
    (root / "loose.txt").write_text("not tracked")
    before = git(root, "status", "--porcelain", "-b"), git(root, "rev-parse", "HEAD")
    index = (root / ".git/index").read_bytes()

    made = commit_edits(root / "below", [Edited("run.py", b"y = 1\n", b"y = 2\n")], "why\n\nhow\n")

    assert (root / ".git/index").read_bytes() == index
    assert (git(root, "status", "--porcelain", "-b"), git(root, "rev-parse", "HEAD")) == before
    assert made.branch == f"heal/{made.commit[:8]}"
    assert git(root, "rev-parse", made.branch, f"{made.branch}^") == f"{made.commit}\n{before[1]}"
    assert git(root, "diff", "--stat=200", "main", made.branch).split("\n")[0].split() == [
        "below/run.py", "|", "2", "+-"
    ]
    assert git(root, "ls-tree", made.branch, "below/run.py").startswith("100755")
    assert git(root, "show", "-s", "--format=%an|%B", made.branch) == "A|why\n\nhow"


def test_nothing_that_a_repository_names_is_started(root: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    program = root / ".git/program"
    program.write_text(f"#!/bin/sh\necho $0 >> {ran}\ncat\n")
    program.chmod(0o755)
    hooks = root / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("pre-commit", "commit-msg", "post-commit", "post-index-change",
                 "reference-transaction", "prepare-commit-msg", "post-rewrite"):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    (root / ".git/info").mkdir(exist_ok=True)
    (root / ".git/info/attributes").write_text("*.py filter=own diff=own\n")
    for key, value in (
        ("filter.own.clean", program), ("filter.own.smudge", program),
        ("diff.own.textconv", program),
        ("core.fsmonitor", program), ("gpg.program", program), ("commit.gpgSign", "true"),
        ("core.editor", program), ("core.hooksPath", hooks),
    ):
        with (root / ".git/config").open("a") as config:
            section, *middle, last = key.split(".")
            name = f'{section} "{middle[0]}"' if middle else section
            config.write(f"[{name}]\n\t{last} = {value}\n")

    commit_edits(root, [EDIT], "why\n")

    assert not ran.exists(), ran.read_text()


@pytest.mark.parametrize("spoil", [
    lambda root: (root / "till.py").write_text("x = 3\n") and git(root, "add", "till.py"),
    lambda root: git(root, "rm", "-q", "--cached", "till.py"),
    lambda root: (git(root, "mv", "till.py", "a.py"), git(root, "commit", "-q", "-m", "moved")),
    lambda root: (root / ".git/MERGE_HEAD").write_text("0" * 40),
    lambda root: (root / ".git/rebase-merge").mkdir(),
    lambda root: git(root, "checkout", "-q", "--orphan", "new"),
], ids=["staged", "removed", "moved", "amid a merge", "amid a rebase", "no commit"])
def test_a_file_unlike_head_is_refused(spoil: Callable[[Path], object], root: Path) -> None:
    spoil(root)
    with pytest.raises(NotWritten):
        commit_edits(root, [EDIT], "why\n")
    assert "heal/" not in git(root, "branch", "--list", "heal/*")


def test_what_was_read_must_be_what_head_has(root: Path, tmp_path: Path) -> None:
    with pytest.raises(NotWritten, match=r"till\.py"):
        commit_edits(root, [Edited("till.py", b"x = 1\r\n", b"x = 2\r\n")], "why\n")
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    with pytest.raises(NotWritten):
        check_committable(outside)


def test_a_missing_identity_is_reported_before_the_search(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_committable(root)
    monkeypatch.setenv("GIT_AUTHOR_NAME", " ")
    with pytest.raises(NotWritten):
        check_committable(root)


def test_a_commit_message_names_the_tests_the_edit_and_the_proof() -> None:
    result = Result(
        outcome="healed", proof="E1", edit="became `a; b` in line 2 (till.py)",
        report=Report(solution="", verdicts=(
            verdict("passed", "t.py::a", integrity="in-process"),
        )),
        evidence=Evidence(competing_patches=2),
    )
    failed = {"t.py::a": {"message": "no\x1b[1m\n\nwhy"}, "t.py::b": {}}
    text = commit_message(result, failed, PROJECT)
    subject, blank, *_ = text.split("\n")
    assert "t.py::a" in subject and blank == ""
    assert "\x1b" not in text
    for fact in ("t.py::b", "why", "became `a; b` in line 2 (till.py)", "E1", "in-process"):
        assert fact in text
    long = commit_message(result, {"t.py::" + "a" * 100: {}}, PROJECT).split("\n")[0]
    assert len(long) == 72
