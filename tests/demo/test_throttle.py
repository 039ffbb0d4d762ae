from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from agent.report.result import fold
from demo.handlers import draw
from demo.serving.throttle import throttled
from tests.demo.recorded import recorded


async def test_batches_keep_the_order_and_beat_in_silence() -> None:
    async def source() -> AsyncIterator[tuple[int, ...]]:
        for number in range(50):
            yield (2 * number, 2 * number + 1)
            if number % 7 == 0:
                await asyncio.sleep(0)

    batches = [batch async for batch in throttled(source(), every_s=0.001)]
    assert [number for batch in batches for number in batch] == list(range(100))
    assert len(batches) < 50

    gate = asyncio.Event()

    async def source() -> AsyncIterator[tuple[int, ...]]:
        await gate.wait()
        yield (1,)

    batches = throttled(source(), every_s=0.001, beat_s=0.001)
    assert await anext(batches) == ()
    gate.set()
    assert (1,) in [batch async for batch in batches]


async def test_a_source_fails_its_reader_and_ends_with_it() -> None:
    async def source() -> AsyncIterator[tuple[int, ...]]:
        yield (1,)
        raise KeyError("gone")

    got = []
    with pytest.raises(KeyError, match="gone"):
        async for batch in throttled(source(), every_s=0.001):
            got.append(batch)
    assert got == [(1,)]

    left = asyncio.Event()

    async def source() -> AsyncIterator[tuple[int, ...]]:
        try:
            yield (1,)
            await asyncio.Event().wait()
        finally:
            left.set()

    batches = throttled(source(), every_s=0.001)
    assert await anext(batches) == (1,)
    await batches.aclose()
    assert left.is_set()


async def test_watched_changes_come_between_batches() -> None:
    said, gate = "", asyncio.Event()

    async def source() -> AsyncIterator[tuple[int, ...]]:
        yield (1,)
        await gate.wait()
        yield (2,)

    batches = throttled(source(), every_s=0.01, watched=lambda: {7: said})
    assert await anext(batches) == (1,)
    for said in ("a", "a b"):  # noqa: B007 - read by `passing`
        assert await asyncio.wait_for(anext(batches), 5) == ()
    gate.set()
    assert [batch async for batch in batches] == [(2,)]


async def test_a_large_run_is_drawn_while_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    drew: list[bool] = []

    def workbench(*_: object, **__: object) -> str:
        drew.append(threading.current_thread() is threading.main_thread())
        return "drawn"

    monkeypatch.setattr("demo.handlers.workbench", workbench)
    result = fold(recorded("healed"))
    assert await draw(result, own=True) == "drawn"
    monkeypatch.setattr("demo.handlers.MAX_INLINE_CHARS", 0)
    assert await draw(result, own=True) == "drawn"
    assert drew == [True, False]


async def test_an_abandoned_runs_clock_stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    going = fold(recorded("healed")[:6])
    assert going.start is not None
    limited = replace(
        going, start=going.start.model_copy(update={"limit_s": 60.0}), last_event_at=100.0
    )
    shown = limited.seconds
    for now, elapsed in ((130.0, shown + 30), (90.0, shown), (100_000.0, shown)):
        monkeypatch.setattr("time.time", lambda now=now: now)
        page = await draw(limited, own=True)
        assert f'data-elapsed="{elapsed:.1f}"' in page
