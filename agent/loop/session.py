"""The entry into `agent/` for page, terminal and library: starts, follows, answers and ends
runs."""

from __future__ import annotations

import asyncio
import gc
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from threading import Lock
from typing import Unpack

from agent.core.domain import JailStatus, Report, Solution, Task
from agent.core.events import Answered, Event, Stamped
from agent.core.settings import BadSettings, Settings
from agent.iteration.context import Context
from agent.iteration.models import OWNER
from agent.log.history import History
from agent.log.spending import CostEstimate, estimate_costs
from agent.log.store import UnknownRun
from agent.loop.fork import UNEDITED, Edits
from agent.loop.resources import Resources, open_resources
from agent.loop.run import Options, Run, RunRequest
from agent.memory import Memory
from agent.report.waiting import End, ForStep, GoOn, read_answer
from agent.target.errors import BadInput
from agent.target.task import refuse_unwritable
from agent.verify.jail_level import jail_seen
from agent.verify.judge import check
from llm import Connection, ModelPlan, NoProvider, Provider, open_provider
from llm.redaction import redacted_logs
from sandbox import Sandbox

TURN_S = 0.000_5
"""A thread's turn while others wait; Python's own default is ten times as long."""
YOUNG_BETWEEN_FULL = 1_000
"""Collections of young objects between two of all; Python's own default is ten."""

_LOCK = Lock()
_FOUND: list[tuple[float, tuple[int, int, int]]] = []
"""What each holder has found; the first found the process's own."""


@contextmanager
def low_latency() -> Iterator[None]:
    """Short turns and rare full collections until the last such context is left."""
    with _LOCK:
        turn_s, (first, second, full) = sys.getswitchinterval(), gc.get_threshold()
        _FOUND.append((turn_s, (first, second, full)))
        sys.setswitchinterval(min(turn_s, TURN_S))
        gc.set_threshold(first, second, max(full, YOUNG_BETWEEN_FULL))
    try:
        yield
    finally:
        with _LOCK:
            own = _FOUND[0]
            _FOUND.pop()
            if not _FOUND:
                sys.setswitchinterval(own[0])
                gc.set_threshold(*own[1])


