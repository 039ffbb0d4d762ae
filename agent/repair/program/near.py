"""Of very many values, those that stand nearest."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

NEAR = 60
"""Variables, or constants of a type, that an edit of a long function may bring in."""
ALWAYS_NEAR = 12
"""Of the variables, how many are the function's first: its parameters."""


def nearest(places: Sequence[tuple[int, T]], at: int, most: int) -> tuple[T, ...]:
    """Different values whose places, given in their order, are nearest, the nearest first."""
    found: dict[T, None] = {}
    after = bisect_left(places, at, key=lambda one: one[0])
    before = after - 1
    while len(found) < most and (before >= 0 or after < len(places)):
        if before < 0 or (
            after < len(places) and places[after][0] - at < at - places[before][0]
        ):
            found[places[after][1]] = None
            after += 1
        else:
            found[places[before][1]] = None
            before -= 1
    return tuple(found)
