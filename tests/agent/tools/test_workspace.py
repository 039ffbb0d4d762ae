"""A private copy of a folder: confined, bounded, and the folder itself never touched."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from agent.target.errors import BadInput
from agent.target.repository.tree import MAX_BYTES, MAX_FILE_BYTES, MAX_FILES
from agent.tools.errors import BadPath, ToolError
from agent.tools.workspace import Workspace

SECRET = "what lies outside"


def git(folder: Path, *arguments: str, given: str = "") -> str:
    return subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments], cwd=folder, input=given,
        capture_output=True, text=True, check=True,
    ).stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    (made / "src/till").mkdir(parents=True)
    (made / "src/till/__init__.py").write_text("RATE = 2\n")
    (made / "data.bin").write_bytes(b"\xff\x00")
    (tmp_path / "secret.txt").write_text(SECRET)
    return made


def test_a_copy_holds_a_folders_files_and_where_modules_lie(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[project]\nname = "till"\n')
    copy = Workspace.copy_of(folder)
    assert copy.files == {
        "src/till/__init__.py": "RATE = 2\n", "data.bin": "\udcff\0",
        "pyproject.toml": '[project]\nname = "till"\n',
    }
    assert (copy.name, copy.import_roots) == ("till", ("src", ""))
    git(folder.parent, "init", "-q")  # of a larger repository it is copied alone
    assert {*Workspace.copy_of(folder / "src").files} == {"till/__init__.py"}
    for wrong in (folder / "none", folder / "data.bin"):
        with pytest.raises(BadInput):
            Workspace.copy_of(wrong)


def test_a_path_is_one_file_however_it_is_written_and_no_file_is_a_folder_too() -> None:
    copy = Workspace({"./a//b.py": "x"})
    assert (copy.read("a/./b.py"), {*copy.files}) == ("x", {"a/b.py"})
    for path in ("a/b.py/c", "a"):
        with pytest.raises(BadPath):
            copy.write(path, "")


@pytest.mark.parametrize("path", [
    ".git/config", "a/.GIT/hooks/x", ".hg/hgrc",
    "../secret.txt", "a/../../secret.txt", "a/..", "/etc/passwd", "//etc/passwd", "~/.ssh/id",
    "C:/x", "a\\..\\b", "..", ".", "", "/", "a/", "a\0b", "x" * 256, "/".join(["y" * 200] * 6),
    "\ud800",
])
def test_no_path_leads_out(path: str) -> None:
    copy = Workspace({"a/b.py": ""})
    with pytest.raises(BadPath):
        copy.write(path, "x")
    with pytest.raises(BadPath):
        copy.read(path)
    assert copy.files == {"a/b.py": ""}


def test_links_that_lead_out_and_pipes_are_left_out(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "link.txt").symlink_to("../secret.txt")
    (folder / "far").symlink_to("..")
    (folder / "round").symlink_to("round")
    (folder / "near.py").symlink_to("src/till/__init__.py")
    copy = Workspace.copy_of(folder)
    assert {*copy.files} == {"src/till/__init__.py", "data.bin", "near.py"}
    assert sum("link.txt" in notice for notice in copy.notices) == 1


def test_a_tracked_path_behind_a_link_is_left_out(folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub/secret.txt").write_text("harmless")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    (folder / "sub/secret.txt").unlink()
    (folder / "sub").rmdir()
    (folder / "sub").symlink_to("..")
    assert (folder / "sub/secret.txt").read_text() == SECRET
    assert SECRET not in Workspace.copy_of(folder).files.values()


@pytest.mark.parametrize("swapped", ["src/till/__init__.py", "src/till"])
def test_a_link_made_while_the_folder_is_read_is_not_followed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    outside = folder.parent / "outside"
    outside.mkdir()
    (outside / "__init__.py").write_text(SECRET)
    resolved = os.path.realpath

    def then_swapped(path: str | Path) -> str:
        """Where a path leads; right after that it leads elsewhere."""
        found = resolved(path)
        if found.endswith("__init__.py"):
            (folder / swapped).rename(folder.parent / "before")
            (folder / swapped).symlink_to(outside / "__init__.py" if ".py" in swapped else outside)
        return found

    monkeypatch.setattr(os.path, "realpath", then_swapped)
    copy = Workspace.copy_of(folder)
    assert (folder / "src/till/__init__.py").read_text() == SECRET
    assert {*copy.files} == {"data.bin"}
    assert "src/till/__init__.py" in copy.notices[0]


def test_a_repository_has_no_program_run_and_no_key_copied_by_any_name(folder: Path) -> None:
    git(folder, "init", "-q")
    (folder / ".env").write_text("KEY=1")
    (folder / "plain.txt").symlink_to(".env")
    (folder / "config.txt").symlink_to(".git/config")
    monitor = folder.parent / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {folder.parent}/ran\n")
    monitor.chmod(0o755)
    git(folder, "config", "core.fsmonitor", str(monitor))
    assert {*Workspace.copy_of(folder).files} == {"src/till/__init__.py", "data.bin"}
    assert not (folder.parent / "ran").exists()


def test_sizes_are_bounded() -> None:
    copy = Workspace({"a": "x"})
    with pytest.raises(ToolError, match=str(MAX_FILE_BYTES)):
        copy.write("a", "x" * (MAX_FILE_BYTES + 1))
    piece = "x" * MAX_FILE_BYTES
    for number in range(MAX_BYTES // MAX_FILE_BYTES - 1):
        copy.write(f"{number}", piece)
    copy.write("last", piece[:-1])
    with pytest.raises(ToolError, match=str(MAX_BYTES)):
        copy.write("a", "xy")
    copy.take_over({}, ["last"])
    copy.write("a", "xy")
    copy = Workspace({f"{number}": "" for number in range(MAX_FILES)})
    with pytest.raises(ToolError):
        copy.write("more", "")
    copy.write("1", "still")


def test_what_a_command_tells_of_files_is_held_to_the_same_rules() -> None:
    copy = Workspace({"a": "1", "b": "2"})
    made = copy.take_over(
        {"../out": "x", "/etc/passwd": "x", "b/c": "3", "\ud800": ""}, ["b", "none"], ["link"]
    )
    assert (made["written"], made["removed"], len(made["notes"])) == (["b/c"], ["b"], 4)
    assert copy.files == {"a": "1", "b/c": "3"}


def test_the_diff_is_what_git_applies(folder: Path) -> None:
    (folder / "data.bin").unlink()
    (folder / "old.txt").write_text("one\ntwo")
    copy = Workspace.copy_of(folder)
    assert copy.diff == ""
    copy.write("src/till/__init__.py", "RATE = 3\n")
    copy.write("new/er.txt", "hello")
    copy.take_over({}, ["old.txt"])
    # Changes stay in the copy until they are applied.
    assert (folder / "src/till/__init__.py").read_text() == "RATE = 2\n"
    assert sorted(path.name for path in folder.iterdir()) == ["old.txt", "src"]
    git(folder, "apply", given=copy.diff)
    assert not (folder / "old.txt").exists()
    assert Workspace.copy_of(folder).files == copy.files
