"""Models without a model: what the router adds to a call, and what importing costs."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from evaluation.measures.programs import ROOT, figure, timed
from llm import Message, Plan, Provider, Reply, Request, Usage
from llm.budget import Caps, Ledger
from llm.plan import Choice
from llm.prices import our_prices
from llm.router import Breaker, Router

CALLS, PIECES, ROUNDS = 40, 50, 15
QUESTION = Request("critic", "You review.", (Message("user", "x = 1\n" * 300),), max_tokens=500)
CHOICE = Choice("critic", "anthropic", "claude-sonnet-5-5", "measured")


class Instant:
    """A provider that answers at once, and counts what it is told to count."""

    name, model, thinks, exact, window = "instant", "none", False, False, None

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        self.asked = 0

    async def stream(self, request: Request) -> AsyncGenerator[str | Reply, None]:
        self.asked += 1
        for _ in range(PIECES):
            yield "piece "
        yield Reply("piece " * PIECES, "stop", self.name, self.model, self.usage)

    async def models(self) -> tuple[str, ...]:
        return ()

    def count(self, text: str) -> int:
        return len(text) // 3

    async def close(self) -> None:
        """Nothing is held."""


def models() -> Iterator[str]:
    """The router's own time a call, and the import of `llm`."""
    bare, routed = asyncio.run(_overhead())
    extra = [(one - floor) / CALLS for one, floor in zip(sorted(routed), sorted(bare), strict=True)]
    yield figure(
        f"router's own time a call of {PIECES} pieces", extra, "the bare call",
        [floor / CALLS for floor in bare], "ms",
    )
    light = [timed([sys.executable, "-c", "import llm"]) for _ in range(ROUNDS)]
    floors = [timed([sys.executable, "-c", "pass"]) for _ in range(ROUNDS)]
    beyond = (sorted(light)[ROUNDS // 2] - sorted(floors)[ROUNDS // 2]) * 1e3
    yield figure("import of llm, whole process", light, "python -c pass", floors, "ms") + (
        f"; {beyond:.0f} ms beyond it, {_import_ms():.0f} ms by the interpreter's own count"
    )


async def _overhead() -> tuple[list[float], list[float]]:
    """Seconds of rounds of calls, bare and through the router, turn by turn."""
    provider = Instant(Usage(600, 60))
    router = _router(provider, Caps(1e9, 10**12, 10**9))
    behind = await router.at(CHOICE.role)
    assert behind is not None
    bare, routed = [], []
    for _ in range(ROUNDS):
        router.ledger.charges.clear()
        bare.append(await _round(provider))
        routed.append(await _round(behind))
    return bare, routed


async def _round(provider: Provider) -> float:
    began = time.perf_counter()
    for _ in range(CALLS):
        async with aclosing(provider.stream(QUESTION)) as items:
            async for _ in items:
                pass
    return time.perf_counter() - began


def _router(provider: Provider, caps: Caps) -> Router:
    breaker = Breaker()
    return Router(
        Plan("anthropic", "measured", (CHOICE,)), lambda choice: provider, Ledger(caps),
        our_prices(), lambda told: None, lambda choice: breaker,
    )


def _import_ms() -> float:
    """Milliseconds of `import llm` by `-X importtime`, the median of some runs."""
    found = []
    for _ in range(ROUNDS):
        seen = subprocess.run(
            [sys.executable, "-X", "importtime", "-c", "import llm"], cwd=ROOT,
            capture_output=True, text=True, check=True,
        ).stderr
        match = re.search(r"\|\s+(\d+) \| llm$", seen, re.MULTILINE)
        assert match is not None, seen[-300:]
        found.append(int(match[1]) / 1e3)
    return sorted(found)[ROUNDS // 2]
