"""Who answers whom: the routing of the project, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from llm import NoProvider, Plan, Secret, resolve
from llm.errors import NeedsKey
from llm.plan import FAST, ROLES, Choice, Wishes, connection, parse_roles

CLAUDE, FASTER = "anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-5-5"
THINKING = tuple(role for role in ROLES if role != "generator")


def keys(*names: str) -> dict[str, Secret]:
    return {name: Secret(f"key-of-{name}") for name in names}


def plan(*key_names: str, **wishes: Any) -> Plan:
    return resolve(Wishes(**wishes), keys(*key_names))


def by_role(found: Plan) -> dict[str, str]:
    return {choice.role: choice.words for choice in found.choices}


def claude(*roles: str) -> dict[str, str]:
    return {role: FASTER if role in FAST else CLAUDE for role in roles}


def test_nothing_configured_is_the_plan_without_a_model() -> None:
    found = plan()
    assert (found.provider, found.has_model, found.choices) == ("mock", False, ())
    assert found.why == "no model: memory and search only (nothing else is configured)"


@pytest.mark.parametrize("local", ["ollama", "huggingface"])
def test_a_local_provider_takes_the_generator_and_claude_thinks(local: str) -> None:
    found = plan("ANTHROPIC_API_KEY", provider=local)
    models = {"ollama": "llama3.2:3b", "huggingface": "meta-llama/Llama-3.2-3B-Instruct"}
    assert by_role(found) == {"generator": f"{local}/{models[local]}", **claude(*THINKING)}
    assert found.provider == f"{local} + anthropic"
    assert found.notes == ()


@pytest.mark.parametrize("local", ["ollama", "huggingface"])
def test_without_a_key_for_claude_the_local_model_thinks_too_and_that_is_told(local: str) -> None:
    found = plan("OPENAI_API_KEY", provider=local)
    assert len({choice.words for choice in found.choices}) == 1
    assert found.provider == local
    assert "There is no key for Claude" in found.notes[0]


def test_a_server_without_a_default_model_takes_the_one_that_is_named_with_it() -> None:
    found = plan("GROQ_API_KEY", provider="groq", model="openai/gpt-oss-20b")
    assert by_role(found) == dict.fromkeys(ROLES, "groq/openai/gpt-oss-20b")


def test_anthropic_takes_every_role() -> None:
    found = plan("ANTHROPIC_API_KEY", provider="anthropic", configured=frozenset({"ollama"}))
    assert by_role(found) == claude(*ROLES)


@pytest.mark.parametrize(
    ("configured", "key_names", "provider"),
    [
        ({"ollama"}, ["ANTHROPIC_API_KEY"], "ollama + anthropic"),
        ({"huggingface"}, ["ANTHROPIC_API_KEY"], "huggingface + anthropic"),
        ({"ollama", "huggingface"}, [], "ollama"),
        ({"huggingface"}, [], "huggingface"),
        (set(), ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"], "anthropic"),
        (set(), ["OPENAI_API_KEY"], "openai"),
        (set(), ["HF_TOKEN"], "mock"),
    ],
)
def test_auto_is_the_best_of_what_is_configured(
    configured: set[str], key_names: list[str], provider: str
) -> None:
    found = plan(*key_names, configured=frozenset(configured))
    assert found.provider == provider
    assert "auto" in found.why or not found.has_model


def test_auto_says_so_when_a_server_is_configured_without_a_model() -> None:
    found = plan("GROQ_API_KEY")
    assert not found.has_model
    assert "groq is configured, but no model is: set OPENAI_MODEL" in found.why
    assert by_role(plan("GROQ_API_KEY", openai_model="m"))["critic"] == "groq/m"


def test_any_address_that_speaks_like_openai_is_a_provider() -> None:
    found = plan(openai_base_url="http://127.0.0.1:9/v1", openai_model="m")
    assert by_role(found)["debugger"] == "custom/m"


def test_a_key_is_sent_to_nobody_but_its_own_provider() -> None:
    wishes = Wishes(openai_base_url="http://127.0.0.1:9/v1", openai_model="m")
    found = connection(resolve(wishes, {}).choices[0], wishes, keys("OPENAI_API_KEY"))
    assert (found.base_url, bool(found.key)) == ("http://127.0.0.1:9/v1", False)

    wishes = Wishes(openai_base_url="http://127.0.0.1:9/v1", fallbacks=("groq/m",),
                    openai_model="m")
    given = keys("GROQ_API_KEY", "LLM_API_KEY")
    stand_in = connection(resolve(wishes, given).fallbacks[0], wishes, given)
    assert (stand_in.base_url, stand_in.key) == ("", given["GROQ_API_KEY"])


@pytest.mark.parametrize("name", ["anthropic", "openai", "groq", "gemini", "qwen"])
def test_a_provider_asked_for_by_name_is_never_replaced(name: str) -> None:
    with pytest.raises(NeedsKey, match=f"{name} needs a key: set [A-Z]+_API_KEY"):
        plan(provider=name, configured=frozenset({"ollama"}), openai_model="m")


def test_an_unknown_provider_is_answered_with_the_known_ones() -> None:
    with pytest.raises(NoProvider, match=r"no provider 'claude'.*auto, mock, anthropic, ollama"):
        plan(provider="claude")


def test_a_role_can_be_given_to_another_model_or_to_none() -> None:
    found = plan(
        "ANTHROPIC_API_KEY", provider="anthropic",
        roles={"generator": "ollama/qwen3:4b", "debugger": "anthropic/claude-opus-5-5",
               "critic": "mock"},
    )
    assert by_role(found) == claude(*ROLES) | {
        "generator": "ollama/qwen3:4b", "debugger": "anthropic/claude-opus-5-5",
        "critic": "no model",
    }
    assert found.of("critic") is None
    with pytest.raises(NoProvider, match="LLM_ROLES names tester; the roles are generator"):
        plan(roles={"tester": "mock"})


def test_one_role_may_have_a_model_where_the_plan_has_none() -> None:
    found = plan(roles={"debugger": "ollama/a"})
    assert found.has_model
    assert found.of("debugger") is not None
    assert found.of("generator") is None
    assert "No model is given to the generator" in found.notes[0]


def test_a_named_model_is_for_every_role_of_the_wanted_provider() -> None:
    found = plan("ANTHROPIC_API_KEY", provider="ollama", model="x:1b")
    assert by_role(found) == {"generator": "ollama/x:1b", **claude(*THINKING)}
    found = plan("ANTHROPIC_API_KEY", provider="anthropic", model="claude-opus-5-5")
    assert set(by_role(found).values()) == {"anthropic/claude-opus-5-5"}


def test_fallbacks_are_named_by_the_user_or_there_are_none() -> None:
    assert plan("ANTHROPIC_API_KEY").fallbacks == ()
    found = plan("ANTHROPIC_API_KEY", fallbacks=("anthropic/claude-haiku-5-5", "ollama"))
    assert [one.words for one in found.fallbacks] == [FASTER, "ollama/llama3.2:3b"]


def test_a_plan_shows_no_key() -> None:
    assert "key-of" not in repr(plan("ANTHROPIC_API_KEY", configured=frozenset({"ollama"})))


def test_roles_are_read_from_words() -> None:
    assert parse_roles(" a=b , c=d/e/f:1,") == {"a": "b", "c": "d/e/f:1"}
    with pytest.raises(ValueError, match="'a': write it as"):
        parse_roles("a")


@pytest.mark.parametrize(("wishes", "words"), [
    ({"openai_preset": "nope"}, "OPENAI_PRESET='nope' is no preset"),
    ({"openai_preset": "nope", "provider": "openai"}, "OPENAI_PRESET='nope' is no preset"),
    ({"fallbacks": ("mock",)}, "LLM_FALLBACK names mock"),
    ({"model": "claude-opus-5-5"}, "needs its provider: set LLM_PROVIDER"),
    ({"model": "m", "provider": "mock"}, "needs its provider"),
])
def test_what_is_set_and_could_not_be_done_is_refused(wishes: Any, words: str) -> None:
    with pytest.raises(NoProvider, match=words):
        plan("ANTHROPIC_API_KEY", **{"configured": frozenset(), **wishes})


def test_a_fallback_without_a_model_is_told() -> None:
    assert "no model that it could stand in for" in plan(fallbacks=("ollama",)).notes[0]


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An install without any SDK."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


@pytest.mark.usefixtures("bare")
def test_auto_goes_on_without_a_model_where_no_sdk_is_installed_and_says_how_to_have_it() -> None:
    for names, package in (("ANTHROPIC_API_KEY", "anthropic"), ("OPENAI_API_KEY", "openai")):
        found = plan(names)
        assert not found.has_model
        assert f'{package} is not installed: pip install -e ".[{package}]"' in found.why
    assert "ollama is not installed" in plan(configured=frozenset({"ollama"})).why


@pytest.mark.usefixtures("bare")
def test_a_provider_asked_for_by_name_without_its_sdk_is_refused() -> None:
    with pytest.raises(NoProvider, match=r"anthropic cannot be asked: anthropic is not installed"):
        plan("ANTHROPIC_API_KEY", provider="anthropic")


def test_a_servers_key_never_goes_to_another_address() -> None:
    with pytest.raises(NoProvider, match="whose key must not go there"):
        plan("GROQ_API_KEY", openai_preset="groq", openai_base_url="http://127.0.0.1:9/v1")
    wishes = Wishes(openai_preset="vllm", openai_base_url="http://127.0.0.1:9/v1", openai_model="m")
    assert connection(resolve(wishes, {}).choices[0], wishes, {}).base_url.endswith(":9/v1")


def test_a_key_of_openai_that_is_not_sent_is_told() -> None:
    found = plan("OPENAI_API_KEY", openai_base_url="http://127.0.0.1:9/v1", openai_model="m")
    assert "OPENAI_API_KEY is not sent" in found.notes[0]


@pytest.mark.parametrize(("choice", "thinks"), [
    (Choice("critic", "anthropic", "claude-sonnet-5-5", "why"), True),
    (Choice("critic", "anthropic", "claude-sonnet-4-5", "why"), False),
    (Choice("critic", "openai", "gpt-5.4-mini", "why", "openai"), True),
    (Choice("critic", "openai", "gpt-5.4-mini", "why", "custom"), False),
    (Choice("critic", "ollama", "qwen3", "why"), False),
    (Choice("critic", "mock", "", "why"), False),
])
def test_whether_a_model_thinks_is_known_by_its_name(choice: Choice, thinks: bool) -> None:
    assert choice.thinks is thinks
