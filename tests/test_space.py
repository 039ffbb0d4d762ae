"""The page as a Space starts it: with nothing set but what the platform sets, and no secret."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gradio_client import Client

ROOT = Path(__file__).parent.parent
VISITOR = "a-word-that-nobody-guesses-0123456789"


@contextmanager
def space(folder: Path, **more: str) -> Iterator[str]:
    """The address of a Space that is served; its end is a stop by the platform."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT),
        "SYSTEM": "spaces", "SPACE_ID": "owner/space", "SPACE_HOST": f"127.0.0.1:{port}",
        "PORT": str(port), "HEAL_BUDGET_S": "900", "HEAL_SEARCH_S": "100",
        "HF_HUB_OFFLINE": "1", **more,
    }
    process = subprocess.Popen([sys.executable, str(ROOT / "app.py")], cwd=folder, env=environment)
    address = f"http://127.0.0.1:{port}/"
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(address, timeout=5).close()
                break
            except (urllib.error.URLError, TimeoutError):
                assert process.poll() is None, "the Space has ended"
                assert time.monotonic() < deadline, "the Space does not answer"
                time.sleep(0.1)
        yield address
    finally:
        process.terminate()
        assert process.wait(timeout=60) == 0


@pytest.mark.slow
def test_a_space_boots_without_a_secret_and_heals(tmp_path: Path) -> None:
    with space(tmp_path) as address:
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
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{address}login/huggingface")
        runs = [client.predict(visitor=who, api_name="/runs") for who in (VISITOR, f"no{VISITOR}")]

    assert (told["outcome"], told["provider"]) == ("healed", "llamacpp")
    assert "sign-in" not in page
    assert "https://huggingface.co/spaces/owner/space?duplicate=true" in page
    assert [[one["run_id"] for one in each] for each in runs] == [
        [told["run_id"]], [waits["run_id"]]
    ]
    assert waits["outcome"] == "awaiting_review"
