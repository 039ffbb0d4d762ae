"""Keeps one session open while the page is served.

The session is opened after the page, since importing the engine takes longer than building the
page. Handlers wait for it.
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
from agent.interfaces.servers.operations import not_ready, operated
from agent.iteration.models import visitor_id
from agent.log.spending import CostEstimate
from agent.log.store import DatabaseUnavailable
from demo.serving.access import Access
from demo.serving.limits import MAX_WAITING, LimitExceeded, VisitorLimits
from demo.serving.viewers import Viewers
from llm import LlmError, ModelPlan, NoProvider
from sandbox import SandboxError

if TYPE_CHECKING:
    from agent.loop.session import Session

log = logging.getLogger(__name__)

FAULTS = (BadSettings, LlmError, SandboxError)
"""Errors of the environment; their message is shown to the visitor."""
ENDING_MESSAGE = (
    "This server is restarting. Leave this page open: it reconnects automatically, and your runs "
    "continue."
)
NO_DATABASE_MESSAGE = (
    "The database does not answer. Your runs are saved and continue when it does; try again in a "
    "minute."
)
CLEANUP_S = 3600.0
RECOVER_S = 5.0
"""Seconds between attempts to open a session, and to resume runs of processes that ended."""
_LOCAL = Access()


@dataclass(frozen=True)
class ServedSession:
    """An open session, and the status of its jail."""

    session: Session | SavedRuns
    jail: JailStatus
    refusal: str = ""
    """Why no code may run; the session then only shows saved runs."""
    warning: str = ""
    """A warning that every page must show."""


def visitor_by(token: str) -> str:
    """Returns the visitor's id for a token of a public page."""
    return visitor_id(f"page {token}")


class Unavailable(Exception):
    """The engine is not available; the message says why."""


class SavedRuns:
    """A session that only shows saved runs. It has only the attributes listed here."""

    def __init__(self, session: Session, why: str) -> None:
        self.models, self.plan, self.visitor = session.models, session.plan, session.visitor
        self.cancel, self.follow, self.log = session.cancel, session.follow, session.log
        self.settings, self.pause, self.history = session.settings, session.pause, session.history
        self.delete, self.memory, self.task = session.delete, session.memory, session.task
        self.running, self.unfinished = session.running, session.unfinished
        self.record_address = session.record_address
        self.partial_answers = session.partial_answers
        self._why = why

    def estimate_costs(self, plan: ModelPlan, input_text: str) -> tuple[CostEstimate, ...]:
        return ()

    def has_all_keys(self, run: str) -> bool:
        return False

    async def start(self, *_given: object, **_named: object) -> NoReturn:
        raise Unavailable(self._why)

    answer = rerun_with_answer = fork = repeat = judge = jail = start


