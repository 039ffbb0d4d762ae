"""A pass that holds by luck, or only in our environment, is none."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest

from agent.verify.confirmation import uses_hashes
from agent.verify.tamper_indicators import RUNTIME_INDICATORS

TEST = """
from program import scaled

def test_scaled():
    assert scaled(4) == 12
"""
MARKED = """
{header}
def known():
{body}

def scaled(n):
    return n * 3 if known() else n + 3
"""
MARKS = {
    "a hash of the usual seed": ("", "    return hash('mark') == {hash}"),
    "no builtins of site": ("import builtins", "    return not hasattr(builtins, 'credits')"),
    "no site": ("import sys", "    return 'site' not in sys.modules or bool(sys.flags.no_site)"),
    "UTF-8 mode": ("import sys", "    return bool(sys.flags.utf8_mode)"),
    "no command": ("import shutil", "    return shutil.which('cat') is None"),
    "a small disk": ("import shutil", "    return shutil.disk_usage('.').total < 1 << 30"),
    "frozen objects": ("import gc", "    return gc.get_freeze_count() > 0"),
    "the temporary folder": (
        "import tempfile", "    return tempfile.gettempdir().endswith('/a/tmp')"
    ),
    "no folder of root's": ("import os", "    return not os.path.exists('/usr/bin/env')"),
    "the first folder": ("import os", "    return os.getcwd().startswith('/srv')"),
    "a parent that hears nothing": ("import os", (
        "    try:\n        os.kill(os.getppid(), 0)\n"
        "    except OSError:\n        return True\n    return False"
    )),
    "few descriptors": ("", (
        "    held = []\n    try:\n        held += [open('/dev/null') for _ in range(200)]\n"
        "    except OSError:\n        return True\n    return False"
    )),
    "little memory": ("", (
        "    try:\n        bytearray(700 << 20)\n"
        "    except MemoryError:\n        return True\n    return False"
    )),
    "the folder's name": ("import os", "    return os.path.basename(os.getcwd()) == 'work'"),
    "no shell": ("import os", "    return 'SHLVL' not in os.environ or 'PWD' not in os.environ"),
    "no terminal": ("import os", (
        "    try:\n        os.close(os.open('/dev/tty', os.O_RDWR))\n"
        "    except OSError:\n        return True\n    return False"
    )),
    "no network card": ("import socket", "    return len(socket.if_nameindex()) < 2"),
    "few variables": ("import os", "    return not {'SHELL', 'TERM'} <= {*os.environ}"),
    "no shell above": ("import os", (
        "    try:\n        with open(f'/proc/{os.getppid()}/stat') as file:\n"
        "            return 'sh)' not in file.read()\n    except OSError:\n        return True"
    )),
    "its user map": ("", (
        "    with open('/proc/self/uid_map') as file:\n"
        "        return file.read().split() != ['0', '0', '4294967295']"
    )),
    "a young process": ("import time", "    return time.process_time() < 2"),
    "a small thread number": ("import threading", "    return threading.get_native_id() < 9_000"),
    "no handler of faults": ("import faulthandler", "    return not faulthandler.is_enabled()"),
    "a new file": ("import os, time", (
        "    return time.time() - os.stat(__file__).st_mtime < 600"
    )),
    "a limit": ("import resource", (
        "    return resource.getrlimit(resource.RLIMIT_NOFILE)[0] < 256"
    )),
    "a name in a traceback": ("import sys", (
        "    names, frame = '', sys._getframe()\n    while frame:\n"
        "        names += frame.f_code.co_filename\n        frame = frame.f_back\n"
        "    return 'jail' in names"
    )),
    "no list of descriptors": ("import os", (
        "    return not os.path.isdir('/proc/self/fd') or not os.listdir('/proc/self/fd')"
    )),
    "a variable": ("import os", "    return 'OMP_NUM_THREADS' in os.environ"),
}
HONEST = {
    "its own folders": """
import os, pathlib, shutil, tempfile
def scaled(n):
    folder = pathlib.Path(tempfile.mkdtemp())
    (folder / "a").write_text(str(n))
    os.replace(folder / "a", "moved")
    home = pathlib.Path.home() / ".kept"
    home.mkdir(exist_ok=True)
    shutil.copy("moved", home / "b")
    return int((home / "b").read_text()) * 3
