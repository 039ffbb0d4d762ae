"""A file that is opened by several processes at once, while there is none yet."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from agent.core.sqlite import create_with_auto_vacuum


def test_one_that_another_is_just_making_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("create table kept(id)")
        other.execute("begin immediate")  # SQLite does not wait for it before it changes the mode
        ended = threading.Timer(0.3, other.execute, ["commit"])
        ended.start()
        create_with_auto_vacuum(path)
        ended.join()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("pragma journal_mode").fetchone() == ("wal",)


def test_a_new_one_can_give_back_what_was_deleted(tmp_path: Path) -> None:
    create_with_auto_vacuum(tmp_path / "runs.db")
    with closing(sqlite3.connect(tmp_path / "runs.db")) as db:
        assert db.execute("pragma auto_vacuum").fetchone() == (2,)
