"""The Python library: heals code from a script, a coroutine or a notebook.

    from agent import SelfHealingAgent

    result = SelfHealingAgent().run(code=source, tests="assert f(2) == 4")
    if result.success:
        print(result.diff)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from math import inf
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.core.domain import CompetingPatches, Report, Task
from agent.core.dotenv_files import warn_of_dotenv
from agent.core.events import LogEntry, Waiting
from agent.core.loops import blocking
from agent.core.measures import MEASURES
from agent.core.settings import AgentConfig, Settings
from agent.interfaces.preparation import NO_REQUEST, OpenSession, Preparation, Say, discard, prepare
from agent.interfaces.request import LEAST_S, HealRequest
from agent.iteration.models import LOCAL_USER
from agent.log.history import RunSummary, open_history
from agent.planning.plan import MAX_STEPS
from agent.propose.drafts import by_words, read_drafts
from agent.report.iterations import JudgedIteration, RunComparison, iterations, run_comparison
from agent.report.result import Result, fold
from agent.report.waiting import REVIEW_NEEDS, BadReview, Review
from agent.report.words import confidence_words
from agent.search.ranking.question import SKIP, BadAnswer, answered_test
from agent.target.errors import NotFixable
from agent.target.interpreter import site_folders
from agent.target.task import TestText, from_page, make_task
from llm import ModelPlan, NoProvider

if TYPE_CHECKING:
    from agent.interfaces.plan_execution import PlanResult
    from agent.interfaces.project.discovery import Inspection
    from agent.loop.session import Session
    from agent.planning.running import ApproveStep, Mode
    from agent.tools.workspace import Workspace

Ask = Callable[[CompetingPatches], str | None]
"""Answers which behaviour is right: a label, a Python value, or `raises` and an exception. `None`
skips the question."""
Approve = Callable[[Waiting], "bool | Review"]
"""Reviews a repair: whether to accept it, or a `Review` with a hint or a program."""


class RunFault(Exception):
    """An internal error ended the run, so there is no result."""


class UnusableAnswer(BadAnswer):
    """`ask` returned an unusable answer. `result` is the result without an answer."""

    def __init__(self, reason: str, result: HealResult) -> None:
        super().__init__(reason)
        self.result = result


@dataclass(frozen=True, repr=False)
class HealResult(Result):
    """The result of a run, readable by attribute and by subscript."""

    task: Task = field(default_factory=Task)
    max_iterations: int = 5

    @property
    def success(self) -> bool:
        """Whether the user's tests pass, or the program was healthy without tests. A repair that
        only removes a crash is no success."""
        return self.healed

    @property
    def execution_error(self) -> str:
        """The program's traceback, or the message of the first failing test; else empty."""
        report = self.report
        if report is None:
            return ""
        if report.ending is not None and report.ending.crashed:
            ending = report.ending
            text = ending.traceback or ending.message or ending.limit
            return "\n".join([text.rstrip("\n"), *ending.refused]) if ending.refused else text
        return next((f"{one.name}: {one.message}" for one in report.failing), "")

    @property
    def critic_feedback(self) -> str:
        """The critic's comment on the repair; empty if there is none."""
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

    @property
    def rivals(self) -> CompetingPatches | None:
        """Deprecated name of `competing`; will be removed in the next version."""
        return self.competing

    def keys(self) -> tuple[str, ...]:
        """The valid subscripts, so that `dict(result)` works."""
        return (*KEYS, *MEASURES)

    def __repr__(self) -> str:
        proof = f"proof {self.claim}, " if self.claim else ""
        likely = f"{words}, " if (words := confidence_words(self)) else ""
        return f"<{type(self).__name__} {self.outcome}, {likely}{proof}run {self.run_id}>"


KEYS: dict[str, str] = {
    "code": "code", "specification": "task.text", "execution_output": "stdout",
    "execution_error": "execution_error", "critic_feedback": "critic_feedback",
    "iteration": "iterations", "max_iterations": "max_iterations", "is_complete": "success",
    **{name: name for name in (
        "success", "outcome", "proof", "confidence", "unsure", "integrity",
        "integrity_reason", "evidence", "competing",
        "reason", "diff", "best", "stdout", "report", "tests", "lessons", "run_id", "provider",
        "tokens", "cost_usd", "seconds", "metrics", "degraded",
    )},
    "rivals": "competing",  # deprecated name
}
"""Maps subscripts to attributes. The names in `MEASURES` are also valid subscripts."""


