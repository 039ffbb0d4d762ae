"""The jail's life: its fork servers, levels and folders. What it holds back is the gauntlet's."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.contract import GENEROUS_LIMITS, script
from sandbox.jail import JailSandbox
from sandbox.jail.running import RunningJob, jail_message
from sandbox.types import Job, Limits, Outcome, SandboxError
from tests.sandbox.here import alive, descriptors, until

ROOT = Path(__file__).resolve().parents[2]


async def started(jail: JailSandbox) -> RunningJob:
    """A job that says something and waits, with nobody to end it but its event loop."""
    job = Job("jail.send(1)\njail.receive()", limits=GENEROUS_LIMITS)
    server = await jail._server(job)
    worker = await server.worker()
    return RunningJob(server, worker, job, jail_message(job, is_batch=False), is_batch=False)


async def test_the_level_is_the_one_that_canaries_saw(jail: JailSandbox) -> None:
    isolation = await jail.isolation()

    assert isolation.level in jail.describe()
    held = {layer.name: layer.holds for layer in isolation.layers}
    assert held == {
        "seccomp": True,
        "files": True,
        "Landlock": isolation.level in ("L3", "L4"),
        "namespaces": isolation.level == "L4",
    }


async def test_an_answer_that_is_none_ends_the_server(strongest: JailSandbox) -> None:
    with pytest.raises(SandboxError, match="it sent an invalid answer"):
        job = Job("jail.send(1)\njail.receive()", limits=GENEROUS_LIMITS)
        async with strongest.start(job) as process:
            await process.receive()
            process.running._server._handle_message(b"\x07garbage")
            await process.finish()

    after = await strongest.run(Job("jail.send(3)", limits=GENEROUS_LIMITS))

    assert after.messages == (3,)


async def test_a_job_full_of_threads_leaves_room_for_the_next(strongest: JailSandbox) -> None:
    bomb = """\
import threading, time
threading.stack_size(32_768)
count = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
        count += 1
except RuntimeError:
    jail.send(count)
jail.receive()
"""
    async with strongest.start(Job(bomb, limits=GENEROUS_LIMITS)) as process:
        count = await process.receive()
        after = await strongest.run(Job("jail.send(4)", limits=GENEROUS_LIMITS))

    assert isinstance(count, int) and 50 < count < 1000
    assert after.messages == (4,)


def test_the_next_event_loop_takes_over_the_server(strongest: JailSandbox) -> None:
    async def number() -> int:
        async with strongest.start(Job("jail.send(1)\njail.receive()",
                                       limits=GENEROUS_LIMITS)) as process:
            await process.receive()
            return id(process.running._server)

    assert asyncio.run(number()) == asyncio.run(number())


def test_jobs_of_a_closed_loop_are_killed(strongest: JailSandbox) -> None:
    async def abandoned() -> int:
        process = await started(strongest)
        await process.receive()
        return process._worker.number

    async def living() -> list[int]:
        async with strongest.start(Job("jail.send(1)\njail.receive()",
                                       limits=GENEROUS_LIMITS)) as process:
            await process.receive()
            await asyncio.sleep(0.2)
            return list(process.running._server._workers)

    number = asyncio.run(abandoned())

    assert number not in asyncio.run(living())


@pytest.mark.nightly
def test_a_killed_host_leaves_no_process() -> None:
    text = """\
import asyncio
from sandbox import Job, SandboxUnavailable
from sandbox.jail import JailSandbox
from sandbox.jail.running import RunningJob, jail_message
async def main():
    try:
        async with JailSandbox().start(Job("jail.send(1); jail.receive()")) as process:
            await process.receive()
            server = process.running._server
            print(server._workspace.folder, server.pid, flush=True)
            await process.finish()
    except SandboxUnavailable:
        print("none", flush=True)
