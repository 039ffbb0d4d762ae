"""What goes into a jail and what comes out of it.

Errors of our surroundings are exceptions; everything untrusted code does is a value:

    SandboxError                the jail itself is broken or absent; the message says what to do
      SandboxUnavailable        this system cannot run this backend
      SandboxDied               what held the job was ended from outside; nothing is known of it
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""A JSON value; text may hold lone surrogates."""

PRELOADABLE = ("numpy", "pandas")
"""Packages that take long to load and that many programs of one kind import."""

Ended = Literal["completed", "exited", "timeout", "output", "killed", "garbled"]
"""How a job's process ended.

completed  the program ran to its end and said so
exited     the process ended early by its own doing: `os._exit`, `sys.exit` past the program
timeout    the deadline passed and the process was killed
output     more was written than the limit allows, and the process was killed
killed     a signal or another limit ended it; `signal` names it
garbled    what came over the private channel was no message of ours; the process was killed
"""


class SandboxError(Exception):
    """The jail is broken; nothing can be said about the code."""


class SandboxUnavailable(SandboxError):
    """This backend cannot run here; the message says what would help."""


class SandboxDied(SandboxError):
    """What held a job was ended from outside, and what became of the job cannot be known."""


@dataclass(frozen=True)
class Limits:
    """What a job may use; each is enforced by the system or by the host, not by the guest."""

    wall_s: float = 10.0
    cpu_s: float = 10.0
    """Processor time; the system counts whole seconds, and gives at least one."""
    memory_mib: int = 768
    """Address space, that of the interpreter and its libraries included."""
    output_bytes: int = 1_000_000
    """Standard output and standard error together; more ends the job as `output`."""
    message_bytes: int = 64_000_000
    """All that may come over the private channel; more ends the job as `garbled`."""
    file_mib: int = 16
    """The largest file the job may write."""
    open_files: int = 64
    processes: int = 64
    """Processes and threads together. In the jail it bounds a job that is granted processes. Any
    other is one process whatever this says, and its threads are bounded with those of all jobs of
    its fork server."""


@dataclass(frozen=True)
class Job:
    """One program for one jail.

    `program` is source text of ours, run in the jail's interpreter with one global,
    `jail` (see `guest.Jail`): its `payload`, `send` and `receive`. Untrusted code
    travels in the payload or in `files`; the program decides how it is executed.
    """

    program: str
    payload: Json = None
    modules: Mapping[str, str] = field(default_factory=dict)
    """Modules of ours that `program` may import: name to source text. They hold definitions
    only, and nothing secret: a backend may load them before the job and keep them, loaded, for
    other jobs. What one calls `warm_up` a backend may run, any number of times, in a
    process that waits for a job: it has no effect but speed."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Text files laid into the job's private folder, its current directory and first on
    `sys.path`: relative path to text, in which bytes that are no UTF-8 stand as in names of files
    (`surrogateescape`). Where no file may be opened, modules among them can be imported all the
    same, and `jail.files` holds every text. The jail takes 32 MiB and 2,048 files."""
    stdin: str = ""
    sites: tuple[str, ...] = ()
    """Folders appended to `sys.path`: site-packages, importable read-only."""
    seed: int = 0
    """Hash seed of the interpreter, 0 to 4294967295; a backend that keeps interpreters loaded
    seeds `random` with it too."""
    preload: tuple[str, ...] = ()
    """Packages of `PRELOADABLE` that the code imports; a backend that keeps interpreters loaded
    loads them beforehand where `sites` holds them."""
    limits: Limits = Limits()
    brief: bool = False
    """A batch that is over soon: it gets a place before those that last, whose owner may wait for
    it."""
    owner: str = ""
    """Whom the job is for. Where jobs wait for a place, owners take turns; nothing else follows."""
    python: str = ""
    """The interpreter that runs it, by its path: Python 3.10 or newer; empty is the host's own.
    What goes with such a job is compiled there."""
    processes: bool = False
    """The job may start processes of its own inside the jail. Granted where everything that it
    starts is seen to end with it (`Isolation.grants`); elsewhere it stays one process."""
    loopback: bool = False
    """The job may use sockets of a network of its own, in which there is nobody else. Granted as
    `processes` are."""

    @property
    def grants(self) -> tuple[str, ...]:
        """What it asks for beyond one process without a network."""
        wanted = {"loopback": self.loopback, "processes": self.processes}
        return tuple(name for name, asked in wanted.items() if asked)


DENIAL_MEANINGS = {
    "files": "the jail opens no file but the program's own",
    "network": "the jail allows no network",
    "processes": "the jail allows no second process",
    "signals": "the jail lets no signal out",
}
"""What each rule of a jail says to a program that runs against it, in words for people."""


@dataclass(frozen=True)
class Outcome:
    """What was seen of a job from outside. Nothing here is the word of the judged code but
    `messages`, `stdout` and `stderr`, which are whatever the process wrote."""

    ended: Ended
    messages: tuple[Json, ...] = ()
    stdout: str = ""
    stderr: str = ""
    exit_code: int | None = None
    """`None` where a signal ended the process."""
    signal: str = ""
    limit: str = ""
    """Which limit or rule stopped the job, in words, when one did."""
    denied: tuple[str, ...] = ()
    """The rules of the jail that the program ran against, where the backend sees it: "files",
    "network", "processes", "signals". By the program's own word: an explanation, no verdict."""
    wall_s: float = 0.0

    @property
    def refusals(self) -> tuple[str, ...]:
        """The rules in `denied`, in words for people."""
        return tuple(DENIAL_MEANINGS[rule] for rule in self.denied)


@dataclass(frozen=True)
class LostItem:
    """An item of a batch that got no reply: its process hung or died; the batch went on."""

    ended: Ended
    limit: str = ""
    stderr: str = ""
    """The end of what the process wrote to standard error, when it says why."""
