"""Stores runs, events and content-addressed values in one SQLite file in WAL mode.

LangGraph has a separate file, because its saver holds write transactions across awaits.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from pydantic import TypeAdapter

from agent.core.domain import Value, digest
from agent.core.events import Event, LogEntry
from agent.core.sqlite import LOCK_TIMEOUT_S, create_with_auto_vacuum, write_transaction
from agent.log.alive import ProcessLock
from agent.target.errors import BadInput

V = TypeVar("V", bound=Value)

_SCHEMA = """
create table if not exists runs(
    id text primary key, title text not null, task text not null, options text not null,
    owner text not null, created real not null, final integer not null default 0);
create table if not exists events(
    run text not null, seq integer not null, task text not null, attempt integer not null,
    ordinal integer not null, at real not null, body text not null,
    primary key(run, seq), unique(run, task, attempt, ordinal));
create table if not exists answers(
    run text not null, interrupt text not null, primary key(run, interrupt));
create table if not exists artifacts(id text primary key, body text not null);
create table if not exists kept(
    run text not null, artifact text not null, primary key(run, artifact)) without rowid;
create table if not exists deleted(id text primary key) without rowid;
create index if not exists kept_artifact on kept(artifact);
"""

_VISITOR = "coalesce(json_extract(options, '$.visitor'), '')"
_OWN = f"{_VISITOR} = ?"
_WAITS = (
    "(select json_extract(body, '$.kind') from events where run = id order by seq desc limit 1)"
    " = 'waiting'"
)
_EVENT: TypeAdapter[Event] = TypeAdapter(Event)


@dataclass(frozen=True)
class RunRow:
    """One stored run; `owner` names the process that drives it."""

    id: str
    title: str
    task: str
    options: str
    owner: str
    created: float
    final: bool


class UnknownRun(BadInput, KeyError):
    """There is no run with that id."""

    def __str__(self) -> str:
        return str(self.args[0])


class RunAlreadyEnded(Exception):
    """The run already has its final event, possibly from another process."""


class Store:
    """Runs, events and values in one file; use from one thread."""

    def __init__(self, path: Path) -> None:
        self._run = ""
        self._process_lock = ProcessLock(path.parent / "alive")
        create_with_auto_vacuum(path)
        self._db = sqlite3.connect(path, timeout=LOCK_TIMEOUT_S, isolation_level=None)
        self._db.execute("pragma synchronous=normal")
        self._db.execute("pragma secure_delete=on")
        self._db.executescript(_SCHEMA)

    def close(self) -> None:
        self._process_lock.close()
        self._db.close()

    def of(self, run: str) -> Store:
        """A view of this store that saves values for one run; they are deleted with the run."""
        own = copy(self)
        own._run = run
        return own

    # Values, by the hash of their content.

    def put(self, value: Value) -> str:
        body = value.to_json()
        key = digest(body)
        self._db.execute("insert or ignore into artifacts(id, body) values(?, ?)", (key, body))
        self._db.execute("insert or ignore into kept(run, artifact) values(?, ?)", (self._run, key))
        return key

    def share(self, run: str, other: str) -> None:
        """Shares the values of a run with another run that continues from it."""
        self._db.execute(
            "insert or ignore into kept(run, artifact) select ?, artifact from kept where run = ?",
            (other, run),
        )

    def get(self, key: str, kind: type[V]) -> V:
        """The value at an address; raises `KeyError` if there is none."""
        row = self._db.execute("select body from artifacts where id = ?", (key,)).fetchone()
        if row is None:
            raise KeyError(f"no value is stored at {key!r}")
        return kind.from_json(row[0])

    # Runs.

    def add_run(self, run: str, title: str, task: str, options: str) -> None:
        """Registers a run driven by this process; raises `ValueError` if the id exists."""
        try:
            self._db.execute(
                "insert into runs(id, title, task, options, owner, created) values(?,?,?,?,?,?)",
                (run, title, task, options, self._process_lock.name, time.time()),
            )
        except sqlite3.IntegrityError as error:
            raise ValueError(f"a run with the id {run!r} exists already") from error

    def run(self, run: str) -> RunRow:
        rows = self._runs("where id = ?", (run,))
        if not rows:
            raise UnknownRun(f"There is no run {run!r}.")
        return rows[0]

    def runs(self, limit: int, visitor: str) -> tuple[RunRow, ...]:
        return self._runs(f"where {_OWN} order by created desc limit ?", (visitor, limit))

    def runs_named(self, name: str, visitor: str) -> tuple[str, ...]:
        """The ids of a visitor's runs that start with `name`."""
        clause = f"where {_OWN} and substr(id, 1, length(?)) = ?"
        return tuple(row.id for row in self._runs(clause, (visitor, name, name)))

    def is_alive(self, row: RunRow) -> bool:
        """Whether the process that drives the run is alive, here or in another container."""
        return self._process_lock.is_process_alive(row.owner)

    def adopt_orphans(self, run: str | None = None) -> tuple[RunRow, ...]:
        """Takes over unfinished runs whose process ended; each goes to one caller only."""
        adopted = []
        for row in self._runs("where final = 0 order by created", ()):
            if (run is None or row.id == run) and not self.is_alive(row):
                changed = self._db.execute(
                    "update runs set owner = ? where id = ? and owner = ?",
                    (self._process_lock.name, row.id, row.owner),
                ).rowcount
                if changed:
                    adopted.append(row)
        return tuple(adopted)

    def claim_answer(self, run: str, interrupt: str) -> bool:
        """Claims a question for this caller; returns whether nobody had claimed it before."""
        return self._db.execute(
            "insert or ignore into answers(run, interrupt) values(?, ?)", (run, interrupt)
        ).rowcount == 1

    def forget_answer(self, run: str, interrupt: str) -> None:
        """Allows the question to be answered again."""
        self._db.execute("delete from answers where run = ? and interrupt = ?", (run, interrupt))

    def take_over(self, run: str) -> None:
        """Makes this process the owner of the run."""
        self._db.execute("update runs set owner = ? where id = ?", (self._process_lock.name, run))

    def release(self, run: str) -> None:
        """Releases an unfinished run, so that any process can adopt it."""
        self._db.execute("update runs set owner = '' where id = ?", (run,))

    def set_options(self, run: str, options: str) -> None:
        self._db.execute("update runs set options = ? where id = ?", (options, run))

    def rename(self, run: str, title: str) -> None:
        self._db.execute("update runs set title = ? where id = ?", (title, run))

    def delete(self, run: str) -> None:
        """Deletes a finished run and its unshared values; its id stays reserved."""
        with write_transaction(self._db):
            self._db.execute(
                "delete from artifacts where id in (select artifact from kept where run = ?1) and "
                "not exists (select 1 from kept where artifact = id and run <> ?1)", (run,)
            )
            for table in ("kept", "events", "answers"):
                self._db.execute(f"delete from {table} where run = ?", (run,))
            self._db.execute("delete from runs where id = ?", (run,))
            self._db.execute("insert or ignore into deleted values(?)", (run,))
        self._db.execute("pragma incremental_vacuum").fetchall()
        self._db.execute("pragma wal_checkpoint(truncate)")

    def was_deleted(self, run: str) -> bool:
        return bool(self._db.execute("select 1 from deleted where id = ?", (run,)).fetchone())

    def expired(self, before: float, most: int, place: Callable[[str], str]) -> tuple[str, ...]:
        """Inactive runs of visitors that are older than `before` or exceed `most` per `place`."""
        self._db.create_function("place", 1, place)
        rows = self._db.execute(
            "select id from (select id, created,"
            " row_number() over (order by nth, final, created desc) as nth from"
            " (select id, created, final, row_number() over"
            f" (partition by place({_VISITOR}) order by final, created desc) as nth"
            f" from runs where (final = 1 or {_WAITS}) and not {_OWN}))"
            " where created < ? or nth > ?",
            ("", before, most),
        )
        return tuple(run for (run,) in rows)

    def unfinished(self, visitor: str) -> frozenset[str]:
        return frozenset(row.id for row in self._runs(f"where final = 0 and {_OWN}", (visitor,)))

    def _runs(self, clause: str, values: Sequence[object]) -> tuple[RunRow, ...]:
        rows = self._db.execute(
            f"select id, title, task, options, owner, created, final from runs {clause}", values
        )
        return tuple(
            RunRow(key, title, task, options, owner, created, bool(final))
            for key, title, task, options, owner, created, final in rows
        )

    # Events.

    def begin(self, run: str, task: str) -> int:
        """The number of the attempt that begins now: one more than the last logged."""
        row = self._db.execute(
            "select max(attempt) from events where run = ? and task = ?", (run, task)
        ).fetchone()
        return 0 if row[0] is None else int(row[0]) + 1

    def append(self, run: str, task: str, attempt: int, ordinal: int, event: Event) -> LogEntry:
        """Appends an event to the run's log; raises `RunAlreadyEnded`."""
        at = time.time()
        final = event.kind in ("run_finished", "run_failed")
        with write_transaction(self._db):
            active = self._db.execute(
                "select 1 from runs where id = ? and final = 0", (run,)
            ).fetchone()
            if active is None:
                raise RunAlreadyEnded(f"The run {run!r} has ended or was deleted.")
            (last,) = self._db.execute(
                "select coalesce(max(seq), 0) from events where run = ?", (run,)
            ).fetchone()
            self._db.execute(
                "insert into events(run, seq, task, attempt, ordinal, at, body) "
                "values(?,?,?,?,?,?,?)",
                (run, last + 1, task, attempt, ordinal, at, event.to_json()),
            )
            if final:
                self._db.execute("update runs set final = 1 where id = ?", (run,))
        return LogEntry(
            run=run, seq=last + 1, task=task, attempt=attempt, ordinal=ordinal, at=at, event=event
        )

    def events(self, run: str, after: int = 0, limit: int = 500) -> tuple[LogEntry, ...]:
        """Up to `limit` events after number `after`, in order."""
        return self._events("run = ? and seq > ? order by seq limit ?", (run, after, limit))

    def log(self, run: str) -> tuple[LogEntry, ...]:
        return self._events("run = ? order by seq", (run,))

    def first_and_last(self, run: str) -> tuple[LogEntry | None, LogEntry | None]:
        """The first and the newest event of a run; `None` for a run without events."""
        last = self._events("run = ? order by seq desc limit 1", (run,))
        return (self.events(run, limit=1)[0], last[0]) if last else (None, None)

    def _events(self, clause: str, values: Sequence[object]) -> tuple[LogEntry, ...]:
        rows = self._db.execute(
            f"select run, seq, task, attempt, ordinal, at, body from events where {clause}", values
        )
        return tuple(
            LogEntry(
                run=run, seq=seq, task=task, attempt=attempt, ordinal=ordinal, at=at,
                event=_event(body),
            )
            for run, seq, task, attempt, ordinal, at, body in rows
        )


@lru_cache(maxsize=256)
def _event(body: str) -> Event:
    return _EVENT.validate_python(json.loads(body))