asyncio.run(main())
"""
    host = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, stdout=subprocess.PIPE)
    assert host.stdout is not None
    with host.stdout:
        said = host.stdout.readline().decode().split()
    if said == ["none"]:
        host.wait()
        pytest.skip("no jail is granted here")
    folder, server = Path(said[0]), int(said[1])
    children = Path(f"/proc/{server}/task/{server}/children")
    processes = [server, *map(int, children.read_text().split())]

    host.send_signal(signal.SIGKILL)
    host.wait()

    assert len(processes) >= 2
    assert until(lambda: not any(alive(pid) for pid in processes))
    subprocess.run(
        [sys.executable, "-c", "from sandbox.workspaces import workspaces; workspaces()"],
        cwd=ROOT, check=True,
    )
    assert not folder.exists()


async def test_a_job_that_says_it_ended_does_not_go_on(strongest: JailSandbox) -> None:
    forged = bytes([3]) + bytes(8)  # what the guest says at the end
    program = f"import os\njail.send(os.getpid())\nos.write(3, {forged!r})\nwhile True: pass"
    async with strongest.start(Job(program, limits=GENEROUS_LIMITS)) as process:
        await process.receive()
        outcome = await process.finish()
        server, worker = process.running._server, process.running._worker

    assert outcome.ended == "completed"
    async with asyncio.timeout(60):
        while worker.number in server._workers:
            await asyncio.sleep(0.01)
    assert worker.end is not None
    assert os.WTERMSIG(worker.end[0]) == signal.SIGKILL


def test_a_closed_loop_leaves_no_descriptor_open(strongest: JailSandbox) -> None:
    async def abandon_some() -> None:
        for _ in range(8):
            process = await started(strongest)
            await process.receive()

    async def open_descriptors() -> int:
        await strongest.run(Job("pass", limits=GENEROUS_LIMITS))
        await asyncio.sleep(0.2)
        return descriptors()

    before = asyncio.run(open_descriptors())
    for _ in range(3):
        asyncio.run(abandon_some())

    assert asyncio.run(open_descriptors()) <= before + 4


async def test_more_jobs_than_folders_take_their_turn(strongest: JailSandbox) -> None:
    jobs = [Job("jail.send(jail.payload)", payload=number,
                limits=GENEROUS_LIMITS) for number in range(60)]

    outcomes = await asyncio.gather(*(strongest.run(job) for job in jobs))

    assert [outcome.messages for outcome in outcomes] == [(number,) for number in range(60)]


async def test_a_job_never_finds_leftovers_of_another(jail_with_files: JailSandbox) -> None:
    jail = jail_with_files
    leave = (
        "import os\nopen('left', 'w').write('x')\nos.makedirs('a/b')\n"
        "open(os.environ['TMPDIR'] + '/left', 'w').write('x')\n"
        "print(sorted(os.listdir()), os.listdir(os.environ['TMPDIR']))\n"
        "try: os.chmod('a', 0)\nexcept PermissionError: pass  # nobody may, at L3\n"
    )
    look = "import os\nprint(sorted(os.listdir()), os.listdir(os.environ['TMPDIR']))\n"
    left = [await jail.run(script(leave)) for _ in range(30)]
    seen = [await jail.run(script(look)) for _ in range(30)]

    assert {outcome.stdout for outcome in left} == {"['a', 'left', 'main.py'] ['left']\n"}
    assert {outcome.stdout for outcome in seen} == {"['main.py'] []\n"}


@pytest.mark.parametrize("seed", [0, 7])
async def test_random_follows_the_seed_in_every_child(jail: JailSandbox, seed: int) -> None:
    job = Job("import random\njail.send([random.random(), hash('a')])", seed=seed,
              limits=GENEROUS_LIMITS)

    first, second = [await jail.run(job) for _ in range(2)]

    assert first.messages == second.messages != ()
    other = await jail.run(Job(job.program, seed=seed + 1, limits=GENEROUS_LIMITS))
    assert other.messages != first.messages


async def test_modules_are_loaded_once_for_all_jobs(jail: JailSandbox) -> None:
    modules = {"ours": "import time\nLOADED = time.monotonic_ns()"}
    job = Job("import ours\njail.send(ours.LOADED)", modules=modules, limits=GENEROUS_LIMITS)

    loaded = {(await jail.run(job)).messages for _ in range(3)}

    assert len(loaded) == 1


async def test_files_are_weighed_in_bytes(strongest: JailSandbox) -> None:
    with pytest.raises(SandboxError, match="limited to 32 MiB, but have 33 MiB"):
        await strongest.run(Job("pass", files={"a": "\N{TOOTH}" * (33 << 18)},
                                limits=GENEROUS_LIMITS))


async def test_too_many_files_are_no_internal_error(jail: JailSandbox) -> None:
    many = {f"{number}.txt": "" for number in range(2_049)}
    with pytest.raises(SandboxError, match="limited to 2048 files, but has 2049"):
        await jail.run(Job("pass", files=many, limits=GENEROUS_LIMITS))

    del many["0.txt"]

    assert (await jail.run(Job("pass", files=many, limits=GENEROUS_LIMITS))).ended == "completed"


async def test_a_jobs_own_module_comes_before_one_that_is_loaded(jail: JailSandbox) -> None:
    text = "import statistics\nprint(statistics.OWN)"

    outcome = await jail.run(script(text, files={"statistics.py": "OWN = 1"}))

    assert (outcome.stdout, outcome.stderr) == ("1\n", "")


async def test_a_scratch_folder_is_of_limited_size(jail_with_files: JailSandbox) -> None:
    fill = """\
