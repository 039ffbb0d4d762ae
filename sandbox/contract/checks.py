"""The claims that every backend must fulfil, as checks for tests and the self-test.

A check runs jobs and returns what was wrong, or nothing. A hostile script prints a line when its
attack has run, so that a script that never started is not taken for a blocked attack.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from sandbox.contract.programs import (
    GENEROUS_LIMITS,
    HONEST,
    HOSTILE,
    KEY_NAME,
    ContractProgram,
    planted_key,
    script,
    text,
)
from sandbox.levels import Level
from sandbox.sandbox import Sandbox
from sandbox.types import Job, Json, Limits, LostItem, Outcome
from sandbox.workspaces import workspaces

ECHO = """\
while (item := jail.receive()) is not None:
    jail.send(item)
"""
"""A batch program that echoes each value."""

EXECUTE = """\
while (item := jail.receive()) is not None:
    exec(item, {"jail": jail})
    jail.send(item)
"""
"""A batch program that executes each item as source and echoes it."""

ALL_LEVELS: frozenset[Level] = frozenset(get_args(Level))
FILE_LEVELS = ALL_LEVELS - {"L2"}
PROCESS_LEVELS: frozenset[Level] = frozenset({"L1", "R"})
GRANT_LEVELS: frozenset[Level] = frozenset({"L4", "L1", "R"})
"""Levels at which a job may be granted processes and a private network."""


@dataclass(frozen=True)
class ContractCheck:
    """One claim about a backend; `seen_wrong` returns an empty text if it holds."""

    claim: str
    seen_wrong: Callable[[Sandbox], Awaitable[str]]
    levels: frozenset[Level] = ALL_LEVELS
    """The levels at which it is claimed."""
    needs_own_user: bool = False
    """Whether it needs jobs that run as another user than the host, or an equal isolation."""
    needs_modes: bool = False
    """Whether it is not claimed at L3 if jobs run as the host's user; see `ContractProgram`."""
    missing: Callable[[], str] = str
    """The missing requirement of the check on this machine; empty if none."""

    def claimed(self, level: Level) -> bool:
        """Whether a backend of that level, run by this user, must fulfil the claim."""
        if self.needs_modes and level == "L3" and not workspaces().has_spare_users:
            return False
        return level in self.levels


def _seen(outcome: Outcome) -> str:
    parts = [f"ended {outcome.ended}", outcome.limit, outcome.signal]
    if outcome.exit_code is not None:
        parts.append(f"exit code {outcome.exit_code}")
    if outcome.messages:
        parts.append(f"sent {str(outcome.messages)[:300]}")
    if outcome.denied:
        parts.append(f"was denied {', '.join(outcome.denied)}")
    parts += [f"stdout {outcome.stdout[-500:]!r}", f"stderr {outcome.stderr[-500:]!r}"]
    return ", ".join(part for part in parts if part)


def _mismatch(holds: bool, outcome: Outcome) -> str:
    return "" if holds else _seen(outcome)


def _exists(path: str) -> bool:
    return os.path.exists(path)


async def _becomes_empty(path: str) -> bool:
    """Whether a folder is removed or empty within five seconds; large ones are removed later."""
    for _ in range(100):
        if not _exists(path) or not os.listdir(path):
            return True
        await asyncio.sleep(0.05)
    return False


def _size(path: str) -> int:
    return os.path.getsize(path)


def _write(path: str, text: str) -> None:
    Path(path).write_text(text, encoding="utf-8")


def _program_check(program: ContractProgram) -> Callable[[Sandbox], Awaitable[str]]:
    async def seen_wrong(sandbox: Sandbox) -> str:
        outcome = await sandbox.run(program.job())
        return _mismatch(program.as_expected(outcome), outcome)

    return seen_wrong


async def _error(sandbox: Sandbox) -> str:
    outcome = await sandbox.run(script("def f():\n    return 1 / 0\nf()\n"))
    return _mismatch(
        outcome.ended == "exited"
        and outcome.exit_code == 1
        and outcome.stderr.startswith("Traceback (most recent call last):\n")
        and outcome.stderr.endswith("ZeroDivisionError: division by zero\n")
        and outcome.stderr.count("  File ") == 2,
        outcome,
    )


async def _imports(sandbox: Sandbox) -> str:
    job = Job(
        "import ours.inner, theirs, package.part\n"
        "jail.send([ours.inner.VALUE, theirs.VALUE, package.part.VALUE])",
        modules={"ours": "", "ours.inner": "VALUE = 1"},
        files={"theirs.py": "VALUE = 2", "package/part.py": "VALUE = 3"},
        limits=GENEROUS_LIMITS,
    )
    outcome = await sandbox.run(job)
    return _mismatch((outcome.ended, outcome.messages) == ("completed", ([1, 2, 3],)), outcome)


