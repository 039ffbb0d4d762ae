"""A session that replays prepared events, so that the face is tested without the engine."""

from __future__ import annotations

import asyncio
import re
import signal
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from agent.core.domain import File, JailStatus, Report, Solution, Task, Verdict
from agent.core.events import CodeWritten, Event, Judged, LogEntry, RunFinished, RunStarted
from agent.core.settings import Settings
from agent.iteration.models import Models
from agent.log.spending import CostEstimate
from llm import ModelPlan

BROKEN = "def add(a, b):\n    return a - b\n"
REPAIRED = "def add(a, b):\n    return a + b\n"


@dataclass
class ReplayedSession:
    """Emits `events` for every run; with `interrupted` Ctrl-C is pressed while it goes on, and one
    that `hangs` never ends."""

    events: Sequence[Event] = ()
    interrupted: bool = False
    hangs: bool = False
    orphans: tuple[str, ...] = ()
    fault: Exception | None = None
    started: list[tuple[Task, str]] = field(default_factory=list)
    how: list[dict[str, object]] = field(default_factory=list)
    """What each run was started, forked or taken up with."""
    cancelled: list[str] = field(default_factory=list)
    settings: Settings | None = None

    @property
    def models(self) -> Models:
        assert self.settings is not None
        return Models(self.settings)

    def plan(self, *, model: str | None = None) -> ModelPlan:
        return ModelPlan("mock", "no model: memory and search only")

    def estimate_costs(self, plan: ModelPlan, input_text: str) -> tuple[CostEstimate, ...]:
        return ()

    async def jail(self) -> JailStatus:
        return JailStatus(words="replayed sandbox", level="L4")

    @asynccontextmanager
    async def open(self, settings: Settings) -> AsyncIterator[ReplayedSession]:
        self.settings = settings
        yield self

    async def start(self, task: Task, *, title: str = "", **how: object) -> str:
        if self.fault is not None:
            raise self.fault
        self.started.append((task, title))
        self.how.append(how)
        return "r1"

    async def fork(self, run: str, *_: object, **how: object) -> str:
        self.how.append(how)
        return "r1"

    async def recover(self, run: str | None = None, **how: object) -> tuple[str, ...]:
        self.how.append(how)
        return tuple(name for name in self.orphans if run in (None, name))

    async def follow(self, run: str, after: int = 0) -> AsyncIterator[tuple[LogEntry, ...]]:
        for entry in self.log(run)[after:]:
            yield (entry,)
        if self.interrupted and not self.cancelled:
            asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
            await asyncio.Event().wait()
        if self.hangs:
            await asyncio.Event().wait()

    async def cancel(self, run: str) -> None:
        self.cancelled.append(run)

    def log(self, run: str) -> tuple[LogEntry, ...]:
        if run != "r1" and run not in self.orphans:
            raise KeyError(run)
        events = list(self.events)
        if self.cancelled:
            events.append(finished("cancelled", proof=None, diff="", code=BROKEN))
        return tuple(
            LogEntry(run=run, seq=seq, task="session", attempt=0, ordinal=seq, at=seq, event=event)
            for seq, event in enumerate(events, start=1)
        )


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C ends a command even where the tests are started with it ignored, as by `nohup`."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, handler)


def a_line_has(text: str, *facts: object) -> bool:
    """Whether one line holds all these facts, each as a word of its own."""
    return any(
        all(re.search(rf"(?<!\w){re.escape(str(fact))}(?!\w)", line) for fact in facts)
        for line in text.splitlines()
    )


def started() -> RunStarted:
    return RunStarted(
        title="sum.py", code=BROKEN, entry="sum.py", provider="mock",
        provider_why="nothing else is configured", sandbox="replayed",
    )


def judged(text: str, status: str, *, iteration: int = 0) -> Judged:
    solution = Solution(files=(File(path="sum.py", text=text),), entry="sum.py")
    verdict = Verdict(
        name="add(2, 3) == 5", test="add(2, 3) == 5", origin="user", status=status,
        integrity="isolated", call="add(2, 3)", expected="5",
        got="-1" if status == "failed" else "",
    )
    return Judged(iteration=iteration, report=Report(solution=solution.id, verdicts=(verdict,)))


def finished(outcome: str, **changes: object) -> RunFinished:
    fields = {
        "proof": "E1", "strategy": "search", "reason": "the operator changed", "code": REPAIRED,
        "diff": "--- a/sum.py\n+++ b/sum.py\n@@ -1,2 +1,2 @@\n def add(a, b):\n"
        "-    return a - b\n+    return a + b\n",
        "iterations": 1, "candidates": 12, "tokens": 0, "cost_usd": 0.0, "seconds": 1.5,
    }
    return RunFinished(outcome=outcome, **{**fields, **changes})


@pytest.fixture
def healing() -> ReplayedSession:
    """A run that heals."""
    repaired = Solution(files=(File(path="sum.py", text=REPAIRED),), entry="sum.py")
    return ReplayedSession([
        started(), judged(BROKEN, "failed"), CodeWritten(iteration=1, solution=repaired),
        judged(REPAIRED, "passed", iteration=1), finished("healed"),
    ])


@pytest.fixture
def ending() -> Callable[..., ReplayedSession]:
    """Makes a session whose runs end with the given outcome."""

    def make(outcome: str, *between: Event, **changes: object) -> ReplayedSession:
        return ReplayedSession([started(), *between, finished(outcome, **changes)])

    return make
