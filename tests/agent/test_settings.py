from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from agent.settings import ENVIRONMENT, BadSettings, Settings, data_folder
from llm.budget import Caps


def test_every_environment_name_sets_its_field() -> None:
    values = {
        "LLM_PROVIDER": "mock", "HEAL_MAX_ITERATIONS": "7", "HEAL_AUTONOMY": "review_repairs",
        "HEAL_BUDGET_S": "9.5", "HEAL_SEARCH_S": "3", "HEAL_MAX_CANDIDATES": "11",
        "HEAL_TEST_S": "2", "HEAL_HOLD_OUT": "0", "HEAL_SANDBOX": "jail",
        "SANDBOX_ALLOW_WEAK": "1", "HEAL_PROOF_S": "1.5", "HEAL_ASK": "1",
        "HEAL_DATA_DIR": "/somewhere", "HF_TOKEN": "t", "HF_LESSONS_REPO": "anna/lessons",
        "LLM_MODEL": "m", "LLM_ROLES": "critic=anthropic/x, debugger=ollama",
        "LLM_FALLBACK": "ollama, groq/y", "ANTHROPIC_MODEL": "a", "ANTHROPIC_FAST_MODEL": "b",
        "ANTHROPIC_BASE_URL": "http://c", "OLLAMA_GENERATOR_MODEL": "d",
        "OLLAMA_BASE_URL": "http://e", "OLLAMA_NUM_CTX": "4096", "OLLAMA_KEEP_ALIVE": "1m",
        "HF_MODEL": "f", "USE_4BIT": "1", "OPENAI_MODEL": "g", "OPENAI_PRESET": "groq",
        "OPENAI_BASE_URL": "http://h", "HEAL_BUDGET_USD": "1.5", "HEAL_BUDGET_TOKENS": "10",
        "HEAL_BUDGET_CALLS": "3", "HEAL_ROLE_BUDGETS": "critic.calls=2, critic.usd=0.1",
        "HEAL_PRICES": "/p.yaml", "ALLOW_HOST_KEYS": "1", "HEAL_RECORD": "/r.jsonl",
        "HEAL_CACHE": "1", "HEAL_MODEL_S": "7", "HEAL_TRACE_CONTENT": "1",
    }
    settings = Settings.from_env(values)
    assert {*values, "HEAL_REPLAY"} == set(ENVIRONMENT.values())
    assert {name: getattr(settings, name) for name in ENVIRONMENT} == {
        "provider": "mock", "max_iterations": 7, "autonomy_level": "review_repairs",
        "budget_s": 9.5, "search_s": 3.0, "max_candidates": 11, "test_wall_s": 2.0,
        "hold_out": False, "sandbox": "jail", "allow_weak": True, "data_dir": Path("/somewhere"),
        "hf_token": "t", "hf_lessons_repo": "anna/lessons", "proof_s": 1.5, "ask": True,
        "model": "m", "roles": {"critic": "anthropic/x", "debugger": "ollama"},
        "fallbacks": ("ollama", "groq/y"), "anthropic_model": "a", "anthropic_fast_model": "b",
        "anthropic_base_url": "http://c", "ollama_model": "d", "ollama_base_url": "http://e",
        "ollama_num_ctx": 4096, "ollama_keep_alive": "1m", "hf_model": "f", "four_bit": True,
        "openai_model": "g", "openai_preset": "groq", "openai_base_url": "http://h",
        "budget_usd": 1.5, "budget_tokens": 10, "budget_calls": 3,
        "role_budgets": {"critic": Caps(usd=0.1, calls=2)}, "prices": Path("/p.yaml"),
        "allow_host_keys": True, "record": Path("/r.jsonl"), "replay": None,
        "cache": "deterministic", "trace_content": True, "model_s": 7.0,
    }


def test_a_run_cannot_be_recorded_and_replayed_at_once() -> None:
    assert Settings.from_env({"HEAL_REPLAY": "/r"}).replay == Path("/r")
    with pytest.raises(BadSettings, match="HEAL_RECORD and HEAL_REPLAY exclude each other"):
        Settings.from_env({"HEAL_REPLAY": "/r", "HEAL_RECORD": "/r"})


def test_ollamas_other_variable_is_an_alias() -> None:
    assert Settings.from_env({"OLLAMA_MODEL": "x"}).ollama_model == "x"
    both = {"OLLAMA_MODEL": "x", "OLLAMA_GENERATOR_MODEL": "y"}
    assert Settings.from_env(both).ollama_model == "y"


@pytest.mark.parametrize("word", ["0", "false", "no", "off"])
def test_four_bit_off_means_off(word: str) -> None:
    assert Settings.from_env({"USE_4BIT": word}).four_bit is False


def test_a_key_is_not_shown_with_the_settings() -> None:
    assert "hf_secret" not in repr(Settings.from_env({"HF_TOKEN": "hf_secret"}))


def test_every_plain_setting_has_an_environment_name() -> None:
    assert {field.name for field in fields(Settings)} - ENVIRONMENT.keys() == {
        "drafts", "environment", "host_keys"
    }


def test_what_is_given_wins_over_the_environment() -> None:
    settings = Settings.from_env({"HEAL_MAX_ITERATIONS": "7"}, max_iterations=2, budget_s=None)
    assert (settings.max_iterations, settings.budget_s) == (2, 120.0)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("HEAL_MAX_ITERATIONS", "many"),
        ("HEAL_MAX_ITERATIONS", "0"),
        ("HEAL_HOLD_OUT", "maybe"),
        ("HEAL_AUTONOMY", "none"),
        ("HEAL_BUDGET_S", "1m"),
        ("HEAL_BUDGET_USD", "-1"),
        ("HEAL_BUDGET_TOKENS", "nan"),
        ("LLM_ROLES", "debugger"),
        ("HEAL_ROLE_BUDGETS", "critic.calls=-1"),
        ("HEAL_ROLE_BUDGETS", "nobody.calls=1"),
        ("HEAL_ROLE_BUDGETS", "critic.bananas=1"),
        ("OLLAMA_NUM_CTX", "12"),
        ("HEAL_CACHE", "some"),
    ],
)
def test_a_bad_value_is_named(variable: str, value: str) -> None:
    with pytest.raises(BadSettings, match=variable.removeprefix("HEAL_").split("_")[0] + "|max_it"):
        Settings.from_env({variable: value})


def test_an_unknown_sandbox_is_answered_with_the_known_ones() -> None:
    with pytest.raises(BadSettings, match=r"HEAL_SANDBOX='none'.*auto, .*jail, subprocess"):
        Settings.from_env({"HEAL_SANDBOX": "none"})


def test_the_environment_never_shows_in_a_representation() -> None:
    assert "hush" not in repr(Settings.from_env({"ANTHROPIC_API_KEY": "hush"}))


def test_a_home_that_cannot_be_written_gives_a_folder_and_a_warning(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    folder, warning = data_folder(Settings.from_env({"XDG_DATA_HOME": str(blocker)}))
    assert folder.is_dir()
    assert "HEAL_DATA_DIR" in warning


def test_a_chosen_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(BadSettings, match="cannot be written"):
        data_folder(Settings.from_env({"HEAL_DATA_DIR": str(blocker / "x")}))
