"""The table of system calls beside this file: their numbers, and the lists that they stand on."""

from __future__ import annotations

import os

with open(os.path.join(os.path.dirname(__file__), "syscalls.txt"), encoding="ascii") as _table:
    _ROWS = [line.split() for line in _table if not line.startswith("#")]

NUMBERS: dict[str, tuple[int | None, int | None]] = {
    name: (None if x86 == "-" else int(x86), None if arm == "-" else int(arm))
    for name, x86, arm, *_ in _ROWS
}
"""Name to number on x86_64 and aarch64, `None` where the architecture has none."""


def listed(kind: str) -> list[str]:
    """The calls on one of the lists."""
    return [name for name, _, _, *kinds in _ROWS if kind in kinds]
