"""Measures the jail and compares it with the start of a bare interpreter.

    python -m sandbox bench [--json]

Compared measurements are interleaved, so that the load of the machine affects all of them. Shared
machines are noisy: use medians and ratios.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sandbox.inside.guest import CHANNEL
from sandbox.jail import JailSandbox
from sandbox.jail.forkserver import ForkServer, Profile
from sandbox.jail.servers import SERVERS
from sandbox.levels import JailLevel
from sandbox.types import Job, Json, Limits, SandboxError
from sandbox.workspaces import workspaces

ROUNDS = 10
PAUSE_S = 0.01
"""The pause between warm runs, in which the next worker is started."""
IN_FLIGHT = 6
BAREST_S = 0.0064
"""The time of `python -I -S -E -c pass` on the reference machine; targets are scaled by its time on
this machine."""
ITEM = "def f(x):\n    return x * 2\n"
PER_MESSAGE = 64

_IGNORES_SIGNALS = """\
import signal
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True:
    pass
"""
_RUNS_MANY = """\
def passes(code):
    space = {}
    try:
        exec(code, space)
        return space["f"](21) == 42
    except BaseException:
        return False

while (texts := jail.receive()) is not None:
    jail.send([passes(compile(text, "program", "exec")) for text in texts])
"""


@dataclass(frozen=True)
class Figure:
    """A measurement and its target, if any."""

    name: str
    value: float | None
    """`None` if it cannot be measured here; `note` says why."""
    unit: str
    promise: float | None = None
    """The target."""
    at_least: bool = False
    """Whether the target is a minimum, not a maximum."""
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the target is reached; `None` without a target or a value."""
        if self.value is None or self.promise is None:
            return None
        return self.value >= self.promise if self.at_least else self.value <= self.promise

    def line(self) -> str:
        """The figure as a line of text."""
        shown = "not measured" if self.value is None else f"{self.value:,.4g} {self.unit}"
        promised = ""
        if self.promise is not None:
            word = "at least" if self.at_least else "at most"
            met = {True: "reached", False: "NOT REACHED", None: "open"}[self.reached]
            promised = f"{word} {self.promise:,g}: {met}"
        return f"{self.name:<44}{shown:>16}   {promised:<31}{self.note}".rstrip()


async def figures(level: JailLevel) -> list[Figure]:
    """All figures of the jail at this machine's level."""
    found = await _runs_beside_an_interpreter()
    found += await _rates()
    found.append(await _starts(level))
    found.append(await _memory())
    found += await _kills()
    return found


async def main(as_json: bool) -> int:
    """Prints all figures; 1 if a target is missed. Raises `SandboxError` without a jail."""
    level = (await JailSandbox().isolation()).level
    found = await figures(level)  # type: ignore[arg-type]  # a level of the jail
    cores = len(os.sched_getaffinity(0))
    if as_json:
        rows = [dataclasses.asdict(one) | {"reached": one.reached} for one in found]
        print(json.dumps({
            "level": level, "cores": cores, "python": sys.version.split()[0], "figures": rows,
        }, indent=2))
    else:
        print(f"the jail at {level}, {cores} cores")
        for one in found:
            print(one.line())
    return 1 if any(one.reached is False for one in found) else 0


async def _runs_beside_an_interpreter() -> list[Figure]:
    barest: list[float] = []
    warm: list[float] = []
    for _ in range(ROUNDS):
        barest += [_interpreter() for _ in range(6)]
        warm += await _seconds_of_runs(30)
    floor = statistics.median(barest)
    return [
        _ms("python -I -S -E -c pass", barest),
        _ms("warm run, p50", warm, round(0.5 * floor / BAREST_S, 2),
            f"{PAUSE_S * 1000:g} ms between runs, so that the next worker is ready"),
        Figure("warm run, p95", sorted(warm)[int(0.95 * (len(warm) - 1))] * 1000, "ms"),
        Figure("warm run, speedup over starting Python", floor / statistics.median(warm), "x", 12,
               at_least=True),
    ]


async def _seconds_of_runs(count: int) -> list[float]:
    """Seconds of each of `count` empty jobs, after one that warms the caches."""
    sandbox = JailSandbox()
    times = []
    for _ in range(count + 1):
        await asyncio.sleep(PAUSE_S)
        started = time.perf_counter()
        outcome = await sandbox.run(Job("pass"))
        times.append(time.perf_counter() - started)
        if outcome.ended != "completed":
            raise SandboxError(f"an empty job did not complete: {outcome}")
    return times[1:]


def _interpreter() -> float:
    """Seconds of the start of a bare interpreter."""
    executable = getattr(sys, "_base_executable", sys.executable)
    command = [executable, "-I", "-S", "-E", "-c", "pass"]
    started = time.perf_counter()
    os.waitpid(os.posix_spawn(executable, command, dict(os.environ)), 0)
    return time.perf_counter() - started


