"""The command `plan`, tried on a server that speaks the wire format."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent.interfaces.exits import HEALED, NOT_FIXABLE
from agent.interfaces.terminal.cli import app
from tests.llm.fakes import ollama
from tests.llm.fakes.server import FakeServer, says


@pytest.mark.parametrize(("there", "code"), [
    ("qwen3:latest", HEALED), ("qwen3:4b", NOT_FIXABLE),
])
async def test_a_model_is_found_by_its_short_name(there: str, code: int, tmp_path: Path) -> None:
    def shown(url: str) -> Any:
        ran = CliRunner(env={
            "OLLAMA_BASE_URL": url, "OLLAMA_MODEL": "qwen3", "HEAL_DATA_DIR": str(tmp_path),
        }).invoke(app, ["plan", "--test", "--json"])
        return ran.exit_code, json.loads(ran.stdout)

    async with FakeServer() as server:
        server.on("GET", ollama.TAGS, says(ollama.tags(there)))
        ended, document = await asyncio.to_thread(shown, server.url)

    assert [*document["reached"]] == ["ollama/qwen3"]
    assert ended == code
    asked = {row["most_usd"] for row in document["roles"] if row["provider"] != "mock"}
    assert asked == {0.0}


def test_without_a_model_there_is_nothing_to_test(tmp_path: Path) -> None:
    runner = CliRunner(env={"LLM_PROVIDER": "mock", "HEAL_DATA_DIR": str(tmp_path)})
    plain, tested = (runner.invoke(app, ["plan", *more]) for more in ([], ["--test"]))
    assert tested.stderr != plain.stderr
    assert (plain.exit_code, tested.exit_code) == (HEALED, HEALED)
