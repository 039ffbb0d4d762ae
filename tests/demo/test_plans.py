"""Who answers, and what it may cost, as readers see it."""

from __future__ import annotations

import re
from datetime import date
from typing import Any

import pytest

from agent.core.domain import JailStatus
from agent.core.settings import ROLES
from agent.iteration.context import PROMPTS
from agent.iteration.models import WITHOUT_MODEL
from agent.log.spending import CostEstimate, estimate_costs
from demo.models.plans import chosen_plan_html, cost_html
from llm import ModelPlan, Secret, resolve
from llm.asking.prompts import Prompts
from llm.budget import Caps
from llm.prices import default_prices

JAIL = JailStatus(words="a jail")
CAPS = Caps(usd=0.5, tokens=200_000, calls=40)


def plan(*keys: str, **wanted: Any) -> ModelPlan:
    return resolve(
        {key: Secret("k") for key in keys}, ROLES, no_model_reason=WITHOUT_MODEL, **wanted
    )


def test_a_plan_shows_each_role_and_what_stands_in() -> None:
    shown = chosen_plan_html(plan("ANTHROPIC_API_KEY", by_role={"critic": "mock"}), JAIL)
    rows = re.findall(r"<li><b>(.*?)</b> <code>(.*?)</code> <span>(.*?)</span>", shown)
    assert len(rows) == len(ROLES) and all(why for _, _, why in rows)
    assert {role for role, by, _ in rows if not by.startswith("anthropic/claude-")} == {"critic"}
    assert 'class="who"' not in chosen_plan_html(plan(), JAIL)

    shown = chosen_plan_html(plan("GROQ_API_KEY", provider="ollama", fallbacks=("groq/m",)), JAIL)
    assert "<code>groq/m</code>" in shown and '<p class="note">' in shown


def test_what_a_run_may_cost_is_said_before_it_and_what_is_unknown_too() -> None:
    shown = cost_html(CAPS, [
        CostEstimate("generator", "custom/m", 5_000, None),
        CostEstimate("critic", "ollama/m", 900, 0.0),
    ])
    first, second = re.findall(r"<li><b>\w+</b> <span>(.*?)</span>", shown)
    assert ("5,000" in first, "$" in first, "$0.00" in second) == (True, False, True)
    assert [fact for fact in ("$0.50", "200,000", "40") if fact not in shown] == []
    assert cost_html(CAPS, []) == ""


DAY = date(2026, 11, 1)


def test_costs_grow_with_the_program_and_with_thoughts() -> None:
    found = plan("ANTHROPIC_API_KEY", by_role={"critic": "mock"})
    short = estimate_costs(found, default_prices(), Prompts(PROMPTS), "x = 1", DAY)
    long = estimate_costs(found, default_prices(), Prompts(PROMPTS), "x = 1\n" * 1_000, DAY)
    assert [one.role for one in short] == [role for role in ROLES if role != "critic"]
    for before, after in zip(short, long, strict=True):
        assert after.tokens - before.tokens >= 1_900
        assert before.usd is not None
        assert after.usd is not None
        assert after.usd > before.usd > 0

    thinks, not_ = (
        estimate_costs(
            plan("OPENAI_API_KEY", provider="openai", model=model), default_prices(),
            Prompts(PROMPTS), "", DAY,
        )[0].tokens
        for model in ("gpt-5.4-mini", "gpt-4o")
    )
    assert thinks - not_ == 4_096


@pytest.mark.parametrize(("provider", "usd"), [("ollama", 0.0), ("custom", None)])
def test_local_models_are_free_and_unknown_prices_unknown(provider: str, usd: float | None) -> None:
    found = plan(provider=provider, given=
        {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_MODEL": "m"})
    predicted = estimate_costs(found, default_prices(), Prompts(PROMPTS), "x = 1", DAY)
    assert {one.usd for one in predicted} == {usd}
