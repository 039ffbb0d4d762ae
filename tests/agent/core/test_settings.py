from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from agent.core.settings import BadSettings, Settings, data_folder, table
from llm.budget import Caps
from llm.provider import Option

GIVEN: dict[str, tuple[str, str, object]] = {
    "HEAL_VISITOR_RUNS": ("4", "visitor_runs", 4),
    "HEAL_VISITOR_RATE": ("21", "visitor_rate", 21),
    "HEAL_LIVE_RUNS": ("65", "live_runs", 65),
    "HEAL_REQUEST_RATE": ("9", "request_rate", 9),
    "HEAL_LARGEST_INPUT": ("77", "largest_input", 77),
    "HEAL_KEEP_DAYS": ("8", "keep_days", 8),
    "HEAL_KEEP_RUNS": ("6", "keep_runs", 6),
    "LLM_PROVIDER": ("mock", "provider", "mock"),
    "LLM_MODEL": ("m", "model", "m"),
    "LLM_ROLES": (
        "critic=anthropic/x, debugger=ollama", "roles",
        {"critic": "anthropic/x", "debugger": "ollama"},
    ),
    "LLM_FALLBACK": ("ollama, groq/y", "fallbacks", ("ollama", "groq/y")),
    "HEAL_BUDGET_USD": ("1.5", "budget_usd", 1.5),
    "HEAL_BUDGET_TOKENS": ("10", "budget_tokens", 10),
    "HEAL_BUDGET_CALLS": ("3", "budget_calls", 3),
    "HEAL_ROLE_BUDGETS": (
        "critic.calls=2, critic.usd=0.1", "role_budgets", {"critic": Caps(usd=0.1, calls=2)},
    ),
    "HEAL_PRICES": ("/p.yaml", "prices", Path("/p.yaml")),
    "HEAL_PROMPTS": ("/p", "prompts", Path("/p")),
    "ALLOW_HOST_KEYS": ("1", "allow_host_keys", True),
    "HEAL_RECORD": ("~/r.jsonl", "record", Path("~/r.jsonl").expanduser()),
    "HEAL_TRACE_CONTENT": ("1", "trace_content", True),
    "HEAL_MAX_ITERATIONS": ("7", "max_iterations", 7),
    "HEAL_PARALLEL_STRATEGIES": ("2", "parallel_strategies", 2),
    "HEAL_AUTONOMY": ("review_repairs", "autonomy_level", "review_repairs"),
    "HEAL_SEARCH": ("0", "enable_search", False),
    "HEAL_SPEC_TESTS": ("0", "enable_spec_tests", False),
    "HEAL_ADVERSARIAL_TESTS": ("0", "enable_adversarial_tests", False),
    "HEAL_ARBITRATION": ("0", "enable_arbitration", False),
    "HEAL_CRITIC": ("0", "enable_critic", False),
    "HEAL_SIMPLIFIER": ("1", "enable_simplifier", True),
    "HEAL_SECURITY_CHECK": ("1", "enable_security_check", True),
    "HEAL_CROSS_SESSION_MEMORY": ("0", "enable_cross_session_memory", False),
    "HEAL_BUDGET_S": ("9.5", "budget_s", 9.5),
    "HEAL_MODEL_S": ("7", "model_s", 7.0),
    "HEAL_SEARCH_S": ("3", "search_s", 3.0),
    "HEAL_MAX_CANDIDATES": ("11", "max_candidates", 11),
    "HEAL_TEST_S": ("2", "test_wall_s", 2.0),
    "HEAL_HOLD_OUT": ("0", "hold_out", False),
    "HEAL_GRACE_S": ("5", "grace_s", 5.0),
    "HEAL_PROOF_S": ("1.5", "proof_s", 1.5),
    "HEAL_REQUIRE_CONFIDENCE": ("0.8", "require_confidence", 0.8),
    "HEAL_ASK": ("on", "ask", True),
    "HEAL_SANDBOX": ("jail", "sandbox", "jail"),
    "SANDBOX_ALLOW_WEAK": ("yes", "allow_weak", True),
    "HEAL_SHARE": ("1", "share", True),
    "HEAL_DATA_DIR": ("/somewhere", "data_dir", Path("/somewhere")),
    "HF_TOKEN": ("t", "hf_token", "t"),
    "HF_LESSONS_REPO": ("anna/lessons", "hf_lessons_repo", "anna/lessons"),
}
"""A variable's text, the field that it sets, and to what."""

