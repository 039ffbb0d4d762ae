from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from agent.core import events as e
from agent.core.domain import Lesson, Script, Task
from agent.core.settings import Settings
from agent.log.bus import EventBus
from agent.log.store import Store, open_store

Opening = Callable[[], Store]


@pytest.fixture(params=["file", "database"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    """Opens one store of runs, as each process does that shares it."""
    settings = Settings()
    if request.param == "database":
        settings = Settings(database_url=request.getfixturevalue("database"))
    return partial(open_store, settings, tmp_path)


@pytest.fixture
def store(opening: Opening) -> Iterator[Store]:
    store = opening()
    yield store
    store.close()


@pytest.fixture
def bus(store: Store) -> EventBus:
    store.add_run("r", "title", "task", "{}")
    return EventBus(store)


def notice(text: str) -> e.Event:
    return e.Notice(level="info", text=text)


def test_a_value_comes_back_equal_from_its_address(store: Store) -> None:
    task = Task(tests=(Script(name="t", origin="user", code="assert f('\ud800')"),))
    key = store.put(task)
    assert (store.get(key, Task), store.put(task)) == (task, key)
    with pytest.raises(KeyError):
        store.get("nothing", Lesson)


def test_only_runs_of_dead_processes_are_adopted_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.db")
    store.add_run("mine", "", "t", "{}")
    other = (
        "import sys, pathlib; from agent.log.store import Store\n"
        "store = Store(pathlib.Path(sys.argv[1]))\n"
        "store.add_run('theirs', '', 't', '{}')\n"
        "print('begun', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", other, str(tmp_path / "runs.db")], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3],
    ) as process:
        assert process.stdout is not None and process.stdout.readline() == "begun\n"
        assert store.is_alive(store.run("mine"))
        assert store.is_alive(store.run("theirs"))
        assert store.adopt_orphans() == ()
        process.kill()
        process.wait()
        assert not store.is_alive(store.run("theirs"))
        assert [row.id for row in store.adopt_orphans()] == ["theirs"]
    assert store.adopt_orphans() == ()
    assert [path.name for path in (tmp_path / "alive").iterdir()] == [store.run("mine").owner]
    store.close()


def test_what_a_closed_store_left_is_adopted_by_the_next(opening: Opening, tmp_path: Path) -> None:
    first, second = opening(), opening()
    first.add_run("r", "", "t", "{}")
    assert second.adopt_orphans() == ()
    first.close()
    assert [row.id for row in second.adopt_orphans()] == ["r"]
    second.close()
    assert not [*(tmp_path / "alive").glob("*")]


def test_a_released_run_can_be_adopted_unless_it_has_finished(store: Store) -> None:
    for run in ("r", "finished"):
        store.add_run(run, "", "t", "{}")
    store.append("finished", "x", 0, 0, e.RunFailed(error="e"))
    for run in ("r", "finished"):
        store.release(run)
    assert [row.id for row in store.adopt_orphans()] == ["r"]


def test_places_count_up_for_all_writers(bus: EventBus, store: Store) -> None:
    first, second = bus.writer("r", "a"), bus.writer("r", "b")
    first(notice("1"))
    second(notice("2"))
    first(notice("3"))
    log = store.log("r")
    assert [(e.seq, e.task, e.ordinal) for e in log] == [(1, "a", 0), (2, "b", 0), (3, "a", 1)]


def test_a_log_survives_json_and_names_a_broken_line(bus: EventBus, store: Store) -> None:
    write = bus.writer("r", "a")
    write(notice("one\ntwo \ud800 \u2028"))
    write(e.RunFailed(error="e"))
    assert e.from_jsonl(e.to_jsonl(store.log("r"))) == store.log("r")
    with pytest.raises(ValueError, match="line 3"):
        e.from_jsonl(e.to_jsonl(store.log("r")) + '{"kind": "other"}\n')


def test_a_question_is_answered_once_whoever_asks(store: Store, opening: Opening) -> None:
    other = opening()
    assert [store.claim_answer("r", "q"), other.claim_answer("r", "q")] == [True, False]
    assert other.claim_answer("r", "next")
    other.close()


def test_time_is_spent_only_while_a_run_is_driven() -> None:
    def at(second: float, event: e.Event) -> e.LogEntry:
        return e.LogEntry(
            run="r", seq=int(second * 10) + 1, task="t", attempt=0, ordinal=0, at=second,
            event=event,
        )

    log = [
        at(0, notice("start")), at(2, e.Waiting(interrupt="q", question="?")),
        at(60, e.Answered(interrupt="q", answer="yes")), at(63, notice("work")),
        at(90, e.Resumed(note="killed at 63")), at(94, notice("end")),
    ]
    assert e.seconds_spent(log) == 2 + 3 + 4


async def test_every_follower_sees_every_event_in_order_from_where_it_began(bus: EventBus) -> None:
    write = bus.writer("r", "a")

    async def read(after: int) -> list[int]:
        return [entry.seq async for batch in bus.follow("r", after) for entry in batch]

    early = [asyncio.create_task(read(0)) for _ in range(5)]
    for number in range(1200):
        write(notice(str(number)))
        if number % 100 == 0:
            await asyncio.sleep(0)
    late = asyncio.create_task(read(1000))
    await asyncio.sleep(0)
    write(e.RunFailed(error="e"))
    assert await asyncio.gather(*early) == [list(range(1, 1202))] * 5
    assert await late == list(range(1001, 1202))
    assert not bus._wakeup_events


async def test_followers_that_leave_are_forgotten(bus: EventBus, store: Store) -> None:
    async def read() -> None:
        async for _ in bus.follow("r"):
            raise AssertionError("there is nothing to read")

    task = asyncio.create_task(read())
    await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert not bus._wakeup_events

    following = bus.follow("r")
    ends = asyncio.create_task(anext(following, None))
    await asyncio.sleep(0)
    bus.close()
    store.close()
    assert await ends is None


async def test_a_follower_sees_what_another_process_writes(
    bus: EventBus, opening: Opening
) -> None:
    async def read() -> list[str]:
        return [entry.event.kind async for batch in bus.follow("r") for entry in batch]

    reading = asyncio.create_task(read())
    await asyncio.sleep(0.01)
    elsewhere = opening()
    elsewhere.take_over("r")
    EventBus(elsewhere).writer("r", "a")(e.RunFailed(error="e"))
    elsewhere.close()
    assert await asyncio.wait_for(reading, 10) == ["run_failed"]
