"""What becomes of what a strategy proposes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.healing.context import Context
from agent.healing.strategies import Attempt, Proposal
from agent.log.result import fold
from agent.run.nodes import repair
from tests.agent.runs import healed, last

CODE = "def area(width, height):\n    return width + height\n"
TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1"


async def test_a_strategys_word_is_not_enough_and_its_best_is_shown_and_called_no_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = "def area(width, height):\n    return width * height if width > 1 else 0\n"
    turns = iter([half, CODE.replace("+", "-")])

    async def worse_each_time(attempt: Attempt, ctx: Context) -> Proposal:
        code = next(turns, None)
        if code is None:
            return Proposal(None, "nothing found")
        return Proposal(attempt.solution.with_text(code, note="a try"), "")

    monkeypatch.setattr(repair, "by_search", worse_each_time)
    log = await healed(tmp_path, CODE, TESTS)
    end, best = last(log), fold(log).best
    assert (end.outcome, end.code, end.diff) == ("unresolved", CODE, "")
    assert best is not None
    assert (best.solution.text, best.passed, best.of) == (half, 1, 2)
    assert "+    return width * height if width > 1 else 0" in best.diff
