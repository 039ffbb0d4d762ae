"""Fork servers are started once for all who ask, and leave no descriptor when they end."""

from __future__ import annotations

import asyncio
import sys

import pytest

from sandbox import Isolation, Job, Layer, SandboxError

if sys.platform != "linux":
    pytest.skip("the jail needs Linux", allow_module_level=True)

from sandbox.jail import JailSandbox
from sandbox.jail.forkserver import ForkServer
from sandbox.jail.servers import SERVERS
from tests.sandbox.here import descriptors

pytestmark = pytest.mark.usefixtures("strongest")


async def test_simultaneous_jobs_share_one_server(monkeypatch: pytest.MonkeyPatch) -> None:
    started = []
    start = ForkServer.start

    async def counted(self: ForkServer) -> None:
        started.append(self)
        await start(self)

    sandbox = JailSandbox()
    await sandbox.isolation()
    monkeypatch.setattr(ForkServer, "start", counted)
    job = Job("jail.send(0)", seed=4_242)

    outcomes = await asyncio.gather(*(sandbox.run(job) for _ in range(6)))

    assert [outcome.messages for outcome in outcomes] == [(0,)] * 6
    assert len(started) == 1


async def test_a_lost_level_is_an_error_and_no_weaker_run(monkeypatch: pytest.MonkeyPatch) -> None:
    async def all_through(server: ForkServer) -> Isolation:
        return Isolation("L1", (Layer("seccomp", False, "open a socket: possible"),))

    sandbox = JailSandbox()
    await sandbox.isolation()
    monkeypatch.setattr("sandbox.jail.servers.canaries", all_through)

    with pytest.raises(SandboxError, match=r"worked before and is unavailable now: .* possible"):
        await sandbox.run(Job("jail.send(0)", seed=4_444))


async def comes_to(count: int) -> bool:
    """Whether exactly `count` descriptors are open at some moment within ten seconds."""
    for _ in range(100):
        if descriptors() == count:
            return True
        await asyncio.sleep(0.1)
    return False


async def test_a_server_with_waiting_children_leaves_no_descriptor() -> None:
    sandbox = JailSandbox()
    job = Job("pass", seed=4_343)
    await sandbox.run(job)  # what the first run of a process opens stays open
    SERVERS.close()  # no other server may start or end children meanwhile
    before = descriptors()

    await sandbox.run(job)
    server = await sandbox._server(job)
    held = descriptors()
    server.close()

    assert held > before
    assert await comes_to(before), f"{descriptors()} open, {before} before"
    assert (await sandbox.run(job)).ended == "completed", "another server takes its place"
