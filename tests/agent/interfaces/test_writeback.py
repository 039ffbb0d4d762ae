"""A healed program goes back whole or not at all, with a backup beside it."""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from agent.interfaces.writeback import (
    Change,
    NotWritten,
    write_all_back,
    write_all_new,
    write_back,
    write_new,
)

BEFORE = b"x = 1\r\n"
AFTER = b"x = 2\r\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_bytes(BEFORE)
    return path


def test_permissions_a_link_and_older_backups_are_kept(program: Path) -> None:
    program.chmod(0o750)
    (program.parent / "elsewhere").mkdir()
    link = program.parent / "elsewhere" / "link.py"
    link.symlink_to(program)
    first = write_back(link, BEFORE, AFTER)
    second = write_back(program, AFTER, b"x = 3\n")
    third = write_back(program, b"x = 3\n", b"x = 4\n")

    assert [path.name for path in (first, second, third)] == [
        "program.py.heal-backup", "program.py.heal-backup.1", "program.py.heal-backup.2",
    ]
    assert [path.read_bytes() for path in (first, second, third)] == [BEFORE, AFTER, b"x = 3\n"]
    assert program.read_bytes() == b"x = 4\n"
    assert (link.is_symlink(), stat.S_IMODE(program.stat().st_mode)) == (True, 0o750)
    assert {one.name for one in program.parent.iterdir() if one.is_file()} == {
        "program.py", first.name, second.name, third.name
    }


def changed(folder: Path, *names: str) -> list[Change]:
    """Changes of files that hold what they held when they were read."""
    for name in names:
        (folder / name).write_bytes(BEFORE)
    return [
        Change(folder / name, BEFORE, AFTER, folder / "kept", folder) for name in names
    ]


@pytest.mark.parametrize("spoil", [
    lambda path: path.chmod(0o444), lambda path: path.write_bytes(b"other\n"),
    lambda path: path.unlink(),
], ids=["read-only, even for root", "changed", "gone"])
def test_several_files_are_written_or_none(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    changes = changed(tmp_path, "a.py", "b.py")
    first, second = (one.path for one in changes)
    spoil(second)
    spoilt = second.read_bytes() if second.exists() else None
    with pytest.raises(NotWritten, match=r"b\.py"):
        write_all_back(changes)
    assert first.read_bytes() == BEFORE
    assert (second.read_bytes() if second.exists() else None) == spoilt
    second.unlink(missing_ok=True)
    second.write_bytes(BEFORE)
    backups = write_all_back(changes)
    assert [path.read_bytes() for path in (first, second)] == [AFTER, AFTER]
    assert [backups[path].read_bytes() for path in (first, second)] == [BEFORE, BEFORE]
    assert {one.parent for one in backups.values()} == {tmp_path / "kept"}


def test_nothing_is_written_where_a_link_leads_out_of_the_tree(tmp_path: Path) -> None:
    tree, outside = tmp_path / "tree", tmp_path / "outside"
    tree.mkdir()
    outside.mkdir()
    (outside / "m.py").write_bytes(BEFORE)
    (tree / "sub").symlink_to(outside)
    with pytest.raises(NotWritten):
        write_all_back([Change(tree / "sub/m.py", BEFORE, AFTER, tmp_path / "kept", tree)])
    assert (outside / "m.py").read_bytes() == BEFORE


class Full:
    """A disk on which nothing more has a place, from the given write on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, after: int) -> None:
        self.left = after
        self.sync = os.fsync
        monkeypatch.setattr(os, "fsync", self.fsync)

    def fsync(self, handle: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise OSError(28, "No space left on device")
        self.sync(handle)


@pytest.mark.parametrize(("writes", "texts", "facts"), [
    (0, [BEFORE, BEFORE, BEFORE], r"a\.py"),
    # What would be given back has no place: it is told where it is.
    (1, [AFTER, BEFORE, BEFORE], r"b\.py.*a\.py.*a\.py\.heal-backup"),
])
def test_a_full_disk_loses_nothing(
    writes: int, texts: list[bytes], facts: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = changed(tmp_path, "a.py", "b.py", "c.py")
    Full(monkeypatch, writes)
    with pytest.raises(NotWritten, match=facts):
        write_all_back(changes)
    assert [one.path.read_bytes() for one in changes] == texts
    assert {one.name for one in tmp_path.iterdir()} <= {"a.py", "b.py", "c.py", "kept"}


def test_of_two_heals_at_once_the_second_is_refused(tmp_path: Path) -> None:
    (change,) = changed(tmp_path, "a.py")
    path = change.path
    holding = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(holding, fcntl.LOCK_EX)
    with ThreadPoolExecutor() as threads:
        second = threads.submit(write_all_back, [change])
        # The first one writes while it holds the folder, and the second has to wait for it.
        write_back(path, BEFORE, b"x = 3\n", tmp_path / "kept")
        os.close(holding)
        with pytest.raises(NotWritten):
            second.result()
    assert path.read_bytes() == b"x = 3\n"


def test_a_new_file_is_not_written_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("there is no /dev/full here")
    out = tmp_path / "out.py"
    opened = Path.open

    def on_a_full_disk(path: Path, mode: str = "r", *more: Any, **named: Any) -> Any:
        opened(path, mode).close()
        return opened(full, "wb")

    monkeypatch.setattr(Path, "open", on_a_full_disk)
    with pytest.raises(NotWritten):
        write_new(out, BEFORE)
    assert not out.exists()


def test_a_new_file_is_not_written_over_another(tmp_path: Path) -> None:
    out = tmp_path / "out.py"
    write_new(out, BEFORE)

    with pytest.raises(NotWritten, match="--force"):
        write_new(out, AFTER)

    assert out.read_bytes() == BEFORE
    write_new(out, AFTER, overwrite=True)
    assert out.read_bytes() == AFTER
    with pytest.raises(NotWritten):
        write_new(tmp_path / "nowhere" / "out.py", BEFORE)


def test_files_of_a_program_never_overwrite_existing_ones(tmp_path: Path) -> None:
    folder = tmp_path / "made"
    texts = {"shapes/__init__.py": b"", "shapes/base.py": b"x = 1\n"}
    write_all_new(folder, texts)
    assert {
        one.relative_to(folder).as_posix(): one.read_bytes()
        for one in folder.rglob("*") if one.is_file()
    } == texts
    with pytest.raises(NotWritten, match=r"__init__\.py.*--force"):
        write_all_new(folder, {"new.py": b"", **texts})
    assert not (folder / "new.py").exists()
    write_all_new(folder, {"shapes/base.py": b"x = 2\n"}, overwrite=True)
    assert (folder / "shapes/base.py").read_bytes() == b"x = 2\n"


def test_files_of_a_program_do_not_follow_a_link_out_of_their_folder(tmp_path: Path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "made/shapes").symlink_to(tmp_path / "other", target_is_directory=True)
    with pytest.raises(NotWritten):
        write_all_new(tmp_path / "made", {"shapes/base.py": b"x = 1\n"})
    assert [*(tmp_path / "other").iterdir()] == []
