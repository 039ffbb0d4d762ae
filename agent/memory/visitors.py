"""The owner's memory and one memory for each visitor of a public page. Visitors share nothing,
because fixes and lessons contain parts of their programs."""

from __future__ import annotations

import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from pathlib import Path

from agent.memory.fixes import Memory
from agent.memory.offers import open_memory

MAX_OPEN = 256
MAX_MEMORIES = 2_000
"""The maximum number of visitors' memories on disk."""
MAX_ADDRESSES = 10_000
"""The maximum number of known visitor addresses."""


class VisitorAddresses:
    """The network addresses of this process's visitors. If there are too many visitors, one of the
    most used address is evicted, so one address never displaces the others."""

    def __init__(self) -> None:
        self._addresses: OrderedDict[str, str] = OrderedDict()

    def record(self, visitor: str, address: str) -> None:
        """Records the address of a visitor."""
        self._addresses[visitor] = address
        self._addresses.move_to_end(visitor)
        while len(self._addresses) > MAX_ADDRESSES:
            self._addresses.popitem(last=False)

    def next_evicted(self, visitors: Sequence[str], others: Iterable[str] = ()) -> str:
        """The oldest visitor of the address that most `visitors` and `others` share."""
        places = [self.address_of(one) for one in visitors]
        counts = Counter([*places, *map(self.address_of, others)])
        return visitors[places.index(max(places, key=counts.__getitem__))]

    def address_of(self, visitor: str) -> str:
        """The visitor's address, or a unique name if it is unknown."""
        return self._addresses.get(visitor) or f"unknown {visitor}"


class Memories:
    """The open memories; use from one thread."""

    def __init__(self, folder: Path) -> None:
        self.owner = open_memory(folder / "memory.db")
        self._folder = folder / "visitors"
        self._open: OrderedDict[str, Memory] = OrderedDict()
        self._addresses = VisitorAddresses()

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
            self._open.popitem(last=False)  # it closes when no run uses it any more
        return self._open[name]

    def record_address(self, visitor: str, address: str) -> None:
        """Records the address of a visitor; it is never written to disk."""
        self._addresses.record(_name(visitor), address)

    def known(self, visitor: str) -> Memory:
        """A visitor's memory for reading; an empty one if there is none yet."""
        exists = not visitor or (self._folder / f"{_name(visitor)}.db").exists()
        return self.of(visitor) if exists else Memory(None)

    def close(self) -> None:
        for memory in (self.owner, *self._open.values()):
            memory.close()

    def forget_before(self, at: float) -> None:
        """Deletes the memories that have not changed since then."""
        for path in self._closed():
            if path.stat().st_mtime < at:
                self._delete(path)

    def _make_room(self, name: str) -> None:
        closed = {path.stem: path for path in self._closed()}
        while closed and len(closed) + len(self._open) + 1 > MAX_MEMORIES:
            evicted = self._addresses.next_evicted([*closed], [*self._open, name])
            self._delete(closed.pop(evicted))

    def _closed(self) -> list[Path]:
        files = sorted(self._folder.glob("*.db"), key=lambda path: path.stat().st_mtime)
        return [path for path in files if path.stem not in self._open]

    def _delete(self, path: Path) -> None:
        for one in self._folder.glob(f"{path.name}*"):
            one.unlink(missing_ok=True)


def _name(visitor: str) -> str:
    return hashlib.sha256(visitor.encode()).hexdigest()[:32]
