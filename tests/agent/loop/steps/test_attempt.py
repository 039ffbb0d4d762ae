"""An attempt of a tournament leaves time to judge those beside it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from agent.core.settings import Settings
from agent.core.state import Iterations, ModelRepair, State
from agent.loop.steps import repair as module

RIGHT = ModelRepair(by="a model")


async def test_a_hanging_answer_does_not_cost_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    async def attempt_repair(*given: Any) -> ModelRepair:
        if given[-1] == 2:
            return RIGHT
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(module, "attempt_repair", attempt_repair)
    monkeypatch.setattr(module, "repair_input", lambda state, ctx: None)
    put: list[ModelRepair] = []
    ctx: Any = SimpleNamespace(
        iterations=lambda state: Iterations(),
        seconds_left=0.25, settings=Settings(budget_s=1.0), emit=lambda event: None,
        store=SimpleNamespace(put=lambda one: put.append(one) or str(len(put))),
        plan=SimpleNamespace(of=lambda role: "a model"),
    )
    await asyncio.gather(*(
        module.attempt(State(iteration=0, approach="tournament", place=place), ctx)
        for place in (0, 1, 2)
    ))
    late = [one for one in put if one != RIGHT]
    assert RIGHT in put
    assert [(one.is_models_fault, one.candidates) for one in late] == [(True, 0)] * 2
