"""How long a heal in the terminal and the start of the page take, each beside a floor measured in
the same run.

    python -m evaluation.bench [cli] [page]

Machines are shared and noisy: read medians and ratios, not single times.
"""

from __future__ import annotations

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

ROOT = Path(__file__).parent.parent
TURNS = 5
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
    """The terminal command healing a file with one bug, beside one that only loads itself."""
    light = [sys.executable, "-m", "pytest", "--version"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mean.py"
        path.write_text(BROKEN, encoding="utf-8")
        command = [
            sys.executable, "-m", "agent", "run", str(path), "--tests", TESTS, "--json",
            "--accept-proposed",
        ]
        times, floors = [], []
        for turn in range(TURNS):
            # A fresh data folder each time, or the second heal would come from memory.
            times.append(_timed(command, {"HEAL_DATA_DIR": str(Path(folder) / f"data{turn}")}))
            floors.append(_timed(light))
    yield _figure("heal of a one-bug file, whole process", times, "pytest --version", floors)


def page() -> Iterator[str]:
    """From the start of `app.py` to the served page, beside a minimal Gradio app."""
    if find_spec("gradio") is None:
        yield "not measured: gradio is not installed"
        return
    times, floors = [], []
    with tempfile.TemporaryDirectory() as folder:
        minimal = Path(folder) / "minimal.py"
        minimal.write_text(MINIMAL_PAGE, encoding="utf-8")
        for turn in range(TURNS):
            with served(ROOT / "app.py", Path(folder) / f"data{turn}") as server:
                times.append(server.seconds)
            with served(minimal, Path(folder)) as server:
                floors.append(server.seconds)
    yield _figure("page served", times, "minimal Gradio app", floors)


BENCHES: dict[str, Callable[[], Iterator[str]]] = {"cli": cli, "page": page}


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
    """Seconds of a whole process, which must end well."""
    started = time.perf_counter()
    outcome = subprocess.run(
        command, env={**os.environ, **(env or {})}, cwd=ROOT, capture_output=True, check=False
    )
    seconds = time.perf_counter() - started
    if outcome.returncode:
        raise SystemExit(f"{command} ended with {outcome.returncode}: {outcome.stderr[-500:]!r}")
    return seconds


def _figure(what: str, times: Sequence[float], floor: str, floors: Sequence[float]) -> str:
    """The median and the range of times in seconds, and how many floors that is."""
    median, bottom = statistics.median(times), statistics.median(floors)
    return (
        f"{what}: median {median:.2f} s ({min(times):.2f} to {max(times):.2f}), "
        f"{median / bottom:.1f} x {floor} ({bottom:.2f} s)"
    )


class PageServer(NamedTuple):
    """A process that serves a page, and the seconds until it answered."""

    address: str
    seconds: float


@contextmanager
def served(program: Path, data: Path) -> Iterator[PageServer]:
    """A program that serves a page and keeps its data in a folder, until the block ends."""
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
