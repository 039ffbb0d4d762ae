"""Detects whether another process is alive, also in another container.

Each process holds a lock on its own file, which the system releases when the process ends.
"""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path
from uuid import uuid4

_NAME = re.compile(r"[0-9a-f]{32}")


class ProcessLock:
    """The lock of this process, held from the first use of `name` until it is closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = ""
        self._handle = -1

    @property
    def name(self) -> str:
        """The unique name of this process in the folder."""
        if not self._name:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            for left in self._folder.iterdir():
                self.is_process_alive(left.name)
            self._name, self._handle = _create_locked_file(self._folder)
        return self._name

    def is_process_alive(self, other: str) -> bool:
        """Whether the process of that name is alive; removes the file of a dead process."""
        if not _NAME.fullmatch(other):
            return False
        try:
            handle = os.open(self._folder / other, os.O_RDWR)
        except FileNotFoundError:
            return False
        except PermissionError:
            return True  # a process of another user
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (self._folder / other).unlink(missing_ok=True)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(handle)

    def close(self) -> None:
        if self._name:
            (self._folder / self._name).unlink(missing_ok=True)
            os.close(self._handle)
            self._name = ""


def _create_locked_file(folder: Path) -> tuple[str, int]:
    """Creates and locks a new file in the folder; returns its name and handle."""
    while True:
        name = uuid4().hex
        handle = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return name, handle
        os.close(handle)  # another process removed it before it was locked
