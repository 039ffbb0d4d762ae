"""One run of the loop with a simulated programmer, with a part switched off or with all; and what
the same programmer comes to by generating and retrying alone."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from agent.core.domain import Approach
from agent.core.rounds import Round
from agent.core.settings import Settings
from agent.healing import ladder, rounds
from agent.intake import from_page
from agent.log.result import fold
from agent.run.session import open_session
from agent.thinking import rewriting
from evaluation.healing import HEALED
from evaluation.simulated.programmer import Programmer, Rates
from evaluation.simulated.tasks import BenchTask

Kind = Literal["words", "tests", "brought"]
"""A task in words alone; with tests of the user too; and with a program that fails them."""
MOST_RETRIED = 60
"""Calls of the generator after which generating and retrying gives up."""
SEARCH_S, PROOF_S, CANDIDATES, MOST_TOKENS = 60.0, 0.5, 500, 10**8
"""A search is bounded by candidates alone, so that figures do not hang on the machine."""


@dataclass(frozen=True)
class Cell:
    """A row of the table: who answers, what is brought, and which part is off."""

    rates: Rates
    kind: Kind
    off: str = ""

    @property
    def name(self) -> str:
        return f"{self.rates.name}, {self.kind}" + (f", no {self.off}" if self.off else "")


@dataclass(frozen=True)
class LoopRun:
    """What came of one run; `right` is the truth of the program that it leaves."""

    healed: bool
    proof: str
    right: bool
    began_right: bool
    calls: int
    tokens: int
    retry_tests: int
    """Calls that generating and retrying makes before its first program."""
    retried: int = 0
    """Programs until it accepts one; 0 where it never does."""
    retried_right: bool = False


@dataclass(frozen=True)
class Switch:
    """How a part is switched off: by settings, or by what stands in its place."""

    settings: dict[str, Any] = field(default_factory=dict)
    patches: tuple[tuple[Any, str, object], ...] = ()


async def _nothing_near(*_: object) -> tuple[None, int]:
    return None, 0


def _minimal(known: Sequence[Round], now: ladder.Situation) -> Approach | ladder.NoMore:
    """The same small edit again and again."""
    return "minimal" if len(known) < now.most else ladder.NoMore("iterations")


PARTS: dict[str, Switch] = {
    "arbitration": Switch({"enable_arbitration": False}),
    "critic": Switch({"enable_critic": False}),
    "spec tests": Switch({"enable_spec_tests": False}),
    "search around": Switch(patches=((rewriting, "around", _nothing_near),)),
    "tournament": Switch({"parallel_strategies": 1}),
    "ladder": Switch(patches=((rounds, "next_approach", _minimal),)),
}


@contextmanager
def without(part: str) -> Iterator[dict[str, Any]]:
    """The settings of a run without a part, which is gone until the end of the block."""
    off = PARTS.get(part, Switch())
    before = [(module, name, getattr(module, name)) for module, name, _ in off.patches]
    try:
        for module, name, value in off.patches:
            setattr(module, name, value)
        yield off.settings
    finally:
        for module, name, value in before:
            setattr(module, name, value)


async def ran(cell: Cell, task: BenchTask, seed: str) -> LoopRun:
    """One run of a cell, its truth, and the same programmer's tries without a loop."""
    one = Programmer(task, cell.rates, seed)
    brought = random.Random(f"{seed} brought").choice((*task.near, *task.wrong))
    code = brought if cell.kind == "brought" else ""
    tests = "" if cell.kind == "words" else "\n".join(task.user)
    with without(cell.off) as changed, tempfile.TemporaryDirectory() as folder:
        settings = Settings.from_env({}, **{
            "provider": "ollama", "data_dir": Path(folder), "search_s": SEARCH_S,
            "max_candidates": CANDIDATES, "proof_s": PROOF_S, "budget_tokens": MOST_TOKENS,
            "autonomy_level": "full_auto", **changed,
        })
        async with open_session(settings, provider=lambda connection: one) as session:
            run = await session.start(from_page(code, tests, task.words).task)
            async for _ in session.follow(run):
                pass
            log = session.log(run)
    result = fold(log)
    if result.error:
        raise RuntimeError(f"{cell.name}, {task.id}, seed {seed}: {result.error}")
    first = next((entry.event.solution.text for entry in log
                  if entry.event.kind == "code_written"), code)
    retried, is_right = _retried(cell, task, seed)
    return LoopRun(
        result.outcome in HEALED, result.proof or "", await task.holds(result.code),
        await task.holds(first), result.calls, result.tokens,
        int(cell.kind == "words"), retried, is_right,
    )


def _retried(cell: Cell, task: BenchTask, seed: str) -> tuple[int, bool]:
    """Programs that are generated until one passes the tests at hand, and whether that is right."""
    one = Programmer(task, cell.rates, f"{seed} retried")
    tests = one.tests() if cell.kind == "words" else [
        (call, task.gives(call)) for call in task.asked
    ]
    for number in range(1, MOST_RETRIED + 1):
        shares = cell.rates.draft if number == 1 and cell.kind != "brought" else cell.rates.repair
        text = one.program(shares, random.Random(f"{seed} retried {number}"))
        if task.passes(text, tests):
            return number, text == task.right or task.is_right.get(text, False)
    return 0, False
