"""The library: heal code from Python, in a script, in a coroutine, or in a notebook.

    from agent import SelfHealingAgent

    result = SelfHealingAgent().run(code=source, tests="assert f(2) == 4")
    if result.success:
        print(result.diff)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.core.domain import CompetingPatches, Task
from agent.core.dotenv_files import warn_of_dotenv
from agent.core.events import Stamped, Waiting
from agent.core.loops import blocking
from agent.core.measures import MEASURES
from agent.core.settings import AgentConfig, Settings
from agent.interfaces.preparation import NOTHING, OpenSession, Prepared, Say, prepare, silent
from agent.interfaces.request import HealRequest
from agent.iteration.models import OWNER
from agent.log.history import Listed, open_history
from agent.planning.plan import MAX_STEPS
from agent.propose.drafts import by_words, read_drafts
from agent.report.iterations import Iteration, RunComparison, compared, iterations
from agent.report.result import Result, fold
from agent.report.waiting import REVIEWED, BadReview, Review
from agent.search.ranking.question import SKIP, BadAnswer, answered_test
from agent.target.errors import NotFixable
from agent.target.interpreter import own_sites
from agent.target.task import TestText, from_page, make_task
from llm import ModelPlan, NoProvider

if TYPE_CHECKING:
    from agent.interfaces.plan_execution import PlanResult
    from agent.interfaces.project.discovery import Inspection
    from agent.loop.session import Session
    from agent.planning.running import ApproveStep, Mode
    from agent.tools.workspace import Workspace

Ask = Callable[[CompetingPatches], str | None]
"""Chooses a behaviour: a label, a Python value, `raises` and an exception, or `None` to leave it
open."""


Approve = Callable[[Waiting], "bool | Review"]
"""Reviews a repair: whether it is kept, or a `Review` with a hint or a program."""


class RunFault(Exception):
    """An internal error ended the run; nothing can be said about the code."""


class UnusableAnswer(BadAnswer):
    """The answer of `ask` is unusable; the run left the question open, and `result` is its
    result."""

    def __init__(self, reason: str, result: HealResult) -> None:
        super().__init__(reason)
        self.result = result


@dataclass(frozen=True, repr=False)
class HealResult(Result):
    """What a run came to, by attribute and by subscript."""

    task: Task = field(default_factory=Task)
    max_iterations: int = 5

    @property
    def success(self) -> bool:
        """The user's tests pass, or without any the program was healthy; a stopped crash is no
        success."""
        return self.healed

    @property
    def execution_error(self) -> str:
        """How the program crashed, or what the first failing test saw; empty when all is well."""
        report = self.report
        if report is None:
            return ""
        if report.ending is not None and report.ending.crashed:
            ending = report.ending
            seen = ending.traceback or ending.message or ending.limit
            return "\n".join([seen.rstrip("\n"), *ending.refused]) if ending.refused else seen
        return next((f"{seen.name}: {seen.message}" for seen in report.failing), "")

    @property
    def critic_feedback(self) -> str:
        """What the critic said of the repair; empty where it was not asked."""
        return self.critique.note if self.critique else ""

    def __getitem__(self, key: str) -> object:
        if key in MEASURES:
            return MEASURES[key](self.code)
        if key not in KEYS:
            raise KeyError(f"{key!r}; the known keys are {', '.join(self.keys())}")
        return attrgetter(KEYS[key])(self)

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __contains__(self, key: object) -> bool:
        return key in self.keys()

    def keys(self) -> tuple[str, ...]:
        """What a subscript takes; so `dict(result)` works."""
        return (*KEYS, *MEASURES)

    def __repr__(self) -> str:
        proof = f"proof {self.claim}, " if self.claim else ""
        return f"<{type(self).__name__} {self.outcome}, {proof}run {self.run_id}>"


KEYS: dict[str, str] = {
    "code": "code", "specification": "task.text", "execution_output": "stdout",
    "execution_error": "execution_error", "critic_feedback": "critic_feedback",
    "iteration": "iterations", "max_iterations": "max_iterations", "is_complete": "success",
    **{name: name for name in (
        "success", "outcome", "proof", "confidence", "unsure", "integrity",
        "integrity_reason", "evidence", "rivals",
        "reason", "diff", "best", "stdout", "report", "tests", "lessons", "run_id", "provider",
        "tokens", "cost_usd", "seconds", "metrics", "degraded",
    )},
}
"""Subscript to attribute; the measures of the program's text are available too."""


