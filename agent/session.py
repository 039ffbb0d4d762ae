"""The run manager, and the only door into `agent/` for the page, the terminal and the library.

A run is one background task over one graph thread; whoever looks at it follows its events.
The checkpoint file is written by LangGraph's saver only, made in the serving loop; events and
values have their own file. What a killed process leaves is taken up by `recover`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Literal, cast

import aiosqlite
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from agent.bus import EventBus, Writer
from agent.checks.witness import witnessed
from agent.context import PROMPTS, Context
from agent.domain import Jail, Task, Value
from agent.events import (
    Answered,
    Extended,
    Notice,
    Resumed,
    RoleChoice,
    RunFailed,
    RunStarted,
    Stamped,
    Waiting,
    seconds_spent,
)
from agent.graph import Surroundings, build_graph
from agent.memory import Memory, open_memory
from agent.models import OWNER, WITHOUT_MODEL, Models
from agent.nodes.finish import conclude
from agent.promptness import prompt
from agent.repair.question import BadAnswer, answered_test
from agent.result import fold
from agent.rules import rules
from agent.settings import ANSWERS, BadSettings, Settings, data_folder
from agent.spending import Foreseen, Said, ledger, lost, preview, told, unfinished
from agent.state import State
from agent.store import RunOver, RunRow, Store
from agent.uploads import Uploads, uploads
from agent.waiting import extension, pending
from llm import LlmError, NoProvider, Plan, Reply, Usage, rules_provider
from llm.budget import Caps
from llm.cache import Answers
from llm.errors import NeedsKey, OverBudget
from llm.redaction import redacted_logs
from llm.router import Router
from sandbox import OwnedSandbox, Sandbox, SandboxError, open_sandbox

log = logging.getLogger("agent")


class Options(Value):
    """What one run may set differently from the session."""

    max_iterations: int
    budget_s: float
    ask: bool = False
    answered: tuple[str, ...] = ()
    """Names of tests that are answers to the question an earlier run has left open."""
    visitor: str = OWNER
    """Whose keys it uses."""
    pauses: bool = False
    """Wait for a person where a cap is reached, instead of ending."""
    plan: Plan | None = None
    """Who answers; `None` in runs from before there were models."""
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_calls: int | None = None

    @property
    def again(self) -> Extended:
        """As much again as the run was started with."""
        return Extended(
            usd=self.budget_usd or 0.0, tokens=self.budget_tokens or 0,
            calls=self.budget_calls or 0, seconds=self.budget_s,
        )


class UnknownRun(KeyError):
    """There is no run of that id here."""

    def __str__(self) -> str:
        return str(self.args[0])


class Session:
    """Starts, follows, answers and cancels runs; use from the event loop that opened it."""

    def __init__(
        self,
        settings: Settings,
        models: Models,
        sandbox: Sandbox,
        store: Store,
        memory: Memory,
        saver: AsyncSqliteSaver,
        warning: str,
        steps: Uploads,
    ) -> None:
        self.settings = settings
        self.models = models
        self.sandbox = sandbox
        self._store = store
        self._memory = memory
        self._bus = EventBus(store)
        self._graph = build_graph().compile(checkpointer=saver)
        self._rules = rules_provider(rules(settings.drafts))
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._warning = warning
        self._steps = steps
        self._news = [memory.notice] if memory.notice else []

    # The verbs.

    async def start(
        self,
        task: Task,
        *,
        title: str = "",
        run_id: str | None = None,
        max_iterations: int | None = None,
        budget_s: float | None = None,
        ask: bool | None = None,
        notices: Sequence[str] = (),
        answered: Sequence[str] = (),
        plan: Plan | None = None,
        visitor: str = OWNER,
        pauses: bool = False,
    ) -> str:
        """Starts a run in the background and returns its id at once.

        `plan` is who answers, that of the settings by default; `visitor` is whose keys are used.
        A run that `pauses` waits for `answer` where a cap is reached; others end there.

        `answered` names the tests that are a person's answers to an earlier run like this one.
        `notices` are what the reading of the task found worth telling; they open the log.
        Raises `ValueError` when `run_id` is known already, and `NoProvider` or `NeedsKey` where
        the settings ask for what is not to be had.
        """
        plan = plan or self.plan(visitor)
        run = run_id or uuid.uuid4().hex
        options = Options(
            max_iterations=max_iterations or self.settings.max_iterations,
            budget_s=budget_s or self.settings.budget_s + (
                self.settings.model_s if plan.has_model else 0.0
            ),
            ask=self.settings.ask if ask is None else ask,
            answered=tuple(answered), visitor=visitor, pauses=pauses, plan=plan,
            budget_usd=self.settings.budget_usd, budget_tokens=self.settings.budget_tokens,
            budget_calls=self.settings.budget_calls,
        )
        try:
            jail = await self.jail(task)
        except SandboxError as error:
            # Told here and met again by the run's first job, which ends the run with it.
            jail = Jail(words=f"{self.sandbox.name}: {error}")
        self._store.add_run(run, title, self._store.put(task), options.to_json())
        emit = self._voice(run)
        emit(
            RunStarted(
                title=title,
                code=task.solution.text if task.solution else "",
                entry=task.solution.entry if task.solution else "",
                provider=plan.provider,
                provider_why=plan.why,
                sandbox=jail.words,
                level=jail.level,
                layers=jail.layers,
                roles=tuple(
                    RoleChoice(role=one.role, provider=one.provider, model=one.model, why=one.why)
                    for one in plan.choices if one.provider != "mock"
                ),
            )
        )
        news, self._news = self._news, []  # told once, by the first run
        for text in (*([self._warning] if self._warning else []), *news, *plan.notes, *notices):
            emit(Notice(level="warning", text=text))
        self._launch(run, {"iteration": 0})
        return run

    async def follow(self, run: str, after: int = 0) -> AsyncIterator[tuple[Stamped, ...]]:
        """Batches of the run's events behind place `after`; ends after the final event, or when
        the run waits for an answer. Raises `UnknownRun`."""
        self._known(run)
        async for batch in self._bus.follow(run, after):
            yield batch
            if batch[-1].event.kind == "waiting" and self.waiting(run):
                return

    async def answer(self, run: str, interrupt: str, value: Mapping[str, object]) -> bool:
        """Answers the question a run waits with; a stale or repeated answer changes nothing.

        The gate takes `{"approve": bool}`, a question about behaviours `{"answer": str}`, which
        `answered_test` explains. A run that has reached a cap takes what to add, as
        `{"usd": 0.5, "seconds": 60}`, nothing for as much again as it had, or `{"end": True}`;
        one that needs a key goes on once `models` has it. Returns whether the answer was taken;
        raises `BadExtension` for caps that cannot be.
        """
        self._known(run)
        asked = pending(self._bus.log(run))
        if asked is None or asked.interrupt != interrupt:
            return False
        again = self._options(run).again
        more = extension(value, again) if asked.needs == "budget" else None
        if self._running(run):
            # The question is out, and the task that asked it is at its last line.
            await asyncio.wait({self._tasks[run]})
        if not self._store.take_answer(run, interrupt):
            return False  # another caller, maybe in another process, was first
        emit = self._voice(run)
        emit(Answered(interrupt=interrupt, answer=str(dict(value))))
        if asked.needs == "answer":
            self._launch(run, Command(resume={interrupt: dict(value)}))
        elif value.get("end") is True:
            outcome = "budget" if asked.needs == "budget" else "cancelled"
            await self._conclude(run, outcome, f"ended by the user: {asked.question}")
        else:
            if more is not None:
                emit(more)
            self._launch(run, await self._next(run))
        return True

    async def _next(self, run: str) -> State | None:
        """What the graph is given to go on: nothing, or its start where it did not begin."""
        state = await self._graph.aget_state(self._config(run))
        return None if state.values else {"iteration": 0}

    async def settle(
        self, run: str, answer: str, *, run_id: str | None = None, visitor: str | None = None
    ) -> str:
        """Starts a run like this one, with the answer to the question it has left open among the
        tests, and returns its id.

        An answer is a behaviour's label or the right value; see `answered_test`. Another `visitor`
        than the run's own gets their own plan, and spends by their own keys. Raises `UnknownRun`,
        and `ValueError` for an answer that answers nothing.
        """
        rivals = fold(self.log(run)).rivals
        if rivals is None:
            raise BadAnswer("That run has left no question open.")
        test = answered_test(rivals, answer)
        if test is None:
            raise BadAnswer("A question that is skipped needs no other run.")
        row = self._store.run(run)
        task = self._store.get(row.task, Task)
        options = self._options(run)
        own = visitor in (None, options.visitor)
        return await self.start(
            task.model_copy(update={
                "tests": (*task.tests, test),
                # Where they stood alone they counted, and go on to.
                "doctests": task.doctests or all(one.origin == "doctest" for one in task.tests),
            }),
            title=row.title,
            run_id=run_id, max_iterations=options.max_iterations, budget_s=options.budget_s,
            ask=options.ask, answered=(*options.answered, test.name),
            plan=options.plan if own else None,
            visitor=options.visitor if visitor is None else visitor, pauses=options.pauses,
        )

    async def cancel(self, run: str) -> None:
        """Ends the run within its current step; a finished run stays as it is."""
        self._known(run)
        if self._running(run):
            task = self._tasks[run]
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if not self._store.run(run).final:
            await self._conclude(run, "cancelled", "stopped by the user")

    async def recover(self, run: str | None = None) -> tuple[str, ...]:
        """Takes up the unfinished runs of processes that are gone; returns their ids."""
        adopted = self._store.adopt_orphans(run)
        for row in adopted:
            question = self.waiting(row.id)
            if question is not None:
                # An answer that its process took and did not live to write was none.
                self._store.forget_answer(row.id, question)
                continue
            emit = self._voice(row.id)
            state = await self._graph.aget_state(self._config(row.id))
            for call in lost(self._bus.log(row.id)):
                emit(call)
            step = ", ".join(state.next) or "the start"
            emit(Resumed(note=f"its process was gone; it goes on with {step}"))
            self._launch(row.id, await self._next(row.id))
        return tuple(row.id for row in adopted)

    # What readers ask.

    def plan(
        self, visitor: str = OWNER, *, provider: str | None = None, model: str | None = None,
        roles: Mapping[str, str] | None = None,
    ) -> Plan:
        """Who would answer a visitor, where wanted with another provider, model or role than the
        settings have; raises `NoProvider` and `NeedsKey`."""
        return self.models.plan(visitor, provider, roles, model)

    def foreseen(self, plan: Plan, typed: str) -> tuple[Foreseen, ...]:
        """What one call of each role may come to, for a program and tests that were typed."""
        return preview(plan, self.models.prices, PROMPTS, typed, datetime.now(UTC).date())

    def visitor(self, run: str) -> str:
        """Whose keys a run uses; raises `UnknownRun`."""
        self._known(run)
        return self._options(run).visitor

    async def jail(self, task: Task | None = None) -> Jail:
        """What is seen to hold code back here, for a task where its judge will run.

        Raises `SandboxError`.
        """
        return await witnessed(self.sandbox, task.sites if task is not None else ())

    def log(self, run: str) -> tuple[Stamped, ...]:
        """All events of a run so far; raises `UnknownRun`."""
        self._known(run)
        return self._bus.log(run)

    def runs(self, limit: int = 100) -> tuple[RunRow, ...]:
        """The newest runs first."""
        return self._store.runs(limit)

    def can_go_on(self, run: str) -> bool:
        """Whether every key that the run needs is at hand."""
        options = self._options(run)
        return options.plan is None or not self.models.lacks(options.plan, options.visitor)

    def waiting(self, run: str) -> str | None:
        """The id of the question the run waits with, if it does."""
        asked = pending(self._bus.log(run))
        return None if asked is None else asked.interrupt

    async def close(self) -> None:
        """Stops driving; runs still going are left to be taken up by `recover`."""
        going = {run: task for run, task in self._tasks.items() if not task.done()}
        for run, task in going.items():
            # One whose question is out is at its last line: cut short, it would ask again.
            if self.waiting(run) is None:
                task.cancel()
        await asyncio.gather(*going.values(), return_exceptions=True)
        for run in going:
            self._store.release(run)

    # How a run is driven.

    def _voice(self, run: str) -> Writer:
        """A writer for the session's own words, which no later attempt replaces."""
        return self._bus.writer(run, f"session-{uuid.uuid4().hex}")

    def _known(self, run: str) -> None:
        try:
            self._store.run(run)
        except KeyError as error:
            raise UnknownRun(str(error.args[0])) from error

    def _running(self, run: str) -> bool:
        return run in self._tasks and not self._tasks[run].done()

    def _config(self, run: str) -> RunnableConfig:
        return {"configurable": {"thread_id": run}, "recursion_limit": 200}

    def _launch(self, run: str, given: State | Command[Any] | None) -> None:
        task = asyncio.create_task(self._drive(run, given), name=f"run {run}")
        self._tasks[run] = task
        task.add_done_callback(lambda done: self._forget(run, done))

    def _forget(self, run: str, done: asyncio.Task[None]) -> None:
        if self._tasks.get(run) is done:
            del self._tasks[run]
        if not done.cancelled() and done.exception() is not None:
            # Recorded as `run_failed` already; the traceback belongs into the process's log.
            log.error("a run failed", exc_info=done.exception())

    async def _drive(self, run: str, given: State | Command[Any] | None) -> None:
        emit = self._voice(run)
        surroundings = self._surroundings(run)
        try:
            with self._steps.around():
                async with asyncio.timeout(self._seconds_left(run)) as clock:
                    await self._steps_of(run, given, surroundings, emit)
        except TimeoutError as error:
            if not clock.expired():
                emit(RunFailed(error=f"TimeoutError: {error}"))
                raise
            await self._pause(run, f"the run's {self._seconds(run):g} seconds are over")
        except OverBudget as error:
            await self._pause(run, str(error))
        except NeedsKey as error:
            self._wait_for(run, "key", str(error))
        except LlmError as error:
            await self._conclude(run, "not_fixable", str(error))
        except SandboxError as error:
            await self._conclude(run, "not_fixable", f"the sandbox cannot run code: {error}")
        except RunOver:
            log.info("the run %s was ended from elsewhere", run)
        except Exception as error:
            emit(RunFailed(error=f"{type(error).__name__}: {error}"))
            raise
        finally:
            await surroundings.context.router.close()

    async def _steps_of(
        self, run: str, given: State | Command[Any] | None, surroundings: Surroundings,
        emit: Writer,
    ) -> None:
        """Runs the graph until it ends or interrupts."""
        async for chunk in self._graph.astream(
            cast(Any, given),  # the graph's input type is its state; resuming has others
            self._config(run),
            context=surroundings,
            stream_mode="updates",
            durability="sync",
        ):
            for interrupt in cast("dict[str, Any]", chunk).get("__interrupt__", ()):
                emit(Waiting.model_validate({"interrupt": interrupt.id, **interrupt.value}))

    async def _pause(self, run: str, words: str) -> None:
        """A cap is reached: the run waits to have it raised, or ends."""
        if not self._options(run).pauses:
            await self._conclude(run, "budget", words)
            return
        self._wait_for(run, "budget", words)

    def _wait_for(self, run: str, needs: Literal["budget", "key"], words: str) -> None:
        """Leaves the run with a question, unless it was ended from elsewhere meanwhile."""
        with suppress(RunOver):
            self._voice(run)(
                Waiting(interrupt=f"{needs}-{uuid.uuid4().hex}", question=words, needs=needs)
            )

    async def _conclude(self, run: str, outcome: str, reason: str) -> None:
        """Writes the last event of a run that did not reach its last step."""
        state = await self._graph.aget_state(self._config(run))
        context = self._surroundings(run).context
        with suppress(RunOver):  # it may have come to its end meanwhile
            conclude(cast(State, state.values), context, outcome, reason)

    def _seconds_left(self, run: str) -> float:
        """What is left of the run's budget; a resumed run does not get a fresh one."""
        return max(0.0, self._seconds(run) - seconds_spent(self._bus.log(run)))

    def _seconds(self, run: str) -> float:
        """The run's budget in wall seconds, with what was added to it."""
        added = sum(
            entry.event.seconds for entry in self._bus.log(run)
            if isinstance(entry.event, Extended)
        )
        return self._options(run).budget_s + added

    def _options(self, run: str) -> Options:
        return Options.from_json(self._store.run(run).options)

    def _surroundings(self, run: str) -> Surroundings:
        options = self._options(run)
        plan = options.plan or Plan("mock", WITHOUT_MODEL)
        context = Context(
            task=self._store.get(self._store.run(run).task, Task),
            plan=plan,
            router=self._router(run, plan, options),
            rules=self._rules,
            sandbox=OwnedSandbox(self.sandbox, run),
            memory=self._memory,
            store=self._store,
            settings=self.settings.model_copy(update={
                "max_iterations": options.max_iterations, "budget_s": self._seconds(run),
                "ask": options.ask,
            }),
            emit=self._voice(run),
            log=lambda: self._bus.log(run),
            deadline=time.monotonic() + self._seconds_left(run),
            answered=frozenset(options.answered),
            pauses=options.pauses,
        )
        return Surroundings(context, lambda task: self._bus.writer(run, task))

    def _router(self, run: str, plan: Plan, options: Options) -> Router:
        """Asks the models of a run's plan, with the keys of its visitor, and writes what is spent
        into its log by the session's own voice, which no later attempt of a step replaces."""
        voice = self._voice(run)
        log = self._bus.log(run)
        caps = Caps(options.budget_usd, options.budget_tokens, options.budget_calls)
        kept = ledger(caps, self.settings.role_budgets, log)
        first = len(kept.charges)
        redactor = self.models.redactor()
        return Router(
            plan=plan,
            open=lambda choice: self.models.provider(choice, options.visitor),
            ledger=kept,
            prices=self.models.prices,
            tell=lambda occurrence: voice(
                told(occurrence, first, redactor.text, self._store.put)
            ),
            breaker=lambda choice: self.models.breaker(choice, options.visitor),
            before={
                call.question: Reply(
                    self._store.get(call.said, Said).text, call.finish, call.provider, call.model,
                    Usage(),
                )
                for call in unfinished(log)
            },
            clean=redactor.text,
        )


