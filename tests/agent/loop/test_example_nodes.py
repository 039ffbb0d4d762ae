"""The two example steps, in runs: off by default, and what they do where they are on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.report.result import Result
from tests.agent.claude import claude, fenced
from tests.agent.model_runs import HARD, HARD_TESTS, SOLVED, healed

MORE_TESTS = HARD_TESTS + "assert shout('q r s') == 'Q! R! S!'\nassert shout('k l') == 'K! L!'\n"
RISKY = SOLVED.replace("return ", "return eval(repr(").rstrip() + "))\n"
WASTEFUL = "import os\n\n\n" + SOLVED + "    print(words)\n"


async def told(folder: Path, code: str, words: str = "", **flags: object) -> tuple[Result, Any]:
    async with claude(generator=fenced(code)) as model:
        settings = model.settings(folder, enable_search=False, proof_s=0.0, **flags)
        return await healed(settings, "" if words else HARD, MORE_TESTS, words)


@pytest.mark.parametrize(("code", "on", "proof"), [
    (RISKY, False, "E2"), (RISKY, True, "E1"), (SOLVED, True, "E2"),
])
async def test_a_risky_call_that_a_repair_brings_is_named_and_doubted(
    tmp_path: Path, code: str, on: bool, proof: str
) -> None:
    result, _ = await told(tmp_path, code, enable_security_check=on)
    assert (result.outcome, result.code, result.proof) == ("healed", code, proof)
    named = [one for one in result.notices if "solution.py:2" in one.text and "eval" in one.text]
    assert len(named) == (proof == "E1")
    assert ("inspect" in result.metrics) == on


@pytest.mark.parametrize("words", ["", "Write shout(words)."])
async def test_examples_that_can_never_run_are_dropped(tmp_path: Path, words: str) -> None:
    left, _ = await told(tmp_path / "off", WASTEFUL, words)
    assert left.code == WASTEFUL
    result, _ = await told(tmp_path / "on", WASTEFUL, words, enable_simplifier=True)
    assert result.code == "\n\n" + SOLVED
    assert result.outcome == left.outcome == ("healthy" if words else "healed")
    assert result.report is not None
    assert result.report.passed
    assert "-import os" in "".join(one.text for one in result.notices)
