"""A small model's drafts from words: which is taken, and how likely it is right."""

from __future__ import annotations

from typing import cast

import pytest

from agent.core.domain import Estimate, File, Solution, Task
from agent.iteration.context import Context
from agent.propose import drafting
from agent.propose.drafting import FURTHER, MAX_DRAFTS, compared
from agent.propose.roles import GENERATOR
from llm.plan import Choice, ModelPlan
from sandbox import open_sandbox
from tests.agent.propose.test_rewriting import CASE, Surroundings, whole
from tests.llm.scripted import Answer, Scripted

FAILS, PASSES = "def f():\n    return 1\n", "def f():\n    return 2\n"


async def drafted(first: str, *others: str) -> tuple[str, Estimate | None, int]:
    """The draft that is taken, its estimate, and how many further ones were asked for."""
    model = Scripted([Answer((whole(text),)) for text in others])
    plan = ModelPlan("llamacpp", "", (Choice(GENERATOR, "llamacpp", "m", ""),))
    here = Surroundings(model, plan, Task(text="f gives two"))
    solution = Solution(files=(File(path="f.py", text=first),), entry="f.py", origin="model")
    taken, estimate = await compared(cast(Context, here), solution, (CASE,))
    return taken.text, estimate, len(model.asked)


async def test_further_drafts_are_asked_for_until_one_passes() -> None:
    text, estimate, asked = await drafted(FAILS, *(FAILS,) * (MAX_DRAFTS - 2), PASSES)

    assert (text, asked) == (PASSES, MAX_DRAFTS - 1)
    assert estimate is not None


async def test_a_first_draft_that_fails_stays_where_no_other_passes() -> None:
    assert await drafted(FAILS, *(FAILS,) * MAX_DRAFTS) == (FAILS, None, MAX_DRAFTS - 1)


async def test_a_draft_that_none_agrees_with_is_unlikely_to_be_right() -> None:
    _, estimate, asked = await drafted(PASSES, *(FAILS,) * FURTHER)

    assert asked == FURTHER
    assert estimate is not None and estimate.probability < 0.5


async def test_a_mended_draft_needs_a_second_that_agrees(monkeypatch: pytest.MonkeyPatch) -> None:
    async def around(_: object, __: object, draft: Solution, ___: object) -> tuple[Solution, int]:
        return draft.with_text(PASSES, origin="search"), 7

    monkeypatch.setattr(drafting, "around", around)
    monkeypatch.setattr(Surroundings, "sandbox", open_sandbox(), raising=False)
    monkeypatch.setattr(Surroundings, "test_s", 5.0, raising=False)
    alone, agreed = await drafted(FAILS, FAILS, FAILS), await drafted(FAILS, PASSES, PASSES)

    assert (alone[0], alone[2]) == (PASSES, FURTHER)
    assert alone[1] is not None and agreed[1] is not None
    assert alone[1].probability < 0.5 < agreed[1].probability
    assert agreed[2] == 1