class Session:
    """Starts, shows, answers and ends runs; use from the event loop that opened it."""

    def __init__(self, shared: Resources) -> None:
        self.settings = shared.settings
        self.models = shared.models
        self.sandbox = shared.sandbox
        self.prompts = shared.prompts
        self.notices = shared.notices
        self._shared = shared
        self._store = shared.store
        self._driven: dict[str, Run] = {}

    async def start(
        self,
        task: Task,
        *,
        title: str = "",
        run_id: str | None = None,
        plan: ModelPlan | None = None,
        visitor: str = OWNER,
        **asked: Unpack[RunRequest],
    ) -> str:
        """Starts a run in the background and returns its id. `plan`: who answers; `visitor`: whose
        keys. A run that `pauses` waits at a cap. Raises: ValueError: `run_id` is known; NoProvider,
        NeedsKey."""
        plan = plan or self.plan(visitor)
        options = Options.of(self.settings, plan, visitor, **asked)
        return await self._begin(run_id, title, task, options)

    async def answer(self, run: str, interrupt: str, value: Mapping[str, object]) -> bool:
        """Answers the question a run waits with, as `read_answer` reads it; returns whether the
        answer was taken: a stale or repeated one is not. Raises: BadExtension, BadReview,
        BadInput."""
        asking = self._run(run)
        asked = asking.question
        if asked is None or asked.interrupt != interrupt:
            return False
        answer = read_answer(asked, value)
        for text in answer.value.values() if isinstance(answer, ForStep) else ():
            refuse_unwritable(text if isinstance(text, str) else "")
        await asking.settled()  # the question is out, and who asked it is at its last line
        if not self._store.take_answer(run, interrupt):
            return False  # another caller, maybe in another process, was first
        self._store.take_over(run)  # the caller may have ended; no other process adopts the run now
        asking.emit(Answered(interrupt=interrupt, answer=str(dict(value))))
        if isinstance(answer, End):
            await asking.conclude(
                answer.outcome, f"ended by the user: {asked.question}",
                is_of_time=asked.more is not None and asked.more.seconds > 0,
            )
            return True
        if isinstance(answer, GoOn) and answer.more is not None:
            asking.emit(answer.more)
        self._drive(asking, answer if isinstance(answer, ForStep) else None)
        return True

    async def settle(
        self, run: str, answer: str, *, run_id: str | None = None, visitor: str | None = None
    ) -> str:
        """Starts a run with the answer to this one's open question among the tests; another
        `visitor` gets their own plan. Raises: UnknownRun, BadAnswer."""
        asking = self._run(run)
        task, options = asking.settled_by(answer)
        if visitor is not None and visitor != options.visitor:
            options = options.model_copy(update={"visitor": visitor, "plan": self.plan(visitor)})
        return await self._begin(run_id, asking.title, task, options, of=run)

    async def fork(
        self, run: str, iteration: int, edits: Edits = UNEDITED, *, plan: ModelPlan | None = None,
        run_id: str | None = None, visitor: str = OWNER, **asked: Unpack[RunRequest],
    ) -> str:
        """Starts a fork of a visitor's run and returns its id. Raises: UnknownRun,
        UnknownIteration, BadFork."""
        parent = self._run(self.history(visitor).named(run))
        task, options = await parent.forked(iteration, edits, plan, **asked)
        return await self._begin(run_id, parent.title, task, options, of=parent.id)

    async def again(
        self,
        run: str,
        *,
        plan: ModelPlan | None = None,
        run_id: str | None = None,
        visitor: str = OWNER,
    ) -> str:
        """Starts a visitor's run again with its options and returns the new id. Raises:
        UnknownRun."""
        parent = self._run(self.history(visitor).named(run))
        options = parent.options.model_copy(update={"plan": plan or parent.options.plan})
        return await self._begin(run_id, parent.title, parent.task, options, of=parent.id)

    async def cancel(self, run: str) -> None:
        """Ends the run within its current step; a finished run stays as it is."""
        ended = self._run(run)
        await ended.stop()
        if not self._store.run(run).final:
            await ended.conclude("cancelled", "stopped by the user")

    async def delete(self, run: str) -> None:
        """Ends and deletes a run with its values; lessons stay in the memory. Raises:
        UnknownRun."""
        await self.cancel(run)
        engine = await self._shared.engine.get()
        await engine.forget(run)
        self._store.delete(run)

    async def forget_outlived(self) -> tuple[str, ...]:
        """Deletes runs of visitors beyond the days and the number that the settings keep; returns
        them."""
        days, most = self.settings.keep_days, self.settings.keep_runs
        before = time.time() - days * 24 * 3600 if days else 0.0
        outlived = self._store.outlived(before, most or sys.maxsize, self.models.crowds.place)
        for run in outlived:
            if run not in self._driven:  # by now its visitor may have answered it
                with suppress(UnknownRun):  # or was first to delete it
                    await self.delete(run)
        self._shared.memories.forget_before(before)
        return outlived

    async def pause(self, run: str) -> None:
        """Lets a run that may wait do so, as no interface shows it; `answer` continues it."""
        left = self._driven.get(run)
        if left is None:
            return  # it has ended, or was deleted meanwhile
        if left.is_running and left.options.pauses and left.options.plan.has_model:
            await left.pause()

    async def recover(
        self, run: str | None = None, **asked: Unpack[RunRequest]
    ) -> tuple[str, ...]:
        """Resumes the unfinished runs of processes that are gone; returns their ids."""
        self._shared.engine.begin()
        adopted = self._store.adopt_orphans(run)
        for row in adopted:
            left = Run.stored(row, self._shared)
            if any(value is not None for value in asked.values()):
                left.options = left.options.but(self.settings, **asked)
                self._store.set_options(row.id, left.options.to_json())
            question = left.question
            if question is not None:
                # An answer that its process took and did not live to write was none.
                self._store.forget_answer(row.id, question.interrupt)
                continue
            await left.take_up()
            self._drive(left)
        return tuple(row.id for row in adopted)

    async def close(self) -> None:
        """Stops driving and following; unfinished runs are left for `recover`."""
        going = [run for run in self._driven.values() if run.is_running]
        # One whose question is out is at its last line: cut short, it would ask again.
        await asyncio.gather(*(
            run.stop() if run.question is None else run.settled() for run in going
        ))
        for run in going:
            self._store.release(run.id)
        self._shared.bus.close()

    # What can be seen without changing a run.

    async def follow(self, run: str, after: int = 0) -> AsyncIterator[tuple[Stamped, ...]]:
        """Batches of events behind place `after`, until the run ends or waits. Raises:
        UnknownRun."""
        followed = self._run(run)
        async for batch in self._shared.bus.follow(run, after):
            yield batch
            if batch[-1].event.kind == "waiting" and followed.question is not None:
                return

    def log(self, run: str) -> tuple[Stamped, ...]:
        """All events of a run so far; raises `UnknownRun`."""
        return self._run(run).log

    def so_far(self, run: str) -> Mapping[int, str]:
        """What the models of a run in this process have answered so far, by call."""
        return self._driven[run].so_far() if run in self._driven else {}

    def task(self, run: str) -> Task:
        """What a run is to do; raises `UnknownRun`."""
        return self._run(run).task

    def history(self, visitor: str = OWNER) -> History:
        """The runs of a visitor, to be listed, opened and compared."""
        return History(self._store, visitor)

    def memory(self, visitor: str = OWNER) -> Memory:
        """What is remembered of a visitor's runs."""
        return self._shared.memories.known(visitor)

    def visitor(self, run: str) -> str:
        """Whose keys a run uses; raises `UnknownRun`."""
        return self._run(run).options.visitor

    def can_go_on(self, run: str) -> bool:
        """Whether every key that the run needs is at hand."""
        options = self._run(run).options
        return not self.models.missing_key(options.plan, options.visitor)

    def waiting(self, run: str) -> str | None:
        """The id of the question the run waits with, if it does."""
        asked = self._run(run).question
        return None if asked is None else asked.interrupt

    def going(self) -> dict[str, str]:
        """The runs that go on in this process, and whose each is."""
        return {run.id: run.options.visitor for run in self._driven.values() if run.is_running}

    def unfinished(self, visitor: str) -> frozenset[str]:
        """A visitor's runs that go on, or wait."""
        return self._store.unfinished(visitor)

    def came(self, visitor: str, address: str) -> None:
        """Notes from where a visitor comes."""
        self.models.crowds.came(visitor, address)
        self._shared.memories.came(visitor, address)

    def plan(
        self, visitor: str = OWNER, *, provider: str | None = None, model: str | None = None,
        roles: Mapping[str, str] | None = None,
    ) -> ModelPlan:
        """Who would answer a visitor, with other choices than the settings' where given. Raises:
        NoProvider, NeedsKey."""
        return self.models.plan(visitor, provider, roles, model)

    def predicted(self, plan: ModelPlan, typed: str) -> tuple[CostEstimate, ...]:
        """What one call of each role may come to, for a program and tests that were typed."""
        today = datetime.now(UTC).date()
        return estimate_costs(plan, self.models.prices, self.prompts, typed, today)

    async def judge(self, task: Task, program: Solution, visitor: str = OWNER) -> Report:
        """The verdict on a program under a task's tests, with no run and no repair."""
        sandbox = self._shared.sandbox_of(visitor, uuid.uuid4().hex)
        return await check(
            program, task.tests, task, sandbox, wall_s=self.settings.test_wall_s
        )

    async def jail(self, task: Task | None = None) -> JailStatus:
        """What holds code back here, where the task's judge will run. Raises: SandboxError."""
        return await jail_seen(self.sandbox, task)

    def asking(
        self, task: Task, emit: Callable[[Event], Stamped], budget_s: float | None = None
    ) -> Context:
        """The context for asking a role outside of a run; the caller closes its router."""
        options = Options.of(self.settings, self.plan(), ask=False, budget_s=budget_s)
        run = Run(uuid.uuid4().hex, "", options, task, self._shared)
        run.emit = emit
        return run.context()

    # Helpers.

    def _run(self, run: str) -> Run:
        return self._driven.get(run) or Run.stored(self._store.run(run), self._shared)

    async def _begin(
        self, run_id: str | None, title: str, task: Task, options: Options, *, of: str = ""
    ) -> str:
        """Begins a run; `of` is the one whose values it shares. Raises: BadInput: the id was
        deleted."""
        if run_id and self._store.was_deleted(run_id):  # who has its link would meet another's run
            raise BadInput("That run was deleted. Heal again to start a new one.")
        run = Run(run_id or uuid.uuid4().hex, title, options, task, self._shared)
        if of:
            self._store.share(of, run.id)
        own: tuple[str, ...] = ()
        if options.visitor == OWNER:  # they name the host's folders
            own, self.notices = self.notices, ()  # reported once, by the first run
        await run.begin((*own, *options.plan.notes))
        self._drive(run)
        return run.id

    def _drive(self, run: Run, answer: ForStep | None = None) -> None:
        self._driven[run.id] = run
        run.drive(answer).add_done_callback(lambda _: self._forget(run))

    def _forget(self, run: Run) -> None:
        if self._driven.get(run.id) is run and not run.is_running:
            del self._driven[run.id]


@asynccontextmanager
async def open_session(
    settings: Settings, sandbox: Callable[[], Sandbox] | None = None,
    provider: Callable[[Connection], Provider] = open_provider,
) -> AsyncIterator[Session]:
    """A session in the running event loop. Raises: BadSettings, BadPrices, SandboxError."""
    async with open_resources(settings, sandbox, provider) as shared:
        session = Session(shared)
        with low_latency(), redacted_logs(shared.models.logs):
            try:
                yield session
            finally:
                await session.close()


__all__ = [
    "BadSettings", "NoProvider", "Options", "Session", "Settings", "UnknownRun", "open_session",
]
