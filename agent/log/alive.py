"""Which processes live: each holds a lock on a file of its own, which the system releases when the
process ends, in another container too."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path
from uuid import uuid4

_NAME = re.compile(r"[0-9a-f]{32}")


class Alive:
    """One who lives, from the first time that its name is asked for until it is closed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._name = ""
        self._handle = -1

    @property
    def name(self) -> str:
        """A name that nobody else in the folder ever has."""
        if not self._name:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            for left in self._folder.iterdir():
                self.knows(left.name)
            self._name, self._handle = _held(self._folder)
        return self._name

    def knows(self, other: str) -> bool:
        """Whether one of that name lives; the file of one who does not is removed."""
        if not _NAME.fullmatch(other):
            return False
        try:
            handle = os.open(self._folder / other, os.O_RDWR)
        except FileNotFoundError:
            return False
        except PermissionError:
            return True  # another user's: not ours to take over
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            (self._folder / other).unlink(missing_ok=True)
            return False
        except BlockingIOError:
            return True
        finally:
            os.close(handle)

    def close(self) -> None:
        """Lives no more."""
        if self._name:
            (self._folder / self._name).unlink(missing_ok=True)
            os.close(self._handle)
            self._name = ""


def _held(folder: Path) -> tuple[str, int]:
    """The name of a new file in the folder, and the handle that holds its lock."""
    while True:
        name = uuid4().hex
        handle = os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            return name, handle
        os.close(handle)  # another found it before it was locked, and removed it
