"""The file of the memory: its tables, its versions, and what is done with a bad one.

    MemoryFault        the file cannot be used; the message says why
      Newer            a newer version of ours has written it, and will want it: it stays as it is
      NotOurs          it is damaged or foreign: it is set aside, under a new name beside its
                       place, and a new one is begun

Nothing is ever deleted or overwritten. An older version of our own is migrated in one
transaction. The file is in WAL mode, so that several processes read and write it at once; of
those that find a bad one, one sets it aside while the others wait.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

FORMAT = 3
"""The version of the tables."""
APPLICATION = 0x6865616C
"""Marks our files for SQLite and for `file`."""
PATIENCE_S = 10.0
"""How long a write waits for another process's."""

_TABLES = (
    """
create table fixes(
    id integer primary key,
    signature text not null, alike text not null, context text not null,
    exception text not null, message text not null, place text not null, shape text not null,
    before text not null, after text not null, edit text not null, note text not null,
    proof_before text not null, proof_after text not null,
    standing text not null default 'unknown', rivals text not null default '',
    successes integer not null default 0, failures integer not null default 0,
    transfers integer not null default 0, misfits integer not null default 0,
    created real not null, used real,
    origin text not null default 'own', trusted integer not null default 1,
    version integer not null, unique(signature, after))""",
    "create index fixes_alike on fixes(alike, context)",
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
)

_COLUMNS_1 = {
    "fixes": {"signature", "before", "after", "proof", "note", "successes", "failures", "created",
              "used"},
    "lessons": {"text", "category", "created"},
}
_COLUMNS_2 = {
    "fixes": {"id", "signature", "alike", "context", "exception", "message", "place", "shape",
              "before", "after", "edit", "note", "proof_before", "proof_after", "successes",
              "failures", "transfers", "misfits", "created", "used", "origin", "trusted",
              "version"},
    "lessons": {"id", "text", "category", "words", "names", "created", "origin"},
}
_COLUMNS = {
    2: _COLUMNS_2,
    3: {**_COLUMNS_2, "fixes": {*_COLUMNS_2["fixes"], "standing", "rivals"}},
}
_BROKEN = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


class MemoryFault(Exception):
    """The memory's file cannot be read or written; a run goes on without it."""


class Newer(MemoryFault):
    """The file is ours, and of a version that is not known here."""


class NotOurs(MemoryFault):
    """The file is none of ours, or damaged."""


def open_file(path: Path) -> tuple[sqlite3.Connection, str]:
    """A connection to a file of this version, and what a person must be told, or nothing.

    Raises `MemoryFault`.
    """
    try:
        return _opened(path), ""
    except NotOurs as error:
        with _alone(path, error):
            return _begun_anew(path)


def _begun_anew(path: Path) -> tuple[sqlite3.Connection, str]:
    try:
        return _opened(path), ""  # another process has begun anew meanwhile
    except NotOurs as error:
        place = _set_aside(path)
        return _opened(path), (
            f"The fix memory {path} {error}. It is kept as {place.name}, and a new memory is begun."
        )


@contextmanager
def _alone(path: Path, fault: NotOurs) -> Iterator[None]:
    """One process at a time: a second one would set aside what the first has begun.

    Not every system and not every folder can be locked; there a person must do it.
    """
    try:
        folder = _locked(path.parent)
    except (ImportError, OSError) as error:
        raise MemoryFault(
            f"The fix memory {path} {fault}, and cannot be set aside, since its folder cannot be "
            f"locked ({error}). Rename the file, and a new memory is begun."
        ) from error
    try:
        yield
    finally:
        os.close(folder)


def _locked(folder: Path) -> int:
    """The folder, opened and locked; raises `OSError`, and `ImportError` on Windows."""
    import fcntl

    opened = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
    except OSError:
        os.close(opened)
        raise
    return opened


def open_nowhere() -> sqlite3.Connection:
    """A memory that is forgotten with its process."""
    db = _connected(":memory:")
    _create(db)
    return db


@contextmanager
def working(name: str) -> Iterator[None]:
    """Names what goes wrong with the file inside of it as a `MemoryFault`."""
    try:
        yield
    except sqlite3.Error as error:
        raise MemoryFault(f"The fix memory {name} cannot be used: {error}.") from error


