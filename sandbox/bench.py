"""The jail's figures, beside what an interpreter costs by itself, in one run.

    python -m sandbox bench [--json]

What is compared is interleaved, so that a busy machine is busy for all of them; still, machines
are shared and noisy: read medians and ratios. Figures that need a core to itself, a clean
process or a large one are taken in processes of their own, started by this file.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.jail import JailSandbox
from sandbox.jail.forkserver import ForkServer, Profile
from sandbox.levels import JailLevel
from sandbox.types import Job, Json, Limits, SandboxError
from sandbox.workspaces import workspaces

ROUNDS = 10
PAUSE_S = 0.01
"""Between warm runs, as between the clicks of a person: time to make the next child."""
IN_FLIGHT = 6
PARENT_MIB = 3 << 10
BAREST_S = 0.0064
"""What `python -I -S -E -c pass` takes where the times are promised; elsewhere they are promised
in proportion to what it takes there."""
ITEM = "def f(x):\n    return x * 2\n"
PER_MESSAGE = 64

_DEAF = """\
import signal
for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
    signal.signal(number, signal.SIG_IGN)
while True:
    pass
"""
_SCREEN = """\
def passes(code):
    space = {}
    try:
        exec(code, space)
        return space["f"](21) == 42
    except BaseException:
        return False

known = {}
while (message := jail.receive()) is not None:
    kept, texts = message
    if not kept:
        known.update((text, compile(text, "candidate", "exec")) for text in texts)
    jail.send([passes(known[text]) for text in texts])
"""
_HARNESS = """\
import multiprocessing, sys, time
for line in sys.stdin:
    start = time.perf_counter()
    process = multiprocessing.get_context(line.strip()).Process(target=abs, args=(1,))
    process.start()
    process.join()
    print(time.perf_counter() - start, flush=True)
