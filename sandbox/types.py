"""Jobs, limits and outcomes of a sandbox.

Infrastructure failures are exceptions; whatever untrusted code does is a value:

    SandboxError                the sandbox is broken or missing; the message says what to do
      SandboxUnavailable        this system cannot run this backend
      SandboxDied               the job's process was killed from outside; its outcome is unknown
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""A JSON value; text may hold lone surrogates."""

PRELOADABLE = ("numpy", "pandas")
"""Packages that are slow to load and often imported."""

Ended = Literal["completed", "exited", "timeout", "output", "killed", "garbled"]
"""How a job's process ended.

completed  the program ran to its end and reported it
exited     the process ended early by itself: `os._exit`, `sys.exit` outside of the program
timeout    the deadline passed and the process was killed
output     the output exceeded its limit and the process was killed
killed     a signal or another limit ended it; `signal` names it
garbled    invalid data arrived on the private channel and the process was killed
"""


class SandboxError(Exception):
    """The sandbox failed, so nothing is known about the code."""


class SandboxUnavailable(SandboxError):
    """This backend cannot run here; the message says what to do."""


class SandboxDied(SandboxError):
    """The job's process was killed from outside; its outcome is unknown."""


@dataclass(frozen=True)
class Limits:
    """The limits of a job, enforced by the system or the host, not by the guest."""

    wall_s: float = 10.0
    cpu_s: float = 10.0
    """Processor time, rounded up to whole seconds, at least one."""
    memory_mib: int = 768
    """Address space, including the interpreter and its libraries."""
    output_bytes: int = 1_000_000
    """Standard output and standard error together; more ends the job as `output`."""
    message_bytes: int = 64_000_000
    """All data on the private channel; more ends the job as `garbled`."""
    file_mib: int = 16
    """The largest file the job may write."""
    open_files: int = 64
    processes: int = 64
    """Processes and threads together. In the jail it applies to jobs that are granted processes.
    Other jobs are one process, and their threads are limited per fork server."""


@dataclass(frozen=True)
class Job:
    """One program for one sandbox.

    `program` is trusted source text, run in the sandbox's interpreter with one global, `jail` (see
    `guest.Jail`) with `payload`, `send` and `receive`. Untrusted code is in the payload or in
    `files`; the program decides how to execute it.
    """

    program: str
    payload: Json = None
    modules: Mapping[str, str] = field(default_factory=dict)
    """Trusted modules that `program` may import: name to source text. They contain only
    definitions and no secrets, since a backend may load them once for many jobs. A backend may run
    a module's `warm_up` any number of times in a process that waits for a job; it must have no
    other effect."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Files in the job's private folder, which is its current directory and first on `sys.path`:
    relative path to text, with invalid UTF-8 as `surrogateescape`. Where no file can be opened,
    they can still be imported, and `jail.files` has all texts. The jail accepts 32 MiB and 2,048
    files."""
    stdin: str = ""
    package_folders: tuple[str, ...] = ()
    """Folders appended to `sys.path`: site-packages, importable read-only."""
    seed: int = 0
    """The hash seed of the interpreter, 0 to 4294967295; the jail also seeds `random` with it."""
    preload: tuple[str, ...] = ()
    """Packages of `PRELOADABLE` that the code imports; the jail loads them in advance if
    `package_folders` has them."""
    limits: Limits = Limits()
    brief: bool = False
    """Whether a batch ends soon. Some slots are reserved for such batches, see `fair_queue`."""
    owner: str = ""
    """The owner, for sharing slots fairly between owners; it has no other effect."""
    python: str = ""
    """The path of the interpreter, Python 3.10 or newer; empty uses the host's. The job's code is
    then compiled in the sandbox."""
    processes: bool = False
    """Whether the job may start processes in the sandbox. Granted if all of them are known to end
    with the job (`Isolation.grants`); otherwise the job is one process."""
    loopback: bool = False
    """Whether the job may use sockets in a private network. Granted like `processes`."""

    @property
    def grants(self) -> tuple[str, ...]:
        """The requested permissions beyond one process without a network."""
        wanted = {"loopback": self.loopback, "processes": self.processes}
        return tuple(name for name, is_wanted in wanted.items() if is_wanted)


DENIAL_MEANINGS = {
    "files": "the jail opens only the program's own files",
    "network": "the jail allows no network",
    "processes": "the jail allows no second process",
    "signals": "the jail allows no signals to other processes",
}
"""The rules of a jail, for users whose program violated one."""


@dataclass(frozen=True)
class Outcome:
    """The observed result of a job. Only `messages`, `stdout`, `stderr` and `denied` come from the
    process; they may be anything."""

    ended: Ended
    messages: tuple[Json, ...] = ()
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    """`None` where a signal ended the process."""
    signal: str = ""
    limit: str = ""
    """The limit or rule that stopped the job, for people; empty if none did."""
    denied: tuple[str, ...] = ()
    """The rules that the program violated: "files", "network", "processes", "signals". Reported by
    the untrusted process, so only usable as an explanation. Not all backends report it."""
    wall_s: float = 0.0

    @property
    def refusals(self) -> tuple[str, ...]:
        """The rules in `denied`, for people."""
        return tuple(DENIAL_MEANINGS[rule] for rule in self.denied)


@dataclass(frozen=True)
class LostItem:
    """A batch item without a reply, because its process hung or died; the batch continued."""

    ended: Ended
    limit: str = ""
    stderr: str = ""
    """The end of the standard error."""
