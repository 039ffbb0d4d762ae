"""A recorded run is run again without its models, and comes to the same."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.core.events import ModelCalled
from agent.core.settings import Settings
from agent.log.result import Result
from tests.agent.claude import Said, claude, fenced
from tests.agent.model_runs import (
    HARD,
    HARD_TESTS,
    SOLVED,
    WRONG,
    an_ollama,
    compatible,
    healed,
    settings,
)
from tests.llm.fakes import ollama, openai
from tests.llm.fakes.anthropic import answers, error, opening

WORDS = "Write shout(words), which gives each word in capitals, with an exclamation mark."


@asynccontextmanager
async def by_claude(folder: Path, record: Path) -> AsyncIterator[Settings]:
    # The second repair is asked for with the first one, and the critic re-asked.
    async with claude(
        generator=[fenced(WRONG), fenced(SOLVED)],
        critic=["no form at all", '{"note": "reads well", "approve": true}'],
    ) as model:
        yield model.settings(folder, record=record)


@asynccontextmanager
async def by_ollama(folder: Path, record: Path) -> AsyncIterator[Settings]:
    async with an_ollama() as model:
        env = {"OLLAMA_BASE_URL": model.server.url, "OLLAMA_MODEL": ollama.MODEL}
        yield settings(folder, env, record=record)


@asynccontextmanager
async def by_a_model_that_turns_out_to_think(folder: Path, record: Path) -> AsyncIterator[Settings]:
    async with compatible() as model:
        def thinking(text: str) -> Any:
            chunks = openai.whole(pieces=[text])
            chunks.insert(1, openai.chunk({"reasoning_content": "well, well"}))
            return openai.answers(chunks)

        model.answer = thinking  # type: ignore[method-assign]
        env = {"OPENAI_BASE_URL": f"{model.server.url}/v1", "OPENAI_MODEL": openai.MODEL}
        yield settings(folder, env, record=record)


def calls(told: list[Any]) -> list[ModelCalled]:
    return [one for one in told if isinstance(one, ModelCalled)]


def plainly(call: ModelCalled) -> ModelCalled:
    """A call without what a replay must have otherwise: its time, its price."""
    return call.model_copy(update={"wall_s": 0.0, "first_s": None, "cost_usd": 0.0, "cached": True})


async def again(
    folder: Path, record: Path, code: str = HARD, tests: str = HARD_TESTS, words: str = ""
) -> tuple[Result, list[Any]]:
    """The run with the record and no key, no server, no memory."""
    return await healed(settings(folder, {}, replay=record), code, tests, words)


@pytest.mark.parametrize(
    "provider", [by_claude, by_ollama, by_a_model_that_turns_out_to_think],
    ids=["claude", "ollama", "thinking"],
)
async def test_a_replayed_run_comes_to_the_same_by_the_same_calls_for_nothing(
    tmp_path: Path, provider: Any
) -> None:
    record = tmp_path / "record.jsonl"
    async with provider(tmp_path / "live", record) as live:
        first, told = await healed(live)
    if provider is by_a_model_that_turns_out_to_think:
        # Questions have more room from then on, so a replay must come to know it at the same one.
        known = [json.loads(line)["thinks"] for line in record.read_text().splitlines()]
        assert known == [False, True, True, True]
    second, replayed = await again(tmp_path / "replayed", record)
    assert (first.outcome, first.strategy) == ("healed", "model")
    assert (second.outcome, second.code, second.diff, second.strategy, second.proof) == (
        first.outcome, first.code, first.diff, first.strategy, first.proof
    )
    assert [plainly(call) for call in calls(told)] == [plainly(call) for call in calls(replayed)]
    assert {(call.cached, call.cost_usd) for call in calls(replayed)} == {(True, 0.0)}
    assert (second.calls, second.tokens, second.cost_usd) == (first.calls, first.tokens, 0.0)
    assert second.provider == first.provider
    assert "HEAL_REPLAY" in second.provider_why


async def test_a_task_in_words_is_replayed_too(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    said: dict[str, Said] = {
        "generator": fenced(SOLVED),
        "spec_tester": '{"examples": [{"call": "shout(\'a\')", "expected": "\'A!\'"}]}',
    }
    async with claude(**said) as model:
        live = model.settings(tmp_path / "live", record=record)
        first, _ = await healed(live, "", "", WORDS)
    second, _ = await again(tmp_path / "replayed", record, "", "", WORDS)
    assert (first.outcome, first.calls) == ("healthy", 4)
    assert (second.outcome, second.code, second.tests) == (first.outcome, SOLVED, first.tests)


async def test_a_call_that_failed_fails_again_with_its_tokens_and_for_nothing(
    tmp_path: Path,
) -> None:
    record = tmp_path / "record.jsonl"
    broken = answers([*opening(["half an answer"]), error("api_error", "the disk burns")])
    async with claude(debugger=broken, generator=fenced(SOLVED)) as model:
        live = model.settings(tmp_path / "live", record=record)
        first, told = await healed(live)
    second, replayed = await again(tmp_path / "replayed", record)
    theirs, ours = (
        [one for one in every if one.kind == "model_failed"] for every in (told, replayed)
    )
    assert len(theirs) == 3  # what broke off was asked for anew
    for there, here in zip(theirs, ours, strict=True):
        assert there.tokens == here.tokens > 0
        assert (there.why, there.error) == (here.why, here.error)
        assert here.cost_usd == 0.0
        assert there.cost_usd > 0
    assert (first.outcome, second.outcome, second.cost_usd) == ("healed", "healed", 0.0)


async def test_a_replay_of_another_program_is_told_what_differs(tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    async with by_claude(tmp_path / "live", record) as live:
        await healed(live)
    result, told = await again(tmp_path / "replayed", record, HARD.replace("words", "text"))
    assert (result.outcome, result.tokens, result.cost_usd) == ("not_fixable", 0, 0.0)
    failed = [one for one in told if one.kind == "model_failed"]
    assert [one.error for one in failed] == ["NotRecorded"]
    assert "'debugger'" in result.reason and "messages" in result.reason


async def test_the_same_run_asks_the_same_in_another_folder_at_another_time(tmp_path: Path) -> None:
    asked = []
    for folder in ("one", "other"):
        async with claude(generator=[fenced(WRONG), fenced(SOLVED)]) as model:
            await healed(model.settings(tmp_path / folder))
            asked.append([seen.body for seen in model.server.seen])
    assert asked[0] == asked[1]
