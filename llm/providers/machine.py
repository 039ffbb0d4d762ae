"""Memory and processor cores that this machine has available for a local model."""

from __future__ import annotations

import os
from pathlib import Path


def free_mib() -> int | None:
    """Available memory in MiB within the container's limit; `None` (unknown) except on Linux."""
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
        return free  # no container limit
    return min(free, (int(limit) - int(used)) // 2**20) if limit.isdecimal() else free


def cores() -> int:
    """Processor cores that this process may use within the container's limit."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return usable or 1
    within = -(-int(quota) // int(period)) if quota.isdecimal() else usable
    return max(1, min(usable or 1, within or 1))
