"""Whose memory is whose: the owner's, and one for each visitor of a public page, who share nothing.

A lesson and a fix hold words of the program that they came from, and a hit tells that somebody had
the same failure: both are a visitor's own.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from pathlib import Path

from agent.core.crowds import Crowds
from agent.memory.fixes import Memory
from agent.memory.offers import open_memory

MOST_OPEN = 256
"""Visitors whose memories are held open; more than runs that can go on at once."""
MOST_KEPT = 2_000
"""Visitors whose memories are kept on disk; of those who share an address with the most others, the
one who came longest ago is forgotten first."""


class Memories:
    """Use from one thread."""

    def __init__(self, folder: Path) -> None:
        """`folder` holds `memory.db`, the owner's, and `visitors/`."""
        self.owner = open_memory(folder / "memory.db")
        self._folder = folder / "visitors"
        self._open: OrderedDict[str, Memory] = OrderedDict()
        self._crowds = Crowds()

    def of(self, visitor: str) -> Memory:
        """The memory of a visitor; "" is the owner."""
        if not visitor:
            return self.owner
        name = _name(visitor)
        if name not in self._open:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            self._make_room(name)
            self._open[name] = open_memory(self._folder / f"{name}.db")
        self._open.move_to_end(name)
        while len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)  # it closes once no run of theirs has it
        return self._open[name]

    def came(self, visitor: str, address: str) -> None:
        """Notes from where a visitor comes, on no disk."""
        self._crowds.came(_name(visitor), address)

    def known(self, visitor: str) -> Memory:
        """The memory of a visitor, to be looked at: where there is none yet, an empty one, and
        nobody else's is forgotten to make room for it."""
        kept = not visitor or (self._folder / f"{_name(visitor)}.db").exists()
        return self.of(visitor) if kept else Memory(None)

    def close(self) -> None:
        """Closes all of them."""
        for memory in (self.owner, *self._open.values()):
            memory.close()

    def forget_before(self, at: float) -> None:
        """Forgets the visitors whose memory nobody has changed since then."""
        for path in self._closed():
            if path.stat().st_mtime < at:
                self._delete(path)

    def _make_room(self, name: str) -> None:
        closed = {path.stem: path for path in self._closed()}
        while closed and len(closed) + len(self._open) + 1 > MOST_KEPT:
            gone = self._crowds.first_to_go([*closed], [*self._open, name])
            self._delete(closed.pop(gone))

    def _closed(self) -> list[Path]:
        """The files of those whose memory is not open, the oldest first."""
        kept = sorted(self._folder.glob("*.db"), key=lambda path: path.stat().st_mtime)
        return [path for path in kept if path.stem not in self._open]

    def _delete(self, path: Path) -> None:
        for one in self._folder.glob(f"{path.name}*"):
            one.unlink(missing_ok=True)


def _name(visitor: str) -> str:
    return hashlib.sha256(visitor.encode()).hexdigest()[:32]
