"""A whole run whose only model is in this process: tiny, of random weights, and so of no help."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent.events import ModelCalled, RunStarted
from agent.intake import paste
from agent.result import fold
from agent.session import Settings, open_session
from llm.plan import ROLES

os.environ["HF_HUB_OFFLINE"] = "1"  # read by the hub's library when it is imported


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for needed in ("torch", "transformers", "accelerate", "llguidance"):
        pytest.importorskip(needed, reason="a local model needs torch, transformers, accelerate")
    from evaluation.measures.tiny_model import saved

    return saved(tmp_path / "tiny")


async def test_a_run_with_a_local_model_alone_costs_nothing_and_says_what_it_did(
    folder: Path, tmp_path: Path
) -> None:
    settings = Settings.from_env(
        {"HF_MODEL": str(folder)}, data_dir=tmp_path / "data", max_candidates=50,
        roles={"critic": "mock"},
    )
    async with open_session(settings) as session:
        task = paste("def f(x):\n    return x\n", "assert f('b') == ['q!']").task
        run = await session.start(task)
        async for _ in session.follow(run):
            pass
        log = session.log(run)
    start = next(one.event for one in log if isinstance(one.event, RunStarted))
    assert {choice.role for choice in start.roles} == {*ROLES} - {"critic"}
    assert {(choice.provider, choice.model) for choice in start.roles} == {
        ("huggingface", str(folder))
    }
    calls = [one.event for one in log if isinstance(one.event, ModelCalled)]
    assert calls[0].role == "debugger"  # held to a grammar, it answers in the right form
    assert {call.role for call in calls} == {"debugger", "generator"}
    result = fold(log)
    assert (result.outcome, result.error) == ("unresolved", "")
    assert result.tokens == sum(call.tokens for call in calls) > 0
    assert result.cost_usd == 0.0
