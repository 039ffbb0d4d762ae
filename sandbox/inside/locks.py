"""`flock` within one job, of which the kernel is not told.

A lock on a file that every job may read would be seen by every job, so the filter lets no lock be
set: it answers that it was. For record locks that is all there is to it, since a process is never
kept out by its own. `flock` belongs to an open file, and keeps out another opening of the same
file in the same process: that is done here, for what calls it by Python. A copy of a descriptor
counts as an opening of its own.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import time
from _thread import allocate_lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_AGAIN_S = 0.001


class FileLocks:
    """Who holds which file."""

    def __init__(self) -> None:
        self._guard = allocate_lock()
        self._held: dict[tuple[int, int], dict[int, int]] = {}
        """File to descriptors and how they hold it."""

    def flock(self, fd: Any, operation: int, /) -> None:  # Any: what `fcntl.flock` takes
        """Performs the lock operation on a file as `fcntl.flock` does."""
        sys.audit("fcntl.flock", fd, operation)
        descriptor = fd if isinstance(fd, int) else fd.fileno()
        wanted = operation & ~fcntl.LOCK_NB
        if wanted not in (fcntl.LOCK_SH, fcntl.LOCK_EX, fcntl.LOCK_UN):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        file = _file(descriptor)
        if file is None:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        while not self._done(descriptor, file, wanted):
            if operation & fcntl.LOCK_NB:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            time.sleep(_AGAIN_S)

    def _done(self, descriptor: int, file: tuple[int, int], wanted: int) -> bool:
        with self._guard:
            # Whoever closed the file has let go of it.
            holders = {
                holder: kind for holder, kind in self._held.get(file, {}).items()
                if holder != descriptor and _file(holder) == file
            }
            free = wanted == fcntl.LOCK_UN or not holders or (
                wanted == fcntl.LOCK_SH and fcntl.LOCK_EX not in holders.values()
            )
            if free and wanted != fcntl.LOCK_UN:
                holders[descriptor] = wanted
            self._held[file] = holders
            return free


def _file(descriptor: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino
