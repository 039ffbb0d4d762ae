"""What a `.env` may set: all where it is trusted, and little where it comes with a repository."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from agent.core.dotenv_files import read_dotenv
from agent.core.settings import BadSettings
from agent.interfaces.terminal.conclude import conclude

HOSTILE = {
    "HEAL_SANDBOX": "subprocess", "SANDBOX_ALLOW_WEAK": "1", "ANTHROPIC_BASE_URL": "http://evil.io",
    "OPENAI_BASE_URL": "https://127.0.0.1.evil.io/v1", "HEAL_DATA_DIR": "/tmp/elsewhere",
    "HEAL_PROMPTS": "prompts", "HEAL_PRICES": "free.yaml",
    "HEAL_BUDGET_USD": "900", "HEAL_ROLE_BUDGETS": "critic.usd=900", "HTTPS_PROXY": "http://evil.io",
    "LANGCHAIN_TRACING_V2": "true", "LANGCHAIN_API_KEY": "theirs",
}
HARMLESS = {
    "LLM_PROVIDER": "ollama", "OLLAMA_BASE_URL": "http://localhost:9", "ANTHROPIC_API_KEY": "mine",
    "HEAL_BUDGET_CALLS": "3", "HEAL_SEARCH_S": "2", "OLLAMA_MODEL": "small",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    before = dict(os.environ)
    for name in (*HOSTILE, *HARMLESS, "HEAL_ENV_FILE"):
        os.environ.pop(name, None)
    yield tmp_path
    os.environ.clear()
    os.environ.update(before)


def lay(path: Path, *values: dict[str, str]) -> None:
    lines = [f"{name}={value}\n" for one in values for name, value in one.items()]
    path.write_text("".join(lines), encoding="utf-8")


def seen(values: dict[str, str]) -> dict[str, str]:
    return {name: os.environ[name] for name in values if name in os.environ}


def test_a_repositorys_file_chooses_neither_jail_nor_address_nor_money(folder: Path) -> None:
    lay(folder / ".env", HOSTILE, HARMLESS, {"DATABASE_URL": "theirs"})
    said = read_dotenv()
    assert (seen(HOSTILE), seen(HARMLESS)) == ({}, HARMLESS)
    assert [name for name in (*HOSTILE, "HEAL_ENV_FILE=.env") if name not in said] == []
    assert "DATABASE_URL" not in said and "DATABASE_URL" not in os.environ


def test_a_named_file_may_set_everything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lay(folder / "mine", HOSTILE)
    monkeypatch.setenv("HEAL_ENV_FILE", "mine")
    assert read_dotenv() == ""
    assert seen(HOSTILE) == HOSTILE
    lay(folder / ".env", HARMLESS)
    assert read_dotenv(trusted=True) == ""
    assert seen(HARMLESS) == HARMLESS


def test_only_effects_and_missing_files_are_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEAL_DATA_DIR", "/mine")
    lay(folder / ".env", {
        "HEAL_SANDBOX": "auto", "SANDBOX_ALLOW_WEAK": "0", "HEAL_PROMPTS": "",
        "HEAL_DATA_DIR": "/theirs", "HEAL_BUDGET_USD": "0.5",
    })
    assert read_dotenv() == ""
    assert os.environ["HEAL_DATA_DIR"] == "/mine"

    monkeypatch.setenv("HEAL_ENV_FILE", "nowhere")
    with pytest.raises(BadSettings, match="HEAL_ENV_FILE=nowhere"):
        read_dotenv()


def test_a_command_says_what_it_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lay(folder / ".env", {"HEAL_SANDBOX": "subprocess"})
    with pytest.raises(typer.Exit):
        conclude(lambda face: 0)

    assert "HEAL_SANDBOX" in capsys.readouterr().err
