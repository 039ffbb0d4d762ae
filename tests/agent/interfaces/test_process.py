"""The commands with the real engine; as whole processes where it is the process that is tried."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from agent.interfaces.terminal.cli import app
from sandbox import DENIAL_MEANINGS, SandboxUnavailable
from sandbox.strongest import open_jail
from tests.agent.interfaces.conftest import a_line_has

ROOT = Path(__file__).parents[3]

WRONG = """\
def lanes(width, lane):
    # Only whole lanes count.
    return width // lane + 1
"""
WRONG_TESTS = ("--tests", "assert lanes(10, 4) == 2", "--tests", "assert lanes(3, 3) == 1")
CRASHING = """\
prices = {"tea": 3, "cake": 4}
print("menu")
print(prices["tee"])
"""
ENDLESS = "def spin(x):\n    while True:\n        pass\n    return x\n"
MAX_S = 60


def jailed() -> bool:
    try:
        open_jail()
    except SandboxUnavailable:
        return False
    return True


needs_jail = pytest.mark.skipif(not jailed(), reason="the jail does not exist on this system")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A place with a space and an accent in its name, since users have such."""
    place = tmp_path / "mes idées"
    place.mkdir()
    return place


def environment(folder: Path, **changes: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": str(folder),
        "HEAL_DATA_DIR": str(folder / "data"), "HEAL_SEARCH_S": "30",
        "HEAL_REQUIRE_CONFIDENCE": "0", **changes,
    }


def heal(folder: Path, *arguments: object, **changes: str) -> subprocess.CompletedProcess[str]:
    """`python -m agent …` in this process, which has imported the engine already."""
    given = [str(argument) for argument in arguments]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "environ", environment(folder, **changes))
        patch.chdir(folder)
        done = CliRunner().invoke(app, given, prog_name="heal", catch_exceptions=False)
    return subprocess.CompletedProcess(given, done.exit_code, done.stdout, done.stderr)


