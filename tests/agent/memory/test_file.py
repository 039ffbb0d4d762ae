"""The file of the memory: bad and old ones are renamed, two writers get along."""

from __future__ import annotations

import errno
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from agent.memory import Memory, MemoryFault, file, open_memory
from agent.memory.file import APPLICATION, FORMAT, UnusableFile
from tests.agent.memory.conftest import Making


def put(path: Path, script: str) -> None:
    db = sqlite3.connect(path)
    db.executescript(script)
    db.close()


def filled(path: Path, fix: Making) -> None:
    memory = Memory(path)
    for number in range(200):
        memory.remember(fix(f"s{number}"))
    memory.close()


def truncate(path: Path, fix: Making) -> None:
    filled(path, fix)
    path.write_bytes(path.read_bytes()[: 4096 * 3 + 100])


def older(path: Path, fix: Making) -> None:
    filled(path, fix)
    put(path, "alter table fixes drop column rivals; pragma user_version = 2")


BAD: dict[str, Callable[[Path, Making], object]] = {
    "no SQLite file": lambda path, fix: path.write_bytes(b"hello " * 4000),
    "truncated": truncate,
    "another program's": lambda path, fix: put(path, "create table bookmarks(url text)"),
    "another's, with our table's name": lambda path, fix: put(path, "create table fixes(u text)"),
    "other tables under our mark": lambda path, fix: put(
        path, f"create table fixes(id integer); pragma application_id={APPLICATION}; "
        f"pragma user_version={FORMAT}"
    ),
    "one of an older version": older,
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_file_is_renamed_and_replaced(tmp_path: Path, fix: Making, kind: str) -> None:
    path = tmp_path / "memory.db"
    BAD[kind](path, fix)
    was = path.read_bytes()

    memory = open_memory(path)
    memory.remember(fix())

    (aside,) = tmp_path.glob("memory.db.broken-*Z")
    assert aside.name in memory.notice
    assert kind != "one of an older version" or {"2", str(FORMAT)} <= {*re.findall(
        r"\b\d+\b", memory.notice
    )}
    assert aside.read_bytes() == was
    assert len(memory.fixes()) == 1
    memory.close()
    again = Memory(path)
    assert (len(again.fixes()), again.notice) == (1, "")
    again.close()


def test_a_file_of_a_newer_version_stays_for_that_version(tmp_path: Path, fix: Making) -> None:
    path = tmp_path / "memory.db"
    filled(path, fix)
    put(path, f"alter table fixes add column more text; pragma user_version={FORMAT + 1}")
    was = path.read_bytes()

    memory = open_memory(path)
    memory.remember(fix())

    for fact in (str(path), str(FORMAT + 1), str(FORMAT)):
        assert fact in memory.notice
    assert len(memory.fixes()) == 1
    memory.close()
    assert path.read_bytes() == was
    assert [one.name for one in tmp_path.glob("*broken*")] == []
    with pytest.raises(MemoryFault):
        Memory(path)


def test_a_file_replaced_by_another_process_is_kept(
    tmp_path: Path, fix: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"no database" * 999)
    beating: list[bool] = []

    def beaten(path: Path) -> sqlite3.Connection:
        try:
            return opened(path)
        except UnusableFile:
            if not beating:
                beating.append(True)
                other = open_memory(path)  # just before this one would set it aside
                other.remember(fix())
                other.close()
            raise

    opened = file._open
    monkeypatch.setattr(file, "_open", beaten)
    memory = open_memory(path)
    assert (len(memory.fixes()), memory.notice) == (1, "")
    memory.close()


def no_lock(*_: object) -> None:
    raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


def test_without_locks_a_bad_file_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    path.write_bytes(b"no database " * 99)
    # As on a network that keeps no locks.
    monkeypatch.setattr(file, "fcntl", SimpleNamespace(flock=no_lock, LOCK_EX=2))
    memory = open_memory(path)
    memory.close()
    assert str(path) in memory.notice
    assert path.read_bytes() == b"no database " * 99


def test_an_earlier_broken_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    for content in (b"first " * 999, b"second " * 999):
        path.write_bytes(content)
        open_memory(path).close()
    kept = {one.read_bytes()[:5] for one in tmp_path.glob("memory.db.broken-*")}
    assert kept == {b"first", b"secon"}


def test_an_empty_file_is_a_new_memory(tmp_path: Path) -> None:
    (tmp_path / "memory.db").touch()
    memory = open_memory(tmp_path / "memory.db")
    assert (memory.notice, memory.fixes()) == ("", ())
    memory.close()


@pytest.mark.parametrize("spoil", [
    lambda path: path.mkdir(), lambda path: path.symlink_to("/proc/nowhere/memory.db"),
])
def test_a_file_that_cannot_be_opened_leaves_a_memory_that_is_not_kept(
    tmp_path: Path, fix: Making, spoil: Callable[[Path], None]
) -> None:
    path = tmp_path / "memory.db"
    spoil(path)
    memory = open_memory(path)
    assert str(path) in memory.notice
    memory.remember(fix())
    assert len(memory.fixes()) == 1
    memory.close()


def test_a_full_disk_is_a_fault_that_says_so(tmp_path: Path, fix: Making) -> None:
    memory = Memory(tmp_path / "memory.db")
    pages = memory._db.execute("pragma page_count").fetchone()[0]
    memory._db.execute(f"pragma max_page_count={pages}")
    with pytest.raises(MemoryFault, match=r"memory\.db.*full"):
        for number in range(50):
            memory.remember(fix(f"s{number}", before="def f(a, b):\n    return a + b\n" * 99))
    memory.close()


WRITER = """
import sys
from pathlib import Path
from agent.core.domain import Lesson
from agent.memory import FailureKey, Fix, Memory
memory = Memory(Path(sys.argv[1]))
for number in range(40):
    name = f"{sys.argv[2]}{number}"
    failure = FailureKey(signature=name, exception="wrong result")
    memory.remember(Fix(failure=failure, before="a = 1\\n", after="a = 2\\n", proof="E1"))
    memory.learn(Lesson(text=name, category="crash"))
memory.close()
"""


def test_processes_that_open_and_write_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in "ab"]
    assert [writer.wait(60) for writer in writers] == [0, 0]
    memory = Memory(path)
    assert (len(memory.fixes()), len(memory.lessons())) == (80, 80)
    memory.close()
