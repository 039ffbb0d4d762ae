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

TURN_S = 0.000_5
"""A thread's turn while others wait; Python's own default is ten times as long."""
YOUNG_BETWEEN_FULL = 1_000
"""Collections of young objects between two of all; Python's own default is ten."""


@contextmanager
def prompt() -> Iterator[None]:
    """Short turns and rare full collections, in the whole process, until the context is left."""
    turn_s, (first, second, full) = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(min(turn_s, TURN_S))
    gc.set_threshold(first, second, max(full, YOUNG_BETWEEN_FULL))
    try:
        yield
    finally:
        sys.setswitchinterval(turn_s)
        gc.set_threshold(first, second, full)