async def _bytes(sandbox: Sandbox) -> str:
    held = bytes(range(256))
    job = Job(
        "with open('one.bin', 'rb') as file:\n    jail.send([*file.read()])",
        files={"one.bin": held.decode("utf-8", "surrogateescape")}, limits=GENEROUS_LIMITS,
    )
    outcome = await sandbox.run(job)
    return _mismatch((outcome.ended, outcome.messages) == ("completed", ([*held],)), outcome)


async def _package_folders(sandbox: Sandbox) -> str:
    with tempfile.TemporaryDirectory() as folder:  # only readable by this user
        _write(f"{folder}/given_module.py", "VALUE = 4")
        outcome = await sandbox.run(
            Job("import given_module\njail.send(given_module.VALUE)", package_folders=(folder,),
                limits=GENEROUS_LIMITS)
        )
    return _mismatch((outcome.ended, outcome.messages) == ("completed", (4,)), outcome)


async def _values(sandbox: Sandbox) -> str:
    sent: list[Json] = [
        None, True, 0, -(2**80), 1.5, float("inf"), "", "\ud800", "\ud83d\ude42", "\U0001f642",
        [], [[]], {}, {"a": {"\udfff": [1]}}, "x" * 200_000,
    ]
    async with sandbox.start(Job("jail.send(jail.payload)\n" + ECHO, sent,
                                 limits=GENEROUS_LIMITS)) as job:
        first = await job.receive()
        if first != sent:
            return f"the payload came back as {str(first)[:300]}"
        for value in sent[1:]:
            await job.send(value)
            back = await job.receive()
            if back != value or type(back) is not type(value):
                return f"{value!r:.100} came back as {back!r:.100}"
    return ""


async def _receive_after_end(sandbox: Sandbox) -> str:
    async with sandbox.start(Job("jail.send(1); jail.send(2)", limits=GENEROUS_LIMITS)) as job:
        talk = [await job.receive(), await job.receive(), await job.receive()]
        await job.send("nobody hears this")
        again = await job.receive()
        outcome = await job.finish()
    ended = isinstance(talk[2], Outcome) and talk[2].ended == "completed"
    return _mismatch(talk[:2] == [1, 2] and ended and again == talk[2] == outcome, outcome)


async def _unreceived_messages(sandbox: Sandbox) -> str:
    async with sandbox.start(Job("for n in range(3): jail.send(n)", limits=GENEROUS_LIMITS)) as job:
        first = await job.receive()
        outcome = await job.finish()
    return _mismatch(first == 0 and outcome.messages == (1, 2), outcome)


async def _late_answer(sandbox: Sandbox) -> str:
    program = "jail.send(1)\njail.receive()\nwhile True: pass"
    async with sandbox.start(Job(program, limits=GENEROUS_LIMITS)) as job:
        await job.receive()
        await job.send("go")
        outcome = await job.receive(timeout_s=0.2)
        again = await job.kill()
    if not isinstance(outcome, Outcome):
        return f"received {outcome!r}"
    return _mismatch(outcome.ended == "timeout" and again == outcome, outcome)


async def _batch(sandbox: Sandbox) -> str:
    items: list[Json] = [
        "1", "while True: pass", "2", "import os; os._exit(7)", "3", "[0] * 10**10", "4",
        "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "5", "jail.send(0)", "6",
    ]
    seen: list[str] = []
    async with sandbox.batch(Job(EXECUTE, limits=GENEROUS_LIMITS)) as batch:
        for part in (items, ["7", "8"]):
            async for index, reply in batch.replies(part, item_wall_s=2.0):
                seen.append(f"{index} {reply.ended if isinstance(reply, LostItem) else reply}")
    expected = [
        "0 1", "1 timeout", "2 2", "3 exited", "4 3", "5 exited", "6 4", "7 killed", "8 5",
        "9 0", "10 6", "0 7", "1 8",  # the first answer counts, a second one is dropped
    ]
    return "" if seen == expected else f"saw {seen}"


async def _abandoned_batch(sandbox: Sandbox) -> str:
    async with sandbox.batch(Job(ECHO, limits=GENEROUS_LIMITS)) as batch:
        replies = batch.replies([f"old {n}" for n in range(50)], item_wall_s=5)
        async for _ in replies:
            break
        await _close(replies)
        new: list[Json] = [f"new {n}" for n in range(50)]
        seen = [reply async for _, reply in batch.replies(new, item_wall_s=5)]
    return "" if seen == new else f"saw {seen[:3]}"


