"""Keeps one session open for as long as the page is served.

The session is opened in the serving event loop but after the page is up, since importing
the engine takes longer than building the page. Whoever needs it waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import NoReturn, Protocol

from agent.core.domain import Jail, Task
from agent.core.events import Stamped
from agent.healing.models import OWNER, Models
from agent.log.spending import CostEstimate
from demo.strangers import Access
from llm import Plan

log = logging.getLogger(__name__)

_OWN_DOOR = Access()
"""Only this machine reaches the page."""


class Session(Protocol):
    """The part of `agent.run.session.Session` that the page uses."""

    @property
    def models(self) -> Models: ...

    def plan(
        self, visitor: str = OWNER, *, provider: str | None = None, model: str | None = None,
        roles: Mapping[str, str] | None = None,
    ) -> Plan: ...

    def foreseen(self, plan: Plan, typed: str) -> tuple[CostEstimate, ...]: ...

    def visitor(self, run: str, /) -> str: ...

    def can_go_on(self, run: str, /) -> bool: ...

    async def jail(self) -> Jail: ...

    async def start(
        self, task: Task, *, run_id: str | None = None, max_iterations: int | None = None,
        plan: Plan | None = None, visitor: str = OWNER, pauses: bool = False,
    ) -> str: ...

    def follow(self, run: str, /, after: int = 0) -> AsyncIterator[tuple[Stamped, ...]]: ...

    async def cancel(self, run: str, /) -> None: ...

    async def answer(self, run: str, interrupt: str, value: Mapping[str, object], /) -> bool: ...

    async def settle(
        self, run: str, answer: str, /, *, run_id: str | None = None, visitor: str | None = None
    ) -> str: ...

    async def recover(self) -> tuple[str, ...]: ...

    def log(self, run: str, /) -> tuple[Stamped, ...]: ...


class Intake(Protocol):
    """What input became: a task, and what its author must know about it."""

    @property
    def task(self) -> Task: ...

    @property
    def notices(self) -> tuple[str, ...]: ...


@dataclass(frozen=True)
class Engine:
    """What the page needs of the engine; importing it is slow, so it is found late."""

    open: Callable[[], AbstractAsyncContextManager[Session]]
    from_page: Callable[[str, str, str], Intake]
    """Makes a task of code, tests and words; it may take a while and is called in a thread."""
    refusals: tuple[type[Exception], ...]
    """What `from_page` raises for input that cannot be used; the message is for people."""
    faults: tuple[type[Exception], ...]
    """What `open` raises where the surroundings lack something; the message is for people."""


@dataclass(frozen=True)
class Running:
    """An engine with its open session, and what was seen to hold its programs back."""

    engine: Engine
    session: Session
    jail: Jail
    refusal: str = ""
    """Why no code is run here; the session then only shows saved runs."""
    warning: str = ""
    """What every page must say."""


class Unavailable(Exception):
    """The engine cannot work here; the message says why."""


class SavedRuns:
    """A session that shows what was saved, and starts nothing; what it does not name here of the
    session behind it, it does not have."""

    def __init__(self, session: Session, why: str) -> None:
        self.models, self.plan, self.visitor = session.models, session.plan, session.visitor
        self.jail, self.cancel = session.jail, session.cancel
        self.follow, self.log = session.follow, session.log
        self._why = why

    def foreseen(self, plan: Plan, typed: str) -> tuple[CostEstimate, ...]:
        return ()

    def can_go_on(self, run: str, /) -> bool:
        return False

    async def recover(self) -> tuple[str, ...]:
        return ()

    async def start(self, *_given: object, **_named: object) -> NoReturn:
        raise Unavailable(self._why)

    answer = settle = start


class Host:
    """Opens a session in the background of a server's life and closes it with the server."""

    def __init__(self, find_engine: Callable[[], Engine], door: Access = _OWN_DOOR) -> None:
        """`find_engine` may import the engine; it is called in a thread."""
        self.door = door
        self._find_engine = find_engine
        self._opened: asyncio.Future[Running] | None = None
        self._keeping: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """The life of the server; runs that a killed server left behind are taken up."""
        self._opened = asyncio.get_running_loop().create_future()
        leave = asyncio.Event()
        self._keeping = asyncio.create_task(self._keep(self._opened, leave))
        self._keeping.add_done_callback(_told)
        try:
            yield
        finally:
            leave.set()
            await asyncio.wait({self._keeping})

    async def running(self) -> Running:
        """The engine once it is there; raises `Unavailable` where it cannot work."""
        if self._opened is None or self._keeping is None:
            raise Unavailable("The page is not being served.")
        either: tuple[asyncio.Future[Running] | asyncio.Task[None], ...]
        either = (self._opened, self._keeping)
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self._opened.done():
            self._keeping.result()
            raise Unavailable("The engine has ended.")
        return self._opened.result()

    async def session(self) -> Session:
        """The open session; raises `Unavailable` where the engine cannot work."""
        return (await self.running()).session

    async def _keep(self, opened: asyncio.Future[Running], leave: asyncio.Event) -> None:
        """Opens and closes in one task, as a session's own task groups demand."""
        engine = await asyncio.to_thread(self._find_engine)
        try:
            async with engine.open() as session:
                running = await self._admitted(engine, session)
                await running.session.recover()
                opened.set_result(running)
                await leave.wait()
        except engine.faults as fault:
            raise Unavailable(str(fault)) from fault

    async def _admitted(self, engine: Engine, session: Session) -> Running:
        """The session where code may be run behind what holds here, else one that runs none."""
        try:
            jail = await session.jail()
        except engine.faults as fault:
            jail, refusal = Jail(words=str(fault)), str(fault)
        else:
            refusal = self.door.refusal(jail)
        if refusal:
            return Running(engine, SavedRuns(session, refusal), jail, refusal)
        return Running(engine, session, jail, warning=self.door.warning(jail))


def _told(keeping: asyncio.Task[None]) -> None:
    if not keeping.cancelled() and keeping.exception() is not None:
        log.error("the engine does not work: %s", keeping.exception())
