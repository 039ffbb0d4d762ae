"""Locks and memory of `multiprocessing` where a job is one process and has no `/dev/shm`.

Programs make such objects also where they start no process. The system's semaphores are files in a
folder that all jobs would share; those of one process need none. Memory that would be shared lies
in the job's own folder for temporary files.
"""

from __future__ import annotations

import sys
from _thread import get_ident

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

_RECURSIVE = 0


class SemLock:
    """What `_multiprocessing.SemLock` is, for the threads of one process."""

    SEM_VALUE_MAX = 2**31 - 1

    def __init__(self, kind: int, value: int, maxvalue: int, name: str, unlink: bool) -> None:
        import threading

        self.kind = kind
        self.maxvalue = maxvalue
        self.handle = id(self)
        self.name = None
        """None, as of one that no other process could find by its name."""
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


def _own_locks(module: ModuleType) -> None:
    module.__dict__["SemLock"] = SemLock


def _own_memory(module: ModuleType) -> None:
    module.__dict__["Arena"]._dir_candidates = []


_MENDED: dict[str, Callable[[ModuleType], None]] = {
    "_multiprocessing": _own_locks, "multiprocessing.heap": _own_memory,
}


class OneProcess:
    """A finder that mends those modules once they are loaded."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in _MENDED:
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None:
                # typeshed wants a whole Loader; importlib asks for these methods only.
                spec.loader = _Mending(spec.loader, _MENDED[name])  # type: ignore[assignment]
                return spec
        return None


class _Mending:
    """A loader around another."""

    def __init__(self, loader: Any, mend: Callable[[ModuleType], None]) -> None:
        self._loader = loader
        self._mend = mend

    def __getattr__(self, name: str) -> Any:  # Any: whatever the loader has
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._mend(module)
