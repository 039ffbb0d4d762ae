"""Rows on real Ray nodes of this machine, which are killed amid them."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
pytestmark = [pytest.mark.nightly, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _with_ray() -> None:
    from importlib.util import find_spec

    if find_spec("ray") is None:
        pytest.skip("the extra `cluster` is not installed")


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0"}


def test_a_killed_node_costs_no_row_and_a_row_little_overhead() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.evaluation.ray_figures"], cwd=ROOT, env=environment(),
        capture_output=True, text=True, check=False, timeout=900,
    )
    assert "200 rows on two nodes, one killed after 60: 0 lost, 0 twice" in done.stdout, done.stderr
    found = re.search(r"overhead of a row: (-?[\d.]+) ms", done.stdout)
    assert found is not None and float(found[1]) < 50


@pytest.fixture
def suite(tmp_path: Path) -> Iterator[list[str]]:
    """A benchmark on a Ray that is started for it."""
    yield [
        sys.executable, "-m", "evaluation.run_benchmark", "--executor", "ray", "--suite",
        str(ROOT / "evaluation/bench/seen.jsonl"), "--limit", "3", "--out", str(tmp_path / "out"),
    ]


def test_a_killed_driver_and_an_interrupted_one_are_continued(
    tmp_path: Path, suite: list[str]
) -> None:
    results = tmp_path / "out" / "results.jsonl"
    for number, (sent, status) in enumerate(((signal.SIGKILL, -9), (signal.SIGINT, 130)), 1):
        driver = subprocess.Popen(suite, cwd=ROOT, env=environment())
        while driver.poll() is None and not (
            results.exists() and results.read_text("utf-8").count("\n") >= number
        ):
            time.sleep(0.05)
        driver.send_signal(sent)
        assert driver.wait(60) == status
    subprocess.run(suite, cwd=ROOT, env=environment(), check=True, capture_output=True)
    ids = [json.loads(line)["id"] for line in results.read_text("utf-8").splitlines()]
    assert len(ids) == len({*ids}) == 3
    summary = json.loads((tmp_path / "out" / "summary.json").read_text("utf-8"))
    assert summary["executor"] == "ray" and "ray" in summary["nodes"][0]["packages"]


async def test_a_silent_address_is_a_sentence(tmp_path: Path, suite: list[str]) -> None:
    server = await asyncio.start_server(lambda reader, writer: asyncio.sleep(0), "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    async with server:
        driver = await asyncio.create_subprocess_exec(
            *suite, "--address", f"127.0.0.1:{port}", cwd=ROOT, env=environment(),
            stderr=asyncio.subprocess.PIPE,
        )
        _, said = await driver.communicate()
    assert driver.returncode == 2
    assert b"No Ray head node answers at" in said
