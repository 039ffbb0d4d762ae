"""Opens the memory's SQLite file. A damaged, foreign or older file is renamed and a new one is
created; a newer file is an error. Nothing is deleted or overwritten."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.core.sqlite import LOCK_TIMEOUT_S, use_wal, write_transaction

FORMAT = 6
"""The version of the tables."""
APPLICATION = 0x6865616C

_TABLES = (
    """
create table fixes(
    id integer primary key,
    signature text not null, alike text not null,
    exception text not null, message text not null, place text not null, shape text not null,
    before text not null, after text not null, note text not null,
    proof_before text not null, proof_after text not null, confidence real not null,
    standing text not null default 'unknown', rivals text not null default '',
    successes integer not null default 0, failures integer not null default 0,
    transfers integer not null default 0, misfits integer not null default 0,
    created real not null, used real,
    project text not null default '', path text not null default '',
    others text not null default '[]',
    origin text not null default 'own', trusted integer not null default 1,
    version integer not null, unique(signature, after))""",
    "create index fixes_alike on fixes(alike)",
    """
create table lessons(
    id integer primary key, text text not null, category text not null,
    words text not null, names text not null,
    created real not null, origin text not null default 'own', unique(text, category))""",
    """
create virtual table lesson_index using fts5(
    words, names, content='lessons', content_rowid='id', tokenize='porter unicode61')""",
    """
create trigger lesson_added after insert on lessons begin
    insert into lesson_index(rowid, words, names) values(new.id, new.words, new.names);
end""",
    """
create trigger lesson_removed after delete on lessons begin
    insert into lesson_index(lesson_index, rowid, words, names)
    values('delete', old.id, old.words, old.names);
end""",
    """
create trigger lesson_changed after update on lessons begin
    insert into lesson_index(lesson_index, rowid, words, names)
    values('delete', old.id, old.words, old.names);
    insert into lesson_index(rowid, words, names) values(new.id, new.words, new.names);
end""",
    f"pragma application_id={APPLICATION}",
    f"pragma user_version={FORMAT}",
)
_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})


class MemoryFault(Exception):
    """The memory's file cannot be read or written; a run continues without it."""


class UnusableFile(MemoryFault):
    """The file is damaged, of an older version, or of another program."""


def open_file(path: Path) -> tuple[sqlite3.Connection, str]:
    """Connects to the file; also returns a notice if an unusable file was renamed. Raises:
    MemoryFault."""
    try:
        return _open(path), ""
    except UnusableFile as error:
        with _locked(path, error):
            try:
                return _open(path), ""  # another process has created a new file meanwhile
            except UnusableFile as fault:
                renamed = _rename(path)
                return _open(path), (
                    f"The fix memory {path} {fault}. It was renamed to {renamed.name}, and a new "
                    "memory was created."
                )


@contextmanager
def _locked(path: Path, fault: UnusableFile) -> Iterator[None]:
    """Locks the folder, as a second process would rename the file that the first has created."""
    with ExitStack() as stack:
        try:
            folder = os.open(path.parent, os.O_RDONLY)
            stack.callback(os.close, folder)
            fcntl.flock(folder, fcntl.LOCK_EX)
        except OSError as error:
            raise MemoryFault(
                f"The fix memory {path} {fault}. It cannot be renamed, because its folder cannot "
                f"be locked ({error}). Rename the file to start a new memory."
            ) from error
        yield


def open_temporary() -> sqlite3.Connection:
    """Opens an in-memory database, which is lost when the process ends."""
    db = _connect(":memory:")
    for statement in _TABLES:
        db.execute(statement)
    return db


@contextmanager
def memory_faults(name: str) -> Iterator[None]:
    """Converts SQLite errors to `MemoryFault`."""
    try:
        yield
    except sqlite3.Error as error:
        raise MemoryFault(f"The fix memory {name} cannot be used: {error}.") from error


def _connect(name: str) -> sqlite3.Connection:
    db = sqlite3.connect(name, timeout=LOCK_TIMEOUT_S, isolation_level=None)
    db.row_factory = sqlite3.Row
    # Text that is not UTF-8 makes one row invalid, and must not end the reading.
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return db


def _open(path: Path) -> sqlite3.Connection:
    try:
        db = _connect(str(path))
    except sqlite3.Error as error:
        raise MemoryFault(f"The fix memory {path} cannot be opened: {error}.") from error
    try:
        is_new = _is_new(db, path)  # before any change of the file
        use_wal(db)
        db.execute("pragma synchronous=normal")
        db.execute("pragma secure_delete=on")
        if is_new:
            with write_transaction(db):
                if _is_new(db, path):  # another process may have created the tables meanwhile
                    for statement in _TABLES:
                        db.execute(statement)
    except sqlite3.Error as error:
        db.close()
        if error.sqlite_errorcode & 0xFF in _BROKEN:
            raise UnusableFile(f"is damaged or not an SQLite file ({error})") from error
        raise MemoryFault(f"The fix memory {path} cannot be used: {error}.") from error
    except MemoryFault:
        db.close()
        raise
    return db


def _is_new(db: sqlite3.Connection, path: Path) -> bool:
    """Whether a file has no tables yet; otherwise it has the tables of this version.

    Raises:
        UnusableFile: The file is damaged, older, or of another program.
        MemoryFault: The file is of a newer version.
    """
    result = str(db.execute("pragma quick_check(1)").fetchone()[0])
    if result != "ok":
        raise UnusableFile(f"is damaged ({result.splitlines()[-1]})")
    version, application = _pragma(db, "user_version"), _pragma(db, "application_id")
    tables = _tables(db)
    if not (application or version or tables):
        return True
    if application != APPLICATION:
        raise UnusableFile("belongs to another program")
    if version > FORMAT:
        raise MemoryFault(
            f"The fix memory {path} has format {version}; this program reads format {FORMAT}. "
            "Update the program to use it."
        )
    if version < FORMAT:
        raise UnusableFile(
            f"has the older format {version}; this program reads format {FORMAT}. To keep its "
            "rows, export it with the program that wrote it, and import them here"
        )
    if tables != _tables(open_temporary()):
        raise UnusableFile("has unexpected tables")
    return False


def _tables(db: sqlite3.Connection) -> dict[str, set[str]]:
    names = db.execute(
        "select name from sqlite_master where type = 'table' "
        "and name not like 'sqlite_%' and name not like 'lesson_index%'"
    ).fetchall()
    return {
        name: {row["name"] for row in db.execute("select name from pragma_table_info(?)", (name,))}
        for (name,) in names
    }


def _rename(path: Path) -> Path:
    renamed = path.with_name(f"{path.name}.broken-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
    try:
        path.rename(renamed)
        for suffix in ("-wal", "-shm"):
            journal = path.with_name(path.name + suffix)
            if journal.exists():
                journal.rename(renamed.with_name(renamed.name + suffix))
    except OSError as error:
        raise MemoryFault(
            f"The fix memory {path} is unusable and cannot be renamed: {error.strerror}."
        ) from error
    return renamed


def _pragma(db: sqlite3.Connection, name: str) -> Any:  # an integer or a text
    return db.execute(f"pragma {name}").fetchone()[0]
