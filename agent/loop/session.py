"""The session: starts, follows, answers and ends runs for page, terminal and library."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from threading import Lock
from typing import Unpack

from agent.core.domain import JailStatus, Report, Solution, Task
from agent.core.events import Answered, Event, LogEntry
from agent.core.settings import BadSettings, Settings
from agent.iteration.context import Context
from agent.iteration.models import LOCAL_USER
from agent.log.history import History
from agent.log.spending import CostEstimate, estimate_costs
from agent.log.store import DatabaseUnavailable, RunRow, UnknownRun
from agent.loop.fork import UNEDITED, Edits
from agent.loop.resources import Resources, open_resources
from agent.loop.run import Options, Run, RunRequest
from agent.memory import Memory
from agent.report.waiting import ContinueRun, EndRun, StepAnswer, read_answer
from agent.target.errors import BadInput
from agent.target.task import refuse_unwritable
from agent.verify.jail_level import jail_status
from agent.verify.judge import check
from llm import Connection, ModelPlan, NoProvider, Provider, open_provider
from llm.redaction import redacted_logs
from sandbox import Sandbox

log = logging.getLogger("agent")
QUEUE_POLL_S = 1.0
"""How often a worker looks for runs whose process has ended."""
SWITCH_INTERVAL_S = 0.000_5
"""A tenth of Python's default thread switch interval."""
FULL_GC_THRESHOLD = 1_000
"""Young collections per full garbage collection; Python's default is ten."""

_LOCK = Lock()
_SAVED: list[tuple[float, tuple[int, int, int]]] = []
"""The values before each open context; the first are the process's own."""


@contextmanager
def low_latency() -> Iterator[None]:
    """Uses short thread switches and rare full collections until the last such context exits."""
    with _LOCK:
        interval_s, (first, second, full) = sys.getswitchinterval(), gc.get_threshold()
        _SAVED.append((interval_s, (first, second, full)))
        sys.setswitchinterval(min(interval_s, SWITCH_INTERVAL_S))
        gc.set_threshold(first, second, max(full, FULL_GC_THRESHOLD))
    try:
        yield
    finally:
        with _LOCK:
            saved = _SAVED[0]
            _SAVED.pop()
            if not _SAVED:
                sys.setswitchinterval(saved[0])
                gc.set_threshold(*saved[1])


