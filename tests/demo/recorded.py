"""A session that plays recorded logs instead of running code; it judges nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.core.domain import JailStatus, Task
from agent.core.events import Answered, Event, LogEntry, RunFinished, Waiting, from_jsonl
from agent.core.settings import Settings
from agent.iteration.context import PROMPTS
from agent.iteration.models import LOCAL_USER, Models
from agent.log.bus import EventBus
from agent.log.store import Store
from agent.loop.fork import UNEDITED, Edits
from agent.loop.session import Session
from agent.target.errors import BadInput
from demo.serving.access import Access
from demo.serving.host import SessionHost
from llm import ModelPlan
from llm.asking.prompts import Prompts

Log = tuple[LogEntry, ...]
NO_JAIL = JailStatus(words="none; this is a recording")
OWN = Access()
RUNS = Path(__file__).with_name("runs")


def recorded(name: str) -> Log:
    """The log of a recorded run; `waiting` is the healed one with a review at its end."""
    if name != "waiting":
        return from_jsonl((RUNS / f"{name}.jsonl").read_text(encoding="utf-8"))
    log = [*recorded("healed")]
    end, place = log[-1].event, [one.event.kind for one in log].index("proved") + 2
    assert isinstance(end, RunFinished)
    wait = Waiting(interrupt="ask-1", question="May this patch be kept?", needs="review",
                   diff=end.diff)
    log.insert(place, log[place - 1].model_copy(update={"event": wait, "task": "gate"}))
    return tuple(one.model_copy(update={"seq": seq}) for seq, one in enumerate(log, 1))


def chosen(task: Task) -> Log:
    """The recorded run that a task's words name."""
    return recorded(task.text or "healed")


@dataclass
class RecordedRun:
    """A run being played."""

    task: Task
    plan: ModelPlan
    visitor: str
    played: list[LogEntry] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    player: asyncio.Task[None] | None = None


class Answering(Store):
    """A store that can always be read and written."""

    def __init__(self) -> None:
        """Opens nothing."""

    def check(self) -> None:
        """It answers."""


class RecordedSession(Session):
    """Plays, for each task, the log that `choose` gives, with a pause before each event."""

    def __init__(
        self, choose: Callable[[Task], Log] = chosen, pause_s: float = 0.0,
        jail: JailStatus = NO_JAIL, models: Models | None = None,
    ) -> None:
        self.settings = Settings()
        self.store = Answering()
        self.bus = EventBus(self.store)
        self.models = models or Models(self.settings)
        self.prompts = Prompts(PROMPTS)
        self.paused: list[str] = []
        self.saying: dict[int, str] = {}
        """What models say while a run goes on."""
        self.choose = choose
        self.recorded: dict[str, RecordedRun] = {}
        self.deleted: set[str] = set()
        self.recovered = False
        self.notices = ()
        self.left: tuple[str, ...] = ()
        """Runs that a killed server left behind."""
        self._jail = jail
        self._pause_s = pause_s

    def running(self) -> dict[str, str]:
        return {
            name: run.visitor for name, run in self.recorded.items()
            if run.player is not None and not run.player.done()
        }

    def unfinished(self, visitor: str) -> frozenset[str]:
        return frozenset(
            name for name, run in self.recorded.items()
            if run.visitor == visitor and not (run.played and run.played[-1].final)
        )

    def record_address(self, visitor: str, address: str) -> None:
        self.models.addresses.record(visitor, address)

    async def delete_expired(self) -> tuple[str, ...]:
        return ()

    def visitor(self, run: str) -> str:
        return self.recorded[run].visitor

    def has_all_keys(self, run: str) -> bool:
        return not self.models.missing_key(self.recorded[run].plan, self.visitor(run))

    async def jail(self, task: Task | None = None) -> JailStatus:
        return self._jail

    async def start(
        self, task: Task, *, run_id: str | None = None, plan: ModelPlan | None = None,
        visitor: str = LOCAL_USER, **_: Any,
    ) -> str:
        run = run_id or f"recorded-{len(self.recorded)}"
        if run in self.deleted:
            raise BadInput("That run was deleted.")
        if run in self.recorded:
            raise ValueError(f"a run with the id {run!r} exists already")
        self.recorded[run] = RecordedRun(task, plan or self.plan(visitor), visitor)
        self.play(run, self.choose(task))
        return run

    async def follow(self, run: str, after: int = 0) -> AsyncIterator[Log]:
        run_of = self.recorded[run]
        while True:
            run_of.changed.clear()
            batch = tuple(entry for entry in run_of.played if entry.seq > after)
            if not batch:
                await run_of.changed.wait()
                continue
            after = batch[-1].seq
            yield batch
            if batch[-1].final or isinstance(batch[-1].event, Waiting):
                return

    async def pause(self, run: str) -> None:
        self.paused.append(run)

    async def cancel(self, run: str) -> None:
        run_of = self.recorded[run]
        if run_of.played and run_of.played[-1].final:
            return
        if run_of.player is not None:
            run_of.player.cancel()
        self._add(run, RunFinished(
            outcome="cancelled", proof=None, strategy=None, reason="stopped by the user", diff="",
            iterations=0, candidates=0, tokens=0, cost_usd=0.0, seconds=0.0,
        ))

    async def delete(self, run: str) -> None:
        del self.recorded[run]
        self.deleted.add(run)

    async def answer(self, run: str, interrupt: str, value: Mapping[str, object]) -> bool:
        played = self.recorded[run].played
        last = played[-1].event
        if not isinstance(last, Waiting) or last.interrupt != interrupt:
            return False
        rest = self.choose(Task())[len(played):]
        self._add(run, Answered(interrupt=interrupt, answer=str(dict(value))))
        self.play(run, rest)
        return True

    async def rerun_with_answer(
        self, run: str, answer: str, *, run_id: str | None = None, visitor: str | None = None
    ) -> str:
        return await self.start(
            Task(text=f"answered {answer}"), run_id=run_id, visitor=visitor or self.visitor(run)
        )

    async def fork(self, run: str, iteration: int, edits: Edits = UNEDITED, **given: Any) -> str:
        return await self.start(self.task(run), run_id=given["run_id"], visitor=given["visitor"])

    async def recover(self, run: str | None = None) -> tuple[str, ...]:
        self.recovered = True
        return self.left

    async def recover_later(self) -> tuple[str, ...]:
        return ()

    def partial_answers(self, run: str) -> Mapping[int, str]:
        return self.saying

    def task(self, run: str) -> Task:
        return self.recorded[run].task

    def log(self, run: str) -> Log:
        return tuple(self.recorded[run].played)

    def play(self, run: str, events: Log) -> None:
        """Goes on with a run, until it ends or waits."""

        async def playing() -> None:
            for place, entry in enumerate(events):
                await asyncio.sleep(self._pause_s if place else 0)  # a run begins at once
                self._add(run, entry.event, entry)
                if isinstance(entry.event, Waiting):
                    return

        self.recorded[run].player = asyncio.create_task(playing())

    def _add(self, run: str, event: Event, like: LogEntry | None = None) -> None:
        run_of = self.recorded[run]
        seq = len(run_of.played) + 1
        run_of.played.append(
            like.model_copy(update={"run": run, "seq": seq}) if like else LogEntry(
                run=run, seq=seq, task="session", attempt=1, ordinal=seq, event=event,
                at=run_of.played[-1].at if run_of.played else 0.0,
            )
        )
        run_of.changed.set()


def hosting(session: RecordedSession, access: Access = OWN) -> SessionHost:
    """A host that opens this session."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[RecordedSession]:
        yield session

    return SessionHost(opened, access)
