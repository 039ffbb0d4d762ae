"""Who makes room where there are too many visitors: one address never has the others go; pure."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence

MOST_KNOWN = 10_000


class Crowds:
    """From where visitors came, as far as this process has seen."""

    def __init__(self) -> None:
        self._from: OrderedDict[str, str] = OrderedDict()

    def came(self, visitor: str, address: str) -> None:
        """Notes from where a visitor came."""
        self._from[visitor] = address
        self._from.move_to_end(visitor)
        while len(self._from) > MOST_KNOWN:
            self._from.popitem(last=False)

    def first_to_go(self, visitors: Sequence[str], beside: Iterable[str] = ()) -> str:
        """The oldest visitor of those who share an address with the most others, `beside`
        included."""
        places = [self.place(one) for one in visitors]
        crowds = Counter([*places, *map(self.place, beside)])
        return visitors[places.index(max(places, key=crowds.__getitem__))]

    def place(self, visitor: str) -> str:
        """What stands for all who share an address, or for one of whom none is known."""
        return self._from.get(visitor) or f"unknown {visitor}"