async def _close(replies: object) -> None:
    """Closes an async generator; other `AsyncIterator`s may have no `aclose`."""
    close = getattr(replies, "aclose", None)
    if close is not None:
        await close()


async def _crashing_batch(sandbox: Sandbox) -> str:
    async with sandbox.batch(Job("raise ValueError('at once')", limits=GENEROUS_LIMITS)) as batch:
        seen = [reply async for _, reply in batch.replies([1, 2, 3, 4], item_wall_s=5)]
    ended = [reply.ended for reply in seen if isinstance(reply, LostItem)]
    return "" if ended == ["exited"] * 4 else f"saw {seen}"


async def _many_at_once(sandbox: Sandbox) -> str:
    jobs = [Job("jail.send(jail.payload)", payload=number,
                limits=GENEROUS_LIMITS) for number in range(8)]
    outcomes = await asyncio.gather(*(sandbox.run(job) for job in jobs))
    got = [outcome.messages for outcome in outcomes]
    return "" if got == [(number,) for number in range(8)] else f"saw {got}"


async def _cancelled(sandbox: Sandbox) -> str:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        marker = f"{folder}/alive"
        task = asyncio.create_task(sandbox.run(script(text("goes_on"), arguments=(marker,))))
        while not _exists(marker):
            if task.done():
                return _seen(task.result())
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])
        size = _size(marker)
        await asyncio.sleep(0.2)
        return "" if task.cancelled() and _size(marker) == size else "it went on running"


async def _cancelled_at_once(sandbox: Sandbox) -> str:
    task = asyncio.create_task(sandbox.run(script("while True: pass")))
    await asyncio.sleep(0.3)
    if task.done():
        return _seen(task.result())
    task.cancel()
    done, _ = await asyncio.wait([task], timeout=5)
    return "" if done and task.cancelled() else "it was not over five seconds later"


async def _environment(sandbox: Sandbox) -> str:
    with planted_key("planted"):
        outcome = await sandbox.run(script(text("looks_for_a_key"), arguments=(KEY_NAME,)))
    return _mismatch(outcome.stdout == "None C.UTF-8\n0\n", outcome)


async def _host_signal(sandbox: Sandbox) -> str:
    # Signal 0 needs the same permission as SIGKILL but does not harm the host.
    host_pid = (str(os.getpid()),)
    outcome = await sandbox.run(script(text("signals_its_host"), arguments=host_pid))
    return _mismatch(outcome.ended == "completed" and "allowed" not in outcome.stdout, outcome)


async def _flood(sandbox: Sandbox) -> str:
    for stream in (1, 2):
        flood = f"import os\npart = b'x' * 65536\nwhile True: os.write({stream}, part)"
        limits = Limits(wall_s=30, cpu_s=30, output_bytes=100_000)
        outcome = await sandbox.run(script(flood, limits=limits))
        written = outcome.stdout + outcome.stderr
        if (outcome.ended, len(written)) != ("output", 100_000):
            return _seen(outcome)
    return ""


async def _fork_bomb(sandbox: Sandbox) -> str:
    outcome = await sandbox.run(script(text("breeds"), limits=Limits(wall_s=30, processes=32)))
    if outcome.ended != "exited" or not outcome.stdout.strip().isdigit():
        return _seen(outcome)
    # An ordinary user's other processes count too, so the actual limit differs.
    most = 32 if os.geteuid() == 0 else 4000
    return _mismatch(int(outcome.stdout) <= most, outcome)


async def _daemon(sandbox: Sandbox) -> str:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        marker = f"{folder}/alive"
        outcome = await sandbox.run(script(text("leaves_a_daemon"), arguments=(marker,)))
        if outcome.stdout != "away\n":
            return _seen(outcome)
        size = _size(marker)
        await asyncio.sleep(0.2)
        return "" if _size(marker) == size else "the daemon went on running"


async def _huge_message(sandbox: Sandbox) -> str:
    job = Job("jail.send('x' * 3_000_000)", limits=Limits(wall_s=30, message_bytes=1_000_000))
    outcome = await sandbox.run(job)
    return _mismatch(
        (outcome.ended, outcome.limit) == ("garbled", "messages of more than 1000000 bytes"),
        outcome,
    )


async def _deep_message(sandbox: Sandbox) -> str:
    program = "value = []\nfor _ in range({depth}): value = [value]\njail.send(value)"
    for depth, ended in ((100, "completed"), (500, "garbled")):
        outcome = await sandbox.run(Job(program.format(depth=depth), limits=GENEROUS_LIMITS))
        if outcome.ended != ended:
            return f"{depth} deep: {_seen(outcome)[:300]}"
    return ""


