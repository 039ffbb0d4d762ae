"""Events go to lines and back, and logs from before there were models can be read."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from agent.core.events import (
    Event,
    Extended,
    FellBack,
    ModelAsked,
    ModelCalled,
    ModelFailed,
    RoleChoice,
    RunStarted,
    Stamped,
    Waiting,
    from_jsonl,
    to_jsonl,
)
from agent.intake import from_page
from agent.log.result import fold
from agent.run.session import open_session
from tests.agent.model_runs import HARD, HARD_TESTS, followed, settings

CALL = {"role": "critic", "provider": "p", "model": "m", "tokens": 7, "wall_s": 0.5}


@pytest.mark.parametrize("event", [
    ModelAsked(call=0, role="critic", provider="p", model="m", tokens=9, cost_usd=None),
    ModelAsked(call=1, role="critic", provider="p", model="m", tokens=9, cost_usd=0.1, prompt="h"),
    ModelCalled(**CALL, cost_usd=None, call=0, estimated=True, finish="length"),
    ModelCalled(**CALL, cost_usd=0.0, call=1, first_s=0.25, attempts=3, cached=True),
    ModelFailed(**CALL, cost_usd=0.5, call=2, error="Overloaded", why="full \udc80 of it"),
    FellBack(role="critic", provider="p/m", to="q/n", why="refused"),
    Extended(usd=0.5, calls=3),
    Waiting(interrupt="budget-1", question="more?", needs="budget"),
    Waiting(interrupt="key-1", question="whose?", needs="key"),
    RunStarted(title="t", provider="p", provider_why="w", sandbox="s", roles=(
        RoleChoice(role="critic", provider="p", model="m", why="so"),
    )),
], ids=lambda event: event.kind)
def test_an_event_of_a_model_goes_to_a_line_and_back(event: Event) -> None:
    log = (Stamped(run="r", seq=1, task="t", attempt=0, ordinal=0, at=1.5, event=event),)
    assert from_jsonl(to_jsonl(log)) == log


def test_a_log_from_before_there_were_models_can_be_read() -> None:
    old = [
        {"kind": "run_started", "title": "t", "provider": "mock", "provider_why": "w",
         "sandbox": "s"},
        {"kind": "model_called", **CALL, "cost_usd": 0.25},
        {"kind": "waiting", "interrupt": "i", "question": "keep it?"},
    ]
    log = from_jsonl("".join(
        json.dumps({"run": "r", "seq": seq, "task": "t", "attempt": 0, "ordinal": seq, "at": 1.0,
                    "event": event}) + "\n"
        for seq, event in enumerate(old, 1)
    ))
    result = fold(log)
    assert (result.calls, result.tokens, result.cost_usd) == (1, 7, 0.25)
    assert result.waiting is not None
    assert result.waiting.needs == "answer"


async def test_a_run_from_before_there_were_models_goes_on_without_one(tmp_path: Path) -> None:
    async with open_session(settings(tmp_path, {}, autonomy_level="review_repairs")) as session:
        run = await session.start(from_page(HARD, HARD_TESTS).task)
        await session.close()
    with sqlite3.connect(tmp_path / "runs.db") as store:
        (options,) = store.execute("select options from runs").fetchone()
        kept = {name: value for name, value in json.loads(options).items()
                if name in ("max_iterations", "budget_s", "ask", "answered")}
        store.execute("update runs set options = ?, owner = ''", (json.dumps(kept),))
    store.close()
    # A provider that cannot be had is no reason to leave it unfinished.
    async with open_session(settings(tmp_path, {}, provider="anthropic")) as session:
        assert await session.recover() == (run,)
        assert (await followed(session, run)).outcome == "unresolved"
