"""One run: options, task, plan, clock and log, and how it is driven to an end. Spent money and time
are read from its log, so that a resumed run gets no fresh budget."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from math import inf
from typing import Any, Literal, TypedDict, Unpack

from agent.core.domain import (
    Integrity,
    JailStatus,
    ProofLevel,
    Report,
    RunOutcome,
    Task,
    Value,
    counted,
)
from agent.core.events import (
    Event,
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
from agent.core.settings import Autonomy, Settings
from agent.core.state import State
from agent.iteration.context import Context
from agent.iteration.models import OWNER
from agent.log.spending import (
    Said,
    event_of,
    ledger,
    lost_calls,
    next_call,
    paid_in_unfinished_step,
    payable,
)
from agent.log.store import RunOver, RunRow
from agent.loop.fork import Edits, Fork, forked
from agent.loop.resources import Resources
from agent.loop.steps.finish import conclude
from agent.report.result import fold
from agent.report.waiting import ForStep, pending
from agent.report.words import STEP_WORDS, step_words
from agent.search.ranking.question import BadAnswer, answered_test
from agent.verify.jail_level import jail_seen
from llm import LlmError, ModelPlan, NoModel, Reply, Usage
from llm.budget import Caps
from llm.errors import NeedsKey, OverBudget
from llm.router import Router
from sandbox import SandboxError

log = logging.getLogger("agent")
RUN_SECONDS = "run seconds"
"""The cap of all of a run's work."""
FORKED_PLAN = (
    ". A fork is answered by its parent's models; forked with `--provider mock`, or another "
    "provider, it is answered by that"
)


class RunRequest(TypedDict, total=False):
    """What an interface asks of a run; see `Options`. `None` means as the settings, or a fork's
    parent, have it."""

    max_iterations: int | None
    budget_s: float | None
    ask: bool | None
    autonomy_level: Autonomy | None
    pauses: bool | None
    caps: Caps | None
    learn: bool
    require_proof: ProofLevel | None
    require_integrity: Integrity | None
    require_confidence: float | None


class Options(Value):
    """What one run may set differently from the session."""

    max_iterations: int
    budget_s: float
    search_s: float | None = None
    """Processor seconds of one search; `None` is what the settings say."""
    plan: ModelPlan
    caps: Caps
    ask: bool
    autonomy_level: Autonomy = "full_auto"
    answered: tuple[str, ...] = ()
    """Names of tests that answer an earlier run's open question."""
    visitor: str = OWNER
    pauses: bool = False
    fork: Fork | None = None
    learn: bool = True
    require_proof: ProofLevel = "E1"
    require_integrity: Integrity | None = None
    require_confidence: float = 0.9

    @classmethod
    def of(
        cls, settings: Settings, plan: ModelPlan, visitor: str = OWNER, **asked: Unpack[RunRequest]
    ) -> Options:
        """The settings, but for what is asked; a plan with a model gets the time for one."""
        return cls(
            max_iterations=settings.max_iterations,
            budget_s=settings.budget_s + (settings.model_s if plan.has_model else 0.0),
            ask=settings.ask, autonomy_level=settings.autonomy_level, plan=plan,
            visitor=visitor, caps=settings.caps,
            require_confidence=settings.require_confidence,
        ).but(settings, **asked)

    def but(self, settings: Settings, **asked: Unpack[RunRequest]) -> Options:
        """These options with what is asked; `budget_s` includes models, and each search gets its
        share."""
        given = {name: value for name, value in asked.items() if value is not None}
        if seconds := asked.get("budget_s"):
            given["search_s"] = settings.search_s * seconds / max(settings.budget_s, 1.0)
        return self.model_copy(update=given)