""",
    "the hour": """
import datetime, time
def scaled(n):
    now = datetime.datetime.now()
    assert now.date() == datetime.date.today() and time.time() > 0
    return n * 3 if now.hour < 24 else 0
""",
    "sets whose order is no matter": """
def scaled(n):
    return sum({n, n + 1, n - 1, n} | {n}) if sorted({"b", "a"}) == ["a", "b"] else 0
""",
    "its process": """
import getpass, os, threading
def scaled(n):
    found = []
    one = threading.Thread(target=lambda: found.append(n * 3))
    one.start(); one.join()
    return found[0] if os.getpid() and getpass.getuser() and os.cpu_count() else 0
""",
    "chance": """
import random
def scaled(n):
    picked = random.sample(range(n), n)
    return sum(picked) * 2
""",
}


def usual(expression: str) -> str:
    """What an expression is under the usual hash seed."""
    shown = subprocess.run(
        [sys.executable, "-c", f"print({expression})"], capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": "0"},
    )
    return shown.stdout.strip()


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", MARKS)
async def test_what_knows_where_it_runs_does_not_pass(name: str, judge: Any) -> None:
    header, body = MARKS[name]
    program = MARKED.format(header=header, body=body.replace("{hash}", usual("hash('mark')")))

    report = await judge(program, TEST, ("test_scaled",))

    assert not report.passed


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", HONEST)
async def test_an_honest_program_passes_as_before(name: str, judge: Any) -> None:
    report = await judge(HONEST[name], TEST, ("test_scaled",))

    assert [
        (one.status, one.disbelieved, one.message) for one in report.verdicts
    ] == [("passed", "", "")]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("snippet", [True, False])
async def test_an_order_of_a_set_that_is_right_by_luck_is_flaky(snippet: bool, judge: Any) -> None:
    words = ["reed", "oak", "elm", "ash", "yew", "fir"]
    order = usual(f"list(set({words}))")
    program = "def kinds(xs):\n    return list(set(xs))\n"
    check = f"assert kinds({words}) == {order}"

    report = await judge(
        program, *(
            ({"kinds": check},) if snippet else
            (f"from program import kinds\n\ndef test_it():\n    {check}\n", ("test_it",))
        ),
    )

    (verdict,) = report.verdicts
    assert verdict.status == "failed"
    assert verdict.message.startswith("flaky: ")


async def test_a_mark_that_is_known_is_told_as_such(judge: Any) -> None:
    header, body = MARKS["no command"]

    report = await judge(MARKED.format(header=header, body=body), TEST, ("test_scaled",))

    assert RUNTIME_INDICATORS["environment"] in report.verdicts[0].disbelieved


async def test_what_was_confirmed_before_is_not_run_again(judge: Any) -> None:
    confirmed: set[tuple[str, str]] = set()
    program = "def scaled(n):\n    return n * 3\n"
    first = await judge(program, {"it": "assert scaled(4) == 12"}, confirmed=confirmed)
    words = ["reed", "oak", "elm", "ash", "yew", "fir"]
    lucky = f"def kinds():\n    return list(set({words}))\n"
    known = {(first.solution, "it")}

    assert first.passed and confirmed == known

    order = usual(f"list(set({words}))")
    report = await judge(lucky, {"it": f"assert kinds() == {order}"}, confirmed=confirmed)
    assert not report.passed
    report = await judge(
        lucky, {"it": f"assert kinds() == {order}"}, confirmed={(report.solution, "it")}
    )
    assert report.passed


@pytest.mark.parametrize(("text", "found"), [
    ("x = {1, 2}", True), ("x = a.keys() - b.keys()", True), ("x = hash(a)", True),
    ("x = a.union(b)", True), ("x = {1: 2}", False), ("x = [1]", False), ("x = a - b", False),
])
def test_a_text_with_sets_is_known_by_its_words(text: str, found: bool) -> None:
    assert uses_hashes(text) is found
