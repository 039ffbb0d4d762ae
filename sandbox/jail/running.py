"""The host's side of a job in its worker.

The host gets messages over the private channel, output from two files in memory, and the end of the
process from the fork server. A job that reports its end is killed at once, so that nothing
continues to run after its outcome.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import time

from sandbox.inside import lockdown
from sandbox.jail.forkserver import SCRATCH_MIB, ForkServer, Worker
from sandbox.protocol.batch import STDERR_BYTES
from sandbox.protocol.conversation import Conversation
from sandbox.protocol.job_message import cpu_limit_s, job_message
from sandbox.protocol.wire import frame
from sandbox.types import Job, SandboxDied, SandboxError

_UNLIMITED = -1
_PAST_THE_LIMIT = 1 << 16
_KILL_TIMEOUT_S = 10.0
_SIZE_CHECK_S = 0.1
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL


def jail_message(job: Job, is_batch: bool) -> dict[str, object]:
    """The message that starts a job in the jail.

    Raises:
        SandboxError: The job is invalid, or its files are too many or too large.
    """
    size = sum(map(len, job.files.values()))
    if 4 * size > SCRATCH_MIB << 19:  # a character takes up to four bytes
        size = sum(len(text.encode("utf-8", "surrogatepass")) for text in job.files.values())
    if size > SCRATCH_MIB << 19:
        raise SandboxError(
            f"the files of a job are limited to {SCRATCH_MIB // 2} MiB, but have {size >> 20} MiB"
        )
    most = lockdown.MAX_ENTRIES // 2
    if len(job.files) > most:
        raise SandboxError(f"a job is limited to {most} files, but has {len(job.files)}")
    message = job_message(job)
    limits = job.limits
    memory, file = limits.memory_mib << 20, limits.file_mib << 20
    # The soft limit sends a signal, which a program may ignore; the hard limit kills it.
    cpu_s = cpu_limit_s(limits, is_batch)
    cpu = (cpu_s, cpu_s + 1) if cpu_s else (_UNLIMITED, _UNLIMITED)
    message["modules"] = {}
    # Soft and hard limits in the kernel's form.
    message["ceilings"] = ((memory, memory), (file, file), (limits.open_files,) * 2, cpu)
    # The init process of its pid namespace counts too.
    message["processes"] = (limits.processes + 1,) * 2
    return message


class RunningJob(Conversation):
    """A job in its worker."""

    def __init__(
        self, server: ForkServer, worker: Worker, job: Job, message: dict[str, object],
        is_batch: bool,
    ) -> None:
        super().__init__(job)
        self._server = server
        self._worker = worker
        self._silent = is_batch
        self._errors = bytearray()
        self._size_timer: asyncio.TimerHandle | None = None
        self._death_timer: asyncio.TimerHandle | None = None
        worker.on_end = self._on_exit
        worker.on_abandoned = self._abandon
        if is_batch:
            self._loop.add_reader(worker.stderr, self._read_errors)
        else:
            for output in (worker.stdout, worker.stderr):
                # Larger than the limit: a write across the end is cut up to a page before it.
                os.ftruncate(output, job.limits.output_bytes + _PAST_THE_LIMIT)
                fcntl.fcntl(output, fcntl.F_ADD_SEALS, _SEALS)
        if job.stdin:
            os.pwrite(worker.stdin, job.stdin.encode("utf-8", "surrogatepass"), 0)
        if server.profile.level == "L3":
            self._size_timer = self._loop.call_later(_SIZE_CHECK_S, self._check_folder_size)
        self._open(worker.channel, frame(message), is_batch)
        if self._has_exited():
            self._on_exit()

    @property
    def server_pid(self) -> int:
        """The process id of its fork server."""
        return self._server.pid

    def _kill(self) -> None:
        self._server.kill(self._worker)
        if self._death_timer is None:
            self._death_timer = self._loop.call_later(
                _KILL_TIMEOUT_S, self._server.close, "it did not kill a worker"
            )

    def _has_exited(self) -> bool:
        return self._worker.end is not None or self._worker.lost or self._outcome is not None

    def _on_data(self) -> None:
        if not self.inbox.ended or self._stopped is not None or self._outcome is not None:
            return
        if self._server.profile.grants:
            # Processes that it started may still write: wait until all have ended.
            if self._deadline is not None:
                self._deadline.cancel()
            if self._death_timer is None:
                self._kill()
        else:
            # The program has ended; its threads must not run on.
            self._worker.on_end = None
            self._server.kill(self._worker)
            self._finish(0, 0.0)

    def _on_exit(self) -> None:
        """Handles the end of the process after reading its remaining messages."""
        if self._outcome is not None:
            return
        end = self._worker.end
        if end is None:
            self._on_server_lost()
            return
        while self._channel >= 0 and self._outcome is None:
            before = self.inbox.received_bytes
            self._read_channel()
            if self.inbox.received_bytes == before:
                break
        if self._outcome is None:
            reported_end = self.inbox.ended and self._stopped is None
            self._finish(0 if reported_end else end[0], end[1])

    def _on_server_lost(self) -> None:
        """Settles a job whose outcome is unknown because its server ended."""
        self._stop_timers()
        self._worker.close()
        self._settle(SandboxDied(f"the fork server ended: {self._server.broken}"))

    def _abandon(self) -> None:
        """Closes the descriptors of a job whose event loop is closed."""
        channel, self._channel = self._channel, -1
        if channel >= 0:
            os.close(channel)
        self._worker.close()
        self._failure = SandboxError("the event loop of this job was closed")

    def _stop_timers(self) -> None:
        for timer in (self._size_timer, self._death_timer):
            if timer is not None:
                timer.cancel()
        if self._silent:
            self._loop.remove_reader(self._worker.stderr)

    def _finish(self, status: int, cpu_s: float) -> None:
        self.wall_s = time.monotonic() - self._started
        self._stop_timers()
        stdout, stderr, cut = b"", b"", False
        if self._silent:
            self._read_errors()
            stderr = bytes(self._errors)
        else:
            most = self._limits.output_bytes
            stdout = _read_output(self._worker.stdout, most)
            stderr = _read_output(self._worker.stderr, most)
            cut = len(stdout) + len(stderr) > most
            stdout = stdout[:most]
            stderr = stderr[: most - len(stdout)]
        if cut and self._stopped is None:
            self._stopped = ("output", f"output of more than {self._limits.output_bytes} bytes")
        self._conclude(status, cpu_s, stdout, stderr)
        # After the callbacks of waiters for the outcome.
        self._loop.call_soon(self._worker.close)

    def _read_errors(self) -> None:
        try:
            part = os.read(self._worker.stderr, 1 << 16)
        except BlockingIOError:
            return
        if not part:
            self._loop.remove_reader(self._worker.stderr)
        self._errors += part
        del self._errors[:-STDERR_BYTES]

    def _check_folder_size(self) -> None:
        """Checks the size of the folder of a job without its own file system."""
        folder = self._server.folder(self._worker)
        if _exceeds(folder, SCRATCH_MIB << 20, lockdown.MAX_ENTRIES):
            self._abort(
                "killed", f"files of more than {SCRATCH_MIB} MiB, or {lockdown.MAX_ENTRIES} files"
            )
        else:
            self._size_timer = self._loop.call_later(_SIZE_CHECK_S, self._check_folder_size)


def _read_output(output: int, most: int) -> bytes:
    """The output of a job, with one byte more than `most` if it wrote too much."""
    size = min(os.lseek(output, 0, os.SEEK_CUR), most + 1)
    return os.pread(output, size, 0) if size else b""


def _exceeds(folder: str, most_bytes: int, most_entries: int) -> bool:
    size, entries = 0, 0
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as found:
                for entry in found:
                    entries += 1
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
                    if size > most_bytes or entries > most_entries:
                        return True
        except FileNotFoundError:  # removed meanwhile
            continue
        except OSError:  # unreadable, or nested too deep for a path
            return True
    return False
