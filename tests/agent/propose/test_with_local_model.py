"""A whole run whose only model is in this process: tiny, of random weights, and so of no help."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.core.events import IterationEnded, ModelCalled, ModelFailed, RunStarted
from agent.loop.session import Settings, open_session
from agent.report.result import fold
from agent.target.task import from_page
from llm.budget import Caps


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for needed in ("torch", "transformers", "accelerate", "llguidance"):
        pytest.importorskip(needed, reason="a local model needs torch, transformers, accelerate")
    import huggingface_hub.constants
    import torch

    from tests.llm.tiny_model import saved

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    torch.set_num_threads(1)  # several, on a machine that is busy, wait for each other
    made = saved(tmp_path / "tiny")
    config = made / "config.json"
    known = json.loads(config.read_text(encoding="utf-8"))
    config.write_text(json.dumps(known | {"max_position_embeddings": 8_192}), encoding="utf-8")
    return made


@pytest.mark.slow
@pytest.mark.nightly
async def test_a_run_with_only_a_local_model_costs_nothing(folder: Path, tmp_path: Path) -> None:
    settings = Settings.from_env(
        {"HF_MODEL": str(folder)}, data_dir=tmp_path / "data", max_candidates=50,
        roles={"debugger": "huggingface"}, role_budgets={"generator": Caps(seconds=0.5)},
    )
    async with open_session(settings) as session:
        task = from_page("def f(x):\n    return x\n", "assert f('b') == ['q!']").task
        run = await session.start(task)
        async for _ in session.follow(run):
            pass
        log = session.log(run)
    start = next(one.event for one in log if isinstance(one.event, RunStarted))
    assert {choice.role for choice in start.roles} == {"generator", "debugger"}
    assert {(choice.provider, choice.model) for choice in start.roles} == {
        ("huggingface", str(folder))
    }
    calls = [one.event for one in log if isinstance(one.event, ModelCalled)]
    assert calls[0].role == "debugger"  # held to a grammar, it answers in the right form
    failed = [one.event for one in log if isinstance(one.event, ModelFailed)]
    # It babbles, and is stopped.
    assert {(one.role, one.error) for one in failed} == {("generator", "TimedOut")}
    (_, *after) = [one.event for one in log if isinstance(one.event, IterationEnded)]
    # Never side by side, as sure as it may be.
    assert after and all(one.approach != "tournament" for one in after)
    result = fold(log)
    assert (result.outcome, result.error) == ("model_failed", "")
    lost = sum(one.tokens for one in failed)
    assert result.tokens == lost + sum(call.tokens for call in calls) > lost
    assert result.cost_usd == 0.0
