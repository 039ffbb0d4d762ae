"""The page's programs in processes of their own, which begin with what they all load."""

from __future__ import annotations

import os
import runpy
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).parent.parent.parent
PATIENCE_S = 120.0
WEAK = {"GRADIO_SERVER_NAME": "0.0.0.0", "HEAL_SANDBOX": "subprocess"}
Way = Literal["forkserver", "spawn"]
"""From a process that has loaded the page, which takes most of a start; or all anew."""
get_context("forkserver").set_forkserver_preload(
    ["app", "demo.serving.server", "demo.web", "agent.loop.session"]
)


def run(command: tuple[str, ...], env: Mapping[str, str], folder: Path) -> None:
    """A program of this repository, as a person starts it in a folder."""
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    sys.argv = [*command]
    sys.path.insert(0, str(ROOT))
    runpy.run_path(str(ROOT / command[0]), run_name="__main__")


@contextmanager
def started(
    *command: str, port: int, env: Mapping[str, str] | None = None, way: Way = "forkserver",
    base: Mapping[str, str] = os.environ, folder: Path = ROOT,
) -> Iterator[tuple[str, BaseProcess]]:
    """The address of a page that a process serves, once it answers, and the process; its
    environment is `base` with `env`."""
    whole = {**base, "GRADIO_ANALYTICS_ENABLED": "False", "PYTHONPATH": str(ROOT), **(env or {})}
    process = get_context(way).Process(target=run, args=(command, whole, folder))
    process.start()
    home = f"http://127.0.0.1:{port}/"
    try:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                urllib.request.urlopen(home, timeout=5).close()
                break
            except (urllib.error.URLError, TimeoutError):
                assert process.is_alive(), "the page's process has ended"
                assert time.monotonic() < deadline, "the page does not answer"
                time.sleep(0.1)
        yield home, process
    finally:
        ended(process)


def ended(process: BaseProcess) -> None:
    """Tells it to end, and sees that it does so in order, unless a test has killed it."""
    if process.exitcode == -signal.SIGKILL:
        return
    process.terminate()
    process.join(60)
    assert process.exitcode == 0, f"the page's process has exit code {process.exitcode}"


@contextmanager
def serving(
    *command: str, port: int, env: Mapping[str, str] | None = None, way: Way = "forkserver"
) -> Iterator[str]:
    """The address of a page that is served by a process, as long as it is needed."""
    with started(*command, port=port, env=env, way=way) as (home, _):
        yield home


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def shipped(folder: Path, **settings: str) -> Iterator[str]:
    """The page as it ships, without a model, with what it saves in a folder. What a proof above E2
    looks for is tried elsewhere."""
    port = free_port()
    env = {"LLM_PROVIDER": "mock", "PORT": str(port), "HEAL_DATA_DIR": str(folder),
           "HEAL_PROOF_S": "0", **settings}
    with serving("app.py", port=port, env=env) as address:
        yield address
