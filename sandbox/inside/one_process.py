"""Replaces locks and shared memory between processes for jobs that are one process.

`flock`: a lock on a file that all jobs can read would be visible to all jobs. So the filter sets no
locks and reports success. For record locks this is correct, since they never exclude their own
process. `flock` excludes other openings of the same file in the same process, which is emulated
here for Python callers. A duplicated descriptor counts as a separate opening.

`multiprocessing`: programs create its locks even without starting processes. The system's
semaphores are files in a folder that all jobs would share, so locks within the process replace
them. Shared memory is put into the job's folder for temporary files.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import time
from _thread import allocate_lock, get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_AGAIN_S = 0.001
_RECURSIVE = 0


class FileLocks:
    """Emulates `fcntl.flock` within one process."""

    def __init__(self) -> None:
        self._guard = allocate_lock()
        self._held: dict[tuple[int, int], dict[int, int]] = {}
        """File to descriptors and their kind of lock."""

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
        while not self._try_lock(descriptor, file, wanted):
            if operation & fcntl.LOCK_NB:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            time.sleep(_AGAIN_S)

    def _try_lock(self, descriptor: int, file: tuple[int, int], wanted: int) -> bool:
        with self._guard:
            # Closing the file releases the lock.
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


class SemLock:
    """Replaces `_multiprocessing.SemLock` for the threads of one process."""

    SEM_VALUE_MAX = 2**31 - 1

    def __init__(self, kind: int, value: int, maxvalue: int, name: str, unlink: bool) -> None:
        import threading

        self.kind = kind
        self.maxvalue = maxvalue
        self.handle = id(self)
        self.name = None
        """`None`: no other process can find it."""
        self._value = value
        self._held = 0
        self._holder = 0
        self._changed = threading.Condition(threading.Lock())

    def acquire(self, block: bool = True, timeout: float | None = None) -> bool:
        if self.kind == _RECURSIVE and self._is_mine():
            self._held += 1
            return True
        with self._changed:
            wait_s = None if timeout is None else max(0.0, timeout)
            if not self._value and not (
                block and self._changed.wait_for(lambda: self._value, wait_s)
            ):
                return False
            self._value -= 1
            self._held += 1
            self._holder = get_ident()
        return True

    def release(self) -> None:
        if self.kind == _RECURSIVE:
            if not self._is_mine():
                raise AssertionError("attempt to release recursive lock not owned by thread")
            if self._held > 1:
                self._held -= 1
                return
        with self._changed:
            if self._value >= self.maxvalue:
                raise ValueError("semaphore or lock released too many times")
            self._value += 1
            self._held -= 1
            self._changed.notify()

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def _count(self) -> int:
        return self._held

    def _is_mine(self) -> bool:
        return self._held > 0 and self._holder == get_ident()

    def _get_value(self) -> int:
        return self._value

    def _is_zero(self) -> bool:
        return self._value == 0

    def _after_fork(self) -> None:
        self._held = 0


def _patch_locks(module: ModuleType) -> None:
    module.__dict__["SemLock"] = SemLock


def _patch_memory(module: ModuleType) -> None:
    module.__dict__["Arena"]._dir_candidates = []


_PATCHES: dict[str, Callable[[ModuleType], None]] = {
    "_multiprocessing": _patch_locks, "multiprocessing.heap": _patch_memory,
}


class OneProcess:
    """A finder that patches the modules of `_PATCHES` after loading."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _PATCHES:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                # typeshed wants a whole Loader; importlib asks for these methods only.
                spec.loader = _PatchingLoader(spec.loader, _PATCHES[name])  # type: ignore[assignment]
                return spec
        return None


class _PatchingLoader:
    """Wraps a loader and patches the loaded module."""

    def __init__(self, loader: Any, patch: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._patch = patch

    def __getattr__(self, name: str) -> Any:  # Any: whatever the loader has
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._patch(module)
