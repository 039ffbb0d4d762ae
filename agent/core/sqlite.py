"""An SQLite file that several processes open, read and write at once."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

PATIENCE_S = 10.0
"""How long a write waits for another process's."""
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def use_wal(db: sqlite3.Connection) -> None:
    """Puts a file into WAL mode; SQLite does not wait for another process that does the same."""
    until = time.monotonic() + PATIENCE_S
    while True:
        try:
            if db.execute("pragma journal_mode").fetchone()[0] != "wal":
                db.execute("pragma journal_mode=wal")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


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


def make_shrinking(path: Path) -> None:
    """Makes a file in WAL mode that can give back what was deleted, where there is none."""
    with closing(sqlite3.connect(path, timeout=PATIENCE_S, isolation_level=None)) as db:
        db.execute("pragma auto_vacuum=incremental")
        use_wal(db)