@asynccontextmanager
async def open_session(
    settings: Settings, sandbox: Callable[[], Sandbox] | None = None
) -> AsyncIterator[Session]:
    """A session in the running event loop; closes its files at the end.

    Raises `BadSettings`, `BadPrices` or `SandboxError`, each with what to do about it.
    """
    os.environ.setdefault("LANGGRAPH_STRICT_MSGPACK", "true")
    jail = sandbox() if sandbox else open_sandbox(
        settings.sandbox, settings.environment or None
    )
    folder, warning = data_folder(settings)
    answers = Answers(folder / ANSWERS) if settings.cache != "off" else None
    models = Models(settings, answers=answers)
    steps = uploads(
        settings.environment, content=settings.trace_content, redactor=lambda: models.logs.redactor
    )
    store = Store(folder / "runs.db")
    memory = open_memory(folder / "memory.db")
    try:
        async with aiosqlite.connect(folder / "checkpoints.db") as connection:
            await connection.execute("pragma journal_mode=wal")
            await connection.execute("pragma synchronous=normal")
            saver = AsyncSqliteSaver(
                connection, serde=JsonPlusSerializer(allowed_msgpack_modules=())
            )
            await saver.setup()
            session = Session(settings, models, jail, store, memory, saver, warning, steps)
            with prompt(), redacted_logs(models.logs):
                try:
                    yield session
                finally:
                    await session.close()
    finally:
        memory.close()
        store.close()
        steps.close()
        if answers is not None:
            answers.close()


__all__ = [
    "BadSettings", "NoProvider", "Options", "Session", "Settings", "UnknownRun", "open_session",
]