import errno, time
for number in range(1000):
    try:
        with open(f"part {number}", "wb") as file: file.write(bytes(4_000_000))
    except OSError as error:
        print(errno.errorcode[error.errno], number < 40)
        break
    time.sleep(0.02)
"""
    outcome = await jail_with_files.run(script(fill))

    if (await jail_with_files.isolation()).level == "L4":
        assert outcome.stdout == "ENOSPC True\n"
    else:
        assert (outcome.ended, outcome.limit) == (
            "killed", "files of more than 64 MiB, or 4096 files"
        )


async def test_the_output_is_cut_at_its_limit(jail: JailSandbox) -> None:
    limits = Limits(wall_s=30, cpu_s=30, output_bytes=1000)

    async def printed(count: int) -> Outcome:
        return await jail.run(script(f"print('x' * {count - 1})", limits=limits))

    fits, cut = await printed(1000), await printed(1001)

    assert (fits.ended, len(fits.stdout)) == ("completed", 1000)
    assert (cut.ended, len(cut.stdout), cut.limit) == (
        "output", 1000, "output of more than 1000 bytes",
    )


SITES = tuple(path for path in sys.path if path.endswith("site-packages"))


@pytest.mark.parametrize("preload", [(), ("numpy",)])
async def test_a_large_package_is_preloaded(jail: JailSandbox, preload: tuple[str, ...]) -> None:
    pytest.importorskip("numpy", reason="numpy is not installed")
    if not preload and (await jail.isolation()).level == "L2":
        pytest.skip("packages cannot be opened at this level")
    program = (
        "import sys\njail.send('numpy' in sys.modules)\n"
        "import numpy\njail.send(numpy.arange(4).sum().item())"
    )

    outcome = await jail.run(Job(program, preload=preload, package_folders=SITES,
                                 limits=GENEROUS_LIMITS))

    assert (outcome.messages, outcome.stderr) == ((bool(preload), 6), "")


async def test_a_broken_package_fails_in_the_job(strongest: JailSandbox, tmp_path: Path) -> None:
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text("raise ImportError('broken')")
    job = Job("import numpy", preload=("numpy",), package_folders=(str(tmp_path),),
              limits=GENEROUS_LIMITS)

    outcome = await strongest.run(job)

    assert outcome.exit_code == 1
    assert outcome.stderr.endswith("ImportError: broken\n")


async def test_a_job_that_cannot_start_is_not_the_codes_fault(strongest: JailSandbox) -> None:
    too_few = Limits(wall_s=30, cpu_s=30, open_files=4)

    with pytest.raises(SandboxError, match="could not start its job") as caught:
        await strongest.run(Job("pass", files={"a.py": ""}, limits=too_few))

    assert "Too many open files" in str(caught.value)


async def test_an_exit_with_our_own_code_is_the_codes_doing(strongest: JailSandbox) -> None:
    outcome = await strongest.run(Job("import os\nos._exit(97)", limits=GENEROUS_LIMITS))

    assert (outcome.ended, outcome.exit_code) == ("exited", 97)
