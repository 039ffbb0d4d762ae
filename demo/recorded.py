"""A session that plays recorded logs instead of running code; it judges nothing.

It stands in for `agent.run.session.Session` where the page is tested or drawn.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date

from agent.core.domain import File, Jail, Solution, Task
from agent.core.events import Answered, Event, RunFinished, Stamped, Waiting
from agent.core.settings import Settings
from agent.healing.context import PROMPTS
from agent.healing.models import OWNER, Models
from agent.log.spending import CostEstimate, estimate_costs
from demo.host import Engine
from llm import Plan

Log = tuple[Stamped, ...]


NO_JAIL = Jail(words="none; this is a recording")
"""Nothing is run, so nothing is held back."""


@dataclass(frozen=True)
class RecordedIntake:
    """A task that is only looked at to choose a recording."""

    task: Task
    notices: tuple[str, ...] = ()


@dataclass
class RecordedRun:
    """A run being played."""

    played: list[Stamped] = field(default_factory=list)
    visitor: str = OWNER
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    player: asyncio.Task[None] | None = None


class RecordedSession:
    """Plays, for each task, the log that `choose` gives, with a pause before each event."""

    def __init__(
        self, choose: Callable[[Task], Log], pause_s: float = 0.0, jail: Jail = NO_JAIL,
        models: Models | None = None,
    ) -> None:
        self.models = models or Models(Settings())
        self.plans: dict[str, Plan] = {}
        """The plan that each run was started with."""
        self._jail = jail
        self._choose = choose
        self._pause_s = pause_s
        self._runs: dict[str, RecordedRun] = {}

    def plan(
        self, visitor: str = OWNER, *, provider: str | None = None, model: str | None = None,
        roles: Mapping[str, str] | None = None,
    ) -> Plan:
        return self.models.plan(visitor, provider, roles, model)

    def foreseen(self, plan: Plan, typed: str) -> tuple[CostEstimate, ...]:
        return estimate_costs(plan, self.models.prices, PROMPTS, typed, date(2026, 1, 1))

    def visitor(self, run: str, /) -> str:
        return self._runs[run].visitor

    def can_go_on(self, run: str, /) -> bool:
        return not self.models.missing_key(self.plans[run], self.visitor(run))

    async def jail(self) -> Jail:
        return self._jail

    async def start(
        self, task: Task, *, run_id: str | None = None, max_iterations: int | None = None,
        plan: Plan | None = None, visitor: str = OWNER, pauses: bool = False,
    ) -> str:
        run = run_id or f"recorded-{len(self._runs)}"
        events = self._choose(task)
        self.plans[run] = plan or self.plan(visitor)
        self._runs[run] = RecordedRun(visitor=visitor)
        self._play(run, events)
        return run

    async def follow(self, run: str, /, after: int = 0) -> AsyncIterator[Log]:
        recorded = self._runs[run]
        while True:
            recorded.changed.clear()
            batch = tuple(entry for entry in recorded.played if entry.seq > after)
            if not batch:
                await recorded.changed.wait()
                continue
            after = batch[-1].seq
            yield batch
            if batch[-1].final or isinstance(batch[-1].event, Waiting):
                return

    async def cancel(self, run: str, /) -> None:
        recorded = self._runs[run]
        if recorded.played and recorded.played[-1].final:
            return
        if recorded.player is not None:
            recorded.player.cancel()
        self._add(run, RunFinished(
            outcome="cancelled", proof=None, strategy=None, reason="stopped by the user", diff="",
            iterations=0, candidates=0, tokens=0, cost_usd=0.0, seconds=0.0,
        ))

    async def answer(self, run: str, interrupt: str, value: Mapping[str, object], /) -> bool:
        recorded = self._runs[run]
        last = recorded.played[-1].event
        if not isinstance(last, Waiting) or last.interrupt != interrupt:
            return False
        rest = self._choose(Task())[len(recorded.played):]
        self._add(run, Answered(interrupt=interrupt, answer=str(dict(value))))
        self._play(run, rest)
        return True

    async def settle(
        self, run: str, answer: str, /, *, run_id: str | None = None, visitor: str | None = None
    ) -> str:
        whose = self.visitor(run) if visitor is None else visitor
        return await self.start(Task(text=f"answered {answer}"), run_id=run_id, visitor=whose)

    async def recover(self) -> tuple[str, ...]:
        return ()

    def log(self, run: str, /) -> Log:
        return tuple(self._runs[run].played)

    def _play(self, run: str, events: Log) -> None:
        async def play() -> None:
            for place, stamped in enumerate(events):
                await asyncio.sleep(self._pause_s if place else 0)  # a run begins at once
                self._add(run, stamped.event, stamped)
                if isinstance(stamped.event, Waiting):
                    return

        self._runs[run].player = asyncio.create_task(play())

    def _add(self, run: str, event: Event, like: Stamped | None = None) -> None:
        recorded = self._runs[run]
        seq = len(recorded.played) + 1
        at = recorded.played[-1].at if recorded.played else 0.0
        stamped = like.model_copy(update={"run": run, "seq": seq}) if like else Stamped(
            run=run, seq=seq, task="session", attempt=1, ordinal=seq, at=at,
            event=event,
        )
        recorded.played.append(stamped)
        recorded.changed.set()


def recorded_engine(session: RecordedSession) -> Engine:
    """An engine around a recorded session; any input but an empty one becomes a task."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[RecordedSession]:
        yield session

    def from_page(code: str, tests: str, words: str) -> RecordedIntake:
        if not code.strip() and not words.strip():
            raise ValueError("There is no code and no task yet: paste one, or choose an example.")
        solution = Solution(files=(File(path="program.py", text=code),), entry="program.py")
        return RecordedIntake(Task(text=words, solution=solution if code else None))

    return Engine(open=opened, from_page=from_page, refusals=(ValueError,), faults=())
