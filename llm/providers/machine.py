"""What this machine has free for a model."""

from __future__ import annotations

import os
from pathlib import Path


def free_mib() -> int | None:
    """Memory that a model may take, in MiB: what is available, within the container's own limit.
    `None` where this is no Linux, and unknown."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").split("\n")
    except OSError:
        return None
    available = next(line for line in lines if line.startswith("MemAvailable"))
    free = int(available.split()[1]) // 2**10
    try:
        group = Path("/sys/fs/cgroup")
        limit = group.joinpath("memory.max").read_text(encoding="utf-8").strip()
        used = group.joinpath("memory.stat").read_text(encoding="utf-8").split()[1]
    except OSError:
        return free  # no container with a limit of its own
    return min(free, (int(limit) - int(used)) // 2**20) if limit.isdecimal() else free


def cores() -> int:
    """Processors that this process may use, within the container's own limit."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return usable or 1
    within = -(-int(quota) // int(period)) if quota.isdecimal() else usable
    return max(1, min(usable or 1, within or 1))
