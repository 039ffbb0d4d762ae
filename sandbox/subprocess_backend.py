"""The backend `subprocess`: a new interpreter for each job, with the limits that every Unix has.

The host uses three pipes (standard output, standard error, the private channel) and the end of the
process. Everything is driven by callbacks of the event loop that started the job, so a job ends
cleanly even if its task is cancelled. There is one path for the end, `_Running._on_exit`: kill the
process group, find and kill escaped processes, read the pipes, remove the folder, and set the
outcome.

Enforced are time, memory, processes, file size, open files, output and messages; a fixed
environment; and a separate user if the host is root. Not enforced: a job can open sockets and read
any file that its user can read. `describe` says so.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Literal

from sandbox.inside.removal import remove
from sandbox.levels import Isolation, Layer
from sandbox.protocol.batch import STDERR_BYTES, RestartingBatch
from sandbox.protocol.conversation import READ_BYTES, Conversation, read_some
from sandbox.protocol.job_message import cpu_limit_s, environment, job_message, loaded
from sandbox.protocol.wire import frame
from sandbox.sandbox import Sandbox
from sandbox.types import Job, SandboxError, SandboxUnavailable
from sandbox.workspaces import JailFolder, Workspaces, kill_all, survivors, workspaces

if TYPE_CHECKING:
    import resource

_FEW_ENTRIES = 200
"""A folder with more entries is removed in a thread."""
_KILL_TIMEOUT_S = 10.0
_GRANTS = frozenset({"loopback", "processes"})
"""Permissions that all jobs have here."""

Output = Literal["stored", "dropped"]


class SubprocessSandbox(Sandbox):
    """Runs each job in a new interpreter."""

    name = "subprocess"

    def __init__(self) -> None:
        if sys.platform == "win32":
            raise SandboxUnavailable(
                "code cannot be sandboxed on Windows; use WSL, Linux, macOS or a container. "
                "Saved runs can still be viewed and replayed here."
            )
        self._workspaces = workspaces()

    def describe(self) -> str:
        """See `Sandbox`."""
        limits = "limits on time, memory, processes, files and output, an empty environment"
        open_access = "open: network, and files that any user may read"
        if self._workspaces.has_spare_users:
            return f"subprocess: {limits}, a spare user for each job; {open_access}"
        return (
            f"subprocess: {limits}; {open_access}, this user's files, and signals to its "
            "processes; a hidden background process may survive"
        )

    async def isolation(self, for_job: Job | None = None) -> Isolation:
        """The level L1: limits only."""
        limits = Layer("limits", True, "set inside and outside the job")
        return Isolation("L1", (limits,), _GRANTS)

    @asynccontextmanager
    async def start(self, job: Job) -> AsyncIterator[_Running]:
        """See `Sandbox`."""
        process = self._start(job)
        try:
            yield process
        finally:
            await process.kill()

    def batch(self, job: Job) -> RestartingBatch:
        """See `Sandbox`."""

        async def start() -> _Running:
            return self._start(job, output="dropped", is_batch=True)

        return RestartingBatch(start, job)

    def _start(self, job: Job, output: Output = "stored", is_batch: bool = False) -> _Running:
        limits = job.limits
        message = job_message(job)
        message["limits"] = {
            "cpu": cpu_limit_s(limits, is_batch),
            "memory": limits.memory_mib << 20,
            "file": limits.file_mib << 20,
            "open_files": limits.open_files,
            "processes": limits.processes,
            "core": 0,
        }
        message["modules"] = loaded(job.modules, job.python)
        message["package_folders"] = self._workspaces.package_folders(job.package_folders)
        workspace = self._workspaces.make()
        try:
            message |= {
                "host": os.getpid(),
                "folder": f"{workspace.folder}/work",
                "user": workspace.user,
            }
            return _Running(self._workspaces, workspace, job, frame(message), output, is_batch)
        except BaseException:
            self._workspaces.remove(workspace)
            raise


class _Running(Conversation):
    """The host's side of a job's process."""

    def __init__(
        self, workspaces: Workspaces, workspace: JailFolder, job: Job, message: bytes,
        output: Output, is_batch: bool,
    ) -> None:
        super().__init__(job)
        self._workspaces = workspaces
        self._workspace = workspace
        self._keeps_output = output == "stored"
        self._output: dict[int, bytearray] = {}
        self._output_left = job.limits.output_bytes
        self._exited = False
        self._reaped = False
        self._has_orphans = False
        self._cpu_s = 0.0
        self._status = 0

        self._pid, channel, self._stdout, self._stderr = _spawn(workspaces, workspace, job)
        for descriptor in (self._stdout, self._stderr):
            self._output[descriptor] = bytearray()
            self._loop.add_reader(descriptor, self._read_output, descriptor)
        self._streams = {self._stdout, self._stderr}
        self._watch()
        self._open(channel, message, is_batch)

    def _read_output(self, descriptor: int) -> None:
        if descriptor not in self._streams:
            return
        part = read_some(descriptor, READ_BYTES)
        if part is None:
            return
        if not part:
            self._close(descriptor)
            return
        buffer = self._output[descriptor]
        if not self._keeps_output:
            buffer += part
            del buffer[:-STDERR_BYTES]
            return
        buffer += part[: self._output_left]
        self._output_left -= len(part)
        if self._output_left < 0:
            self._output_left = 0
            # Killed before the pipe is closed, so that it cannot report a broken pipe.
            self._abort("output", f"output of more than {self._limits.output_bytes} bytes")
            self._close(descriptor)

    def _watch(self) -> None:
        """Calls `_on_exit` in the loop once the process has ended."""
        self._pidfd = -1
        if hasattr(os, "pidfd_open"):
            try:
                self._pidfd = os.pidfd_open(self._pid)
            except OSError as error:
                if error.errno not in (errno.ENOSYS, errno.EPERM):
                    raise
        if self._pidfd >= 0:
            self._loop.add_reader(self._pidfd, self._on_exit)
        else:
            threading.Thread(target=self._wait, name=f"job {self._pid}", daemon=True).start()

    def _wait(self) -> None:
        """Waits in a thread, for systems without pidfd."""
        end = os.wait4(self._pid, 0)
        self._reaped = True
        with suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(self._on_exit, end)

    def _has_exited(self) -> bool:
        return self._exited or self._reaped or (self._pidfd >= 0 and _readable(self._pidfd))

    def _kill(self) -> None:
        """Kills the job's first process and its group, unless it is reaped and its pid is free."""
        if not self._reaped:
            for kill in (os.kill, os.killpg):
                with suppress(ProcessLookupError, PermissionError):
                    kill(self._pid, signal.SIGKILL)

    def _on_exit(self, end: tuple[int, int, resource.struct_rusage] | None = None) -> None:
        """Handles the end of the process: the only path to an outcome."""
        self.wall_s = time.monotonic() - self._started
        if end is None:
            self._kill()
            end = os.wait4(self._pid, 0)
            self._reaped = True
            self._loop.remove_reader(self._pidfd)
            os.close(self._pidfd)
            self._pidfd = -1
        else:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
        _, self._status, usage = end
        self._exited = True
        self._cpu_s = usage.ru_utime + usage.ru_stime
        if self._deadline is not None:
            self._deadline.cancel()
        self._kill_survivors(time.monotonic() + _KILL_TIMEOUT_S)

    def _kill_survivors(self, deadline: float) -> None:
        """Kills processes that left the group, repeatedly until none is found."""
        left = survivors(self._workspace)
        if not left:
            self._drain()
            return
        self._has_orphans = True
        kill_all(left)
        if time.monotonic() > deadline:
            # Their user and folder are never reused.
            self._close_all()
            self._settle(SandboxError(f"processes of a job cannot be killed; end them: {left}"))
        else:
            self._loop.call_later(0.002, self._kill_survivors, deadline)

    def _drain(self) -> None:
        """Reads the rest of the pipes after the end of all processes, then removes the folder."""
        for descriptor in (self._stdout, self._stderr):
            while descriptor in self._streams and _readable(descriptor):
                self._read_output(descriptor)
        while self._channel >= 0 and _readable(self._channel):
            self._read_channel()
        self._close_all()
        try:
            removed = remove(self._workspace.folder, _FEW_ENTRIES)
        except OSError as error:
            self._finish(error)
            return
        if removed:
            self._finish(None)
        else:
            removal = self._loop.run_in_executor(None, remove, self._workspace.folder)
            removal.add_done_callback(lambda done: self._finish(done.exception()))

    def _close(self, descriptor: int) -> None:
        self._streams.discard(descriptor)
        self._loop.remove_reader(descriptor)
        os.close(descriptor)

    def _close_all(self) -> None:
        for descriptor in list(self._streams):
            self._close(descriptor)
        self._close_channel()

    def _finish(self, trouble: BaseException | None) -> None:
        self._workspaces.release_user(self._workspace, self._has_orphans)
        if trouble is not None:
            self._settle(SandboxError(f"a job's folder cannot be removed; remove it: {trouble}"))
        else:
            self._conclude(
                self._status, self._cpu_s, self._output[self._stdout], self._output[self._stderr]
            )


