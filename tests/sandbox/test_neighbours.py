"""What one job cannot do to those beside it and after it."""

from __future__ import annotations

import asyncio
import textwrap
from dataclasses import replace

import pytest

from sandbox.contract import GENEROUS_LIMITS
from sandbox.jail import JailSandbox, forkserver
from sandbox.types import Job


def job(text: str) -> Job:
    return Job(textwrap.dedent(text), limits=GENEROUS_LIMITS)


UNTIDY = {
    "a closed folder": "os.chmod('.', 0)",
    "a closed folder with files": """
        open(os.environ['TMPDIR'] + '/x', 'w').close()
        os.chmod(os.environ['TMPDIR'], 0o500)
    """,
    "the names that clearing away would use": """
        os.mkdir('x')
        for process in {os.getppid(), *range(1, 100)}:
            os.makedirs(f'x/moved-{process}-1/sub')
    """,
}


@pytest.mark.parametrize("leave", UNTIDY)
async def test_a_job_ends_no_other_process(jail_with_files: JailSandbox, leave: str) -> None:
    neighbour = job("""
        open('mine', 'w').write('x')
        jail.send('begun')
        jail.receive()
        print(open('mine').read())
    """)
    async with jail_with_files.start(neighbour) as process:
        assert await process.receive() == "begun"
        untidy = await jail_with_files.run(job("import os\n" + textwrap.dedent(UNTIDY[leave])))
        later = [
            await jail_with_files.run(job("open('x', 'w').write('y')"))
            for _ in range(forkserver.SLOTS)  # so that one of them gets the same folder
        ]
        await process.send(None)
        outcome = await process.finish()

    assert untidy.ended == "completed", untidy
    assert {one.ended for one in later} == {"completed"}
    assert outcome.stdout == "x\n"


async def test_modes_and_times_change_only_in_the_own_folder(jail_with_files: JailSandbox) -> None:
    server = await jail_with_files._server(job(""))
    text = """
        import os, shutil, tempfile
        open('x', 'w').close()
        os.chmod('x', 0o640); os.utime('x', (5, 6)); shutil.copy2('x', 'y')
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o500)
        own = os.getcwd()
        base = own.rsplit('/', 3)[0]
        met = set()
        for place in [base, own.rsplit('/', 1)[0]] + [f'{base}/{slot}' for slot in jail.payload] + [
            f'{base}/{slot}/a/{inner}'
            for slot in jail.payload for inner in (os.path.basename(own), 'tmp')
        ]:
            if place not in (own, os.environ['TMPDIR']):
                for change in (lambda: os.chmod(place, 0), lambda: os.utime(place)):
                    try:
                        change()
                        met.add(place)
                    except OSError as error:
                        met.add(type(error).__name__)
        found = os.stat('y')
        jail.send([oct(found.st_mode), found.st_mtime, sorted(met)])
    """
    outcome = await jail_with_files.run(replace(job(text), payload=server._slots))

    assert outcome.messages == (["0o100640", 6.0, ["PermissionError"]],), outcome


async def test_a_neighbours_folder_stays_unknown(jail_with_files: JailSandbox) -> None:
    look = """
        import os
        base = os.getcwd().rsplit('/', 3)[0]
        names = [*map(str, range(100)), 'a', os.path.basename(os.getcwd()), 'slots']
        jail.send([name for name in names if os.path.exists(f'{base}/{name}')])
        try: jail.send(os.listdir(base))
        except PermissionError: jail.send(None)
    """
    waits = job("open('mine', 'w').close()\njail.send(1)\njail.receive()")
    async with jail_with_files.start(waits) as one:
        await one.receive()
        outcome = await jail_with_files.run(job(look))

    assert outcome.messages == ([], None)


async def test_nothing_stays_with_the_empty_input(jail: JailSandbox) -> None:
    leave = job("""
        import fcntl, os, struct
        flags = fcntl.fcntl(0, fcntl.F_GETFL)
        fcntl.fcntl(0, fcntl.F_SETFL, flags | os.O_NONBLOCK | os.O_APPEND)
        for byte in range(0, 20, 2):
            fcntl.fcntl(0, 37, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 1000 + byte, 1, 0))
        jail.send(fcntl.fcntl(0, fcntl.F_GETFL) & os.O_NONBLOCK)
    """)
    look = job("""
        import fcntl, os, struct
        lock = fcntl.fcntl(0, 5, struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 1000, 99, 0))
        jail.send([
            fcntl.fcntl(0, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND),
            struct.unpack('hhqqi4x', lock)[0] == fcntl.F_UNLCK,
        ])
    """)
    left = await jail.run(leave)
    await asyncio.sleep(0.3)  # its process is gone by then
    seen = [await jail.run(look) for _ in range(4)]

    assert left.messages and left.messages[0]
    assert [one.messages for one in seen] == [([0, True],)] * 4


async def test_a_socket_says_nothing_of_its_maker(jail: JailSandbox) -> None:
    outcome = await jail.run(job("""
        import os, socket
        channel = socket.socket(fileno=os.dup(3))
        told = []
        for option in (socket.SO_PEERCRED, 31, 59, 77):
            try:
                told.append(channel.getsockopt(socket.SOL_SOCKET, option, 12))
            except OSError as error:
                told.append(error.errno)
        jail.send(told)
    """))

    assert outcome.messages == ([1, 1, 1, 1],), outcome


async def test_a_job_that_is_called_off_as_its_turn_comes_passes_it_on(
    strongest: JailSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forkserver, "_READY", 0)
    served = replace(job("print('served')"), seed=103)  # a fork server of its own
    sleeping = replace(served, program="import time; time.sleep(1)")
    busy = [
        asyncio.create_task(strongest.run(sleeping))
        for _ in range(forkserver.SLOTS)
    ]
    await asyncio.sleep(0.5)
    waiting = [asyncio.create_task(strongest.run(served)) for _ in range(30)]
    await asyncio.sleep(0.1)
    wake = forkserver.ForkServer._wake
    called_off = []

    def wake_and_call_off(server: forkserver.ForkServer) -> None:
        turns = [told for _, told in server._queue._waiting]
        wake(server)
        for turn, task in zip(turns, [one for one in waiting if not one.done()], strict=False):
            if turn.done() and not turn.cancelled() and task is not waiting[-1]:
                called_off.append(task.cancel())

    monkeypatch.setattr(forkserver.ForkServer, "_wake", wake_and_call_off)
    await asyncio.gather(*busy)

    outcome = await asyncio.wait_for(waiting[-1], 60)
    assert outcome.stdout == "served\n"
    assert called_off
    await asyncio.gather(*waiting, return_exceptions=True)
