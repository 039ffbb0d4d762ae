"""The table of compatible servers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from llm import Connection, NoProvider
from llm.providers.presets import PRESETS, on_this_machine, preset_name


def test_the_table_is_read_without_an_sdk() -> None:
    """The page lists the presets; only who asks one pays for its client."""
    code = (
        "import sys, llm.providers.presets; "
        "print([n for n in ('openai', 'httpx2', 'pydantic', 'asyncio') if n in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("connection", "name"),
    [
        (Connection("openai", "m"), "openai"),
        (Connection("openai", "m", base_url="http://host/v1"), "custom"),
        (Connection("openai", "m", base_url="http://host/v1", preset="vllm"), "vllm"),
    ],
)
def test_a_connection_means_one_row(connection: Connection, name: str) -> None:
    assert preset_name(connection) == name


def test_an_unknown_row_is_told_with_those_there_are() -> None:
    with pytest.raises(NoProvider, match="there are openai, groq"):
        preset_name(Connection("openai", "m", preset="grok"))


def test_servers_on_this_machine_need_no_key_and_all_others_do() -> None:
    for name, preset in PRESETS.items():
        if name != "custom":
            assert on_this_machine(preset.base_url) == preset.local == (not preset.needs_key)
            assert bool(preset.key_name) == preset.needs_key


def test_no_key_goes_to_two_servers() -> None:
    names = [preset.key_name for preset in PRESETS.values() if preset.key_name]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("preset", "model", "thinks"),
    [
        ("openai", "gpt-5.4-mini", True),
        ("openai", "o4-mini", True),
        ("openai", "gpt-4.1", False),
        ("openai", "gpt-5-chat-latest", False),
        ("gemini", "gemini-2.5-flash", True),
        ("vllm", "gpt-5.4-mini", False),
    ],
)
def test_an_effort_is_for_models_that_think(preset: str, model: str, thinks: bool) -> None:
    assert PRESETS[preset].thinks(model) is thinks