class Session:
    """Starts, shows, answers and ends runs; use it from the event loop that opened it."""

    def __init__(self, shared: Resources) -> None:
        self.settings = shared.settings
        self.models = shared.models
        self.sandbox = shared.sandbox
        self.prompts = shared.prompts
        self.notices = shared.notices
        self._shared = shared
        self.store = self._store = shared.store
        self.bus = shared.bus
        self._active: dict[str, Run] = {}
        self._lost: list[str] = []
        """Runs that stopped because the database did not answer; this process still owns them."""
        self._unreadable: set[str] = set()
        """Runs that this version of the program cannot read, and leaves to another process."""
        shared.bus.on_end = self._stop_ended

    async def start(
        self,
        task: Task, *, title: str = "", run_id: str | None = None, plan: ModelPlan | None = None,
        visitor: str = LOCAL_USER, judged: Report | None = None, **requested: Unpack[RunRequest],
    ) -> str:
        """Starts a run in the background and returns its id. A run with `pauses` waits at a cap.

        Args:
            title: The name in the list of runs.
            run_id: The id, by default a new one.
            plan: The models for each role, by default the visitor's.
            visitor: The visitor whose API keys are used.
            judged: The report on the submitted program, if its tests have run already.
            requested: Options that differ from the settings.

        Raises:
            ValueError: `run_id` exists already.
            NoProvider, NeedsKey: The default plan is not available.
        """
        plan = plan or self.plan(visitor)
        options = Options.of(self.settings, plan, visitor, **requested)
        return await self._begin(run_id, title, task, options, judged=judged)

    async def answer(self, run: str, interrupt: str, value: Mapping[str, object]) -> bool:
        """Answers the question that a run waits with, as `read_answer` reads it. Returns False for
        a stale or repeated answer. Raises `BadExtension`, `BadReview`, `BadInput`."""
        waiting = self._run(run)
        question = waiting.question
        if question is None or question.interrupt != interrupt:
            return False
        answer = read_answer(question, value)
        for text in answer.value.values() if isinstance(answer, StepAnswer) else ():
            refuse_unwritable(text if isinstance(text, str) else "")
        await waiting.wait_until_idle()
        saved = json.dumps(dict(answer.value)) if isinstance(answer, StepAnswer) else ""
        if not self._store.claim_answer(run, interrupt, saved):
            return False  # another caller, maybe in another process, was first
        self._store.take_over(run)  # its process may have ended: no other process adopts it now
        waiting.emit(Answered(interrupt=interrupt, answer=str(dict(value))))
        if isinstance(answer, EndRun):
            offered = question.budget_extension
            await waiting.conclude(
                answer.outcome, f"ended by the user: {question.question}",
                stop_for_time=offered is not None and offered.seconds > 0,
            )
            return True
        if isinstance(answer, ContinueRun) and answer.budget_extension is not None:
            waiting.emit(answer.budget_extension)
        if self.settings.queue:
            self._store.release(run)
        else:
            self._run_in_background(waiting, answer if isinstance(answer, StepAnswer) else None)
        return True

    async def rerun_with_answer(
        self, run: str, answer: str, *, run_id: str | None = None, visitor: str | None = None
    ) -> str:
        """Starts a run whose tests include the answer to this run's open question; a different
        `visitor` gets their own plan. Raises `UnknownRun`, `BadAnswer`."""
        parent = self._run(run)
        task, options = parent.rerun_inputs(answer)
        if visitor is not None and visitor != options.visitor:
            options = options.model_copy(update={"visitor": visitor, "plan": self.plan(visitor)})
        return await self._begin(run_id, parent.title, task, options, of=run)

    async def fork(
        self, run: str, iteration: int, edits: Edits = UNEDITED, *, plan: ModelPlan | None = None,
        run_id: str | None = None, visitor: str = LOCAL_USER, **requested: Unpack[RunRequest],
    ) -> str:
        """Starts a fork of a visitor's run and returns its id. Raises `UnknownRun`,
        `UnknownIteration`, `BadFork`."""
        parent = self._run(self.history(visitor).named(run))
        task, options = await parent.fork_inputs(iteration, edits, plan, **requested)
        return await self._begin(run_id, parent.title, task, options, of=parent.id)

    async def repeat(
        self, run: str, *, plan: ModelPlan | None = None, run_id: str | None = None,
        visitor: str = LOCAL_USER,
    ) -> str:
        """Repeats a visitor's run with its options and returns the new id. Raises `UnknownRun`."""
        parent = self._run(self.history(visitor).named(run))
        options = parent.options.model_copy(update={"plan": plan or parent.options.plan})
        return await self._begin(run_id, parent.title, parent.task, options, of=parent.id)

    async def cancel(self, run: str) -> None:
        """Ends the run within its current step; a finished run stays as it is. Raises:
        UnknownRun."""
        cancelled = self._run(run)
        await cancelled.stop()
        if not self._store.run(run).final:
            self._store.take_over(run)  # another process may drive it, and writes no more
            await cancelled.conclude("cancelled", "stopped by the user")

    async def delete(self, run: str) -> None:
        """Stops a run and deletes its log and values, but no lessons. Raises `UnknownRun`."""
        await self.cancel(run)
        engine = await self._shared.engine.get()
        await engine.forget(run)
        self._store.delete(run)

    async def delete_expired(self) -> tuple[str, ...]:
        """Deletes visitors' runs beyond `keep_days` and `keep_runs`; returns their ids."""
        days, limit = self.settings.keep_days, self.settings.keep_runs
        before = time.time() - days * 24 * 3600 if days else 0.0
        expired = self._store.expired(
            before, limit or sys.maxsize, self.models.addresses.address_of
        )
        for run in expired:
            if run not in self._active:  # by now its visitor may have answered it
                with suppress(UnknownRun):  # or have deleted it
                    await self.delete(run)
        self._shared.memories.forget_before(before)
        return expired

    async def pause(self, run: str) -> None:
        """Pauses a run that may wait, because no interface shows it; `answer` continues it."""
        paused = self._active.get(run)
        if paused is None:
            return  # it has ended, or was deleted meanwhile
        if paused.is_running and paused.options.pauses and paused.options.plan.has_model:
            await paused.pause()

    async def recover(
        self, run: str | None = None, **requested: Unpack[RunRequest]
    ) -> tuple[str, ...]:
        """Resumes the unfinished runs of processes that have ended.

        Args:
            run: The only run to resume; `None` for all.
            requested: Options that replace those of the runs.

        Returns:
            The ids of the resumed runs, and of those that still wait for an answer.
        """
        if self.settings.queue:
            return ()  # workers do
        self._shared.engine.begin()
        adopted = self._store.adopt_orphans(run)
        self._lost += [row.id for row in adopted]
        for row in adopted:
            with self._leaving_unreadable(row.id):
                recovered = Run.stored(row, self._shared)
                if any(value is not None for value in requested.values()):
                    recovered.options = recovered.options.updated(self.settings, **requested)
                    self._store.set_options(row.id, recovered.options.to_json())
                question = recovered.question
                if question is not None:
                    # The process accepted an answer but ended before it wrote it: it is lost.
                    self._store.forget_answer(row.id, question.interrupt)
                else:
                    await self._resume(recovered)
            self._lost.remove(row.id)
        return tuple(row.id for row in adopted if row.id not in self._unreadable)

    async def recover_later(self) -> tuple[str, ...]:
        """Resumes runs that stopped because the store did not answer, and in a database also those
        of processes that ended since the start of this one. Returns as `recover`; raises
        `DatabaseUnavailable`."""
        if not (self._lost or self._store.url):
            return ()
        self._release_lost()
        return await self.recover()

    @contextmanager
    def _leaving_unreadable(self, run: str) -> Iterator[None]:
        """Releases a run that a newer version of the program wrote, during a deployment."""
        try:
            yield
        except (KeyError, ValueError) as error:
            if run not in self._unreadable:
                log.error(
                    "run %s is left to another process: this version cannot read it (%s). Update "
                    "this one if it lasts.", run, type(error).__name__,
                )
            self._unreadable.add(run)
            self._store.release(run)

    def _release_lost(self) -> None:
        while self._lost:
            self._store.release(self._lost[-1])
            self._lost.pop()

    async def work(self, slots: int) -> None:
        """Drives the queued runs of the database, at most `slots` at a time, until cancelled."""
        from agent.log.postgres import PostgresStore

        store, changed = self._store, self._shared.bus.queue_changed
        if not isinstance(store, PostgresStore):
            raise BadSettings(
                "A worker takes runs from a database: set HEAL_DATABASE_URL=postgresql://…"
            )
        self._shared.engine.begin()
        while True:
            changed.clear()
            claimed: tuple[RunRow, ...] = ()
            try:
                self._release_lost()
                claimed = store.claim(slots - len(self.running()), self._unreadable)
                self._lost = [row.id for row in claimed]
                for row in claimed:
                    with self._leaving_unreadable(row.id):
                        await self._resume(Run.stored(row, self._shared))
                    self._lost.remove(row.id)
            except DatabaseUnavailable as error:
                log.warning("the worker waits: %s", error)
            if not claimed:
                with suppress(TimeoutError):
                    async with asyncio.timeout(QUEUE_POLL_S):
                        await changed.wait()

    async def _resume(self, run: Run) -> None:
        if run.id in self._active:  # its lease was lost, and comes back
            await self._active[run.id].stop()
        self._run_in_background(run, await run.resume())

    async def close(self) -> None:
        """Stops all runs and streams; `recover` can resume the unfinished runs."""
        running = [run for run in self._active.values() if run.is_running]
        # A run that has just asked a question stops by itself; if cancelled, it would ask it again.
        await asyncio.gather(*(
            run.stop() if run.question is None else run.wait_until_idle() for run in running
        ))
        for run in running:
            self._store.release(run.id)
        self._shared.bus.close()

    async def follow(self, run: str, after: int = 0) -> AsyncIterator[tuple[LogEntry, ...]]:
        """Yields batches of events after index `after` until the run ends or waits. Raises:
        UnknownRun."""
        followed = self._run(run)
        async for batch in self._shared.bus.follow(run, after):
            yield batch
            if batch[-1].event.kind == "waiting" and followed.question is not None:
                return

    def log(self, run: str) -> tuple[LogEntry, ...]:
        """All events of a run so far; raises `UnknownRun`."""
        return self._run(run).log

    def partial_answers(self, run: str) -> Mapping[int, str]:
        """The partial texts of model answers of a run in this process, by call."""
        return self._active[run].partial_answers() if run in self._active else {}

    def task(self, run: str) -> Task:
        """The task of a run; raises `UnknownRun`."""
        return self._run(run).task

    def history(self, visitor: str = LOCAL_USER) -> History:
        return History(self._store, visitor)

    def memory(self, visitor: str = LOCAL_USER) -> Memory:
        return self._shared.memories.known(visitor)

    def visitor(self, run: str) -> str:
        """The visitor whose keys a run uses; raises `UnknownRun`."""
        return self._run(run).options.visitor

    def has_all_keys(self, run: str) -> bool:
        """Whether every key that the run needs is available."""
        options = self._run(run).options
        return not self.models.missing_key(options.plan, options.visitor)

    def waiting(self, run: str) -> str | None:
        """The id of the question that the run waits with, if any; raises `UnknownRun`."""
        question = self._run(run).question
        return None if question is None else question.interrupt

    def running(self) -> dict[str, str]:
        """The runs that this process drives, each with its visitor."""
        return {run.id: run.options.visitor for run in self._active.values() if run.is_running}

    def unfinished(self, visitor: str) -> frozenset[str]:
        """A visitor's runs that are running or waiting."""
        return self._store.unfinished(visitor)

    def record_address(self, visitor: str, address: str) -> None:
        """Records the network address of a visitor."""
        self.models.addresses.record(visitor, address)
        self._shared.memories.record_address(visitor, address)

    def plan(
        self, visitor: str = LOCAL_USER, *, provider: str | None = None, model: str | None = None,
        roles: Mapping[str, str] | None = None,
    ) -> ModelPlan:
        """Returns a visitor's model plan; arguments override the settings. Raises
        `NoProvider`, `NeedsKey`."""
        return self.models.plan(visitor, provider, roles, model)

    def estimate_costs(self, plan: ModelPlan, input_text: str) -> tuple[CostEstimate, ...]:
        """Estimates the cost of one call of each role for the typed program and tests."""
        today = datetime.now(UTC).date()
        return estimate_costs(plan, self.models.prices, self.prompts, input_text, today)

    async def judge(self, task: Task, program: Solution, visitor: str = LOCAL_USER) -> Report:
        """Judges a program under a task's tests without a run or a repair. Its jobs take turns with
        others of `visitor`. Raises `SandboxError`."""
        sandbox = self._shared.sandbox_of(visitor, uuid.uuid4().hex)
        return await check(program, task.tests, task, sandbox, wall_s=self.settings.test_wall_s)

    async def jail(self, task: Task | None = None) -> JailStatus:
        """Returns the isolation level of the sandbox for a task. Raises `SandboxError`."""
        return await jail_status(self.sandbox, task)

    def role_context(
        self, task: Task, emit: Callable[[Event], LogEntry], budget_s: float | None = None
    ) -> Context:
        """Returns a context for calling a role outside of a run; the caller closes its router."""
        options = Options.of(self.settings, self.plan(), ask=False, budget_s=budget_s)
        run = Run(uuid.uuid4().hex, "", options, task, self._shared)
        run.emit = emit
        return run.context()

    def _run(self, run: str) -> Run:
        return self._active.get(run) or Run.stored(self._store.run(run), self._shared)

    async def _begin(
        self, run_id: str | None, title: str, task: Task, options: Options, *, of: str = "",
        judged: Report | None = None,
    ) -> str:
        """Begins a run that shares the stored values of run `of`. Raises `BadInput` if the run
        of this id was deleted."""
        if run_id and self._store.was_deleted(run_id):  # an old link must not open another run
            raise BadInput("That run was deleted. Start a new repair.")
        run = Run(run_id or uuid.uuid4().hex, title, options, task, self._shared)
        if of:
            self._store.share(of, run.id)
        notices: tuple[str, ...] = ()
        if options.visitor == LOCAL_USER:  # the notices name the host's folders
            notices, self.notices = self.notices, ()  # shown once, by the first run
        if self.settings.queue:
            waiting = self._store.queued()
            if len(waiting) >= self.settings.max_queue:
                raise BadInput(
                    f"{len(waiting)} runs wait for a worker already. Try again in a few minutes."
                )
            await run.store()
            self._store.release(run.id)
            return run.id
        await run.begin((*notices, *options.plan.notes), judged)
        self._run_in_background(run)
        return run.id

    def _run_in_background(self, run: Run, answer: StepAnswer | None = None) -> None:
        self._active[run.id] = run
        run.drive(answer).add_done_callback(lambda _: self._forget(run))

    def _stop_ended(self, run: str) -> None:
        """Stops driving a run that another process has ended."""
        if run in self._active and self._store.run(run).final:
            self._active[run].stop_soon()

    def _forget(self, run: Run) -> None:
        if self._active.get(run.id) is run and not run.is_running:
            del self._active[run.id]
            if run.lost_database:
                self._lost.append(run.id)
                self._shared.bus.stopped[run.id] = run.lost_database
            self._shared.bus.queue_changed.set()


@asynccontextmanager
async def open_session(
    settings: Settings, sandbox: Callable[[], Sandbox] | None = None,
    provider: Callable[[Connection], Provider] = open_provider,
) -> AsyncIterator[Session]:
    """Opens a session in the running event loop, and closes it at the end of the context.

    Args:
        sandbox: Opens the sandbox; by default that of the settings.
        provider: Opens the provider of a model.

    Raises:
        BadSettings, BadPrices: The settings or the table of prices are invalid.
        SandboxError: The sandbox is not available.
    """
    async with open_resources(settings, sandbox, provider) as shared:
        session = Session(shared)
        with low_latency(), redacted_logs(shared.models.log_redaction):
            try:
                yield session
            finally:
                await session.close()


__all__ = [
    "BadSettings", "NoProvider", "Options", "Session", "Settings", "UnknownRun", "open_session",
]
