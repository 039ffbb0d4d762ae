"""What is particular to the subprocess backend; the rest is in the contract."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sandbox import Job, Limits, LostItem, Outcome, SandboxError, SandboxUnavailable, open_sandbox
from sandbox.contract import ECHO, GENEROUS_LIMITS, script
from sandbox.subprocess_backend import SubprocessSandbox
from tests.sandbox.here import descriptors, marked, until

ROOT = Path(__file__).parents[2]
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture
def sandbox() -> SubprocessSandbox:
    return SubprocessSandbox()


@LINUX
async def test_many_runs_leave_no_resources_behind(sandbox: SubprocessSandbox) -> None:
    daemon = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(60)\n"
    jobs = [
        Job("jail.send(1)"),
        Job(daemon),
        Job("while True: pass", limits=Limits(wall_s=0.1)),
        Job("open('a', 'w').write('b'); 1 / 0", stdin="x", files={"b/c.py": ""}),
        Job("import os\nwhile True: os.write(1, bytes(10_000))"),
    ] * 2
    home = Path((await sandbox.run(script("import os; print(os.getcwd())"))).stdout).parents[1]
    await asyncio.gather(*map(sandbox.run, jobs))
    before = descriptors()

    for _ in range(3):
        await asyncio.gather(*map(sandbox.run, jobs))

    # One for a further block of spare users, which is a locked file; a leak would be one a run.
    assert descriptors() <= before + 2
    assert [place for place in os.listdir(home) if place.isdigit()] == []
    assert marked(f"CODE_JAIL={home.name}-") == []


@LINUX
async def test_a_flood_of_output_does_not_grow_the_host(sandbox: SubprocessSandbox) -> None:
    await sandbox.run(script("print('warm')"))
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
    before = resident("VmRSS")

    outcome = await sandbox.run(
        script("import os\nfor _ in range(300): os.write(1, b'x' * 1_000_000)")
    )

    assert (outcome.ended, len(outcome.stdout)) == ("output", 1_000_000)
    assert resident("VmHWM") - before < 20_000


def resident(name: str) -> int:
    """A figure of this process's memory, in KiB."""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith(name)))


def test_loops_of_other_threads_run_jobs_side_by_side(sandbox: SubprocessSandbox) -> None:
    outcomes: list[Outcome] = []

    def work() -> None:
        outcomes.append(asyncio.run(sandbox.run(Job("jail.send(jail.payload)", payload=5))))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [outcome.messages for outcome in outcomes] == [(5,)] * 4


@LINUX
def test_a_killed_host_leaves_no_process_and_the_next_host_clears_its_folder() -> None:
    text = """\
import asyncio
from sandbox import Job, open_sandbox
async def main():
    job = Job("import time; jail.send(jail.folder); time.sleep(60)")
    async with open_sandbox("subprocess").start(job) as process:
        print(await process.receive(), flush=True)
        await process.finish()
asyncio.run(main())
"""
    host = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, stdout=subprocess.PIPE)
    assert host.stdout is not None
    with host.stdout:
        home = Path(host.stdout.readline().decode().strip()).parents[1]
    mark = f"CODE_JAIL={home.name}-"
    assert len(marked(mark)) == 1

    host.send_signal(signal.SIGKILL)
    host.wait()
    gone = until(lambda: not marked(mark))
    left = home.exists()
    again = "import sandbox; sandbox.open_sandbox('subprocess')"
    subprocess.run([sys.executable, "-c", again], cwd=ROOT)

    assert (gone, left, home.exists()) == (True, True, False)


async def test_a_system_without_pidfd_sees_the_same_ends(
    sandbox: SubprocessSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)

    programs = ("pass", "while True: pass", "import os; os._exit(1)", "import os; os.abort()")
    ended = [
        (await sandbox.run(Job(program, limits=Limits(wall_s=1)))).ended for program in programs
    ]

    assert ended == ["completed", "timeout", "exited", "killed"]


def test_windows_is_refused_with_what_helps_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")

    with pytest.raises(SandboxUnavailable, match="WSL"):
        open_sandbox("subprocess")


def test_the_package_imports_where_unix_modules_are_absent() -> None:
    text = (
        "import sys\n"
        "for name in ('fcntl', 'resource', 'pwd', 'grp', 'termios'): sys.modules[name] = None\n"
        "import sandbox.subprocess_backend, sandbox.strongest, sandbox.__main__\n"
    )

    assert subprocess.run([sys.executable, "-c", text], cwd=ROOT).returncode == 0


