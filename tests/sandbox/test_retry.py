"""A fork server that is killed from outside loses no job of which nothing was told yet."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from sandbox import Job, SandboxError
from sandbox.contract import GENEROUS_LIMITS
from sandbox.types import Json, SandboxDied

if sys.platform != "linux":
    pytest.skip("the jail needs Linux", allow_module_level=True)

from sandbox.jail import JailSandbox
from sandbox.jail.forkserver import ForkServer
from sandbox.jail.running import RunningJob

ANSWERS = "while (item := jail.receive()) is not None:\n    jail.send(item)"


@pytest.fixture
def jail(jail_with_files: JailSandbox) -> JailSandbox:
    return jail_with_files


async def server_of(jail: JailSandbox) -> ForkServer:
    return await jail._server(Job(""))


def kill(server: ForkServer) -> None:
    os.kill(server.pid, signal.SIGKILL)


async def test_a_run_is_done_again_where_its_server_is_killed(jail: JailSandbox) -> None:
    job = Job("import time\njail.send(1)\ntime.sleep(0.5)\njail.send(2)", limits=GENEROUS_LIMITS)
    running = asyncio.create_task(jail.run(job))
    await asyncio.sleep(0.2)

    kill(await server_of(jail))

    assert (await running).messages == (1, 2)


async def test_a_server_killed_before_the_job_comes_is_not_noticed(jail: JailSandbox) -> None:
    await jail.run(Job("pass", limits=GENEROUS_LIMITS))
    kill(await server_of(jail))

    outcome = await jail.run(Job("jail.send(3)", limits=GENEROUS_LIMITS))

    assert outcome.messages == (3,)


def test_a_server_of_an_ended_event_loop_is_not_reused(strongest: JailSandbox) -> None:
    async def server() -> ForkServer:
        return await server_of(strongest)

    first = asyncio.run(server())
    kill(first)
    os.waitid(os.P_PID, first.pid, os.WEXITED | os.WNOWAIT)

    assert asyncio.run(server()) is not first
    assert "between two event loops" in first.broken


async def test_a_job_that_is_talked_with_hears_again_what_it_was_sent(jail: JailSandbox) -> None:
    program = "import time\nheard = [jail.receive(), jail.receive()]\ntime.sleep(0.3)\n"
    async with jail.start(Job(program + "jail.send(heard)", limits=GENEROUS_LIMITS)) as process:
        await process.send("one")
        await process.send("two")
        await asyncio.sleep(0.1)
        kill(await server_of(jail))

        assert await process.receive() == ["one", "two"]
        assert (await process.finish()).ended == "completed"


async def test_a_loss_after_data_is_an_error(jail: JailSandbox) -> None:
    with pytest.raises(SandboxDied, match="the fork server ended"):
        async with jail.start(Job("jail.send(1)\njail.receive()",
                                  limits=GENEROUS_LIMITS)) as process:
            assert await process.receive() == 1
            kill(await server_of(jail))
            await process.finish()


async def test_a_second_loss_is_raised(jail: JailSandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    server, killed = jail._server, []

    async def soon_killed(job: Job) -> ForkServer:
        found = await server(job)
        killed.append(asyncio.get_running_loop().call_later(0.1, kill, found))
        return found

    monkeypatch.setattr(jail, "_server", soon_killed)

    with pytest.raises(SandboxError, match="the fork server ended"):
        await jail.run(Job("import time\ntime.sleep(5)", limits=GENEROUS_LIMITS))

    assert len(killed) == 2


async def test_a_batch_asks_again_what_was_not_answered(jail: JailSandbox) -> None:
    items: list[Json] = [*range(200)]
    seen = []
    # Slow, so that the answers to the rest do not lie here already.
    slow = ANSWERS.replace("jail.send", "__import__('time').sleep(0.005)\n    jail.send")
    async with jail.batch(Job(slow, limits=GENEROUS_LIMITS)) as batch:
        async for index, reply in batch.replies(items, item_wall_s=5):
            seen.append((index, reply))
            if index in (0, 199):
                assert isinstance(batch._process, RunningJob)
                kill(batch._process._server)

        # Lost while it had nothing to answer, it is started anew for the next list.
        async for index, reply in batch.replies(items[:3], item_wall_s=5):
            seen.append((index, reply))

    assert seen == [(number, number) for number in (*range(200), 0, 1, 2)]
