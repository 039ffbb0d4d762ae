"""Stores runs, events and content-addressed values in one SQLite file in WAL mode, or in Postgres
(`agent/log/postgres.py`).

LangGraph has a separate file, because its saver holds write transactions across awaits.
"""

from __future__ import annotations

import json
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter

from agent.core.domain import Value, digest
from agent.core.events import FINAL_KINDS, Event, LogEntry
from agent.core.settings import BadSettings, Settings
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
    run text not null, interrupt text not null, value text not null default '',
    primary key(run, interrupt));
create table if not exists artifacts(id text primary key, body text not null);
create table if not exists kept(
    run text not null, artifact text not null, primary key(run, artifact)) without rowid;
create table if not exists deleted(id text primary key) without rowid;
create index if not exists kept_artifact on kept(artifact);
create index if not exists runs_of_visitor
    on runs(coalesce(json_extract(options, '$.visitor'), ''), created desc);
create index if not exists runs_unfinished on runs(created) where final = 0;
"""

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


class Load(NamedTuple):
    """How many unfinished runs wait for a process, are driven, or wait for a person, and for how
    long the oldest has waited for a process."""

    queued: int
    driven: int
    waiting: int
    oldest_s: float


class UnknownRun(BadInput, KeyError):
    """There is no run with that id."""

    def __str__(self) -> str:
        return str(self.args[0])


class DatabaseUnavailable(BadSettings):
    """The database does not answer; a run goes on when it does."""


class _File(sqlite3.Connection):
    """A connection whose failures say what to do."""

    def execute(self, *given: Any) -> sqlite3.Cursor:
        """Runs a statement. Raises: DatabaseUnavailable."""
        try:
            return super().execute(*given)
        except sqlite3.OperationalError as error:
            raise DatabaseUnavailable(
                f"The file of runs cannot be used ({error}). Check that HEAL_DATA_DIR has space "
                "and can be written; runs then go on in a page, or with `heal resume`."
            ) from error


class RunAlreadyEnded(Exception):
    """The run already has its final event, possibly from another process."""


class Store:
    """Runs, events and values in one file; use from one thread."""

    _visitor = "coalesce(json_extract(options, '$.visitor'), '')"
    _waits = (
        "(select json_extract(body, '$.kind') from events where run = id order by seq desc limit 1)"
        " = 'waiting'"
    )
    _starts = "id >= ? and id < ?"  # a range of an index
    url = ""
    """The address of the database; empty for a file."""
    _db: Any  # a connection of the SQLite driver, or one that has the same methods

    def __init__(self, path: Path) -> None:
        self._run = ""
        self._process_lock = ProcessLock(path.parent / "alive")
        create_with_auto_vacuum(path)
        self._db = sqlite3.connect(
            path, timeout=LOCK_TIMEOUT_S, isolation_level=None, factory=_File
        )
        self._db.execute("pragma synchronous=normal")
        self._db.execute("pragma secure_delete=on")
        self._db.executescript(_SCHEMA)
        columns = {row[1] for row in self._db.execute("pragma table_info(answers)")}
        if "value" not in columns:  # a file of an earlier version
            self._db.execute("alter table answers add column value text not null default ''")

    @property
    def process(self) -> str:
        """The name of this process as the owner of runs."""
        return self._process_lock.name

    def _transaction(self) -> AbstractContextManager[None]:
        return write_transaction(self._db)

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
        self._db.execute(
            "insert into artifacts(id, body) values(?, ?) on conflict do nothing", (key, body)
        )
        self._db.execute(
            "insert into kept(run, artifact) values(?, ?) on conflict do nothing", (self._run, key)
        )
        return key

    def share(self, run: str, other: str) -> None:
        """Shares the values of a run with another run that continues from it."""
        self._db.execute(
            "insert into kept(run, artifact) select ?, artifact from kept where run = ? "
            "on conflict do nothing",
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
        added = self._db.execute(
            "insert into runs(id, title, task, options, owner, created) values(?,?,?,?,?,?) "
            "on conflict do nothing", (run, title, task, options, self.process, time.time()),
        ).rowcount
        if not added:
            raise ValueError(f"a run with the id {run!r} exists already")

    def run(self, run: str) -> RunRow:
        rows = self._runs("where id = ?", (run,))
        if not rows:
            raise UnknownRun(f"There is no run {run!r}.")
        return rows[0]

    def runs(self, limit: int, visitor: str) -> tuple[RunRow, ...]:
        clause = f"where {self._visitor} = ? order by created desc limit ?"
        return self._runs(clause, (visitor, limit))

    def runs_named(self, name: str, visitor: str) -> tuple[str, ...]:
        """The ids of a visitor's runs that start with `name`."""
        # The sum keeps SQLite from the index of visitors, who can have many runs.
        clause = f"where {self._visitor} || '' = ? and {self._starts}"
        return tuple(row.id for row in self._runs(clause, (visitor, name, f"{name}\U0010ffff")))

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
                    (self.process, row.id, row.owner),
                ).rowcount
                if changed:
                    adopted.append(row)
        return tuple(adopted)

    def queued(self) -> tuple[str, ...]:
        """The runs that wait for a process, the oldest first; none in a file."""
        return ()

    def load(self) -> Load:
        """The unfinished runs, for operators."""
        all_, waiting = self._db.execute(
            f"select count(*), coalesce(sum({self._waits}), 0) from runs where final = 0"
        ).fetchone()
        return Load(0, all_ - waiting, waiting, 0.0)

    def check(self) -> None:
        """Reads and writes. Raises: DatabaseUnavailable."""
        # The empty name is no run's; a write that changes nothing would reach no disk.
        with self._transaction():
            self._db.execute("delete from deleted where id = ''")
            self._db.execute("insert into deleted values('')")

    def claim_answer(self, run: str, interrupt: str, value: str = "") -> bool:
        """Claims a question for this caller, and saves its answer; returns whether it was not
        claimed before."""
        return bool(self._db.execute(
            "insert into answers(run, interrupt, value) values(?, ?, ?) on conflict do nothing",
            (run, interrupt, value),
        ).rowcount)

    def saved_answer(self, run: str, interrupt: str) -> str:
        """The answer to a question; empty if none was saved."""
        row = self._db.execute(
            "select value from answers where run = ? and interrupt = ?", (run, interrupt)
        ).fetchone()
        return "" if row is None else str(row[0])

    def forget_answer(self, run: str, interrupt: str) -> None:
        """Allows the question to be answered again."""
        self._db.execute("delete from answers where run = ? and interrupt = ?", (run, interrupt))

    def take_over(self, run: str) -> None:
        """Makes this process the owner of the run."""
        self._db.execute("update runs set owner = ? where id = ?", (self.process, run))

    def release(self, run: str) -> None:
        """Releases an unfinished run, so that any process can adopt it."""
        self._db.execute("update runs set owner = '' where id = ?", (run,))

    def set_options(self, run: str, options: str) -> None:
        self._db.execute("update runs set options = ? where id = ?", (options, run))

    def rename(self, run: str, title: str) -> None:
        self._db.execute("update runs set title = ? where id = ?", (title, run))

    def delete(self, run: str) -> None:
        """Deletes a finished run and its unshared values; its id stays reserved."""
        with self._transaction():
            self._db.execute(
                "delete from artifacts where id in (select artifact from kept where run = ?) and "
                "not exists (select 1 from kept where artifact = id and run <> ?)", (run, run)
            )
            for table in ("kept", "events", "answers"):
                self._db.execute(f"delete from {table} where run = ?", (run,))
            self._db.execute("delete from runs where id = ?", (run,))
            self._db.execute("insert into deleted values(?) on conflict do nothing", (run,))
        self._shrink()

    def _shrink(self) -> None:
        """Returns the space of deleted rows to the system."""
        self._db.execute("pragma incremental_vacuum").fetchall()
        self._db.execute("pragma wal_checkpoint(truncate)")

    def was_deleted(self, run: str) -> bool:
        return bool(self._db.execute("select 1 from deleted where id = ?", (run,)).fetchone())

    def expired(self, before: float, most: int, place: Callable[[str], str]) -> tuple[str, ...]:
        """Inactive runs of visitors that are older than `before` or exceed `most` per `place`."""
        rows = self._db.execute(
            f"select id, created, final, {self._visitor} from runs "
            f"where (final = 1 or {self._waits}) and {self._visitor} <> '' "
            "and (created < ? or ?) order by final, created desc", (before, most < sys.maxsize)
        ).fetchall()
        counts: Counter[str] = Counter()
        ranked = []
        for run, created, final, visitor in rows:
            counts[place(visitor)] += 1
            ranked.append((counts[place(visitor)], final, -created, run))
        return tuple(
            run for number, (_, _, age, run) in enumerate(sorted(ranked))
            if -age < before or number >= most
        )

    def unfinished(self, visitor: str) -> frozenset[str]:
        rows = self._runs(f"where final = 0 and {self._visitor} = ?", (visitor,))
        return frozenset(row.id for row in rows)

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
        final = event.kind in FINAL_KINDS
        with self._transaction():
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


def open_store(settings: Settings, folder: Path) -> Store:
    """Opens the database of the settings, else the file in `folder`. Raises: BadSettings."""
    if not settings.database_url:
        if settings.queue:
            raise BadSettings("HEAL_QUEUE=1 needs a database: set HEAL_DATABASE_URL=postgresql://…")
        return Store(folder / "runs.db")
    try:
        from agent.log.postgres import PostgresStore
    except ModuleNotFoundError as error:
        raise BadSettings(
            f"HEAL_DATABASE_URL needs the package {error.name}: install "
            "`self-healing-code-agent[postgres]`."
        ) from error
    return PostgresStore(settings.database_url)


@lru_cache(maxsize=256)
def _event(body: str) -> Event:
    return _EVENT.validate_python(json.loads(body))
