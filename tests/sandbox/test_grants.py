"""What a job that is granted processes, or a network of its own, may do and may not."""

from __future__ import annotations

import asyncio
import os
import sys
import tomllib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox import Job, Outcome
from sandbox.attacks import ATTACKS, Targets, run_attacks
from sandbox.contract import RUN_AS_MAIN
from sandbox.levels import JailLevel
from sandbox.types import Limits
from sandbox.workspaces import workspaces
from tests.sandbox.here import marked

if sys.platform != "linux":
    pytest.skip("the jail needs Linux", allow_module_level=True)

from sandbox.jail import JailSandbox

FEW = Limits(wall_s=30, cpu_s=30, processes=16)
TO_ITSELF = tomllib.loads(Path(__file__).with_name("granted.toml").read_text("utf-8"))
"""The results of attacks in such a job; those that succeed reach only the job itself."""


class Granted(JailSandbox):
    """The jail for jobs that ask for all there is."""

    async def run(self, job: Job) -> Outcome:
        return await super().run(replace(job, processes=True, loopback=True))


@pytest.fixture
async def jail(strongest: JailSandbox) -> JailSandbox:
    isolation = await strongest.isolation(Job("", processes=True))
    if "processes" not in isolation.grants:
        pytest.skip(f"{isolation.level} grants a job no processes")
    return strongest


def script(text: str, **changes: Any) -> Job:
    job = Job(RUN_AS_MAIN, ["main.py", []], files={"main.py": text}, limits=FEW, processes=True)
    return replace(job, **changes)


async def test_processes_of_a_job_have_ended_with_its_outcome(jail: JailSandbox) -> None:
    mark = f"left-behind-{os.getpid()}"
    text = f"""\
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv("/bin/python3", ["python3", "-c", "import time; time.sleep(60)", {mark!r}])
    os._exit(0)
os.wait()
"""
    for last_word in ("jail.receive()", "import os; os._exit(5)", "import os; os.abort()"):
        job = Job(text + f"time.sleep(0.3)\njail.send(1)\njail.receive()\n{last_word}",
                  limits=FEW, processes=True)
        async with jail.start(job) as process:
            await process.receive()
            seen = marked(mark)
            await process.send(None)
            await process.send(None)
            await process.finish()
            left = marked(mark)

        assert (len(seen), left) == (1, []), last_word


async def test_what_was_written_before_the_end_is_in_the_outcome(jail: JailSandbox) -> None:
    text = """\
import os, subprocess, sys, time
if os.fork() == 0:
    while True:
        os.write(1, b"x")
        time.sleep(0.001)
subprocess.run([sys.executable, "-c", "print('from another')"])
"""
    outcome = await jail.run(script(text))

    assert outcome.ended == "completed"
    assert "from another\n" in outcome.stdout
    assert outcome.denied == ()


async def test_processes_that_write_at_once_lose_nothing(jail: JailSandbox) -> None:
    text = """\
import os
for letter in (b"a", b"b"):
    if os.fork() == 0:
        for _ in range(20_000):
            os.write(1, letter)
        os._exit(0)
os.wait()
os.wait()
"""
    outcome = await jail.run(script(text))
    assert (outcome.stdout.count("a"), outcome.stdout.count("b")) == (20_000, 20_000)


async def test_its_processes_are_bounded_and_cost_no_other_job_its_own(jail: JailSandbox) -> None:
    bomb = """\
import os, time
count = 0
try:
    while count < 5000:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        count += 1
except OSError:
    jail.send(count)
jail.receive()
"""
    async with jail.start(Job(bomb, limits=FEW, processes=True)) as process:
        count = await process.receive()
        beside = await jail.run(script("import os\nprint(os.fork() >= 0)"))

    assert count == 15
    assert "True" in beside.stdout


async def test_a_wild_bomb_ends_at_its_deadline(jail: JailSandbox) -> None:
    text = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    outcome = await jail.run(script(text, limits=replace(FEW, wall_s=1)))

    assert outcome.ended in ("timeout", "output")
    assert (await jail.run(script("print(1)"))).stdout == "1\n"


async def test_signals_reach_its_own_processes_alone(jail: JailSandbox) -> None:
    waits = Job("jail.send(1)\njail.send(jail.receive())", limits=FEW, processes=True)
    text = """\
import os, signal
for target in (-1, 1, *range(3, 400)):
    try: os.kill(target, signal.SIGKILL)
    except OSError: pass
signal.signal(signal.SIGTERM, lambda *_: print("told"))
os.killpg(0, signal.SIGTERM)
print(os.getpid(), os.getppid())
"""
    async with jail.start(waits) as granted, jail.start(replace(waits, processes=False)) as plain:
        await granted.receive()
        await plain.receive()
        outcome = await jail.run(script(text))
        for process in (granted, plain):
            await process.send("alive")
        heard = [await granted.receive(), await plain.receive()]

    assert (outcome.ended, outcome.stdout) == ("completed", "told\n2 1\n")
    assert heard == ["alive", "alive"]


