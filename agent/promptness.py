"""Keeps a process's event loop prompt while threads think about long programs.

A thread that parses ten thousand lines makes half a million objects. Python then looks through
all of them for cycles, which stops every thread for as long as it takes, up to a second; and each
time the loop lets go of the interpreter's lock, to read a file, it waits for the thread's turn to
end. Syntax trees have no cycles: they go away by themselves.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

TURN_S = 0.000_5
"""A thread's turn while others wait; Python's own default is ten times as long."""
YOUNG_BETWEEN_FULL = 1_000
"""Collections of young objects between two of all; Python's own default is ten."""


class _Manners:
    """The process's settings, which several may hold at once: the first to come changes them, the
    last to leave puts back what the first has found."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._holders = 0
        self._found = sys.getswitchinterval(), gc.get_threshold()

    def hold(self) -> None:
        with self._lock:
            if not self._holders:
                turn_s, (first, second, full) = sys.getswitchinterval(), gc.get_threshold()
                self._found = turn_s, (first, second, full)
                sys.setswitchinterval(min(turn_s, TURN_S))
                gc.set_threshold(first, second, max(full, YOUNG_BETWEEN_FULL))
            self._holders += 1

    def release(self) -> None:
        with self._lock:
            self._holders -= 1
            if not self._holders:
                turn_s, thresholds = self._found
                sys.setswitchinterval(turn_s)
                gc.set_threshold(*thresholds)


_MANNERS = _Manners()


@contextmanager
def prompt() -> Iterator[None]:
    """Short turns and rare full collections, in the whole process, until the last such context is
    left."""
    _MANNERS.hold()
    try:
        yield
    finally:
        _MANNERS.release()