@dataclass(frozen=True, repr=False)
class ProjectResult(HealResult):
    """The result for a project; `diff` applies in `root`, `files` are its modules."""

    inspected: Inspection | None = None
    """The project before; `None` where its suite could not be run."""
    notes: tuple[str, ...] = ()

    @property
    def root(self) -> str:
        """The top of the project; empty where none was found."""
        return self.inspected.project.root if self.inspected is not None else ""

    @property
    def failed_before(self) -> tuple[str, ...]:
        """The tests that failed before any edit."""
        return tuple(self.inspected.run.failing) if self.inspected is not None else ()

    @property
    def markdown(self) -> str:
        """The heal for the readers of a pull request, or why there was none."""
        if self.inspected is None:
            return f"{self.reason}\n"
        from agent.interfaces.project.reports import markdown

        return markdown(self, self.inspected.project.name, self.inspected)

    @property
    def document(self) -> dict[str, object]:
        """What `run --json` prints."""
        return Prepared(inspected=self.inspected).document(self)


class SelfHealingAgent:
    """Heals code given as text, or writes it from a task in words.

    What begins with `a` is a coroutine; the same without it also works inside a running loop.
    Arguments win over `config`, and that over the environment. A patch below `require_confidence`
    (0.9) is `proposed` and no success. `model_provider` is a provider's name, or `None` for the
    best configured one; an unavailable one raises `llm.NoProvider`.
    """

    def __init__(
        self,
        model_provider: str | None = None,
        model_name: str | None = None,
        max_iterations: int | None = None,
        data_dir: str | Path | None = None,
        *,
        config: AgentConfig | None = None,
        budget_s: float | None = None,
        require_confidence: float | None = None,
        open_session: OpenSession | None = None,
    ) -> None:
        if max_iterations is not None and max_iterations < 1:
            raise ValueError("max_iterations must be at least 1")
        if budget_s is not None and not 0 < budget_s < inf:
            raise ValueError("budget_s must be more than 0, and finite")
        self.model_provider = model_provider
        self.model_name = model_name
        self.max_iterations = max_iterations
        self.data_dir = None if data_dir is None else Path(data_dir)
        self.budget_s = budget_s
        self.require_confidence = require_confidence
        self.config = config
        self._open_session = open_session

    async def arun(
        self,
        code_or_task: str | None = None,
        *,
        code: str | None = None,
        tests: str | Sequence[str] | None = None,
        task: str | None = None,
        ask: Ask | None = None,
        approve: Approve | None = None,
        deselect: Sequence[str] = (),
        doctests: bool = False,
    ) -> HealResult:
        """Heals `code` by `tests`, or does a task in words; a single string is a task.

        Args:
            ask: Chooses between several behaviours that fit the tests, in a thread.
            approve: Reviews each repair, in a thread. Without it a run that is reviewed ends as
                `awaiting_review`, and `decide` goes on with it.
            deselect: Ids of tests to leave out.
            doctests: Failing doctests count beside other tests.

        Raises:
            BadInput: The input cannot be used.
            RunFault: Internal error; every other end is in the result.
            UnusableAnswer, BadReview: What `ask` or `approve` gave is no answer.
        """
        if code_or_task is not None and task is not None:
            raise TypeError("the task was given twice: as the first argument and as task=")
        words = task if task is not None else code_or_task
        if code is None and words is None:
            raise TypeError("give code=, or a task in words")
        # Files are read and long programs parsed in a thread: the loop serves the caller too.
        settings = await asyncio.to_thread(self.settings, with_drafts=code is None)
        try:
            submitted = await asyncio.to_thread(
                _submitted, code, tests, words or "", deselect, doctests
            )
        except NotFixable as error:
            return HealResult(
                outcome="not_fixable", reason=str(error), code=code or "",
                task=Task(text=words or ""), max_iterations=settings.max_iterations,
            )
        log, unusable = await self.logged(settings, submitted, ask, approve)
        found = self._result(log, submitted, settings)
        if unusable:
            raise UnusableAnswer(unusable, found)
        return found

    run = blocking(arun)

    async def adecide(
        self, run_id: str, *, approve: bool = False, hint: str = "", code: str | None = None
    ) -> HealResult:
        """Goes on with a run that is `awaiting_review`: keeps its repair or gives leave, refuses,
        has another tried by a `hint`, or `code` judged. Raises: UnknownRun, BadReview."""
        review = Review(approve=approve, hint=hint, code=code)
        opened = await asyncio.to_thread(self.opener)
        settings = await asyncio.to_thread(self.settings)
        async with opened(settings) as session:
            waiting = fold(session.log(run_id)).waiting
            if waiting is None or waiting.needs not in REVIEWED:
                raise BadReview(f"The run {run_id} waits for no review.")
            if not await session.answer(run_id, waiting.interrupt, review.model_dump()):
                raise BadReview(f"The run {run_id} was answered by another caller meanwhile.")
            async for _ in session.follow(run_id, session.log(run_id)[-1].seq):
                pass
            return self._result(session.log(run_id), session.task(run_id), settings)

    decide = blocking(adecide)

    async def aexecute(
        self, task: str, workspace: Workspace | str | Path = ".", *, mode: Mode = "sequential",
        approve: ApproveStep | None = None, max_steps: int = MAX_STEPS,
        replan_on_failure: bool = True,
    ) -> PlanResult:
        """Does a task of several steps over a private copy of a folder. `mode`: `sequential`,
        `parallel` (reading steps side by side) or `interactive` (each step is put to `approve`).
        Raises: ValueError, and where no plan is made an `llm.LlmError`, whose `spent` is its cost:
        `NoModel`, `BadReply`, `OverBudget`, `TimedOut` or another `CallFailed`."""
        from agent.interfaces.plan_execution import aexecute

        return await aexecute(
            self, task, workspace, mode=mode, approve=approve, max_steps=max_steps,
            replan_on_failure=replan_on_failure,
        )

    execute = blocking(aexecute)

    def runs(self, limit: int = 20) -> tuple[Listed, ...]:
        """The newest runs first, each with its id, title, standing and parent."""
        with open_history(self.settings(), OWNER) as history:
            return history.runs(limit)

    def iterations(self, run_id: str) -> tuple[Iteration, ...]:
        """The programs that a run has judged. Raises: agent.log.store.UnknownRun."""
        with open_history(self.settings(), OWNER) as history:
            return iterations(history.log(run_id))

    def compare(self, left: str, right: str) -> RunComparison:
        """Two runs side by side; raises `agent.log.store.UnknownRun`."""
        with open_history(self.settings(), OWNER) as history:
            return compared(history.log(left), history.log(right))

    async def afork(
        self, run_id: str, iteration: int, *, code: str | Mapping[str, str] | None = None,
        tests: str | Sequence[str] = (), deselect: Sequence[str] = (),
    ) -> HealResult:
        """Forks a run at an iteration, with other `code` (by path for several files) or `tests`;
        the parent's models answer unless this agent names others. Raises: UnknownRun,
        UnknownIteration, BadFork, and as `run` does."""
        from agent.loop.fork import Edits

        edits = Edits(
            {"": code} if isinstance(code, str) else code or {},
            _texts([tests] if isinstance(tests, str) else tests), deselect,
        )
        named = set() if self.config is None else self.config.model_fields_set
        chosen = bool(
            self.model_provider or self.model_name or named & {"provider", "model", "roles"}
        )
        opened = await asyncio.to_thread(self.opener)
        settings = await asyncio.to_thread(self.settings)
        async with opened(settings) as session:
            plan = self._plan(session) if chosen else None
            run = await session.fork(run_id, iteration, edits, plan=plan, **{
                name: self._own(named, name)
                for name in ("budget_s", "max_iterations", "require_confidence")
            })
            log, _ = await _to_its_end(session, run, None)
            return self._result(log, session.task(run), settings)

    fork = blocking(afork)

    def _own(self, named: Set[str], name: str) -> Any:
        given = getattr(self, name)
        return getattr(self.config, name) if given is None and name in named else given

    def settings(self, *, with_drafts: bool = False) -> Settings:
        """The settings of the environment with those of this agent."""
        warn_of_dotenv()
        config = self.config
        given = {} if config is None else {
            name: getattr(config, name) for name in config.model_fields_set
        }
        own = {
            "provider": self.model_provider, "max_iterations": self.max_iterations,
            "data_dir": self.data_dir, "require_confidence": self.require_confidence,
            "drafts": by_words(read_drafts()) if with_drafts else None,
        }
        return Settings.from_env(
            **given | {name: value for name, value in own.items() if value is not None}
        )

    async def healed(self, request: HealRequest, say: Say = silent) -> tuple[Prepared, Result]:
        """Heals the file or project that a request means. Raises: BadInput, RunFault."""
        settings = await asyncio.to_thread(self.settings)
        prepared = NOTHING
        try:
            prepared = await prepare(request, settings, say)
            task = prepared.task
            log = (await self.logged(settings, task))[0] if task is not None else ()
        except NotFixable as error:
            return prepared, Result(outcome="not_fixable", reason=str(error))
        result = prepared.heal_result(log)
        if result.error:
            raise RunFault(result.error)
        return prepared, result

    async def logged(
        self, settings: Settings, task: Task, ask: Ask | None = None,
        approve: Approve | None = None,
    ) -> tuple[tuple[Stamped, ...], str]:
        """The log of one run, and what was wrong with an answer of `ask`, if anything was."""
        opened = await asyncio.to_thread(self.opener)
        async with opened(settings) as session:
            plan = self._plan(session)
            reviews = approve is not None and settings.autonomy_level == "full_auto"
            run = await session.start(
                task, title=_title(task), ask=ask is not None, plan=plan, budget_s=self.budget_s,
                autonomy_level="review_repairs" if reviews else None,
            )
            return await _to_its_end(session, run, ask, approve)

    def _plan(self, session: Session) -> ModelPlan:
        """Who answers. Raises: NoProvider."""
        plan = session.plan(model=self.model_name)
        if self.model_name is not None and not plan.has_model:
            raise NoProvider(
                f"The model {self.model_name!r} cannot be asked: {plan.why}. "
                "Leave model_name out, or name a provider that has it."
            )
        return plan

    def _result(
        self, log: tuple[Stamped, ...], task: Task, settings: Settings
    ) -> HealResult:
        """Raises: RunFault."""
        result = fold(log)
        if result.error:
            raise RunFault(result.error)
        return HealResult(**vars(result), task=task, max_iterations=settings.max_iterations)

    def opener(self) -> OpenSession:
        if self._open_session is not None:
            return self._open_session
        # LangGraph is imported when a run starts, not when the library is.
        from agent.loop.session import open_session

        return open_session


