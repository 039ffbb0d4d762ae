"""Limits for the visitors of a public page. There are also limits by address, because a client can
easily become a new visitor. The owner has no limits."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from weakref import WeakValueDictionary

from agent.core.settings import Settings

ADDRESS_SHARE = 4
"""Factor from a visitor's limit to that of an address, which several people can share."""
MAX_WAITING = 20
"""Maximum waiting runs of a visitor who starts or continues another run."""
MAX_FOLLOWED = 12
"""Maximum runs that one visitor can follow at once; each takes a stream of the server."""
MAX_KNOWN = 10_000
"""Maximum number of visitors and addresses with a recorded rate."""
MINUTE_S = 60.0


class LimitExceeded(Exception):
    """A limit is exceeded; the message says which, and what to do."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s
        """Seconds until a retry can succeed; 0 if unknown."""


class Rate:
    """The requests of the last minute, by sender."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked: OrderedDict[str, deque[float]] = OrderedDict()

    def seconds_until_free(self, sender: str, limit: int) -> float:
        """Returns whole seconds until `sender` may send a request again; 0 for now."""
        now = self._clock()
        asked = self._asked.get(sender, ())
        recent = [at for at in asked if at > now - MINUTE_S]
        if len(recent) < limit:
            return 0.0
        return max(1.0, math.ceil(recent[len(recent) - limit] + MINUTE_S - now))

    def count(self, sender: str) -> None:
        now = self._clock()
        asked = self._asked.setdefault(sender, deque())
        asked.append(now)
        while asked[0] <= now - MINUTE_S:
            asked.popleft()
        self._asked.move_to_end(sender)
        while len(self._asked) > MAX_KNOWN:
            self._asked.popitem(last=False)


class VisitorLimits:
    """The work in progress of each visitor; use it from the serving event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = Rate(clock)
        self._starting: Counter[str] = Counter()
        self._followed: Counter[str] = Counter()
        self._turns = WeakValueDictionary[str, asyncio.Lock]()
        """Kept alive by the tasks that wait or read."""
        self._started_at: dict[str, str] = {}
        """The address from which each active run was started."""

    @contextmanager
    def counted_work(
        self, settings: Settings, active: Mapping[str, str], visitor: str, address: str,
        run: str = "",
    ) -> Iterator[None]:
        """Counts a piece of work: starting a `run`, or work within the context. `active` has the
        visitor of each active run. Raises `LimitExceeded`."""
        self.admit(settings, active, visitor, address)
        names = (f"visitor {visitor}", f"address {address}", "")
        self._starting.update(names)
        for name in names[:2]:
            self._rate.count(name)
        try:
            yield
            if run:
                self._started_at[run] = address
        finally:
            self._starting.subtract(names)
            self._starting += Counter()  # removes zero counts

    @asynccontextmanager
    async def reading_in_turn(self, visitor: str, address: str) -> AsyncIterator[None]:
        """Waits until no other input of this visitor or address is read. Large input takes long and
        would occupy all threads."""
        visitor_lock, address_lock = (
            self._turns.setdefault(name, asyncio.Lock())
            for name in (f"visitor {visitor}", f"address {address}")
        )
        async with visitor_lock, address_lock:
            yield

    @contextmanager
    def following(self, visitor: str, address: str) -> Iterator[None]:
        """Counts a page that follows a run. Raises `LimitExceeded`."""
        names = (f"visitor {visitor}", f"address {address}")
        for name, most in zip(names, (MAX_FOLLOWED, MAX_FOLLOWED * ADDRESS_SHARE), strict=True):
            if self._followed[name] >= most:
                raise LimitExceeded(
                    "Too many pages follow runs from your address. This run continues without its "
                    "page: close another page, then reload this one."
                )
        self._followed.update(names)
        try:
            yield
        finally:
            self._followed.subtract(names)
            self._followed += Counter()

    def admit(
        self, settings: Settings, active: Mapping[str, str], visitor: str, address: str
    ) -> None:
        """Raises `LimitExceeded` if the visitor or the address may not start work."""
        self._started_at = {one: where for one, where in self._started_at.items() if one in active}
        running = [*active.values()].count(visitor) + self._starting[f"visitor {visitor}"]
        if running >= settings.visitor_runs:
            raise LimitExceeded(
                f"{running} of your runs are in progress, which is the limit for one visitor. Wait "
                "until one has ended, or stop one."
            )
        near = [*self._started_at.values()].count(address) + self._starting[f"address {address}"]
        if near >= settings.visitor_runs * ADDRESS_SHARE:
            raise LimitExceeded(
                f"{near} runs from your address are in progress, which is the limit. Wait until "
                "one has ended, then try again."
            )
        if len(active) + self._starting[""] >= settings.live_runs:
            raise LimitExceeded(
                "This server is busy: it cannot run more programs at once. Try again in a minute; "
                "your input is not lost."
            )
        wait_s = max(
            self._rate.seconds_until_free(sender, settings.visitor_rate * share)
            for sender, share in ((f"visitor {visitor}", 1), (f"address {address}", ADDRESS_SHARE))
        )
        if wait_s:
            raise LimitExceeded(
                f"You can start at most {settings.visitor_rate} runs per minute. Try again in "
                f"{wait_s:.0f} seconds.", wait_s,
            )
