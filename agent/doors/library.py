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

from agent.core.domain import Rivals, Task
from agent.core.dotenv_files import warn_of_dotenv
from agent.core.events import Stamped, Waiting
from agent.core.loops import blocking
from agent.core.measures import MEASURES
from agent.core.settings import AgentConfig, Settings
from agent.doors.prepared import NOTHING, OpenSession, Prepared, Say, prepare, unsaid
from agent.doors.request import HealRequest
from agent.healing.models import OWNER
from agent.intake import NotFixable, TestText, from_page, make_task, site_folders
from agent.log.history import Listed, open_history
from agent.log.iterations import Comparison, Iteration, compared, iterations
from agent.log.result import Result, fold
from agent.log.waiting import REVIEWED, BadReview, Review
from agent.planning.plan import MOST_STEPS
from agent.repair.ranking.question import SKIP, BadAnswer, answered_test
from agent.thinking.drafts import by_words, read_drafts
from llm import NoProvider, Plan

if TYPE_CHECKING:
    from agent.doors.executing import PlanResult
    from agent.planning.running import ApproveStep, Mode
    from agent.run.session import Session
    from agent.tools.workspace import Workspace

Ask = Callable[[Rivals], str | None]
"""Says which behaviour is right: its label, the right value as Python writes it, `raises` and the
name of an exception, or `None` to leave the question open."""


Approve = Callable[[Waiting], "bool | Review"]
"""Says whether a repair is kept, shown as `diff` and `code` beside the `question`; a `Review` may
give a hint for another try, or the program as it should be."""


class RunFault(Exception):
    """A fault of ours ended the run; nothing can be said about the code."""


class UnusableAnswer(BadAnswer):
    """What `ask` gave answers nothing. The question was left open, and the run went on to its
    end: `result` is what it came to."""

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
        """The user's tests pass, or without any the program was healthy as it came. A crash
        that merely stops is no success."""
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
"""Subscript to attribute; every measure of the program's text is there beside these."""