async def aheal_project(
    path: str | Path = ".", arguments: Sequence[str] = (), *, keyword: str = "",
    last_failed: bool = False, only: Sequence[str] = (), exclude: Sequence[str] = (),
    deselect: Sequence[str] = (), python: str | None = None, grant: bool = False,
    test_command: str = "", since: str = "", test_timeout: float = 0.0,
    agent: SelfHealingAgent | None = None,
) -> ProjectResult:
    """Heals the failing tests of the project around `path`; nothing is written into it. The
    arguments are those of `heal run`; `agent` says which models may be asked. Raises: BadInput,
    RunFault."""
    agent = agent or SelfHealingAgent()
    request = HealRequest(
        str(path), arguments, keyword=keyword, last_failed=last_failed, python=python, only=only,
        exclude=exclude, deselect=deselect, grant=grant, test_cmd=test_command, since=since,
        test_timeout=test_timeout, means_project=True,
    )
    notes: list[str] = []
    prepared, result = await agent.healed(request, lambda text, style: notes.append(text))
    return ProjectResult(
        **vars(result), max_iterations=agent.settings().max_iterations, inspected=prepared.inspected,
        notes=tuple(notes),
    )


heal_project = blocking(aheal_project)


async def _to_its_end(
    session: Session, run: str, ask: Ask | None, approve: Approve | None = None
) -> tuple[tuple[Stamped, ...], str]:
    """Answers what a run asks until it ends; returns its log, and what was wrong with an answer of
    `ask`, if anything was. A cancelled caller cancels the run."""
    seen, unusable = 0, ""
    try:
        while True:
            async for batch in session.follow(run, seen):
                seen = batch[-1].seq
            waiting = fold(session.log(run)).waiting
            if waiting is not None and waiting.needs in REVIEWED and approve is not None:
                said = await asyncio.to_thread(approve, waiting)
                await session.answer(run, waiting.interrupt, _review(run, said).model_dump())
                continue
            if ask is None or waiting is None or waiting.rivals is None:
                return session.log(run), unusable
            given: object = await asyncio.to_thread(ask, waiting.rivals)
            unusable = _unusable(waiting.rivals, given)
            # A user who skips one question is not asked the next.
            answer = SKIP if given is None or unusable else given
            await session.answer(run, waiting.interrupt, {"answer": answer})
    except asyncio.CancelledError:
        await session.cancel(run)
        raise


