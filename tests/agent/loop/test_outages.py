"""What a failing store, a wrong clock or a killed process does to runs: nothing is lost."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from alembic import command

from agent.core import events as e
from agent.core.settings import Settings
from agent.log import migrations, postgres
from agent.log.bus import EventBus
from agent.log.postgres import PostgresStore
from agent.log.store import DatabaseUnavailable, Load, Store, open_store
from agent.loop.session import open_session
from agent.report.result import fold
from agent.target.task import from_page
from demo.serving.api import refusal_words, refusals
from demo.serving.host import SessionHost, Unavailable
from tests.agent.runs import settings
from tests.demo.recorded import RecordedSession

TASK = from_page("def add(a, b):\n    return a - b\n", "assert add(1, 2) == 3").task
NOTICE = e.Notice(level="info", text="text")


def ask(database: str, *statements: str) -> list[Any]:
    with psycopg.connect(database, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def started(database: str) -> PostgresStore:
    store = PostgresStore(database)
    store.add_run("r", "", "t", '{"visitor": "v"}')
    return store


def test_a_database_that_only_reads_is_unavailable_until_it_writes(database: str) -> None:
    store = started(database)
    name = psycopg.conninfo.conninfo_to_dict(database)["dbname"]
    others = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> " \
        "pg_backend_pid() and datname = current_database()"
    ask(database, f"alter database {name} set default_transaction_read_only = on", others)
    for write in (store.check, store.renew, lambda: store.append("r", "a", 0, 0, NOTICE)):
        with pytest.raises(DatabaseUnavailable, match="name the server that accepts writes"):
            write()
    assert store.runs(1, "v")[0].id == "r"
    reading = open_store(Settings(database_url=database), Path())
    with pytest.raises(DatabaseUnavailable, match="accepts writes"):
        reading.check()
    reading.close()
    ask(
        database, "set default_transaction_read_only = off",
        f"alter database {name} reset default_transaction_read_only", others,
    )
    store.check()
    assert store.append("r", "a", 0, 0, NOTICE).seq == 1
    store.close()


def test_a_full_disk_of_the_database_is_unavailable_until_there_is_space(database: str) -> None:
    store = started(database)
    ask(
        database, "create function full_disk() returns trigger language plpgsql as $$ begin "
        "raise exception 'could not extend file' using errcode = 'disk_full'; end $$",
        "create trigger full_disk before insert on events execute function full_disk()",
    )
    with pytest.raises(DatabaseUnavailable, match="Free space on the database's disk"):
        store.append("r", "a", 0, 0, NOTICE)
    ask(database, "drop trigger full_disk on events")
    assert store.append("r", "a", 0, 0, NOTICE).seq == 1
    store.close()


def test_only_the_first_statements_wait_for_a_database_that_is_away(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "RECONNECT_S", 0.3)
    store = started(database)
    store._db._url = "postgresql://heal@127.0.0.1:9/heal"
    store._db._open.pgconn.finish()
    waits = []
    for _ in range(3):
        began = time.monotonic()
        with pytest.raises(DatabaseUnavailable):
            store.runs(1, "v")
        waits.append(time.monotonic() - began)
    assert waits[0] > 0.25 > max(waits[1:])
    store._db._url = database
    assert store.runs(1, "v")
    store.close()


def test_a_process_whose_lease_ran_out_takes_no_run_twice(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = started(database)
    store.release("r")
    ask(database, "update processes set until = now() - interval '1 minute'")
    assert [len(store.claim(1)), len(store.claim(1))] == [1, 0]
    ask(database, "update processes set until = now() - interval '1 minute'")
    assert store.adopt_orphans() == ()
    store.close()


def test_times_are_those_of_the_database(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ((now,),) = ask(database, "select extract(epoch from clock_timestamp())::float")
    monkeypatch.setattr(time, "time", lambda: 1.0)
    store = started(database)
    store.release("r")
    (row,) = store.claim(1)
    entry = store.append("r", "a", 0, 0, NOTICE)
    store.close()
    assert abs(row.created - now) < 60 and abs(entry.at - now) < 60
    assert ask(database, "select claimed > 1e9 from runs") == [(True,)]


def test_two_versions_of_the_program_use_a_database_at_once(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade = command.upgrade
    monkeypatch.setattr(command, "upgrade", lambda config, _: upgrade(config, "1_1"))
    monkeypatch.setattr(migrations, "MINOR", 1)
    older = started(database)
    older.append("r", "a", 0, 0, NOTICE)
    monkeypatch.undo()
    newer = PostgresStore(database)  # changes the tables
    assert ask(database, "select version_num from alembic_version") == [("1_2",)]
    older.append("r", "a", 0, 1, NOTICE)
    older.release("r")
    assert newer.claim(1)
    newer.append("r", "b", 0, 0, NOTICE)
    newer.release("r")
    assert [one.id for one in older.claim(1)] == ["r"] and len(older.log("r")) == 3
    older.close()
    newer.close()


def test_the_load_counts_runs_by_what_they_wait_for(database: str, tmp_path: Path) -> None:
    store, file = started(database), Store(tmp_path / "runs.db")
    file.add_run("r", "", "t", "{}")
    waiting = e.Waiting(interrupt="i", question="q")
    assert (store.load(), file.load()) == (Load(0, 1, 0, 0.0), Load(0, 1, 0, 0.0))
    for one in (store, file):
        one.append("r", "a", 0, 0, waiting)
        assert one.load() == Load(0, 0, 1, 0.0)
        one.append("r", "a", 0, 1, e.RunFailed(error="e"))
        assert one.load() == Load(0, 0, 0, 0.0)
        one.check()
    store.add_run("q", "", "t", "{}")
    store.release("q")
    load = store.load()
    assert load.queued == 1 and 0 <= load.oldest_s < 60
    store.close()
    file.close()


@pytest.mark.nightly
async def test_a_page_goes_on_with_runs_that_its_database_left(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, left = PostgresStore.append, [0] * 3

    def appended(self: PostgresStore, *given: Any) -> e.LogEntry:
        if given[-1].kind == "step_finished" and left:
            left.pop()
            if not left:
                raise DatabaseUnavailable("away")
        return append(self, *given)

    monkeypatch.setattr(PostgresStore, "append", appended)
    given = settings(tmp_path).model_copy(update={"database_url": database})
    async with open_session(given) as page, open_session(given) as terminal:
        page.bus.waits_for_store = True
        run = await page.start(TASK)
        seen = asyncio.create_task(_kinds(page, run))
        async with asyncio.timeout(60):
            while await page.recover_later() != (run,):
                await asyncio.sleep(0.05)
            assert (await seen)[-1] == "run_finished"
        assert fold(page.log(run)).outcome == "healed"
        left.extend([0] * 3)
        lost = await terminal.start(TASK)
        with pytest.raises(DatabaseUnavailable, match="away"):  # and it does not wait for ever
            async with asyncio.timeout(60):
                await _kinds(terminal, lost)


async def _kinds(session: Any, run: str) -> list[str]:
    return [one.event.kind async for batch in session.follow(run) for one in batch]


async def test_a_page_takes_over_the_runs_of_a_killed_page(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed = PostgresStore(database)
    address = killed.put(TASK)
    given = settings(tmp_path).model_copy(update={"database_url": database})
    async with open_session(given) as page:
        plain = await page.start(TASK)
        await _kinds(page, plain)
        options = ask(database, f"select options from runs where id = '{plain}'")[0][0]
        killed.add_run("left", "", address, options)
        assert await page.recover_later() == ()
        ask(database, f"delete from processes where name = '{killed.process}'")  # as time does
        assert await page.recover_later() == ("left",)
        async with asyncio.timeout(60):
            assert (await _kinds(page, "left"))[-1] == "run_finished"
    killed.close()


async def test_a_run_of_a_newer_version_is_left_to_a_newer_worker(
    tmp_path: Path, database: str
) -> None:
    given = settings(tmp_path).model_copy(update={"database_url": database})
    queueing = given.model_copy(update={"queue": True})
    async with open_session(queueing) as page, open_session(given) as worker:
        newer, plain = await page.start(TASK), await page.start(TASK)
        ask(database, "update runs set options = replace(options, '{\"max', '{\"new\":1,\"max') "
            f"where id = '{newer}'")
        work = asyncio.create_task(worker.work(1))
        async with asyncio.timeout(60):
            assert (await _kinds(page, plain))[-1] == "run_finished"
        assert page._store.queued() == (newer,) and not work.done()
        ask(database, "update runs set options = replace(options, '\"new\":1,', '')")
        async with open_session(given) as updated:
            works = asyncio.create_task(updated.work(1))
            async with asyncio.timeout(60):
                assert (await _kinds(page, newer))[-1] == "run_finished"
            works.cancel()
        work.cancel()
        await asyncio.wait([work, works])


async def test_a_follower_of_a_page_waits_for_its_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "runs.db")
    store.add_run("r", "", "t", "{}")
    bus, events, away = EventBus(store), store.events, [1]
    bus.waits_for_store = True

    def read(*given: Any) -> Any:
        if away:
            away.pop()
            raise DatabaseUnavailable("away")
        return events(*given)

    monkeypatch.setattr(store, "events", read)
    bus.writer("r", "a")(e.RunFailed(error="e"))
    assert [one.seq async for batch in bus.follow("r") for one in batch] == [1]
    store.close()


async def test_a_full_disk_stops_a_run_and_space_lets_it_go_on(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path)) as session:
        session.bus.waits_for_store = True
        file = session._store._db
        run = await session.start(TASK)
        (pages,) = file.execute("pragma page_count").fetchone()
        file.execute(f"pragma max_page_count={pages}")
        async with asyncio.timeout(60):
            while run in session.running():
                await asyncio.sleep(0.05)
        with pytest.raises(DatabaseUnavailable, match="HEAL_DATA_DIR has space"):
            session._store.put(TASK.model_copy(update={"text": "x" * 500_000}))
        file.execute("pragma max_page_count=1000000")
        async with asyncio.timeout(60):
            while run not in await session.recover_later():
                await asyncio.sleep(0.05)
            assert (await _kinds(session, run))[-1] == "run_finished"
        assert fold(session.log(run)).outcome == "healed"


def test_a_file_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.db")
    store._db.execute("pragma query_only = on")
    with pytest.raises(DatabaseUnavailable, match="can be written"):
        store.check()
    store.close()


def contents(store: Store) -> list[Any]:
    return [store.runs(9, ""), store.log("r"), store.saved_answer("r", "i")]


def filled(store: Store) -> Store:
    store.add_run("r", "title", store.of("r").put(TASK), "{}")
    store.append("r", "a", 0, 0, NOTICE)
    store.claim_answer("r", "i", "value")
    return store


def test_a_database_is_restored_from_its_dump(database: str, tmp_path: Path) -> None:
    if shutil.which("pg_dump") is None:
        pytest.skip("there is no pg_dump (Debian's package `postgresql-client`)")
    store = filled(PostgresStore(database))
    before = contents(store)
    subprocess.run(["pg_dump", "-Fc", "-f", tmp_path / "dump", "-d", database], check=True)
    store.append("r", "a", 0, 1, NOTICE)
    store.close()
    other = psycopg.conninfo.conninfo_to_dict(database)["dbname"] + "restored"
    ask(database, f"create database {other}")
    restored = database.replace(f"/{other.removesuffix('restored')}?", f"/{other}?")
    subprocess.run(
        ["pg_restore", "-d", restored, "--no-owner", tmp_path / "dump"], check=True
    )
    opened = PostgresStore(restored)
    assert contents(opened) == before
    opened.close()
    ask(database, f"drop database {other}")


def test_files_are_restored_from_a_backup_that_is_made_while_they_are_used(
    tmp_path: Path
) -> None:
    store = filled(Store(tmp_path / "runs.db"))
    before = contents(store)
    (tmp_path / "saved").mkdir()
    with closing(sqlite3.connect(tmp_path / "runs.db")) as db:  # as docs/operations.md does it
        db.execute("vacuum into ?", (str(tmp_path / "saved/runs.db"),))
    store.append("r", "a", 0, 1, NOTICE)
    store.close()
    opened = Store(tmp_path / "saved/runs.db")
    assert contents(opened) == before
    opened.close()


async def test_a_page_opens_when_its_database_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("demo.serving.host.RECOVER_S", 0.05)
    answers = asyncio.Event()

    @asynccontextmanager
    async def opened() -> AsyncIterator[RecordedSession]:
        if not answers.is_set():
            raise DatabaseUnavailable("of a secret server")
        yield RecordedSession()

    host = SessionHost(opened)
    async with host.serving(), asyncio.timeout(20):
        while not host._waits:
            await asyncio.sleep(0.01)
        with pytest.raises(Unavailable, match="The database does not answer") as shown:
            await host.running()
        assert "secret" not in str(shown.value)
        assert (host.status, await host.not_ready()) == ("starting", ("session",))
        answers.set()
        while await host.not_ready():
            await asyncio.sleep(0.01)
        assert (await host.running()).refusal == ""


def test_a_visitor_does_not_read_where_the_database_is() -> None:
    words = refusal_words(DatabaseUnavailable("at 10.0.0.5"))
    assert "10.0.0.5" not in words and DatabaseUnavailable in refusals()


async def test_the_time_without_a_process_does_not_count_as_time_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_session(settings(tmp_path)) as session:
        run = await session.start(TASK)
        await _kinds(session, run)
        row = session.store.run(run)
    now = time.time()
    killed = Store(tmp_path / "runs.db")
    monkeypatch.setattr(time, "time", lambda: now - 3_600)
    killed.add_run("left", "", row.task, row.options)
    first = killed.log(run)[0].event
    asked = e.ModelAsked(
        call=0, role="generator", provider="openai", model="m", tokens=9, cost_usd=0.0
    )
    for ordinal, event in enumerate((first, asked)):
        killed.append("left", "a", 0, ordinal, event)
    killed.close()
    monkeypatch.undo()
    async with open_session(settings(tmp_path)) as session:
        assert await session.recover() == ("left",)
        await _kinds(session, "left")
        log = session.log("left")
    assert [one.event.kind for one in log][1:4] == ["model_asked", "resumed", "model_failed"]
    assert e.seconds_spent(log) < 300
