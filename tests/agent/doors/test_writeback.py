"""A healed program goes back whole or not at all, with a backup beside it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from agent.doors.writeback import Refused, write_back, write_new

BEFORE = b"x = 1\r\n"
AFTER = b"x = 2\r\n"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_bytes(BEFORE)
    return path


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_file_is_replaced_and_a_backup_kept(program: Path) -> None:
    backup = write_back(program, BEFORE, AFTER)

    assert program.read_bytes() == AFTER
    assert backup == program.with_name("program.py.heal-backup")
    assert backup.read_bytes() == BEFORE
    assert names(program.parent) == {"program.py", "program.py.heal-backup"}


def test_an_older_backup_is_never_overwritten(program: Path) -> None:
    first = write_back(program, BEFORE, AFTER)
    second = write_back(program, AFTER, b"x = 3\n")
    third = write_back(program, b"x = 3\n", b"x = 4\n")

    assert [path.name for path in (first, second, third)] == [
        "program.py.heal-backup", "program.py.heal-backup.1", "program.py.heal-backup.2",
    ]
    assert [path.read_bytes() for path in (first, second, third)] == [BEFORE, AFTER, b"x = 3\n"]


def test_permissions_are_kept(program: Path) -> None:
    program.chmod(0o750)

    write_back(program, BEFORE, AFTER)

    assert stat.S_IMODE(program.stat().st_mode) == 0o750


def test_a_file_that_changed_meanwhile_is_refused(program: Path) -> None:
    program.write_bytes(b"x = 'mine'\n")

    with pytest.raises(Refused, match="changed on disk"):
        write_back(program, BEFORE, AFTER)

    assert program.read_bytes() == b"x = 'mine'\n"
    assert names(program.parent) == {"program.py"}


def test_a_file_that_went_away_is_refused(program: Path) -> None:
    program.unlink()

    with pytest.raises(Refused):
        write_back(program, BEFORE, AFTER)

    assert names(program.parent) == set()


def test_a_read_only_file_is_refused_even_for_root(program: Path) -> None:
    program.chmod(0o444)

    with pytest.raises(Refused, match="read-only"):
        write_back(program, BEFORE, AFTER)

    assert program.read_bytes() == BEFORE


def test_a_symbolic_link_stays_one_and_its_target_is_healed(program: Path) -> None:
    folder = program.parent / "elsewhere"
    folder.mkdir()
    link = folder / "link.py"
    link.symlink_to(program)

    backup = write_back(link, BEFORE, AFTER)

    assert link.is_symlink()
    assert program.read_bytes() == AFTER
    assert backup.parent == program.parent


def test_a_failing_swap_leaves_the_file_and_no_litter(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(Refused, match="No space left"):
        write_back(program, BEFORE, AFTER)

    assert program.read_bytes() == BEFORE
    assert names(program.parent) <= {"program.py", "program.py.heal-backup"}


def test_a_new_file_is_not_written_over_another(tmp_path: Path) -> None:
    out = tmp_path / "out.py"
    write_new(out, BEFORE)

    with pytest.raises(Refused, match="--force"):
        write_new(out, AFTER)

    assert out.read_bytes() == BEFORE
    write_new(out, AFTER, overwrite=True)
    assert out.read_bytes() == AFTER


def test_a_folder_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="No such file"):
        write_new(tmp_path / "nowhere" / "out.py", BEFORE)
