"""Keeps one session open for as long as the page is served.

The session is opened in the serving event loop but after the page is up, since importing
the engine takes longer than building the page. Whoever needs it waits for it.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    nullcontext,
    suppress,
)
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, NoReturn

from agent.core.domain import JailStatus
from agent.core.settings import BadSettings
from agent.iteration.models import visitor_of
from agent.log.spending import CostEstimate
from demo.serving.access import Access
from demo.serving.limits import MAX_WAITING, TooMuch, VisitorLimits
from demo.serving.viewers import Viewers
from llm import LlmError, ModelPlan, NoProvider
from sandbox import SandboxError

if TYPE_CHECKING:
    from agent.loop.session import Session

log = logging.getLogger(__name__)

FAULTS = (BadSettings, LlmError, SandboxError)
"""What is raised where the surroundings lack something; the message is for people."""
ENDING_MESSAGE = (
    "This server is ending. Its page comes back by itself once it runs again, and so does each run."
)
TIDY_S = 3600.0
_LOCAL = Access()
"""Only this machine reaches the page."""


@dataclass(frozen=True)
class ServedSession:
    """An open session, and what was seen to hold its programs back."""

    session: Session | SavedRuns
    jail: JailStatus
    refusal: str = ""
    """Why no code is run here; the session then only shows saved runs."""
    warning: str = ""
    """What every page must say."""


def visitor_by(word: str) -> str:
    """Whose runs, memory and keys are meant by a word, on a public page."""
    return visitor_of(f"page {word}")


class Unavailable(Exception):
    """The engine cannot work here; the message says why."""


class SavedRuns:
    """A session that shows what was saved, and starts nothing; what it does not name here of the
    session behind it, it does not have."""

    def __init__(self, session: Session, why: str) -> None:
        self.models, self.plan, self.visitor = session.models, session.plan, session.visitor
        self.cancel, self.follow, self.log = session.cancel, session.follow, session.log
        self.settings, self.pause, self.history = session.settings, session.pause, session.history
        self.delete, self.memory, self.task = session.delete, session.memory, session.task
        self.going, self.unfinished = session.going, session.unfinished
        self.came = session.came
        self.so_far = session.so_far
        self._why = why

    def predicted(self, plan: ModelPlan, typed: str) -> tuple[CostEstimate, ...]:
        return ()

    def can_go_on(self, run: str) -> bool:
        return False

    async def start(self, *_given: object, **_named: object) -> NoReturn:
        raise Unavailable(self._why)

    answer = settle = fork = again = judge = jail = start


class SessionHost:
    """Opens a session in the background of a server's life and closes it with the server."""

    def __init__(
        self, open_session: Callable[[], AbstractAsyncContextManager[Session]],
        access: Access = _LOCAL,
    ) -> None:
        """`open_session` may import the engine; it is called in a thread."""
        self.access = access
        self._open_session = open_session
        self.viewers = Viewers()
        self._limits = VisitorLimits()
        self._opened: asyncio.Future[ServedSession] | None = None
        self._task: asyncio.Task[None] | None = None
        self._leave = asyncio.Event()

    @property
    def status(self) -> Literal["starting", "ready", "failed", "ending"]:
        """Whether the engine works."""
        if self.leaving:
            return "ending"
        if self._opened is not None and self._opened.done():
            return "ready"
        return "failed" if self._task is not None and self._task.done() else "starting"

    @property
    def leaving(self) -> bool:
        """The server is about to end: what it leaves is taken up by the next one."""
        return self._leave.is_set()

    async def close(self) -> None:
        """Closes the session, with every unfinished run left to be taken up."""
        self._leave.set()
        if self._task is not None:
            if self._opened is not None and not self._opened.done():
                self._task.cancel()
            await asyncio.wait({self._task})

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """The life of the server; runs that a killed server left behind are taken up."""
        self._opened = asyncio.get_running_loop().create_future()
        self._leave.clear()
        self._task = asyncio.create_task(self._keep(self._opened))
        self._task.add_done_callback(partial(_log_failure, "the engine does not work"))
        try:
            yield
        finally:
            await self.close()

    async def running(self) -> ServedSession:
        """The open session with its jail; raises `Unavailable` where it cannot work."""
        if self._opened is None or self._task is None:
            raise Unavailable("The page is not being served.")
        either: tuple[asyncio.Future[ServedSession] | asyncio.Task[None], ...]
        either = (self._opened, self._task)
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self.leaving:
            raise Unavailable(ENDING_MESSAGE)
        if not self._opened.done():
            self._task.result()
            raise Unavailable("The engine has ended.")
        return self._opened.result()

    async def session(self) -> Session | SavedRuns:
        """The open session; raises `Unavailable` where the engine cannot work."""
        return (await self.running()).session

    def working(
        self, session: Session | SavedRuns, visitor: str, address: str, typed: Iterable[str],
        run: str = "",
    ) -> AbstractContextManager[None]:
        """Counts a piece of work for a visitor, who typed so much for it: a `run` that begins or
        goes on, or what is done before it returns. The owner does as they like. Raises
        `TooMuch`."""
        if not self.access.public:
            return nullcontext()
        self.bound(session, typed)
        session.came(visitor, address)
        going = session.going()
        waiting = len(session.unfinished(visitor) - {*going, run}) if run else 0
        if waiting >= MAX_WAITING:
            raise TooMuch(
                f"{waiting} of your runs wait for you, which is as many as one visitor may have "
                "here: answer, stop or delete one, which “Runs” lists."
            )
        return self._limits.working(session.settings, going, visitor, address, run)

    def reading(self, visitor: str, address: str) -> AbstractAsyncContextManager[None]:
        """Waits for the turn of a visitor and of their address to have input read; the owner waits
        for nobody."""
        return self._limits.reading(visitor, address) if self.access.public else nullcontext()

    def admit(self, word: str, address: str) -> None:
        """Raises `TooMuch` where whoever is known by that word, or asks from there, may not begin
        anything now, as far as that is known before it is read what."""
        if self.access.public and self.status == "ready" and self._opened is not None:
            session = self._opened.result().session
            self._limits.admit(session.settings, session.going(), visitor_by(word), address)

    def bound(self, session: Session | SavedRuns, typed: Iterable[str]) -> None:
        """Raises `TooMuch` where a visitor brings more text than a public page takes."""
        size, most = sum(map(len, typed)), session.settings.largest_input
        if self.access.public and size > most:
            raise TooMuch(
                f"That is {size:,} characters, and this page takes {most:,}. "
                "Bring the part that fails."
            )

    def following(self, visitor: str, address: str) -> AbstractContextManager[None]:
        """Counts a run that a visitor follows; the owner follows as many as they like. Raises
        `TooMuch`."""
        return self._limits.following(visitor, address) if self.access.public else nullcontext()

    async def _keep(self, opened: asyncio.Future[ServedSession]) -> None:
        """Opens and closes in one task, as a session's own task groups demand."""
        try:
            async with await asyncio.to_thread(self._open_session) as session:
                with suppress(NoProvider):  # the page says so where it shows the plan
                    await session.models.warm()
                running = await self._admitted(session)
                if not running.refusal:
                    for run in await session.recover():
                        # Whoever began it looks again soon, or it waits for them.
                        with self.viewers.viewing(run, session.settings.grace_s, session.pause):
                            pass
                opened.set_result(running)
                for notice in session.notices if self.access.public else ():
                    log.warning("%s", notice)  # no run of a visitor tells it
                tidying = asyncio.create_task(_tidy(session))
                tidying.add_done_callback(partial(_log_failure, "nothing more is tidied up"))
                await self._leave.wait()
                tidying.cancel()
                await asyncio.wait({tidying})
        except FAULTS as fault:
            raise Unavailable(str(fault)) from fault

    async def _admitted(self, session: Session) -> ServedSession:
        """The session where code may be run behind what holds here, else one that runs none."""
        try:
            jail = await session.jail()
        except FAULTS as fault:
            jail, refusal = JailStatus(words=str(fault)), str(fault)
        else:
            refusal = self.access.refusal(jail)
        if refusal:
            return ServedSession(SavedRuns(session, refusal), jail, refusal)
        return ServedSession(session, jail, warning=self.access.warning(jail))


async def _tidy(session: Session) -> None:
    """Deletes, now and then, what is kept no longer."""
    while True:
        try:
            await session.forget_outlived()
        except (OSError, sqlite3.Error) as fault:
            log.error("what is kept no longer is not deleted yet: %s", fault)
        await asyncio.sleep(TIDY_S)


def _log_failure(what: str, task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("%s: %s", what, task.exception())
