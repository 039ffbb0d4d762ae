"""What a session can tell without changing a run."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import UTC, datetime

from agent.core.domain import Jail, Report, Solution, Task
from agent.core.events import Event, Stamped
from agent.healing.context import Context
from agent.healing.models import OWNER
from agent.judge import check
from agent.judge.jail_level import jail_seen
from agent.log.history import History
from agent.log.spending import CostEstimate, estimate_costs
from agent.memory import Memory
from agent.run.resources import Resources
from agent.run.run import Options, Run
from llm import Plan


class RunReader:
    """Reads what was run and what goes on; use from the event loop that opened its resources."""

    def __init__(self, shared: Resources) -> None:
        self.settings = shared.settings
        self.models = shared.models
        self.sandbox = shared.sandbox
        self.prompts = shared.prompts
        self._shared = shared
        self._store = shared.store
        self._driven: dict[str, Run] = {}

    async def follow(self, run: str, after: int = 0) -> AsyncIterator[tuple[Stamped, ...]]:
        """Batches of events behind place `after`, until the run ends or waits. Raises:
        UnknownRun."""
        followed = self._run(run)
        async for batch in self._shared.bus.follow(run, after):
            yield batch
            if batch[-1].event.kind == "waiting" and followed.question is not None:
                return

    def log(self, run: str) -> tuple[Stamped, ...]:
        """All events of a run so far; raises `UnknownRun`."""
        return self._run(run).log

    def so_far(self, run: str) -> Mapping[int, str]:
        """What the models of a run in this process have answered so far, by call."""
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

    def visitor(self, run: str) -> str:
        """Whose keys a run uses; raises `UnknownRun`."""
        return self._run(run).options.visitor

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

    def came(self, visitor: str, address: str) -> None:
        """Notes from where a visitor comes."""
        self.models.crowds.came(visitor, address)
        self._shared.memories.came(visitor, address)

    def plan(
        self, visitor: str = OWNER, *, provider: str | None = None, model: str | None = None,
        roles: Mapping[str, str] | None = None,
    ) -> Plan:
        """Who would answer a visitor, with other choices than the settings' where given. Raises:
        NoProvider, NeedsKey."""
        return self.models.plan(visitor, provider, roles, model)

    def foreseen(self, plan: Plan, typed: str) -> tuple[CostEstimate, ...]:
        """What one call of each role may come to, for a program and tests that were typed."""
        today = datetime.now(UTC).date()
        return estimate_costs(plan, self.models.prices, self.prompts, typed, today)

    async def judge(self, task: Task, program: Solution, visitor: str = OWNER) -> Report:
        """The verdict on a program under a task's tests, with no run and no repair."""
        sandbox = self._shared.sandbox_of(visitor, uuid.uuid4().hex)
        return await check(
            program, task.tests, task, sandbox, wall_s=self.settings.test_wall_s
        )

    async def jail(self, task: Task | None = None) -> Jail:
        """What holds code back here, where the task's judge will run. Raises: SandboxError."""
        return await jail_seen(self.sandbox, task)

    def asking(
        self, task: Task, emit: Callable[[Event], Stamped], budget_s: float | None = None
    ) -> Context:
        """The context for asking a role outside of a run; the caller closes its router."""
        options = Options.of(self.settings, self.plan(), ask=False, budget_s=budget_s)
        run = Run(uuid.uuid4().hex, "", options, task, self._shared)
        run.emit = emit
        return run.context()

    def _run(self, run: str) -> Run:
        return self._driven.get(run) or Run.stored(self._store.run(run), self._shared)