def apart(folder: Path, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """The same in a process of its own, as a user runs it."""
    return subprocess.run(
        [sys.executable, "-m", "agent", *arguments], cwd=folder, capture_output=True, text=True,
        check=False, timeout=120, **{"env": environment(folder), **more},
    )


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def write(folder: Path, text: str, name: str = "program.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.nightly
def test_a_wrong_function_is_healed_its_patch_applies_and_its_log_replays(folder: Path) -> None:
    path = write(folder, WRONG)

    live = apart(folder, "run", path.name, *WRONG_TESTS, "--log", "run.jsonl")
    shown = heal(folder, "replay", "run.jsonl")
    subprocess.run(["git", "apply", "-"], cwd=folder, input=live.stdout, text=True, check=True)
    judged = heal(folder, "check", path.name, *WRONG_TESTS)

    assert live.returncode == 0, live.stderr
    assert "\x1b" not in live.stdout + live.stderr
    assert (shown.returncode, shown.stdout) == (0, live.stdout)
    assert shown.stderr.strip() in live.stderr
    assert path.read_text() != WRONG
    assert judged.returncode == 0, judged.stderr


def test_check_repairs_nothing_and_says_which_test_fails(folder: Path) -> None:
    path = write(folder, WRONG)

    done = heal(folder, "check", path.name, *WRONG_TESTS, "--json")

    found = document(done)
    assert done.returncode == 1, done.stderr
    assert (found["outcome"], found["diff"]) == ("unresolved", "")
    assert [test["status"] for test in found["tests"]] == ["failed", "failed"]
    assert [test["expected"] for test in found["tests"]] == ["2", "1"]
    assert path.read_text() == WRONG


@pytest.mark.nightly
def test_a_crash_that_stops_needs_a_test_to_be_healed(folder: Path) -> None:
    path = write(folder, CRASHING)

    without = heal(folder, "run", path.name, "--json")
    tested = heal(folder, "run", path.name, "--json", "--apply",
                  "--tests", "assert output == 'menu\\n3\\n'")

    assert without.returncode == 6, without.stderr
    assert (document(without)["outcome"], document(without)["proof"]) == ("crash_stopped", "E0")
    assert tested.returncode == 0, tested.stderr
    assert document(tested)["outcome"] == "healed"
    assert path.read_text().replace("'", '"') == CRASHING.replace('"tee"', '"tea"')
    assert (folder / "program.py.heal-backup").read_text() == CRASHING


@pytest.mark.parametrize(("answer", "code"), [
    ("y", 0), pytest.param("n", 1, marks=pytest.mark.nightly),
])
@pytest.mark.nightly
def test_a_person_at_the_terminal_reviews_the_repair(folder: Path, answer: str, code: int) -> None:
    write(folder, WRONG)
    typing, terminal = pty.openpty()
    try:
        os.write(typing, f"{answer}\n".encode())
        done = apart(
            folder, "run", "program.py", *WRONG_TESTS, stdin=terminal,
            env=environment(
                folder, HEAL_AUTONOMY="review_repairs", HEAL_REQUIRE_CONFIDENCE="1",
            ),
        )
    finally:
        os.close(typing)
        os.close(terminal)

    assert done.returncode == code, done.stderr
    # A person's word counts, however likely the patch is.
    assert done.stdout.count("-    return") == (answer == "y")
    assert "-    return" in done.stderr


def test_a_healthy_program_passes_and_an_unwritable_home_is_a_warning(folder: Path) -> None:
    path = write(folder, "def double(x):\n    return 2 * x\n")

    done = heal(folder, "run", path.name, "--tests", "assert double(4) == 8", "--json", "--apply",
                HEAL_DATA_DIR="", HOME="/proc/nowhere")

    found = document(done)
    assert done.returncode == 0, done.stderr
    assert (found["outcome"], found["diff"], found["strategy"]) == ("healthy", "", None)
    assert {entry.name for entry in folder.iterdir()} == {"program.py"}


CHECKED = """\
import pickle
import pytest
from program import lanes

def test_pickled(): assert pickle.loads(pickle.dumps(lanes))(10, 4) == 2

@pytest.mark.skip(reason="later")
def test_later(): assert lanes(0, 4) == 0

@pytest.mark.xfail
def test_odd(): assert lanes(10, 0) == 0

def test_raises():
    with pytest.raises(TypeError): pickle.loads(pickle.dumps(lanes))(1, 2, 3)
"""


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("asked", "code"), [
    ((), 0), (("--require-integrity", "in-process"), 0), (("--require-integrity", "isolated"), 6),
])
def test_check_rates_each_pass(folder: Path, asked: tuple[str, ...], code: int) -> None:
    path = write(folder, WRONG.replace(" + 1", ""))
    tests = write(folder, CHECKED, "test_program.py")

    done = heal(folder, "check", path, "--tests-file", tests, *asked)

    assert done.returncode == code, done.stderr
    rows = [line for line in done.stdout.splitlines() if not line.startswith("    ")]
    assert [row.split()[1] for row in rows if "test_" in row] == [
        "passed", "skipped", "xfailed", "vacuous"
    ]
    *said, last = done.stderr.splitlines()
    assert a_line_has(last, "E1", "in-process")
    assert a_line_has("\n".join(said), "isolated", "in-process") == (code == 6)


@needs_jail
def test_the_level_is_said_before_the_run_and_in_its_document(folder: Path) -> None:
    path = write(folder, "print(1)\n")
    done, judged = heal(folder, "run", path, "--json"), heal(folder, "check", path, "--json")
    for each in (done, judged):
        assert document(each)["level"] in ("L2", "L3", "L4")
        assert document(each)["sandbox"] in each.stderr
    # No test ran in that check.
    assert (document(judged)["proof"], document(judged)["tests"]) == ("E0", [])
    limits = heal(folder, "run", path, "--json", HEAL_SANDBOX="subprocess")
    assert document(limits)["level"] == "L1"


@needs_jail
@pytest.mark.parametrize(("code", "denial", "facts"), [
    ("import socket\nsocket.create_connection(('127.0.0.1', 9))\n", "network",
     ("PermissionError", "line 2")),
    ("print(open('/etc/passwd').read())\n", "files", ()),
])
def test_a_forbidden_need_is_reported(
    folder: Path, code: str, denial: str, facts: tuple[str, ...]
) -> None:
    done = heal(folder, "run", write(folder, code))
    assert (done.returncode, done.stdout) == (4, "")
    assert DENIAL_MEANINGS[denial] in done.stderr
    assert a_line_has(done.stderr, *facts) and "root:" not in done.stderr


def test_the_worked_task_is_drafted_tested_and_healed(folder: Path) -> None:
    done = heal(folder, "example", "--json")

    found = document(done)
    assert done.returncode == 0, done.stderr
    assert found["outcome"] == "healed"
    assert found["diff"]


def going(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """A run that is in the middle of its first step, and stays there for long."""
    write(folder, ENDLESS)
    process = subprocess.Popen(
        [sys.executable, "-m", "agent", "run", "program.py", "--tests", "assert spin(1) == 1",
         "--max-iterations", "1", *arguments],
        cwd=folder, env=environment(folder, HEAL_TEST_S="60", HEAL_BUDGET_S="600"), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # A shell starts what runs in its background with Ctrl-C ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert process.stderr is not None
    too_late = threading.Timer(MAX_S, process.kill)
    too_late.start()
    try:
        assert any(line.startswith("1 test") for line in process.stderr), "it never began"
    finally:
        too_late.cancel()
    return process


@pytest.mark.nightly
def test_ctrl_c_ends_a_run_and_leaves_the_file(folder: Path) -> None:
    process = going(folder, "--json", "--apply")

    process.send_signal(signal.SIGINT)
    try:
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()

    assert process.returncode == 130, stderr
    assert json.loads(stdout)["outcome"] == "cancelled"
    assert "Traceback" not in stderr
    assert {entry.name for entry in folder.iterdir()} == {"program.py", "data"}
    assert (folder / "program.py").read_text() == ENDLESS


@pytest.mark.nightly
def test_a_killed_run_is_taken_up_again_once(folder: Path) -> None:
    process = going(folder)

    process.kill()
    process.communicate(timeout=60)
    resumed = heal(folder, "resume", "--json", HEAL_SEARCH_S="0.1", HEAL_TEST_S="0.2")
    again = heal(folder, "resume", "--json")

    runs = document(resumed)["runs"]
    assert len(runs) == 1
    assert runs[0]["outcome"] in ("healed", "unresolved"), resumed.stderr
    assert resumed.returncode == (0 if runs[0]["outcome"] == "healed" else 1)
    assert (again.returncode, document(again)["runs"]) == (0, [])


GRAPH = ("langgraph", "langchain_core", "langsmith")


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("command", "unused"), [
    (["run", "--help"], (
        *GRAPH, "gradio", "anthropic", "torch", "transformers", "httpx", "ray",
    )),
    (["check", "program.py"], GRAPH),
])
def test_a_command_loads_nothing_that_it_does_not_need(
    folder: Path, command: list[str], unused: tuple[str, ...]
) -> None:
    write(folder, WRONG)
    program = f"""
import sys
for name in {unused!r}:
    sys.modules[name] = None
import agent.interfaces.terminal.cli, agent.interfaces.library, agent.loop.session
agent.interfaces.terminal.cli.app({command!r})
"""

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment(folder), capture_output=True,
        text=True, check=False, timeout=MAX_S,
    )

    assert done.returncode == 0, done.stderr
