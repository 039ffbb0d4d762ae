"""Runs that a page queues in the database, and workers drive."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.core import events as e
from agent.core.settings import BadSettings, Settings
from agent.log.postgres import PostgresStore
from agent.log.store import DatabaseUnavailable
from agent.loop.session import Session, open_session
from agent.report.result import fold
from agent.target.errors import BadInput
from agent.target.task import from_page
from tests.agent.runs import settings

TASK = from_page("def add(a, b):\n    return a - b\n", "assert add(1, 2) == 3").task
SLOW = from_page(
    "import time\ndef add(a, b):\n    time.sleep(0.05)\n    return a - b\n", "assert add(1, 2) == 3"
).task
ROOT = Path(__file__).parents[3]


def shared(folder: Path, database: str, **more: object) -> Settings:
    return settings(folder).model_copy(update={"database_url": database, **more})


@asynccontextmanager
async def working(given: Settings, slots: int = 1) -> AsyncIterator[Session]:
    async with open_session(given) as session:
        work = asyncio.create_task(session.work(slots))
        try:
            yield session
        finally:
            work.cancel()
            await asyncio.wait([work])


async def end(session: Session, run: str) -> str:
    async with asyncio.timeout(60):
        return [one.event.kind async for batch in session.follow(run) for one in batch][-1]


def test_the_visitor_served_longest_ago_is_next(database: str) -> None:
    store = PostgresStore(database)
    for number in range(20):
        store.add_run(f"a{number}", "", "t", '{"visitor": "a"}')
        store.release(f"a{number}")
    store.add_run("b", "", "t", '{"visitor": "b"}')
    store.release("b")
    order = []
    for _ in range(4):
        (row,) = store.claim(1)
        order.append(row.id)
        store.append(row.id, "x", 0, 0, e.RunFailed(error="e"))
    assert "b" in order[:2] and len({*order}) == 4
    assert len(store.queued()) == 17
    # At a time, a visitor with runs under way comes last.
    store.add_run("c", "", "t", '{"visitor": "c"}')
    store.release("c")
    assert "c" in {row.id for row in store.claim(2)}
    store.close()


async def test_a_queued_run_waits_for_a_worker_and_ends(tmp_path: Path, database: str) -> None:
    page = shared(tmp_path / "page", database, queue=True, max_queue=2)
    async with open_session(page) as session:
        runs = [await session.start(TASK) for _ in range(2)]
        assert not session.running()
        with pytest.raises(BadInput, match="2 runs wait for a worker already"):
            await session.start(TASK)
        async with working(shared(tmp_path / "work", database), 2):
            assert [await end(session, run) for run in runs] == ["run_finished"] * 2
        assert [one.status for one in session.history().runs()] == ["healed"] * 2


async def test_an_answer_and_a_cancellation_reach_the_worker(
    tmp_path: Path, database: str
) -> None:
    page = shared(tmp_path / "page", database, queue=True, autonomy_level="review_repairs")
    async with (
        open_session(page) as session, working(shared(tmp_path / "work", database), 2) as worker
    ):
        run = await session.start(TASK)
        assert await end(session, run) == "waiting"
        interrupt = session.waiting(run)
        assert interrupt is not None
        assert await session.answer(run, interrupt, {"approve": True})
        assert not await session.answer(run, interrupt, {"approve": False})
        assert await end(session, run) == "run_finished"
        kinds = [one.event.kind for one in session.log(run)]
        assert kinds.count("answered") == 1 and fold(session.log(run)).outcome == "healed"

        other = await session.start(SLOW)
        async with asyncio.timeout(20):
            while other not in worker.running():
                await asyncio.sleep(0.01)
        started = time.monotonic()
        await session.cancel(other)
        while other in worker.running():
            await asyncio.sleep(0.01)
        assert time.monotonic() - started < 5
        assert fold(session.log(other)).outcome == "cancelled"


async def test_a_worker_that_stops_leaves_its_run_to_the_next(
    tmp_path: Path, database: str
) -> None:
    page = shared(tmp_path / "page", database, queue=True)
    async with open_session(page) as session:
        run = await session.start(SLOW)
        async with working(shared(tmp_path / "first", database)) as first:
            async with asyncio.timeout(20):
                while not session.log(run):
                    await asyncio.sleep(0.01)
            assert run in first.running()
        async with working(shared(tmp_path / "second", database)):
            assert await end(session, run) == "run_finished"
        kinds = [one.event.kind for one in session.log(run)]
        assert kinds.count("run_started") == kinds.count("run_finished") == 1


async def test_a_page_that_queues_leaves_abandoned_runs_to_workers(
    tmp_path: Path, database: str
) -> None:
    store = PostgresStore(database)
    store.add_run("r", "", "t", "{}")
    store.close()
    async with open_session(shared(tmp_path, database, queue=True)) as session:
        assert await session.recover() == ()


async def test_a_run_goes_on_after_its_database_was_away(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, left = PostgresStore.append, [0] * 5

    def appended(self: PostgresStore, *given: Any) -> e.LogEntry:
        if given[-1].kind == "step_finished" and left:
            left.pop()
            if len(left) in (0, 2):
                raise DatabaseUnavailable("away")
        return append(self, *given)

    monkeypatch.setattr(PostgresStore, "append", appended)
    page = shared(tmp_path / "page", database, queue=True)
    async with open_session(page) as session, working(shared(tmp_path / "work", database)):
        run = await session.start(TASK)
        assert await end(session, run) == "run_finished"
        kinds = [one.event.kind for one in session.log(run)]
        assert not left and kinds.count("resumed") == 2
        assert "run_failed" not in kinds and kinds.count("run_started") == 1


async def test_files_have_no_queue(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="HEAL_QUEUE=1 needs a database"):
        async with open_session(settings(tmp_path).model_copy(update={"queue": True})):
            pass
    async with open_session(settings(tmp_path)) as session:
        with pytest.raises(BadSettings, match="HEAL_DATABASE_URL"):
            await session.work(1)


@pytest.mark.nightly
async def test_a_killed_worker_loses_no_run(tmp_path: Path, database: str) -> None:
    def worker(name: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-m", "agent", "worker", "--jobs", "1"], cwd=ROOT, env={
                **os.environ, "HEAL_DATABASE_URL": database, "LLM_PROVIDER": "mock",
                "HEAL_DATA_DIR": str(tmp_path / name),
            },
        )

    async with open_session(shared(tmp_path / "page", database, queue=True)) as session:
        run = await session.start(SLOW)
        first = worker("first")
        async with asyncio.timeout(60):
            while not session.log(run):
                await asyncio.sleep(0.05)
        first.kill()
        first.wait()
        second = worker("second")
        try:
            assert await end(session, run) == "run_finished"
        finally:
            second.send_signal(signal.SIGTERM)
            assert second.wait(30) == 0
        kinds = [one.event.kind for one in session.log(run)]
        assert kinds.count("run_finished") == 1 and fold(session.log(run)).outcome == "healed"
