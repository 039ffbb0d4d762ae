"""The memory's SQLite file. A damaged, foreign or older one is renamed, and a new one begun; a
newer one is left as it is. Nothing is deleted or overwritten."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agent.core.sqlite import PATIENCE_S, changing, use_wal

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
    """The memory's file cannot be read or written; a run goes on without it."""


class NotOurs(MemoryFault):
    """The file is none of ours, of an older version, or damaged."""


def open_file(path: Path) -> tuple[sqlite3.Connection, str]:
    """A connection to a file of this version, and a notice for its owner, or an empty text. Raises:
    MemoryFault."""
    try:
        return _opened(path), ""
    except NotOurs as error:
        with _alone(path, error):
            try:
                return _opened(path), ""  # another process has begun a new one meanwhile
            except NotOurs as fault:
                place = _excluded(path)
                return _opened(path), (
                    f"The fix memory {path} {fault}. It is kept as {place.name}, and a new memory "
                    "is begun."
                )


@contextmanager
def _alone(path: Path, fault: NotOurs) -> Iterator[None]:
    """One process at a time: a second one would rename what the first has begun."""
    with ExitStack() as stack:
        try:
            folder = os.open(path.parent, os.O_RDONLY)
            stack.callback(os.close, folder)
            fcntl.flock(folder, fcntl.LOCK_EX)
        except OSError as error:
            raise MemoryFault(
                f"The fix memory {path} {fault}, and cannot be renamed, because its folder cannot "
                f"be locked ({error}). Rename the file, and a new memory is begun."
            ) from error
        yield


def open_nowhere() -> sqlite3.Connection:
    """A memory that is forgotten with its process."""
    db = _connected(":memory:")
    for statement in _TABLES:
        db.execute(statement)
    return db


@contextmanager
def working(name: str) -> Iterator[None]:
    """Names what goes wrong with the file inside of it as a `MemoryFault`."""
    try:
        yield
    except sqlite3.Error as error:
        raise MemoryFault(f"The fix memory {name} cannot be used: {error}.") from error


def _connected(name: str) -> sqlite3.Connection:
    db = sqlite3.connect(name, timeout=PATIENCE_S, isolation_level=None)
    db.row_factory = sqlite3.Row
    # A text that is no UTF-8 is a row that makes no sense, not the end of the reading.
    db.text_factory = lambda raw: raw.decode("utf-8", "replace")
    return db


def _opened(path: Path) -> sqlite3.Connection:
    try:
        db = _connected(str(path))
    except sqlite3.Error as error:
        raise MemoryFault(f"The fix memory {path} cannot be opened: {error}.") from error
    try:
        is_new = _is_new(db, path)  # before a byte of it is changed
        use_wal(db)
        db.execute("pragma synchronous=normal")
        db.execute("pragma secure_delete=on")
        if is_new:
            with changing(db):
                if _is_new(db, path):  # another process may have been here meanwhile
                    for statement in _TABLES:
                        db.execute(statement)
    except sqlite3.Error as error:
        db.close()
        if error.sqlite_errorcode & 0xFF in _BROKEN:
            raise NotOurs(f"is damaged or no SQLite file ({error})") from error
        raise MemoryFault(f"The fix memory {path} cannot be used: {error}.") from error
    except MemoryFault:
        db.close()
        raise
    return db


def _is_new(db: sqlite3.Connection, path: Path) -> bool:
    """Whether a file has no tables yet; else it has those of this version. Raises: NotOurs,
    MemoryFault (a newer version)."""
    checked = str(db.execute("pragma quick_check(1)").fetchone()[0])
    if checked != "ok":
        raise NotOurs(f"is damaged ({checked.splitlines()[-1]})")
    version, application = _pragma(db, "user_version"), _pragma(db, "application_id")
    tables = _tables(db)
    if not (application or version or tables):
        return True
    if application != APPLICATION:
        raise NotOurs("belongs to another program")
    if version > FORMAT:
        raise MemoryFault(
            f"The fix memory {path} is of a newer version ({version}; this one reads {FORMAT}). "
            "It is left as it is."
        )
    if version < FORMAT:
        raise NotOurs(
            f"is of an older version ({version}; this one reads {FORMAT}): what the program that "
            "wrote it exports can be imported here"
        )
    if tables != _tables(open_nowhere()):
        raise NotOurs("has other tables than ours")
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


def _excluded(path: Path) -> Path:
    aside = path.with_name(f"{path.name}.broken-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}")
    try:
        path.rename(aside)
        for suffix in ("-wal", "-shm"):
            journal = path.with_name(path.name + suffix)
            if journal.exists():
                journal.rename(aside.with_name(aside.name + suffix))
    except OSError as error:
        raise MemoryFault(
            f"The fix memory {path} is unusable, and cannot be renamed: {error.strerror}."
        ) from error
    return aside


def _pragma(db: sqlite3.Connection, name: str) -> Any:  # an integer or a text
    return db.execute(f"pragma {name}").fetchone()[0]