"""


@dataclass(frozen=True)
class Figure:
    """Something measured and, where there is one, the promise about it."""

    name: str
    value: float | None
    """`None` where it cannot be measured here; `note` says why."""
    unit: str
    promise: float | None = None
    at_least: bool = False
    """The promise is a least value, not a most."""
    note: str = ""

    @property
    def reached(self) -> bool | None:
        """Whether the promise is kept; `None` where nothing is promised or measured."""
        if self.value is None or self.promise is None:
            return None
        return self.value >= self.promise if self.at_least else self.value <= self.promise

    def line(self) -> str:
        """The figure for people."""
        shown = "not measured" if self.value is None else f"{self.value:,.4g} {self.unit}"
        promised = ""
        if self.promise is not None:
            word = "at least" if self.at_least else "at most"
            met = {True: "reached", False: "NOT REACHED", None: "open"}[self.reached]
            promised = f"{word} {self.promise:,g}: {met}"
        return f"{self.name:<44}{shown:>16}   {promised:<31}{self.note}".rstrip()


@dataclass(frozen=True)
class Times:
    """Seconds of each of what is compared."""

    plain: list[float]
    barest: list[float]
    spawn: list[float]
    fork: list[float]
    warm: list[float]
    forked: list[float]


async def figures(
    modules: Mapping[str, str] | None = None, at_most: JailLevel = "L4"
) -> list[Figure]:
    """All figures; `modules` are those of a real user of the sandbox, to be loaded at the start.

    Raises `SandboxError` where there is no jail.
    """
    level = (await JailSandbox(at_most).witness()).level
    times = await _times(at_most)
    found = _compared(times)
    found += await _from_elsewhere(at_most, statistics.median(times.barest) / BAREST_S)
    found += await _starts(modules or {}, level)  # type: ignore[arg-type]  # a jail's own level
    found.append(await _memory(at_most))
    found += await _kills(at_most)
    return found


async def main(as_json: bool) -> int:
    """Prints all figures; 1 where a promise is not kept."""
    level = (await JailSandbox().witness()).level
    found = await figures()
    if as_json:
        print(json.dumps({
            "level": level,
            "cores": len(os.sched_getaffinity(0)),
            "python": sys.version.split()[0],
            "figures": [
                {"name": one.name, "value": one.value, "unit": one.unit, "promise": one.promise,
                 "at_least": one.at_least, "reached": one.reached, "note": one.note}
                for one in found
            ],
        }, indent=2))
    else:
        print(f"the jail at {level}, {len(os.sched_getaffinity(0))} cores")
        for one in found:
            print(one.line())
    return 1 if any(one.reached is False for one in found) else 0


# ---------------------------------------------------------------- beside an interpreter


async def _times(at_most: JailLevel) -> Times:
    warm, forking = JailSandbox(at_most), JailSandbox(at_most, ready=False)
    seen = Times([], [], [], [], [], [])
    plain = [sys.executable, "-c", "pass"]
    barest = [getattr(sys, "_base_executable", sys.executable), "-I", "-S", "-E", "-c", "pass"]
    harness = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _HARNESS,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )
    for _ in range(ROUNDS):
        seen.plain.extend(_interpreter(plain) for _ in range(3))
        seen.barest.extend(_interpreter(barest) for _ in range(6))
        for method, times in (("spawn", seen.spawn), ("fork", seen.fork)):
            times.extend([await _process(harness, method) for _ in range(2)])
        seen.warm.extend(await _runs(warm, 30, PAUSE_S))
        # One after the other, as the interpreters are started.
        seen.forked.extend(await _runs(forking, 30, 0))
    await harness.communicate(b"")  # with nothing at all it would not close the input
    return seen


async def _runs(sandbox: JailSandbox, count: int, pause_s: float) -> list[float]:
    """Seconds of each of so many empty jobs, but for the first, which wakes the caches."""
    times = []
    for _ in range(count + 1):
        await asyncio.sleep(pause_s)
        started = time.perf_counter()
        outcome = await sandbox.run(Job("pass"))
        times.append(time.perf_counter() - started)
        if outcome.ended != "completed":
            raise SandboxError(f"an empty job did not come to its end: {outcome}")
    return times[1:]


def _interpreter(command: Sequence[str]) -> float:
    started = time.perf_counter()
    pid = os.posix_spawn(command[0], list(command), dict(os.environ))
    os.waitpid(pid, 0)
    return time.perf_counter() - started


async def _process(harness: asyncio.subprocess.Process, method: str) -> float:
    assert harness.stdin is not None, "it is a pipe"
    assert harness.stdout is not None, "it is a pipe"
    harness.stdin.write(f"{method}\n".encode())
    return float(await harness.stdout.readline())


def _compared(seen: Times) -> list[Figure]:
    floor = statistics.median(seen.barest)
    pace = floor / BAREST_S
    warm, forked = statistics.median(seen.warm), statistics.median(seen.forked)
    pause = f"{PAUSE_S * 1000:g} ms between runs, so that the next child is ready"
    return [
        _ms("python -c pass", seen.plain),
        _ms("python -I -S -E -c pass", seen.barest),
        _ms("multiprocessing, spawn", seen.spawn),
        _ms("multiprocessing, fork of a clean process", seen.fork),
        _ms("warm run, p50", seen.warm, round(0.5 * pace, 2), note=pause),
        Figure("warm run, p95", _ninety_fifth(seen.warm) * 1000, "ms"),
        _ms("fork per run, p50", seen.forked, round(1.5 * pace, 2),
            note="no child is kept ready, and no pause made"),
        Figure("warm run, faster than the barest start", floor / warm, "x", 12, at_least=True),
        Figure("fork per run, faster than the barest start", floor / forked, "x", 4,
               at_least=True),
    ]


# ---------------------------------------------------------------- in processes of their own


async def _from_elsewhere(at_most: JailLevel, pace: float) -> list[Figure]:
    cores = sorted(os.sched_getaffinity(0))
    found = [
        _rate("runs in a row on one core", await _elsewhere("one", at_most, cores[:1]), 700),
        _rate(f"runs on two cores, {IN_FLIGHT} in flight",
              await _elsewhere("many", at_most, cores[:2]) if len(cores) > 1 else None, 1_200),
    ]
    compiled, kept, single = await _elsewhere("screen", at_most, cores)
    found += [
        _rate("candidates screened, compiled and run", [compiled], 20_000,
              f"{PER_MESSAGE} in a message"),
        _rate("candidates screened, run only", [kept]),
        _rate("candidates screened, one in a message", [single]),
    ]
    large = await _elsewhere("large", at_most, cores)
    held = f"{PARENT_MIB >> 10} GiB"
    for place, (name, promise) in enumerate((("warm run", 0.5), ("fork per run", 1.5))):
        found.append(
            Figure(
                f"{name}, large parent, p50",
                large[place] * 1000 if large else None, "ms", round(promise * pace, 2),
                note=f"the app holds {held}" if large else f"{held} of memory are not free here",
            )
        )
    return found


async def _elsewhere(what: str, at_most: JailLevel, cores: Sequence[int]) -> list[float]:
    """One of `MEASURES` in a process of its own that may use these cores."""
    start = (
        f"import os; os.sched_setaffinity(0, {list(cores)}); "
        f"from sandbox.bench import measured; measured({what!r}, {at_most!r})"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", start, stdout=asyncio.subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
    )
    said, _ = await process.communicate()
    if process.returncode != 0:
        raise SandboxError(f"the measure {what!r} failed in its process; see above")
    values: list[float] = json.loads(said)
    return values


def measured(what: str, at_most: JailLevel) -> None:
    """Prints what a measure found, as JSON; for a process started for it."""
    print(json.dumps(asyncio.run(MEASURES[what](at_most))))


async def _one(at_most: JailLevel) -> list[float]:
    sandbox = JailSandbox(at_most)
    await sandbox.run(Job("pass"))
    rates = []
    for _ in range(5):
        started = time.perf_counter()
        for _ in range(300):
            await sandbox.run(Job("pass"))
        rates.append(300 / (time.perf_counter() - started))
    return rates


async def _many(at_most: JailLevel) -> list[float]:
    sandbox = JailSandbox(at_most)
    await sandbox.run(Job("pass"))

    async def some() -> None:
        for _ in range(600 // IN_FLIGHT):
            await sandbox.run(Job("pass"))

    rates = []
    for _ in range(5):
        started = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for _ in range(IN_FLIGHT):
                group.create_task(some())
        rates.append(600 / (time.perf_counter() - started))
    return rates


async def _screen(at_most: JailLevel) -> list[float]:
    rates = []
    async with JailSandbox(at_most).batch(Job(_SCREEN)) as batch:
        for kept, count, each in (
            (False, 20_000, PER_MESSAGE), (True, 20_000, PER_MESSAGE), (False, 5_000, 1),
        ):
            items: list[Json] = [
                [kept, [f"{ITEM}# {number + part}\n" for part in range(each)]]
                for number in range(0, count, each)
            ]
            started = time.perf_counter()
            async for _, reply in batch.replies(items, 5.0):
                if reply != [True] * each:
                    raise SandboxError(f"candidates were not screened: {reply}")
            rates.append(len(items) * each / (time.perf_counter() - started))
    return rates


async def _large(at_most: JailLevel) -> list[float]:
    available = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGESIZE") >> 20
    if available < PARENT_MIB * 3 // 2:
        return []
    held = bytearray(PARENT_MIB << 20)
    held[:: 4096] = b"\1" * len(range(0, len(held), 4096))
    times = []
    for ready in (True, False):
        pause_s = PAUSE_S if ready else 0
        times.append(statistics.median(await _runs(JailSandbox(at_most, ready), 200, pause_s)))
    assert held[4096] == 1, "it is held until here"
    return times


MEASURES: dict[str, Callable[[JailLevel], Coroutine[None, None, list[float]]]] = {
    "one": _one, "many": _many, "screen": _screen, "large": _large,
}


# ---------------------------------------------------------------- the rest


async def _starts(modules: Mapping[str, str], level: JailLevel) -> list[Figure]:
    profiles = {"fork server start": Profile(level)}
    if modules:
        named = "fork server start, the judge's modules"
        profiles[named] = Profile(level, modules=tuple(modules.items()))
    times: dict[str, list[float]] = {name: [] for name in profiles}
    for _ in range(5):
        for name, profile in profiles.items():
            server = ForkServer(profile, workspaces(), ready=False)
            await server.start()
            times[name].append(server.started_s)
            server.close()
    return [_ms(name, seen, 100) for name, seen in times.items()]


async def _memory(at_most: JailLevel) -> Figure:
    """What a child that waits for its job has to itself."""
    name = "private memory of a waiting child"
    sandbox = JailSandbox(at_most)
    before = _descendants(os.getpid())
    held = []
    async with sandbox.start(Job("jail.send(0)\njail.receive()")) as process:
        await process.receive(10.0)
        await asyncio.sleep(0.2)
        for pid in _descendants(os.getpid()) - before:
            try:
                held.append(_private_mib(pid))
            except (FileNotFoundError, ProcessLookupError):
                continue  # one that made room, or the init of a space, ended meanwhile
            except PermissionError:
                return Figure(name, None, "MiB", 1, note="only root may look at a jailed process")
    if not held:
        return Figure(name, None, "MiB", 1, note="no child of a fork server was found")
    return Figure(name, max(held), "MiB", 1, note=f"the most of {len(held)}")


def _private_mib(pid: int) -> float:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return int(next(one for one in lines if one.startswith("Private_Dirty:")).split()[1]) / 1024


def _descendants(pid: int) -> set[int]:
    """All processes below one, without those who died meanwhile."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        try:
            for listed in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
                below = {int(child) for child in listed.read_text(encoding="ascii").split()}
                waiting += below - found
                found |= below
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
    return found


