"""What a run does where a model gives no usable answer, or is left amid one."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path
from typing import Any

import pytest

from agent.doors.exits import MODEL_FAILED, exit_code
from agent.intake import from_page
from agent.log.result import Result
from agent.run.session import open_session
from llm import router
from tests.agent.claude import Said, claude, fenced
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, an_ollama, events, healed, settings
from tests.llm.fakes import ollama
from tests.llm.fakes.anthropic import answers, delta, fails, opening, whole
from tests.llm.fakes.server import refusing, stalls

WORDS = "Write shout(words), which gives each word in capitals, with an exclamation mark."

FAULTS: dict[str, Said] = {
    "overloaded": fails(529, "overloaded_error"),
    "malformed": "I would rather talk about the weather.",
    "truncated": answers(whole("max_tokens", ["{"])),
    "refused": answers(whole("refusal", ["no"])),
}


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(router, "FIRST_WAIT_S", 0.01)


async def with_fault(
    role: str, said: Said, folder: Path, words: str = ""
) -> tuple[Result, list[Any]]:
    async with claude(**{"generator": fenced(SOLVED), role: said}) as model:
        ours = model.settings(folder)
        if words:
            return await healed(ours, "", "", words)
        return await healed(ours)


def warnings(told: list[Any]) -> list[str]:
    return [one.text for one in told if one.kind == "notice" and one.level == "warning"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("role", "fault", "outcome"), [
    ("debugger", "overloaded", "healed"),
    ("debugger", "malformed", "healed"),
    ("debugger", "truncated", "healed"),
    ("debugger", "refused", "healed"),
    ("critic", "malformed", "model_failed"),
    ("critic", "refused", "model_failed"),
    ("memory_summariser", "overloaded", "healed"),
])
async def test_a_role_without_an_answer_is_told_and_the_run_goes_on_as_it_says(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, role: str, fault: str, outcome: str
) -> None:
    result, told = await with_fault(role, FAULTS[fault], tmp_path)
    assert len(warnings(told)) == 1
    assert [one.role for one in result.degraded] == [role]
    assert (result.outcome, result.error) == (outcome, "")
    assert (result.code == SOLVED) == (outcome == "healed")
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


@pytest.mark.parametrize("fault", ["overloaded", "malformed"])
async def test_a_generator_without_an_answer_leaves_the_program_and_says_why(
    tmp_path: Path, fault: str
) -> None:
    result, told = await with_fault("generator", FAULTS[fault], tmp_path)
    assert (result.outcome, result.code) == ("model_failed", HARD)
    assert (exit_code(result), result.stopped) == (MODEL_FAILED, "model")
    asked = [one for one in told if one.kind == "model_asked" and one.role == "generator"]
    assert len(asked) == (2 if fault == "malformed" else 1)
    assert not [one for one in told if one.kind == "run_failed"]


async def test_a_task_in_words_that_nobody_writes_ends_with_the_providers_words(
    tmp_path: Path,
) -> None:
    """It says nothing against a program: there is none."""
    result, told = await with_fault(
        "generator", fails(529, "overloaded_error", "all busy"), tmp_path, WORDS
    )
    assert (result.outcome, exit_code(result)) == ("model_failed", MODEL_FAILED)
    assert "all busy" in result.reason
    assert [one.kind for one in told][-2:] == ["model_failed", "run_finished"]


async def test_a_fallback_that_was_allowed_heals_the_run_and_is_told(tmp_path: Path) -> None:
    with refusing() as nowhere:
        async with an_ollama() as local:
            env = {
                "ANTHROPIC_API_KEY": "sk-ant-some-key-0123456789", "ANTHROPIC_BASE_URL": nowhere,
                "OLLAMA_MODEL": ollama.MODEL, "OLLAMA_BASE_URL": local.server.url,
            }
            ours = settings(tmp_path, env, provider="anthropic", fallbacks=("ollama",))
            result, told = await healed(ours)
    assert (result.outcome, result.code) == ("healed", SOLVED)
    fell = [one for one in told if one.kind == "fell_back"]
    # The debugger's first question offered tools, which that one refuses before it is asked.
    assert [one.role for one in fell] == ["debugger", *local.asked]
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