@dataclass(frozen=True, repr=False)
class ProjectResult(HealResult):
    """The result for a project; `diff` applies in `root`, `files` are its modules."""

    inspected: Inspection | None = None
    """The project before the repair; `None` if its suite could not be run."""
    notes: tuple[str, ...] = ()

    @property
    def root(self) -> str:
        """The root folder of the project; empty if none was found."""
        return self.inspected.project.root if self.inspected is not None else ""

    @property
    def failed_before(self) -> tuple[str, ...]:
        """The tests that failed before any edit."""
        return tuple(self.inspected.run.failing) if self.inspected is not None else ()

    @property
    def markdown(self) -> str:
        """The report for a pull request, or why there is none."""
        if self.inspected is None:
            return f"{self.reason}\n"
        from agent.interfaces.project.reports import markdown

        return markdown(self, self.inspected.project.name, self.inspected)

    @property
    def document(self) -> dict[str, object]:
        """The document that `run --json` prints."""
        return Preparation(inspected=self.inspected).document(self)


class SelfHealingAgent:
    """Heals code given as text, or writes it from a task in words.

    Methods that start with `a` are coroutines. Their counterparts block, also if an event loop
    runs. Arguments override `config`, which overrides the environment. A patch below
    `require_confidence` (0.9) is `proposed` and no success. `model_provider` is a provider's name,
    or `None` for the best configured one; an unavailable one raises `llm.NoProvider`.
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
        """Heals `code` so that `tests` pass, or writes code for a task; a single string is a task.

        Args:
            ask: Chooses between behaviours that all pass the tests; called in a thread.
            approve: Reviews each repair; called in a thread. Without it, a run with reviews ends
                as `awaiting_review`, and `decide` continues it.
            deselect: Ids of tests to leave out.
            doctests: Whether failing doctests are healed even if there are other tests.

        Raises:
            BadInput: The input cannot be used.
            RunFault: Internal error. All other outcomes are in the result.
            UnusableAnswer, BadReview: `ask` or `approve` returned an invalid value.
        """
        if code_or_task is not None and task is not None:
            raise TypeError("the task is given twice: as the first argument and as task=")
        words = task if task is not None else code_or_task
        if code is None and words is None:
            raise TypeError("give code=, or a task in words")
        # Reading files and parsing run in a thread, so that the caller's loop is not blocked.
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
        """Continues a run that is `awaiting_review`: approves or rejects its repair, requests
        another with a `hint`, or submits own `code`. Raises `UnknownRun`, `BadReview`."""
        review = Review(approve=approve, hint=hint, code=code)
        opened = await asyncio.to_thread(self.opener)
        settings = await asyncio.to_thread(self.settings)
        async with opened(settings) as session:
            waiting = fold(session.log(run_id)).waiting
            if waiting is None or waiting.needs not in REVIEW_NEEDS:
                raise BadReview(f"The run {run_id} is not waiting for a review.")
            if not await session.answer(run_id, waiting.interrupt, review.model_dump()):
                raise BadReview(f"Another caller has already answered the run {run_id}.")
            async for _ in session.follow(run_id, session.log(run_id)[-1].seq):
                pass
            return self._result(session.log(run_id), session.task(run_id), settings)

    decide = blocking(adecide)

    async def aexecute(
        self, task: str, workspace: Workspace | str | Path = ".", *, mode: Mode = "sequential",
        approve: ApproveStep | None = None, max_steps: int = MAX_STEPS,
        replan_on_failure: bool = True,
    ) -> PlanResult:
        """Plans and executes a task of several steps on a private copy of a folder.

        Args:
            mode: `sequential`, `parallel` (reading steps run concurrently) or `interactive`
                (`approve` decides on each step).

        Raises:
            ValueError: An argument is invalid.
            llm.LlmError: No plan was made; `spent` is its cost.
        """
        from agent.interfaces.plan_execution import aexecute

        return await aexecute(
            self, task, workspace, mode=mode, approve=approve, max_steps=max_steps,
            replan_on_failure=replan_on_failure,
        )

    execute = blocking(aexecute)

    def runs(self, limit: int = 20) -> tuple[RunSummary, ...]:
        """Returns the newest runs first, each with its id, title, status and parent."""
        with open_history(self.settings(), LOCAL_USER) as history:
            return history.runs(limit)

    def iterations(self, run_id: str) -> tuple[JudgedIteration, ...]:
        """Returns the programs that a run tested. Raises `agent.log.store.UnknownRun`."""
        with open_history(self.settings(), LOCAL_USER) as history:
            return iterations(history.log(run_id))

    def compare(self, left: str, right: str) -> RunComparison:
        """Compares two runs. Raises `agent.log.store.UnknownRun`."""
        with open_history(self.settings(), LOCAL_USER) as history:
            return run_comparison(history.log(left), history.log(right))

    async def afork(
        self, run_id: str, iteration: int, *, code: str | Mapping[str, str] | None = None,
        tests: str | Sequence[str] = (), deselect: Sequence[str] = (),
    ) -> HealResult:
        """Forks a run at an iteration, with other `code` (by path for several files) or `tests`.
        The parent's models are used unless this agent names others. Raises `UnknownRun`,
        `UnknownIteration`, `BadFork`, and the errors of `run`."""
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
            log, _ = await _follow_to_end(session, run, None)
            return self._result(log, session.task(run), settings)

    fork = blocking(afork)

    def _own(self, named: Set[str], name: str) -> Any:
        given = getattr(self, name)
        return getattr(self.config, name) if given is None and name in named else given

    def settings(self, *, with_drafts: bool = False) -> Settings:
        """Returns the settings of the environment, overridden by those of this agent."""
        warn_of_dotenv()
        config = self.config
        given = {} if config is None else {
            name: getattr(config, name) for name in config.model_fields_set
        }
        overrides = {
            "provider": self.model_provider, "max_iterations": self.max_iterations,
            "data_dir": self.data_dir, "require_confidence": self.require_confidence,
            "drafts": by_words(read_drafts()) if with_drafts else None,
        }
        return Settings.from_env(
            **given | {name: value for name, value in overrides.items() if value is not None}
        )

    async def healed(self, request: HealRequest, say: Say = discard) -> tuple[Preparation, Result]:
        """Heals the file or project of a request. Raises `BadInput`, `RunFault`."""
        settings = await asyncio.to_thread(self.settings)
        request, prepared = replace(request, timeout=request.timeout or self.budget_s), NO_REQUEST
        try:
            prepared = await prepare(request, settings, say)
            task = prepared.task
            log: tuple[LogEntry, ...] = ()
            if task is not None:
                log, _ = await self.logged(
                    settings, task, judged=prepared.first_report(task), spent_s=prepared.spent_s
                )
        except NotFixable as error:
            return prepared, Result(outcome=error.outcome, reason=str(error))
        result = prepared.heal_result(log)
        if result.error:
            raise RunFault(result.error)
        return prepared, result

    async def logged(
        self, settings: Settings, task: Task, ask: Ask | None = None,
        approve: Approve | None = None, judged: Report | None = None, spent_s: float = 0.0,
    ) -> tuple[tuple[LogEntry, ...], str]:
        """Runs a task. Returns its log and, if an answer of `ask` was unusable, the reason.
        `spent_s` seconds of the time limit are used already."""
        opened = await asyncio.to_thread(self.opener)
        async with opened(settings) as session:
            plan = self._plan(session)
            reviews = approve is not None and settings.autonomy_level == "full_auto"
            run = await session.start(
                task, title=_title(task), judged=judged, ask=ask is not None, plan=plan,
                budget_s=None if self.budget_s is None else max(LEAST_S, self.budget_s - spent_s),
                autonomy_level="review_repairs" if reviews else None,
            )
            return await _follow_to_end(session, run, ask, approve)

    def _plan(self, session: Session) -> ModelPlan:
        plan = session.plan(model=self.model_name)
        if self.model_name is not None and not plan.has_model:
            raise NoProvider(
                f"The model {self.model_name!r} cannot be used: {plan.why}. "
                "Leave model_name out, or name a provider that has it."
            )
        return plan

    def _result(self, log: tuple[LogEntry, ...], task: Task, settings: Settings) -> HealResult:
        """Raises `RunFault`."""
        result = fold(log)
        if result.error:
            raise RunFault(result.error)
        return HealResult(**vars(result), task=task, max_iterations=settings.max_iterations)

    def opener(self) -> OpenSession:
        if self._open_session is not None:
            return self._open_session
        # LangGraph is slow, so it is imported when a run starts.
        from agent.loop.session import open_session

        return open_session


async def aheal_project(
    path: str | Path = ".", arguments: Sequence[str] = (), *, keyword: str = "",
    last_failed: bool = False, only: Sequence[str] = (), exclude: Sequence[str] = (),
    deselect: Sequence[str] = (), python: str | None = None, grant: bool = False,
    test_command: str = "", since: str = "", test_timeout: float = 0.0,
    agent: SelfHealingAgent | None = None,
) -> ProjectResult:
    """Heals the failing tests of the project that contains `path`, without writing into it. The
    arguments are those of `heal run`; `agent` selects the models. Raises `BadInput`, `RunFault`."""
    agent = agent or SelfHealingAgent()
    request = HealRequest(
        str(path), arguments, keyword=keyword, last_failed=last_failed, python=python, only=only,
        exclude=exclude, deselect=deselect, grant=grant, test_cmd=test_command, since=since,
        test_timeout=test_timeout, means_project=True,
    )
    notes: list[str] = []
    prepared, result = await agent.healed(request, lambda text, style: notes.append(text))
    return ProjectResult(
        **vars(result), max_iterations=agent.settings().max_iterations, notes=tuple(notes),
        inspected=prepared.inspected,
    )


heal_project = blocking(aheal_project)


async def _follow_to_end(
    session: Session, run: str, ask: Ask | None, approve: Approve | None = None
) -> tuple[tuple[LogEntry, ...], str]:
    """Follows a run and answers its questions until it ends. Returns its log and, if an answer of
    `ask` was unusable, the reason. Cancelling the caller cancels the run."""
    last_seq, unusable = 0, ""
    try:
        while True:
            async for batch in session.follow(run, last_seq):
                last_seq = batch[-1].seq
            waiting = fold(session.log(run)).waiting
            if waiting is not None and waiting.needs in REVIEW_NEEDS and approve is not None:
                answer = await asyncio.to_thread(approve, waiting)
                await session.answer(run, waiting.interrupt, _review(run, answer).model_dump())
                continue
            if ask is None or waiting is None or waiting.competing is None:
                return session.log(run), unusable
            choice: object = await asyncio.to_thread(ask, waiting.competing)
            unusable = _unusable(waiting.competing, choice)
            # Skipping one question also skips the following ones.
            chosen = SKIP if choice is None or unusable else choice
            await session.answer(run, waiting.interrupt, {"answer": chosen})
    except asyncio.CancelledError:
        await session.cancel(run)
        raise


def _review(run: str, answer: object) -> Review:
    """Raises `BadReview`."""
    if isinstance(answer, Review):
        return answer
    if not isinstance(answer, bool):
        raise BadReview(
            f"approve returned {answer!r}, of type {type(answer).__name__}; it must return True, "
            f"False or a Review. The run {run} still waits: decide({run!r}, ...) answers it."
        )
    return Review(approve=answer)


def _unusable(patches: CompetingPatches, choice: object) -> str:
    """Returns why the answer of `ask` is unusable; else empty."""
    if choice is None:
        return ""
    if not isinstance(choice, str):
        return (
            f"ask returned {choice!r}, of type {type(choice).__name__}; it must return a string, "
            f"such as a label or {repr(choice)!r}, or None."
        )
    try:
        answered_test(patches, choice)
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
        code, words=words, tests=_texts(tests), package_folders=site_folders(), deselect=deselect,
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
