"""What a job becomes on its way to the guest, and what an exit status becomes on its way back."""

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
"""What Linux and macOS take, less what a job's folder itself needs."""


def orders(job: Job) -> dict[str, Any]:
    """What every local guest receives of a job; a backend adds its own. Raises `SandboxError` for
    a job that cannot be.

    Any: the values are marshalled, code objects among them.
    """
    if not 0 <= job.seed < 1 << 32:
        raise SandboxError(f"a job's seed must be 0 to 4294967295, not {job.seed}")
    return {
        "program": None if job.python else compiled(job.program, PROGRAM_NAME),
        "source": job.program,
        "payload": job.payload,
        "files": _layable(job.files) if job.files else {},
    }


def cpu_limit_s(limits: Limits, endless: bool) -> int:
    """Whole seconds of processor time, as the kernel counts them, at least one; 0 for no limit."""
    return 0 if endless else max(1, math.ceil(limits.cpu_s))


def environment(seed: int) -> dict[str, str]:
    """What every interpreter that runs jobs finds in its environment: nothing of the host's."""
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
        # A C library's arenas reserve 64 MiB of address space for each thread.
        "MALLOC_ARENA_MAX": "1",
        # The locale says as much where there is one of that name.
        **({} if sys.platform == "linux" else {"PYTHONUTF8": "1"}),
    }


def _layable(files: Mapping[str, str]) -> dict[str, str]:
    """The files by their paths in one spelling; raises `SandboxError` where no folder could hold
    them. So a job is refused alike where files are laid and where they stay in memory."""
    laid: dict[str, str] = {}
    for path, text in files.items():
        relative = PurePosixPath(path)
        if relative.is_absolute() or ".." in relative.parts or not relative.parts or "\0" in path:
            raise SandboxError(
                f"a job's file needs a relative path within its folder, not {path!r}"
            )
        if str(relative) in laid:
            raise SandboxError(f"two of a job's files have the path {str(relative)!r}")
        laid[str(relative)] = text
    for path in laid:
        why = _obstacle(PurePosixPath(path), laid)
        if why:
            raise SandboxError(f"the job's file {path!r} cannot be written: {why}")
    return laid


def _obstacle(path: PurePosixPath, files: Mapping[str, str]) -> str:
    try:
        # As the system decodes names that are no text.
        names = [name.encode("utf-8", "surrogateescape") for name in path.parts]
    except UnicodeEncodeError as error:
        return str(error)
    if max(map(len, names)) > _NAME_BYTES or len(b"/".join(names)) > _PATH_BYTES:
        return "its name is too long"
    folder = next((str(one) for one in path.parents if str(one) in files), None)
    return "" if folder is None else f"{folder!r} is a file"


def loaded(
    modules: Mapping[str, str], python: str = ""
) -> dict[str, tuple[str, CodeType | None]]:
    """Modules as the guest takes them: name to text and code, where that is for our own Python."""
    return {
        name: (text, None if python else compiled(text, module_name(name)))
        for name, text in modules.items()
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
