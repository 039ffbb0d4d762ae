"""The page as a Space starts it: with nothing set but what the platform sets, and no secret."""

from __future__ import annotations

import os
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from gradio_client import Client

from tests.demo.apart import free_port, started

VISITOR = "a-word-that-nobody-guesses-0123456789"


@pytest.mark.slow
@pytest.mark.nightly
def test_a_space_boots_without_a_secret_and_heals(tmp_path: Path) -> None:
    port = free_port()
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path), "SYSTEM": "spaces",
        "SPACE_ID": "owner/space", "SPACE_HOST": f"127.0.0.1:{port}", "PORT": str(port),
        "HEAL_BUDGET_S": "900", "HEAL_SEARCH_S": "100", "HF_HUB_OFFLINE": "1",
    }
    with started(
        "app.py", port=port, env=environment, way="spawn", base={}, folder=tmp_path
    ) as (address, _):
        client = Client(address, verbose=False)
        told = client.predict(
            code="def add(a, b):\n    return a - b\n", tests="assert add(2, 3) == 5",
            visitor=VISITOR, api_name="/heal_code",
        )
        waits = client.predict(
            code="def sub(a, b):\n    return a + b\n", tests="assert sub(5, 3) == 2",
            visitor=f"no{VISITOR}", options={"autonomy": "review_repairs"}, api_name="/heal_code",
        )
        page = urllib.request.urlopen(address).read().decode()
        runs = [client.predict(visitor=who, api_name="/runs") for who in (VISITOR, f"no{VISITOR}")]

    assert (told["outcome"], told["provider"]) == ("healed", "llamacpp")
    assert "https://huggingface.co/spaces/owner/space?duplicate=true" in page
    assert [[one["run_id"] for one in each] for each in runs] == [
        [told["run_id"]], [waits["run_id"]]
    ]
    assert waits["outcome"] == "awaiting_review"