@contextmanager
def changing(db: sqlite3.Connection) -> Iterator[None]:
    """One transaction; a half-done one is rolled back."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    except BaseException:
        if db.in_transaction:
            db.execute("rollback")
        raise


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
        version = _inspected(db)  # before a byte of it is changed
        if _pragma(db, "journal_mode") != "wal":
            # SQLite does not wait for another process that is making the same change.
            _patiently(lambda: db.execute("pragma journal_mode=wal"))
        db.execute("pragma synchronous=normal")
        if version != FORMAT:
            _bring_up(db)
    except sqlite3.Error as error:
        db.close()
        if error.sqlite_errorcode & 0xFF in _BROKEN:
            raise NotOurs(f"is damaged or no SQLite file ({error})") from error
        raise MemoryFault(f"The fix memory {path} cannot be used: {error}.") from error
    except Newer as error:
        db.close()
        raise MemoryFault(f"The fix memory {path} {error}. It is left as it is.") from error
    except NotOurs:
        db.close()
        raise
    return db


def _inspected(db: sqlite3.Connection) -> int:
    """The version of a whole file of ours; raises `NotOurs` and `Newer`."""
    found = str(db.execute("pragma quick_check(1)").fetchone()[0])
    if found != "ok":
        raise NotOurs(f"is damaged ({found.splitlines()[-1]})")
    return _version(db)


def _bring_up(db: sqlite3.Connection) -> None:
    with changing(db):
        match _version(db):  # another process may have been here meanwhile
            case 0:
                _create(db)
            case 1:
                _migrate(db)
            case 2:
                _migrate_2(db)


def _version(db: sqlite3.Connection) -> int:
    """The version of the tables that are there, 0 where there are none; raises `NotOurs`,
    and `Newer`."""
    version, application = _pragma(db, "user_version"), _pragma(db, "application_id")
    tables = {
        row["name"]: {column["name"] for column in db.execute(
            "select name from pragma_table_info(?)", (row["name"],)
        )}
        for row in db.execute(
            "select name from sqlite_master where type = 'table' "
            "and name not like 'sqlite_%' and name not like 'lesson_index%'"
        )
    }
    if application == 0 and version == 0 and (not tables or tables == _COLUMNS_1):
        return 1 if tables else 0
    if application != APPLICATION:
        raise NotOurs("belongs to another program")
    if isinstance(version, int) and version > FORMAT:
        raise Newer(f"is of a newer version ({version}; this one reads up to {FORMAT})")
    if not isinstance(version, int) or tables != _COLUMNS.get(version):
        raise NotOurs("has other tables than ours")
    return version


def _create(db: sqlite3.Connection) -> None:
    for statement in _TABLES:
        db.execute(statement)
    db.execute(f"pragma application_id={APPLICATION}")
    db.execute(f"pragma user_version={FORMAT}")


def _migrate(db: sqlite3.Connection) -> None:
    """Version 1 knew fixes by their exact signature only; they keep it, and all they had."""
    for table in _COLUMNS_1:
        db.execute(f"alter table {table} rename to {table}_1")
    _create(db)
    db.execute(
        "insert into fixes(signature, alike, context, exception, message, place, shape, before, "
        "after, edit, note, proof_before, proof_after, successes, failures, created, used, version)"
        " select signature, '', '', '', '', '', '', before, after, '', note, '', proof, successes, "
        "failures, created, used, 1 from fixes_1"
    )
    db.execute(
        "insert into lessons(text, category, words, names, created) "
        "select text, category, category || ' ' || text, '', created from lessons_1"
    )
    for table in _COLUMNS_1:
        db.execute(f"drop table {table}_1")


def _migrate_2(db: sqlite3.Connection) -> None:
    """Version 2 did not know whether other repairs had passed too."""
    db.execute("alter table fixes add column standing text not null default 'unknown'")
    db.execute("alter table fixes add column rivals text not null default ''")
    db.execute(f"pragma user_version={FORMAT}")


def _set_aside(path: Path) -> Path:
    """Renames the file, with its journal, and returns its new name."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    aside, number = path.with_name(f"{path.name}.broken-{stamp}"), 0
    while aside.exists():
        number += 1
        aside = path.with_name(f"{path.name}.broken-{stamp}-{number}")
    try:
        path.rename(aside)
        for suffix in ("-wal", "-shm"):
            journal = path.with_name(path.name + suffix)
            if journal.exists():
                journal.rename(aside.with_name(aside.name + suffix))
    except OSError as error:
        raise MemoryFault(
            f"The fix memory {path} is of no use, and cannot be set aside: {error.strerror}."
        ) from error
    return aside


def _pragma(db: sqlite3.Connection, name: str) -> object:
    return db.execute(f"pragma {name}").fetchone()[0]


def _patiently(work: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            work()
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
