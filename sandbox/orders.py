"""What a job becomes on its way to the guest, and what an exit status becomes on its way back."""

from __future__ import annotations

import functools
import math
import os
import signal
from types import CodeType
from typing import Any

from sandbox.guest import PROGRAM_NAME
from sandbox.types import Ended, Job, Limits, SandboxError


def orders(job: Job, endless: bool) -> dict[str, Any]:
    """What every local guest is told of a job; a backend adds its own.

    Any: the values are marshalled, code objects among them.
    """
    if not 0 <= job.seed < 1 << 32:
        raise SandboxError(f"a job's seed must be 0 to 4294967295, not {job.seed}")
    limits = job.limits
    return {
        "program": compiled(job.program, PROGRAM_NAME),
        "source": job.program,
        "payload": job.payload,
        "files": dict(job.files),
        "seed": job.seed,
        "message_bytes": limits.message_bytes,
        "limits": {
            # The kernel counts cpu time in whole seconds, at least one.
            "cpu": 0 if endless else max(1, math.ceil(limits.cpu_s)),
            "memory": limits.memory_mib << 20,
            "file": limits.file_mib << 20,
            "open_files": limits.open_files,
            "processes": limits.processes,
            "core": 0,
        },
    }


def loaded(modules: dict[str, str]) -> dict[str, tuple[str, CodeType]]:
    """Modules as the guest takes them: name to text and code."""
    return {
        name: (text, compiled(text, f"<jail module {name}>")) for name, text in modules.items()
    }


@functools.lru_cache(maxsize=64)
def compiled(source: str, name: str) -> CodeType:
    """The code of one of our programs; raises `SandboxError` where it is not Python."""
    try:
        return compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise SandboxError(f"{name} is not Python: {error}") from error


def how_it_ended(
    status: int, said_end: bool, cpu_s: float, limits: Limits, stopped: tuple[Ended, str] | None
) -> tuple[Ended, str, str]:
    """How a process ended, the signal's name and the limit, from its wait status.

    `stopped` is what the host did about it before that, if anything.
    """
    code = os.waitstatus_to_exitcode(status)
    name = _signal_name(-code) if code < 0 else ""
    if stopped is not None:
        return stopped[0], name, stopped[1]
    if code < 0:
        # Past SIGXCPU comes SIGKILL, which says nothing; the time used does. The kernel
        # enforces by ticks and reports by a finer clock, so the two do not agree.
        late = -code == signal.SIGKILL and cpu_s >= 0.75 * limits.cpu_s
        cpu = -code == signal.SIGXCPU or late
        return "killed", name, f"cpu time {limits.cpu_s:g} s" if cpu else ""
    return ("completed" if code == 0 and said_end else "exited"), "", ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no name
        return f"signal {number}"