async def _rates() -> list[Figure]:
    cores = sorted(os.sched_getaffinity(0))
    one = await _in_flight(1, 300, cores[:1])
    many = await _in_flight(IN_FLIGHT, 600, cores[:2]) if len(cores) > 1 else None
    return [
        _rate("runs in a row on one core", one, 700),
        _rate(f"runs on two cores, {IN_FLIGHT} in flight", many, 1_200),
        _rate("programs in a batch, compiled and run",
              await _in_a_batch(20_000), 20_000, f"{PER_MESSAGE} in a message"),
    ]


@contextmanager
def _fork_servers_on(cores: Sequence[int]) -> Iterator[None]:
    """Binds this thread and the fork servers that it starts to these cores."""
    before = os.sched_getaffinity(0)
    SERVERS.close()
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
        SERVERS.close()


async def _in_flight(at_once: int, count: int, cores: Sequence[int]) -> list[float]:
    """Five measurements of runs per second."""
    sandbox = JailSandbox()

    async def some() -> None:
        for _ in range(count // at_once):
            await sandbox.run(Job("pass"))

    rates = []
    with _fork_servers_on(cores):
        await sandbox.run(Job("pass"))
        for _ in range(5):
            started = time.perf_counter()
            async with asyncio.TaskGroup() as group:
                for _ in range(at_once):
                    group.create_task(some())
            rates.append(count / (time.perf_counter() - started))
    return rates


async def _in_a_batch(count: int) -> list[float]:
    """One measurement of programs per second."""
    items: list[Json] = [
        [f"{ITEM}# {number + part}\n" for part in range(PER_MESSAGE)]
        for number in range(0, count, PER_MESSAGE)
    ]
    async with JailSandbox().batch(Job(_RUNS_MANY)) as batch:
        started = time.perf_counter()
        async for _, reply in batch.replies(items, 5.0):
            if reply != [True] * PER_MESSAGE:
                raise SandboxError(f"a batch gave a wrong answer: {reply}")
        return [len(items) * PER_MESSAGE / (time.perf_counter() - started)]


async def _starts(level: JailLevel) -> Figure:
    times = []
    for _ in range(5):
        server = ForkServer(Profile(level), workspaces())
        await server.start()
        times.append(server.started_s)
        server.close()
    return _ms("fork server start", times, 100)


async def _memory() -> Figure:
    """The private memory of a child that waits for its job."""
    name = "private memory of a waiting child"
    if os.geteuid() != 0:
        return Figure(name, None, "MiB", 1.5, note="only root may inspect a jailed process")
    sandbox = JailSandbox()
    async with sandbox.start(Job("jail.send(0)\njail.receive()")) as process:
        await process.receive(10.0)
        await asyncio.sleep(0.2)
        held = _private_mib(process.running.server_pid)
    if not held:
        return Figure(name, None, "MiB", 1.5, note="no child of a fork server was found")
    return Figure(name, max(held), "MiB", 1.5, note=f"maximum of {len(held)}")


def _private_mib(server: int) -> list[float]:
    """The private memory of each living worker of a fork server."""
    held = []
    for pid in Path(f"/proc/{server}/task/{server}/children").read_text("ascii").split():
        try:
            if not os.path.exists(f"/proc/{pid}/fd/{CHANNEL}"):
                continue  # the init process of the pid namespace
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text("ascii").splitlines()
        except (FileNotFoundError, ProcessLookupError):
            continue
        private = next(line for line in lines if line.startswith("Private_Dirty:"))
        held.append(int(private.split()[1]) / 1024)
    return held


async def _kills() -> list[Figure]:
    """How long after its deadline a program that ignores all signals ends."""
    wall_s = 0.05
    sandbox = JailSandbox()
    late = []
    for _ in range(30):
        outcome = await sandbox.run(Job(_IGNORES_SIGNALS, limits=Limits(wall_s=wall_s)))
        if outcome.ended != "timeout":
            raise SandboxError(f"an endless job did not time out: {outcome}")
        late.append(outcome.wall_s - wall_s)
    return [
        _ms("killed after its deadline, p50", late, 20, "all signals ignored"),
        Figure("killed after its deadline, maximum", max(late) * 1000, "ms"),
    ]


def _ms(
    name: str, seconds: Sequence[float], promise: float | None = None, note: str = ""
) -> Figure:
    return Figure(name, statistics.median(seconds) * 1000, "ms", promise, note=note)


def _rate(
    name: str, rates: Sequence[float] | None, promise: float | None = None, note: str = ""
) -> Figure:
    if rates is None:
        return Figure(name, None, "/s", promise, at_least=True, note="needs two cores")
    return Figure(name, statistics.median(rates), "/s", promise, at_least=True, note=note)