def _review(run: str, said: object) -> Review:
    """Raises: BadReview."""
    if isinstance(said, Review):
        return said
    if not isinstance(said, bool):
        raise BadReview(
            f"approve gave {said!r}, of type {type(said).__name__}; it gives True, False or a "
            f"Review. The run {run} still waits: decide({run!r}, ...) answers it."
        )
    return Review(approve=said)


def _unusable(rivals: CompetingPatches, given: object) -> str:
    """Why the answer of `ask` is unusable; else empty."""
    if given is None:
        return ""
    if not isinstance(given, str):
        return (
            f"ask gave {given!r}, of type {type(given).__name__}; it gives text, such as a label "
            f"or {repr(given)!r}, or None."
        )
    try:
        answered_test(rivals, given)
    except BadAnswer as error:
        return str(error)
    return ""


def _submitted(
    code: str | None, tests: str | Sequence[str] | None, words: str, deselect: Sequence[str],
    doctests: bool,
) -> Task:
    if tests is None or isinstance(tests, str):
        return from_page(code or "", tests or "", words, deselect, doctests).task
    return make_task(
        code, words=words, tests=_texts(tests), sites=own_sites(), deselect=deselect,
        doctests=doctests,
    ).task


def _texts(tests: Sequence[str]) -> tuple[TestText, ...]:
    return tuple(
        TestText(text, f"tests[{number}]") for number, text in enumerate(tests) if text.strip()
    )


def _title(task: Task) -> str:
    if task.project is not None:
        return task.project.name
    return task.solution.entry if task.solution is not None else task.text[:80]