async def test_unread_messages_wait_until_the_deadline(sandbox: SubprocessSandbox) -> None:
    async with sandbox.start(Job("while True: pass", limits=Limits(wall_s=1))) as process:
        for _ in range(20):
            await process.send("x" * 1_000_000)
        outcome = await process.finish()

    assert outcome.ended == "timeout"


async def test_late_reads_receive_earlier_messages(sandbox: SubprocessSandbox) -> None:
    program = "jail.send(1)\njail.send(2)\nwhile True: pass"
    async with sandbox.start(Job(program, limits=Limits(wall_s=2))) as process:
        first = await process.receive()
        await asyncio.sleep(2.2)
        second = await process.receive()
        outcome = await process.receive()

    assert (first, second) == (1, 2)
    assert isinstance(outcome, Outcome)
    assert (outcome.ended, outcome.messages) == ("timeout", ())


async def test_a_cancelled_batch_kills_its_program(sandbox: SubprocessSandbox) -> None:
    pids: list[int] = []

    async def stuck() -> None:
        program = "import os\njail.send(os.getpid()) if jail.receive() else 0\nwhile True: pass"
        async with sandbox.batch(Job(program, limits=GENEROUS_LIMITS)) as batch:
            async for _, reply in batch.replies([1, 2], item_wall_s=60):
                assert isinstance(reply, int)
                pids.append(reply)

    task = asyncio.create_task(stuck())
    async with asyncio.timeout(60):
        while not pids:
            await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


async def test_a_batch_answers_one_list_at_a_time(sandbox: SubprocessSandbox) -> None:
    async with sandbox.batch(Job(ECHO, limits=GENEROUS_LIMITS)) as batch:
        first = batch.replies([1, 2], item_wall_s=5)
        assert await anext(first) == (0, 1)

        with pytest.raises(SandboxError, match="one list"):
            await anext(batch.replies([3], item_wall_s=5))

        assert [pair async for pair in first] == [(1, 2)]


async def test_a_lost_item_reports_its_processs_error(sandbox: SubprocessSandbox) -> None:
    async with sandbox.batch(Job("jail.receive()\nraise ValueError('why')")) as batch:
        lost = [reply async for _, reply in batch.replies([1], item_wall_s=5)]

    assert isinstance(lost[0], LostItem)
    assert lost[0].ended == "exited"
    assert lost[0].stderr.endswith("ValueError: why\n")


async def test_items_of_many_megabytes_are_not_all_sent_ahead(sandbox: SubprocessSandbox) -> None:
    items = [chr(97 + number) * 3_000_000 for number in range(12)]
    limits = Limits(wall_s=30, message_bytes=4_000_000)

    async with sandbox.batch(Job(ECHO, limits=limits)) as batch:
        replies = [reply async for _, reply in batch.replies(items, item_wall_s=20)]

    assert replies == items


async def test_inherited_files_of_the_host_are_closed_in_a_job(sandbox: SubprocessSandbox) -> None:
    reader, writer = os.pipe()
    high = 200
    os.dup2(writer, high, inheritable=True)
    try:
        outcome = await sandbox.run(
            script(f"import os\ntry: os.fstat({high})\nexcept OSError as e: print(e.errno)")
        )
    finally:
        for descriptor in (reader, writer, high):
            os.close(descriptor)

    assert outcome.stdout == "9\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="links are made for the spare users of root only")
async def test_imported_packages_are_read_only(sandbox: SubprocessSandbox, tmp_path: Path) -> None:
    module = tmp_path / "package" / "loose.py"
    module.parent.mkdir(mode=0o777)
    module.parent.chmod(0o777)
    module.write_text("VALUE = 1")
    module.chmod(0o666)
    text = """\
import os, loose
for attempt in (lambda: open(loose.__file__, "a"), lambda: open(loose.__file__ + "c", "w")):
    try: attempt()
    except PermissionError: print("refused", loose.VALUE)
"""

    job = Job(script(text).program, ["main.py", []], files={"main.py": text},
              package_folders=(str(module.parent),))
    outcome = await sandbox.run(job)

    assert outcome.stdout == "refused 1\n" * 2