async def _files_removed(sandbox: Sandbox) -> str:
    outcome = await sandbox.run(script(text("leaves_much_behind")))
    folder = outcome.stdout.strip()
    return _mismatch(outcome.ended == "completed" and await _becomes_empty(folder), outcome)


async def _confined_files(sandbox: Sandbox) -> str:
    with tempfile.TemporaryDirectory() as folder:
        secret = f"{folder}/secret"
        _write(secret, "hidden")
        os.chmod(secret, 0o600)
        os.chmod(folder, 0o755)
        outcome = await sandbox.run(script(text("reads_a_secret"), arguments=(secret,)))
    return _mismatch(outcome.stdout == "refused\n", outcome)


async def _separate_jobs(sandbox: Sandbox) -> str:
    victim = Job("import os\njail.send([os.getpid(), jail.folder])\njail.receive()",
                 limits=GENEROUS_LIMITS)
    async with sandbox.start(victim) as process:
        received = await process.receive()
        if not isinstance(received, list):
            return f"received {received!r}"
        reaches = script(text("reaches_for_another"), stdin=f"{received[0]}\n{received[1]}\n")
        outcome = await sandbox.run(reaches)
    return _mismatch(outcome.stdout == "refused\nrefused\n-1\n", outcome)


def _levels(program: ContractProgram) -> frozenset[Level]:
    if program.levels is not None:
        return frozenset(program.levels)
    if program.processes or program.loopback:
        return GRANT_LEVELS
    return FILE_LEVELS if program.needs_files else ALL_LEVELS


def _checks(programs: tuple[ContractProgram, ...]) -> tuple[ContractCheck, ...]:
    return tuple(
        ContractCheck(
            program.claim, _program_check(program), _levels(program),
            needs_modes=program.needs_modes, missing=program.missing,
        )
        for program in programs
    )


HONEST_CHECKS = _checks(HONEST)
CHECKS: tuple[ContractCheck, ...] = (
    *HONEST_CHECKS,
    *_checks(HOSTILE),
    ContractCheck("an uncaught error is shown as Python shows it", _error),
    ContractCheck("files and modules given to a job can be imported", _imports),
    ContractCheck("a binary file keeps all its bytes", _bytes, FILE_LEVELS),
    ContractCheck(
        "packages of a folder in `package_folders` can be imported", _package_folders, FILE_LEVELS
    ),
    ContractCheck("values come back as they were sent, including surrogates", _values),
    ContractCheck("after the last message every receive returns the outcome", _receive_after_end),
    ContractCheck("unreceived messages are in the outcome", _unreceived_messages),
    ContractCheck("a job that answers too late is killed", _late_answer),
    ContractCheck("a batch loses only the items that end their process", _batch),
    ContractCheck("a batch that was left early restarts for its next list", _abandoned_batch),
    ContractCheck("a batch whose program always dies loses every item", _crashing_batch),
    ContractCheck("eight jobs run at once", _many_at_once),
    ContractCheck("a cancelled run ends at once", _cancelled_at_once),
    ContractCheck("no process of a cancelled run survives", _cancelled, PROCESS_LEVELS),
    ContractCheck("the host's environment does not reach a job", _environment),
    ContractCheck("a job cannot signal its host", _host_signal, needs_own_user=True),
    ContractCheck("a flood of output is cut and its job is killed", _flood),
    ContractCheck("processes are limited", _fork_bomb, PROCESS_LEVELS),
    ContractCheck("a daemon dies with its job", _daemon, PROCESS_LEVELS),
    ContractCheck("a huge message is refused", _huge_message),
    ContractCheck("a message nested too deep is refused", _deep_message),
    ContractCheck("the files of a job are removed", _files_removed, FILE_LEVELS),
    ContractCheck(
        "a private file of the host is not readable", _confined_files, needs_own_user=True
    ),
    ContractCheck("one job cannot reach another", _separate_jobs, needs_own_user=True),
)


@dataclass(frozen=True)
class CheckResult:
    """The result of one check; `seen_wrong` is empty if the claim holds."""

    claim: str
    seen_wrong: str

    @property
    def holds(self) -> bool:
        return not self.seen_wrong


async def run_checks(
    sandbox: Sandbox, level: Level, checks: Sequence[ContractCheck] = CHECKS
) -> AsyncIterator[CheckResult]:
    """Tests each claim of the contract at this level, in order."""
    for check in checks:
        if check.claimed(level) and not check.missing():
            yield CheckResult(check.claim, await check.seen_wrong(sandbox))
