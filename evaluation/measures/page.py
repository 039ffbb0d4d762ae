"""The served page: until it answers, and until it shows something."""

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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from evaluation.measures.figure import figure
from evaluation.measures.samples import ONE_BUG, ONE_BUG_TESTS

ROOT = Path(__file__).parent.parent.parent


def page() -> Iterator[str]:
    """From the start of `app.py` to the served page, beside a minimal Gradio app."""
    if find_spec("gradio") is None:
        yield "not measured: gradio is not installed"
        return
    minimal = (
        "import gradio as gr\n"
        "with gr.Blocks() as demo:\n"
        "    box = gr.Textbox()\n"
        "    gr.Button().click(lambda text: text, box, box)\n"
        "demo.launch()\n"
    )
    times, floors = [], []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "minimal.py").write_text(minimal, encoding="utf-8")
        for turn in range(5):
            env = {"HEAL_DATA_DIR": str(Path(folder) / f"data{turn}"), "LLM_PROVIDER": "mock"}
            with serving([sys.executable, str(ROOT / "app.py")], env) as (_, seconds):
                times.append(seconds)
            with serving([sys.executable, str(Path(folder) / "minimal.py")], {}) as (_, seconds):
                floors.append(seconds)
    yield figure("page served", times, "minimal Gradio app", floors)


def click() -> Iterator[str]:
    """From the click to the first event the page shows, in a headless browser."""
    browser = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    if find_spec("playwright") is None or not Path(browser).exists():
        yield "not measured: it needs playwright and chromium"
        return
    from evaluation.measures.browsing import first_event_s

    with tempfile.TemporaryDirectory() as folder:
        env = {"HEAL_DATA_DIR": folder, "LLM_PROVIDER": "mock"}
        with serving([sys.executable, str(ROOT / "app.py")], env) as (address, _):
            times = first_event_s(address, browser, ONE_BUG, ONE_BUG_TESTS, turns=5)
    yield f"click to first visible event: median {statistics.median(times) * 1e3:.0f} ms"


@contextmanager
def serving(command: Sequence[str], env: dict[str, str]) -> Iterator[tuple[str, float]]:
    """A server process, with its address and the seconds until it answered."""
    port = _free_port()
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        env={
            **os.environ, **env, "GRADIO_SERVER_PORT": str(port), "PORT": str(port),
            "GRADIO_ANALYTICS_ENABLED": "0",
        },
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
        yield address, time.perf_counter() - started
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
