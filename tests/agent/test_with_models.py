"""Whole runs with models, by the real SDK against a server of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent.intake import paste
from agent.result import Result, fold
from agent.session import Session, open_session
from tests.agent.claude import Claude, claude, fenced

# No edit of this program reaches the right one within the candidates that the tests allow.
HARD = "def shout(words):\n    return words\n"
HARD_TESTS = (
    "assert shout('a b') == 'A! B!'\nassert shout('x') == 'X!'\nassert shout('') == ''\n"
)
SOLVED = "def shout(words):\n    return ' '.join(word.upper() + '!' for word in words.split())\n"
WRONG = "def shout(words):\n    return words.upper() + '!'\n"
EASY = "def area(width, height):\n    return width + height\n"
EASY_TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1"


async def followed(session: Session, run: str) -> Result:
    async for _ in session.follow(run):
        pass
    return fold(session.log(run))


async def healed(
    model: Claude, folder: Path, code: str, tests: str, **given: Any
) -> tuple[Result, list[Any]]:
    async with open_session(model.settings(folder, max_candidates=300, **given)) as session:
        run = await session.start(paste(code, tests).task)
        return await followed(session, run), [entry.event for entry in session.log(run)]


async def test_a_repair_that_search_finds_costs_nothing_though_there_is_a_model(
    tmp_path: Path,
) -> None:
    async with claude() as model:
        result, _ = await healed(model, tmp_path, EASY, EASY_TESTS)
    assert (result.outcome, result.strategy, result.tokens) == ("healed", "search", 0)
    assert model.asked == []


async def test_what_search_cannot_heal_a_model_does_and_the_judge_decides(tmp_path: Path) -> None:
    async with claude(generator=[fenced(WRONG), fenced(SOLVED)]) as model:
        result, events = await healed(model, tmp_path, HARD, HARD_TESTS)
    assert (result.outcome, result.strategy, result.code) == ("healed", "model", SOLVED)
    assert model.asked == ["debugger", "generator", "generator", "critic", "memory_summariser"]
    calls = [event for event in events if event.kind == "model_called"]
    assert [call.role for call in calls] == model.asked
    assert result.tokens == sum(call.tokens for call in calls) > 0
    assert result.cost_usd is not None
    assert result.cost_usd > 0
    second = model.server.seen[2].json["messages"][0]["content"]
    assert "passes 1 of 3 tests" in second
