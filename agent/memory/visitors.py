"""Whose memory is whose: the owner's, and one for each visitor of a public page, who share nothing.

A lesson and a fix hold words of the program that they came from, and a hit tells that somebody had
the same failure: both are a visitor's own.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from pathlib import Path

from agent.memory.fixes import Memory
from agent.memory.offers import open_memory

MOST_OPEN = 256
"""Visitors whose memories are held open; more than runs that can go on at once."""
MOST_KEPT = 2_000
"""Visitors whose memories are kept on disk; who came longest ago is forgotten first."""


class Memories:
    """Use from one thread."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds `memory.db`, the owner's, and `visitors/`."""
        self.owner = open_memory(folder / "memory.db")
        self._folder = folder / "visitors"
        self._open: OrderedDict[str, Memory] = OrderedDict()

    def of(self, visitor: str) -> Memory:
        """The memory of a visitor; "" is the owner."""
        if not visitor:
            return self.owner
        name = hashlib.sha256(visitor.encode()).hexdigest()[:32]
        if name not in self._open:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._forget_oldest()
            self._open[name] = open_memory(self._folder / f"{name}.db")
        self._open.move_to_end(name)
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)[1].close()
        return self._open[name]

    def close(self) -> None:
        """Closes all of them."""
        for memory in (self.owner, *self._open.values()):
            memory.close()

    def _forget_oldest(self) -> None:
        kept = sorted(self._folder.glob("*.db"), key=lambda path: path.stat().st_mtime)
        closed = [path for path in kept if path.stem not in self._open]
        for path in closed[: max(0, len(kept) + 1 - MOST_KEPT)]:
            for one in self._folder.glob(f"{path.name}*"):
                one.unlink(missing_ok=True)
