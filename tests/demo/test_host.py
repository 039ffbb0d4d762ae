from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agent.domain import Task
from agent.events import Stamped
from demo.host import Host, Unavailable
from demo.recorded import RecordedSession, recorded_engine

Chosen = Callable[[Task], tuple[Stamped, ...]]


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
