"""Converts a job into the first message to a guest, and a wait status into an outcome's end."""

from __future__ import annotations

import functools
import math
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import PurePosixPath
from types import CodeType
from typing import Any

from sandbox.inside.guest import PROGRAM_NAME, module_name
from sandbox.types import Ended, Job, Limits, SandboxError

_NAME_BYTES = 255
_PATH_BYTES = 3_000
"""The limit of Linux and macOS, less the length of a job's folder."""


def job_message(job: Job) -> dict[str, Any]:
    """The message that starts a job in a local guest; each backend adds fields.

    Raises:
        SandboxError: The job is invalid.
    """
    # Any: the values are marshalled and include code objects.
    if not 0 <= job.seed < 1 << 32:
        raise SandboxError(f"a job's seed must be 0 to 4294967295, not {job.seed}")
    return {
        "program": None if job.python else compiled(job.program, PROGRAM_NAME),
        "source": job.program,
        "payload": job.payload,
        "files": _checked_files(job.files) if job.files else {},
    }


def cpu_limit_s(limits: Limits, is_batch: bool) -> int:
    """Whole seconds of processor time for the kernel, at least one; 0 for no limit."""
    return 0 if is_batch else max(1, math.ceil(limits.cpu_s))


def environment(seed: int) -> dict[str, str]:
    """The environment of an interpreter that runs jobs; contains nothing of the host's."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "USER": "project",
        "LOGNAME": "project",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONHASHSEED": str(seed),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        # Each arena of the C library reserves 64 MiB of address space per thread.
        "MALLOC_ARENA_MAX": "1",
        # On Linux the locale has the same effect.
        **({} if sys.platform == "linux" else {"PYTHONUTF8": "1"}),
    }


def _checked_files(files: Mapping[str, str]) -> dict[str, str]:
    """The files by normalised paths; raises `SandboxError` if they could not be written. This also
    applies where files stay in memory, so that all backends reject the same jobs."""
    checked: dict[str, str] = {}
    for path, text in files.items():
        relative = PurePosixPath(path)
        if relative.is_absolute() or ".." in relative.parts or not relative.parts or "\0" in path:
            raise SandboxError(
                f"a job's file needs a relative path within its folder, not {path!r}"
            )
        if str(relative) in checked:
            raise SandboxError(f"two of a job's files have the path {str(relative)!r}")
        checked[str(relative)] = text
    for path in checked:
        why = _obstacle(PurePosixPath(path), checked)
        if why:
            raise SandboxError(f"the job's file {path!r} cannot be written: {why}")
    return checked


def _obstacle(path: PurePosixPath, files: Mapping[str, str]) -> str:
    try:
        # The system's encoding of names.
        names = [name.encode("utf-8", "surrogateescape") for name in path.parts]
    except UnicodeEncodeError as error:
        return str(error)
    if max(map(len, names)) > _NAME_BYTES or len(b"/".join(names)) > _PATH_BYTES:
        return "its name is too long"
    folder = next((str(parent) for parent in path.parents if str(parent) in files), None)
    return "" if folder is None else f"{folder!r} is a file"


def loaded(modules: Mapping[str, str], python: str = "") -> dict[str, tuple[str, CodeType | None]]:
    """Modules in the guest's form: name to text and code; no code for another Python."""
    return {
        name: (text, None if python else compiled(text, module_name(name)))
        for name, text in modules.items()
    }


@functools.lru_cache(maxsize=64)
def compiled(source: str, name: str) -> CodeType:
    """The compiled code of a trusted program; raises `SandboxError` for invalid Python."""
    try:
        return compile(source, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise SandboxError(f"{name} is not Python: {error}") from error


def classify_end(
    status: int, said_end: bool, cpu_s: float, limits: Limits, stopped: tuple[Ended, str] | None
) -> tuple[Ended, str, str]:
    """How a process ended, the signal's name and the limit, from its wait status.

    `stopped` is the reason for which the host killed it, if it did.
    """
    code = os.waitstatus_to_exitcode(status)
    name = _signal_name(-code) if code < 0 else ""
    if stopped is not None:
        return stopped[0], name, stopped[1]
    if code < 0:
        # A SIGKILL that follows SIGXCPU is recognised by the used time. The kernel enforces the
        # limit by ticks and reports a finer clock, so the two differ slightly.
        late = -code == signal.SIGKILL and cpu_s >= 0.75 * limits.cpu_s
        cpu = -code == signal.SIGXCPU or late
        return "killed", name, f"cpu time {limits.cpu_s:g} s" if cpu else ""
    return ("completed" if code == 0 and said_end else "exited"), "", ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # real-time signals have no name
        return f"signal {number}"
