"""The served page while nobody uses it."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from evaluation.measures.processes import served
from evaluation.measures.programs import ROOT

SETTLED_S = 20.0
"""Until the engine behind the page is open and its first processes stand."""
WATCHED_S = 30.0


def idle() -> Iterator[str]:
    """The share of a core that the page takes."""
    if find_spec("gradio") is None or not Path("/proc/self/stat").exists():
        yield "not measured: it needs gradio and /proc"
        return
    with tempfile.TemporaryDirectory() as folder, served(ROOT / "app.py", Path(folder)):
        (server,) = _children()
        time.sleep(SETTLED_S)
        before = _cpu_s(server)
        time.sleep(WATCHED_S)
        share = (_cpu_s(server) - before) / WATCHED_S
    yield f"idle page: {share:.1%} of a core over {WATCHED_S:.0f} s"


def _children() -> list[int]:
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii")
    return [int(pid) for pid in found.split()]


def _cpu_s(pid: int) -> float:
    """Processor seconds that a process has taken, in user and kernel."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
