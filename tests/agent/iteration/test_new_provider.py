"""A provider is defined by one file and one row of the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.core.settings import BadSettings, Settings
from agent.interfaces.reference_docs import example, providers_table, settings_table
from agent.iteration.models import Models, key_names
from demo.models.choice import keyed
from llm.provider import PROVIDERS, read_rows
from tests.agent import tiny
from tests.agent.model_runs import SOLVED, healed, settings
from tests.agent.tiny import Tiny

ENV = {"LLM_PROVIDER": "tiny", "TINY_API_KEY": "k", "TINY_MOOD": "7"}


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "rows.toml").write_text(tiny.ROW, encoding="utf-8")
    monkeypatch.setitem(PROVIDERS, "tiny", read_rows(tmp_path / "rows.toml")["tiny"])


async def test_it_heals_a_run(tmp_path: Path) -> None:
    result, log = await healed(settings(tmp_path, ENV))
    assert (result.outcome, result.provider, result.code) == ("healed", "tiny", SOLVED)
    assert {one.provider for one in log if one.kind == "model_called"} == {"tiny"}
    assert result.cost_usd == 0.0


def test_it_is_listed_in_the_tables_of_settings_and_providers() -> None:
    assert "| `TINY_MODEL` | | `tiny-1` | the tiny model |" in settings_table()
    assert "# How merry it is.\nTINY_MOOD=5\n" in example()
    assert '| `tiny` | `pip install -e ".[tiny]"` | `TINY_API_KEY` | tiny-1 |' in providers_table()
    assert "TINY_API_KEY" in key_names()
    assert keyed(public=True)["tiny"] == "TINY_API_KEY"


def test_its_settings_are_validated_and_passed_to_it() -> None:
    models = Models(Settings.from_env(ENV))
    provider = models._open(models._connection(models.plan().choices[0], ""))
    assert isinstance(provider, Tiny)
    assert (provider.model, provider.mood) == ("tiny-1", 7)
    with pytest.raises(BadSettings, match="TINY_MOOD='0'"):
        Settings.from_env({"TINY_MOOD": "0"})
