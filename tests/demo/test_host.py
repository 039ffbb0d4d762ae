from __future__ import annotations

import asyncio
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import app
from agent.core.domain import JailStatus, Task
from agent.core.settings import Settings
from demo.serving.access import Access
from demo.serving.host import SessionHost, Unavailable
from sandbox import SandboxUnavailable
from tests.demo.recorded import RecordedSession, hosting

WEAK = JailStatus(words="subprocess: L1: limits only", level="L1")
STRONG = JailStatus(words="jail: L2, confirmed by tests: seccomp, limits", level="L2")


async def test_the_session_is_open_while_served_and_closed_after() -> None:
    seen: list[str] = []

    @asynccontextmanager
    async def opened() -> AsyncIterator[RecordedSession]:
        seen.append("opened")
        yield RecordedSession()
        seen.append("closed")

    host = SessionHost(opened)
    async with host.serving():
        assert await host.session() is await host.session()
    assert seen == ["opened", "closed"]


@pytest.mark.parametrize(("fault", "raised"), [
    (SandboxUnavailable("this system has no jail; install one"), Unavailable),
    (ZeroDivisionError("a bug; install one"), ZeroDivisionError),
])
async def test_a_missing_system_part_is_reported(fault: Exception, raised: type[Exception]) -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[RecordedSession]:
        raise fault
        yield

    host = SessionHost(opened)
    async with host.serving():
        for _ in range(2):
            with pytest.raises(raised, match="install one"):
                await host.session()


async def test_nobody_waits_for_a_page_that_is_not_served() -> None:
    with pytest.raises(Unavailable):
        await hosting(RecordedSession()).session()


async def test_a_public_page_behind_a_weak_jail_shows_saved_runs_and_starts_none() -> None:
    kept = RecordedSession(jail=WEAK)
    await kept.start(Task(), run_id="saved")
    async for _ in kept.follow("saved"):
        pass
    host = hosting(kept, Access(public=True))
    async with host.serving():
        running = await host.running()
        session = running.session

        assert "SANDBOX_ALLOW_WEAK=1" in running.refusal
        assert not kept.recovered, "a run that is taken up runs code"
        for running_code in (
            session.start(Task()), session.rerun_with_answer("saved", "A"),
            session.fork("saved", 0), session.answer("saved", "ask-1", {"approve": True}),
        ):
            with pytest.raises(Unavailable):
                await running_code
        assert not session.has_all_keys("saved")
        assert session.log("saved") == kept.log("saved")
        assert [batch async for batch in session.follow("saved")]


@pytest.mark.parametrize(("access", "jail", "warned"), [
    (Access(public=True), STRONG, False), (Access(public=True, allow_weak=True), STRONG, False),
    (Access(public=True, allow_weak=True), WEAK, True), (Access(public=False), WEAK, False),
])
async def test_code_is_run_where_the_jail_holds_or_the_operator_takes_the_risk(
    access: Access, jail: JailStatus, warned: bool
) -> None:
    kept = RecordedSession(jail=jail)
    host = hosting(kept, access)
    async with host.serving():
        running = await host.running()
        # What a killed server left behind is taken up before anyone asks.
        assert (running.refusal, bool(running.warning), kept.recovered) == ("", warned, True)
        await running.session.start(Task(), run_id="new")


async def test_a_jail_that_cannot_be_looked_at_leaves_the_saved_runs() -> None:
    class Broken(RecordedSession):
        async def jail(self, task: Task | None = None) -> JailStatus:
            raise SandboxUnavailable("the kernel is on holiday")

    host = hosting(Broken())
    async with host.serving():
        assert "the kernel is on holiday" in (await host.running()).refusal
        with pytest.raises(Unavailable):
            await (await host.session()).start(Task())


@pytest.mark.skipif(sys.platform == "win32", reason="there is no backend of its own on Windows")
@pytest.mark.parametrize(("backend", "refused"), [("subprocess", True), ("auto", False)])
async def test_real_backends_are_detected(tmp_path: Path, backend: str, refused: bool) -> None:
    settings = Settings.from_env({}, provider="mock", data_dir=tmp_path, sandbox=backend)
    host = SessionHost(lambda: app.opened(settings), Access(public=True))
    async with host.serving():
        running = await host.running()
        if backend == "auto" and running.jail.level == "L1":
            pytest.skip(f"the system grants no jail: {running.jail.words}")

        assert bool(running.refusal) == refused
        if refused:
            with pytest.raises(Unavailable):
                await running.session.start(Task(text="x"))


async def test_what_cannot_be_deleted_now_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Locked(RecordedSession):
        tried = 0

        async def delete_expired(self) -> tuple[str, ...]:
            self.tried += 1
            if self.tried == 1:
                raise sqlite3.OperationalError("database is locked")
            return ()

    monkeypatch.setattr("demo.serving.host.CLEANUP_S", 0)
    kept = Locked()
    kept.notices = ("Runs lie in /tmp/of-the-host.",)
    host = hosting(kept, Access(public=True, allow_weak=True))
    async with host.serving():
        await host.running()
        while kept.tried < 3:
            await asyncio.sleep(0)
        assert host.status == "ready"
    first, second = (one.message for one in caplog.records)
    assert first == kept.notices[0] and "database is locked" in second


async def test_a_run_that_was_taken_up_waits_where_nobody_comes_back_to_it() -> None:
    kept = RecordedSession(jail=STRONG)
    kept.left, kept.settings = ("one", "two"), Settings(grace_s=1e-9)
    host = hosting(kept, Access())
    async with host.serving():
        await host.running()
        while len(kept.paused) < len(kept.left):
            await asyncio.sleep(0)
    assert kept.paused == ["one", "two"]
