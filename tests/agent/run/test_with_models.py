"""Whole runs with models, by the real SDKs against servers of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.events import Event, Notice, RunStarted
from agent.core.settings import ROLES
from agent.intake import from_page
from agent.log.result import Result, document
from agent.repair.confidence.model import fitted
from agent.run.nodes.learn import LARGE
from agent.run.session import open_session
from tests.agent.claude import KEY, claude, fenced
from tests.agent.model_runs import (
    HARD,
    HARD_TESTS,
    SOLVED,
    WRONG,
    an_ollama,
    compatible,
    events,
    followed,
    healed,
    settings,
)
from tests.llm.fakes import ollama, openai

EASY = "def area(width, height):\n    return width + height\n"
EASY_TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1"
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine") * 2
WORDS = "Write shout(words), which gives each word in capitals, with an exclamation mark."


def roles(told: list[object]) -> dict[str, str]:
    """Who answers each role, as the run says at its start."""
    start = told[0]
    assert isinstance(start, RunStarted)
    return {one.role: f"{one.provider}/{one.model}" for one in start.roles}


async def test_a_repair_that_search_finds_costs_nothing_though_there_is_a_model(
    tmp_path: Path,
) -> None:
    async with claude() as model:
        result, _ = await healed(model.settings(tmp_path, max_candidates=300), EASY, EASY_TESTS)
    assert (result.outcome, result.strategy, result.tokens) == ("healed", "search", 0)
    assert model.asked == []


async def test_a_crash_without_tests_is_stopped_by_search_though_there_is_a_model(
    tmp_path: Path,
) -> None:
    crash = "def total(xs):\n    return sum(xz)\n\n\nprint(total([1, 2]))\n"
    async with claude() as model:
        result, _ = await healed(model.settings(tmp_path, max_candidates=300), crash, "")
    assert (result.outcome, result.strategy, result.tokens) == ("crash_stopped", "search", 0)
    assert "sum(xs)" in result.code and model.asked == []


async def test_what_search_cannot_heal_a_model_does_and_the_judge_decides(tmp_path: Path) -> None:
    async with claude(generator=[fenced(WRONG), fenced(SOLVED)]) as model:
        result, told = await healed(model.settings(tmp_path))
    assert (result.outcome, result.strategy, result.code) == ("healed", "model", SOLVED)
    assert model.asked == ["debugger", "generator", "generator", "critic", "memory_summariser"]
    calls = [event for event in told if event.kind == "model_called"]
    assert [call.role for call in calls] == model.asked
    assert result.tokens == sum(call.tokens for call in calls) > 0
    assert result.cost_usd is not None
    assert result.cost_usd > 0
    second = model.server.seen[2].json["messages"][0]["content"]
    assert "1 of 3 tests" in second


FOUR_TESTS = HARD_TESTS + "assert shout('held out') == 'HELD! OUT!'\n"
TEST_FILE = """from solution import shout

RARE = [('held out', 'HELD! OUT!')]

def test_two(): assert shout('a b') == 'A! B!'
def test_one(): assert shout('x') == 'X!'
def test_none(): assert shout('') == ''

def rare(said, wanted):
    assert shout(said) == wanted

def test_rare():
    for said, wanted in RARE:
        rare(said, wanted)