class SessionHost:
    """Opens a session in the background, and closes it with the server."""

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
        self._closing = asyncio.Event()
        self._session: Session | None = None
        self._waits = False
        """Whether the session cannot be opened because the database does not answer."""

    async def not_ready(self) -> tuple[str, ...]:
        """What prevents new runs; names of `agent.interfaces.servers.operations.ADVICE`."""
        if self.status != "ready" or self._session is None:
            return ("session",)
        any_jail = not self.access.public or self.access.allow_weak
        return await not_ready(self._session, any_jail=any_jail)

    @property
    def status(self) -> Literal["starting", "ready", "failed", "ending"]:
        if self.leaving:
            return "ending"
        if self._opened is not None and self._opened.done():
            return "ready"
        return "failed" if self._task is not None and self._task.done() else "starting"

    @property
    def leaving(self) -> bool:
        """Whether the server is about to end; the next one resumes its runs."""
        return self._closing.is_set()

    async def close(self) -> None:
        """Closes the session; unfinished runs can be resumed."""
        self._closing.set()
        if self._task is not None:
            if self._opened is not None and not self._opened.done():
                self._task.cancel()
            await asyncio.wait({self._task})

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Keeps the session open while the server runs, and resumes runs of a killed server."""
        self._opened = asyncio.get_running_loop().create_future()
        self._closing.clear()
        self._task = asyncio.create_task(self._keep(self._opened))
        self._task.add_done_callback(partial(_log_failure, "the engine failed"))
        try:
            yield
        finally:
            await self.close()

    async def running(self) -> ServedSession:
        """Waits for the open session and its jail. Raises `Unavailable`."""
        if self._opened is None or self._task is None:
            raise Unavailable("The server is not running.")
        either: tuple[asyncio.Future[ServedSession] | asyncio.Task[None], ...]
        either = (self._opened, self._task)
        if self._waits and not self._opened.done():
            raise Unavailable(NO_DATABASE_MESSAGE)
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if self.leaving:
            raise Unavailable(ENDING_MESSAGE)
        if not self._opened.done():
            self._task.result()
            raise Unavailable("The engine has stopped. Restart the server; its log says why.")
        return self._opened.result()

    async def session(self) -> Session | SavedRuns:
        return (await self.running()).session

    def counted_work(
        self, session: Session | SavedRuns, visitor: str, address: str, typed: Iterable[str],
        run: str = "",
    ) -> AbstractContextManager[None]:
        """Counts a piece of work of a visitor against their limits: starting or continuing a `run`,
        or work within the context. The owner has no limits. Raises `LimitExceeded`."""
        if not self.access.public:
            return nullcontext()
        self.bound(session, typed)
        session.record_address(visitor, address)
        active = session.running()
        waiting = len(session.unfinished(visitor) - {*active, run}) if run else 0
        if waiting >= MAX_WAITING:
            raise LimitExceeded(
                f"{waiting} of your runs wait for an answer, which is the limit for one visitor. "
                "Answer, stop or delete one of them under “Runs”."
            )
        return self._limits.counted_work(session.settings, active, visitor, address, run)

    def reading_in_turn(self, visitor: str, address: str) -> AbstractAsyncContextManager[None]:
        """Lets each visitor and address read one input at a time; the owner has no limit."""
        if not self.access.public:
            return nullcontext()
        return self._limits.reading_in_turn(visitor, address)

    def admit(self, token: str, address: str) -> None:
        """Raises `LimitExceeded` if the visitor of a token or an address may not start work now."""
        if self.access.public and self.status == "ready" and self._opened is not None:
            session = self._opened.result().session
            self._limits.admit(session.settings, session.running(), visitor_by(token), address)

    def bound(self, session: Session | SavedRuns, typed: Iterable[str]) -> None:
        """Raises `LimitExceeded` if the input is larger than a public page accepts."""
        size, most = sum(map(len, typed)), session.settings.largest_input
        if self.access.public and size > most:
            raise LimitExceeded(
                f"The input has {size:,} characters; this page accepts {most:,}. "
                "Send only the part that fails."
            )

    def following(self, visitor: str, address: str) -> AbstractContextManager[None]:
        """Counts a run that a visitor follows; the owner has no limit. Raises `LimitExceeded`."""
        return self._limits.following(visitor, address) if self.access.public else nullcontext()

    async def _keep(self, opened: asyncio.Future[ServedSession]) -> None:
        """Opens and closes the session in one task, as its task groups require."""
        while not opened.done():
            try:
                await self._open(opened)
            except DatabaseUnavailable as fault:
                if opened.done():
                    raise Unavailable(str(fault)) from fault
                self._waits = True
                log.warning("the page waits: %s", fault)
                await asyncio.sleep(RECOVER_S)
            except FAULTS as fault:
                raise Unavailable(str(fault)) from fault

    async def _open(self, opened: asyncio.Future[ServedSession]) -> None:
        opening = await asyncio.to_thread(self._open_session)
        async with opening as session:
            with operated(session):
                session.bus.waits_for_store = True
                with suppress(NoProvider):  # the page shows the error
                    await session.models.warm()
                running = await self._check_jail(session)
                if not running.refusal:
                    self._await_viewers(session, await session.recover())
                self._session = session
                opened.set_result(running)
                for notice in session.notices if self.access.public else ():
                    log.warning("%s", notice)  # visitors' runs do not show it
                upkeep = asyncio.create_task(self._upkeep(session, resumes=not running.refusal))
                upkeep.add_done_callback(partial(_log_failure, "old runs are left as they are"))
                await self._closing.wait()
                upkeep.cancel()
                await asyncio.wait({upkeep})

    async def _upkeep(self, session: Session, *, resumes: bool) -> None:
        """Deletes old runs, and resumes those that a process or the database left meanwhile."""
        deleting = asyncio.create_task(_delete_old_runs(session))
        try:
            while not deleting.done():
                await asyncio.wait({deleting}, timeout=RECOVER_S)
                with suppress(DatabaseUnavailable):  # its first failure is logged
                    if resumes:
                        self._await_viewers(session, await session.recover_later())
            deleting.result()
        finally:
            deleting.cancel()

    def _await_viewers(self, session: Session, runs: Iterable[str]) -> None:
        """Pauses recovered runs unless their visitors view them again soon."""
        for run in runs:
            with self.viewers.viewing(run, session.settings.grace_s, session.pause):
                pass

    async def _check_jail(self, session: Session) -> ServedSession:
        try:
            jail = await session.jail()
        except FAULTS as fault:
            jail, refusal = JailStatus(words=str(fault)), str(fault)
        else:
            refusal = self.access.refusal(jail)
        if refusal:
            return ServedSession(SavedRuns(session, refusal), jail, refusal)
        return ServedSession(session, jail, warning=self.access.warning(jail))


async def _delete_old_runs(session: Session) -> None:
    while True:
        try:
            await session.delete_expired()
        except (OSError, sqlite3.Error, DatabaseUnavailable) as fault:
            log.error("old runs could not be deleted: %s", fault)
        await asyncio.sleep(CLEANUP_S)


def _log_failure(what: str, task: asyncio.Task[None]) -> None:
    fault = None if task.cancelled() else task.exception()
    if isinstance(fault, Unavailable):
        log.error("%s: %s", what, fault)
    elif fault is not None:  # a bug, whose message may quote a user
        log.error(what, exc_info=fault)
