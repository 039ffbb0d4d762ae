"""Measures the time of a repair in the terminal and of the page's start, each relative to a
baseline that is measured in the same run.

    python -m evaluation.bench [cli] [suite] [page]

Machines are shared and noisy: read medians and ratios, not single times.
"""

from __future__ import annotations

import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from agent.core.domain import Project
from agent.verify.project.suite_run import run_suite
from sandbox import open_sandbox

ROOT = Path(__file__).parent.parent
REPEATS = 5
BROKEN = """\
def mean_of_positive(numbers):
    total = 0
    count = 0
    for number in numbers:
        if number > 0:
            total += number
            count += 1
    return total / len(numbers)
"""
TESTS = "assert mean_of_positive([2, 4]) == 3\nassert mean_of_positive([2, -1, 4]) == 3"
MINIMAL_PAGE = """\
import gradio as gr
with gr.Blocks() as demo:
    box = gr.Textbox()
    gr.Button().click(lambda text: text, box, box)
demo.launch()
"""


def cli() -> Iterator[str]:
    """Times the terminal command on a file with one bug, relative to `pytest --version`."""
    baseline_command = [sys.executable, "-m", "pytest", "--version"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mean.py"
        path.write_text(BROKEN, encoding="utf-8")
        command = [
            sys.executable, "-m", "agent", "run", str(path), "--tests", TESTS, "--json",
            "--accept-proposed",
        ]
        times, baselines = [], []
        for number in range(REPEATS):
            # A new data folder each time, or the second repair would come from the memory.
            times.append(_timed(command, {"HEAL_DATA_DIR": str(Path(folder) / f"data{number}")}))
            baselines.append(_timed(baseline_command))
    yield _figure("heal of a one-bug file, whole process", times, "pytest --version", baselines)


def page() -> Iterator[str]:
    """Times the start of `app.py` until the page is served, relative to a minimal Gradio app."""
    if find_spec("gradio") is None:
        yield "not measured: gradio is not installed"
        return
    times, baselines = [], []
    with tempfile.TemporaryDirectory() as folder:
        minimal = Path(folder) / "minimal.py"
        minimal.write_text(MINIMAL_PAGE, encoding="utf-8")
        for number in range(REPEATS):
            with served(ROOT / "app.py", Path(folder) / f"data{number}") as server:
                times.append(server.seconds)
            with served(minimal, Path(folder)) as server:
                baselines.append(server.seconds)
    yield _figure("page served", times, "minimal Gradio app", baselines)


def suite() -> Iterator[str]:
    """Times a project's suite of one test in a started jail, relative to plain pytest."""
    files = {"test_sum.py": "def test_sum():\n    assert 1 + 1 == 2\n"}
    project = Project(root="", name="sum", arguments=("test_sum.py",))

    async def measured() -> list[float]:
        sandbox, times = open_sandbox(), []
        for _ in range(REPEATS + 1):
            started = time.perf_counter()
            run = await run_suite(files, project, (), sandbox)
            times.append(time.perf_counter() - started)
            if run.failing or not run.outcomes:
                raise SystemExit(f"the suite does not pass: {run}")
        return times[1:]  # the first one starts the jail

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "test_sum.py"
        path.write_text(files[path.name], encoding="utf-8")
        plain = [sys.executable, "-m", "pytest", "-q", f"--rootdir={folder}", str(path)]
        baselines = [_timed(plain) for _ in range(REPEATS)]
    yield _figure("suite of one test", asyncio.run(measured()), "plain pytest", baselines)


BENCHES: dict[str, Callable[[], Iterator[str]]] = {"cli": cli, "suite": suite, "page": page}


def main(names: Sequence[str]) -> int:
    """Runs the named measurements, or all, and prints one line for each figure."""
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"unknown: {', '.join(unknown)}; choose from {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    for name in names or BENCHES:
        for line in BENCHES[name]():
            print(f"{name:<10} {line}", flush=True)
    return 0


def _timed(command: Sequence[str], env: Mapping[str, str] | None = None) -> float:
    started = time.perf_counter()
    outcome = subprocess.run(
        command, env={**os.environ, **(env or {})}, cwd=ROOT, capture_output=True, check=False
    )
    seconds = time.perf_counter() - started
    if outcome.returncode:
        raise SystemExit(f"{command} ended with {outcome.returncode}: {outcome.stderr[-500:]!r}")
    return seconds


def _figure(what: str, times: Sequence[float], baseline: str, baselines: Sequence[float]) -> str:
    """The median and range of times in seconds, and the ratio to the baseline."""
    median, base = statistics.median(times), statistics.median(baselines)
    return (
        f"{what}: median {median:.2f} s ({min(times):.2f} to {max(times):.2f}), "
        f"{median / base:.1f} x {baseline} ({base:.2f} s)"
    )


class PageServer(NamedTuple):
    """The address of a served page, and the seconds until it answered."""

    address: str
    seconds: float


@contextmanager
def served(program: Path, data: Path) -> Iterator[PageServer]:
    """Runs a program that serves a page, with its data in a folder, until the block ends."""
    data.mkdir(exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    command: Sequence[str] = [sys.executable, str(program)]
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        env={
            **os.environ, "HEAL_DATA_DIR": str(data), "LLM_PROVIDER": "mock",
            "GRADIO_SERVER_NAME": "127.0.0.1", "GRADIO_SERVER_PORT": port, "PORT": port,
            "GRADIO_ANALYTICS_ENABLED": "0",
        },
        cwd=data,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    address = f"http://127.0.0.1:{port}/"
    try:
        while True:
            try:
                with urllib.request.urlopen(address, timeout=5) as answer:
                    if answer.status == 200:
                        break
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                if process.poll() is not None or time.perf_counter() - started > 120:
                    raise SystemExit(f"{command} did not serve {address}") from None
                time.sleep(0.01)
        yield PageServer(address, time.perf_counter() - started)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