class SelfHealingAgent:
    """Heals code that is handed to it as text, or writes it from a task in words. What begins with
    `a` is a coroutine; the same without it, as `run` of `arun`, also works inside a running loop.

    `model_provider` is a provider's name, or `None` for the best of what is configured. One
    that cannot be had raises `llm.NoProvider` when a run starts; no other takes its place. What
    `config` sets wins over the environment, and a further argument over both. A patch that is less
    likely right than `require_confidence` (0.9) is `proposed` and no success.
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
        """Heals `code` by `tests`, or does a task in words; a single string is a task in words.

        Where the tests leave several behaviours open, `ask` is called with them, in a thread of
        its own, and says which is right. What answers nothing leaves the question open and, once
        the run has ended, raises `UnusableAnswer`, which holds the result. Tests to `deselect`
        are named by their ids; `doctests` has those that failed before count beside other tests.

        With `approve` each repair is reviewed: it is called with the question in the same way.
        Where repairs are reviewed (`autonomy_level`) and it is not given, a run that asks for a
        review or for leave ends as `awaiting_review`, and `decide` goes on with it; so it does
        where `approve` gives neither a bool nor a `Review`, which raises `BadReview`.

        Raises `agent.intake.BadInput` for input that cannot be used and `RunFault` for a fault of
        ours; every other end is in the result.
        """
        if code_or_task is not None and task is not None:
            raise TypeError("the task was given twice: as the first argument and as task=")
        words = task if task is not None else code_or_task
        if code is None and words is None:
            raise TypeError("give code=, or a task in words")
        # Files are read and long programs parsed in a thread: the loop serves the caller too.
        settings = await asyncio.to_thread(self.settings, with_drafts=code is None)
        try:
            brought = await asyncio.to_thread(
                _brought, code, tests, words or "", deselect, doctests
            )
        except NotFixable as error:
            return HealResult(
                outcome="not_fixable", reason=str(error), code=code or "",
                task=Task(text=words or ""), max_iterations=settings.max_iterations,
            )
        log, unusable = await self.logged(settings, brought, ask, approve)
        found = self._result(log, brought, settings)
        if unusable:
            raise UnusableAnswer(unusable, found)
        return found

    run = blocking(arun)

    async def adecide(
        self, run_id: str, *, approve: bool = False, hint: str = "", code: str | None = None
    ) -> HealResult:
        """Goes on with a run that is `awaiting_review`, under this agent's `data_dir`: keeps its
        repair or gives leave, refuses, has another tried by a `hint`, or has `code` judged instead.

        Raises `UnknownRun` for an id that is not known and `BadReview` where the run waits for no
        review, or another caller was first.
        """
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
        approve: ApproveStep | None = None, max_steps: int = MOST_STEPS,
        replan_on_failure: bool = True,
    ) -> PlanResult:
        """Does a task of several steps over a private copy of a folder, by the workspace's tools.

        Rules plan what they know plainly; else the planner's model does. In the mode `parallel`
        steps that only read run side by side; in `interactive` each is put to `approve`, in a
        thread. Raises `ValueError` for an empty task or an unknown mode, and where no plan comes of
        a model an `llm.LlmError`, whose `spent` is what that has cost: `llm.NoModel` without one,
        `llm.BadReply` for an answer that is no plan, and of `llm.errors` `OverBudget` at a cap,
        `TimedOut` after a run's seconds, and `ProviderDown` or another `CallFailed` where the
        model cannot be asked.
        """
        from agent.doors.executing import aexecute

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
        """The programs that a run has judged, each with its text, its report and its diff; raises
        `agent.log.store.UnknownRun`."""
        with open_history(self.settings(), OWNER) as history:
            return iterations(history.log(run_id))

    def compare(self, left: str, right: str) -> Comparison:
        """Two runs side by side; raises `agent.log.store.UnknownRun`."""
        with open_history(self.settings(), OWNER) as history:
            return compared(history.log(left), history.log(right))

    async def afork(
        self, run_id: str, iteration: int, *, code: str | Mapping[str, str] | None = None,
        tests: str | Sequence[str] = (), deselect: Sequence[str] = (),
    ) -> HealResult:
        """Runs again from the program of an iteration, as a run of its own, with other code or
        tests where they are given: texts by path for a program of several files.

        The parent's models answer within its bounds, or those that this agent was made with. Raises
        `agent.log.store.UnknownRun`, `agent.log.iterations.UnknownIteration` and
        `agent.run.fork.BadFork` for what cannot be forked, else as `run` does.
        """
        from agent.run.fork import Edits

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
        """What this agent was made with; `None` where it was not."""
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

    async def healed(self, request: HealRequest, say: Say = unsaid) -> tuple[Prepared, Result]:
        """Heals the file or the project that a request means; raises `BadInput`, and `RunFault` for
        an internal error."""
        settings = await asyncio.to_thread(self.settings)
        prepared = NOTHING
        try:
            prepared = await prepare(request, settings, say)
            task = prepared.task
            log = (await self.logged(settings, task))[0] if task is not None else ()
        except NotFixable as error:
            return prepared, Result(outcome="not_fixable", reason=str(error))
        result = prepared.concluded(log)
        if result.error:
            raise RunFault(result.error)
        return prepared, result

    async def logged(
        self, settings: Settings, task: Task, ask: Ask | None = None,
        approve: Approve | None = None,
    ) -> tuple[tuple[Stamped, ...], str]:
        """The whole log of one run, and what was wrong with an answer of `ask`, if anything was.
        A cancelled caller cancels the run."""
        opened = await asyncio.to_thread(self.opener)
        async with opened(settings) as session:
            plan = self._plan(session)
            reviews = approve is not None and settings.autonomy_level == "full_auto"
            run = await session.start(
                task, title=_title(task), ask=ask is not None, plan=plan, budget_s=self.budget_s,
                autonomy_level="review_repairs" if reviews else None,
            )
            return await _to_its_end(session, run, ask, approve)

    def _plan(self, session: Session) -> Plan:
        """Who answers; raises `NoProvider`."""
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
        """What a run came to; raises `RunFault`."""
        result = fold(log)
        if result.error:
            raise RunFault(result.error)
        return HealResult(**vars(result), task=task, max_iterations=settings.max_iterations)

    def opener(self) -> OpenSession:
        if self._open_session is not None:
            return self._open_session
        # LangGraph is imported when a run starts, not when the library is.
        from agent.run.session import open_session

        return open_session


async def _to_its_end(
    session: Session, run: str, ask: Ask | None, approve: Approve | None = None
) -> tuple[tuple[Stamped, ...], str]:
    """The log of a run that has ended, and what was wrong with an answer of `ask`, if anything
    was; a cancelled caller cancels the run."""
    try:
        unusable = await _followed(session, run, ask, approve)
    except asyncio.CancelledError:
        await session.cancel(run)
        raise
    return session.log(run), unusable


async def _followed(
    session: Session, run: str, ask: Ask | None, approve: Approve | None
) -> str:
    """Waits for the run's end, and answers what it asks meanwhile; returns what was wrong with an
    answer, if anything was."""
    seen = 0
    unusable = ""
    while True:
        async for batch in session.follow(run, seen):
            seen = batch[-1].seq
        waiting = fold(session.log(run)).waiting
        if waiting is not None and waiting.needs in REVIEWED and approve is not None:
            said = await asyncio.to_thread(approve, waiting)
            await session.answer(run, waiting.interrupt, _review(run, said).model_dump())
            continue
        if ask is None or waiting is None or waiting.rivals is None:
            return unusable
        given: object = await asyncio.to_thread(ask, waiting.rivals)
        unusable = _unusable(waiting.rivals, given)
        # Whoever skips one question is not asked the next.
        answer = SKIP if given is None or unusable else given
        await session.answer(run, waiting.interrupt, {"answer": answer})


def _review(run: str, said: object) -> Review:
    """What `approve` gave as a review; raises `BadReview`, and the run waits on."""
    if isinstance(said, Review):
        return said
    if not isinstance(said, bool):
        raise BadReview(
            f"approve gave {said!r}, of type {type(said).__name__}; it gives True, False or a "
            f"Review. The run {run} still waits: decide({run!r}, ...) answers it."
        )
    return Review(approve=said)


def _unusable(rivals: Rivals, given: object) -> str:
    """Why what `ask` gave answers nothing; empty where it does."""
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


def _brought(
    code: str | None, tests: str | Sequence[str] | None, words: str, deselect: Sequence[str],
    doctests: bool,
) -> Task:
    """What was handed over as a task; several texts of tests know nothing of each other."""
    if tests is None or isinstance(tests, str):
        return from_page(code or "", tests or "", words, deselect, doctests).task
    return make_task(
        code, words=words, tests=_texts(tests), sites=site_folders().sites, deselect=deselect,
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
