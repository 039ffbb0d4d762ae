"""Stores runs, events and values in Postgres, so that several processes and machines share them.

A run belongs to one process by a *lease*: the process renews its own row in `processes`, by the
clock of the database, and owns a run as long as the run names it. A process that stops renewing
loses its runs to the next that adopts them, and from then on each write to such a run is refused.
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import lru_cache
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import DiskFull, ReadOnlySqlTransaction

from agent.core.events import FINAL_KINDS, Event, LogEntry
from agent.log.bus import EventBus
from agent.log.migrations import migrate
from agent.log.store import DatabaseUnavailable, Load, RunAlreadyEnded, RunRow, Store

LEASE_S = 15.0
"""How long a run stays with a process that does not renew its lease."""
RECONNECT_S = 10.0
"""How long a statement waits for a database that is away."""
CONNECT_S = 5
_CONNECTING: dict[str, Any] = {
    "autocommit": True, "connect_timeout": CONNECT_S, "keepalives_idle": 10,
    "keepalives_interval": 5, "keepalives_count": 2, "tcp_user_timeout": 15_000,
}
"""Of a connection; without the last four, a server that vanished would be noticed after minutes."""
_NOW = "extract(epoch from clock_timestamp())"
"""The clocks of processes on different machines can differ."""
UNAVAILABLE = (psycopg.OperationalError, ReadOnlySqlTransaction)
"""Errors of the database itself; among the first are a full disk and a lost connection."""
CHANNEL = "heal_events"
"""Its messages are the run of each new event, with a `!` behind it for the last."""
log = logging.getLogger("agent")
_QUEUED = "final = 0 and waiting = 0 and owner not in (select name from alive)"


class PostgresConnection:
    """A connection that reconnects; statements have `?` for their values. Use from one thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._in_transaction = False
        self._away_since = 0.0
        self._open = self._connect()
        try:
            migrate(self._open)
        except UNAVAILABLE as error:
            self._open.close()
            raise DatabaseUnavailable(_words(url, error)) from None
        except BaseException:
            self._open.close()
            raise

    def execute(self, statement: str, values: Sequence[object] = ()) -> Any:
        """Runs a statement, again after a reconnection. Raises: DatabaseUnavailable."""
        until = time.monotonic() + RECONNECT_S
        while True:
            try:
                return self._open.execute(_translated(statement), values)
            except UNAVAILABLE as error:
                if self._in_transaction or not self._open.broken:
                    raise DatabaseUnavailable(_words(self._url, error)) from None
                self._open = self._connect(until)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Runs the block in one transaction. Raises: DatabaseUnavailable."""
        self.execute("select 1")  # reconnects, which a transaction cannot
        self._in_transaction = True
        try:
            with self._open.transaction():
                yield
        except UNAVAILABLE as error:
            raise DatabaseUnavailable(_words(self._url, error)) from None
        finally:
            self._in_transaction = False

    def close(self) -> None:
        self._open.close()

    def _connect(self, until: float = 0.0) -> psycopg.Connection[tuple[Any, ...]]:
        while True:
            try:
                opened = psycopg.connect(self._url, **_CONNECTING)
                self._away_since = 0.0
                return opened
            except psycopg.OperationalError as error:
                now = time.monotonic()
                self._away_since = self._away_since or now
                # The first statements wait; if each did, the event loop would stand still.
                if now > min(until, self._away_since + RECONNECT_S):
                    raise DatabaseUnavailable(_words(self._url, error)) from None
                time.sleep(0.1)


class PostgresStore(Store):
    """Runs, events and values in one database; use from one thread."""

    _visitor = "visitor"
    _waits = "waiting = 1"
    _starts = "id ~>=~ ? and id ~<~ ?"  # by bytes, as `id` is indexed for it

    def __init__(self, url: str) -> None:
        self.url = url
        self._run = ""
        self._name: list[str] = []  # shared by the views of runs
        self._db = PostgresConnection(url)

    @property
    def process(self) -> str:
        if not self._name:
            self._name.append(uuid.uuid4().hex)
            self.renew()
        return self._name[0]

    def renew(self) -> None:
        """Renews the lease of this process, if it drives runs."""
        if self._name:
            self._db.execute(
                "insert into processes(name, until) values(?, clock_timestamp() + ? * interval '1 "
                "second') on conflict(name) do update set until = excluded.until",
                (self._name[0], LEASE_S),
            )

    def _transaction(self) -> Any:
        return self._db.transaction()

    def close(self) -> None:
        if self._name:
            self._db.execute("delete from processes where name = ?", (self._name.pop(),))
        self._db.close()

    def add_run(self, run: str, title: str, task: str, options: str) -> None:
        super().add_run(run, title.replace("\0", ""), task, options)
        self._db.execute(f"update runs set created = {_NOW} where id = ?", (run,))
        self.set_options(run, options)

    def set_options(self, run: str, options: str) -> None:
        self._db.execute(
            "update runs set options = ?, visitor = coalesce(?::json ->> 'visitor', '') "
            "where id = ?", (options, options, run),
        )

    def rename(self, run: str, title: str) -> None:
        super().rename(run, title.replace("\0", ""))

    def is_alive(self, row: RunRow) -> bool:
        return bool(self._db.execute(
            "select 1 from processes where name = ? and until > clock_timestamp()", (row.owner,)
        ).fetchone())

    def adopt_orphans(self, run: str | None = None) -> tuple[RunRow, ...]:
        self.renew()  # else this process could take its own runs, after the database was away
        ids = self._db.execute(
            "update runs set owner = ? where id in (select id from runs where final = 0 "
            "and (?::text is null or id = ?) and not exists (select 1 from processes "
            "where name = owner and until > clock_timestamp()) order by created "
            "for update skip locked) returning id", (self.process, run, run),
        ).fetchall()
        return self._runs("where id = any(?) order by created", ([key for (key,) in ids],))

    def release(self, run: str) -> None:
        super().release(run)
        self._db.execute("select pg_notify(?, '')", (CHANNEL,))

    def claim(self, limit: int, without: Collection[str] = ()) -> tuple[RunRow, ...]:
        """Takes over runs that no living process drives and that wait for no answer, at most
        `limit` and none of `without`: those of the visitors with the fewest runs under way first,
        among them of the visitor who was served longest ago."""
        ids: list[str] = []
        self.renew()
        while len(ids) < limit:
            # One at a time, since each changes who is next.
            row = self._db.execute(
                # Only visitors with a queued run are looked up, by an index: the table is large.
                "with alive as (select name from processes where until > clock_timestamp()), "
                f"queue as (select distinct visitor from runs where {_QUEUED}), "
                "served as (select visitor, (select max(claimed) from runs as other where "
                "other.visitor = queue.visitor) as last, (select count(*) from runs as other where "
                "other.visitor = queue.visitor and final = 0 and waiting = 0 and owner in "
                "(select name from alive)) as busy from queue) "
                f"update runs set owner = ?, claimed = {_NOW} where id = (select id from runs "
                f"join served using (visitor) where {_QUEUED} and id <> all(?) "
                "order by busy, served.last, created "
                "for update of runs skip locked limit 1) returning id",
                (self.process, [*without]),
            ).fetchone()
            if row is None:
                break
            ids.append(row[0])
        return self._runs("where id = any(?) order by claimed", (ids,)) if ids else ()

    def load(self) -> Load:
        """See `Store`."""
        queued, driven, waiting, oldest_s = self._db.execute(
            "with open as (select waiting = 1 as waits, created, exists(select 1 from processes "
            "where name = owner and until > clock_timestamp()) as alive from runs where final = 0) "
            "select count(*) filter (where not waits and not alive), count(*) filter (where not "
            "waits and alive), count(*) filter (where waits), coalesce(extract(epoch from "
            "clock_timestamp()) - min(created) filter (where not waits and not alive), 0) from open"
        ).fetchone()
        return Load(queued, driven, waiting, max(0.0, float(oldest_s)))

    def queued(self) -> tuple[str, ...]:
        """The runs that wait for a process, the oldest first."""
        return tuple(run for (run,) in self._db.execute(
            "with alive as (select name from processes where until > clock_timestamp()) "
            f"select id from runs where {_QUEUED} order by created"
        ))

    def _shrink(self) -> None:
        """Leaves it to the database's own vacuum."""

    def append(self, run: str, task: str, attempt: int, ordinal: int, event: Event) -> LogEntry:
        """Appends an event to the run's log, and notifies the followers of all processes. Raises:
        RunAlreadyEnded: The run has ended, or another process drives it."""
        final = event.kind in FINAL_KINDS
        # One statement, so that no event is written twice if the connection is lost in between.
        row = self._db.execute(
            "with driven as (update runs set last = last + 1, final = ?, waiting = ? where id = ? "
            "and final = 0 and owner = ? and not exists (select 1 from events "
            "where run = ? and task = ? and attempt = ? and ordinal = ?) returning last), "
            "added as (insert into events(run, seq, task, attempt, ordinal, at, body) "
            f"select ?, last, ?, ?, ?, {_NOW}, ? from driven returning seq, at) "
            "select seq, at, pg_notify(?, ?) from added",
            (int(final), int(event.kind == "waiting"), run, self.process, run, task, attempt,
             ordinal, run, task, attempt, ordinal, event.to_json(), CHANNEL, run + "!" * final),
        ).fetchone()
        if row is None:  # unless the connection was lost after it was written
            row = self._db.execute(
                "select seq, at from events where run = ? and task = ? and attempt = ? "
                "and ordinal = ?",
                (run, task, attempt, ordinal),
            ).fetchone()
        if row is None:
            raise RunAlreadyEnded(f"The run {run!r} has ended, or another process drives it.")
        return LogEntry(
            run=run, seq=row[0], task=task, attempt=attempt, ordinal=ordinal, at=row[1],
            event=event,
        )


