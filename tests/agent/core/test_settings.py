from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent.core.settings import (
    BadSettings,
    Settings,
    Variable,
    data_folder,
    provider_settings,
    table,
)
from llm.budget import Caps

TEXTS: dict[str, tuple[str, object]] = {
    "LLM_PROVIDER": ("mock", "mock"), "LLM_FALLBACK": ("ollama, groq/y", ("ollama", "groq/y")),
    "LLM_ROLES": (
        "critic=anthropic/x, debugger=ollama", {"critic": "anthropic/x", "debugger": "ollama"},
    ),
    "HEAL_ROLE_BUDGETS": ("critic.calls=2, critic.usd=0.1", {"critic": Caps(usd=0.1, calls=2)}),
    "HEAL_BUDGET_USD": ("1.5", 1.5), "HEAL_AUTONOMY": ("review_all", "review_all"),
    "HEAL_PRICES": ("/p.yaml", Path("/p.yaml")), "HEAL_ASK": ("on", True),
    "HEAL_PROMPTS": ("~/p", Path("~/p").expanduser()),
    "HEAL_LOG": ("json", "json"),
    "HEAL_REQUIRE_CONFIDENCE": ("0.8", 0.8), "HEAL_SANDBOX": ("jail", "jail"),
    "SANDBOX_ALLOW_WEAK": ("yes", True), "HF_LESSONS_REPO": ("anna/lessons", "anna/lessons"),
    "OPENAI_PRESET": ("groq", "groq"), "OLLAMA_NUM_CTX": ("4096", 4_096),
    "GGUF_CONTEXT": ("4096", 4_096), "GGUF_THREADS": ("3", 3),
}
"""What a variable may say, and to what it sets its field, where that is no plain number, switch or
name."""


def text_for(row: Variable) -> tuple[str, object]:
    """A text that changes this setting, and its value."""
    options = {one.variable: one.default for one in provider_settings()}
    match getattr(Settings(), row.field) if row.field else options[row.name]:
        case _ if row.name in TEXTS:
            return TEXTS[row.name]
        case bool(default):
            return str(int(not default)), not default
        case int() | float() as default:
            return ("4", 4) if default == 2 else ("2", 2)
        case Path():
            return "x", Path("x")
        case _:
            return "x", "x"


def test_every_environment_name_sets_its_field() -> None:
    base = Settings.from_env({})
    for row in table():
        text, value = text_for(row)
        settings = Settings.from_env({row.name: f" {text} "})
        changed = {name for name in Settings.model_fields if name != "environment"
                   and getattr(settings, name) != getattr(base, name)}
        assert changed == {row.field or "options"}, row.name
        assert (getattr(settings, row.field) if row.field else settings.options[row.name]) == value


def test_what_is_empty_is_not_set() -> None:
    blank = {row.name: " " for row in table()}
    assert Settings.from_env(blank) == Settings(environment=blank)


def test_a_setting_has_no_name_but_its_variables() -> None:
    stray = {"provider": "mock", "ask": "1", "host_keys": "0", "drafts": "{}", "options": "{}"}
    assert Settings.from_env(stray) == Settings(environment=stray)


def test_nothing_is_read_that_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_PROVIDER", "anthropic")
    assert Settings().provider == Settings.from_env({}).provider == "auto"


def test_ollamas_other_variable_is_an_alias() -> None:
    assert Settings.from_env({"OLLAMA_MODEL": "x"}).options == {"OLLAMA_GENERATOR_MODEL": "x"}
    both = {"OLLAMA_MODEL": "x", "OLLAMA_GENERATOR_MODEL": "y"}
    assert Settings.from_env(both).options == {"OLLAMA_GENERATOR_MODEL": "y"}


@pytest.mark.parametrize("word", ["0", "false", "no", "off"])
def test_four_bit_off_means_off(word: str) -> None:
    assert Settings.from_env({"USE_4BIT": word}).options == {"USE_4BIT": False}


def test_every_plain_setting_has_an_environment_name() -> None:
    named = {row.field for row in table()}
    assert Settings.model_fields.keys() - named == {"drafts", "environment", "host_keys", "options"}


def test_what_is_given_wins_over_the_environment() -> None:
    settings = Settings.from_env({"HEAL_MAX_ITERATIONS": "7"}, max_iterations=2, budget_s=None)
    assert (settings.max_iterations, settings.budget_s) == (2, 120.0)


@pytest.mark.parametrize(("variable", "value"), [
    ("HEAL_MAX_ITERATIONS", "many"), ("HEAL_MAX_ITERATIONS", "0"), ("HEAL_HOLD_OUT", "maybe"),
    ("HEAL_AUTONOMY", "none"), ("HEAL_BUDGET_S", "1m"), ("HEAL_BUDGET_USD", "-1"),
    ("HEAL_BUDGET_TOKENS", "nan"), ("LLM_ROLES", "debugger"), ("OLLAMA_NUM_CTX", "12"),
    ("HEAL_ROLE_BUDGETS", "critic.calls=-1"), ("HEAL_ROLE_BUDGETS", "nobody.calls=1"),
    ("HEAL_ROLE_BUDGETS", "critic.bananas=1"), ("HEAL_SANDBOX", "none"),
])
def test_a_bad_value_is_named(variable: str, value: str) -> None:
    with pytest.raises(BadSettings, match=f"{variable}='{value}'"):
        Settings.from_env({variable: value})


def test_a_bad_value_that_is_given_is_named_by_its_variable() -> None:
    with pytest.raises(BadSettings, match="HEAL_MAX_ITERATIONS=0"):
        Settings.from_env({}, max_iterations=0)


@pytest.mark.parametrize("variable", ["ANTHROPIC_API_KEY", "HF_TOKEN"])
def test_neither_a_key_nor_the_environment_shows_in_a_representation(variable: str) -> None:
    assert "hush" not in repr(Settings.from_env({variable: "hush"}))


def test_a_home_that_cannot_be_written_gives_a_folder_and_a_warning(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    folder, warning = data_folder(Settings.from_env({"XDG_DATA_HOME": str(blocker)}))
    assert folder.is_dir()
    assert "HEAL_DATA_DIR" in warning


def test_a_chosen_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(BadSettings):
        data_folder(Settings.from_env({"HEAL_DATA_DIR": str(blocker / "x")}))


@pytest.mark.parametrize(("typed", "named"), [
    ("/srv/ada/.venv/bin/heal", "heal"), ("heal.exe", "heal"),
    ("/srv/ada/src/agent/__main__.py", "python -m agent"),
])
def test_hints_name_the_command_that_was_typed(typed: str, named: str) -> None:
    """Whatever the modules are called: an editable install keeps the names of the checkout."""
    asked = "from agent.core.settings import COMMAND; print(COMMAND)"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.argv[0] = {typed!r}; {asked}"],
        capture_output=True, text=True, check=True,
    )
    assert done.stdout == f"{named}\n"
