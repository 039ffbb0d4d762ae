"""The backend `docker`, with a command of ours in its place: no daemon was ever asked."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox import Job, Limits, SandboxError, open_sandbox
from sandbox.contract import CHECKS, GENEROUS_LIMITS, HONEST, ContractCheck, script
from sandbox.remote.docker import Docker
from sandbox.remote.link import SandboxRequirements
from tests.sandbox.here import until

BY_THE_GUEST = {
    # The guest is the one that is tried with them already, and nothing of it crosses the line.
    *(program.claim for program in HONEST[1:]),
    "another Python can be started",
    "a script has a main module, a file name and the usual builtins",
    "an uncaught error is shown as Python shows it",
    "cpu time is limited",
    "processes are limited",
    "a fork bomb is ended",
    "a crash of the interpreter is an outcome",
    "closing every descriptor gains nothing",
    "the size of a file is limited",
    "open files are limited",
    "a private file of the host is not readable",
}
CLAIMED = [
    check for check in CHECKS if "R" in check.levels and check.claim not in BY_THE_GUEST
]
ELSEWHERE = {
    # What a remote sandbox does otherwise, by design or because it is not this machine.
    "packages of a folder in `package_folders` can be imported": "packages are those of the image",
}

ROOT = Path(__file__).parents[3]


def asked(folder: Path) -> list[list[str]]:
    return [json.loads(line) for line in (folder / "log").read_text().splitlines()]


def commands(folder: Path) -> list[str]:
    return [arguments[0] for arguments in asked(folder)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("check", [
    pytest.param(check, id=check.claim, marks=[pytest.mark.nightly] if place % 4 else [])
    for place, check in enumerate(CLAIMED)
])
async def test_the_contract_holds_in_a_container(
    check: ContractCheck, docker: Callable[..., dict[str, str]]
) -> None:
    if check.claim in ELSEWHERE:
        pytest.skip(ELSEWHERE[check.claim])
    if check.needs_own_user and os.geteuid() != 0:
        pytest.skip("the container of this test is none, so its root is this user")
    if missing := check.missing():
        pytest.skip(missing)

    assert await check.seen_wrong(open_sandbox("docker", docker())) == ""


def test_every_claim_that_is_left_out_is_one_of_the_contract() -> None:
    assert BY_THE_GUEST | ELSEWHERE.keys() <= {check.claim for check in CHECKS}


async def test_a_job_runs_in_a_container_that_is_removed(
    docker: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    environment = {**docker(), "HEAL_DOCKER_IMAGE": "mine:1"}

    outcome = await open_sandbox("docker", environment).run(script("print(1)"))

    assert outcome.stdout == "1\n"
    _, run, removal = asked(tmp_path)
    assert "mine:1" in run
    assert removal == ["rm", "--force", run[run.index("--name") + 1]]


async def test_the_level_says_what_was_not_tried(docker: Callable[..., dict[str, str]]) -> None:
    isolation = await open_sandbox("docker", docker()).isolation()

    assert isolation.level == "R"
    assert {layer.name: layer.holds for layer in isolation.layers} == {
        "limits": True, "isolation": False,
    }


def test_the_container_is_asked_for_with_every_lock() -> None:
    arguments = Docker("docker", "image", {})._arguments("name", SandboxRequirements(60, 512, 10))

    line = " ".join(arguments[: arguments.index("image")])

    assert line == (
        "docker run --rm --interactive --name name --pull never --network none --ipc none "
        "--log-driver none --read-only --tmpfs /tmp:rw,noexec,nosuid,nodev,mode=1777,size=256m "
        "--memory 1024m --memory-swap 1024m --pids-limit 74 --user 0:0 --cap-drop ALL "
        "--cap-add CHOWN --cap-add DAC_OVERRIDE --cap-add FOWNER --cap-add FSETID --cap-add KILL "
        "--cap-add SETGID --cap-add SETUID --security-opt no-new-privileges --stop-timeout 0 "
        "--workdir / --entrypoint "
    )


@pytest.mark.skipif(shutil.which("docker") is None, reason="there is no docker command here")
def test_the_real_command_knows_every_flag() -> None:
    command = str(shutil.which("docker"))
    arguments = Docker(command, "image", {})._arguments("name", SandboxRequirements(60, 512, 10))

    asked = subprocess.run(
        arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        env={"DOCKER_HOST": "unix:///nowhere.sock", "HOME": "/nowhere"},
    )

    # It reads its arguments first; that there is no daemon is all it has to say.
    assert asked.returncode == 125
    assert "unix:///nowhere.sock" in asked.stderr


async def test_a_job_has_no_capability(docker: Callable[..., dict[str, str]]) -> None:
    text = """\
