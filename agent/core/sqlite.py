"""Helpers for an SQLite file that several processes read and write at once."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

LOCK_TIMEOUT_S = 10.0
"""How long a write waits for the write of another process."""
_BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})


def use_wal(db: sqlite3.Connection) -> None:
    """Switches a file to WAL mode; retries, since SQLite does not wait for a competing switch."""
    until = time.monotonic() + LOCK_TIMEOUT_S
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
def write_transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Runs the block in one transaction and rolls it back on an error."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    except BaseException:
        if db.in_transaction:
            db.execute("rollback")
        raise


def create_with_auto_vacuum(path: Path) -> None:
    """Creates a missing file in WAL mode, so that it can shrink after deletions."""
    with closing(sqlite3.connect(path, timeout=LOCK_TIMEOUT_S, isolation_level=None)) as db:
        db.execute("pragma auto_vacuum=incremental")
        use_wal(db)