"""


@pytest.mark.parametrize(("tests", "name", "secrets"), [
    (FOUR_TESTS, "shout('held out') == 'HELD! OUT!'", ("held out", "HELD")),
    (TEST_FILE, "test_rare", ("RARE", "rare", "HELD", "held out")),
], ids=["of a text", "of a file, with its tables"])
async def test_no_model_is_told_of_a_held_out_test_nor_how_it_fails(
    tmp_path: Path, tests: str, name: str, secrets: tuple[str, ...]
) -> None:
    async with claude(generator=[fenced(WRONG), fenced(SOLVED)]) as model:
        # No time for a proof, of which no model is told.
        result, told = await healed(model.settings(tmp_path, proof_s=0.0), tests=tests)
    (held,) = [
        test for event in told if event.kind == "tests_frozen"
        for test in event.tests if test.origin == "held-out"
    ]
    assert name in held.name
    assert (result.outcome, result.strategy, result.proof) == ("healed", "model", "E2")
    sent = "".join(str(seen.json) for seen in model.server.seen)
    assert "def shout(words)" in sent and "A! B!" in sent
    assert not any(words in sent for words in secrets)


async def test_a_repair_that_is_too_large_to_be_kept_says_so(tmp_path: Path) -> None:
    for solved, is_told in ((SOLVED, False), (SOLVED + f"\n\n# {' '.join(NUMBERS)}\n", True)):
        async with claude(generator=fenced(solved)) as model:
            result, told = await healed(model.settings(tmp_path / str(is_told)))
        assert result.outcome == "healed"
        assert any(event.kind == "notice" and LARGE in event.text for event in told) is is_told


async def test_a_run_whose_last_repair_fails_what_was_held_out_says_so(tmp_path: Path) -> None:
    by_heart = "def shout(words):\n    return {'a b': 'A! B!', 'x': 'X!'}.get(words, '')\n"
    async with claude(generator=fenced(by_heart)) as model:
        result, _ = await healed(
            model.settings(tmp_path, max_iterations=1, enable_search=False), tests=FOUR_TESTS
        )
    assert (result.outcome, result.stopped) == ("unresolved", "iterations")
    assert "had not seen" in result.reason


@pytest.mark.parametrize(("tests", "is_at_odds"), [
    ("assert shout('x') == 'X!'\nassert shout('x' + '') == 'x'\nassert shout('') == ''\n", True),
    (HARD_TESTS, False),
])
async def test_a_run_that_stops_says_of_its_last_try_and_of_tests_that_never_pass_together(
    tmp_path: Path, tests: str, is_at_odds: bool
) -> None:
    tried = SOLVED if is_at_odds else WRONG
    async with claude(generator=fenced(tried)) as model:
        result, _ = await healed(
            model.settings(tmp_path, max_iterations=2, enable_search=False), tests=tests
        )
    assert f"{2 if is_at_odds else 1} of 3 tests" in result.reason
    assert ("contradict" in result.reason) is is_at_odds


async def test_a_held_out_test_that_the_model_has_read_in_the_task_proves_no_more(
    tmp_path: Path,
) -> None:
    async with claude(generator=fenced(SOLVED)) as model:
        result, _ = await healed(
            model.settings(tmp_path), tests=FOUR_TESTS,
            words=f"Each word in capitals with a mark: {FOUR_TESTS}",
        )
    assert (result.outcome, result.proof) == ("healed", "E1")


async def test_whoever_reviews_or_attacks_is_shown_the_words_the_tests_and_the_change(
    tmp_path: Path,
) -> None:
    async with claude(generator=[fenced(WRONG), fenced(SOLVED)]) as model:
        await healed(model.settings(tmp_path), HARD, HARD_TESTS, WORDS)
    questions = dict(zip(model.asked, (
        seen.json["messages"][0]["content"] for seen in model.server.seen
    ), strict=True))
    assert f"2 | {HARD.splitlines()[1]}" in questions["debugger"]
    for role in ("debugger", "critic"):
        assert WORDS in questions[role]
        assert "assert shout('x') == 'X!'" in questions[role]
    assert "pass" not in questions["critic"]  # nor how the tests came out
    assert "-    return words\n+    return ' '.join" in questions["critic"]


async def test_with_a_key_for_claude_alone_every_role_runs_there(tmp_path: Path) -> None:
    async with claude(generator=fenced(SOLVED)) as model:
        result, told = await healed(model.settings(tmp_path))
    assert roles(told).keys() == {*ROLES}
    assert {seen.headers["authorization"] for seen in model.server.seen} == {f"Bearer {KEY}"}
    shown = document(result)
    assert (shown["outcome"], shown["provider"]) == ("healed", "anthropic")
    assert shown["tokens"] == 4 * 276
    assert shown["cost_usd"] == sum(
        event.cost_usd for event in told if event.kind == "model_called"
    )
    assert shown["calls"] == 4


async def test_with_ollama_alone_it_writes_for_nothing_and_rules_do_the_rest(
    tmp_path: Path,
) -> None:
    async with an_ollama() as model:
        env = {"OLLAMA_BASE_URL": model.server.url, "OLLAMA_MODEL": ollama.MODEL}
        result, told = await healed(settings(tmp_path, env))
    assert roles(told) == {"generator": f"ollama/{ollama.MODEL}"}
    assert any(isinstance(event, Notice) for event in told)
    assert model.asked == ["generator"]
    assert (result.outcome, result.code) == ("healed", SOLVED)
    assert (result.tokens, result.cost_usd) == (120, 0.0)


async def test_with_ollama_and_claude_the_generator_alone_is_local(tmp_path: Path) -> None:
    async with an_ollama() as local, claude() as far:
        env = {
            "OLLAMA_BASE_URL": local.server.url, "OLLAMA_MODEL": ollama.MODEL,
            "ANTHROPIC_BASE_URL": far.server.url, "ANTHROPIC_API_KEY": KEY,
        }
        result, told = await healed(settings(tmp_path, env))
    assert result.provider == "ollama + anthropic"
    assert roles(told)["generator"] == f"ollama/{ollama.MODEL}"
    assert roles(told)["debugger"] == "anthropic/claude-sonnet-5-5"
    assert (local.asked, far.asked) == (["generator"], ["debugger", "critic", "memory_summariser"])
    assert (result.outcome, result.strategy) == ("healed", "model")
    assert result.cost_usd is not None
    assert result.cost_usd > 0
    assert all("authorization" not in seen.headers for seen in local.server.seen)


async def test_behind_a_server_of_unknown_price_tokens_are_known_and_dollars_are_not(
    tmp_path: Path,
) -> None:
    async with compatible() as model:
        env = {"OPENAI_BASE_URL": f"{model.server.url}/v1", "OPENAI_MODEL": openai.MODEL}
        result, told = await healed(settings(tmp_path, env))
    assert roles(told) == dict.fromkeys(ROLES, f"custom/{openai.MODEL}")
    assert (result.outcome, result.provider, result.code) == ("healed", "custom", SOLVED)
    assert (result.tokens, result.cost_usd) == (4 * 120, None)
    assert document(result)["cost_usd"] is None
    calls = [event for event in told if event.kind == "model_called"]
    assert [call.cost_usd for call in calls] == [None] * 4


async def test_with_nothing_configured_there_is_no_model_and_the_run_says_so(
    tmp_path: Path,
) -> None:
    result, told = await healed(settings(tmp_path, {}))
    assert (result.outcome, result.provider) == ("unresolved", "mock")
    assert (roles(told), result.tokens, result.cost_usd) == ({}, 0, 0.0)
    assert not [event for event in told if event.kind.startswith("model_")]


async def test_a_task_in_words_is_written_tested_and_attacked_by_models(tmp_path: Path) -> None:
    async with claude(
        generator=fenced(SOLVED),
        spec_tester='{"examples": [{"call": "shout(\'a b\')", "expected": "\'A! B!\'"}]}',
        qa_adversary='{"calls": [{"why": "nothing in it", "call": "shout(\'\')"}]}',
    ) as model:
        result, _ = await healed(model.settings(tmp_path), "", "", WORDS)
    assert model.asked == ["spec_tester", "generator", "qa_adversary", "critic"]
    assert (result.outcome, result.code) == ("healthy", SOLVED)
    assert {test.origin for test in result.tests} == {"spec", "adversarial"}
    assert result.tokens == 4 * 276


async def written(folder: Path, *drafts: str) -> tuple[Result, list[Event]]:
    """A task in words with one example, and a small model that writes these drafts in turn."""
    words = "Write shout(words): capitals, and a mark after each word.\nshout('a') returns 'A!'."
    async with an_ollama(generator=[fenced(one) for one in drafts]) as model:
        env = {"OLLAMA_BASE_URL": model.server.url, "OLLAMA_MODEL": ollama.MODEL}
        return await healed(settings(folder, env), "", "", words)


SOLVED_TOO = "def shout(text):\n    return ' '.join(f'{one.upper()}!' for one in text.split())\n"


async def test_two_drafts_that_behave_alike_are_likelier_right_than_one(tmp_path: Path) -> None:
    result, _ = await written(tmp_path, SOLVED, SOLVED_TOO)
    assert (result.outcome, result.code, result.calls) == ("healthy", SOLVED, 2)
    assert result.confidence == pytest.approx(fitted().written_twice)


async def test_a_draft_is_kept_where_a_cap_allows_no_further_one(tmp_path: Path) -> None:
    words = "Write shout(words).\nshout('a') returns 'A!'."
    async with an_ollama(generator=[fenced(SOLVED)]) as model:
        env = {"OLLAMA_BASE_URL": model.server.url, "OLLAMA_MODEL": ollama.MODEL,
               "HEAL_BUDGET_CALLS": "1"}
        result, _ = await healed(settings(tmp_path, env), "", "", words)
    assert (result.outcome, result.code, result.calls) == ("healthy", SOLVED, 1)
    assert result.confidence == pytest.approx(fitted().written) and result.unsure


async def test_the_draft_that_most_drafts_agree_with_is_taken(tmp_path: Path) -> None:
    result, _ = await written(tmp_path, WRONG, SOLVED, SOLVED_TOO)
    assert (result.outcome, result.code, result.calls) == ("healthy", SOLVED, 3)
    assert result.confidence == pytest.approx(fitted().written_twice)


async def test_a_draft_that_no_other_agrees_with_says_by_which_call_they_differ(
    tmp_path: Path,
) -> None:
    result, emitted = await written(tmp_path, WRONG, SOLVED, HARD)
    assert (result.outcome, result.code, result.calls) == ("healthy", WRONG, 3)
    assert result.confidence == pytest.approx(fitted().written)
    assert any(isinstance(one, Notice) and one.level == "warning" for one in emitted)
    assert "shout(" in result.unsure


async def test_drafts_are_compared_on_characters_that_no_example_has(tmp_path: Path) -> None:
    words = "Write plate(text): capitals, without blanks.\nplate('a b') returns 'AB'."
    kept = "def plate(text):\n    return text.upper().replace(' ', '')\n"
    lost = "def plate(text):\n    return ''.join(one.upper() for one in text if one.isalnum())\n"
    async with an_ollama(generator=[fenced(one) for one in (lost, kept, HARD)]) as model:
        env = {"OLLAMA_BASE_URL": model.server.url, "OLLAMA_MODEL": ollama.MODEL}
        result, _ = await healed(settings(tmp_path, env), "", "", words)
    assert result.confidence == pytest.approx(fitted().written)
    assert "." in result.unsure


async def test_two_runs_of_one_session_have_ledgers_of_their_own(tmp_path: Path) -> None:
    async with claude(generator=fenced(SOLVED)) as model:
        # A run makes four calls; of one ledger, the second run could make none.
        limited = model.settings(tmp_path, budget_calls=4)
        async with open_session(limited) as session:
            task = from_page(HARD, HARD_TESTS).task
            runs = [await session.start(task), await session.start(task)]
            results = [await followed(session, run) for run in runs]
            calls = [events(session.log(run), "model_asked") for run in runs]
    assert [result.outcome for result in results] == ["healed", "healed"]
    assert [[call.call for call in one] for one in calls] == [[0, 1, 2, 3], [0, 1, 2, 3]]
