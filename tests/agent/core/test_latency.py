"""The process's manners while a session is open."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

from agent.core.domain import unified
from agent.loop.session import (
    FULL_GC_THRESHOLD,
    SWITCH_INTERVAL_S,
    Settings,
    low_latency,
    open_session,
)


def manners() -> tuple[float, int]:
    return round(sys.getswitchinterval(), 9), gc.get_threshold()[2]


async def test_an_open_session_reuses_its_process_and_leaves_no_state(tmp_path: Path) -> None:
    before = manners()
    async with open_session(Settings.from_env({}, provider="mock", data_dir=tmp_path)):
        assert manners() == (SWITCH_INTERVAL_S, FULL_GC_THRESHOLD)
    assert manners() == before


def test_open_sessions_share_the_process_settings() -> None:
    turn_s, thresholds = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(SWITCH_INTERVAL_S / 2)
    gc.set_threshold(*thresholds[:2], FULL_GC_THRESHOLD * 5)
    try:
        with low_latency():
            assert manners() == (SWITCH_INTERVAL_S / 2, FULL_GC_THRESHOLD * 5)
    finally:
        sys.setswitchinterval(turn_s)
        gc.set_threshold(*thresholds)

    before = manners()
    first, second = low_latency(), low_latency()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert manners() == (SWITCH_INTERVAL_S, FULL_GC_THRESHOLD)
    second.__exit__(None, None, None)
    assert manners() == before


def test_a_long_text_that_is_as_it_was_is_not_looked_through() -> None:
    class Text(str):
        def split(self, *_: object) -> list[str]:  # type: ignore[override]
            raise AssertionError("it was read line by line")

    assert unified("long.py", Text("x = 1\n"), Text("x = 1\n")) == ""
