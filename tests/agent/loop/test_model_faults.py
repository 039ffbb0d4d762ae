"""What a run does where a model gives no usable answer, or is left amid one."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from agent.interfaces.exits import MODEL_FAILED, exit_code
from agent.loop.session import open_session
from agent.target.task import from_page
from llm import router
from tests.agent.claude import claude
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, an_ollama, events, healed, settings
from tests.agent.scripted import WORDS
from tests.llm.fakes import ollama
from tests.llm.fakes.anthropic import answers, delta, fails, opening
from tests.llm.fakes.server import refusing, stalls


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "FIRST_WAIT_S", 0.01)


async def test_a_task_that_no_model_writes_ends_with_its_error(tmp_path: Path) -> None:
    async with claude(generator=fails(529, "overloaded_error", "all busy")) as model:
        result, told = await healed(model.settings(tmp_path), "", "", WORDS)
    assert (result.outcome, exit_code(result)) == ("model_failed", MODEL_FAILED)
    assert "all busy" in result.reason
    assert [one.kind for one in told][-2:] == ["model_failed", "run_finished"]


async def test_an_allowed_fallback_heals_the_run(tmp_path: Path) -> None:
    with refusing() as nowhere:
        async with an_ollama() as local:
            env = {
                "ANTHROPIC_API_KEY": "sk-ant-some-key-0123456789", "ANTHROPIC_BASE_URL": nowhere,
                "OLLAMA_MODEL": ollama.MODEL, "OLLAMA_BASE_URL": local.server.url,
            }
            ours = settings(tmp_path, env, provider="anthropic", fallbacks=("ollama",), proof_s=0.0)
            result, told = await healed(ours)
    assert (result.outcome, result.code) == ("healed", SOLVED)
    fell = [one for one in told if one.kind == "fell_back"]
    assert [one.role for one in fell] == [*local.asked]
    assert {one.to for one in fell} == {f"ollama/{ollama.MODEL}"}
    assert [one.provider for one in told if one.kind == "model_called"] == ["ollama"] * 4
    # What was refused a connection cost nothing, and what answered is free.
    assert (result.tokens, result.cost_usd) == (4 * 120, 0.0)


@pytest.mark.parametrize("how", ["cancel", "close"])
async def test_a_run_that_is_left_amid_an_answer_hangs_up_at_once(tmp_path: Path, how: str) -> None:
    half = answers([*opening(["```python\n"]), delta(0, "def ")], then=stalls)
    async with (
        claude(generator=half) as model,
        open_session(model.settings(tmp_path)) as session,
    ):
        run = await session.start(from_page(HARD, HARD_TESTS).task)
        while "generator" not in model.asked:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # it reads the pieces
        began = time.monotonic()
        if how == "cancel":
            await session.cancel(run)
        else:
            await session.close()
        assert time.monotonic() - began < 1
        assert await model.server.seen[-1].was_dropped(within_s=1.0)
        log = session.log(run)
    (broken,) = events(log, "model_failed")
    assert (broken.role, broken.error) == ("generator", "Cancelled")
    assert broken.tokens > 0
    assert broken.cost_usd is not None
    assert [one.outcome for one in events(log, "run_finished")] == (
        ["cancelled"] if how == "cancel" else []
    )
    assert not events(log, "run_failed")
