"""A server that is told to end leaves every run to the next one."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.log.store import Store
from demo.serving.server import _end_signals
from tests.demo.apart import ended, free_port, started
from tests.demo.served import LONG, RIGHT, WRONG, Program, Refused

pytestmark = pytest.mark.slow


def read_on(told: Iterator[Any]) -> None:
    """As a program that holds its connection until the server is gone."""
    with suppress(httpx.HTTPError, Refused):
        list(told)


def test_the_handler_of_a_signal_takes_no_lock_that_the_main_thread_may_hold() -> None:
    called: list[str] = []

    def profile(_frame: Any, event: str, argument: Any) -> None:
        if event == "c_call":
            called.append(argument.__qualname__)

    with _end_signals() as received:
        handler = signal.getsignal(signal.SIGTERM)
        assert callable(handler)
        sys.setprofile(profile)
        try:
            handler(signal.SIGTERM, None)
        finally:
            sys.setprofile(None)
        signal.raise_signal(signal.SIGINT)
    assert received == [signal.SIGTERM, signal.SIGINT]
    assert [name for name in called if name not in ("list.append", "setprofile")] == []


@pytest.mark.nightly
def test_the_next_server_resumes_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    port = free_port()
    env = {"HEAL_DATA_DIR": str(tmp_path), "LLM_PROVIDER": "mock", "PORT": str(port),
           "HEAL_AUTONOMY": "review_repairs", "HEAL_BUDGET_S": "3000", "HEAL_TEST_S": "300"}
    with (
        started("app.py", port=port, env=env) as (home, process),
        Program(home) as asking, Program(home) as first, Program(home) as second,
    ):
        waiting = asking.last("heal_code", code=WRONG, tests=RIGHT)
        assert waiting["outcome"] == "awaiting_review"
        live = [one.ask("heal_code", **LONG) for one in (first, second)]
        begun = [next(one)["run_id"] for one in live]
        reading = [threading.Thread(target=read_on, args=(one,)) for one in live]
        for one in reading:
            one.start()
        assert asking.client.get("healthz").json()["runs"] == len(live)

        told = time.monotonic()
        ended(process)
        with capsys.disabled():
            print(f"ended in {time.monotonic() - told:.2f} s", end=" ")
        for one in reading:
            one.join()

    store = Store(tmp_path / "runs.db")
    assert not any(store.run(run).final for run in (*begun, waiting["run_id"]))
    assert [store.run(run).owner for run in begun] == ["", ""], "left for whoever comes next"
    store.close()

    with started("app.py", port=port, env=env) as (home, _), Program(home) as asking:
        for run in begun:
            assert asking.last("get_run", run=run)["outcome"] is None
            assert '"resumed"' in asking.client.get(f"gradio_api/heal/{run}/log").text
            assert asking.last("cancel_run", run=run)["outcome"] == "cancelled"
        assert asking.last("get_run", run=waiting["run_id"])["outcome"] == "awaiting_review"
