"""The objects that both processes know, each by one id, and what changed in them.

Mutable containers exist on both sides: `changed` finds those whose content is no longer what
both sides agreed on. The tests' side decides how long an object is known (`prune`).
"""

from __future__ import annotations

import operator
import sys

from agent.judge.observed.codec import MUTABLE, Garbled, contents

TYPE_CHECKING = False
if TYPE_CHECKING:
    from agent.judge.observed.codec import Object


CROWD = 256
"""So many objects are known before the first look for those nobody holds any more."""


class _Held:
    """An object that both sides know by one id."""

    __slots__ = ("keep", "number", "snapshot", "value")

    def __init__(self, value: Object, keep: bool) -> None:
        self.value = value
        self.snapshot: list[Object] = []
        """What a container held when both sides last agreed."""
        self.number = 0
        self.keep = keep
        """Known until the link is reset, not until nobody here holds it."""


def _idle_references() -> int:
    held = _Held([], keep=False)
    return sys.getrefcount(held.value)


_IDLE = _idle_references()
"""The reference count of an object which nothing but its entry holds."""


class Table:
    """What one side knows; `side` is the letter its own ids begin with."""

    def __init__(self, side: str) -> None:
        self._side = side
        self._count = 0
        self._taken = 0
        self._held: dict[str, _Held] = {}
        self._oids: dict[int, str] = {}
        self._settled: dict[str, None] = {}
        """Containers whose content both sides know, in the order they came."""
        self._crowd = CROWD
        self.fresh: list[str] = []
        """Ids given since the last message, to be taken back if it cannot be sent."""

    def __contains__(self, oid: object) -> bool:
        return oid in self._held

    def oid(self, value: Object) -> str | None:
        """The id both sides know this object by, if they do."""
        return self._oids.get(id(value))

    def value(self, oid: str) -> Object:
        """The object of an id; raises `KeyError`."""
        return self._held[oid].value

    def is_settled(self, oid: str) -> bool:
        """Whether an id is that of a container whose content both sides know."""
        return oid in self._settled

    def hold(self, oid: str, value: Object) -> None:
        """Knows an object by an id that both sides have agreed on, until reset."""
        self._held[oid] = _Held(value, keep=True)
        self._oids[id(value)] = oid

    def give(self, value: Object, keep: bool | None = None) -> str:
        """A new id for an object of this side."""
        self._count += 1
        oid = f"{self._side}{self._count}"
        self._held[oid] = _Held(value, keep=not is_container(value) if keep is None else keep)
        self._oids[id(value)] = oid
        self.fresh.append(oid)
        return oid

    def take(self, oid: str, value: Object, keep: bool = False) -> None:
        """Knows an object by the id that the other side gave."""
        self.check(oid)
        self._held[oid] = _Held(value, keep)
        self._oids[id(value)] = oid
        self._taken += 1
        self._held[oid].number = self._taken

    @property
    def taken(self) -> int:
        """How many objects of the other side came to be known so far."""
        return self._taken

    def is_new(self, value: Object, since: int) -> bool:
        """Whether an object came to be known after so many were."""
        held = self._held.get(self.oid(value) or "")
        return held is None or held.number > since

    def check(self, oid: object) -> None:
        """Raises `Garbled` unless the other side may give this id."""
        if not isinstance(oid, str) or oid in self._held or oid.startswith(self._side):
            raise Garbled("an object under a wrong id")

    def settle(self, oid: str) -> None:
        """Both sides hold the same content now."""
        held = self._held.get(oid)
        if held is not None and is_container(held.value):
            held.snapshot = contents(held.value)
            self._settled[oid] = None

    def forget(self, oid: str) -> None:
        """Knows the object no more."""
        held = self._held.pop(oid, None)
        if held is not None:
            self._oids.pop(id(held.value), None)
            self._settled.pop(oid, None)

    def changed(self) -> list[str]:
        """Containers that hold something else than both sides agreed on."""
        return [oid for oid in self._settled if not _unchanged(self._held[oid])]

    def prune(self) -> list[str]:
        """Forgets what nothing on this side holds any more.

        Containers at once, since each costs a comparison with every message; stand-ins when
        their number has doubled.
        """
        crowded = len(self._held) > self._crowd
        looked_at = [*(self._held if crowded else self._settled)]
        dropped = [oid for oid in looked_at if self._is_idle(oid)]
        if crowded:
            self._crowd = max(CROWD, 2 * len(self._held))
        return dropped

    def clear(self) -> None:
        """Forgets everything; ids are not used again."""
        self._held.clear()
        self._settled.clear()
        self._oids.clear()

    def _is_idle(self, oid: str) -> bool:
        held = self._held[oid]
        if held.keep or sys.getrefcount(held.value) > _IDLE:
            return False
        self.forget(oid)
        return True


def is_container(value: Object) -> bool:
    """Whether both sides hold this object's content and keep it equal."""
    return type(value) in MUTABLE


def _unchanged(held: _Held) -> bool:
    """Whether a container holds the very same objects; equality would run their code."""
    now = contents(held.value)
    return len(now) == len(held.snapshot) and all(map(operator.is_, now, held.snapshot))
