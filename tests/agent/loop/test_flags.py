"""Every flag of `AgentConfig` changes what a run does: the same run, with it and without."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent import AgentConfig, SelfHealingAgent
from agent.core.events import Critiqued, IterationEnded, TestsFrozen
from agent.core.settings import Settings
from agent.report.result import Result
from tests.agent.claude import claude, fenced
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, healed

WORDS = "Write shout(words), which gives each word in capitals with an exclamation mark after it."
SPECS = json.dumps({"examples": [{"call": "shout('a')", "expected": "'A!'"}]})
WRONG_SPECS = json.dumps({"examples": [{"call": "shout('a')", "expected": "'A'"}]})
CALLS = json.dumps({"calls": [{"why": "empty", "call": "shout('')"}]})
SAME = "def f(x):\n    return x\n"
Seen = Callable[[Result, list[Any], list[str]], object]


def asks(role: str) -> Seen:
    return lambda result, events, asked: role in asked


def rounds(result: Result, events: list[Any], asked: list[str]) -> list[str]:
    return [one.approach for one in events if isinstance(one, IterationEnded)]


def origins(result: Result, events: list[Any], asked: list[str]) -> set[str]:
    return {test.origin for one in events if isinstance(one, TestsFrozen) for test in one.tests}


def reviews(result: Result, events: list[Any], asked: list[str]) -> int:
    """Reviews in the model's own words."""
    return sum(isinstance(one, Critiqued) and one.note == "reads well" for one in events)
SUBMITTED = {"code": HARD, "tests": HARD_TESTS, "generator": fenced(SOLVED)}
DRAFTED = {"words": WORDS, "generator": fenced(SOLVED), "spec_tester": SPECS, "qa_adversary": CALLS}
UNFLAGGED: dict[int, tuple[Result, list[Any], list[str]]] = {}
"""How each of these runs ends without a flag: it is made once."""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("run", "flag", "seen", "before", "after"), [
    (DRAFTED, {"enable_spec_tests": False}, origins, {"spec", "adversarial"}, {"adversarial"}),
    (DRAFTED, {"enable_adversarial_tests": False}, origins, {"spec", "adversarial"}, {"spec"}),
    ({**DRAFTED, "spec_tester": WRONG_SPECS, "arbiter": SPECS}, {"enable_arbitration": False},
     asks("arbiter"), True, False),
    (SUBMITTED, {"enable_critic": False}, reviews, 1, 0),
    (SUBMITTED, {"enable_search": False}, rounds, ["search", "minimal"], ["minimal"]),
], ids=lambda given: next(iter(given)) if isinstance(given, dict) and len(given) == 1 else "")
async def test_a_flag_changes_what_a_run_does(
    tmp_path: Path, run: dict[str, Any], flag: dict[str, object], seen: Seen, before: object,
    after: object,
) -> None:
    if id(run) not in UNFLAGGED:
        UNFLAGGED[id(run)] = await told(tmp_path / "before", {}, **run)
    assert seen(*UNFLAGGED[id(run)]) == before
    assert seen(*await told(tmp_path / "after", flag, **run)) == after


@pytest.mark.parametrize(("expected", "is_said"), [("'A!'", False), ("print", True)])
async def test_only_examples_that_cannot_be_used_are_reported(
    tmp_path: Path, expected: str, is_said: bool
) -> None:
    specs = json.dumps({"examples": [{"call": "shout('a')", "expected": expected}]})
    words = f"{WORDS}\n\n>>> shout('a')\n'A!'\n"
    result, _, asked = await told(tmp_path, {}, **{**DRAFTED, "words": words, "spec_tester": specs})
    assert "spec_tester" in asked
    assert any("1 of 1 example " in one.text for one in result.notices) is is_said


async def told(
    folder: Path, flag: dict[str, object], code: str = "", tests: str = "", words: str = "",
    given: dict[str, object] | None = None, **said: Any,
) -> tuple[Result, list[Any], list[str]]:
    copied = {role: [*one] if isinstance(one, list) else one for role, one in said.items()}
    async with claude(**copied) as model:
        settings = model.settings(folder, **{"proof_s": 0.0, **(given or {}), **flag})
        result, events = await healed(settings, code, tests, words)
        return result, events, model.asked


async def test_without_a_model_and_a_search_the_run_says_what_is_off(tmp_path: Path) -> None:
    settings = Settings.from_env({}, provider="mock", data_dir=tmp_path, enable_search=False)
    result, _ = await healed(settings)
    assert (result.outcome, result.stopped) == ("unresolved", "no_model")


async def test_what_one_run_learned_another_uses_only_where_memory_is_on(tmp_path: Path) -> None:
    broken, tests = "def add(a, b):\n    return a - b\n", "assert add(2, 3) == 5"

    async def strategy(**flag: bool) -> tuple[str | None, tuple[str, ...]]:
        settings = Settings.from_env(
            {}, provider="mock", data_dir=tmp_path, proof_s=0.0, require_confidence=0.0, **flag
        )
        result, _ = await healed(settings, broken, tests)
        return result.strategy, result.lessons

    off: tuple[str, tuple[str, ...]] = ("search", ())
    assert await strategy(enable_cross_session_memory=False) == off  # and nothing is kept of it:
    learned = await strategy()
    assert (learned[0], len(learned[1])) == ("search", 1)
    assert await strategy(enable_cross_session_memory=False) == off
    assert (await strategy())[0] == "memory"


def test_arguments_win_over_config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAL_MAX_ITERATIONS", "7")
    monkeypatch.setenv("HEAL_CRITIC", "0")
    config = AgentConfig(max_iterations=3, data_dir=tmp_path)
    assert SelfHealingAgent().settings().max_iterations == 7
    settings = SelfHealingAgent(config=config).settings()
    assert (settings.max_iterations, settings.enable_critic, settings.data_dir) == (
        3, False, tmp_path
    )
    assert SelfHealingAgent(max_iterations=2, config=config).settings().max_iterations == 2
    result = SelfHealingAgent("mock", config=config).run(code=SAME, tests="assert f(1) == 1")
    assert result.max_iterations == 3


def test_a_flag_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="enable_critc"):
        AgentConfig(enable_critc=False)
