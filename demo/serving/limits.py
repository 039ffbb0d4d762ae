"""How much one visitor may have of a public page, and how much an address from which visitors come:
a new visitor is free, an address is not. The owner is bounded by nothing here."""

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
"""An address may have so many times what a visitor may: several people can sit behind one."""
MAX_WAITING = 20
"""Runs of one visitor that may wait for them when another begins or goes on."""
MAX_FOLLOWED = 12
"""Runs that one visitor may follow at once: each takes one of the server's places."""
MAX_KNOWN = 10_000
"""Visitors and addresses whose last minute is remembered."""
MINUTE_S = 60.0


class TooMuch(Exception):
    """More was asked for than one visitor may have; the message says of what, and what to do."""

    def __init__(self, message: str, after_s: float = 0.0) -> None:
        super().__init__(message)
        self.after_s = after_s
        """When to ask again, where that is known."""


class Rate:
    """What was asked in the last minute, by who asked."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._asked: OrderedDict[str, deque[float]] = OrderedDict()

    def full_for_s(self, who: str, most: int) -> float:
        """Whole seconds until `who` may ask again; 0 where they may now."""
        now = self._clock()
        asked = self._asked.get(who, ())
        recent = [at for at in asked if at > now - MINUTE_S]
        if len(recent) < most:
            return 0.0
        return max(1.0, math.ceil(recent[len(recent) - most] + MINUTE_S - now))

    def count(self, who: str) -> None:
        """Notes that `who` asks now."""
        now = self._clock()
        asked = self._asked.setdefault(who, deque())
        asked.append(now)
        while asked[0] <= now - MINUTE_S:
            asked.popleft()
        self._asked.move_to_end(who)
        while len(self._asked) > MAX_KNOWN:
            self._asked.popitem(last=False)


class VisitorLimits:
    """What goes on for whom; use from the serving event loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = Rate(clock)
        self._starting: Counter[str] = Counter()
        self._followed: Counter[str] = Counter()
        self._turns = WeakValueDictionary[str, asyncio.Lock]()
        """Kept by whoever waits or reads."""
        self._started_at: dict[str, str] = {}
        """The address from which a run was started, while it goes on."""

    @contextmanager
    def working(
        self, settings: Settings, going: Mapping[str, str], visitor: str, address: str,
        run: str = "",
    ) -> Iterator[None]:
        """Counts one piece of work, a `run` or what is done before it returns, for whom it is done;
        `going` says whose the runs are that go on. Raises `TooMuch`."""
        self.admit(settings, going, visitor, address)
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
            self._starting += Counter()  # which drops what is at nought

    @asynccontextmanager
    async def reading(self, visitor: str, address: str) -> AsyncIterator[None]:
        """Waits until nothing else is read for that visitor, or for anyone at their address: what
        is large takes long, and others would wait for a thread."""
        own, near = (
            self._turns.setdefault(name, asyncio.Lock())
            for name in (f"visitor {visitor}", f"address {address}")
        )
        async with own, near:
            yield

    @contextmanager
    def following(self, visitor: str, address: str) -> Iterator[None]:
        """Counts one run that is followed. Raises `TooMuch`."""
        names = (f"visitor {visitor}", f"address {address}")
        for name, most in zip(names, (MAX_FOLLOWED, MAX_FOLLOWED * ADDRESS_SHARE), strict=True):
            if self._followed[name] >= most:
                raise TooMuch(
                    "Many runs are followed from where you are, and this one goes on unseen: close "
                    "a page that follows another, then reload this one."
                )
        self._followed.update(names)
        try:
            yield
        finally:
            self._followed.subtract(names)
            self._followed += Counter()

    def admit(
        self, settings: Settings, going: Mapping[str, str], visitor: str, address: str
    ) -> None:
        """Raises `TooMuch` where `working` would."""
        self._started_at = {
            one: where for one, where in self._started_at.items() if one in going
        }
        own = [*going.values()].count(visitor) + self._starting[f"visitor {visitor}"]
        if own >= settings.visitor_runs:
            raise TooMuch(
                f"{own} of your runs go on already, which is as many as one visitor may have here "
                "at once: wait until one has ended, or stop one."
            )
        near = [*self._started_at.values()].count(address) + self._starting[f"address {address}"]
        if near >= settings.visitor_runs * ADDRESS_SHARE:
            raise TooMuch(
                f"{near} runs that were started from your address go on already: wait until one "
                "has ended, then try again."
            )
        if len(going) + self._starting[""] >= settings.live_runs:
            raise TooMuch(
                "As many runs go on here as this machine takes at once: try again in a minute. "
                "What you typed stays."
            )
        wait_s = max(
            self._rate.full_for_s(f"visitor {visitor}", settings.visitor_rate),
            self._rate.full_for_s(f"address {address}", settings.visitor_rate * ADDRESS_SHARE),
        )
        if wait_s:
            raise TooMuch(
                f"One visitor starts at most {settings.visitor_rate} runs a minute here: try again "
                f"in {wait_s:.0f} seconds.", wait_s,
            )
