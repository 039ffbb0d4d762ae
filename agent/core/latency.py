"""Keeps a process's event loop prompt while threads parse long programs: shorter turns of threads,
and rarer full garbage collections, which stop every thread for up to a second."""

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

_LOCK = Lock()
_FOUND: list[tuple[float, tuple[int, int, int]]] = []
"""What each holder has found; the first found the process's own."""


@contextmanager
def low_latency() -> Iterator[None]:
    """Short turns and rare full collections until the last such context is left."""
    with _LOCK:
        turn_s, (first, second, full) = sys.getswitchinterval(), gc.get_threshold()
        _FOUND.append((turn_s, (first, second, full)))
        sys.setswitchinterval(min(turn_s, TURN_S))
        gc.set_threshold(first, second, max(full, YOUNG_BETWEEN_FULL))
    try:
        yield
    finally:
        with _LOCK:
            own = _FOUND[0]
            _FOUND.pop()
            if not _FOUND:
                sys.setswitchinterval(own[0])
                gc.set_threshold(*own[1])