@asynccontextmanager
async def shared(store: PostgresStore, bus: EventBus) -> AsyncIterator[None]:
    """Within the context the process keeps its lease, and hears of the events of others."""
    tasks = [asyncio.create_task(_renew(store)), asyncio.create_task(_listen(store.url, bus))]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _renew(store: PostgresStore) -> None:
    while True:
        await asyncio.sleep(LEASE_S / 3)
        try:
            store.renew()
        except DatabaseUnavailable as error:
            log.warning("the lease of this process is not renewed: %s", error)


async def _listen(url: str, bus: EventBus) -> None:
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(url, **_CONNECTING) as connection:
                await connection.execute(f"listen {CHANNEL}")
                bus.wake("")  # what was written meanwhile
                async for note in connection.notifies():
                    bus.wake(note.payload.removesuffix("!"), ended=note.payload.endswith("!"))
        except psycopg.OperationalError as error:
            log.warning("events of other processes come later: %s", _words(url, error))
            await asyncio.sleep(1)


@lru_cache(maxsize=256)
def _translated(statement: str) -> str:
    return statement.replace("%", "%%").replace("?", "%s")


def _words(url: str, error: psycopg.Error) -> str:
    """A failure of the database in words, without its password."""
    place = conninfo_to_dict(url)
    where = f"{place.get('dbname', '')} at {place.get('host', 'the local socket')}"
    reason = " ".join(str(error).split())
    if isinstance(error, DiskFull):
        advice = "Free space on the database's disk"
    elif isinstance(error, ReadOnlySqlTransaction):
        advice = "Let HEAL_DATABASE_URL name the server that accepts writes"
    else:
        advice = "Check that the server runs and that HEAL_DATABASE_URL is right"
    return (
        f"The database {where} cannot be used ({reason}). {advice}; runs that were under way go on "
        "when it answers."
    )
