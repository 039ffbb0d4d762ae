"""Whole processes: the terminal command, and the page until it answers."""

from __future__ import annotations

import os
import shutil
import socket
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
from typing import TYPE_CHECKING, NamedTuple

from evaluation.measures.programs import ROOT, figure, sample, timed

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TURNS = 5
MINIMAL_PAGE = """\
import gradio as gr
with gr.Blocks() as demo:
    box = gr.Textbox()
    gr.Button().click(lambda text: text, box, box)
demo.launch()
"""
QUIET = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)


def cli() -> Iterator[str]:
    """The terminal command healing a file with one bug, beside one that only loads itself."""
    light = [sys.executable, "-m", "pytest", "--version"]
    code, tests = sample("mean")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mean.py"
        path.write_text(code, encoding="utf-8")
        command = [sys.executable, "-m", "agent", "run", str(path), "--tests", tests, "--json"]
        times, floors = [], []
        for turn in range(TURNS):
            # A fresh data folder each time, or the second heal would come from memory.
            times.append(timed(command, {"HEAL_DATA_DIR": str(Path(folder) / f"data{turn}")}))
            floors.append(timed(light))
    yield figure("heal of a one-bug file, whole process", times, "pytest --version", floors)


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
    yield figure("page served", times, "minimal Gradio app", floors)


def chromium() -> str | None:
    """The system's browser, where there is one."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


@contextmanager
def browser() -> Iterator[Browser]:
    """The system's browser, without a window."""
    from playwright.sync_api import sync_playwright

    found = chromium()
    if found is None:
        raise SystemExit("There is no Chromium here: install Debian's package `chromium`.")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        yield launched
        launched.close()


class Server(NamedTuple):
    """A process that serves a page, and the seconds until it answered."""

    address: str
    seconds: float


@contextmanager
def served(program: Path, data: Path) -> Iterator[Server]:
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
        yield Server(address, time.perf_counter() - started)
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
