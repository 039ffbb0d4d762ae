"""Hundreds of hostile runs in a row leave nothing behind: no memory, process, file, descriptor."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from sandbox import Job, Limits

if sys.platform != "linux":
    pytest.skip("the jail needs Linux", allow_module_level=True)

from sandbox.inside.zygote import WORK_NAMES
from sandbox.jail import JailSandbox
from sandbox.levels import JailLevel
from sandbox.workspaces import workspaces
from tests.sandbox.here import descriptors

RUNS = 1_000
FEWER = 200
"""So many for `make test`, and a quarter of either number at L3."""
AT_ONCE = 6
GROWTH_MIB = 8
ITERATIONS = 3
SHORT = Limits(wall_s=0.02, cpu_s=1, memory_mib=256, output_bytes=20_000)
LONG = Limits(wall_s=5.0, cpu_s=5, memory_mib=256, output_bytes=20_000)


PROGRAMS = [
    (row["text"], {*row["ends"]}, SHORT if row.get("short") else LONG)
    for row in tomllib.loads(
        Path(__file__).with_name("hostile_runs.toml").read_text("utf-8")
    ).values()
]
"""What takes more than its share, how it may end, and what it is given."""


def below(pid: int) -> set[int]:
    """The living processes below one."""
    found: set[int] = set()
    waiting = [pid]
    while waiting:
        try:
            for listed in Path(f"/proc/{waiting.pop()}/task").glob("*/children"):
                children = {int(one) for one in listed.read_text().split()}
                waiting += children - found
                found |= children
        except (FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            continue
    return found


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / (1 << 20)


def grew_mib(before: float) -> float:
    gc.collect()
    return resident_mib() - before


def sees_host(pid: int) -> bool:
    """Whether a process has this machine's root, and so other people's home folders."""
    try:
        return os.path.samefile(f"/proc/{pid}/root", "/")
    except OSError:
        return True  # it has ended


def left_files(sandbox: JailSandbox) -> list[str]:
    """What jobs left where their folders are: beside the host's, or where a server sees them."""
    roots = [*Path(workspaces()._folder).glob("server-*")]
    if os.geteuid() == 0:
        roots += [
            Path(f"/proc/{pid}/root/home") for pid in below(os.getpid()) if not sees_host(pid)
        ]
    empty = {"a", "b", *WORK_NAMES, "tmp", "shm"}
    found = []
    for root in roots:
        for folder, folders, files in os.walk(root):
            strange = [one for one in folders if one not in empty and Path(folder).name in empty]
            found += [f"{folder}/{one}" for one in (*files, *strange)]
    return found


async def settled(holds: Callable[[], bool]) -> bool:
    """Whether it comes true within some seconds: the last ones are still being cleared away."""
    until = time.monotonic() + 60
    while not holds():
        if time.monotonic() > until:
            return False
        await asyncio.sleep(0.05)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("level", ["L4", pytest.param("L3", marks=pytest.mark.nightly)])
@pytest.mark.nightly
async def test_hundreds_of_hostile_runs_leave_nothing_behind(
    level: JailLevel, whole: bool, jail_at: Callable[[JailLevel], Awaitable[JailSandbox]]
) -> None:
    runs = (RUNS if whole else FEWER) // (1 if level == "L4" else 4)
    sandbox = await jail_at(level)
    met: Counter[tuple[str, str]] = Counter()

    async def some(places: range) -> None:
        for place in places:
            text, ends, limits = PROGRAMS[place % len(PROGRAMS)]
            outcome = await sandbox.run(Job(text, limits=limits))
            if outcome.ended not in ends:
                met[text, f"{outcome.ended} {outcome.limit}\n{outcome.stderr[-500:]}"] += 1

    async def many(count: int) -> None:
        async with asyncio.TaskGroup() as group:
            for first in range(AT_ONCE):
                group.create_task(some(range(first, count, AT_ONCE)))

    await many(2 * len(PROGRAMS))
    await settled(lambda: left_files(sandbox) == [])
    gc.collect()
    memory, open_before, processes = resident_mib(), descriptors(), len(below(os.getpid()))

    started = time.monotonic()
    await many(runs)
    took = time.monotonic() - started
    grown = [grew_mib(memory)]
    while grown[-1] >= GROWTH_MIB and len(grown) < ITERATIONS:
        # Other tests' leavings move in this process too; a leak grows in every round.
        memory = resident_mib()
        await many(runs)
        grown.append(grew_mib(memory))

    assert met == {}
    assert await settled(lambda: len(below(os.getpid())) <= processes), "processes are left"
    assert await settled(lambda: descriptors() <= open_before), "descriptors are left"
    assert await settled(lambda: left_files(sandbox) == []), left_files(sandbox)
    assert grown[-1] < GROWTH_MIB, grown
    print(f"{runs} hostile runs at {level} in {took:.1f} s")
    assert (await sandbox.run(Job("print('still here')"))).stdout == "still here\n"