async def _kills(at_most: JailLevel) -> list[Figure]:
    """How long after its deadline a program that ignores all signals is over."""
    wall_s = 0.05
    sandbox = JailSandbox(at_most)
    late = []
    for _ in range(30):
        outcome = await sandbox.run(Job(_DEAF, limits=Limits(wall_s=wall_s)))
        if outcome.ended != "timeout":
            raise SandboxError(f"a job that never ends ended otherwise: {outcome}")
        late.append(outcome.wall_s - wall_s)
    return [
        _ms("killed after its deadline, p50", late, 20, note="all signals ignored"),
        Figure("killed after its deadline, most", max(late) * 1000, "ms"),
    ]


def _ms(
    name: str, seconds: Sequence[float], promise: float | None = None, note: str = ""
) -> Figure:
    return Figure(name, statistics.median(seconds) * 1000, "ms", promise, note=note)


def _rate(
    name: str, rates: Sequence[float] | None, promise: float | None = None, note: str = ""
) -> Figure:
    if rates is None:
        return Figure(name, None, "/s", promise, at_least=True, note="there is one core here")
    return Figure(name, statistics.median(rates), "/s", promise, at_least=True, note=note)


def _ninety_fifth(values: Sequence[float]) -> float:
    return sorted(values)[int(0.95 * (len(values) - 1))]
