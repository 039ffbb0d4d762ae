"""A real model heals and writes: run where `HEAL_TEST_GGUF` names a GGUF file of a code model
(made for Qwen2.5-Coder-1.5B-Instruct, Q4_K_M)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent import HealResult, SelfHealingAgent
from tests.test_colab import home, ran, said_by

__all__ = ["home"]

MODEL = os.environ.get("HEAL_TEST_GGUF", "")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not MODEL, reason="set HEAL_TEST_GGUF to a GGUF file of a code model"),
]

CRASH = 'print("About to crash")\n1 / 0\n'
EVEN_SUM = """\
def even_sum(numbers):
    total = 0
    for number in numbers:
        if number % 2 == 1:
            total += number
    return total
"""
SECOND = (
    "Write second_largest(values): the second largest of the distinct values, None where there "
    "is none. second_largest([3, 1, 2]) == 2 and second_largest([4, 4]) is None"
)


def healed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, task: str = "", **given: str
) -> HealResult:
    for name, value in {
        "LLM_PROVIDER": "llamacpp", "GGUF_MODEL": MODEL, "HEAL_DATA_DIR": str(folder / "data"),
        "HEAL_BUDGET_S": "900",
    }.items():
        monkeypatch.setenv(name, value)
    return SelfHealingAgent().run(task, **given)


def calls(result: HealResult) -> int:
    return sum(step.calls for step in result.metrics.values())


@pytest.mark.parametrize(("code", "tests"), [
    (CRASH, 'assert "Cannot divide by zero" in output'),
    (EVEN_SUM, "assert even_sum([1, 2, 3, 4]) == 6"),
], ids=["a crash that must print a message", "a wrong condition"])
def test_a_small_bug_is_healed_with_two_calls_at_most(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, tests: str
) -> None:
    result = healed(tmp_path, monkeypatch, code=code, tests=tests)
    assert result.outcome in {"healed", "proposed"}, result.reason
    assert calls(result) <= 2


def test_words_become_a_tested_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = healed(tmp_path, monkeypatch, SECOND)
    assert result.outcome in {"healthy", "healed", "proposed"}, result.reason
    written: dict[str, object] = {}
    exec(result.code, written)
    assert written["second_largest"]([5, 9, 9, 7]) == 7  # type: ignore[operator]
    assert calls(result) <= 6


def test_the_notebook_writes_with_the_model(home: Path) -> None:
    shown = said_by(ran(home, MODEL=MODEL), "userdata")
    assert "def median" in shown
    assert "llamacpp" in shown
