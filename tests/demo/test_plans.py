"""Who answers, and what it may cost, as readers see it."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from agent.core.domain import Jail
from agent.core.settings import ROLES
from agent.healing.context import PROMPTS
from agent.healing.models import WITHOUT_MODEL
from agent.log.spending import CostEstimate, estimate_costs
from demo.models.plans import chosen_plan_html, cost_html, keys_html, missing_plan_html
from llm import Plan, Secret, resolve
from llm.asking.prompts import Prompts
from llm.budget import Caps
from llm.prices import our_prices

JAIL = Jail(words="a jail")
CAPS = Caps(usd=0.5, tokens=200_000, calls=40)


def plan(*keys: str, **wanted: Any) -> Plan:
    return resolve({key: Secret("k") for key in keys}, ROLES, without=WITHOUT_MODEL, **wanted)


def test_every_role_has_a_row_with_its_model_and_why() -> None:
    shown = chosen_plan_html(plan("ANTHROPIC_API_KEY", by_role={"critic": "mock"}), JAIL)
    assert shown.count("<li>") == len(ROLES)
    assert "<b>qa adversary</b> <code>anthropic/claude-haiku-5-5</code>" in shown
    assert "<b>critic</b> <code>no model</code> <span>set for this role: mock</span>" in shown


def test_what_stands_in_and_what_must_be_known_is_shown() -> None:
    shown = chosen_plan_html(
        plan("GROQ_API_KEY", provider="ollama", fallbacks=("groq/m",)), JAIL
    )
    assert "<b>stands in</b> <code>groq/m</code>" in shown
    assert '<p class="note">There is no key for Claude' in shown


def test_a_plan_without_a_model_has_its_words_and_no_rows_and_none_at_all_its_sentence() -> None:
    shown = chosen_plan_html(plan(), JAIL)
    assert "no model: memory and search only" in shown
    assert "Who answers" not in shown
    shown = missing_plan_html("it needs <a key>", JAIL)
    assert '<span class="badge">no plan</span>' in shown
    assert "<p>it needs &lt;a key&gt;</p>" in shown


def test_what_a_run_may_cost_is_said_before_it_and_what_is_unknown_too() -> None:
    shown = cost_html(CAPS, [
        CostEstimate("generator", "custom/m", 5_000, None),
        CostEstimate("critic", "ollama/m", 900, 0.0),
    ])
    assert "40 calls a run, if “Options” say nothing else; nothing is spent" in shown
    assert "<b>generator</b> <span>5,000 tokens, cost unknown</span>" in shown
    assert "<b>critic</b> <span>900 tokens, $0.00</span>" in shown
    assert cost_html(CAPS, []) == ""


def test_keys_at_hand_are_named_and_never_shown() -> None:
    assert "at hand: anthropic, groq." in keys_html(["ANTHROPIC_API_KEY", "GROQ_API_KEY"])
    assert "none." in keys_html([])


DAY = date(2026, 11, 1)


def test_a_longer_program_may_cost_more_and_a_role_without_a_model_nothing() -> None:
    found = plan("ANTHROPIC_API_KEY", by_role={"critic": "mock"})
    short = estimate_costs(found, our_prices(), Prompts(PROMPTS), "x = 1", DAY)
    long = estimate_costs(found, our_prices(), Prompts(PROMPTS), "x = 1\n" * 1_000, DAY)
    assert [one.role for one in short] == [role for role in ROLES if role != "critic"]
    for before, after in zip(short, long, strict=True):
        assert after.tokens - before.tokens >= 1_900
        assert before.usd is not None
        assert after.usd is not None
        assert after.usd > before.usd > 0


@pytest.mark.parametrize(("provider", "usd"), [("ollama", 0.0), ("custom", None)])
def test_a_local_model_costs_nothing_and_an_unknown_one_nobody_knows_what(
    provider: str, usd: float | None
) -> None:
    found = plan(provider=provider, given=
        {"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "OPENAI_MODEL": "m"})
    foreseen = estimate_costs(found, our_prices(), Prompts(PROMPTS), "x = 1", DAY)
    assert {one.usd for one in foreseen} == {usd}


def test_room_for_thoughts_is_foreseen_where_a_model_may_think() -> None:
    thinks, not_ = (
        estimate_costs(
            plan("OPENAI_API_KEY", provider="openai", model=model), our_prices(),
            Prompts(PROMPTS), "", DAY,
        )[0].tokens
        for model in ("gpt-5.4-mini", "gpt-4o")
    )
    assert thinks - not_ == 4_096