class Run:
    """A run of this session; use from its event loop."""

    def __init__(
        self, id_: str, title: str, options: Options, task: Task | str, shared: Resources
    ) -> None:
        self.id = id_
        self.title = title
        self.options = options
        own = f"session-{uuid.uuid4().hex}"
        self.emit: Callable[[Event], Stamped] = shared.bus.writer(id_, own)
        """Writes the session's own events."""
        self._task = task
        self._shared = shared
        self._store = shared.store.of(id_)
        self._first: asyncio.Task[Report] | None = None
        self._driver: asyncio.Task[None] | None = None
        self.so_far: Callable[[], Mapping[int, str]] = dict
        """What its models have answered so far, by call."""

    @classmethod
    def stored(cls, row: RunRow, shared: Resources) -> Run:
        """The run that a row of the store tells of."""
        return cls(row.id, row.title, Options.from_json(row.options), row.task, shared)

    @property
    def task(self) -> Task:
        """What the run is to do."""
        if isinstance(self._task, str):
            self._task = self._store.get(self._task, Task)
        return self._task

    @property
    def log(self) -> tuple[Stamped, ...]:
        """All events so far."""
        return self._store.log(self.id)

    @property
    def question(self) -> Waiting | None:
        """What the run waits for, if it does."""
        return pending(self.log)

    @property
    def is_running(self) -> bool:
        """Whether this process drives it now."""
        return self._driver is not None and not self._driver.done()

    @property
    def seconds(self) -> float:
        """The budget in wall seconds, with what was added to it."""
        added = sum(one.event.seconds for one in self.log if isinstance(one.event, Extended))
        return self.options.budget_s + added

    @property
    def seconds_left(self) -> float:
        """What is left of that budget."""
        return max(0.0, self.seconds - seconds_spent(self.log))

    # How it begins, goes on and ends.

    async def begin(self, notices: Sequence[str]) -> None:
        """Puts the run into the store and opens its log, while the engine is loaded and the
        submitted program is judged. Raises: ValueError: its id is known."""
        shared, program = self._shared, self.task.solution
        shared.engine.begin()
        if program is not None and self.options.fork is None:
            self._first = asyncio.create_task(self.context().judge_submitted(program))
        try:
            jail = await self._jail()
            address = self._store.put(self.task)
            self._store.add_run(self.id, self.title, address, self.options.to_json())
        except BaseException:
            await self.stop()
            raise
        self._open_log(jail, notices)

    async def _jail(self) -> JailStatus:
        sandbox = self._shared.sandbox
        try:
            return await jail_seen(sandbox, self.task)
        except SandboxError as error:
            # Reported here; the run's first job meets it again and ends the run with it.
            return JailStatus(words=f"{sandbox.name}: {error}")

    def _open_log(self, jail: JailStatus, notices: Sequence[str]) -> None:
        program, plan = self.task.solution, self.options.plan
        self.emit(
            RunStarted(
                title=self.title,
                code=program.text if program else "",
                entry=program.entry if program else "",
                provider=plan.provider,
                provider_why=plan.why,
                sandbox=jail.words,
                level=jail.level,
                layers=jail.layers,
                roles=tuple(
                    RoleChoice(role=one.role, provider=one.provider, model=one.model, why=one.why)
                    for one in plan.choices if one.provider != "mock"
                ),
                parent=self.options.fork.parent if self.options.fork is not None else None,
                require_proof=self.options.require_proof,
                require_integrity=self.options.require_integrity,
                limit_s=self.seconds,
                remembers=self._shared.settings.enable_cross_session_memory,
                project=self.task.project is not None,
            )
        )
        for text in notices:
            # How models are assigned to roles is information, not a problem.
            planned = text in self.options.plan.notes
            self.emit(Notice(level="info" if planned else "warning", text=text))

    def drive(self, answer: ForStep | None = None) -> asyncio.Task[None]:
        """Drives the run in the background until it ends or asks."""
        self._driver = asyncio.create_task(self._driven(answer), name=f"run {self.id}")
        self._driver.add_done_callback(_logged)
        return self._driver

    async def settled(self) -> None:
        """Waits until the run is driven no more."""
        if self._driver is not None:
            await asyncio.wait({self._driver})

    async def stop(self) -> None:
        """Stops driving, at once; the run stays as far as it came."""
        for work in (self._driver, self._first):
            await _ended(work)

    async def pause(self) -> None:
        """Stops driving, and waits for somebody who looks at it."""
        if self.question is None:
            await self.stop()
            self._wait_for("visitor", "nobody looks at it any more; it goes on from here")

    async def take_up(self) -> None:
        """Notes what was lost with the process that drove the run, and what it goes on with."""
        if not self.log:  # it was gone before the first word
            self._open_log(await self._jail(), self.options.plan.notes)
        engine = await self._shared.engine.get()
        steps = await engine.next_steps(self.id)
        lost = lost_calls(self.log)
        for call in lost:
            self.emit(call)
        start = fold(self.log).start
        named = [f"“{step_words(step, start)}”" for step in STEP_WORDS if step in steps]
        note = f"its process had ended; it continues with {', '.join(named) or 'the start'}"
        paid = counted(len(lost), "call")
        cut_off = f"; cut off, and counted with the most it could cost: {paid}"
        self.emit(Resumed(note=note + (cut_off if lost else "")))

    def settled_by(self, answer: str) -> tuple[Task, Options]:
        """Task and options of a run with an answer to this one's open question. Raises:
        BadAnswer."""
        rivals = fold(self.log).rivals
        if rivals is None:
            raise BadAnswer("That run has left no question open.")
        test = answered_test(rivals, answer)
        if test is None:
            raise BadAnswer("A question that is skipped needs no other run.")
        tests = self.task.tests
        task = self.task.model_copy(update={
            "tests": (*tests, test),
            # Where they stood alone they counted, and go on to.
            "doctests": self.task.doctests or all(one.origin == "doctest" for one in tests),
        })
        names, fork = (*self.options.answered, test.name), self.options.fork
        fork = None if fork is None else fork.with_test(test, self._store)
        return task, self.options.model_copy(update={"answered": names, "fork": fork})

    async def forked(
        self, iteration: int, edits: Edits, plan: ModelPlan | None, **asked: Unpack[RunRequest]
    ) -> tuple[Task, Options]:
        """Task and options of a fork of this run; see `agent.loop.fork.forked`."""
        engine = await self._shared.engine.get()
        task, fork = await forked(
            self.id, self.task, self.log, iteration, edits, engine, self._store
        )
        if plan is not None and plan != self.options.plan:
            words = f"answered by {plan.provider}"
            parent = fork.parent.model_copy(update={"edits": (*fork.parent.edits, words)})
            fork = fork.model_copy(update={"parent": parent})
        own = self.options
        first_model = plan is not None and plan.has_model and not own.plan.has_model
        usual = self._shared.settings
        longer_s = usual.model_s if first_model else 0.0
        return task, own.model_copy(update={
            "fork": fork, "plan": plan or own.plan, "pauses": False,
            "budget_s": own.budget_s + longer_s,
        }).but(usual, **asked)

    async def conclude(
        self, outcome: RunOutcome, reason: str, *, is_of_time: bool = False
    ) -> None:
        """Writes the last event of a run that did not reach its last step."""
        engine = await self._shared.engine.get()
        state = await engine.state(self.id)
        if is_of_time:
            state = {**state, "stopped": "time"}
        with suppress(RunOver):  # it may have come to its end meanwhile
            required = self.options.require_confidence
            conclude(state, self._store, self.log, self.emit, outcome, reason, required)

    async def _driven(self, answer: ForStep | None) -> None:
        context, clock = self.context(), asyncio.timeout(None)
        try:
            engine = await self._shared.engine.get()
            with self._shared.uploads.around():
                async with clock:
                    clock.reschedule(asyncio.get_running_loop().time() + self.seconds_left)
                    async for question in engine.run(self.id, context, answer):
                        # Asked again, it may be answered again: what was said was lost.
                        self._store.forget_answer(self.id, question.interrupt)
                        self.emit(question)
        except TimeoutError as error:
            if not clock.expired():
                self.emit(RunFailed(error=f"TimeoutError: {error}"))
                raise
            words = f"the run's {self.seconds:g} seconds are over"
            await self._pause(OverBudget(words, RUN_SECONDS))
        except OverBudget as error:
            await self._pause(error)
        except NeedsKey as error:
            hint = FORKED_PLAN if self.options.fork is not None else ""
            self._wait_for("key", f"{error}{hint}")
        except NoModel as error:
            await self.conclude("needs_model", str(error))
        except LlmError as error:
            await self.conclude("model_failed", str(error))
        except SandboxError as error:
            await self.conclude("not_fixable", f"the sandbox cannot run code: {error}")
        except RunOver:
            log.info("the run %s was ended from elsewhere", self.id)
        except Exception as error:
            self.emit(RunFailed(error=f"{type(error).__name__}: {error}"))
            raise
        finally:
            await _ended(self._first)
            self._first = None
            await context.router.close()

    async def _pause(self, over: OverBudget) -> None:
        if self.options.pauses:
            self._wait_for("budget", str(over), self._more(over))
        else:
            await self.conclude("budget", str(over), is_of_time=over.cap == RUN_SECONDS)

    def _more(self, over: OverBudget) -> Extended | None:
        """What is offered at a cap: as much again or what the next call lacks; to a visitor within
        the host's caps."""
        if over.cap == RUN_SECONDS:
            return Extended(seconds=self.options.budget_s)
        shared, options = self._shared.settings, self.options
        whose, _, unit = over.cap.partition(" ")
        caps = options.caps if over.is_of_the_run else shared.role_budgets.get(whose, Caps())
        amount = max(getattr(caps, unit, None) or 0, over.lacks)
        most = getattr(shared.caps, unit, None) if options.visitor != OWNER else None
        if not 0 < amount <= (inf if most is None else most):
            return None
        return Extended.model_validate({unit: payable(amount) if unit == "usd" else amount})

    def _wait_for(
        self, needs: Literal["budget", "key", "visitor"], words: str, more: Extended | None = None
    ) -> None:
        with suppress(RunOver):
            self.emit(Waiting(
                interrupt=f"{needs}-{uuid.uuid4().hex}", question=words, needs=needs, more=more,
            ))

    # What its steps may touch.

    def context(self) -> Context:
        """What its steps may touch."""
        shared, options = self._shared, self.options
        return Context(
            task=self.task,
            router=self._router(),
            rules=shared.rules,
            sandbox=shared.sandbox_of(options.visitor, self.id),
            memory=shared.memories.of(options.visitor),
            store=self._store,
            settings=shared.settings.model_copy(update={
                "max_iterations": options.max_iterations, "budget_s": self.seconds,
                "search_s": options.search_s or shared.settings.search_s,
                "ask": options.ask, "autonomy_level": options.autonomy_level,
                "require_confidence": options.require_confidence,
            }),
            writer=lambda step: shared.bus.writer(self.id, step),
            emit=self.emit,
            log=lambda: self.log,
            deadline=time.monotonic() + self.seconds_left,
            answered=frozenset(options.answered),
            start=options.fork.start if options.fork is not None else State(iteration=0),
            pauses=options.pauses,
            learn=options.learn,
            least_proof=options.require_proof,
            begun=self._first,
            prompts=shared.prompts,
        )

    def _router(self) -> Router:
        """Asks the plan's models with the visitor's keys, and logs what is spent."""
        shared, options, entries = self._shared, self.options, self.log
        kept = ledger(options.caps, shared.settings.role_budgets, entries)
        first = next_call(entries)
        redactor = shared.models.redactor()
        router = Router(
            plan=options.plan,
            open=lambda choice: shared.models.provider(choice, options.visitor),
            ledger=kept,
            prices=shared.models.prices,
            tell=lambda occurrence: self.emit(
                event_of(occurrence, first, redactor.text, self._store.put)
            ),
            breaker=lambda choice: shared.models.breaker(choice, options.visitor),
            before={
                call.question: Reply(
                    self._store.get(call.said, Said).text, call.finish, call.provider, call.model,
                    Usage(),
                )
                for call in paid_in_unfinished_step(entries)
            },
            clean=redactor.text,
        )
        self.so_far = lambda: {first + number: text for number, text in router.so_far().items()}
        return router


def _logged(driver: asyncio.Task[None]) -> None:
    if not driver.cancelled() and driver.exception() is not None:
        # Recorded as `run_failed` already; the traceback belongs into the process's log.
        log.error("a run failed", exc_info=driver.exception())


async def _ended(work: asyncio.Task[Any] | None) -> None:
    if work is not None:
        work.cancel()
        await asyncio.wait({work})
        if not work.cancelled():
            work.exception()
