"""Who answers whom: the routing of the project, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from llm import ModelPlan, NoProvider, Secret, resolve
from llm.errors import NeedsKey
from llm.plan import Choice, Roles, connection, parameters_b, parse_roles, with_preset
from llm.provider import MOCK, PROVIDERS
from llm.providers.wire import on_this_machine

CLAUDE, FASTER = "anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-5-5"
ROLES: Roles = {
    "generator": "write", "debugger": "think", "critic": "think", "spec_tester": "list",
}
THINKING = tuple(role for role in ROLES if role != "generator")
OLLAMA, HF = {"OLLAMA_GENERATOR_MODEL": "llama3.2:3b"}, {"HF_MODEL": "h"}
ELSEWHERE = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "OPENAI_MODEL": "m"}


def keys(*names: str) -> dict[str, Secret]:
    return {name: Secret(f"key-of-{name}") for name in names}


def plan(*key_names: str, **wanted: Any) -> ModelPlan:
    return resolve(keys(*key_names), ROLES, **wanted)


@pytest.mark.parametrize(("provider", "variable"), [
    ("custom", "OPENAI_BASE_URL"), ("auto", "OPENAI_BASE_URL"), ("vllm", "OPENAI_BASE_URL"),
    ("anthropic", "ANTHROPIC_BASE_URL"), ("ollama", "OLLAMA_BASE_URL"),
])
def test_an_address_that_is_none_is_refused_by_the_plan(provider: str, variable: str) -> None:
    given = {"OPENAI_MODEL": "m", "OPENAI_PRESET": "vllm" if provider == "vllm" else "custom"}
    with pytest.raises(NoProvider, match=variable):
        plan("ANTHROPIC_API_KEY" if provider == "anthropic" else "", provider=provider,
             given={**given, variable: "ftp://x"})


def by_role(found: ModelPlan) -> dict[str, str]:
    return {choice.role: choice.words for choice in found.choices}


def claude(*roles: str) -> dict[str, str]:
    return {role: FASTER if ROLES[role] == "list" else CLAUDE for role in roles}


def test_nothing_configured_is_the_plan_without_a_model() -> None:
    found = plan()
    assert (found.provider, found.has_model, found.choices) == ("mock", False, ())


@pytest.mark.parametrize("local", ["ollama", "huggingface"])
def test_a_local_provider_takes_the_generator_and_claude_thinks(local: str) -> None:
    found = plan("ANTHROPIC_API_KEY", provider=local)
    models = {"ollama": "llama3.2:3b", "huggingface": "meta-llama/Llama-3.2-3B-Instruct"}
    assert by_role(found) == {"generator": f"{local}/{models[local]}", **claude(*THINKING)}
    assert found.provider == f"{local} + anthropic"
    assert found.notes == ()


@pytest.mark.parametrize("local", ["ollama", "llamacpp", "huggingface"])
def test_without_a_key_for_claude_a_local_model_writes_and_rules_do_the_rest(local: str) -> None:
    found = plan("OPENAI_API_KEY", provider=local)
    assert {choice.role for choice in found.choices if choice.uses_model} == {"generator"}
    assert (found.provider, len(found.notes)) == (local, 1)

    given = plan("OPENAI_API_KEY", provider=local, by_role={"critic": local})
    assert {choice.role for choice in given.choices if choice.uses_model} == {"generator", "critic"}


def test_the_size_of_a_model_decides_its_roles() -> None:
    found = plan(provider="ollama", model="qwen2.5-coder:32b")
    assert {one.model for one in found.choices} == {"qwen2.5-coder:32b"}
    assert not found.choices[0].is_small
    assert not found.notes

    found = plan("ANTHROPIC_API_KEY", provider="llama-server", model="qwen2.5-coder-1.5b-instruct")
    assert {
        one.role: one.is_small for one in found.choices if one.uses_model
    } == {"generator": True}
    assert len(found.notes) == 1


@pytest.mark.parametrize(("model", "size"), [
    ("qwen2.5-coder:1.5b", 1.5), ("Qwen/Qwen2.5-Coder-3B-Instruct-GGUF:q4_k_m.gguf", 3.0),
    ("/models/32b/qwen2.5-coder-7b-q4.gguf", 7.0), ("mixtral-8x7b", 56.0), ("qwen3-30b-a3b", 30.0),
    ("claude-haiku-5-5", None), ("gpt-4o-mini", None), ("model-4bit", None),
])
def test_the_size_of_a_model_is_read_from_its_name(model: str, size: float | None) -> None:
    assert parameters_b(model) == size


def test_anthropic_takes_every_role() -> None:
    found = plan("ANTHROPIC_API_KEY", provider="anthropic", given=OLLAMA)
    assert by_role(found) == claude(*ROLES)


@pytest.mark.parametrize(("given", "key_names", "provider"), [
    (OLLAMA, ["ANTHROPIC_API_KEY"], "ollama + anthropic"),
    (HF, ["ANTHROPIC_API_KEY"], "huggingface + anthropic"),
    (OLLAMA | HF, [], "ollama"),
    (HF, [], "huggingface"),
    ({}, ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"], "anthropic"),
    ({}, ["OPENAI_API_KEY"], "openai"),
    ({}, ["HF_TOKEN"], "mock"),
    ({"OLLAMA_NUM_CTX": 4_096}, [], "mock"),
])
def test_auto_is_the_best_of_what_is_configured(
    given: dict[str, Any], key_names: list[str], provider: str
) -> None:
    found = plan(*key_names, given=given)
    assert found.provider == provider
    assert found.why


def test_auto_says_so_when_a_server_is_configured_without_a_model() -> None:
    found = plan("GROQ_API_KEY")
    assert not found.has_model and "groq" in found.why and "OPENAI_MODEL" in found.why
    assert by_role(plan("GROQ_API_KEY", given={"OPENAI_MODEL": "m"}))["critic"] == "groq/m"


def test_any_address_that_speaks_like_openai_is_a_provider() -> None:
    assert by_role(plan(given=ELSEWHERE))["debugger"] == "custom/m"


@pytest.mark.parametrize("own", ["llama-server", "vllm", "lmstudio"])
def test_a_server_that_takes_no_key_is_asked_where_the_address_says(own: str) -> None:
    given = with_preset(own, ELSEWHERE)
    found = plan(provider=own, given=given)
    assert (by_role(found)["critic"], found.notes) == (f"{own}/m", ())
    assert connection(found.choices[0], given, {}).base_url == ELSEWHERE["OPENAI_BASE_URL"]
    # Nobody has named another address, or another server has it.
    for told in ({"OPENAI_MODEL": "m"}, {**ELSEWHERE, "OPENAI_PRESET": "custom"}):
        assert with_preset(own, told) is told


def test_an_address_that_nobody_is_asked_at_is_named() -> None:
    found = plan("GROQ_API_KEY", provider="groq", given=with_preset("groq", ELSEWHERE))
    assert connection(found.choices[0], ELSEWHERE, keys("GROQ_API_KEY")).base_url == ""
    assert "OPENAI_BASE_URL" in found.notes[0] and "LLM_PROVIDER=custom" in found.notes[0]
    used = plan("GROQ_API_KEY", provider="groq", given=ELSEWHERE, fallbacks=("custom/m",))
    other = plan("ANTHROPIC_API_KEY", provider="anthropic", given=ELSEWHERE)
    assert used.notes == other.notes == ()


def test_a_key_goes_only_to_its_own_provider() -> None:
    found = connection(plan(given=ELSEWHERE).choices[0], ELSEWHERE, keys("OPENAI_API_KEY"))
    assert (found.base_url, bool(found.key)) == ("http://127.0.0.1:9/v1", False)
    assert "OPENAI_API_KEY" in plan("OPENAI_API_KEY", given=ELSEWHERE).notes[0]

    given = keys("GROQ_API_KEY", "LLM_API_KEY")
    (stand_in,) = plan(*given, given=ELSEWHERE, fallbacks=("groq/m",)).fallbacks
    reached = connection(stand_in, ELSEWHERE, given)
    assert (reached.base_url, reached.key) == ("", given["GROQ_API_KEY"])

    with pytest.raises(NoProvider):
        plan("GROQ_API_KEY", given=ELSEWHERE | {"OPENAI_PRESET": "groq"})
    given = ELSEWHERE | {"OPENAI_PRESET": "vllm"}
    assert connection(plan(given=given).choices[0], given, {}).base_url.endswith(":9/v1")

    assert "key-of" not in repr(plan("ANTHROPIC_API_KEY", given=OLLAMA))


def test_what_is_set_of_a_provider_reaches_it_and_no_other() -> None:
    given = {"OLLAMA_NUM_CTX": 4_096, "OLLAMA_BASE_URL": "http://there", "USE_4BIT": True}
    found = connection(Choice("r", "ollama", "m", ""), given, {})
    assert (found.base_url, found.options) == ("http://there", {"num_ctx": 4_096})
    assert (found.option("num_ctx"), found.option("keep_alive")) == (4_096, "10m")


@pytest.mark.parametrize("name", ["anthropic", "openai", "groq", "gemini", "qwen"])
def test_a_provider_asked_for_by_name_is_never_replaced(name: str) -> None:
    with pytest.raises(NeedsKey, match=f"{name} .*[A-Z]+_API_KEY"):
        plan(provider=name, given=OLLAMA | {"OPENAI_MODEL": "m"})


def test_an_unknown_provider_is_answered_with_the_known_ones() -> None:
    with pytest.raises(NoProvider, match=r"'claude'.*auto, mock, anthropic, ollama"):
        plan(provider="claude")


def test_a_role_can_be_given_to_another_model_or_to_none() -> None:
    found = plan(
        "ANTHROPIC_API_KEY", provider="anthropic",
        by_role={"generator": "ollama/qwen3:4b", "debugger": "anthropic/claude-opus-5-5",
               "critic": "mock"},
    )
    assert by_role(found) == claude(*ROLES) | {
        "generator": "ollama/qwen3:4b", "debugger": "anthropic/claude-opus-5-5",
        "critic": "no model",
    }
    assert found.of("critic") is None
    with pytest.raises(NoProvider, match=r"LLM_ROLES.*tester.*generator"):
        plan(by_role={"tester": "mock"})


def test_one_role_may_have_a_model_where_the_plan_has_none() -> None:
    found = plan(by_role={"debugger": "ollama/a"})
    assert found.has_model
    assert found.of("debugger") is not None
    assert found.of("generator") is None


def test_a_named_model_is_for_every_role_of_the_wanted_provider() -> None:
    found = plan("ANTHROPIC_API_KEY", provider="ollama", model="x:1b")
    assert by_role(found) == {"generator": "ollama/x:1b", **claude(*THINKING)}
    for key, provider, model in (
        ("ANTHROPIC_API_KEY", "anthropic", "claude-opus-5-5"),
        ("GROQ_API_KEY", "groq", "openai/gpt-oss-20b"),  # which has no default
    ):
        found = plan(key, provider=provider, model=model)
        assert by_role(found) == dict.fromkeys(ROLES, f"{provider}/{model}")


def test_fallbacks_are_named_by_the_user_or_there_are_none() -> None:
    assert plan("ANTHROPIC_API_KEY").fallbacks == ()
    found = plan("ANTHROPIC_API_KEY", fallbacks=("anthropic/claude-haiku-5-5", "ollama"))
    assert [one.words for one in found.fallbacks] == [FASTER, "ollama/llama3.2:3b"]
    assert len(plan(fallbacks=("ollama",)).notes) == 1  # there is nothing to stand in for


def test_roles_are_read_from_words() -> None:
    assert parse_roles(" a=b , c=d/e/f:1,") == {"a": "b", "c": "d/e/f:1"}
    with pytest.raises(ValueError, match="'a'"):
        parse_roles("a")


@pytest.mark.parametrize(("wanted", "fact"), [
    ({"given": {"OPENAI_PRESET": "nope"}}, "OPENAI_PRESET='nope'"),
    ({"given": {"OPENAI_PRESET": "ollama"}, "provider": "openai"}, "'ollama'"),
    ({"fallbacks": ("mock",)}, "LLM_FALLBACK.*mock"),
    ({"model": "claude-opus-5-5"}, "LLM_PROVIDER"),
    ({"model": "m", "provider": "mock"}, "provider"),
])
def test_what_is_set_and_could_not_be_done_is_refused(wanted: Any, fact: str) -> None:
    with pytest.raises(NoProvider, match=fact):
        plan("ANTHROPIC_API_KEY", **wanted)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An install without any SDK."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.mark.usefixtures("bare")
def test_auto_goes_on_without_a_model_where_no_sdk_is_installed_and_says_how_to_have_it() -> None:
    for names, package in (("ANTHROPIC_API_KEY", "anthropic"), ("OPENAI_API_KEY", "openai")):
        found = plan(names)
        assert not found.has_model and f".[{package}]" in found.why
    assert "ollama" in plan(given=OLLAMA).why
    with pytest.raises(NoProvider, match="anthropic"):
        plan("ANTHROPIC_API_KEY", provider="anthropic")


@pytest.mark.parametrize(("provider", "model", "thinks"), [
    ("anthropic", "claude-sonnet-5-5", True), ("anthropic", "claude-mythos-preview", True),
    ("anthropic", "claude-newest-6", True), ("anthropic", "claude-sonnet-6-4", True),
    ("anthropic", "claude-opus-4-8", False), ("anthropic", "claude-sonnet-4-20250514", False),
    ("anthropic", "claude-3-5-haiku-latest", False), ("anthropic", "a/claude-opus-4.8", False),
    ("openai", "gpt-5.4-mini", True), ("openai", "o4-mini", True), ("openai", "gpt-4.1", False),
    ("openai", "gpt-5-chat-latest", False), ("gemini", "gemini-2.5-flash", True),
    ("vllm", "gpt-5.4-mini", False), ("custom", "gpt-5.4-mini", False),
    ("ollama", "qwen3", False), (MOCK, "", False),
])
def test_reasoning_models_are_known_by_name(provider: str, model: str, thinks: bool) -> None:
    assert Choice("critic", provider, model, "why").thinks is thinks


def test_a_name_without_a_row_is_nobodys_case() -> None:
    for asked in (
        lambda: Choice("critic", "nobody", "m", "").thinks,
        lambda: connection(Choice("critic", "nobody", "m", ""), {}, {}),
        lambda: plan(fallbacks=("nobody/m",), by_role={"critic": "ollama/m"}),
    ):
        with pytest.raises(NoProvider, match="'nobody'"):
            asked()


# The table.


def test_the_table_of_providers_is_consistent() -> None:
    for name, row in PROVIDERS.items():
        if row.base_url:
            assert on_this_machine(row.base_url) == row.local == (not row.needs_key), name
        assert row.key or not row.needs_key, name

    named = [row.key for row in PROVIDERS.values() if row.key and not row.in_process]
    assert len(set(named)) == len(named)

    settings = {id(row.settings): row.settings for row in PROVIDERS.values()}
    found = [one for kind in settings.values() for one in kind.values()]
    by_name: dict[str, set[Any]] = {}
    for one in found:
        by_name.setdefault(one.variable, set()).add(one)
    assert {name for name, ones in by_name.items() if len(ones) > 1} == set()
