"""Events go to lines and back."""

from __future__ import annotations

import pytest

from agent.core import events as e
from agent.core.domain import Example

CALL = {"role": "critic", "provider": "p", "model": "m", "tokens": 7, "wall_s": 0.5}


@pytest.mark.parametrize("event", [
    e.ModelAsked(call=0, role="r", provider="p", model="m", tokens=9, cost_usd=None),
    e.ModelAsked(call=1, role="r", provider="p", model="m", tokens=9, cost_usd=0.1, prompt="h"),
    e.ModelCalled(**CALL, cost_usd=None, call=0, estimated=True, finish="length"),
    e.ModelCalled(**CALL, cost_usd=0.0, call=1, first_s=0.25, attempts=3, cached=True),
    e.ModelFailed(**CALL, cost_usd=0.5, call=2, error="Overloaded", why="full \udc80 of it"),
    e.FellBack(role="critic", provider="p/m", to="q/n", why="refused"),
    e.Extended(usd=0.5, calls=3), e.Waiting(interrupt="budget-1", question="more?", needs="budget"),
    e.Waiting(interrupt="key-1", question="whose?", needs="key"),
    e.RunStarted(title="t", provider="p", provider_why="w", sandbox="s", roles=(
        e.RoleChoice(role="critic", provider="p", model="m", why="so"),
    )),
], ids=lambda event: event.kind)
def test_an_event_of_a_model_goes_to_a_line_and_back(event: e.Event) -> None:
    log = (e.LogEntry(run="r", seq=1, task="t", attempt=0, ordinal=0, at=1.5, event=event),)
    assert e.from_jsonl(e.to_jsonl(log)) == log


def test_the_names_in_logs_of_older_runs_are_read() -> None:
    example = {"name": "a", "origin": "urged", "call": "f()", "expected": "1"}
    assert Example.model_validate(example).origin == "required"
    waiting = {"interrupt": "budget-1", "question": "more?", "needs": "budget"}
    assert e.Waiting.model_validate({**waiting, "needs": "leave"}).needs == "permission"
    offered = e.Waiting.model_validate({**waiting, "more": {"usd": 0.5}}).budget_extension
    assert offered == e.Extended(usd=0.5)
