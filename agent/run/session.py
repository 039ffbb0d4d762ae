"""The only door into `agent/` for the page, the terminal and the library: it starts runs, follows
them, answers what they ask, and ends them.

A run is one background task; whoever looks at it follows its events. What a killed process leaves
is taken up by `recover`.
"""

from __future__ import annotations

import asyncio
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

from agent.core.domain import Integrity, Jail, ProofLevel, Report, Solution, Task
from agent.core.events import Answered, Event, Stamped
from agent.core.latency import low_latency
from agent.core.settings import Autonomy, BadSettings, Settings
from agent.healing.context import Context
from agent.healing.models import OWNER
from agent.intake.task import refuse_unwritable
from agent.judge import check
from agent.judge.jail_level import jail_seen
from agent.log.history import History
from agent.log.spending import CostEstimate, estimate_costs
from agent.log.store import UnknownRun
from agent.log.waiting import End, ForStep, GoOn, read_answer
from agent.memory import Memory
from agent.run.fork import UNEDITED, Edits
from agent.run.resources import Resources, open_resources
from agent.run.run import Options, Run
from llm import Connection, NoProvider, Plan, Provider, open_provider
from llm.budget import Caps
from llm.redaction import redacted_logs
from sandbox import Sandbox


class Session:
    """Starts, follows, answers and ends runs; use from the event loop that opened it."""

    def __init__(self, shared: Resources) -> None:
        self.settings = shared.settings
        self.models = shared.models
        self.sandbox = shared.sandbox
        self.prompts = shared.prompts
        self._shared = shared
        self._store = shared.store
        self._driven: dict[str, Run] = {}
        self.notices = shared.notices
        """What opening it found worth telling the owner."""

    async def start(
        self, task: Task, *, title: str = "", run_id: str | None = None,
        max_iterations: int | None = None, budget_s: float | None = None, ask: bool | None = None,
        autonomy: Autonomy | None = None, plan: Plan | None = None, visitor: str = OWNER,
        pauses: bool = False, caps: Caps | None = None, learn: bool = True,
        require_proof: ProofLevel = "E1", require_integrity: Integrity | None = None,
    ) -> str:
        """Starts a run in the background and returns its id at once. `plan` is who answers, that
        of the settings by default; `visitor` is whose keys are used. What is required of its proof
        stands in its log, for whoever shows its result. A run that `pauses` waits for
        `answer` where a cap is reached; others end there. Raises `ValueError` when `run_id` is
        known already, and `NoProvider` or `NeedsKey` where the settings ask for what is not to be
        had."""
        plan = plan or self.plan(visitor)
        options = Options.of(
            self.settings, plan, max_iterations=max_iterations, budget_s=budget_s, ask=ask,
            autonomy=autonomy, visitor=visitor, pauses=pauses, caps=caps, learn=learn,
            require_proof=require_proof, require_integrity=require_integrity,
        )
        return await self._begin(run_id, title, task, options)

    async def follow(self, run: str, after: int = 0) -> AsyncIterator[tuple[Stamped, ...]]:
        """Batches of the run's events behind place `after`; ends after the final event, or when
        the run waits for an answer. Raises `UnknownRun`."""
        followed = self._run(run)
        async for batch in self._shared.bus.follow(run, after):
            yield batch
            if batch[-1].event.kind == "waiting" and followed.question is not None:
                return

    async def answer(self, run: str, interrupt: str, value: Mapping[str, object]) -> bool:
        """Answers the question a run waits with; a stale or repeated answer changes nothing.

        A review takes what `Review` holds, a question about behaviours `{"answer": str}`, which
        `answered_test` explains. A run that has reached a cap takes what to add, as
        `{"usd": 0.5, "seconds": 60}`, nothing for as much again as it had, or `{"end": True}`;
        one that needs a key goes on once `models` has it. Returns whether the answer was taken;
        raises `BadExtension` and `BadReview` for what is neither, and `BadInput` for a text that no
        file can hold.
        """
        asking = self._run(run)
        asked = asking.question
        if asked is None or asked.interrupt != interrupt:
            return False
        answer = read_answer(asked, value, asking.options.again)
        for text in answer.value.values() if isinstance(answer, ForStep) else ():
            refuse_unwritable(text if isinstance(text, str) else "")
        await asking.settled()  # the question is out, and who asked it is at its last line
        if not self._store.take_answer(run, interrupt):
            return False  # another caller, maybe in another process, was first
        self._store.take_over(run)  # whoever asked may be gone: nobody else adopts it now
        asking.emit(Answered(interrupt=interrupt, answer=str(dict(value))))
        if isinstance(answer, End):
            await asking.conclude(answer.outcome, f"ended by the user: {asked.question}")
            return True
        if isinstance(answer, GoOn) and answer.more is not None:
            asking.emit(answer.more)
        self._drive(asking, answer if isinstance(answer, ForStep) else None)
        return True

    async def settle(
        self, run: str, answer: str, *, run_id: str | None = None, visitor: str | None = None
    ) -> str:
        """Starts a run like this one, with the answer to the question it has left open among the
        tests (see `answered_test`), and returns its id. Another `visitor` than the run's own gets
        their own plan, and spends by their own keys. Raises `UnknownRun`, and `ValueError` for an
        answer that answers nothing."""
        asking = self._run(run)
        task, options = asking.settled_by(answer)
        if visitor is not None and visitor != options.visitor:
            options = options.model_copy(update={"visitor": visitor, "plan": self.plan(visitor)})
        return await self._begin(run_id, asking.title, task, options, of=run)

    async def fork(
        self, run: str, iteration: int, edits: Edits = UNEDITED, *, plan: Plan | None = None,
        run_id: str | None = None, visitor: str = OWNER, pauses: bool = False,
        max_iterations: int | None = None, budget_s: float | None = None,
    ) -> str:
        """Starts a run with what a visitor's run had in an iteration, by default with its models
        and bounds, and returns its id. Raises `UnknownRun`, `UnknownIteration` and `BadFork`."""
        parent = self._run(self.history(visitor).named(run))
        task, options = await parent.forked(
            iteration, edits, plan, pauses=pauses, max_iterations=max_iterations, budget_s=budget_s
        )
        return await self._begin(run_id, parent.title, task, options, of=parent.id)

    async def again(
        self, run: str, *, plan: Plan | None = None, run_id: str | None = None, visitor: str = OWNER
    ) -> str:
        """Starts a visitor's run anew, with the options and by default the models that it had, and
        returns the new one's id; raises `UnknownRun`."""
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
        """Ends a run and deletes it: its log, its steps, and each value that no other run keeps.
        What was learned of it stays in the memory. Raises `UnknownRun`."""
        await self.cancel(run)
        engine = await self._shared.engine.get()
        await engine.forget(run)
        self._store.delete(run)

    async def forget_outlived(self) -> tuple[str, ...]:
        """Deletes what visitors left longer ago than the settings keep it, or behind as much as
        they keep; returns the runs. One that goes on is never among them."""
        days, most = self.settings.keep_days, self.settings.keep_runs
        before = time.time() - days * 24 * 3600 if days else 0.0
        outlived = self._store.outlived(before, most or sys.maxsize)
        for run in outlived:
            if run not in self._driven:  # by now its visitor may have answered it
                with suppress(UnknownRun):  # or was first to delete it
                    await self.delete(run)
        self._shared.memories.forget_before(before)
        return outlived

    async def pause(self, run: str) -> None:
        """Lets a run that asks models and may wait do so, since nobody looks at it; `answer` goes
        on with it. Any other stays as it is."""
        left = self._driven.get(run)
        if left is None:
            return  # it has ended, or was deleted meanwhile
        if left.is_running and left.options.pauses and left.options.plan.has_model:
            await left.pause()

    async def recover(self, run: str | None = None) -> tuple[str, ...]:
        """Takes up the unfinished runs of processes that are gone; returns their ids."""
        self._shared.engine.begin()
        adopted = self._store.adopt_orphans(run)
        for row in adopted:
            left = Run.stored(row, self._shared)
            question = left.question
            if question is not None:
                # An answer that its process took and did not live to write was none.
                self._store.forget_answer(row.id, question.interrupt)
                continue
            await left.take_up()
            self._drive(left)
        return tuple(row.id for row in adopted)

    async def judge(self, task: Task, program: Solution) -> Report:
        """The verdict on a program under a task's tests, with no run and no repair."""
        wall_s = self.settings.test_wall_s
        return await check(program, task.tests, task, self.sandbox, wall_s=wall_s)

    def plan(
        self, visitor: str = OWNER, *, provider: str | None = None, model: str | None = None,
        roles: Mapping[str, str] | None = None,
    ) -> Plan:
        """Who would answer a visitor, where wanted with another provider, model or role than the
        settings have; raises `NoProvider` and `NeedsKey`."""
        return self.models.plan(visitor, provider, roles, model)

    def foreseen(self, plan: Plan, typed: str) -> tuple[CostEstimate, ...]:
        """What one call of each role may come to, for a program and tests that were typed."""
        today = datetime.now(UTC).date()
        return estimate_costs(plan, self.models.prices, self.prompts, typed, today)

    def asking(self, task: Task, emit: Callable[[Event], Stamped]) -> Context:
        """What a role needs that is asked outside of a run, with the caps of one; `emit` is told
        what happens. Its router is the caller's to close."""
        options = Options.of(self.settings, self.plan(), ask=False)
        run = Run(uuid.uuid4().hex, "", options, task, self._shared)
        run.emit = emit
        return run.context()

    def visitor(self, run: str) -> str:
        """Whose keys a run uses; raises `UnknownRun`."""
        return self._run(run).options.visitor

    async def jail(self, task: Task | None = None) -> Jail:
        """What is seen to hold code back here, for a task where its judge will run; raises
        `SandboxError`."""
        return await jail_seen(self.sandbox, task)

    def log(self, run: str) -> tuple[Stamped, ...]:
        """All events of a run so far; raises `UnknownRun`."""
        return self._run(run).log

    def so_far(self, run: str) -> Mapping[int, str]:
        """What the models that a run asks in this process have said by now, by the numbers of their
        calls; it is kept nowhere."""
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

    def came(self, visitor: str, address: str) -> None:
        """Notes from where a visitor comes: one address never has the others' keys and memories
        forgotten."""
        self.models.crowds.came(visitor, address)
        self._shared.memories.came(visitor, address)

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

    async def close(self) -> None:
        """Stops driving, and lets go of whoever follows; runs still going are left to be taken up
        by `recover`."""
        going = [run for run in self._driven.values() if run.is_running]
        # One whose question is out is at its last line: cut short, it would ask again.
        await asyncio.gather(*(
            run.stop() if run.question is None else run.settled() for run in going
        ))
        for run in going:
            self._store.release(run.id)
        self._shared.bus.close()

    async def _begin(
        self, run_id: str | None, title: str, task: Task, options: Options, *, of: str = ""
    ) -> str:
        """Begins a run; `of` is the one whose values it goes on with."""
        run = Run(run_id or uuid.uuid4().hex, title, options, task, self._shared)
        if of:
            self._store.share(of, run.id)
        own: tuple[str, ...] = ()
        if options.visitor == OWNER:  # they name the host's folders
            own, self.notices = self.notices, ()  # told once, by the first run
        await run.begin((*own, *options.plan.notes))
        self._drive(run)
        return run.id

    def _run(self, run: str) -> Run:
        """A run by its id: the one that is driven, else as the store tells of it."""
        return self._driven.get(run) or Run.stored(self._store.run(run), self._shared)

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
    """A session in the running event loop; closes its files at the end. `provider` opens who is
    asked. Raises `BadSettings`, `BadPrices` or `SandboxError`, each with what to do about it."""
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
