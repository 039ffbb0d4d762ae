"""The context of a run: everything that its steps use, as one frozen value."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.core.domain import (
    OTHER_TESTS,
    ProofLevel,
    Report,
    Script,
    Solution,
    Strategy,
    Task,
    TestCase,
)
from agent.core.events import CodeWritten, Event, Judged, LogEntry, PatchProposed
from agent.core.settings import GENERATOR, Settings
from agent.core.state import Iterations, State
from agent.iteration.search.file_runner import SearchCache
from agent.log.bus import Writer
from agent.log.store import Store
from agent.memory import Memory
from agent.target.failures.excluded import with_lost_tests
from agent.verify.judge import check
from agent.verify.tamper_indicators import introduced_indicator
from llm import ModelPlan, Provider
from llm.asking.prompts import Prompts
from llm.router import Router
from sandbox import Sandbox

HANGING_TESTS_PER_BUDGET = 10
REPORTING_S = 1.0
"""Seconds of a run that are left to show its result."""
PROMPTS = Path(__file__).parents[2] / "prompts"


@dataclass(frozen=True)
class Context:
    """Everything that the steps of a run use; `emit` writes to the log of the current step."""

    task: Task
    router: Router
    """Calls the models of the plan."""
    rules: Provider
    """Answers without a model."""
    sandbox: Sandbox
    memory: Memory
    store: Store
    settings: Settings
    writer: Callable[[str], Writer]
    """Creates a writer for one attempt of a step."""
    emit: Callable[[Event], LogEntry]
    log: Callable[[], tuple[LogEntry, ...]]
    """The run's events so far."""
    deadline: float
    """The end of the run on the monotonic clock."""
    answered_tests: frozenset[str] = frozenset()
    """Names of the tests that were created from a person's answers in an earlier run."""
    start: State = field(default_factory=lambda: State(iteration=0))
    """The state before the first step."""
    pauses: bool = False
    """At a limit, the run waits for a person instead of ending."""
    learn: bool = True
    """Successful repairs are saved in the fix memory."""
    required_proof: ProofLevel = "E1"
    """The required proof level; replaying a remembered fix shows at most E1."""
    submitted_report: Awaitable[Report] | None = None
    """The report on the submitted program, if judging it began before the first step."""
    prompts: Prompts = field(default_factory=lambda: Prompts(PROMPTS))
    search_cache: SearchCache = field(default_factory=SearchCache)
    verified: dict[str, Report] = field(default_factory=dict)
    """Reports on solutions that a search judged, because a project's suite takes long."""
    confirmed: set[tuple[str, str]] = field(default_factory=set)
    """Solutions and names of tests that they pass with other seeds too."""

    @property
    def plan(self) -> ModelPlan:
        return self.router.plan

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    @property
    def may_ask_user(self) -> bool:
        """Whether a person can be asked which of several behaviours is right."""
        return self.settings.ask or bool(self.answered_tests)

    @property
    def requires_permission(self) -> bool:
        """Whether a person must permit the use of a model as generator."""
        return self.settings.autonomy_level == "review_all" and bool(self.plan.of(GENERATOR))

    @property
    def test_s(self) -> float:
        """The time limit of a test, such that a few hanging tests do not use up the budget."""
        return min(self.settings.test_wall_s, self.settings.budget_s / HANGING_TESTS_PER_BUDGET)

    def iterations(self, state: State) -> Iterations:
        """The judged iterations so far."""
        key = state.get("iterations_id")
        return self.store.get(key, Iterations) if key else Iterations()

    def forbids_models(self, state: State) -> bool:
        """Whether no model may be used yet: code was submitted, and the search has not failed."""
        return self.task.solution is not None and not state.get("models_allowed", False)

    async def answerer(self, role: str, *, rules_only: bool = False) -> Provider:
        """The provider of a role: its model in the plan, or the rules if there is none or
        `rules_only` is set."""
        return self.rules if rules_only else await self.router.at(role) or self.rules

    async def judge_submitted(self, program: Solution, judged: Report | None = None) -> Report:
        """Judges the submitted program with the user's tests; `judged` is its report if they have
        run already."""
        return await self.judge(program, self.task.tests, judged)

    async def judge(
        self, solution: Solution, tests: Sequence[TestCase], known: Report | None = None,
        verify_passes: bool = True,
    ) -> Report:
        """Judges a program with these tests, outside of its process.

        Args:
            known: An earlier report; if it is of the same program, its tests are not run again.
            verify_passes: Whether passes are verified beyond the plain run.
        """
        if known is None or known.solution != solution.id:
            report = await check(
                solution, tests, self.task, self.sandbox, wall_s=self.test_s,
                confirmed=self.confirmed, verify_passes=verify_passes,
                until=self.deadline - REPORTING_S,
            )
            first = self.first_report
            report = mark_tampering(self.task.solution, solution, tests, report)
            return report if first is None else with_lost_tests(report, first, tests)
        origins = {test.name: test.origin for test in tests}
        verdicts = tuple(
            verdict.model_copy(update={"origin": origins[verdict.test]})
            for verdict in known.verdicts
            if verdict.test in origins
        )
        verdicts += tuple(v for v in known.verdicts if v.excluded and v.test not in origins)
        names = {verdict.test for verdict in verdicts}
        fresh = [
            test for test in tests
            if test.name not in names and not (
                isinstance(test, Script) and test.node == OTHER_TESTS
            )
        ]
        if not fresh:
            return known.model_copy(update={"verdicts": verdicts})
        report = await check(
            solution, fresh, self.task, self.sandbox,
            run_program=any(test.kind == "script" and test.uses_output for test in fresh),
            wall_s=self.test_s, confirmed=self.confirmed,
        )
        return mark_tampering(self.task.solution, solution, tests, report).model_copy(
            update={
                "verdicts": (*verdicts, *report.verdicts),
                "ending": known.ending or report.ending,
            }
        )

    @property
    def first_report(self) -> Report | None:
        """The report on the submitted program, once it is judged."""
        return next(
            (entry.event.report for entry in self.log() if isinstance(entry.event, Judged)), None
        )


def mark_tampering(
    base: Solution | None, solution: Solution, tests: Sequence[TestCase], report: Report
) -> Report:
    """The report on a repair of `base`; passes are doubted if it adds a tamper indicator."""
    if base is None or solution.origin == "user":
        return report
    codes = [test.code for test in tests]
    indicators = (
        introduced_indicator(one.before, one.after, codes) for one in solution.changed_from(base)
    )
    indicator = next(filter(None, indicators), "")
    if not indicator:
        return report
    return report.model_copy(update={"verdicts": tuple(
        verdict.model_copy(update={"disbelieved": indicator, "integrity": None})
        if verdict.passed else verdict for verdict in report.verdicts
    )})


def log_patch(
    emit: Callable[[Event], object], iteration: int, strategy: Strategy, solution: Solution,
    base: Solution,
) -> None:
    """Logs a changed program as the patch of an iteration."""
    emit(CodeWritten(iteration=iteration, solution=solution))
    emit(PatchProposed(
        iteration=iteration, strategy=strategy, note=solution.note, diff=solution.diff(base)
    ))