async def test_child_processes_find_the_packages(jail: JailSandbox, tmp_path: Path) -> None:
    (tmp_path / "given_module.py").write_text("VALUE = 6")
    text = """\
import subprocess, sys
code = "import given_module, sys; print(given_module.VALUE, sys.path[-1] != '')"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
"""
    outcome = await jail.run(script(text, package_folders=(str(tmp_path),)))

    assert outcome.stdout == "6 True\n\n"


async def test_two_networks_are_apart(jail: JailSandbox) -> None:
    serves = Job(
        "import socket\nserver = socket.create_server(('127.0.0.1', 7777))\njail.send(1)\n"
        "jail.receive()",
        limits=FEW, loopback=True,
    )
    text = """\
import socket
for place in (("127.0.0.1", 7777), ("192.0.2.1", 80)):
    try: socket.create_connection(place, timeout=5)
    except OSError as error: print(type(error).__name__, error.errno)
socket.create_server(("127.0.0.1", 7777)).close()
"""
    async with jail.start(serves) as process:
        assert await process.receive() == 1
        outcome = await jail.run(script(text, processes=False, loopback=True))

    assert (outcome.ended, outcome.stdout) == (
        "completed", "ConnectionRefusedError 111\nOSError 101\n"
    )


@pytest.mark.parametrize("level", ["L3", "L2"])
async def test_where_an_end_is_not_certain_a_job_stays_one_process(
    level: JailLevel, jail_at: Callable[[JailLevel], Awaitable[JailSandbox]]
) -> None:
    sandbox = await jail_at(level)
    isolation = await sandbox.isolation(Job("", processes=True, loopback=True))

    outcome = await sandbox.run(script("import os\nos.fork()", loopback=True))

    assert isolation.grants == frozenset()
    assert (outcome.ended, outcome.denied) == ("exited", ("processes",))


async def test_a_system_that_grants_no_spaces_within_spaces_leaves_one_process(
    jail: JailSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sandbox.jail.forkserver import ForkServer, LevelUnsupported
    from sandbox.jail.servers import SERVERS

    start = ForkServer.start

    async def refused(self: ForkServer) -> None:
        if self.profile.grants:
            raise LevelUnsupported("name spaces of a job's own: refused")
        await start(self)

    monkeypatch.setattr(ForkServer, "start", refused)
    monkeypatch.setattr(SERVERS, "_unsupported_grants", set())
    job = script("print(1)", seed=4_545)

    isolation = await jail.isolation(job)
    outcome = await jail.run(job)

    assert (isolation.level, isolation.grants) == ("L4", frozenset())
    assert outcome.stdout == "1\n"


@pytest.mark.nightly
@pytest.mark.slow
async def test_granted_processes_help_no_attack(jail: JailSandbox, whole: bool) -> None:
    others = [attack for attack in ATTACKS if attack.name not in TO_ITSELF]
    some = [attack for attack in ATTACKS if attack.name in TO_ITSELF] + others[:: 1 if whole else 8]
    sandbox = Granted()
    granted = (await sandbox.isolation(Job("", processes=True, loopback=True))).grants
    if granted != {"processes", "loopback"}:
        pytest.skip(f"granted are only {', '.join(granted) or 'none'}")
    async with Targets() as planted:
        results = await asyncio.wait_for(run_attacks(sandbox, planted, some, "L4"), 300)

    met = {one.name: one.errno for one in results if one.result == "breached"}
    assert met == {
        one.name: TO_ITSELF[one.name]
        for one in results if one.name in TO_ITSELF and one.result != "skipped"
    }


async def test_a_jobs_temporary_folder_is_at_tmp_and_private(jail: JailSandbox) -> None:
    if workspaces().interpreter().library.startswith("/tmp/"):
        pytest.skip("the interpreter's own files lie there")
    found = "print(os.path.exists(os.environ['TMPDIR'] + '/a'), os.listdir('/tmp'))"

    first = await jail.run(script(f"import os\nopen('/tmp/a', 'w').close()\n{found}"))
    second = await jail.run(script(f"import os\n{found}"))

    assert (first.stdout, second.stdout) == ("True ['a']\n", "False []\n")


async def test_a_jobs_interpreter_shows_what_one_of_a_user_shows(strongest: JailSandbox) -> None:
    text = (
        "import builtins, sys\n"
        "print(sys.flags.no_site, sys.flags.utf8_mode, sys.flags.dont_write_bytecode, "
        "'site' in sys.modules, hasattr(builtins, 'copyright'), "
        "any('jail' in one for one in sys.path))"
    )

    seen = await strongest.run(script(text, processes=False))

    assert seen.stdout == "0 0 0 True True False\n"