OPTIONS: dict[str, Option] = {
    "ANTHROPIC_MODEL": "a", "ANTHROPIC_FAST_MODEL": "b", "ANTHROPIC_BASE_URL": "http://c",
    "OLLAMA_GENERATOR_MODEL": "d", "OLLAMA_BASE_URL": "http://e", "OLLAMA_NUM_CTX": 4_096,
    "OLLAMA_KEEP_ALIVE": "1m", "GGUF_MODEL": "i.gguf", "GGUF_THREADS": 3, "GGUF_CONTEXT": 2_048,
    "GGUF_SLOTS": 1, "GGUF_IDLE_S": 60, "HF_MODEL": "f", "USE_4BIT": True, "OPENAI_MODEL": "g",
    "OPENAI_PRESET": "groq", "OPENAI_BASE_URL": "http://h",
}


def test_every_environment_name_sets_its_field() -> None:
    told = {name: f" {text} " for name, (text, *_) in GIVEN.items()}
    settings = Settings.from_env(told | {name: str(value) for name, value in OPTIONS.items()})
    assert {row.name for row in table()} == {*GIVEN, *OPTIONS, "HEAL_REPLAY"}
    for field, expected in [(field, value) for _, field, value in GIVEN.values()]:
        assert getattr(settings, field) == expected, field
    assert settings.options == OPTIONS


def test_what_is_empty_is_not_set() -> None:
    blank = {row.name: " " for row in table()}
    assert Settings.from_env(blank) == Settings(environment=blank)


def test_a_setting_has_no_name_but_its_variables() -> None:
    stray = {"provider": "mock", "ask": "1", "host_keys": "0", "drafts": "{}", "options": "{}"}
    assert Settings.from_env(stray) == Settings(environment=stray)


def test_nothing_is_read_that_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLM_PROVIDER", "anthropic")
    assert Settings().provider == Settings.from_env({}).provider == "auto"


def test_a_run_cannot_be_recorded_and_replayed_at_once() -> None:
    assert Settings.from_env({"HEAL_REPLAY": "/r"}).replay == Path("/r")
    with pytest.raises(BadSettings, match="HEAL_RECORD and HEAL_REPLAY exclude each other"):
        Settings.from_env({"HEAL_REPLAY": "/r", "HEAL_RECORD": "/r"})


def test_ollamas_other_variable_is_an_alias() -> None:
    assert Settings.from_env({"OLLAMA_MODEL": "x"}).options == {"OLLAMA_GENERATOR_MODEL": "x"}
    both = {"OLLAMA_MODEL": "x", "OLLAMA_GENERATOR_MODEL": "y"}
    assert Settings.from_env(both).options == {"OLLAMA_GENERATOR_MODEL": "y"}


@pytest.mark.parametrize("word", ["0", "false", "no", "off"])
def test_four_bit_off_means_off(word: str) -> None:
    assert Settings.from_env({"USE_4BIT": word}).options == {"USE_4BIT": False}


def test_a_key_is_not_shown_with_the_settings() -> None:
    assert "hf_secret" not in repr(Settings.from_env({"HF_TOKEN": "hf_secret"}))


def test_every_plain_setting_has_an_environment_name() -> None:
    named = {field for _, field, _ in GIVEN.values()} | {"replay"}
    assert Settings.model_fields.keys() - named == {"drafts", "environment", "host_keys", "options"}


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
    ],
)
def test_a_bad_value_is_named(variable: str, value: str) -> None:
    with pytest.raises(BadSettings, match=f"{variable}='{value}' cannot be used: "):
        Settings.from_env({variable: value})


def test_a_bad_value_that_is_given_is_named_by_its_variable() -> None:
    with pytest.raises(BadSettings, match="HEAL_MAX_ITERATIONS=0 cannot be used"):
        Settings.from_env({}, max_iterations=0)


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