for line in open("/proc/self/status"):
    if line.startswith(("CapEff", "CapPrm", "CapInh", "CapAmb", "NoNewPrivs")):
        print(*line.split())
"""

    outcome = await open_sandbox("docker", docker()).run(script(text))

    zero = "0" * 16
    assert outcome.stdout == (
        f"CapInh: {zero}\nCapPrm: {zero}\nCapEff: {zero}\nCapAmb: {zero}\nNoNewPrivs: 1\n"
    )


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("no image", "run: docker pull python:3"),
        ("no python", "set HEAL_DOCKER_IMAGE to an image with a python3"),
    ],
)
async def test_a_container_that_does_not_start_says_what_to_do(
    docker: Callable[..., dict[str, str]], tmp_path: Path, mode: str, said: str
) -> None:
    with pytest.raises(SandboxError, match=said):
        await open_sandbox("docker", docker(mode)).run(Job("pass"))

    assert commands(tmp_path) == ["version", "run", "rm"]


async def test_a_container_that_cannot_be_removed_is_named(
    docker: Callable[..., dict[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox.remote.docker._REMOVAL_S", 1.0)

    with pytest.raises(SandboxError, match="run: docker rm --force code-jail-"):
        await open_sandbox("docker", docker("cannot remove")).run(Job("pass"))


async def test_a_cancelled_job_leaves_no_container(
    docker: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    jail = open_sandbox("docker", docker())
    task = asyncio.create_task(jail.run(Job("while True: pass", limits=GENEROUS_LIMITS)))
    async with asyncio.timeout(60):
        while not list(tmp_path.glob("code-jail-*")):
            await asyncio.sleep(0.01)

    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert commands(tmp_path) == ["version", "run", "rm"]
    assert list(tmp_path.glob("code-jail-*")) == []


async def test_a_container_whose_client_is_killed_is_no_word_about_the_job(
    docker: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    jail = open_sandbox("docker", docker())
    async with jail.start(Job("jail.send(1)\nwhile True: pass", limits=Limits(wall_s=20))) as job:
        await job.receive()
        (place,) = tmp_path.glob("code-jail-*")
        os.killpg(int(place.read_text()), 9)

        with pytest.raises(SandboxError, match="ended before the job did"):
            await job.finish()

    assert commands(tmp_path) == ["version", "run", "rm"]


def test_a_host_that_is_killed_leaves_no_container(
    docker: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    text = """\
import asyncio
from sandbox import Job, Limits, open_sandbox
async def main():
    job = Job("jail.send(1)\\nwhile True: pass", limits=Limits(wall_s=60, cpu_s=60))
    async with open_sandbox("docker").start(job) as process:
        print(await process.receive(), flush=True)
        await process.finish()
asyncio.run(main())
"""
    host = subprocess.Popen(
        [sys.executable, "-c", text], cwd=ROOT, env=docker(), stdout=subprocess.PIPE
    )
    assert host.stdout is not None
    with host.stdout:
        assert host.stdout.readline() == b"1\n"
    (place,) = tmp_path.glob("code-jail-*")

    host.kill()
    host.wait()

    assert until(lambda: not place.exists())
