"""What only a shared database does: leases, refused writes, other processes' events, outages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import psycopg
import pytest

from agent.core import events as e
from agent.core.settings import BadSettings
from agent.log import postgres
from agent.log.bus import EventBus
from agent.log.migrations import MAJOR, MINOR
from agent.log.postgres import PostgresStore, shared
from agent.log.store import RunAlreadyEnded
from agent.loop.session import open_session
from agent.target.task import from_page
from tests.agent.runs import settings

Opening = Callable[[], PostgresStore]
NOTICE = e.Notice(level="info", text="text")


@pytest.fixture
def opening(database: str) -> Iterator[Opening]:
    with ExitStack() as stack:
        def opened() -> PostgresStore:
            store = PostgresStore(database)
            stack.callback(store.close)
            return store

        yield opened


def test_a_process_that_does_not_renew_its_lease_loses_its_runs_and_writes_no_more(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "LEASE_S", 0.2)
    first, second = opening(), opening()
    first.add_run("r", "", "t", "{}")
    first.append("r", "a", 0, 0, NOTICE)
    assert second.adopt_orphans() == ()
    time.sleep(0.3)
    assert [row.id for row in second.adopt_orphans()] == ["r"]
    first.renew()  # it lives on, but the run is another's
    with pytest.raises(RunAlreadyEnded):
        first.append("r", "a", 0, 1, NOTICE)
    second.append("r", "b", 0, 0, NOTICE)
    assert [entry.task for entry in first.log("r")] == ["a", "b"]


def test_each_orphan_goes_to_one_of_many(opening: Opening) -> None:
    first = opening()
    for number in range(40):
        first.add_run(str(number), "", "t", "{}")
    first.close()
    others = [opening() for _ in range(4)]
    adopted = [row.id for store in others for row in store.adopt_orphans()]
    assert sorted(adopted, key=int) == [str(number) for number in range(40)]


def test_an_event_is_written_once_although_its_statement_is_sent_again(opening: Opening) -> None:
    store = opening()
    store.add_run("r", "", "t", "{}")
    first = store.append("r", "a", 0, 0, NOTICE)
    assert store.append("r", "a", 0, 0, NOTICE).seq == first.seq
    assert len(store.log("r")) == 1


def test_a_lost_connection_is_opened_again(opening: Opening, database: str) -> None:
    store = opening()
    store.add_run("r", "", "t", "{}")
    with psycopg.connect(database, autocommit=True) as other:
        other.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid()"
            " and datname = current_database()"
        )
    assert store.append("r", "a", 0, 0, NOTICE).seq == 1


def test_a_database_that_is_away_is_said_without_its_password(
    monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "RECONNECT_S", 0.0)
    with pytest.raises(BadSettings, match=r"database heal at .* cannot .*Check") as bad:
        PostgresStore("postgresql://me:secret-word@127.0.0.1:9/heal")
    assert "secret-word" not in str(bad.value)


@pytest.mark.parametrize(("version", "words"), [
    (f"{MAJOR}_{MINOR + 7}", None), (f"{MAJOR + 1}_0", "Update the program"),
    (f"{MAJOR - 1}_3", "the version that wrote them"),
])
def test_tables_of_another_version_are_refused_unless_they_only_have_more(
    opening: Opening, database: str, version: str, words: str | None
) -> None:
    opening()
    with psycopg.connect(database, autocommit=True) as other:
        other.execute("update alembic_version set version_num = %s", (version,))
    if words is None:
        assert opening().runs(1, "") == ()
        return
    with pytest.raises(BadSettings, match=words):
        opening()


async def test_events_of_other_processes_come_at_once(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agent.log.bus.POLL_INTERVAL_S", 60)
    writing, reading = opening(), opening()
    writing.add_run("r", "", "t", "{}")
    bus, ended = EventBus(reading), []
    bus.on_end = ended.append
    async with shared(reading, bus), asyncio.timeout(20):
        following = aiter(bus.follow("r"))
        next_batch = asyncio.ensure_future(anext(following))
        await asyncio.sleep(0.2)
        write = EventBus(writing).writer("r", "a")
        write(NOTICE)
        assert [entry.seq for entry in await next_batch] == [1]
        write(e.RunFailed(error="e"))
        assert [entry.seq for entry in await anext(following)] == [2]
        while not ended:
            await asyncio.sleep(0.01)
    assert ended == ["r"]


def test_texts_that_a_database_cannot_hold_are_stored(opening: Opening) -> None:
    store = opening()
    store.add_run("r", "a\0b", "t", '{"visitor": "v"}')
    store.rename("r", "c\0")
    store.append("r", "a", 0, 0, e.Notice(level="info", text="\0 \ud800"))
    assert store.runs(9, "v")[0].title == "c"
    (entry,) = store.log("r")
    assert isinstance(entry.event, e.Notice) and entry.event.text == "\0 \ud800"


async def test_a_run_heals_in_the_database_and_another_process_ends_it(
    database: str, tmp_path: object
) -> None:
    given = settings(tmp_path).model_copy(update={"database_url": database})
    broken = from_page("def add(a, b):\n    return a - b\n", "assert add(1, 2) == 3").task
    async with open_session(given) as first, open_session(given) as second:
        run = await first.start(broken)
        kinds = [entry.event.kind async for batch in second.follow(run) for entry in batch]
        assert kinds[-1] == "run_finished"
        assert [one.status for one in second.history().runs()] == ["healed"]

        endless = await first.start(broken.model_copy(update={"description": "again"}))
        await second.cancel(endless)
        async with asyncio.timeout(10):
            while first.running():
                await asyncio.sleep(0.01)
        assert [one.status for one in first.history().runs(1)] == ["cancelled"]
        await second.delete(run)
        assert [one.id for one in first.history().runs()] == [endless]
