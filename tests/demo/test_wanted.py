"""What visitors may ask for, here and on a page that strangers reach."""

from __future__ import annotations

import pytest

from demo.wanted import BadModelChoice, ModelChoice, keyed, offered


def test_nothing_wanted_changes_nothing() -> None:
    assert ModelChoice().by_role(public=True) == {}


def test_roles_are_read_as_the_settings_read_them() -> None:
    wanted = ModelChoice("anthropic", "claude-x", "debugger=groq/a/b, critic = mock")
    assert wanted.by_role(public=True) == {"debugger": "groq/a/b", "critic": "mock"}


@pytest.mark.parametrize("wanted", [
    ModelChoice(provider="ollama"), ModelChoice(provider="huggingface"),
    ModelChoice(provider="vllm"), ModelChoice(provider="custom"),
    ModelChoice(roles="generator=huggingface/some/weights"),
    ModelChoice(roles="critic=lmstudio"), ModelChoice(provider="http://10.0.0.1/v1"),
])
def test_a_stranger_makes_the_host_ask_nothing_of_its_own_network_and_load_nothing(
    wanted: ModelChoice,
) -> None:
    with pytest.raises(BadModelChoice, match="is not offered on this page"):
        wanted.by_role(public=True)


def test_on_ones_own_machine_local_models_can_be_chosen() -> None:
    assert ModelChoice("ollama", "qwen3:4b", "critic=lmstudio/m").by_role(public=False)
    assert {"ollama", "huggingface", "custom"} <= set(offered(public=False))


@pytest.mark.parametrize(("wanted", "said"), [
    (ModelChoice(roles="planner"), "cannot be read: 'planner': write it as"),
    (ModelChoice(model="m"), "together with its provider"),
    (ModelChoice("mock", "m"), "together with its provider"),
    (ModelChoice("anthropic", "m" * 201), "longer than any name"),
    (ModelChoice("anthropic", "m\nn"), "plain characters"),
    (ModelChoice("nobody"), "'nobody' is not offered on this page; there are mock, anthropic"),
])
def test_what_cannot_be_read_is_said(wanted: ModelChoice, said: str) -> None:
    with pytest.raises(BadModelChoice, match=said):
        wanted.by_role(public=False)


def test_every_provider_that_takes_a_key_is_offered_with_its_variable() -> None:
    assert keyed(public=True) == {
        "anthropic": "ANTHROPIC_API_KEY", "openai": "OPENAI_API_KEY", "groq": "GROQ_API_KEY",
        "gemini": "GEMINI_API_KEY", "qwen": "QWEN_API_KEY", "hf-router": "HF_TOKEN",
    }
    assert keyed(public=False)["custom"] == "LLM_API_KEY"
