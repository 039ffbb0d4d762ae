"""A single run: its options, task, clock and event log, and the loop that drives it to an end.
Spent money and time are read from the log, so a resumed run gets no fresh budget."""

from __future__ import annotations

import asyncio
import json
import logging
import sqlite3
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
    Answered,
    Event,
    Extended,
    LogEntry,
    Notice,
    Resumed,
    RoleChoice,
    RunFailed,
    RunStarted,
    Waiting,
    seconds_spent,
)
from agent.core.settings import Autonomy, Settings
from agent.core.state import State
from agent.iteration.context import Context
from agent.iteration.models import LOCAL_USER
from agent.log.spending import (
    StoredAnswer,
    event_of,
    ledger,
    lost_calls,
    next_call,
    payable,
    reusable_calls,
)
from agent.log.store import DatabaseUnavailable, RunAlreadyEnded, RunRow
from agent.loop.fork import Edits, Fork, make_fork
from agent.loop.resources import Resources
from agent.loop.steps.finish import conclude
from agent.report.result import fold
from agent.report.waiting import StepAnswer, open_question
from agent.report.words import STEP_WORDS, step_words
from agent.search.ranking.question import BadAnswer, answered_test, matches_a_patch
from agent.verify.jail_level import jail_status
from llm import LlmError, ModelPlan, NoModel, Reply, Usage
from llm.budget import Caps
from llm.errors import NeedsKey, OverBudget
from llm.router import Router
from sandbox import SandboxError

log = logging.getLogger("agent")
RUN_SECONDS = "run seconds"
"""The name of the cap on a run's total time."""
FORK_KEY_HINT = (
    ". A fork uses its parent's models. To use others, fork with `--provider mock` or another "
    "provider"
)


class RunRequest(TypedDict, total=False):
    """Options that an interface passes for a run; see `Options`. `None` means the value of the
    settings, or of a fork's parent."""

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
    """Options of one run that may differ from the session's settings."""

    max_iterations: int
    budget_s: float
    search_s: float | None = None
    """Processor seconds of one search; `None` means the settings' value."""
    plan: ModelPlan
    caps: Caps
    ask: bool
    autonomy_level: Autonomy = "full_auto"
    answered: tuple[str, ...] = ()
    """Names of tests that came from answers to an earlier run's open questions."""
    visitor: str = LOCAL_USER
    pauses: bool = False
    fork: Fork | None = None
    learn: bool = True
    require_proof: ProofLevel = "E1"
    require_integrity: Integrity | None = None
    require_confidence: float = 0.9

    @classmethod
    def of(
        cls, settings: Settings, plan: ModelPlan, visitor: str = LOCAL_USER,
        **requested: Unpack[RunRequest],
    ) -> Options:
        """Combines settings and request; a plan with a model gets `model_s` more seconds."""
        return cls(
            max_iterations=settings.max_iterations,
            budget_s=settings.budget_s + (settings.model_s if plan.has_model else 0.0),
            ask=settings.ask, autonomy_level=settings.autonomy_level, plan=plan,
            visitor=visitor, caps=settings.caps, require_confidence=settings.require_confidence,
        ).updated(settings, **requested)

    def updated(self, settings: Settings, **requested: Unpack[RunRequest]) -> Options:
        """Applies a request.

        A requested `budget_s` includes model calls. Without a model the search may use all of it,
        else its share as in the settings.
        """
        update = {name: value for name, value in requested.items() if value is not None}
        if seconds := requested.get("budget_s"):
            share = settings.search_s / max(settings.budget_s, 1.0)
            update["search_s"] = seconds * (share if self.plan.has_model else 1.0)
        return self.model_copy(update=update)