def _spawn(workspaces: Workspaces, workspace: JailFolder, job: Job) -> tuple[int, int, int, int]:
    """Starts the guest; returns its pid and the host's descriptors of channel, output and error."""
    variables = {
        "HOME": f"{workspace.folder}/work", "TMPDIR": f"{workspace.folder}/tmp",
        "CODE_JAIL": workspace.process_tag,
    }
    ours: list[int] = []
    theirs: list[int] = []
    try:
        theirs.append(_standard_input(job.stdin))
        for _ in range(2):
            reader, writer = os.pipe()
            ours.append(reader)
            theirs.append(writer)
        host_end, guest_end = socket.socketpair()
        ours.append(host_end.detach())
        theirs.append(guest_end.detach())
        pid = workspaces.interpreter(job.python).start(
            [workspaces.guest(job.python), f"CODE_JAIL={workspace.process_tag}"],
            environment(job.seed) | variables, theirs,
        )
    except OSError as error:
        for descriptor in ours:
            os.close(descriptor)
        raise SandboxError(f"a job cannot be started: {error}") from error
    finally:
        for descriptor in theirs:
            os.close(descriptor)
    for descriptor in ours:
        os.set_blocking(descriptor, False)
    return pid, ours[2], ours[0], ours[1]


def _standard_input(text: str) -> int:
    """A descriptor at the start of a file that holds `text`."""
    if not text:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        file.write(text.encode("utf-8", "surrogatepass"))
        file.seek(0)
        return os.dup(file.fileno())


def _readable(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
