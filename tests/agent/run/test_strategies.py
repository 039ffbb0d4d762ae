"""What becomes of what a strategy proposes."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.events import RunFinished
from agent.healing.context import Context
from agent.healing.strategies import Attempt, Proposal
from agent.log.result import fold
from agent.run.nodes.repair import SEARCHES
from tests.agent.runs import healed, last

CODE = "def area(width, height):\n    return width + height\n"
TESTS = "assert area(2, 5) == 10\nassert area(1, 1) == 1"


async def end_of(folder: Path) -> RunFinished:
    return last(await healed(folder, CODE, TESTS))


def answering(code: str):  # type: ignore[no-untyped-def]
    async def strategy(attempt: Attempt, ctx: Context) -> Proposal:
        return Proposal(attempt.solution.with_text(code, note="a try"), "", 1)

    return strategy


async def test_a_strategys_word_is_not_enough(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SEARCHES, "search", answering(CODE.replace("+", "-")))
    end = await end_of(tmp_path)
    assert (end.outcome, end.code, end.diff) == ("unresolved", CODE, "")


async def test_the_best_program_judged_is_shown_and_called_no_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = "def area(width, height):\n    return width * height if width > 1 else 0\n"
    turns = iter([half, CODE.replace("+", "-")])

    async def worse_each_time(attempt: Attempt, ctx: Context) -> Proposal:
        code = next(turns, None)
        if code is None:
            return Proposal(None, "nothing found")
        return Proposal(attempt.solution.with_text(code, note="a try"), "")

    monkeypatch.setitem(SEARCHES, "search", worse_each_time)
    log = await healed(tmp_path, CODE, TESTS)

    best = fold(log).best
    assert best is not None
    assert (best.solution.text, best.passed, best.of) == (half, 1, 2)
    assert "+    return width * height if width > 1 else 0" in best.diff
    assert last(log).diff == ""