class Run:
    """A run of a session; use it from the session's event loop."""

    def __init__(
        self, id_: str, title: str, options: Options, task: Task | str, shared: Resources
    ) -> None:
        self.id = id_
        self.title = title
        self.options = options
        writer_id = f"session-{uuid.uuid4().hex}"
        self.emit: Callable[[Event], LogEntry] = shared.bus.writer(id_, writer_id)
        """Writes events of the session to the run's log."""
        self._task = task
        self._shared = shared
        self._store = shared.store.of(id_)
        self._judging: asyncio.Task[Report] | None = None
        self._driver: asyncio.Task[None] | None = None
        self.lost_database = ""
        self.partial_answers: Callable[[], Mapping[int, str]] = dict
        """The partial texts of model answers so far, by call."""

    @classmethod
    def stored(cls, row: RunRow, shared: Resources) -> Run:
        return cls(row.id, row.title, Options.from_json(row.options), row.task, shared)

    @property
    def task(self) -> Task:
        if isinstance(self._task, str):
            self._task = self._store.get(self._task, Task)
        return self._task

    @property
    def log(self) -> tuple[LogEntry, ...]:
        return self._store.log(self.id)

    @property
    def question(self) -> Waiting | None:
        """The question that the run waits with, if any."""
        return open_question(self.log)

    @property
    def is_running(self) -> bool:
        return self._driver is not None and not self._driver.done()

    @property
    def seconds(self) -> float:
        """The budget in wall seconds, including extensions."""
        added = sum(one.event.seconds for one in self.log if isinstance(one.event, Extended))
        return self.options.budget_s + added

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.seconds - seconds_spent(self.log))

    async def begin(self, notices: Sequence[str], judged: Report | None = None) -> None:
        """Stores the run and opens its log, while the engine is loaded and the submitted program
        is judged, unless its report is given as `judged`. Raises `ValueError` if the run's id
        exists already."""
        shared, program = self._shared, self.task.solution
        shared.engine.begin()
        if program is not None and self.options.fork is None:
            self._judging = asyncio.create_task(self.context().judge_submitted(program, judged))
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
            return await jail_status(sandbox, self.task)
        except SandboxError as error:
            # The run's first job fails with the same error, which ends the run.
            return JailStatus(words=f"{sandbox.name}: {error}")

    def _open_log(self, jail: JailStatus, notices: Sequence[str]) -> None:
        program, plan = self.task.solution, self.options.plan
        self.emit(RunStarted(
            title=self.title, code=program.text if program else "",
            entry=program.entry if program else "", provider=plan.provider, provider_why=plan.why,
            sandbox=jail.words, level=jail.level, layers=jail.layers,
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
        ))
        for text in notices:
            # How models are assigned to roles is information, not a problem.
            planned = text in self.options.plan.notes
            self.emit(Notice(level="info" if planned else "warning", text=text))

    def drive(self, answer: StepAnswer | None = None) -> asyncio.Task[None]:
        """Drives the run in the background until it ends or asks a question."""
        self._driver = asyncio.create_task(self._drive(answer), name=f"run {self.id}")
        self._driver.add_done_callback(_log_failure)
        return self._driver

    async def wait_until_idle(self) -> None:
        if self._driver is not None:
            await asyncio.wait({self._driver})

    def stop_soon(self) -> None:
        """Stops driving without waiting for it."""
        if self._driver is not None:
            self._driver.cancel()

    async def stop(self) -> None:
        """Stops driving at once; the run keeps its progress."""
        for task in (self._driver, self._judging):
            await _cancel(task)

    async def pause(self) -> None:
        """Stops driving until a user opens the run again."""
        if self.question is None:
            await self.stop()
            self._wait_for("visitor", "the page of this run was closed; reopen it to continue")

    async def store(self) -> None:
        """Stores the run without driving it. Raises `ValueError` if its id exists already."""
        address = self._store.put(self.task)
        self._store.add_run(self.id, self.title, address, self.options.to_json())

    async def resume(self) -> StepAnswer | None:
        """Logs the model calls that were lost when the run's process ended, and the next steps.
        Returns the answer to the run's last question, if the run has not continued since."""
        if not self.log:  # it was queued, or its process ended before the first event
            self._open_log(await self._jail(), self.options.plan.notes)
            return None
        events = [one.event for one in self.log if not isinstance(one.event, Extended)]
        if events and isinstance(last := events[-1], Answered):
            saved = self._store.saved_answer(self.id, last.interrupt)
            return StepAnswer(last.interrupt, json.loads(saved)) if saved else None
        engine = await self._shared.engine.get()
        steps = await engine.next_steps(self.id)
        lost = lost_calls(self.log)
        start = fold(self.log).start
        names = [f"“{step_words(step, start)}”" for step in STEP_WORDS if step in steps]
        note = f"its process had ended; it continues with {', '.join(names) or 'the start'}"
        calls = counted(len(lost), "call")
        lost_note = f"; interrupted, and charged at the maximum cost: {calls}"
        # First, since the time before this event does not count as time of the run.
        self.emit(Resumed(note=note + (lost_note if lost else "")))
        for call in lost:
            self.emit(call)
        return None

    def rerun_inputs(self, answer: str) -> tuple[Task, Options]:
        """Returns task and options of a new run that includes an answer to this run's open
        question. Raises `BadAnswer`."""
        patches = fold(self.log).competing
        if patches is None:
            raise BadAnswer("That run has no open question.")
        test = answered_test(patches, answer)
        if test is None:
            raise BadAnswer("A skipped question needs no new run.")
        tests = self.task.tests
        task = self.task.model_copy(update={
            "tests": (*tests, test),
            # If all tests were doctests, they decided the verdict, and still do.
            "doctests": self.task.doctests or all(one.origin == "doctest" for one in tests),
        })
        # An answer that matches no patch becomes an ordinary test and selects no patch.
        names = (*self.options.answered, *([test.name] if matches_a_patch(patches, test) else []))
        fork = self.options.fork
        fork = None if fork is None else fork.with_test(test, self._store)
        return task, self.options.model_copy(update={"answered": names, "fork": fork})

    async def fork_inputs(
        self, iteration: int, edits: Edits, plan: ModelPlan | None, **requested: Unpack[RunRequest]
    ) -> tuple[Task, Options]:
        """Returns task and options of a fork of this run; see `agent.loop.fork.make_fork`."""
        engine = await self._shared.engine.get()
        task, fork = await make_fork(
            self.id, self.task, self.log, iteration, edits, engine, self._store
        )
        if plan is not None and plan != self.options.plan:
            words = f"answered by {plan.provider}"
            parent = fork.parent.model_copy(update={"edits": (*fork.parent.edits, words)})
            fork = fork.model_copy(update={"parent": parent})
        options = self.options
        first_model = plan is not None and plan.has_model and not options.plan.has_model
        settings = self._shared.settings
        extra_s = settings.model_s if first_model else 0.0
        return task, options.model_copy(update={
            "fork": fork, "plan": plan or options.plan, "pauses": False,
            "budget_s": options.budget_s + extra_s,
        }).updated(settings, **requested)

    async def conclude(
        self, outcome: RunOutcome, reason: str, *, stop_for_time: bool = False
    ) -> None:
        """Logs the final event of a run that did not reach its last step."""
        engine = await self._shared.engine.get()
        state = await engine.state(self.id)
        if stop_for_time:
            state = {**state, "stopped": "time"}
        with suppress(RunAlreadyEnded):  # it may have ended meanwhile
            required = self.options.require_confidence
            conclude(state, self._store, self.log, self.emit, outcome, reason, required)

    async def _drive(self, answer: StepAnswer | None) -> None:
        context, clock = self.context(), asyncio.timeout(None)
        try:
            engine = await self._shared.engine.get()
            with self._shared.uploads.tracing_scope():
                async with clock:
                    clock.reschedule(asyncio.get_running_loop().time() + self.seconds_left)
                    async for question in engine.run(self.id, context, answer):
                        # The step asks again because its earlier answer was lost: accept a new one.
                        self._store.forget_answer(self.id, question.interrupt)
                        self.emit(question)
        except TimeoutError as error:
            if not clock.expired():
                self.emit(RunFailed(error=f"TimeoutError: {error}"))
                raise
            words = f"the run's {self.seconds:.3g} seconds are used up"
            await self._pause(OverBudget(words, RUN_SECONDS))
        except OverBudget as error:
            await self._pause(error)
        except NeedsKey as error:
            hint = FORK_KEY_HINT if self.options.fork is not None else ""
            self._wait_for("key", f"{error}{hint}")
        except NoModel as error:
            await self.conclude("needs_model", str(error))
        except LlmError as error:
            await self.conclude("model_failed", str(error))
        except SandboxError as error:
            await self.conclude("not_fixable", f"the sandbox cannot run code: {error}")
        except RunAlreadyEnded:
            log.info("run %s was ended by another process", self.id)
        except (DatabaseUnavailable, sqlite3.OperationalError) as error:  # the second: checkpoints
            self.lost_database = str(error)  # it has not failed: it goes on when the store answers
            log.warning("run %s stops: %s", self.id, error)
        except Exception as error:
            self.emit(RunFailed(error=f"{type(error).__name__}: {error}"))
            raise
        finally:
            await _cancel(self._judging)
            self._judging = None
            await context.router.close()

    async def _pause(self, error: OverBudget) -> None:
        if self.options.pauses:
            self._wait_for("budget", str(error), self._extension(error))
        else:
            await self.conclude("budget", str(error), stop_for_time=error.cap == RUN_SECONDS)

    def _extension(self, error: OverBudget) -> Extended | None:
        """The extension to offer at a cap: its amount again, or what the next call needs if that is
        more; `None` if a visitor's extension would exceed the host's cap."""
        if error.cap == RUN_SECONDS:
            return Extended(seconds=self.options.budget_s)
        settings, options = self._shared.settings, self.options
        role, _, unit = error.cap.partition(" ")
        caps = options.caps if error.is_run_cap else settings.role_budgets.get(role, Caps())
        amount = max(getattr(caps, unit, None) or 0, error.excess)
        limit = getattr(settings.caps, unit, None) if options.visitor != LOCAL_USER else None
        if not 0 < amount <= (inf if limit is None else limit):
            return None
        return Extended.model_validate({unit: payable(amount) if unit == "usd" else amount})

    def _wait_for(
        self, needs: Literal["budget", "key", "visitor"], words: str, added: Extended | None = None
    ) -> None:
        interrupt = f"{needs}-{uuid.uuid4().hex}"
        with suppress(RunAlreadyEnded):
            self.emit(Waiting(
                interrupt=interrupt, question=words, needs=needs, budget_extension=added,
            ))

    def context(self) -> Context:
        """Builds the context that the run's steps work with."""
        shared, options = self._shared, self.options
        return Context(
            task=self.task, router=self._router(), rules=shared.rules,
            sandbox=shared.sandbox_of(options.visitor, self.id),
            memory=shared.memories.of(options.visitor), store=self._store,
            settings=shared.settings.model_copy(update={
                "max_iterations": options.max_iterations, "budget_s": self.seconds,
                "search_s": options.search_s or shared.settings.search_s,
                "ask": options.ask, "autonomy_level": options.autonomy_level,
                "require_confidence": options.require_confidence,
            }),
            writer=lambda step: shared.bus.writer(self.id, step), emit=self.emit,
            log=lambda: self.log, deadline=time.monotonic() + self.seconds_left,
            answered_tests=frozenset(options.answered),
            start=options.fork.start if options.fork is not None else State(iteration=0),
            pauses=options.pauses, learn=options.learn, required_proof=options.require_proof,
            submitted_report=self._judging, prompts=shared.prompts,
        )

    def _router(self) -> Router:
        """Builds the router that calls the plan's models with the visitor's keys and logs costs."""
        shared, options, entries = self._shared, self.options, self.log
        first = next_call(entries)
        redactor = shared.models.redactor()
        router = Router(
            plan=options.plan,
            open=lambda choice: shared.models.provider(choice, options.visitor),
            ledger=ledger(options.caps, shared.settings.role_budgets, entries),
            prices=shared.models.prices,
            emit=lambda occurrence: self.emit(
                event_of(occurrence, first, redactor.text, self._store.put)
            ),
            breaker=lambda choice: shared.models.breaker(choice, options.visitor),
            before={
                call.question: Reply(
                    self._store.get(call.answer_id, StoredAnswer).text, call.finish, call.provider,
                    call.model, Usage(),
                )
                for call in reusable_calls(entries)
            },
            clean=redactor.text,
        )
        self.partial_answers = lambda: {
            first + number: text for number, text in router.partial_answers().items()
        }
        return router


def _log_failure(driver: asyncio.Task[None]) -> None:
    if not driver.cancelled() and driver.exception() is not None:
        # The run's log has `run_failed`; the traceback goes to the process's log.
        log.error("a run failed", exc_info=driver.exception())


async def _cancel(task: asyncio.Task[Any] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()
