from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import app
from agent.core.domain import Jail, Task
from agent.core.events import Stamped
from agent.core.settings import Settings
from demo.host import Host, Unavailable
from demo.recorded import RecordedSession, recorded_engine
from demo.strangers import Access

Chosen = Callable[[Task], tuple[Stamped, ...]]


WEAK = Jail(words="subprocess: L1: limits only", level="L1")
STRONG = Jail(words="jail: L2 seen to hold: seccomp without any file, limits", level="L2")


class NoJail(Exception):
    """The surroundings lack a jail."""


async def test_the_session_is_open_while_served_and_closed_after(chosen: Chosen) -> None:
    seen: list[str] = []
    session = RecordedSession(chosen)

    @asynccontextmanager
    async def opened() -> AsyncIterator[RecordedSession]:
        seen.append("opened")
        yield session
        seen.append("closed")

    host = Host(lambda: replace(recorded_engine(session), open=opened))
    async with host.serving():
        assert await host.session() is session
        assert await host.session() is session
    assert seen == ["opened", "closed"]


async def test_runs_that_were_left_behind_are_taken_up_before_anyone_asks(chosen: Chosen) -> None:
    taken: list[str] = []

    class Left(RecordedSession):
        async def recover(self) -> tuple[str, ...]:
            taken.append("left-behind")
            return ("left-behind",)

    host = Host(lambda: recorded_engine(Left(chosen)))
    async with host.serving():
        await host.session()
        assert taken == ["left-behind"]


async def test_an_engine_that_cannot_work_says_why_to_everyone_who_asks(chosen: Chosen) -> None:
    @asynccontextmanager
    async def opened() -> AsyncIterator[RecordedSession]:
        raise NoJail("this system has no jail; install one")
        yield

    host = Host(lambda: replace(
        recorded_engine(RecordedSession(chosen)), open=opened, faults=(NoJail,)
    ))
    async with host.serving():
        for _ in range(2):
            with pytest.raises(Unavailable, match="install one"):
                await host.session()


async def test_a_fault_of_the_engine_is_not_called_a_lack(chosen: Chosen) -> None:
    def broken() -> object:
        raise ZeroDivisionError("a bug")

    host = Host(broken)  # type: ignore[arg-type]  # it never returns
    async with host.serving():
        with pytest.raises(ZeroDivisionError):
            await host.session()


async def test_nobody_waits_for_a_page_that_is_not_served(chosen: Chosen) -> None:
    with pytest.raises(Unavailable, match="not being served"):
        await Host(lambda: recorded_engine(RecordedSession(chosen))).session()


class Kept(RecordedSession):
    """Notes whether a run that was left behind would have been taken up."""

    taken = False

    async def recover(self) -> tuple[str, ...]:
        self.taken = True
        return ()


async def test_a_public_page_behind_a_weak_jail_shows_saved_runs_and_starts_none(
    chosen: Chosen,
) -> None:
    kept = Kept(chosen, jail=WEAK)
    await kept.start(Task(), run_id="saved")
    async for _ in kept.follow("saved"):
        pass
    host = Host(lambda: recorded_engine(kept), Access(public=True))
    async with host.serving():
        running = await host.running()
        session = running.session

        assert "No code is run here" in running.refusal
        assert "SANDBOX_ALLOW_WEAK=1" in running.refusal
        assert not kept.taken, "a run that is taken up runs code"
        for running_code in (
            session.start(Task()), session.settle("saved", "A"),
            session.answer("saved", "ask-1", {"approve": True}),
        ):
            with pytest.raises(Unavailable, match="No code is run here"):
                await running_code
        assert not session.can_go_on("saved")
        assert session.log("saved") == kept.log("saved")
        assert [batch async for batch in session.follow("saved")]


@pytest.mark.parametrize(
    ("door", "jail", "warned"),
    [
        (Access(public=True), STRONG, False),
        (Access(public=True, allow_weak=True), STRONG, False),
        (Access(public=True, allow_weak=True), WEAK, True),
        (Access(public=False), WEAK, False),
    ],
)
async def test_code_is_run_where_the_jail_holds_or_the_operator_takes_the_risk(
    chosen: Chosen, door: Access, jail: Jail, warned: bool
) -> None:
    kept = Kept(chosen, jail=jail)
    host = Host(lambda: recorded_engine(kept), door)
    async with host.serving():
        running = await host.running()
        await running.session.start(Task(), run_id="new")

        assert (running.refusal, bool(running.warning), kept.taken) == ("", warned, True)


async def test_a_jail_that_cannot_be_looked_at_leaves_the_saved_runs(chosen: Chosen) -> None:
    class Broken(Kept):
        async def jail(self) -> Jail:
            raise NoJail("the kernel is on holiday")

    broken = Broken(chosen)
    host = Host(lambda: replace(recorded_engine(broken), faults=(NoJail,)))
    async with host.serving():
        assert (await host.running()).refusal == "the kernel is on holiday"
        with pytest.raises(Unavailable, match="holiday"):
            await (await host.session()).start(Task())


@pytest.mark.skipif(sys.platform == "win32", reason="there is no backend of its own on Windows")
@pytest.mark.parametrize(("backend", "refused"), [("subprocess", True), ("auto", False)])
async def test_the_real_backends_are_told_apart(
    tmp_path: Path, backend: str, refused: bool
) -> None:
    settings = Settings.from_env({}, provider="mock", data_dir=tmp_path, sandbox=backend)
    engine = app.find_engine(settings)
    host = Host(lambda: engine, Access(public=True))
    async with host.serving():
        running = await host.running()
        if backend == "auto" and running.jail.level == "L1":
            pytest.skip(f"the system grants no jail: {running.jail.words}")

        assert bool(running.refusal) == refused
        if refused:
            with pytest.raises(Unavailable):
                await running.session.start(Task(text="x"))
