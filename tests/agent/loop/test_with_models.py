"""Whole runs with models, by the real SDKs against servers of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.events import Notice, RunStarted
from agent.core.settings import ROLES
from agent.loop.session import open_session
from agent.loop.steps.learn import LARGE
from agent.report.result import document
from agent.search.confidence.model import fitted
from agent.target.task import from_page
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
CRASH = "def total(xs):\n    return sum(xz)\n\n\nprint(total([1, 2]))\n"
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine") * 2
WORDS = "Write shout(words), which gives each word in capitals, with an exclamation mark."


def roles(told: list[object]) -> dict[str, str]:
    """Who answers each role, as the run says at its start."""
    start = told[0]
    assert isinstance(start, RunStarted)
    return {one.role: f"{one.provider}/{one.model}" for one in start.roles}


@pytest.mark.parametrize(("code", "tests", "outcome", "repair"), [
    (EASY, EASY_TESTS, "healed", "width * height"), (CRASH, "", "crash_stopped", "sum(xs)"),
], ids=["tests", "a crash alone"])
async def test_a_repair_that_search_finds_costs_nothing_though_there_is_a_model(
    tmp_path: Path, code: str, tests: str, outcome: str, repair: str
) -> None:
    async with claude() as model:
        result, _ = await healed(model.settings(tmp_path, max_candidates=300), code, tests)
    assert (result.outcome, result.strategy, result.tokens) == (outcome, "search", 0)
    assert repair in result.code and model.asked == []


async def test_a_model_heals_what_search_cannot_and_the_judge_decides(tmp_path: Path) -> None:
    async with claude(generator=[fenced(WRONG), fenced(SOLVED)]) as model:
        result, told = await healed(
            model.settings(tmp_path), HARD, HARD_TESTS, WORDS
        )
    assert (result.outcome, result.strategy, result.code) == ("healed", "model", SOLVED)
    assert model.asked[-5:] == [
        "debugger", "generator", "generator", "critic", "memory_summariser"
    ]
    # With a key for one provider alone every role runs there.
    assert roles(told).keys() == {*ROLES}
    assert {seen.headers["authorization"] for seen in model.server.seen} == {f"Bearer {KEY}"}
    calls = [event for event in told if event.kind == "model_called"]
    assert [call.role for call in calls] == model.asked
    shown = document(result)
    assert (shown["outcome"], shown["provider"]) == ("healed", "anthropic")
    assert shown["calls"] == len(model.asked)
    assert shown["tokens"] == sum(call.tokens for call in calls) == 276 * len(model.asked)
    assert shown["cost_usd"] == sum(call.cost_usd for call in calls) > 0
    # Each is shown the words, the tests and the change.
    debugger, _, second, critic, _ = (
        seen.json["messages"][0]["content"] for seen in model.server.seen[-5:]
    )
    assert "1 of 3 tests" in second
    assert f"2 | {HARD.splitlines()[1]}" in debugger
    for question in (debugger, critic):
        assert WORDS in question
        assert "assert shout('x') == 'X!'" in question
    assert "pass" not in critic  # nor how the tests came out
    assert "-    return words\n+    return ' '.join" in critic
    assert not any(event.kind == "notice" and LARGE in event.text for event in told)


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
@pytest.mark.nightly
async def test_no_model_is_told_of_a_held_out_test_nor_how_it_fails(
    tmp_path: Path, tests: str, name: str, secrets: tuple[str, ...]
) -> None:
    async with claude(generator=[fenced(WRONG), fenced(SOLVED)]) as model:
        # No time for a proof, of which no model is told.
        result, told = await healed(model.settings(tmp_path), tests=tests)
    (held,) = [
        test for event in told if event.kind == "tests_frozen"
        for test in event.tests if test.origin == "held-out"
    ]
    assert name in held.name
    assert (result.outcome, result.strategy, result.proof) == ("healed", "model", "E2")
    sent = "".join(str(seen.json) for seen in model.server.seen)
    assert "def shout(words)" in sent and "A! B!" in sent
    assert not any(words in sent for words in secrets)


@pytest.mark.nightly
async def test_a_repair_that_is_too_large_to_be_kept_says_so(tmp_path: Path) -> None:
    async with claude(generator=fenced(f"{SOLVED}\n\n# {' '.join(NUMBERS)}\n")) as model:
        result, told = await healed(model.settings(tmp_path))
    assert result.outcome == "healed"
    assert any(event.kind == "notice" and LARGE in event.text for event in told)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("most", "tests", "tried", "fact", "is_at_odds"), [
    (1, FOUR_TESTS, "def shout(words):\n    return {'a b': 'A! B!', 'x': 'X!'}.get(words, '')\n",
     "held-out test", False),
    (2, "assert shout('x') == 'X!'\nassert shout('x' + '') == 'x'\nassert shout('') == ''\n",
     SOLVED, "2 of 3 tests", True),
    (2, HARD_TESTS, WRONG, "1 of 3 tests", False),
], ids=["fails what was held out", "tests that never pass together", "fails"])
async def test_a_run_that_stops_says_what_is_wrong_with_its_last_try(
    tmp_path: Path, most: int, tests: str, tried: str, fact: str, is_at_odds: bool
) -> None:
    async with claude(generator=fenced(tried)) as model:
        result, _ = await healed(
            model.settings(tmp_path, max_iterations=most, enable_search=False), tests=tests,
        )
    assert (result.outcome, result.stopped) == ("unresolved", "iterations")
    assert fact in result.reason
    assert ("contradict" in result.reason) is is_at_odds


async def test_a_held_out_test_quoted_in_the_task_proves_no_more(tmp_path: Path) -> None:
    async with claude(generator=fenced(SOLVED)) as model:
        result, _ = await healed(
            model.settings(tmp_path), tests=FOUR_TESTS,
            words=f"Each word in capitals with a mark: {FOUR_TESTS}",
        )
    assert (result.outcome, result.proof) == ("healed", "E1")


async def test_with_ollama_and_claude_the_generator_alone_is_local(tmp_path: Path) -> None:
    async with an_ollama() as local, claude() as far:
        env = {
            "OLLAMA_BASE_URL": local.server.url, "OLLAMA_MODEL": ollama.MODEL,
            "ANTHROPIC_BASE_URL": far.server.url, "ANTHROPIC_API_KEY": KEY,
        }
        result, told = await healed(settings(tmp_path, env, proof_s=0.0))
    assert result.provider == "ollama + anthropic"
    assert roles(told)["generator"] == f"ollama/{ollama.MODEL}"
    assert roles(told)["debugger"] == "anthropic/claude-sonnet-5-5"
    assert (local.asked, far.asked) == (["generator"], ["debugger", "critic", "memory_summariser"])
    assert (result.outcome, result.strategy) == ("healed", "model")
    assert result.cost_usd is not None
    assert result.cost_usd > 0
    assert all("authorization" not in seen.headers for seen in local.server.seen)


async def test_an_unknown_price_counts_tokens_and_no_dollars(tmp_path: Path) -> None:
    async with compatible() as model:
        env = {"OPENAI_BASE_URL": f"{model.server.url}/v1", "OPENAI_MODEL": openai.MODEL}
        result, told = await healed(settings(tmp_path, env, proof_s=0.0))
    assert roles(told) == dict.fromkeys(ROLES, f"custom/{openai.MODEL}")
    assert (result.outcome, result.provider, result.code) == ("healed", "custom", SOLVED)
    assert (result.tokens, result.cost_usd) == (4 * 120, None)
    assert document(result)["cost_usd"] is None
    calls = [event for event in told if event.kind == "model_called"]
    assert [call.cost_usd for call in calls] == [None] * 4


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


SOLVED_TOO = "def shout(text):\n    return ' '.join(f'{one.upper()}!' for one in text.split())\n"
SHOUT = "Write shout(words): capitals, and a mark after each word.\nshout('a') returns 'A!'."
PLATE = "Write plate(text): capitals, without blanks.\nplate('a b') returns 'AB'."
KEPT = "def plate(text):\n    return text.upper().replace(' ', '')\n"
LOST = "def plate(text):\n    return ''.join(one.upper() for one in text if one.isalnum())\n"


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("words", "drafts", "most_calls", "code", "calls", "agreed", "unsure"), [
    (SHOUT, [SOLVED, SOLVED_TOO], None, SOLVED, 2, True, None),
    (SHOUT, [WRONG, SOLVED, SOLVED_TOO], None, SOLVED, 3, True, None),
    (SHOUT, [SOLVED], "1", SOLVED, 1, False, ""),
    (SHOUT, [WRONG, SOLVED, HARD], None, WRONG, 3, False, "shout("),
    (PLATE, [LOST, KEPT, HARD], None, LOST, 3, False, "."),
], ids=[
    "two that behave alike are likelier right", "the one that most agree with is taken",
    "a cap allows no further one", "none agrees with another", "they differ by other characters",
])
async def test_the_drafts_of_a_small_model_are_compared(
    tmp_path: Path, words: str, drafts: list[str], most_calls: str | None, code: str, calls: int,
    agreed: bool, unsure: str | None,
) -> None:
    async with an_ollama(generator=[fenced(one) for one in drafts]) as model:
        env = {"OLLAMA_BASE_URL": model.server.url, "OLLAMA_MODEL": ollama.MODEL}
        if most_calls is not None:
            env["HEAL_BUDGET_CALLS"] = most_calls
        result, told = await healed(settings(tmp_path, env, proof_s=0.0), "", "", words)
    assert (result.outcome, result.code, result.calls) == ("healthy", code, calls)
    model_says = fitted().agreed_draft_probability if agreed else fitted().draft_probability
    assert result.confidence == pytest.approx(model_says)
    if unsure is not None:
        assert result.unsure and unsure in result.unsure
    if unsure == "shout(":
        assert any(isinstance(one, Notice) and one.level == "warning" for one in told)


@pytest.mark.nightly
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
