"""What a step may touch, handed to it as one frozen value."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.core.domain import (
    REST,
    ProofLevel,
    Report,
    Script,
    Solution,
    Strategy,
    Task,
    TestCase,
)
from agent.core.events import CodeWritten, Event, Judged, PatchProposed, Stamped
from agent.core.settings import GENERATOR, Settings
from agent.core.state import Iterations, State
from agent.iteration.search.file_runner import SearchCache
from agent.log.bus import Writer
from agent.log.store import Store
from agent.memory import Memory
from agent.target.failures.excluded import with_lost_tests
from agent.verify.judge import check
from agent.verify.tamper_indicators import introduced
from llm import ModelPlan, Provider
from llm.asking.prompts import Prompts
from llm.router import Router
from sandbox import Sandbox

TESTS_IN_A_BUDGET = 10
PROMPTS = Path(__file__).parents[2] / "prompts"


@dataclass(frozen=True)
class Context:
    """What the steps of one run use; `emit` writes into the log of the step it was handed to."""

    task: Task
    router: Router
    """Asks the models of the plan."""
    rules: Provider
    """Answers in place of models where none is asked."""
    sandbox: Sandbox
    memory: Memory
    store: Store
    settings: Settings
    writer: Callable[[str], Writer]
    """A writer for one attempt of a step."""
    emit: Callable[[Event], Stamped]
    log: Callable[[], tuple[Stamped, ...]]
    """The run's events so far."""
    deadline: float
    """When the run's time is over, on the monotonic clock."""
    answered: frozenset[str] = frozenset()
    """Names of tests that are a person's answers to a question of an earlier run."""
    start: State = field(default_factory=lambda: State(iteration=0))
    """The state before its first step."""
    pauses: bool = False
    """The run waits for a person where a cap is reached, instead of ending."""
    learn: bool = True
    """What helped is remembered."""
    least_proof: ProofLevel = "E1"
    """What is required of the run: a replay shows no more than E1."""
    begun: Awaitable[Report] | None = None
    """The verdict on the program as it came, where that was begun before the first step."""
    prompts: Prompts = field(default_factory=lambda: Prompts(PROMPTS))
    screenings: SearchCache = field(default_factory=SearchCache)
    """What the searches of this run have seen."""
    verified: dict[str, Report] = field(default_factory=dict)
    """Solutions that a search has had judged, and their reports: a project's suite takes long."""
    confirmed: set[tuple[str, str]] = field(default_factory=set)
    """Solutions and names of tests that they pass under other chance too."""

    @property
    def plan(self) -> ModelPlan:
        """Who answers each role, as far as is known now."""
        return self.router.plan

    @property
    def seconds_left(self) -> float:
        return max(0.0, self.deadline - time.monotonic())

    @property
    def asks(self) -> bool:
        """Whether a person is there who tells which of several behaviours is right."""
        return self.settings.ask or bool(self.answered)

    @property
    def asks_leave(self) -> bool:
        """Whether a person says if a model may be asked to write."""
        return self.settings.autonomy_level == "review_all" and bool(self.plan.of(GENERATOR))

    @property
    def test_s(self) -> float:
        """A test's deadline in this run: a few that hang must not use up its budget."""
        return min(self.settings.test_wall_s, self.settings.budget_s / TESTS_IN_A_BUDGET)

    def rounds(self, state: State) -> Iterations:
        """The judged rounds so far."""
        return (
            self.store.get(state["rounds_id"], Iterations) if "rounds_id" in state else Iterations()
        )

    def free(self, state: State) -> bool:
        """Whether nothing may be spent yet: code was submitted, and the search without a model has
        not failed on it."""
        return self.task.solution is not None and not state.get("paid", False)

    async def answerer(self, role: str, *, free: bool = False) -> Provider:
        """Who answers a role: the model that the plan names, or the rule where it names none or
        nothing may be spent yet."""
        return self.rules if free else await self.router.at(role) or self.rules

    async def judge_submitted(self, program: Solution) -> Report:
        """The verdict on the program as it came, under the user's own tests."""
        return await self.judge(program, self.task.tests)

    async def judge(
        self, solution: Solution, tests: Sequence[TestCase], known: Report | None = None
    ) -> Report:
        """The final word on a program under these tests, decided outside of it.

        Tests that `known`, an earlier report of the same program, has verdicts of are not run
        again: a hanging one would be waited for twice.
        """
        if known is None or known.solution != solution.id:
            report = await check(
                solution, tests, self.task, self.sandbox, wall_s=self.test_s,
                confirmed=self.confirmed,
            )
            first = self.first_report
            report = doubted(self.task.solution, solution, tests, report)
            return report if first is None else with_lost_tests(report, first, tests)
        origins = {test.name: test.origin for test in tests}
        verdicts = tuple(
            verdict.model_copy(update={"origin": origins[verdict.test]})
            for verdict in known.verdicts
            if verdict.test in origins
        )
        apart = tuple(v for v in known.verdicts if v.excluded and v.test not in origins)
        verdicts = (*verdicts, *apart)
        names = {verdict.test for verdict in verdicts}
        fresh = [
            test for test in tests
            if test.name not in names and not (isinstance(test, Script) and test.node == REST)
        ]
        if not fresh:
            return known.model_copy(update={"verdicts": verdicts})
        report = await check(
            solution, fresh, self.task, self.sandbox,
            run_program=any(test.kind == "script" and test.uses_output for test in fresh),
            wall_s=self.test_s, confirmed=self.confirmed,
        )
        return doubted(self.task.solution, solution, tests, report).model_copy(
            update={
                "verdicts": (*verdicts, *report.verdicts),
                "ending": known.ending or report.ending,
            }
        )

    @property
    def first_report(self) -> Report | None:
        """What was seen of the program as it came, once that was judged."""
        return next(
            (entry.event.report for entry in self.log() if isinstance(entry.event, Judged)), None
        )


def doubted(
    base: Solution | None, solution: Solution, tests: Sequence[TestCase], report: Report
) -> Report:
    """The report on a repair of `base`: none is believed that brings what only a forger needs."""
    if base is None or solution.origin == "user":
        return report
    codes = [test.code for test in tests]
    indicators = (introduced(one.before, one.after, codes) for one in solution.changed_from(base))
    sign = next(filter(None, indicators), "")
    if not sign:
        return report
    return report.model_copy(update={"verdicts": tuple(
        verdict.model_copy(update={"doubt": sign, "integrity": None})
        if verdict.passed else verdict for verdict in report.verdicts
    )})


def propose(
    emit: Callable[[Event], object], iteration: int, strategy: Strategy, solution: Solution,
    base: Solution,
) -> None:
    """Logs a changed program as an iteration's patch of `base`."""
    emit(CodeWritten(iteration=iteration, solution=solution))
    emit(PatchProposed(
        iteration=iteration, strategy=strategy, note=solution.note, diff=solution.diff(base)
    ))
