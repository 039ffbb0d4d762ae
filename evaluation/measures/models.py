"""Models without a model: what the router adds to a call."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing

from evaluation.measures.programs import figure
from llm import Message, Plan, Provider, Reply, Request, Usage
from llm.budget import Caps, Ledger
from llm.plan import Choice
from llm.prices import our_prices
from llm.router import Breaker, Router

CALLS, PIECES, ROUNDS = 40, 50, 15
QUESTION = Request("critic", "You review.", (Message("user", "x = 1\n" * 300),), max_tokens=500)
CHOICE = Choice("critic", "anthropic", "claude-sonnet-5-5", "measured")


class Instant:
    """A provider that answers at once."""

    name, model, thinks, exact, window = "instant", "none", False, False, None

    async def stream(self, request: Request) -> AsyncGenerator[str | Reply, None]:
        for _ in range(PIECES):
            yield "piece "
        yield Reply("piece " * PIECES, "stop", self.name, self.model, Usage(600, 60))

    async def models(self) -> tuple[str, ...]:
        return ()

    def count(self, text: str) -> int:
        return len(text) // 3

    async def close(self) -> None:
        """Nothing is held."""


def models() -> Iterator[str]:
    """The router's own time a call."""
    bare, routed = asyncio.run(_overhead())
    extra = [(one - floor) / CALLS for one, floor in zip(sorted(routed), sorted(bare), strict=True)]
    yield figure(
        f"router's own time a call of {PIECES} pieces", extra, "the bare call",
        [floor / CALLS for floor in bare], "ms",
    )


async def _overhead() -> tuple[list[float], list[float]]:
    """Seconds of rounds of calls, bare and through the router, turn by turn."""
    provider, breaker = Instant(), Breaker()
    router = Router(
        Plan("anthropic", "measured", (CHOICE,)), lambda choice: provider,
        Ledger(Caps(1e9, 10**12, 10**9)), our_prices(), lambda told: None, lambda choice: breaker,
    )
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
