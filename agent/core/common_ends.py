"""Length of the common start and end of two sequences, by binary search over slices."""

from __future__ import annotations

from collections.abc import Sequence


def common_ends(first: Sequence[object], second: Sequence[object]) -> tuple[int, int]:
    """The number of common leading items, and of common trailing items in the rest."""
    start = common_start(first, second)
    return start, common_start(first[start:][::-1], second[start:][::-1])


def common_start(first: Sequence[object], second: Sequence[object]) -> int:
    """The number of common leading items of two sequences of the same type."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low
