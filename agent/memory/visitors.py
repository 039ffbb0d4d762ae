"""The owner's memory, and one for each visitor of a public page: fixes and lessons hold their
programs' words, so visitors share nothing."""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path

from agent.memory.fixes import Memory
from agent.memory.offers import open_memory

MAX_OPEN = 256
MAX_KEPT = 2_000
"""Visitors whose memories are kept on disk."""
MAX_KNOWN = 10_000
"""Visitors whose addresses are known."""


class Crowds:
    """The addresses of visitors, as far as this process has seen them, and who makes room where
    there are too many: one address never displaces the others."""

    def __init__(self) -> None:
        self._from: OrderedDict[str, str] = OrderedDict()

    def came(self, visitor: str, address: str) -> None:
        """Notes the address of a visitor."""
        self._from[visitor] = address
        self._from.move_to_end(visitor)
        while len(self._from) > MAX_KNOWN:
            self._from.popitem(last=False)

    def first_to_go(self, visitors: Sequence[str], beside: Iterable[str] = ()) -> str:
        """The oldest visitor of those who share an address with the most others, `beside`
        included."""
        places = [self.place(one) for one in visitors]
        crowds = Counter([*places, *map(self.place, beside)])
        return visitors[places.index(max(places, key=crowds.__getitem__))]

    def place(self, visitor: str) -> str:
        """A name for all who share an address, or for one visitor without a known address."""
        return self._from.get(visitor) or f"unknown {visitor}"


class Memories:
    """Use from one thread."""

    def __init__(self, folder: Path) -> None:
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
        while len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)  # it closes once no run of theirs has it
        return self._open[name]

    def came(self, visitor: str, address: str) -> None:
        """Notes from where a visitor comes, on no disk."""
        self._crowds.came(_name(visitor), address)

    def known(self, visitor: str) -> Memory:
        """A visitor's memory for looking at; an empty one where there is none yet."""
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
        while closed and len(closed) + len(self._open) + 1 > MAX_KEPT:
            gone = self._crowds.first_to_go([*closed], [*self._open, name])
            self._delete(closed.pop(gone))

    def _closed(self) -> list[Path]:
        kept = sorted(self._folder.glob("*.db"), key=lambda path: path.stat().st_mtime)
        return [path for path in kept if path.stem not in self._open]

    def _delete(self, path: Path) -> None:
        for one in self._folder.glob(f"{path.name}*"):
            one.unlink(missing_ok=True)


def _name(visitor: str) -> str:
    return hashlib.sha256(visitor.encode()).hexdigest()[:32]
