"""Plans, keys and providers of a session."""

from __future__ import annotations

from typing import Any

import pytest

from agent.core.domain import Value
from agent.core.settings import GENERATOR, ROLES, Settings
from agent.iteration.models import LOCAL_USER, MAX_BREAKERS, BadKey, Models, visitor_id
from agent.propose.roles import ROLES as FORMS
from llm import Connection, ModelPlan, NoProvider
from llm.errors import NeedsKey
from llm.plan import Choice
from tests.llm.scripted import Scripted

ANNA, BEN = visitor_id("anna's word"), visitor_id("ben's word")


def models(opened: list[Connection] | None = None, **env: str) -> Models:
    def opener(connection: Connection) -> Any:
        if opened is not None:
            opened.append(connection)
        return Scripted(name=connection.provider, model=connection.model)

    return Models(Settings.from_env(env), opener)


def test_a_visitor_is_identified_by_a_hash_and_the_owner_by_none() -> None:
    assert visitor_id("") == ""
    assert "anna" not in ANNA
    assert ANNA != BEN


def test_visitors_use_their_own_keys_and_those_of_the_host_only_if_allowed() -> None:
    for host_keys, expected in ((True, ("ANTHROPIC_API_KEY", "GROQ_API_KEY")),
                                (False, ("GROQ_API_KEY",))):
        settings = Settings.from_env({"ANTHROPIC_API_KEY": "host"}, host_keys=host_keys)
        found = Models(settings)
        found.add_key(ANNA, "GROQ_API_KEY", "hers")
        assert found.available_keys(ANNA) == expected
        assert found.available_keys(BEN) == expected[:-1]
        assert "ANTHROPIC_API_KEY" in found.available_keys(LOCAL_USER)


def test_the_base_url_reaches_a_provider_that_is_named_explicitly() -> None:
    opened: list[Connection] = []
    found = models(
        opened, LLM_PROVIDER="llama-server", OPENAI_BASE_URL="http://127.0.0.1:9/v1",
        OPENAI_MODEL="m",
    )
    found.provider(found.plan().choices[0], LOCAL_USER)
    assert [(one.provider, one.base_url) for one in opened] == [
        ("llama-server", "http://127.0.0.1:9/v1")
    ]


@pytest.mark.parametrize("text", [
    "two words", "line\nbreak", "ключ", "tab\there", "sk-änt", "k" * 1_001,
])
def test_what_cannot_be_a_key_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(BadKey) as caught:
        models().add_key(ANNA, "GROQ_API_KEY", text)
    assert text not in str(caught.value)
    with pytest.raises(BadKey, match="PATH"):
        models().add_key(ANNA, "PATH", "x")


def test_the_oldest_keys_are_removed_first() -> None:
    held = Models(Settings.from_env({}), most_visitors=4)
    for visitor in (LOCAL_USER, "one", "two", "three", "one", "the last"):
        held.add_key(visitor, "GROQ_API_KEY", f"key-of-{visitor}".replace(" ", "-"))
    assert held.available_keys("two") == ()
    assert [held.available_keys(one) for one in (LOCAL_USER, "one", "three", "the last")] == (
        [("GROQ_API_KEY",)] * 4
    )
    held.add_key("one", "GROQ_API_KEY", " ")
    assert held.available_keys("one") == ()


def test_the_number_of_breakers_is_limited() -> None:
    held = models()
    choices = [Choice("critic", "anthropic", f"model-{n}", "") for n in range(MAX_BREAKERS + 5)]
    for choice in choices:
        held.breaker(choice, ANNA)
    assert len(held._breakers) == MAX_BREAKERS
    oldest = held.breaker(choices[5], ANNA)
    assert held.breaker(choices[5], ANNA) is oldest
    assert len(held._breakers) == MAX_BREAKERS


def test_a_missing_key_is_named() -> None:
    found = models()
    found.add_key(ANNA, "ANTHROPIC_API_KEY", "hers")
    plan = found.plan(ANNA)
    assert (plan.provider, found.missing_key(plan, ANNA)) == ("anthropic", "")
    found.forget(ANNA)
    assert "ANTHROPIC_API_KEY" in found.missing_key(plan, ANNA)
    with pytest.raises(NeedsKey):
        found.provider(plan.choices[0], ANNA)


def test_a_plan_survives_serialization() -> None:
    class Kept(Value):
        plan: ModelPlan

    plan = models(ANTHROPIC_API_KEY="k", OLLAMA_MODEL="m", LLM_FALLBACK="ollama/n").plan()
    assert Kept.from_json(Kept(plan=plan).to_json()).plan == plan


def test_a_plan_without_a_generator_has_a_note() -> None:
    (note,) = models(LLM_ROLES="debugger=ollama/a").plan().notes
    assert "generator" in note


async def test_a_key_is_tested_by_listing_models() -> None:
    opened: list[Connection] = []
    assert await models(opened, GROQ_API_KEY="k").test_key("", "groq") == ("any",)
    assert [one.provider for one in opened] == ["groq"]
    with pytest.raises(NoProvider, match="GEMINI_API_KEY"):
        await models().test_key("", "gemini")


async def test_only_a_model_of_this_process_is_warmed() -> None:
    opened: list[Connection] = []
    await models(opened, ANTHROPIC_API_KEY="k", OLLAMA_MODEL="m").warm()
    assert opened == []
    await models(opened, HF_MODEL="tiny").warm()
    assert [one.model for one in opened] == ["tiny"]


def test_every_role_with_a_form_is_in_the_plan() -> None:
    assert sorted(ROLES) == sorted([GENERATOR, *(role.name for role in FORMS)])


async def test_a_key_for_ollama_goes_to_it_and_is_not_needed() -> None:
    opened: list[Connection] = []
    for env in ({}, {"OLLAMA_API_KEY": "k"}):
        found = models(opened, OLLAMA_MODEL="m", **env)
        await found.provider(found.plan().choices[0], "").close()
    assert [one.key.reveal() for one in opened] == ["", "k"]
