"""How far two texts or lists of lines are equal from both ends; slices are compared at the speed of
C."""

from __future__ import annotations

from collections.abc import Sequence


def common_ends(first: Sequence[object], second: Sequence[object]) -> tuple[int, int]:
    """How many leading parts both share, and how many trailing ones of the rest; both of one
    type."""
    start = common_start(first, second)
    return start, common_start(first[start:][::-1], second[start:][::-1])


def common_start(first: Sequence[object], second: Sequence[object]) -> int:
    """How many leading parts two sequences of one type share: characters, bytes, lines."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
